/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What tests may see and change of the driver in user space. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

/* The next so many writes end with RMC_S_TIMEOUT; arrive: they take effect nevertheless. */
extern int fake_timeouts, fake_timeouts_arrive;

/*
 * Writes of a line or more complete so late, though they show at once. Of how many had
 * the local memory changed by then? What is lost on its way is taken from there again.
 */
extern int fake_slow_ms;
extern unsigned int fake_changed;

/* RMC_IOC_WAKE with RMC_WAKE_YIELD: how many there were, and what they return */
extern unsigned int fake_yields;
extern int fake_worker_apart;

/* Of queue pairs made from now on: does the worker share the application's CPU? */
extern int fake_shared_cpu;

/* How often a process took away what another one had made, through an inherited file */
unsigned int fake_foreign_teardowns(void);

/* Every queue pair is dead, as after the driver destroyed it; waiters are woken. */
void fake_kill_queue_pairs(void);

#endif /* FAKE_DRIVER_H */
