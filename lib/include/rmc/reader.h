/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Reads of remote objects through one of the schemes of <rmc/scheme.h>, up to a window of
 * concurrent reads:
 *
 *	rmc_reader_start(r, &rd)      takes a landing buffer, issues the first operation
 *	while (rmc_reader_poll(r, &done) == 0)
 *		;                     further operations, checks, attempts
 *	... done->status, done->data ...
 *	rmc_reader_release(r, done)   the landing buffer is free again
 *
 * A torn or locked object is read again after a random, growing back-off. After the last
 * attempt the read ends with the status of that attempt, or, with an RPC and fall_back, is
 * sent to the owner as a message.
 *
 * A reader uses its queue pair exclusively. One thread at a time.
 */
#ifndef RMC_READER_H
#define RMC_READER_H

#include <rmc/abi.h>
#include <rmc/qp.h>
#include <rmc/rpc.h>
#include <rmc/scheme.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rmc_reader;

struct rmc_reader_options {
	const struct rmc_scheme *scheme;
	size_t max;			/* bytes of the largest object */
	unsigned int window;		/* reads in progress; 0: 1, at most half the QP's entries */
	unsigned int attempts;		/* 0: 64 */
	uint32_t backoff_ns;		/* after the first failure; doubles after each */
	uint32_t backoff_max_ns;	/* 0 with backoff_ns 0: try again at once */
	unsigned int fall_back;		/* after the last attempt: ask the owner */
	struct rmc_scheme_params params;
	int nid;			/* of this node, which its locks name */
	struct rmc_rpc *rpc;		/* for messages; NULL: no messages */
	void *memory;			/* registered, rmc_reader_bytes(); NULL: allocate */
};

#define RMC_READER_OPTIONS_SIZE_VER0	72
RMC_ABI_SIZE_VER0(rmc_reader_options, memory, RMC_READER_OPTIONS_SIZE_VER0);

/* Read of one object. The caller fills the first four. */
struct rmc_object_read {
	int nid;
	uint64_t offset;		/* of the object in nid's segment */
	size_t len;			/* of the object's data */
	void *arg;			/* the caller's */
	/* result */
	int status;			/* 0, enum rmc_status or rmc_scheme_status, -errno */
	const void *data;		/* len bytes, until rmc_reader_release() */
	unsigned int tries;
	/* private */
	int index;
};

RMC_ABI_SIZE(rmc_object_read, 56);

struct rmc_reader_stats {
	uint64_t reads, failed;		/* reads that succeeded, and that failed */
	uint64_t tries;			/* images fetched */
	uint64_t torn, locked, lease_over, lost;	/* failed tries by result */
	uint64_t fell_back;
	uint64_t bytes;			/* of images and responses */
	uint64_t unlocks_lost;		/* locks that may still be held */
};

/* Embedded in struct rmc_kv_stats, so it never changes. */
RMC_ABI_SIZE(rmc_reader_stats, 80);

/* Registered memory that a reader needs */
size_t rmc_reader_bytes_sized(const struct rmc_reader_options *options, size_t size);
RMC_SIZED size_t rmc_reader_bytes(const struct rmc_reader_options *options)
{
	return rmc_reader_bytes_sized(options, sizeof(*options));
}

/* NULL with errno set on failure, see rmc_errmsg() */
struct rmc_reader *rmc_reader_open_sized(struct rmc_qp *qp,
					 const struct rmc_reader_options *options, size_t size);
RMC_SIZED struct rmc_reader *rmc_reader_open(struct rmc_qp *qp,
					     const struct rmc_reader_options *options)
{
	return rmc_reader_open_sized(qp, options, sizeof(*options));
}

/* Waits for operations in flight, unlocks included. */
void rmc_reader_close(struct rmc_reader *r);

/* 0; -EAGAIN: the window is full; -EMSGSIZE; -EOPNOTSUPP: the scheme needs an RPC */
int rmc_reader_start(struct rmc_reader *r, struct rmc_object_read *rd);

/* 1: *done has ended; 0: none has; or -errno. Serves the RPC's requests as well. */
int rmc_reader_poll(struct rmc_reader *r, struct rmc_object_read **done);
void rmc_reader_release(struct rmc_reader *r, struct rmc_object_read *rd);

/* Start and wait; no other read may be in progress. Returns rd->status. */
int rmc_reader_read(struct rmc_reader *r, struct rmc_object_read *rd);

const struct rmc_reader_stats *rmc_reader_stats(const struct rmc_reader *r);

/*
 * For the owner's RPC handler: serves an object read, a request of RMC_READER_REQUEST bytes
 * that begins with RMC_READER_MAGIC. Returns the bytes of the response or -errno. seg: the
 * owner's memory at the offsets that readers use.
 */
#define RMC_READER_MAGIC	0x6a626f72U	/* "robj" */
#define RMC_READER_REQUEST	24
int rmc_reader_serve(const struct rmc_scheme *s, const void *seg, size_t seg_len,
		     const void *request, size_t len, void *response, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* RMC_READER_H */
