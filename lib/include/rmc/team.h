/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Teams: one process per node, all running the same program, as rmc-run starts
 * them. rmc_team_open() opens the context and a QP, exposes a segment of
 * the same layout on every node, and returns once all members have met; from
 * then on rmc_team_barrier() synchronizes them (T18 section 3.5.3).
 *
 * Members and their number come from RMC_NODE and RMC_NODES; without
 * them the team is this process alone.
 */
#ifndef RMC_TEAM_H
#define RMC_TEAM_H

#include <rmc/mem.h>
#include <rmc/qp.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMC_TEAM_SLEEP		(1U << 0)	/* members wait asleep, not spinning */
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
	int rejoined;			/* the others were there before: a former life of us died */
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
};

/* How to open a team; all zero but ctx_id, with numa_node -1, is a good start. */
struct rmc_team_options {
	unsigned int ctx_id;
	unsigned int entries;		/* of the QP; 0: MAX_WQ_SIZE */
	unsigned int flags;		/* RMC_TEAM_* */
	int numa_node;			/* -1: ordinary memory of this process */
	unsigned int timeout_ms;	/* for the others to appear; 0: 30 s */
};

/* len bytes per member. NULL with errno set on failure, see rmc_errmsg(). */
struct rmc_team *rmc_team_open(unsigned int ctx_id, size_t len);
struct rmc_team *rmc_team_open_with(const struct rmc_team_options *options, size_t len);

/* Collective in the sense that others may not touch this segment any more. */
void rmc_team_close(struct rmc_team *team);

/*
 * Wait until every member came here. Needs an idle QP (-EBUSY). A member that
 * dies makes the others return RMC_S_NODE_DOWN or RMC_S_BAD_CONTEXT instead of
 * waiting for ever.
 */
int rmc_team_barrier(struct rmc_team *team);

/* The same with RMC_TEAM_SLEEP set or cleared for this once */
int rmc_team_barrier_with(struct rmc_team *team, unsigned int flags);

/*
 * Members died and are back: programs started anew, which are in rmc_team_open() now.
 * Meet them again and agree on where the team is; the next barrier is one of all.
 * Every survivor calls this, at any time, with an idle QP (-EBUSY); waits for at most
 * timeout_ms milliseconds, 0: 30 s. What survivors have in their segments stays, a
 * newcomer's is zeroed. 0, -ETIMEDOUT (a member is missing; try again) or -errno.
 */
int rmc_team_rejoin(struct rmc_team *team, unsigned int timeout_ms);

/* Node id of a member; the index wraps around in both directions. */
static inline int rmc_team_nid(const struct rmc_team *team, int member)
{
	return team->first_nid + ((member % team->nodes) + team->nodes) % team->nodes;
}

#ifdef __cplusplus
}
#endif

#endif /* RMC_TEAM_H */
