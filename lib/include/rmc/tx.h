/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Transactions over records in the memory of a team, after HADES (Documentation/tx.rst).
 *
 *	static int pay(struct rmc_tx *t, void *arg)	may run several times
 *	{
 *		struct rmc_tx_addr from = *(const struct rmc_tx_addr *)arg;
 *		const int64_t *balance;
 *		int64_t rest, sum = 10;
 *		int err = rmc_tx_get(t, from, sizeof(*balance), (const void **)&balance);
 *
 *		if (err)
 *			return err;
 *		rest = *balance - sum;
 *		if (rest < 0)
 *			return RMC_TX_ABORT;
 *		return rmc_tx_put(t, from, &rest, sizeof(rest));
 *	}
 *	err = rmc_tx_run(db, pay, &account);
 *
 * A database is a set of tables, whose records have numbers and a fixed length. A record is
 * present or absent; all are absent at first. Records are spread over the members by their
 * numbers. How they lie in memory is the system's: programs are the same for each.
 *
 *	system	how transactions exclude each other
 *	sw	SW-Impl, FaRM's protocol: versions, locks, validation of what was read
 *	hades	HADES: members' RMCs note what a transaction uses, and commit it
 *	rmc	HADES' slow mode: a member's own records, too, are accessed through its RMC
 *
 * Committed transactions are strictly serializable. A member opens one database per memory, and one
 * thread at a time uses it: transactions of several slots run in turn, in options.wait. All calls
 * also handle completions of the database's queue pair. None waits for another member's CPU. If
 * another member's RMC does not reply, each operation takes the RMC's limit of time, and each call
 * ends after a few of these, or after options.limit_ms.
 */
#ifndef RMC_TX_H
#define RMC_TX_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <rmc/abi.h>
#include <rmc/ds.h>
#include <rmc/team.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RMC_TX_TABLES_MAX	32
#define RMC_TX_RECORD_MAX	4096	/* bytes of a record */
#define RMC_TX_ACCESS_MAX	4096	/* upper limit of options.records */
#define RMC_TX_SLOTS_MAX	64

/*
 * Results besides enum rmc_status and -errno: a conflict with another transaction, after which it
 * may run again from its start; and, for functions of rmc_tx_run(): end it without effect
 */
#define RMC_TX_SQUASHED		136
#define RMC_TX_IN_DOUBT		137	/* of a commit: it takes effect in part, or wholly */
#define RMC_TX_ABORT		(-ECANCELED)

/* Why transactions were squashed: index in rmc_tx_stats.squashed */
enum rmc_tx_cause {
	RMC_TX_READ_LOCKED,	/* a record stayed locked while it was read */
	RMC_TX_READ_TORN,	/* a record changed whenever it was read */
	RMC_TX_LOCK_HELD,	/* at commit: a record to write is locked */
	RMC_TX_LOCK_CHANGED,	/* at commit: a record to write has changed since it was read */
	RMC_TX_CHECK_HELD,	/* at commit: a record that was read is locked */
	RMC_TX_CHECK_CHANGED,	/* at commit: a record that was read has changed */
	RMC_TX_LOST,		/* packets were lost */
	RMC_TX_BY_PROGRAM,	/* the function of rmc_tx_run() returned RMC_TX_SQUASHED by itself */
	RMC_TX_BY_OTHER,	/* another one has committed, or commits, what it has used */
	RMC_TX_NO_ROOM,		/* a member's RMC has no room for it */
	RMC_TX_FORGOTTEN,	/* a member's RMC no longer knows of it */
	RMC_TX_BY_NEIGHBOUR,	/* another one of this process has used the lines of an own record */
	RMC_TX_EVICTED,		/* too many lines of one set of a cache are written */
	RMC_TX_CAUSES
};

/* Records first, first + 1, .. of a group are at one member: (rid / group) modulo members */
struct rmc_tx_table {
	uint64_t records;		/* in all */
	uint64_t group;			/* 0: 1, uniform */
	uint32_t bytes;			/* of each record, 1 .. RMC_TX_RECORD_MAX */
	uint32_t reserved;		/* 0 */
};

RMC_ABI_SIZE(rmc_tx_table, 24);

