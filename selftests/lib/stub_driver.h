/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A stub of the driver that a test controls. Any of its calls can fail. The arguments of the
 * last call of each kind can be read. Resources that the library has not released are
 * counted. Link with --wrap=open,close,ioctl,mmap,munmap,madvise,access.
 *
 * Successful release calls change errno, as C permits: the library must save it.
 */
#ifndef STUB_DRIVER_H
#define STUB_DRIVER_H

#include <linux/rmc.h>
#include <linux/rmc_queue.h>

#define STUB_QPS	4
#define STUB_BUFFERS	8
#define STUB_MAPPINGS	32
#define STUB_SEG_OFFSET	(1ULL << 40)		/* mmap_offset of a segment, */
#define STUB_BUF_OFFSET	(1ULL << 41)		/* and of buffer n, n pages further */

struct stub_mapping {
	void *addr;		/* NULL: free */
	size_t len;
	int prot, flags, fd;
	unsigned long long offset;
	int forks;		/* not yet marked MADV_DONTFORK */
};

struct stub {
	struct rmc_query query;		/* result of RMC_IOC_QUERY */
	int module;			/* /dev/rmc exists */
	int open_flags;
	char path[64];

	unsigned int calls;	/* open, ioctl and mmap, without releases and wake-ups */
	unsigned int fail_at;	/* index from 1 of the call that fails; 0: none */
	unsigned long fail;	/* ioctl request that always fails; 0: none */
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
	int quiet;		/* destroying a queue pair does not set its dead flag */
	int yield_result;	/* of RMC_WAKE_YIELD */
	int node_state;
	unsigned int notified;	/* count that RMC_IOC_SEG_ARM returns */
	int watch_fd;

	int segment;			/* a segment is registered */
	int buffer[STUB_BUFFERS];	/* registered */
	int qp[STUB_QPS];		/* created */
	struct rmc_wq_entry *wq[STUB_QPS];
	struct rmc_cq_entry *cq[STUB_QPS];
	struct rmc_qp_flags *flags[STUB_QPS];
	struct stub_mapping mapping[STUB_MAPPINGS];
	int wrong;			/* munmap() calls that match no whole mapping */

	/* if set, queue pairs have a worker, which copies from and to this segment */
	char *memory;
	int op_status;			/* enum rmc_status of all operations */
	unsigned int ops;		/* executed */
	int hold;			/* workers execute nothing while this is set */
	int stillborn;			/* queue pairs are dead from creation */
};

extern struct stub stub;

/* Resets to the state after loading, with local node 0 of 4 nodes, and forgets open files */
void stub_reset(void);

/* Number of resources that the library has not released, and of wrong releases */
int stub_left(void);

/* The mapping of driver memory at an offset, or NULL */
const struct stub_mapping *stub_mapped(unsigned long long offset);

/* Posts completion n of a queue pair without a worker */
void stub_complete(int qp, unsigned int n, unsigned int slot, int status);

#endif /* STUB_DRIVER_H */
