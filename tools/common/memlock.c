/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The soft limit of pinned memory, up to the hard one. */
#include <sys/resource.h>
#include "memlock.h"

void memlock_raise(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_MEMLOCK, &rl))
		return;
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &rl);
}
