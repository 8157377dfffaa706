/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An open context: one connection. It holds a node, queue pairs, local buffers, a segment and a
 * domain of messages.
 * All of it is released when the connection ends, or its process: a child of a fork() has the
 * connection, too, but not the memory.
 */
#ifndef RMCD_FILE_H
#define RMCD_FILE_H

#include "context.h"
#include "kmod/core/cq.h"
#include "memory.h"
#include "report.h"
#include "waiter.h"

struct rmcd_engine;
struct rmcd_tx;

/**
 * struct rmcd_qp - a queue pair
 * @qp: the part that the pipelines use
 * @worker: polls it, posts its completions, and is woken for it
 * @waiter: sleepers for completions
 * @share: its tenant on @worker
 * @inner_share: with a frontend, the tenant of the inner queue pair on its backend
 * @wq_fd: memory of the WQ
 * @cq_fd: memory of the CQ, and of the flags behind it
 * @wq_len: bytes of the first, mapped at @qp.wq
 * @cq_len: bytes of the second, mapped at @qp.cq
 * @kib: charged memory
 * @guard: slot of rmcd_guard_qp()
 * @engine: with slots for transactions: their engine; else NULL
 * @tx_slots: how many
 * @attached: it sends and receives messages of the file's domain
 * @core: its number among those that receive; -1: it does not
 * @aq: its arrival queue
 * @aq_fd: memory of that; -1: none
 * @aq_len: bytes of it
 * @arrivals: sleepers for them
 * @room: while attached, the next send slot that becomes free
 * @senders: sleepers for that
 */
struct rmcd_qp {
	struct rmc_qpair qp;
	struct rmc_ni_worker *worker;
	struct rmcd_waiter waiter;
	struct rmcd_share *share;
	struct rmcd_share *inner_share;
	int wq_fd;
	int cq_fd;
	size_t wq_len;
	size_t cq_len;
	u32 kib;
	int guard;
	struct rmcd_engine *engine;
	u32 tx_slots;
	bool attached;
	int core;
	void *aq;
	int aq_fd;
	size_t aq_len;
	struct rmcd_waiter arrivals;
	struct rmc_room room;
	struct rmcd_waiter senders;
};

/* A further range of a segment. */
struct rmcd_range {
	struct rmcd_mem *memory;
	struct rmc_mem view;	/* @memory at its place in the segment */
	u64 start;
};

/**
 * struct rmcd_file - an open context
 * @d: daemon
 * @ctx: context
 * @user: user, for quotas
 * @peer: who opened it
 * @writable: all requests are allowed, not only those that read
 * @node: node it acts for; NULL before the first use, then never changes
 * @report: socket; its other end is readable while poll() of the module's file would report
 * @reader: its other end, until the client has it; then -1
 * @foreign: the client's /proc/PID/mem; -1: not used
 * @seg: segment or NULL
 * @seg_waiter: sleepers for its notifications
 * @range: further ranges of @seg
 * @ranges: number of them
 * @range_table: table of the ranges that all units use; replaced, never changed
 * @tx: range of @seg that has transactions; NULL: none
 * @buf: local buffers by id
 * @table: buffers of the pipelines, by unit; a unit's RGP worker owns its entry
 * @qp: queue pairs by id
 * @domain: its domain of messages; NULL: none
 * @member: of @domain; 0: it has created it
 * @dom_cores: queue pairs of this file that receive its messages
 * @dom_ended: another file has ended the one that this file had
 * @wake: by worker, eventfd that the client writes to wake it; -1: none yet
 * @watcher: event file of the context; NULL: none
 */
struct rmcd_file {
	struct rmcd *d;
	struct rmcd_context *ctx;
	struct rmcd_user *user;
	struct rmcd_peer peer;
	bool writable;
	struct rmc_node *node;
	struct rmcd_report report;
	int reader;
	int foreign;
	struct rmcd_mem *seg;
	struct rmcd_waiter seg_waiter;
	struct rmcd_range *range[RMC_MAX_RANGES];
	u32 ranges;
	struct rmc_ranges *range_table;
	struct rmcd_tx *tx;
	struct rmcd_mem *buf[RMC_MAX_BUFFERS];
	struct rmc_bufs *table;
	struct rmcd_qp *qp[RMC_MAX_QPS];
	struct rmcd_domain *domain;
	u32 member;
	u32 dom_cores;
	bool dom_ended;
	int *wake;
	struct rmcd_watcher *watcher;
};

/* file.c */
struct rmcd_file *rmcd_file_open(struct rmcd *d, const struct rmcd_peer *peer,
				 struct rmcd_user *user, u32 ctx_id);
void rmcd_file_close(struct rmcd_file *f);
void rmcd_file_release_all(struct rmcd_file *f);
int rmcd_file_attach(struct rmcd_file *f, u32 nid);
struct rmc_node *rmcd_file_node(struct rmcd_file *f);
int rmcd_file_foreign(struct rmcd_file *f);
int rmcd_charge_memory(struct rmcd_file *f, const struct rmcd_mem *m);
void rmcd_uncharge_memory(struct rmcd_file *f, const struct rmcd_mem *m);
int rmcd_file_may_map(struct rmcd_file *f, u64 length);
int rmcd_seg_add(struct rmcd_file *f, struct rmcd_mem *m);
int rmcd_seg_del(struct rmcd_file *f);
int rmcd_range_add(struct rmcd_file *f, struct rmcd_mem *m, u64 start);
int rmcd_range_del(struct rmcd_file *f, u64 start);
int rmcd_buf_add(struct rmcd_file *f, struct rmcd_mem *m, u32 *id);
int rmcd_buf_del(struct rmcd_file *f, u32 id);

/* qp.c */
int rmcd_qp_create(struct rmcd_file *f, u32 entries, u32 flags, u32 *id);
int rmcd_qp_destroy(struct rmcd_file *f, u32 id);

static inline struct rmcd_qp *rmcd_file_qp(struct rmcd_file *f, u32 id)
{
	return id < RMC_MAX_QPS ? f->qp[id] : NULL;
}

#endif
