/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What all members of a database must have in common: the first line of its memory */
#ifndef RMC_LIB_TX_STORE_H
#define RMC_LIB_TX_STORE_H

#include <stdint.h>

struct tx_store {
	uint64_t magic;		/* TX_STORE_CLAIMED first, written last */
	uint64_t tables;
	uint64_t shape;		/* hash of all tables */
	char system[16];
	uint64_t pad[3];
};

_Static_assert(sizeof(struct tx_store) == 64, "a line");

#define TX_STORE_MAGIC	0x312d78742d636d72ULL	/* "rmc-tx-1" */
#define TX_STORE_CLAIMED	1ULL

#endif /* RMC_LIB_TX_STORE_H */
