/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Declarations of the files of rmc-sync. */
#ifndef RMC_TOOLS_SYNC_H
#define RMC_TOOLS_SYNC_H

#include <stdint.h>
#include <rmc/rmc.h>
#include "hist.h"

#define LEVELS_MAX	33		/* of a tree, with two children of a node at least */

struct sync_run {
	/* options */
	int ctx_id, json, quiet, seconds, theta_percent, writes, seed, storage, pad, attempts;
	int backoff_ns, buffers, grace_us, trust, serve, fanout;
	uint64_t tuples, bytes, operations;
	const char *scheme, *latch, *options, *system, *structure;
	/* of recover */
	int dead, owner, client;
	uint64_t at, latches_at;
	const char *torn_data;
	/* of the command */
	int torn;			/* one node writes, the others read */
	/* tuples that operations are about, and above them inner nodes of a tree, to the root */
	int levels;
	uint64_t leaves, first[LEVELS_MAX];
	/* all members */
	struct rmc_team *team;
	struct rmc_coll *coll;
	struct rmc_qp *qp;
	struct rmc_msg *msg;		/* of latches by messages */
	int done;			/* members that need none any more */
	struct rmc_sync *sync;
	struct rmc_sync_options o;
	const struct rmc_scheme *layout;
	uint64_t stride;
};

/* --- rmc_sync.c --- */

#define FLAGS_LENGTH	64	/* of all names */

/* Names of RMC_SYNC_* with commas between: to, of FLAGS_LENGTH bytes */
const char *flags_name(unsigned int flags, char *to);

/* --- list.c --- */

const char *guarantee_name(const struct rmc_scheme *s);
int list_schemes(const struct sync_run *r);
int list_systems(const struct sync_run *r);

/* --- workload.c --- */

struct rmc_qp *ordered_qp(struct rmc_ctx *ctx, unsigned int entries, int ordered);
void shape_structure(struct sync_run *r);
void open_objects(struct sync_run *r);
int workload(struct sync_run *r);
void close_objects(struct sync_run *r);

/* --- latches.c --- */

int latches_by_message(const struct sync_run *r);
size_t latches_bytes(const struct sync_run *r, int nodes);
void open_latches(struct sync_run *r, uint64_t at);
void close_latches(struct sync_run *r);

/* Until no member needs a latch any more */
int serve_others(struct sync_run *r);

/* --- recover.c --- */

int recover(struct sync_run *r);

/* --- report.c --- */

enum { READS, WRITES, CHANGED, FAILED, MIXED, TORN, LOCKED, LOST, MESSAGES, ROUND_TRIPS, ATOMICS,
       COUNTS };

struct measured {
	struct hist *read, *write;
	uint64_t count[COUNTS];
	double ops_per_s, least, most;	/* of all members, and of one */
};

/* The verdict, as the program's exit status */
int report(const struct sync_run *r, const struct measured *m);

#endif /* RMC_TOOLS_SYNC_H */
