/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Messages in software, over one-sided operations (A14 section 5.3, T18 section 5.4).
 *
 * For every ordered pair of members the receiver's segment has a bounded buffer of
 * line-sized cells, which the sender fills with remote writes and the receiver polls:
 *
 *	cell	| header, 4 B | payload, 60 B |
 *
 * Small messages are pushed: cut into cells, as many as are contiguous in one
 * write. Of large ones that lie in the team's memory only offset and size are
 * posted; the receiver pulls the data with remote reads and answers with a message
 * of length zero. Credits for consumed cells ride on cells that flow the other way;
 * only when too many are owed a message of their own carries them.
 *
 *	sender  --- cells: data, credits ----------------> receiver
 *	        <-- line of length zero: credits, pulled --
 *
 * Per pair nothing is lost or overtakes. One thread at a time per struct rmc_msg.
 */
#ifndef RMC_MSG_H
#define RMC_MSG_H

#include <rmc/abi.h>
#include <rmc/team.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Messages of this size and larger are pulled; the papers' best is 1 KiB. */
#ifndef RMC_MSG_THRESHOLD
#define RMC_MSG_THRESHOLD	1024
#endif

#define RMC_MSG_CELL		64	/* bytes: the unit of atomicity */
#define RMC_MSG_PAYLOAD		60	/* bytes of it that are not header */
#define RMC_MSG_CELLS		256	/* usual length of a pair's buffer */
#define RMC_MSG_CELLS_MIN	8
#define RMC_MSG_CELLS_MAX	65536

#define RMC_MSG_ANY		(-1)	/* nid: from whomever */

#define RMC_MSG_DONTWAIT	(1U << 0)	/* -EAGAIN rather than wait */
#define RMC_MSG_ASYNC		(1U << 1)	/* do not wait until a message was pulled */
#define RMC_MSG_REGISTERED	(1U << 2)	/* receive: buf is a local buffer, pull into it */

struct rmc_msg;

struct rmc_msg_options {
	uint64_t at;		/* where in team->seg the buffers begin; divisible by 64 */
	unsigned int cells;	/* per ordered pair: a power of two */
	unsigned int entries;	/* of the queue pair; 0: MAX_WQ_SIZE */
	size_t threshold;	/* 0: pull all, SIZE_MAX: push all */
};

#define RMC_MSG_OPTIONS_SIZE_VER0	24
RMC_ABI_SIZE_VER0(rmc_msg_options, threshold, RMC_MSG_OPTIONS_SIZE_VER0);

/* The compile time threshold is that of the application. */
void rmc_msg_defaults_sized(struct rmc_msg_options *o, size_t size);
RMC_SIZED void rmc_msg_defaults(struct rmc_msg_options *o)
{
	rmc_msg_defaults_sized(o, sizeof(*o));
	o->threshold = RMC_MSG_THRESHOLD;
}

/* Bytes that the buffers of a team take, on every member */
RMC_INLINE size_t rmc_msg_bytes(int nodes, unsigned int cells)
{
	return (size_t)nodes * (cells + 1) * RMC_MSG_CELL;
}

/*
 * A queue pair and memory that somebody else made. local: registered, zeroed memory
 * of rmc_msg_local_bytes(). node_state may be NULL.
 */
struct rmc_msg_raw {
	struct rmc_qp *qp;
	int nodes, self, first_nid;
	void *seg;		/* what others can pull from */
	size_t seg_len;
	uint64_t offset;	/* of seg in the segment, same everywhere */
	size_t max_length;	/* of one operation */
	void *local;
	int (*node_state)(void *arg, int nid);
	void *arg;
	int rejoin;		/* the others go on from a former life of this member */
	uint32_t unused;	/* padding in version 1.0: never read */
};

#define RMC_MSG_RAW_SIZE_VER0	88
RMC_ABI_SIZE_VER0(rmc_msg_raw, unused, RMC_MSG_RAW_SIZE_VER0);

