/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Reads and writes of remote objects that any node may write (R25). Documentation/sync.rst
 * says which scheme to choose.
 *
 *	struct rmc_hold h = { .len = 256 };
 *
 *	rmc_sync_read(s, addr, &h);		rmc_sync_write(s, addr, &h);
 *	... h.data ...				... change h.data ...
 *	rmc_sync_end(s, &h);			rmc_sync_commit(s, &h);
 *
 * A hold is one object in use, and has a buffer until it is ended, committed or cancelled.
 * Several holds at a time are possible, as many as there are buffers. If the call that ends
 * a read returns RMC_SCHEME_TORN, the object has changed meanwhile, and what was concluded
 * from it is void.
 *
 * The object's owner uses the same calls over a queue pair to its own node, or
 * rmc_scheme_write() and rmc_scheme_read() with rmc_sync_layout().
 *
 * A struct rmc_sync uses its queue pair exclusively. One thread at a time. It must not hold
 * the same object twice.
 */
#ifndef RMC_SYNC_H
#define RMC_SYNC_H

#include <rmc/abi.h>
#include <rmc/latch.h>
#include <rmc/qp.h>
#include <rmc/rpc.h>
#include <rmc/scheme.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rmc_sync;

enum rmc_latch {
	RMC_LATCH_DEFAULT,	/* the scheme's own */
	RMC_LATCH_RW,		/* readers share it */
	RMC_LATCH_EXCL,		/* compare-and-swap only */
	RMC_LATCH_VERSION,	/* the version, odd */
	RMC_LATCH_DETACHED,	/* as RW, in an array apart from the objects */
	RMC_LATCH_NONE,
	RMC_LATCH_NIC_RPC,	/* of a processor at the objects' node: <rmc/latch.h> */
	RMC_LATCHES,		/* their number; may grow */
};

#define RMC_SYNC_SPEC		(1U << 0)	/* the read is posted behind the latch */
#define RMC_SYNC_COMBINE	(1U << 1)	/* the release is posted behind the write */
#define RMC_SYNC_ASYNC		(1U << 2)	/* nobody waits for write and release */
#define RMC_SYNC_WRITE_UNLATCH	(1U << 3)	/* the write's last line is the release */
/* The caller knows the queue pair to be ordered: one RRPP per node, no filters */
#define RMC_SYNC_TRUST_ORDER	(1U << 4)

struct rmc_sync_options {
	const struct rmc_scheme *scheme;	/* of rmc_sync_find() */
	size_t max;			/* bytes of the largest object */
	unsigned int latch;		/* enum rmc_latch */
	unsigned int flags;		/* RMC_SYNC_* */
	unsigned int buffers;		/* 0: 1, or 2 with ASYNC; at most a quarter of the entries */
	unsigned int attempts;		/* 0: 64 */
	uint32_t backoff_ns;		/* after the first failure; doubles after each */
	uint32_t backoff_max_ns;
	struct rmc_scheme_params params;
	int nid;			/* of this node, rmc_nid(): latches name it */
	/*
	 * 0 .. 255: another one for each user of this node, or they take each other's latches for
	 * their own, and lose updates; from 240 on they are rmc-sync's. One that begins again with
	 * a number takes over what its earlier life has left before it writes.
	 */
	unsigned int client;
	uint32_t grace_us;		/* before a copy is used again; 0: 10000 */
	/* for messages, of RMC_LATCH_NIC_RPC too, until the close; NULL: no messages */
	struct rmc_rpc *rpc;
	void *memory;			/* registered, rmc_sync_bytes(); NULL: allocate */
	/* RMC_LATCH_DETACHED: latch i, at latches + 8 * i, is of the object at base + i * stride */
	uint64_t latches, base, stride, objects;
	/*
	 * RMC_NEEDS_POOL: slots of rmc_sync_copy_bytes() at the objects' node, of this client.
	 * Memory of zeros, other memory for each rmc_sync_open(): slots that had a copy are not used.
	 */
	uint64_t pool;
	uint32_t pool_slots;
	int pool_nid;
	/* RMC_LATCH_NIC_RPC: that of this node's objects, asked without a message; or NULL */
	struct rmc_latch_server *latch_server;
};

