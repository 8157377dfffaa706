/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The interface of sonuma-vm, the emulator of the soNUMA authors, on top of librmc:
 * programs written for it compile unchanged, as C or C++, and run on an RMC
 * fabric. See sonuma(7). New programs are better off with <rmc/rmc.h>.
 *
 * librmc has a rmc_drain_cq() with other arguments. The two headers therefore do
 * not go into one source file; at link time the names here begin with sonuma_.
 */
#ifndef SONUMA_H
#define SONUMA_H

#ifdef RMC_QP_H
#error "sonuma.h and <rmc/qp.h> both have a rmc_drain_cq: include one of them"
#endif

/* Programs rely on getting these from here. */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "RMCdefines.h"

#define RMC_DEV		"/dev/rmc"

typedef void (async_handler)(uint8_t tid, wq_entry_t *head, void *owner);

#ifdef __cplusplus
extern "C" {
#endif

#define SONUMA_SYMBOL(name)	__asm__(#name)

/*
 * Open a context: "/dev/rmc_contexts/<id>" is context <id>, any other name is the context
 * of the environment variable RMC_CTX, or 0. A file descriptor, or -1 and errno.
 */
int kal_open(const char *kal_name) SONUMA_SYMBOL(sonuma_open);

/*
 * kal_reg_wq() creates a queue pair; kal_reg_cq() returns the CQ of that queue pair. fd 0
 * means the context opened last, or the default one. 0, or -1 and errno.
 */
int kal_reg_wq(int fd, rmc_wq_t **wq) SONUMA_SYMBOL(sonuma_reg_wq);
int kal_reg_cq(int fd, rmc_cq_t **cq) SONUMA_SYMBOL(sonuma_reg_cq);

/*
 * Local buffer, and the segment that other nodes reach. Zeroed pages when the
 * pointer is NULL, otherwise memory of the caller. 0, or -1 and errno.
 */
int kal_reg_lbuff(int fd, uint8_t **buff, uint32_t num_pages) SONUMA_SYMBOL(sonuma_reg_lbuff);
int kal_reg_ctx(int fd, uint8_t **ctx, uint32_t num_pages) SONUMA_SYMBOL(sonuma_reg_ctx);

/*
 * Blocking: 0, an enum rmc_status, or -errno. Completions of asynchronous
 * operations that arrive meanwhile are kept for the next check or drain.
 */
int rmc_rread_sync(rmc_wq_t *wq, rmc_cq_t *cq, uint8_t *lbuff_base, uint64_t lbuff_offset,
		   int snid, uint32_t ctx_id, uint64_t ctx_offset, uint64_t length)
		   SONUMA_SYMBOL(sonuma_rread_sync);
int rmc_rwrite_sync(rmc_wq_t *wq, rmc_cq_t *cq, uint8_t *lbuff_base, uint64_t lbuff_offset,
		    int snid, uint32_t ctx_id, uint64_t ctx_offset, uint64_t length)
		    SONUMA_SYMBOL(sonuma_rwrite_sync);

/* 0 or -errno. Wait for a free entry if there is none. */
int rmc_rread_async(rmc_wq_t *wq, uint8_t *lbuff_base, uint64_t lbuff_offset, int snid,
		    uint32_t ctx_id, uint64_t ctx_offset, uint64_t length)
		    SONUMA_SYMBOL(sonuma_rread_async);
int rmc_rwrite_async(rmc_wq_t *wq, uint8_t *lbuff_base, uint64_t lbuff_offset, int snid,
		     uint32_t ctx_id, uint64_t ctx_offset, uint64_t length)
		     SONUMA_SYMBOL(sonuma_rwrite_async);

/*
 * Call the handler (may be NULL) for each completion, also of failed operations. check:
 * until the next entry is free; drain: until all operations in flight at the call have
 * completed. Handlers may post. 0 or -errno.
 */
int rmc_check_cq(rmc_wq_t *wq, rmc_cq_t *cq, async_handler *handler, void *owner)
		 SONUMA_SYMBOL(sonuma_check_cq);
int rmc_drain_cq(rmc_wq_t *wq, rmc_cq_t *cq, async_handler *handler, void *owner)
		 SONUMA_SYMBOL(sonuma_drain_cq);

#undef SONUMA_SYMBOL

#ifdef __cplusplus
}
#endif

#endif /* SONUMA_H */
