/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transactions of SW-Impl from which parts can be omitted, for tx_bench.c: the library's own files
 * of SW-Impl, compiled a second time with other functions where a part is (tx_pass.c). The library
 * has no such choice. The parts are those of HADES' figure 3 and table I.
 */
#ifndef BENCH_TX_PASS_H
#define BENCH_TX_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rmc_qp;

enum tx_part {
	TX_PART_SETS,		/* read and write set: their table, copies of what is written */
	TX_PART_VERSION,	/* versions of a record and its lines that a write stores */
	TX_PART_ATOMICITY,	/* of a read: versions of lines are compared, data copied out */
	TX_PART_READ,		/* of a record before it is written */
	TX_PART_CONFLICTS,	/* locks, their replies, words that are read again */
	TX_PARTS
};

#define TX_ALL		((1U << TX_PARTS) - 1)
#define TX_LIBRARY	(1U << TX_PARTS)	/* no copy: as the library has it */

#define TX_BYTES	1000U		/* of a record, of ten fields: YCSB's */
#define TX_FIELD	100U
#define TX_REQUESTS	5U		/* of a transaction */
#define TX_RECORDS	65536U		/* of two nodes: rid modulo 2 is the node */

struct tx_request {
	uint64_t rid;
	uint32_t field;			/* of TX_FIELD bytes */
	bool write;			/* one field; a read is of the record */
};

/* Remote operations so far */
struct tx_counts {
	uint64_t reads, locks, checks, writes, unlocks, committed;
};

/* Bytes of the memory of a node, and of registered memory of the transactions */
size_t tx_pass_segment(void);
size_t tx_pass_memory(void);

/*
 * Open the database of two nodes at node 0, whose memory is own; that of node 1 is at other. Both
 * are zero. Ends the program on errors, as all functions here do.
 */
void tx_pass_open(struct rmc_qp *qp, void *memory, void *own, void *other);
void tx_pass_close(void);

/* What later transactions omit: parts by bit, or TX_LIBRARY; together: reads are posted at once */
void tx_pass_choose(uint32_t omit, bool together);
/* A transaction of TX_REQUESTS requests, of different records */
void tx_pass_run(const struct tx_request *r);
/*
 * After transactions: each request's record is unlocked, and has the version that it should have.
 * Then it is as it was before. Requests are of different records.
 */
void tx_pass_restore(const struct tx_request *r, unsigned int n);
/* How often a part was omitted since it was chosen */
uint64_t tx_pass_omitted(enum tx_part part);
void tx_pass_counts(struct tx_counts *c);

#endif