/* A field of a record: rmc_tx_record() and rmc_tx_at() */
struct rmc_tx_addr {
	uint64_t rid;
	uint32_t table, field;
};

RMC_ABI_SIZE(rmc_tx_addr, 16);

#define RMC_TX_ALL_REMOTE	(1U << 0)	/* own records, too, are reached through the RMC */

struct rmc_tx_options {
	const char *system;		/* sw, hades or rmc; NULL: sw */
	const struct rmc_tx_table *table;
	uint64_t at;			/* offset in team->seg; divisible by 64 */
	uint32_t tables;
	uint32_t records;		/* that one transaction accesses at most; 0: 64 */
	uint32_t slots;			/* transactions at a time; 0: 1 */
	uint32_t attempts;		/* of rmc_tx_run(); 0: 10000 */
	uint32_t tries;			/* to read a locked or torn record; 0: 64 */
	uint32_t backoff_ns;		/* longest wait after the first squash; doubles; 0: 1000 */
	uint32_t backoff_max_ns;	/* 0: 128 times backoff_ns */
	uint32_t flags;			/* RMC_TX_ALL_REMOTE */
	/* called where a call would spin; for coroutines. It does not close the database. */
	void (*wait)(void *arg);
	void *wait_arg;
	uint32_t limit_ms;		/* of waiting for replies; 0: 30000 */
	uint32_t reserved;		/* 0 */
};

#define RMC_TX_OPTIONS_SIZE_VER1	80
RMC_ABI_SIZE_VER0(rmc_tx_options, reserved, RMC_TX_OPTIONS_SIZE_VER1);

#define RMC_TX_STATS_CAUSES	16	/* at least RMC_TX_CAUSES */

struct rmc_tx_stats {
	uint64_t begun, committed;
	uint64_t read_only;		/* of the committed */
	uint64_t aborted;		/* by the program */
	uint64_t failed;		/* -errno, or the status of a member */
	uint64_t in_doubt;		/* RMC_TX_IN_DOUBT */
	uint64_t squashed[RMC_TX_STATS_CAUSES];
	uint64_t accesses, local;	/* records in transactions; those of this member */
	uint64_t used, written;		/* records that the committed have accessed, and written */
	uint64_t locked_reads, torn_reads;	/* that were tried again */
	/* remote operations, and how often a commit waited for some of them to end */
	uint64_t reads, locks, checks, writes, unlocks, rounds;
	/*
	 * Writes and unlocks: steps after a reply was lost; those that cannot be repeated, as the
	 * member is gone, refuses them, or has broken the lock
	 */
	uint64_t repeated, lost;
	uint64_t broken, torn;		/* by rmc_tx_break() */
};

#define RMC_TX_STATS_SIZE_VER1	304
RMC_ABI_SIZE_VER0(rmc_tx_stats, torn, RMC_TX_STATS_SIZE_VER1);

struct rmc_tx_db;
struct rmc_tx;

/* Names of systems from 0 on; NULL: no more. And of enum rmc_tx_cause */
const char *rmc_tx_system_name(unsigned int i);
const char *rmc_tx_cause_name(unsigned int cause);

/* Bytes of every member's segment; 0: wrong options, see rmc_errmsg() */
size_t rmc_tx_bytes_sized(int nodes, const struct rmc_tx_options *options, size_t size);
RMC_SIZED size_t rmc_tx_bytes(int nodes, const struct rmc_tx_options *options)
{
	return rmc_tx_bytes_sized(nodes, options, sizeof(*options));
}

/*
 * Every member opens the database with the same options; its memory is still zero. Ends with a
 * barrier. NULL with errno set on failure, see rmc_errmsg(): EBUSY: this member's memory has a
 * database, or is not zero; EPROTO: another member has opened one with other options.
 */
struct rmc_tx_db *rmc_tx_open_sized(struct rmc_team *team, const struct rmc_tx_options *options,
				    size_t size);
RMC_SIZED struct rmc_tx_db *rmc_tx_open(struct rmc_team *team,
					const struct rmc_tx_options *options)
{
	return rmc_tx_open_sized(team, options, sizeof(*options));
}

/*
 * Waits for its operations, at most for options.limit_ms: what is in doubt then stays so. Open
 * transactions end without effect; none is in a call. No barrier: but with hades and rmc, others
 * can no longer use this member's records.
 */
