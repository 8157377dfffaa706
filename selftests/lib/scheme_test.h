/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Common parts of the tests of schemes and readers. */
#ifndef SCHEME_TEST_H
#define SCHEME_TEST_H

#include <stdlib.h>
#include <string.h>
#include <rmc/rmc.h>
#include "../tap.h"

#define LINE		64
#define MAX		8192

static const size_t sizes[] = {
	1, 7, 8, 9, 47, 48, 49, 63, 64, 65, 109, 110, 111, 128, 1000, 1024, 4096, 8191, 8192
};
#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

static inline void *zeroed(size_t len)
{
	void *p = aligned_alloc(4096, (len + 4095) & ~(size_t)4095);

	memset(p, 0, (len + 4095) & ~(size_t)4095);
	return p;
}

/* Every byte of the data is the number of its state, so a mixture of states shows */
static inline void fill(uint8_t *data, size_t len, uint8_t state)
{
	memset(data, state, len);
}

static inline int whole(const uint8_t *data, size_t len)
{
	return len < 2 || !memcmp(data, data + 1, len - 1);
}

#endif /* SCHEME_TEST_H */
