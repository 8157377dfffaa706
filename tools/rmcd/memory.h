/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of clients: files that both map, and for local buffers also memory that only the
 * client has mapped.
 *
 *	client   [ odd bytes |  whole pages, in a memfd  | odd bytes ]
 *	              |                   | mmap                |
 *	rmcd     /proc/PID/mem       one range of addresses     /proc/PID/mem
 */
#ifndef RMCD_MEMORY_H
#define RMCD_MEMORY_H

#include <sys/types.h>
#include "closing.h"
#include "driver/protocol.h"
#include "rmcd.h"

/**
 * struct rmcd_registration - memory that a client wants to register
 * @memory: pieces
 * @addr: address in the client
 * @length: bytes, 1 .. RMC_MAX_SEGMENT
 * @foreign: the client's /proc/PID/mem, or -1: no private memory
 * @uid: the client's user
 * @own: it is the user of this daemon
 */
struct rmcd_registration {
	struct rmcd_memory memory;
	u64 addr;
	u64 length;
	int foreign;
	uid_t uid;
	bool own;
};

/**
 * struct rmcd_map - a part of a file that is mapped here
 * @addr: mapping
 * @len: its length
 * @start: the first registered byte
 * @dev: device of the file
 * @ino: inode of the file
 * @offset: of the first registered byte in the file
 * @length: registered bytes
 * @page: bytes of a page of the file, as mapped
 * @in_range: part of rmcd_mem.range
 */
struct rmcd_map {
	void *addr;
	size_t len;
	char *start;
	dev_t dev;
	ino_t ino;
	u64 offset;
	u64 length;
	size_t page;
	bool in_range;
};

/**
 * struct rmcd_mem - registered memory
 * @mem: the part that the pipelines use; first
 * @map: mapped files
 * @maps: number of them
 * @range: addresses of several pieces; NULL: there is one
 * @range_len: bytes of it
 * @chunk: of @mem
 * @piece: with private memory: which of its bytes are private
 * @pieces: number of them
 * @foreign: descriptor of the client's memory, for its private bytes; -1: there are none
 * @worker: of a segment or range: worker that serves it; NULL: several
 * @next: in rmcd.exposed
 * @view: of a range: what the pipelines use; else NULL
 * @filled: bytes of files in which holes were filled
 * @length: bytes of the registration
 * @uid: user of the client
 * @own: it is the user of this daemon
 * @job: to unmap it
 */
struct rmcd_mem {
	struct rmc_mem mem;
	struct rmcd_map map[RMCD_PIECES];
	u32 maps;
	char *range;
	size_t range_len;
	void *chunk[1];
	struct {
		u64 length;
		bool private;
	} piece[RMCD_PIECES];
	u32 pieces;
	int foreign;
	struct rmc_ni_worker *worker;
	struct rmcd_mem *next;
	struct rmc_mem *view;
	u64 filled;
	u64 length;
	uid_t uid;
	bool own;
	struct rmcd_job job;
};

int rmcd_registration_check(const struct rmcd_registration *reg, const int *fds, u32 nfds);
struct rmcd_mem *rmcd_mem_create(const struct rmcd_registration *reg, const int *fds);
int rmcd_mem_ready(struct rmcd_mem *m);
void rmcd_mem_destroy(struct rmcd_mem *m);
void rmcd_mem_lost(struct rmcd_mem *m);
int rmcd_mem_expose(struct rmcd *d, struct rmcd_mem *m, struct rmc_node *node);
void rmcd_mem_hide(struct rmcd *d, struct rmcd_mem *m);

#endif
