/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Declarations of both sides: librmc under its names, the sonuma-vm functions under
 * their link-time names.
 *
 *	open.c		contexts, memory; meeting peers at the start and the end
 *	queue.c		operations and completions
 */
#ifndef SONUMA_INTERNAL_H
#define SONUMA_INTERNAL_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>
#include <rmc/rmc.h>
#include "RMCdefines.h"

#define PROBE_ENTRIES	2

/*
 * An open context. sonuma_lock guards the list and all fields except `rmc`; contexts are
 * never closed.
 */
struct sonuma_ctx {
	struct sonuma_ctx *next;
	struct rmc_ctx *rmc;
	unsigned int id;
	int by_default;			/* not opened by its number: the program's name is 0 */
	pid_t pid;			/* process that opened it; a child opens its own */
	struct rmc_qp *probe;		/* for checks whether peers are there */
	uint64_t *landing;		/* buffer of the probe's reads */
	uint64_t *trailer;		/* last line of our segment, or NULL */
	uint64_t trailer_offset;
	uint8_t met[RMC_NID_MAX + 1];	/* once set, operations go ahead */
};

extern pthread_mutex_t sonuma_lock;

/* The context behind a file descriptor of the program; NULL and errno */
struct sonuma_ctx *sonuma_find_ctx(int fd);

/* Before the first operation on a node: give it time to register its segment. */
void sonuma_meet(struct sonuma_ctx *ctx, int nid);

typedef void (sonuma_handler)(uint8_t tid, wq_entry_t *head, void *owner);

int sonuma_open(const char *name);
int sonuma_reg_wq(int fd, rmc_wq_t **wq);
int sonuma_reg_cq(int fd, rmc_cq_t **cq);
int sonuma_reg_lbuff(int fd, uint8_t **buff, uint32_t num_pages);
int sonuma_reg_ctx(int fd, uint8_t **ctx, uint32_t num_pages);
int sonuma_rread_sync(rmc_wq_t *wq, rmc_cq_t *cq, uint8_t *base, uint64_t base_offset, int nid,
		      uint32_t cid, uint64_t offset, uint64_t length);
int sonuma_rwrite_sync(rmc_wq_t *wq, rmc_cq_t *cq, uint8_t *base, uint64_t base_offset, int nid,
		       uint32_t cid, uint64_t offset, uint64_t length);
int sonuma_rread_async(rmc_wq_t *wq, uint8_t *base, uint64_t base_offset, int nid, uint32_t cid,
		       uint64_t offset, uint64_t length);
int sonuma_rwrite_async(rmc_wq_t *wq, uint8_t *base, uint64_t base_offset, int nid, uint32_t cid,
			uint64_t offset, uint64_t length);
int sonuma_check_cq(rmc_wq_t *wq, rmc_cq_t *cq, sonuma_handler *handler, void *owner);
int sonuma_drain_cq(rmc_wq_t *wq, rmc_cq_t *cq, sonuma_handler *handler, void *owner);

#endif /* SONUMA_INTERNAL_H */
