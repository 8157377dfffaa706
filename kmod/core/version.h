/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Versions of objects (M16 section 4.2): odd while a writer works, larger after
 * each write. A reader loads data between rmc_version_begin() and
 * rmc_version_changed(). If the version was even and did not change, the data is a
 * snapshot.
 *
 * Pairs with <rmc/object.h>: a writer stores the odd version, release fence,
 * data, then the even version with release.
 *
 *  - the acquire keeps data loads behind the first load of the version, so they
 *    see at least the write that made it even;
 *  - the read barrier keeps data loads before the second one: if any of them saw
 *    a later write, the second load sees that write's odd version, or more.
 *
 * On x86 both are free: loads appear to execute in program order. A speculative load
 * is repeated if a writer takes the line away meanwhile, which is all that the
 * papers' stream buffers do.
 */
#ifndef RMC_VERSION_H
#define RMC_VERSION_H

#include "../base/os.h"

static inline u64 rmc_version_begin(const u64 *version)
{
	/* pairs with the writer's release of the even version */
	return smp_load_acquire(version);
}

static inline bool rmc_version_changed(const u64 *version, u64 before)
{
	/* data before version; pairs with the writer's fence behind the odd one */
	smp_rmb();
	return READ_ONCE(*version) != before;
}

static inline bool rmc_version_odd(u64 version)
{
	return version & 1;
}

#endif
