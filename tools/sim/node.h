/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Nodes, for the files that use the core. The core is kmod/core, kmod/ni and kmod/fabric,
 * unchanged, with the shim of selftests/harness.
 */
#ifndef RMC_SIM_NODE_H
#define RMC_SIM_NODE_H

#include "kmod/core/adapter.h"
#include "kmod/core/order.h"
#include "kmod/core/timeout.h"
#include "kmod/core/state.h"
#include "kmod/member/member.h"
#include "kmod/ni/tenants.h"
#include "sim.h"

#define SIM_WORKERS	2	/* most workers of a node: fused and pair */
#define SIM_VERSIONS	128	/* objects that are read at once: more than an ATT has */

#define SIM_TAKE	4096	/* requests that memory has not taken yet */

/* A line that comes from memory, or has come; ps */
struct sim_line {
	uintptr_t line;
	u64 arrives;
};

/**
 * struct sim_worker - a worker that is visited when it has work
 * @ni: the core's; first, as rmc_os_wake() casts
 * @visit: the next visit
 * @node: where
 * @free_at: end of its last visit
 * @was: counters when the visit began
 * @hidden_until: packets that others have published are visible then; U64_MAX: none
 * @ahead: lines, by their address; NULL: memory is not simulated
 * @take: when memory takes requests, in order, ps
 * @taken: number of them
 * @version: the last versions of objects that were read
 * @versions: number of them, ever
 */
struct sim_worker {
	struct rmc_ni_worker ni;
	struct sim_event visit;
	struct sim_node *node;
	u64 free_at;
	struct rmc_stats was;
	u64 hidden_until;
	struct sim_line *ahead;
	u64 take[SIM_TAKE];
	u32 taken;
	struct sim_line version[SIM_VERSIONS];
	u32 versions;
};

/**
 * struct sim_due - packets that a filter holds of one lane from one peer
 * @event: due time of the first one
 * @node: where
 * @lane: lane
 * @from: the peer
 * @taken: packets that the filter had taken after the last visit
 */
struct sim_due {
	struct sim_event event;
	struct sim_node *node;
	enum rmc_lane lane;
	u32 from;
	u32 taken;
};

/**
 * struct sim_node - a machine: kernel, workers, threads
 * @nid: node id
 * @fabric: fabric of this kernel
 * @rmc: the core's node
 * @worker: its workers
 * @workers: number of workers
 * @tick: the next tick
 * @due: by lane and peer
 * @threads: of applications
 * @core: end of each core's work
 * @paused: its kernel is paused
 * @down: it crashed
 * @resume: end of the pause
 */
struct sim_node {
	u32 nid;
	struct rmc_fabric fabric;
	struct rmc_node *rmc;
	struct sim_worker worker[SIM_WORKERS];
	u32 workers;
	struct sim_event tick;
	struct sim_due *due[RMC_LANES];
	struct sim_thread *threads;
	u64 *core;
	bool paused;
	bool down;
	struct sim_event resume;
};

/* links.c */
int sim_links_init(void);
void sim_links_free(void);
void sim_link_filter(struct sim_node *n, enum rmc_lane lane, u32 peer);

/* worker.c */
void sim_worker_kick(struct sim_worker *w, u64 at);
void sim_node_init_events(struct sim_node *n);
void sim_node_stop(struct sim_node *n);
void sim_node_go_on(struct sim_node *n);
void sim_notify_worker(struct sim_worker *w);
void sim_notify_thread(struct sim_thread *t);
void sim_notify_done(struct sim_thread *t);
void sim_notify_eventfd(int fd);
u64 sim_visit_work(const struct sim_worker *w);

/* publish.c */
int sim_publish_init(void);
void sim_publish_free(void);
void sim_publish_begin(const struct sim_worker *w);
void sim_publish_end(u64 at);
u64 sim_publish_hidden(void);

/* lines.c; what the core calls is in the shim */
int sim_lines_segment(const struct sim_node *n, const void *p, size_t bytes);
void sim_lines_withdraw(const struct sim_node *n, const void *p);
void sim_lines_reset(void);
int sim_lines_begin(struct sim_worker *w);
u64 sim_lines_end(u64 lines, u64 *taken);

/* prefetch.c */
void sim_prefetch_channel(const struct rmc_node *node, enum rmc_lane lane, u32 from);
void sim_prefetch_packets(const struct rmc_node *node, enum rmc_lane lane, u32 from);
void sim_prefetch_qp(const struct rmc_qpair *qp);
void sim_prefetch_visit(const struct sim_worker *w);

/* driver.c */
void sim_event_happened(struct rmc_event *e);

#endif