size_t rmc_msg_local_bytes(int nodes, unsigned int cells);
struct rmc_msg *rmc_msg_open_raw_sized(const struct rmc_msg_raw *raw, size_t raw_size,
				       const struct rmc_msg_options *options, size_t size);
RMC_SIZED struct rmc_msg *rmc_msg_open_raw(const struct rmc_msg_raw *raw,
					   const struct rmc_msg_options *options)
{
	return rmc_msg_open_raw_sized(raw, sizeof(*raw), options, sizeof(*options));
}

/*
 * Every member opens with the same options; the memory must never have been
 * written. NULL with errno set on failure, see rmc_errmsg().
 */
struct rmc_msg *rmc_msg_open_sized(struct rmc_team *team, const struct rmc_msg_options *options,
				   size_t size);
RMC_SIZED struct rmc_msg *rmc_msg_open_with(struct rmc_team *team,
					    const struct rmc_msg_options *options)
{
	return rmc_msg_open_sized(team, options, sizeof(*options));
}

RMC_INLINE struct rmc_msg *rmc_msg_open(struct rmc_team *team, uint64_t at)
{
	struct rmc_msg_options o;

	rmc_msg_defaults(&o);
	o.at = at;
	return rmc_msg_open_with(team, &o);
}

/* Before the team's. A barrier makes sure that the others need nothing any more. */
void rmc_msg_close(struct rmc_msg *m);

/*
 * A member that died is back, rmc_team_rejoin() has met it, and it opens its messages:
 * let it in again, forgetting what was under way from and to its former life. Waits
 * for it for at most timeout_ms milliseconds, 0: 30 s. Every survivor calls this; the
 * member itself just opens. 0, -ETIMEDOUT (it may be tried again) or another -errno.
 */
int rmc_msg_rejoin(struct rmc_msg *m, int nid, unsigned int timeout_ms);

void rmc_msg_set_threshold(struct rmc_msg *m, size_t threshold);

/*
 * Send len bytes. Pulled are messages of at least the threshold that lie in the
 * team's memory; all others are pushed and buf is free again on return.
 *
 * flags 0: wait for room; a pulled message, until the receiver has it.
 * RMC_MSG_ASYNC: a pulled message's buf stays in use until rmc_msg_flush().
 * RMC_MSG_DONTWAIT: the same, and -EAGAIN if there is no room now; -EMSGSIZE
 * if pushing would take more than half the buffer.
 *
 * 0, -errno, or the enum rmc_status for which the peer was given up.
 */
int rmc_msg_send(struct rmc_msg *m, int nid, const void *buf, size_t len, unsigned int flags);

/*
 * Wait until nid has pulled all that it was sent, and until every write of this member,
 * credits included, is complete. To be called before it turns to other things for long:
 * what a faulty link lost is written again only inside these functions.
 * The second tells how many messages nid has not pulled yet.
 */
int rmc_msg_flush(struct rmc_msg *m, int nid);
unsigned int rmc_msg_pending(struct rmc_msg *m, int nid);

/*
 * Receive the next message of nid or of anyone. *len and *from (may be NULL) tell
 * size and sender. -EMSGSIZE: buf is too small, *len says for what; the message
 * stays. With RMC_MSG_DONTWAIT -EAGAIN if no message has begun to arrive.
 *
 * What a peer sent in full before it died is delivered; then its status is returned,
 * with RMC_MSG_ANY once per peer and, when no other is left, always.
 */
int rmc_msg_recv(struct rmc_msg *m, int nid, void *buf, size_t size, size_t *len, int *from,
		 unsigned int flags);

/*
 * Look at the next message without taking it: -EAGAIN if there is none. *data
 * is its payload in place, or NULL if that is not in one piece; until it is received.
 */
int rmc_msg_peek(struct rmc_msg *m, int nid, const void **data, size_t *len, int *from);

#ifdef __cplusplus
}
#endif

#endif /* RMC_MSG_H */