#define RMC_SYNC_OPTIONS_SIZE_VER1	128
RMC_ABI_SIZE_VER0(rmc_sync_options, pool_nid, RMC_SYNC_OPTIONS_SIZE_VER1);

struct rmc_hold {
	size_t len;			/* of the object's data; the caller sets it */
	void *arg;			/* the caller's */
	/* what was found last at this address; 0: unknown. Kept for the next use of it. */
	uint64_t hint;
	/* result */
	void *data;			/* len bytes, until the hold ends */
	uint64_t version;		/* of data */
	int status;			/* 0, enum rmc_status or rmc_scheme_status, -errno */
	unsigned int tries;
	/* private */
	int index;
	int torn;			/* result of rmc_sync_take_over() */
};

RMC_ABI_SIZE(rmc_hold, 56);

struct rmc_sync_stats {
	uint64_t reads, writes, failed;	/* holds that were obtained or committed, and failed */
	uint64_t messages, round_trips;	/* operations; times that the caller had to wait */
	uint64_t atomics;		/* of the messages */
	uint64_t torn, locked, lost;	/* failed tries by result */
	uint64_t unknown;		/* lost replies that had to be decided */
	uint64_t unlocks_lost;		/* latches that may still be held */
	uint64_t background_failed;	/* commits that failed after the call had returned */
	uint64_t quarantined;		/* writes and take-overs that failed: latch or copy stay */
	/* the same, but the latch was free before that was known, or had been taken over */
	uint64_t damaged;
};

#define RMC_SYNC_STATS_SIZE_VER1	112
RMC_ABI_SIZE_VER0(rmc_sync_stats, damaged, RMC_SYNC_STATS_SIZE_VER1);

/* All schemes, by name, or by number from 0; NULL: none */
const struct rmc_scheme *rmc_sync_find(const char *name);
const struct rmc_scheme *rmc_sync_number(unsigned int i);
const char *rmc_sync_latch_name(unsigned int latch);

/*
 * Systems that R25 compares, as a scheme, a latch and options: nam-db, nam-db++, opt-db-farm,
 * opt-db-crc64, opt-db-versioning. Defined by the library. Grows at its end.
 */
struct rmc_sync_system {
	const char *name, *title;
	const char *papers;		/* where it is from */
	const char *scheme;		/* for rmc_sync_find() */
	unsigned int latch, flags;	/* as in the options */
	unsigned int pad;		/* lines between two objects */
};

RMC_ABI_OFFSET(rmc_sync_system, name, 0);
RMC_ABI_OFFSET(rmc_sync_system, pad, 40);

/* All systems, by name, or by number from 0; NULL: none */
const struct rmc_sync_system *rmc_sync_system_find(const char *name);
const struct rmc_sync_system *rmc_sync_system_number(unsigned int i);

/*
 * Sets scheme, latch and flags of the options, where RMC_SYNC_TRUST_ORDER stays, and stride: from
 * one object to the next one, of options->max bytes each. 0, or -EINVAL: max is no length.
 */
int rmc_sync_system_use(const struct rmc_sync_system *system, struct rmc_sync_options *options);

/* True if operations of this queue pair take effect in order: see sync.rst, Options. */
int rmc_sync_is_ordered(const struct rmc_qp *qp);

/*
 * The scheme with the layout that scheme, latch and flags of the options result in, for
 * rmc_scheme_bytes(), _init(), _write(), _read(). NULL with errno set: refused.
 */
const struct rmc_scheme *rmc_sync_layout_sized(const struct rmc_sync_options *options,
					       size_t size);
RMC_SIZED const struct rmc_scheme *rmc_sync_layout(const struct rmc_sync_options *options)
{
	return rmc_sync_layout_sized(options, sizeof(*options));
}

