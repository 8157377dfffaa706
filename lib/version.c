/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The library's version at run time. */
#include "internal.h"

#define STRING(x)	#x
#define DOTTED(a, b, c)	STRING(a) "." STRING(b) "." STRING(c)

const char *rmc_version(void)
{
	return DOTTED(RMC_VERSION_MAJOR, RMC_VERSION_MINOR, RMC_VERSION_PATCH);
}

int rmc_version_number(void)
{
	return RMC_VERSION;
}
