/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Collectives for bulk synchronous programs, built on the barrier: each member writes its
 * data for a peer into that peer's segment, a barrier waits until all data has arrived,
 * and each member reads its own memory.
 *
 * Every member calls the same functions in the same order with the same sizes. They
 * use the team's queue pair, which must be idle. After the death of a member all later
 * calls of the others return RMC_S_NODE_DOWN or RMC_S_BAD_CONTEXT.
 */
#ifndef RMC_COLL_H
#define RMC_COLL_H

#include <rmc/team.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rmc_coll;

enum rmc_coll_type { RMC_U64, RMC_DOUBLE };
enum rmc_coll_op { RMC_SUM, RMC_MIN, RMC_MAX };

/*
 * Bytes that collectives take on every member. chunk: bytes that move between two members
 * in one round, divisible by 64; larger operands take several rounds.
 */
RMC_INLINE size_t rmc_coll_bytes(int nodes, size_t chunk)
{
	return 2 * (size_t)nodes * chunk;
}

/* at: offset in team->seg. NULL with errno set on failure, see rmc_errmsg(). */
struct rmc_coll *rmc_coll_open(struct rmc_team *team, uint64_t at, size_t chunk);

/* To be called before rmc_team_close() */
void rmc_coll_close(struct rmc_coll *coll);

/*
 * Time limit of each collective operation from now on, in milliseconds; negative, the
 * default: none. A member that has waited for longer returns -ETIMEDOUT and revokes the
 * team, since it does not know the progress of the others: they return -ECONNABORTED.
 */
void rmc_coll_set_timeout(struct rmc_coll *coll, int timeout_ms);

/* root: a member, 0 .. nodes - 1. Results: 0, an enum rmc_status, or -errno. */
int rmc_coll_bcast(struct rmc_coll *coll, int root, void *buf, size_t len);

/*
 * count elements; out may equal in. Operands are combined in the order of members, so
 * that all members get the same sum, bit by bit. rmc_coll_reduce() writes out at the root only.
 */
int rmc_coll_reduce(struct rmc_coll *coll, int root, const void *in, void *out, size_t count,
		    enum rmc_coll_type type, enum rmc_coll_op op);
int rmc_coll_allreduce(struct rmc_coll *coll, const void *in, void *out, size_t count,
		       enum rmc_coll_type type, enum rmc_coll_op op);

/* in, out: one block of len bytes per member; block i of in becomes block self of member i's out */
int rmc_coll_alltoall(struct rmc_coll *coll, const void *in, void *out, size_t len);

/* Their names of version 1.0 */
RMC_INLINE int rmc_bcast(struct rmc_coll *coll, int root, void *buf, size_t len)
{
	return rmc_coll_bcast(coll, root, buf, len);
}

RMC_INLINE int rmc_reduce(struct rmc_coll *coll, int root, const void *in, void *out,
			  size_t count, enum rmc_coll_type type, enum rmc_coll_op op)
{
	return rmc_coll_reduce(coll, root, in, out, count, type, op);
}

RMC_INLINE int rmc_allreduce(struct rmc_coll *coll, const void *in, void *out, size_t count,
			     enum rmc_coll_type type, enum rmc_coll_op op)
{
	return rmc_coll_allreduce(coll, in, out, count, type, op);
}

RMC_INLINE int rmc_alltoall(struct rmc_coll *coll, const void *in, void *out, size_t len)
{
	return rmc_coll_alltoall(coll, in, out, len);
}

#ifdef __cplusplus
}
#endif

#endif /* RMC_COLL_H */
