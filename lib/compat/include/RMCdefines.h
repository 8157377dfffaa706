/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Types of the sonuma-vm interface. Programs may read them: head, tail, SR and valid are
 * kept up to date. The library ignores changes by the program.
 */
#ifndef SONUMA_RMCDEFINES_H
#define SONUMA_RMCDEFINES_H

#include <stdint.h>

#define MAX_NUM_WQ	64	/* entries of a WQ and of its CQ */

#ifndef PAGE_SIZE
#define PAGE_SIZE	4096	/* unit of num_pages */
#endif

/* A posted operation; handlers get a copy. */
typedef struct wq_entry {
	uint8_t op;			/* 'r' or 'w' */
	uint8_t SR;			/* lap over the ring, 0 or 1 */
	uint8_t valid;			/* from posting to completion */
	uint8_t cid;			/* context id */
	uint16_t nid;			/* destination */
	uint16_t status;		/* enum rmc_status of the completion; 0: success */
	uint64_t buf_addr;		/* local address: base, */
	uint64_t buf_offset;		/* and offset from it, bytes */
	uint64_t offset;		/* remote, in bytes */
	uint64_t length;
} wq_entry_t;

typedef struct cq_entry {
	uint8_t SR;
	uint8_t tid;
} cq_entry_t;

typedef struct rmc_wq {
	wq_entry_t q[MAX_NUM_WQ];
	uint8_t head;			/* tid of the next operation */
	uint8_t SR;
} rmc_wq_t;

typedef struct rmc_cq {
	cq_entry_t q[MAX_NUM_WQ];
	uint8_t tail;			/* next completion */
	uint8_t SR;
} rmc_cq_t;

#endif /* SONUMA_RMCDEFINES_H */