void rmc_tx_close(struct rmc_tx_db *db);

RMC_INLINE struct rmc_tx_addr rmc_tx_record(uint32_t table, uint64_t rid)
{
	struct rmc_tx_addr a = { rid, table, 0 };

	return a;
}

/* A field that no record has stays one */
RMC_INLINE struct rmc_tx_addr rmc_tx_at(struct rmc_tx_addr a, size_t field)
{
	a.field = field > UINT32_MAX - a.field ? UINT32_MAX : a.field + (uint32_t)field;
	return a;
}

/* The member that has a record; -EINVAL: there is no such record */
int rmc_tx_home(const struct rmc_tx_db *db, struct rmc_tx_addr record);

/*
 * Store a record of this member, outside of transactions, and make it present; bytes beyond
 * len are zero. For the first contents, and for records that a dead member has left torn. 0;
 * -EINVAL; -EREMOTE: it is another member's; -EBUSY: a transaction has it locked, or is
 * writing it. hades and rmc do not know that: no transaction may use it.
 */
int rmc_tx_load(struct rmc_tx_db *db, struct rmc_tx_addr record, const void *data, size_t len);

/*
 * A transaction runs fn. If it returns 0, the transaction commits; a squashed one is run again
 * after a random wait. 0: committed; what fn returned, if that was right: what the transaction
 * had read is validated before; RMC_TX_SQUASHED: in all attempts; the status of a member that died;
 * RMC_S_TIMEOUT: packets of all attempts of options.limit_ms were lost; -errno. Except for these
 * two the transaction had no effect: 0, and RMC_TX_IN_DOUBT: it has committed, and the queue pair
 * died before all of its writes were posted; with hades and rmc it died during the commit, or a
 * member was lost with what was written there. If fn returns RMC_TX_SQUASHED, it runs again.
 */
int rmc_tx_run(struct rmc_tx_db *db, int (*fn)(struct rmc_tx *t, void *arg), void *arg);

/*
 * By hand. -EBUSY: all slots are in use; -ETIMEDOUT: writes of all free slots are in doubt. A
 * transaction ends with commit or abort. Commit returns as rmc_tx_run().
 */
int rmc_tx_begin(struct rmc_tx_db *db, struct rmc_tx **t);
int rmc_tx_commit(struct rmc_tx *t);
void rmc_tx_abort(struct rmc_tx *t);

/*
 * *data: len bytes of a record from its field on, as the transaction sees them, until it ends or
 * writes them. 0; -ENOENT: the record is absent; -EINVAL: no such record or field; -ENOSPC: more
 * than options.records; -EUCLEAN: a dead member has left it torn. Aligned to 8 bytes if the field
 * is so in its record. RMC_TX_SQUASHED, or the status
 * of a member: the transaction is over, and all of its calls return that.
 */
int rmc_tx_get(struct rmc_tx *t, struct rmc_tx_addr from, size_t len, const void **data);

/* Start to read a record. rmc_tx_get() waits for it, so several reads take the time of one. */
int rmc_tx_fetch(struct rmc_tx *t, struct rmc_tx_addr record);

/*
 * Change a field; make a record present, with zeros beyond len; or absent. -EEXIST, -ENOENT, and
 * as rmc_tx_get(). Takes effect at commit, which returns -E2BIG if the system cannot write so much.
 */
int rmc_tx_put(struct rmc_tx *t, struct rmc_tx_addr to, const void *data, size_t len);
int rmc_tx_insert(struct rmc_tx *t, struct rmc_tx_addr record, const void *data, size_t len);
int rmc_tx_delete(struct rmc_tx *t, struct rmc_tx_addr record);

/*
 * Until it has committed, a transaction may see values that never were there together. 0: those
 * that it has read until now were; or RMC_TX_SQUASHED, or a status. One record always is.
 */
int rmc_tx_check(struct rmc_tx *t);

/*
 * Wait until all writes of committed transactions have arrived. 0; -ETIMEDOUT: some are in doubt;
 * -EIO: some cannot arrive any more, since the last call: the member is gone, or has broken this
 * one's locks; -ESHUTDOWN
 */
int rmc_tx_quiet(struct rmc_tx_db *db);

