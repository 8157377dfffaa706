/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Lines of memory that an owner's CPU writes while a fake RMC reads them */
#ifndef FAKE_LINES_H
#define FAKE_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <linux/rmc_queue.h>

/* Read a line, or a part of one, until two reads agree: its owner's CPU may be writing. */
static inline void read_line(uint8_t *to, const uint8_t *from, size_t n)
{
	uint8_t once[RMC_CACHE_LINE];
	size_t i;
	int same;

	do {
		for (i = 0; i < n; i++)
			once[i] = __atomic_load_n(from + i, __ATOMIC_ACQUIRE);
		for (i = 0, same = 1; i < n; i++) {
			to[i] = __atomic_load_n(from + i, __ATOMIC_ACQUIRE);
			same &= to[i] == once[i];
		}
	} while (!same);
}

#endif /* FAKE_LINES_H */
