/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * HADES: a record is a word and its data, without versions or locks.
 *
 *	| incarnation, 32 b | 0 | data | 0 ..	up to a whole line |
 *
 * It is present if its incarnation is odd. Memory of zeros is a record that is absent.
 */
#ifndef RMC_LIB_TX_HADES_H
#define RMC_LIB_TX_HADES_H

#include <linux/rmc_tx.h>
#include "state.h"

#define HADES_DATA	8	/* where data begin, bytes */

static inline size_t hades_bytes(size_t len)
{
	return (HADES_DATA + len + LINE - 1) & ~(size_t)(LINE - 1);
}

/* hades_open.c */
size_t rmc_tx_hades_more_bytes(const struct rmc_tx_db *db);
int rmc_tx_hades_usable(const struct rmc_query *q);
int rmc_tx_hades_open(struct rmc_tx_db *db);
void rmc_tx_hades_close(struct rmc_tx_db *db);
int rmc_tx_hades_load(struct rmc_tx_db *db, void *record, const void *data, size_t len);

/* hades_local.c: own records by loads and stores. 0 or -errno */
int rmc_tx_hades_local_open(struct rmc_tx_db *db);
int rmc_tx_hades_local_locks(struct rmc_tx_db *db, uint64_t offset);
void rmc_tx_hades_local_close(struct rmc_tx_db *db);
/* For RMC_IOC_TX_REG, and what it has mapped; NULL: none */
struct rmc_tx_local *rmc_tx_hades_filters(struct rmc_tx_db *db);
const struct rmc_tx_locks *rmc_tx_hades_locks(const struct rmc_tx_db *db);
/* Is this access by loads and stores? */
int rmc_tx_hades_by_loads(struct rmc_tx *t, const struct tx_access *a);
/* 0, or what the program's call returns: the transaction has ended then */
int rmc_tx_hades_load_own(struct rmc_tx *t, struct tx_access *a);
/* Bytes [from, to) of its image */
int rmc_tx_hades_store_own(struct rmc_tx *t, struct tx_access *a, uint32_t from, uint32_t to);
int rmc_tx_hades_check_own(struct rmc_tx *t);
/* Has it used an own record by loads? */
int rmc_tx_hades_has_loaded(const struct tx_set *s);
/* Ranges of own records, of which the first max are in item; their bytes, each up to 8, are added */
uint32_t rmc_tx_hades_own_ranges(struct tx_set *s, struct rmc_tx_item *item, uint32_t max,
				 uint16_t nid, uint32_t *bytes);
/* Their data: the end of them */
uint8_t *rmc_tx_hades_own_data(const struct tx_set *s, uint8_t *to);
/* It is over. True: the RMC has marked it, and has to forget that */
int rmc_tx_hades_local_end(struct tx_set *s);

static inline uint32_t hades_padded(uint32_t bytes)
{
	return (bytes + 7) & ~7U;
}

#endif /* RMC_LIB_TX_HADES_H */
