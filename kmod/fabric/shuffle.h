/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Order of delivery within one operation. soNUMA promises none; rings happen to
 * keep it, and programs that rely on that are wrong unnoticed. With f->shuffle the
 * packets of a read are served, and the lines of a SABRe issued, in another order
 * than they were sent. Announcements stay in front (Documentation/sabre.rst).
 */
#ifndef RMC_SHUFFLE_H
#define RMC_SHUFFLE_H

#include "../core/rmc_os.h"

/* A permutation of 0 .. n - 1 that starts at the end and jumps about. */
static inline u32 rmc_shuffle(u32 i, u32 n)
{
	u32 stride = n / 2 + n / 8 + 1, a, b, t;

	/* the next stride that has no divisor in common with n */
	for (;; stride++) {
		for (a = stride, b = n; b; t = a % b, a = b, b = t)
			;
		if (a == 1)
			break;
	}
	/* i < n <= 65535 packets and stride < 2 n: no overflow of 64 bits */
	return n - 1 - (u32)((u64)i * stride % n);
}

#endif
