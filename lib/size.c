/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Structs of callers that were compiled with other versions of the headers, see
 * <rmc/abi.h>. The caller's struct may be smaller or larger than ours.
 */
#include <string.h>
#include "internal.h"

int rmc_struct_in(void *to, size_t size, const void *from, size_t from_size, size_t least,
		  const char *what)
{
	const unsigned char *rest = (const unsigned char *)from;
	size_t i;

	if (from_size < least)
		return rmc_fail(EINVAL, "%s of %zu bytes: the smallest there ever was has %zu",
				what, from_size, least);
	for (i = size; i < from_size; i++)
		if (rest[i])
			return rmc_fail(E2BIG, "%s: the program asks for something that librmc %s "
					"does not know: update it", what, rmc_version());
	memset(to, 0, size);
	memcpy(to, from, from_size < size ? from_size : size);
	return 0;
}

void rmc_struct_out(void *to, size_t to_size, const void *from, size_t size)
{
	memset(to, 0, to_size);
	memcpy(to, from, to_size < size ? to_size : size);
}
