/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A faulty version of kmod/core/version.h, which validates the version only after the data. It
 * replaces that header in sabre_stress.mutant, to show that the stress test finds it.
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
