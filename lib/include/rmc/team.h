/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Teams: one process per node, all running the same program; rmc-run starts them.
 * rmc_team_open() opens the context and a QP, exposes a segment of the same layout on
 * every node, and returns once all members have met. From then on rmc_team_barrier()
 * synchronizes them (T18 section 3.5.3).
 *
 * The environment variables RMC_NODE and RMC_NODES give this member and the number of
 * members; without them the team is this process alone.
 */
#ifndef RMC_TEAM_H
#define RMC_TEAM_H

#include <rmc/abi.h>
#include <rmc/mem.h>
#include <rmc/qp.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMC_TEAM_SLEEP		(1U << 0)	/* members sleep while they wait */
#define RMC_TEAM_OBJECTS	(1U << 1)	/* SABRes may read objects in the segment */

struct rmc_team_line;

struct rmc_team {
	struct rmc_ctx *ctx;
	struct rmc_qp *qp;		/* for the application, idle in barriers */
	int nodes;
	int self;			/* 0 .. nodes - 1 */
	void *seg;			/* this member's memory, zeroed */
	size_t len;
	uint64_t offset;		/* of .seg in the segment, same on every node */
	int rejoined;			/* this member was restarted; the others continue */
	/* private */
	int first_nid;
	unsigned int flags;
	uint64_t round;
	uint64_t nonce;
	uint64_t *met;
	struct rmc_team_line *line;
	struct rmc_team_line *out;
	void *base;
	size_t total;
	int driver_memory;
	uint64_t view;			/* last one that all agreed on; 0: revoked, none yet */
	uint64_t era;
	int pending;			/* a barrier that timed out */
	uint64_t next_probe;		/* ms: next check of the members that are missing */
};

RMC_ABI_OFFSET(rmc_team, ctx, 0);
RMC_ABI_OFFSET(rmc_team, qp, 8);
RMC_ABI_OFFSET(rmc_team, nodes, 16);
RMC_ABI_OFFSET(rmc_team, self, 20);
RMC_ABI_OFFSET(rmc_team, seg, 24);
RMC_ABI_OFFSET(rmc_team, len, 32);
RMC_ABI_OFFSET(rmc_team, offset, 40);
RMC_ABI_OFFSET(rmc_team, rejoined, 48);
RMC_ABI_OFFSET(rmc_team, first_nid, 52);

/* How to open a team; usually all zero except ctx_id, and numa_node -1. */
struct rmc_team_options {
	unsigned int ctx_id;
	unsigned int entries;		/* of the QP; 0: RMC_QP_ENTRIES_DEFAULT */
	unsigned int flags;		/* RMC_TEAM_* */
	int numa_node;			/* -1: ordinary memory of this process */
	unsigned int timeout_ms;	/* to wait for the others; 0: 30 s */
};

#define RMC_TEAM_OPTIONS_SIZE_VER0	20
RMC_ABI_SIZE_VER0(rmc_team_options, timeout_ms, RMC_TEAM_OPTIONS_SIZE_VER0);

/* len bytes per member. NULL with errno set on failure, see rmc_errmsg(). */
struct rmc_team *rmc_team_open(unsigned int ctx_id, size_t len);
struct rmc_team *rmc_team_open_sized(const struct rmc_team_options *options, size_t size,
				     size_t len);
RMC_SIZED struct rmc_team *rmc_team_open_with(const struct rmc_team_options *options, size_t len)
{
	return rmc_team_open_sized(options, sizeof(*options), len);
}

/* The others must not access this segment any more. */
void rmc_team_close(struct rmc_team *team);

/*
 * Wait until every member has arrived. Needs an idle QP (-EBUSY). If a member dies, the
 * others return RMC_S_NODE_DOWN or RMC_S_BAD_CONTEXT.
 */
int rmc_team_barrier(struct rmc_team *team);

/* The same with RMC_TEAM_SLEEP set or cleared for this call */
int rmc_team_barrier_with(struct rmc_team *team, unsigned int flags);

/*
 * The same as rmc_team_barrier_with() for at most timeout_ms milliseconds, for ever if
 * that is negative. -ETIMEDOUT: not all members have arrived. The barrier then stays open:
 * for the others this member has arrived, and its next call of a barrier function waits
 * for the same barrier. A member that does not call again calls rmc_team_revoke().
 */
int rmc_team_barrier_for(struct rmc_team *team, unsigned int flags, int timeout_ms);

/*
 * Revoke the team: barriers, collectives, messages, calls and stores over it return
 * -ECONNABORTED at every member from now on. For a member that gives up but stays alive.
 * Each member that learns of it passes it on, so that it reaches all even if the first one
 * dies meanwhile. Needs an idle QP (-EBUSY). rmc_team_rejoin(), called by every member,
 * makes the team usable again; collectives must then be opened anew. 0, enum rmc_status of
 * a member that could not be notified, or -errno.
 */
int rmc_team_revoke(struct rmc_team *team);

/* True if a member has revoked the team. Reads local memory only. */
int rmc_team_revoked(const struct rmc_team *team);

/*
 * Readmit members that died and were restarted: they are in rmc_team_open(). Survivors meet
 * them and agree on the state of the team; the next barrier includes all members. Every
 * survivor calls this, at any time, with an idle QP (-EBUSY); waits for at most timeout_ms
 * milliseconds, 0: 30 s. Segments of survivors stay unchanged, that of a restarted member is
 * zeroed. After a revocation every member is a survivor and calls this. 0, -ETIMEDOUT (a
 * member is missing; try again) or -errno.
 */
int rmc_team_rejoin(struct rmc_team *team, unsigned int timeout_ms);

/* Accessors of the fields above, for languages without struct rmc_team */
RMC_INLINE struct rmc_ctx *rmc_team_ctx(const struct rmc_team *team)
{
	return team->ctx;
}

RMC_INLINE struct rmc_qp *rmc_team_qp(const struct rmc_team *team)
{
	return team->qp;
}

RMC_INLINE int rmc_team_self(const struct rmc_team *team)
{
	return team->self;
}

/* Number of members */
RMC_INLINE int rmc_team_size(const struct rmc_team *team)
{
	return team->nodes;
}

/* This member's memory, its length, and its offset in every member's segment */
RMC_INLINE void *rmc_team_seg(const struct rmc_team *team)
{
	return team->seg;
}

RMC_INLINE size_t rmc_team_len(const struct rmc_team *team)
{
	return team->len;
}

RMC_INLINE uint64_t rmc_team_offset(const struct rmc_team *team)
{
	return team->offset;
}

RMC_INLINE int rmc_team_rejoined(const struct rmc_team *team)
{
	return team->rejoined;
}

/* Node id of a member; the index wraps around in both directions. */
RMC_INLINE int rmc_team_nid(const struct rmc_team *team, int member)
{
	return team->first_nid + ((member % team->nodes) + team->nodes) % team->nodes;
}

#ifdef __cplusplus
}
#endif

#endif /* RMC_TEAM_H */
