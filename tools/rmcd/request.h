/* SPDX-License-Identifier: GPL-2.0 */
/* Requests of clients: the ioctls of the module, and attributes. */
#ifndef RMCD_REQUEST_H
#define RMCD_REQUEST_H

#include "file.h"

/**
 * struct rmcd_req - a request, and its answer
 * @d: daemon
 * @file: open context; NULL on a control connection
 * @peer: who sent it
 * @arg: the struct, in and out; a private copy
 * @len: bytes of @arg
 * @fds: descriptors that came with it; a function that keeps one sets it to -1
 * @nfds: number of them
 * @out: descriptors for the answer
 * @close: bit per @out: close it after sending
 * @close_at_once: of @close, in the main thread
 * @outs: number of them
 * @reg: memory that rmcd_mem_create() shall map before the request is executed again
 * @memory: what it returned; NULL: not called yet
 */
struct rmcd_req {
	struct rmcd *d;
	struct rmcd_file *file;
	const struct rmcd_peer *peer;
	u8 arg[RMCD_MESSAGE_BYTES] __attribute__((aligned(8)));
	u32 len;
	int fds[RMCD_MESSAGE_FDS];
	u32 nfds;
	int out[RMCD_MESSAGE_FDS];
	u32 close;
	u32 close_at_once;
	u32 outs;
	struct rmcd_registration reg;
	struct rmcd_mem *memory;
};

int rmcd_execute(struct rmcd_req *r, u32 request);
int rmcd_attr(struct rmcd_req *r, u32 request);

#endif
