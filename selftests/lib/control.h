/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Controls of the daemon under test, for test programs of the library: rmcd/own_daemon.c. */
#ifndef CONTROL_H
#define CONTROL_H

/* rmcctl fault @arguments; the program ends if that fails */
void control_faults(const char *arguments);

/*
 * Kill the daemon: all queue pairs are dead, and their waiters wake. A daemon of the program's
 * own has a successor when this returns.
 */
void control_kill_daemon(void);

#endif /* CONTROL_H */
