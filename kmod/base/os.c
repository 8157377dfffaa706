// SPDX-License-Identifier: GPL-2.0
/* Features of the CPU, detected once. */
#include "os.h"

#ifdef RMC_OS_VECTOR
bool rmc_vector __read_mostly;
#endif
#ifdef RMC_OS_CRC32C
bool rmc_crc32c __read_mostly;
#endif

/**
 * rmc_os_init() - detect the features of the CPU
 *
 * Context: before anything else of the module runs.
 */
void __init rmc_os_init(void)
{
#ifdef RMC_OS_VECTOR
	rmc_vector = boot_cpu_has(X86_FEATURE_AVX2);
#endif
#ifdef RMC_OS_CRC32C
	rmc_crc32c = boot_cpu_has(X86_FEATURE_XMM4_2);
#endif
}
