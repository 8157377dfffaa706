/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* RLIMIT_MEMLOCK: how much memory this process may register. */
#ifndef RMC_TOOLS_MEMLOCK_H
#define RMC_TOOLS_MEMLOCK_H

/* Raise it to the hard limit, which is often more than shells set. */
void memlock_raise(void);

#endif /* RMC_TOOLS_MEMLOCK_H */
