/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A driver that does what a test says: any of its calls can fail, the arguments of the
 * last call of each kind can be read, and what the library has not released is counted.
 * Link with --wrap=open,close,ioctl,mmap,munmap,madvise,access. What releases and
 * succeeds sets errno, as it may.
 */
#ifndef STUB_DRIVER_H
#define STUB_DRIVER_H

#include <linux/rmc.h>
#include <linux/rmc_queue.h>

#define STUB_QPS	4
#define STUB_BUFFERS	8
#define STUB_MAPPINGS	32
#define STUB_SEG_OFFSET	(1ULL << 40)		/* mmap_offset of a segment, */
#define STUB_BUF_OFFSET	(1ULL << 41)		/* and of buffer n, so many pages further */

struct stub_mapping {
	void *addr;		/* NULL: free */
	size_t len;
	int prot, flags, fd;
	unsigned long long offset;
	int forks;		/* no MADV_DONTFORK yet */
};

struct stub {
	struct rmc_query query;		/* what RMC_IOC_QUERY answers */
	int module;			/* /dev/rmc is there */
	int open_flags;
	char path[64];

	unsigned int calls;	/* open, ioctl and mmap; not what releases, nor waiting */
	unsigned int fail_at;	/* this one of them fails, from 1; 0: none */
	unsigned long fail;	/* ioctl that fails, whichever call it is; 0: none */
	int error;		/* with this errno */

	struct rmc_attach attach;
	struct rmc_seg_reg seg_reg;
	struct rmc_seg_add seg_add;
	struct rmc_seg_del seg_del;
	struct rmc_buf_reg buf_reg;
	struct rmc_qp_create qp_create;
	struct rmc_qp_id wake;
	struct rmc_cq_arm cq_arm;
	struct rmc_seg_arm seg_arm;
	struct rmc_watch watch;
	struct rmc_node_info node_info;

	unsigned int wakes, yields, arms, releases;
	void (*on_arm)(void);	/* before RMC_IOC_CQ_ARM and RMC_IOC_SEG_ARM */
	int quiet;		/* destroying a queue pair does not show in it */
	int yield_result;	/* of RMC_WAKE_YIELD */
	int node_state;
	unsigned int notified;	/* what RMC_IOC_SEG_ARM answers */
	int watch_fd;

	int segment;			/* there is one */
	int buffer[STUB_BUFFERS];	/* registered */
	int qp[STUB_QPS];		/* created */
	struct rmc_wq_entry *wq[STUB_QPS];
	struct rmc_cq_entry *cq[STUB_QPS];
	struct rmc_qp_flags *flags[STUB_QPS];
	struct stub_mapping mapping[STUB_MAPPINGS];
	int wrong;			/* munmap() of what is not mapped as a whole */

	/* if set, queue pairs have a worker: it copies from and to this segment */
	char *memory;
	int op_status;			/* enum rmc_status of all operations */
	unsigned int ops;		/* executed */
	int hold;			/* none is, for now */
	int stillborn;			/* queue pairs are dead when they are made */
};

extern struct stub stub;

/* All as after loading; with one node 0 of four, and files that were open forgotten */
void stub_reset(void);

/* Whatever the library has made and not released, and mistakes of releasing */
int stub_left(void);

/* The mapping of driver memory at an offset, or NULL */
const struct stub_mapping *stub_mapped(unsigned long long offset);

/* The next completion of a queue pair without a worker */
void stub_complete(int qp, unsigned int n, unsigned int slot, int status);

#endif /* STUB_DRIVER_H */
