/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Messages in software, over one-sided operations (A14 section 5.3, T18 section 5.4).
 *
 * For every ordered pair of members the receiver's segment has a bounded buffer of
 * line-sized cells, which the sender fills with remote writes and the receiver polls:
 *
 *	cell	| header, 4 B | payload, 60 B |
 *
 * Small messages are pushed: cut into cells; one write carries as many as are contiguous.
 * Of large messages in the team's memory only offset and size are sent; the receiver pulls
 * the data with remote reads and answers with a message of length zero. Credits for
 * consumed cells travel with cells in the other direction; a message of their own carries
 * them only when too many are due.
 *
 *	sender  --- cells: data, credits ----------------> receiver
 *	        <-- line of length zero: credits, pulled --
 *
 * Messages of a pair are neither lost nor reordered. One thread at a time per struct rmc_msg.
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
#define RMC_MSG_PAYLOAD		60	/* payload bytes of a cell */
#define RMC_MSG_CELLS		256	/* usual length of a pair's buffer */
#define RMC_MSG_CELLS_MIN	8
#define RMC_MSG_CELLS_MAX	65536

#define RMC_MSG_ANY		(-1)	/* nid: any sender */

#define RMC_MSG_DONTWAIT	(1U << 0)	/* -EAGAIN instead of waiting */
#define RMC_MSG_ASYNC		(1U << 1)	/* do not wait until a message was pulled */
#define RMC_MSG_REGISTERED	(1U << 2)	/* receive: buf is a local buffer, pull into it */

struct rmc_msg;

struct rmc_msg_options {
	uint64_t at;		/* offset of the buffers in team->seg; divisible by 64 */
	unsigned int cells;	/* per ordered pair: a power of two */
	unsigned int entries;	/* of the queue pair; 0: RMC_QP_ENTRIES_DEFAULT */
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
 * A queue pair and memory that the caller provides. local: registered, zeroed memory of
 * rmc_msg_local_bytes(). node_state may be NULL.
 */
struct rmc_msg_raw {
	struct rmc_qp *qp;
	int nodes, self, first_nid;
	void *seg;		/* memory that the others can pull from */
	size_t seg_len;
	uint64_t offset;	/* of seg in the segment, same on all members */
	size_t max_length;	/* of one operation */
	void *local;
	int (*node_state)(void *arg, int nid);
	void *arg;
	int rejoin;		/* this member was restarted; the others continue */
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
 * Every member opens with the same options; the memory must still be zero. NULL with
 * errno set on failure, see rmc_errmsg().
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

/*
 * To be called before rmc_team_close(), after a barrier: the others must not need this
 * member's messages any more.
 */
void rmc_msg_close(struct rmc_msg *m);

/*
 * Readmit a member that died and was restarted: rmc_team_rejoin() has met it, and it opens
 * its messages. Messages from and to its earlier incarnation are dropped. Waits for it for at
 * most timeout_ms milliseconds, 0: 30 s. Every survivor calls this; the restarted member
 * only opens. 0, -ETIMEDOUT (try again) or another -errno.
 */
int rmc_msg_rejoin(struct rmc_msg *m, int nid, unsigned int timeout_ms);

void rmc_msg_set_threshold(struct rmc_msg *m, size_t threshold);

/*
 * Send len bytes. A message of at least the threshold in the team's memory is pulled; all
 * others are pushed, and buf is free again on return.
 *
 * flags 0: wait for room; for a pulled message, until the receiver has it.
 * RMC_MSG_ASYNC: a pulled message's buf stays in use until rmc_msg_flush().
 * RMC_MSG_DONTWAIT: the same, and -EAGAIN if there is no room now; -EMSGSIZE
 * if pushing would take more than half the buffer.
 *
 * 0, -errno, or the enum rmc_status for which the peer was given up.
 */
int rmc_msg_send(struct rmc_msg *m, int nid, const void *buf, size_t len, unsigned int flags);

/*
 * Wait until nid has pulled all messages sent to it, and until every write of this member,
 * credits included, is complete. To be called before the member makes no calls for a long
 * time: only these functions repeat writes that a faulty link has lost.
 * rmc_msg_pending(): the number of messages that nid has not pulled yet.
 */
int rmc_msg_flush(struct rmc_msg *m, int nid);
unsigned int rmc_msg_pending(struct rmc_msg *m, int nid);

/*
 * Receive the next message of nid, or of any member. *len and *from (may be NULL) return
 * size and sender. -EMSGSIZE: buf is too small for *len bytes; the message stays. With
 * RMC_MSG_DONTWAIT: -EAGAIN if no message has begun to arrive.
 *
 * Messages that a peer sent in full before it died are delivered; then its status is
 * returned, with RMC_MSG_ANY once per peer and, when no other peer is left, always.
 */
int rmc_msg_recv(struct rmc_msg *m, int nid, void *buf, size_t size, size_t *len, int *from,
		 unsigned int flags);

/*
 * Inspect the next message without receiving it: -EAGAIN if there is none. *data is the
 * payload in place, or NULL if it is not contiguous; valid until the message is received.
 */
int rmc_msg_peek(struct rmc_msg *m, int nid, const void **data, size_t *len, int *from);

#ifdef __cplusplus
}
#endif

#endif /* RMC_MSG_H */
