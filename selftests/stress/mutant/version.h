/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kmod/core/version.h must not be: the version is looked at after the data
 * only. Built into sabre_stress.mutant in its place, to show that the stress test
 * would notice.
 */
#ifndef RMC_VERSION_H
#define RMC_VERSION_H

#include "kmod/base/os.h"

static inline u64 rmc_version_begin(const u64 *version)
{
	(void)version;
	return 0;
}

static inline bool rmc_version_odd(u64 version)
{
	return version & 1;
}

static inline bool rmc_version_changed(const u64 *version, u64 before)
{
	(void)before;
	return rmc_version_odd(smp_load_acquire(version));
}

#endif
