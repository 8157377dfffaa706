/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A store of objects by key over the memory of a team, after FaRM (M16 section 6).
 * Every member owns the keys that hash to it. A get is one-sided: it reads a bucket of
 * the owner's index, then the object, through one of the schemes of <rmc/scheme.h>.
 * A put or delete is a message to the owner.
 *
 *	reader                                          owner of the key
 *	  | remote read, one line ------------------> | bucket | bucket | ...  |
 *	  | SABRe, or fetch of another scheme ------> | object | object | ...  |
 *	  | message: put, delete -------------------> rmc_kv_progress()
 *
 * Every member opens the store with the same options. All calls except rmc_kv_close()
 * also serve the requests of others; a member that makes no calls must call
 * rmc_kv_progress() regularly. An object lives as long as its owner. One thread per store.
 */
#ifndef RMC_KV_H
#define RMC_KV_H

#include <rmc/abi.h>
#include <rmc/reader.h>
#include <rmc/team.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMC_KV_KEY_MAX		1024		/* upper limit of key_max */
#define RMC_KV_VALUE_MAX	(64U << 10)	/* upper limit of value_max */
#define RMC_KV_OBJECTS_MAX	(1U << 28)

struct rmc_kv;

struct rmc_kv_options {
	const struct rmc_scheme *scheme;	/* NULL: sabre */
	uint64_t at;		/* offset in team->seg; divisible by 64 */
	uint64_t objects;	/* per member; 0: 1024 */
	uint32_t key_max;	/* bytes; 0: 64 */
	uint32_t value_max;	/* bytes; 0: 1024 */
	unsigned int attempts;	/* at a torn or locked object; 0: 64 */
	uint32_t backoff_ns, backoff_max_ns;
	unsigned int fall_back;	/* after the last attempt: ask the owner by message */
	struct rmc_scheme_params params;
	uint32_t unused;	/* padding in version 1.0: never read */
	unsigned int native;	/* puts and deletes by rmc_rpc_open_domain(), else by <rmc/msg.h> */
	uint32_t reserved;	/* 0 */
};

#define RMC_KV_OPTIONS_SIZE_VER0	64
RMC_ABI_SIZE_VER0(rmc_kv_options, unused, RMC_KV_OPTIONS_SIZE_VER0);

struct rmc_kv_stats {
	uint64_t local_gets, remote_gets, misses;
	uint64_t puts, deletes;		/* calls of this member */
	uint64_t served;		/* requests of others */
	uint64_t buckets;		/* remote reads of the index */
	uint64_t stale;			/* objects replaced since the read of the index */
	uint64_t broken;		/* broken locks of dead readers */
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
 * For the scheme sabre the team must have been opened with RMC_TEAM_OBJECTS. The memory
 * must still be zero. A collective call: it ends with a barrier. NULL with errno set on
 * failure, see rmc_errmsg().
 */
struct rmc_kv *rmc_kv_open_sized(struct rmc_team *team, const struct rmc_kv_options *options,
				 size_t size);
RMC_SIZED struct rmc_kv *rmc_kv_open(struct rmc_team *team, const struct rmc_kv_options *options)
{
	return rmc_kv_open_sized(team, options, sizeof(*options));
}

/*
 * No barrier: the caller must know that no member needs its objects any more. To be called
 * before rmc_team_close().
 */
void rmc_kv_close(struct rmc_kv *kv);

/*
 * Get the value of a key, in memory of the store that is valid until the next call. 0;
 * -ENOENT; enum rmc_scheme_status such as RMC_SCHEME_TORN after all attempts; -EAGAIN: after
 * all attempts the index and the object still disagree, because the owner changed the
 * value's length each time: try later; the status of a dead owner; -errno.
 */
int rmc_kv_get(struct rmc_kv *kv, const void *key, size_t key_len, const void **value,
	       size_t *value_len);

/*
 * Insert or replace; remove. 0; -ENOENT; -EMSGSIZE: beyond key_max or value_max; -EINVAL:
 * an empty key; -ENOSPC: the owner's objects, or its index, are full; RMC_SCHEME_LOCKED: a
 * reader holds the lock for too long; or as above.
 */
int rmc_kv_put(struct rmc_kv *kv, const void *key, size_t key_len, const void *value,
	       size_t value_len);
int rmc_kv_delete(struct rmc_kv *kv, const void *key, size_t key_len);

/*
 * Time limit of each get, put, delete and barrier from now on, in milliseconds; negative,
 * the default: none. -ETIMEDOUT: the owner is alive but did not answer in time; a put or
 * delete may or may not take effect. After a barrier that returned -ETIMEDOUT the next call
 * of rmc_kv_barrier() waits for the same barrier.
 */
void rmc_kv_set_timeout(struct rmc_kv *kv, int timeout_ms);

/*
 * Readmit members that died and were restarted: they are in rmc_kv_open(), and
 * rmc_team_rejoin() has met them. Every survivor calls this; it ends with a barrier of the
 * team, as opening does. Objects that the dead members owned are lost; those of survivors
 * stay, and locks of dead readers on them are broken. After a revocation every member calls
 * it, too. Each step waits for at most timeout_ms milliseconds, 0: 30 s. 0, -ETIMEDOUT,
 * another -errno, or the status of a member that died again.
 */
int rmc_kv_rejoin(struct rmc_kv *kv, unsigned int timeout_ms);

/* The member that owns a key */
int rmc_kv_owner(const struct rmc_kv *kv, const void *key, size_t key_len);

/* Serve the others: the number of messages, or -errno. Does not wait. */
int rmc_kv_progress(struct rmc_kv *kv);

/*
 * Barrier that serves the others meanwhile: waits until every member has called it as
 * often. 0, or the status of a member that died.
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
