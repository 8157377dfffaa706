/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A store of objects by key over the memory of a team, after FaRM (M16 section 6):
 * every member owns the keys that hash to it. Reads are one-sided, of a bucket of the
 * owner's index and then of the object, through one of the schemes of <rmc/scheme.h>;
 * writes are messages to the owner.
 *
 *	reader                                          owner of the key
 *	  | remote read, one line ------------------> | bucket | bucket | ...  |
 *	  | SABRe, or what the scheme does ---------> | object | object | ...  |
 *	  | message: put, delete -------------------> rmc_kv_progress()
 *
 * Every member opens the store with the same options. It serves the others in all
 * calls but rmc_kv_close(), and must call rmc_kv_progress() while it does other
 * things. What is stored lives as long as its owner. One thread per store.
 */
#ifndef RMC_KV_H
#define RMC_KV_H

#include <rmc/abi.h>
#include <rmc/reader.h>
#include <rmc/team.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMC_KV_KEY_MAX		1024		/* largest that key_max may be */
#define RMC_KV_VALUE_MAX	(64U << 10)	/* and value_max */
#define RMC_KV_OBJECTS_MAX	(1U << 28)

struct rmc_kv;

struct rmc_kv_options {
	const struct rmc_scheme *scheme;	/* NULL: sabre */
	uint64_t at;		/* where in team->seg; divisible by 64 */
	uint64_t objects;	/* per member; 0: 1024 */
	uint32_t key_max;	/* bytes; 0: 64 */
	uint32_t value_max;	/* bytes; 0: 1024 */
	unsigned int attempts;	/* at a torn or locked object; 0: 64 */
	uint32_t backoff_ns, backoff_max_ns;
	unsigned int fall_back;	/* then ask the owner */
	struct rmc_scheme_params params;
	uint32_t unused;	/* padding in version 1.0: never read */
};

#define RMC_KV_OPTIONS_SIZE_VER0	64
RMC_ABI_SIZE_VER0(rmc_kv_options, unused, RMC_KV_OPTIONS_SIZE_VER0);

struct rmc_kv_stats {
	uint64_t local_gets, remote_gets, misses;
	uint64_t puts, deletes;		/* of this member */
	uint64_t served;		/* for others */
	uint64_t buckets;		/* remote reads of the index */
	uint64_t stale;			/* objects that were not the index's any more */
	uint64_t broken;		/* locks of dead readers that were taken away */
	uint64_t objects;		/* owned by this member now */
	struct rmc_reader_stats reads;
};

#define RMC_KV_STATS_SIZE_VER0		160
RMC_ABI_SIZE_VER0(rmc_kv_stats, reads, RMC_KV_STATS_SIZE_VER0);

/* Bytes of every member's segment; 0: options beyond the limits */
size_t rmc_kv_bytes_sized(int nodes, const struct rmc_kv_options *options, size_t size);
RMC_SIZED size_t rmc_kv_bytes(int nodes, const struct rmc_kv_options *options)
{
	return rmc_kv_bytes_sized(nodes, options, sizeof(*options));
}

/*
 * The team must have been opened with RMC_TEAM_OBJECTS for the scheme sabre, and the
 * memory never have been written. A collective call: it ends with a barrier. NULL with
 * errno set on failure, see rmc_errmsg().
 */
struct rmc_kv *rmc_kv_open_sized(struct rmc_team *team, const struct rmc_kv_options *options,
				 size_t size);
RMC_SIZED struct rmc_kv *rmc_kv_open(struct rmc_team *team, const struct rmc_kv_options *options)
{
	return rmc_kv_open_sized(team, options, sizeof(*options));
}

/* No barrier: who closes must know that nobody needs its objects. Before the team's. */
void rmc_kv_close(struct rmc_kv *kv);

/*
 * The value of a key, in memory of the store until the next call. 0; -ENOENT;
 * RMC_SCHEME_TORN or the like after all attempts; -EAGAIN: after all attempts the index
 * and the object still did not agree, as its owner was changing the key's length each
 * time: try later; the status of a dead owner; -errno.
 */
int rmc_kv_get(struct rmc_kv *kv, const void *key, size_t key_len, const void **value,
	       size_t *value_len);

/*
 * Insert or replace; remove. 0; -ENOENT; -EMSGSIZE beyond key_max or value_max; -EINVAL:
 * an empty key; -ENOSPC: the owner's objects, or its index, are used up;
 * RMC_SCHEME_LOCKED: a reader has had the lock for too long; or as above.
 */
int rmc_kv_put(struct rmc_kv *kv, const void *key, size_t key_len, const void *value,
	       size_t value_len);
int rmc_kv_delete(struct rmc_kv *kv, const void *key, size_t key_len);

/*
 * Time limit of each get, put, delete and barrier from now on, in milliseconds; negative,
 * as at first: none. -ETIMEDOUT: the owner lives but did not answer in time; whether a put
 * or delete takes effect is unknown. After a barrier that gave -ETIMEDOUT the next call of
 * rmc_kv_barrier() waits for the same one.
 */
void rmc_kv_set_timeout(struct rmc_kv *kv, int timeout_ms);

/*
 * Members died and are back: they are in rmc_kv_open() now, and the team has met them,
 * rmc_team_rejoin(). Every survivor calls this; it ends with a barrier of the team, as
 * opening does. What the dead owned is gone; what survivors own stays, and locks that the
 * dead had on it are taken away. After a revocation every member calls it, too. Waits for
 * at most timeout_ms milliseconds, 0: 30 s, for each step. 0, -ETIMEDOUT, another -errno,
 * or the status of a member that died again.
 */
int rmc_kv_rejoin(struct rmc_kv *kv, unsigned int timeout_ms);

/* The member that owns a key */
int rmc_kv_owner(const struct rmc_kv *kv, const void *key, size_t key_len);

/* Serve the others: how many messages, or -errno. Does not wait. */
int rmc_kv_progress(struct rmc_kv *kv);

/*
 * For ends of phases: waits until every member has called it as often, and serves the
 * others meanwhile. 0, or the status of a member that died.
 */
int rmc_kv_barrier(struct rmc_kv *kv);

void rmc_kv_stats_sized(const struct rmc_kv *kv, struct rmc_kv_stats *stats, size_t size);
RMC_SIZED void rmc_kv_stats(const struct rmc_kv *kv, struct rmc_kv_stats *stats)
{
	rmc_kv_stats_sized(kv, stats, sizeof(*stats));
}

#ifdef __cplusplus
}
#endif

#endif /* RMC_KV_H */