#define RMC_TX_NOBODY		(-1)
#define RMC_TX_FENCED		(1U << 0)	/* no packet of the node comes any more */
#define RMC_TX_WRITERS_QUIET	(1U << 1)	/* rmc_tx_quiet() of all other members returned 0 */

/*
 * Break the locks of node nid on records of this member. Such a record has its value from before
 * the dead transaction, except for those that its commit had already written. The number of
 * locks, or -errno. No packet of the node must come any more, so its epoch has to be another one
 * than when the database was opened: somebody has claimed its id again (rmc_node_info()). Without
 * that, the node has to be down, and the caller has to know that it cannot be only paused: it has
 * switched it off, and says RMC_TX_FENCED. Else -EBUSY.
 *
 * A record that was written in part stays locked, is counted in rmc_tx_stats.torn, and needs
 * rmc_tx_load(). If its first line was written, it is not locked, and others may be writing it: it
 * is left as it is, and transactions that read it are squashed, until a call with
 * RMC_TX_WRITERS_QUIET. With RMC_TX_NOBODY such a call only does this, for lines that came late.
 */
int64_t rmc_tx_break(struct rmc_tx_db *db, int nid, unsigned int flags);

void rmc_tx_stats_sized(const struct rmc_tx_db *db, struct rmc_tx_stats *stats, size_t size);
RMC_SIZED void rmc_tx_stats(const struct rmc_tx_db *db, struct rmc_tx_stats *stats)
{
	rmc_tx_stats_sized(db, stats, sizeof(*stats));
}

/* ---- structures of <rmc/ds.h> in transactions ---- */

/*
 * Blocks of a structure in the records of a table: fixed ones, then at least one other; one less in
 * all than the table has records. A block's data is as long as a record, RMC_TABLE_BYTES for
 * example.
 *
 *	blocks = rmc_tx_blocks_open(db, 0, RMC_BLOCKS_TREE, 1)	after rmc_tx_open(), each member
 *	tree = rmc_tree_open(blocks, RMC_TREE_LINK)
 *
 *	static int move(struct rmc_tx *t, void *arg)		of rmc_tx_run()
 *	{
 *		uint64_t value;
 *		int err = rmc_tx_blocks_use(blocks, t);
 *
 *		if (!err)
 *			err = rmc_tree_get(tree, from, &value);
 *		if (!err)
 *			err = rmc_tree_delete(tree, from);
 *		return err ? err : rmc_tree_put(tree, to, value);
 *	}
 *
 * Operations of all structures over blocks that use a transaction are parts of it, with all that it
 * does with records: they take effect when it commits, also what is allocated, or not at all. One
 * that is not 0, -ENOENT or -EEXIST has been executed in part, unless it is -ENOSPC: the transaction
 * must not commit. Besides those of <rmc/ds.h>, results are those of rmc_tx_get(), with -E2BIG for
 * more than options.records, which are counted with each block on the way; -EINVAL: the blocks use
 * no transaction, or it has ended; -EBUSY: options.wait executes an operation of the same blocks.
 * Blocks of its own let a slot execute operations meanwhile. Until it has committed, a transaction
 * may see blocks of several times: any result may be wrong then, but each operation ends.
 *
 * rmc_blocks_close() closes them, after the structure and before the database. Of their statistics
 * (rmc_blocks_stats()), reads are blocks entered, writes blocks written, allocations and restarts.
 *
 * NULL with errno set on failure, see rmc_errmsg(): EINVAL: no such table, or too few, too short
 * records; EPROTO: the table is another structure's, or has other fixed blocks; EBUSY: all slots
 * are in use. It runs a transaction. fixed 0: 1.
 */
struct rmc_blocks *rmc_tx_blocks_open(struct rmc_tx_db *db, uint32_t table, uint32_t structure,
				      uint64_t fixed);

/*
 * Operations over the blocks are a part of this transaction, until it ends; NULL: of none. 0;
 * -EINVAL: of another database, it has ended, or other blocks; -EBUSY: an operation is executed
 */
int rmc_tx_blocks_use(struct rmc_blocks *blocks, struct rmc_tx *t);

#ifdef __cplusplus
}
#endif

#endif /* RMC_TX_H */