/*
 * As rmc_scheme_holder() and rmc_scheme_break(), of an object of len bytes in any layout.
 * -EOPNOTSUPP: of a detached latch or a server's; and to break, with a version in each line or copies
 * out of place.
 */
int rmc_sync_holder(const struct rmc_scheme *s, const struct rmc_object *o, size_t len);
int rmc_sync_break(const struct rmc_scheme *s, struct rmc_object *o, size_t len, int nid);

/* Registered memory that it needs, and bytes of one slot of the pool */
size_t rmc_sync_bytes_sized(const struct rmc_sync_options *options, size_t size);
RMC_SIZED size_t rmc_sync_bytes(const struct rmc_sync_options *options)
{
	return rmc_sync_bytes_sized(options, sizeof(*options));
}

size_t rmc_sync_copy_bytes(size_t len);

/*
 * What one read or write costs that nobody is in the way of, with the hint of the last one
 * (rmc_hold.hint): operations, times that the caller waits, and atomics of the operations.
 * 0; -EINVAL, -EOPNOTSUPP: refused, or only the owner writes.
 */
struct rmc_sync_cost {
	unsigned int messages, round_trips, atomics;
};

RMC_ABI_SIZE(rmc_sync_cost, 12);

int rmc_sync_cost_sized(const struct rmc_sync_options *options, size_t size, int writes,
			struct rmc_sync_cost *cost);
RMC_SIZED int rmc_sync_cost(const struct rmc_sync_options *options, int writes,
			    struct rmc_sync_cost *cost)
{
	return rmc_sync_cost_sized(options, sizeof(*options), writes, cost);
}

/*
 * NULL with errno set on failure, see rmc_errmsg(). EINVAL: options that exclude each other;
 * EOPNOTSUPP: they need an ordered queue pair; EMSGSIZE: an object is longer than an
 * operation.
 */
struct rmc_sync *rmc_sync_open_sized(struct rmc_qp *qp, const struct rmc_sync_options *options,
				     size_t size);
RMC_SIZED struct rmc_sync *rmc_sync_open(struct rmc_qp *qp,
					 const struct rmc_sync_options *options)
{
	return rmc_sync_open_sized(qp, options, sizeof(*options));
}

/*
 * Cancels holds; waits for operations in flight, releases included. RMC_LATCH_NIC_RPC without a time
 * limit of the RPC: for a second.
 */
void rmc_sync_close(struct rmc_sync *s);

/* Address of an object: its node and the offset in that node's segment */
RMC_INLINE uint64_t rmc_sync_addr(int nid, uint64_t offset)
{
	return (uint64_t)(unsigned int)nid << 48 | (offset & ((1ULL << 48) - 1));
}

/*
 * Calls that wait: 0; enum rmc_scheme_status after the last attempt; enum rmc_status of an
 * operation that failed; -EAGAIN: the caller holds all buffers; -EINVAL: an address that no
 * object can have, also at another node than the pool, or a hold that is none; -EMSGSIZE: longer
 * than options.max, or not of the size of a pool's copies; -EOVERFLOW: the latch or the version has
 * reached its limit; -ENOSPC: no slot of the pool is free; -EOPNOTSUPP: only the owner writes
 * objects of this scheme, or there is no pool, or a switch has the latch that is to be taken over, and
 * "rmcctl switch unlatch" gives it free. rmc_errmsg() names the cause. -EDQUOT: this node holds as
 * many latches as their server has room for. -EHOSTDOWN: that server takes this node for dead, see
 * rmc_latch_server_alive(). The hold has ended unless rmc_sync_read() or
 * rmc_sync_write() returns 0; but a later call that is refused at once (-EINVAL, -EOVERFLOW,
 * -EOPNOTSUPP, -ENOSPC) leaves it as it is.
 */
