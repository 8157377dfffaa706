/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Controls and counters of the driver in user space, for tests. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

/* The next fake_timeouts writes end with RMC_S_TIMEOUT; with _arrive they take effect. */
extern int fake_timeouts, fake_timeouts_arrive;

/*
 * Writes of a line or more are visible at once, but complete this much later. fake_changed
 * counts those whose local buffer changed before they completed. That is an error: a lost
 * packet is sent again from the local buffer.
 */
extern int fake_slow_ms;
extern unsigned int fake_changed;

/* Number of RMC_IOC_WAKE calls with RMC_WAKE_YIELD, and their result */
extern unsigned int fake_yields;
extern int fake_worker_apart;

/* If set, workers of queue pairs created from now on share the application's CPU. */
extern int fake_shared_cpu;

/* Teardown calls of processes that inherited the file and do not own its objects */
unsigned int fake_foreign_teardowns(void);

/* Marks all queue pairs dead, as the driver does when it destroys them; wakes their waiters. */
void fake_kill_queue_pairs(void);

#endif /* FAKE_DRIVER_H */