int rmc_sync_read(struct rmc_sync *s, uint64_t addr, struct rmc_hold *h);
int rmc_sync_write(struct rmc_sync *s, uint64_t addr, struct rmc_hold *h);

/*
 * As rmc_sync_write(), of an object that is latched by a node which is dead; nid -1: by readers of
 * rw, none of which is left; nid of this node: by this client, which has given up the object
 * (rmc_sync_stats.quarantined, unlocks_lost), also in an earlier life. Other nodes take over only
 * what all clients of nid have given up. h->torn: data may be half written: commit other data.
 * Else it is one state, and may be committed or cancelled. Torn data that is not replaced stays
 * latched, and so does an object that cannot be read: by this node then, which may take it over
 * once more. -ENOENT: the object is not latched by nid; -EBUSY: nid is this node, and this client
 * has a hold of it. For this node it waits as rmc_sync_drain() does, without returning its status.
 * RMC_LATCH_NIC_RPC: not before the server knows that nid is dead, see rmc_latch_server_dead(); -1
 * is none of its readers (-EOPNOTSUPP).
 */
int rmc_sync_take_over(struct rmc_sync *s, uint64_t addr, int nid, struct rmc_hold *h);

/*
 * Ends a hold: validates or releases. RMC_SCHEME_TORN: the object has changed, or its latch was
 * taken over, as by a node that took this one for dead. Calls that end a hold in another way say
 * the same where it has a latch: what they have stored may be a mixture with the other one's data,
 * and is counted as damaged.
 */
int rmc_sync_end(struct rmc_sync *s, struct rmc_hold *h);

/* Stores h->data, and ends the hold. With ASYNC it returns before: see rmc_sync_drain(). */
int rmc_sync_commit(struct rmc_sync *s, struct rmc_hold *h);

/* Ends a hold without a store and without a validation. */
int rmc_sync_cancel(struct rmc_sync *s, struct rmc_hold *h);

/*
 * A hold of rmc_sync_read() becomes one of rmc_sync_write() if the object has not changed
 * since: 0. RMC_SCHEME_TORN or _LOCKED: it could not, and the hold has ended.
 */
int rmc_sync_upgrade(struct rmc_sync *s, struct rmc_hold *h);

/*
 * Asks whether the object has still not changed, and nobody writes it: 0, and the hold goes on, as
 * often as it is asked. So one object is known to be as it was read when another one has been read,
 * which lock coupling needs. A latch that is held is an answer without an operation. RMC_SCHEME_TORN:
 * it has changed; or a status: the hold has ended. -EOPNOTSUPP: the scheme has no validation.
 */
int rmc_sync_valid(struct rmc_sync *s, struct rmc_hold *h);

/*
 * Waits for all that no call waits for. 0, or the status of the first commit that has failed
 * since the last call of this function.
 */
int rmc_sync_drain(struct rmc_sync *s);

/*
 * Without waiting: start one of the calls above, then poll: 1: *done has the result in
 * status; 0: nothing has ended; or -errno. With a call that waits in between, other holds'
 * results stay for the next poll.
 */
enum rmc_sync_call {
	RMC_SYNC_READ, RMC_SYNC_WRITE, RMC_SYNC_END, RMC_SYNC_COMMIT, RMC_SYNC_CANCEL,
	RMC_SYNC_UPGRADE, RMC_SYNC_VALID,
};

int rmc_sync_start(struct rmc_sync *s, enum rmc_sync_call call, uint64_t addr,
		   struct rmc_hold *h);
int rmc_sync_poll(struct rmc_sync *s, struct rmc_hold **done);

void rmc_sync_stats_sized(const struct rmc_sync *s, struct rmc_sync_stats *stats, size_t size);
RMC_SIZED void rmc_sync_stats(const struct rmc_sync *s, struct rmc_sync_stats *stats)
{
	rmc_sync_stats_sized(s, stats, sizeof(*stats));
}

#ifdef __cplusplus
}
#endif

#endif /* RMC_SYNC_H */
