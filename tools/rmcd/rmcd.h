/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rmcd: the RMC of one or several nodes in a process, for other processes of this machine.
 *
 *	main thread                           worker threads, pinned
 *	  server.c  connections                 worker.c  visits, parking
 *	  request.c RMC_IOC_*                   kmod/core, kmod/ni, kmod/member: as in the module
 *	  file.c qp.c memory.c ...                 ^
 *	     |                                     |
 *	     +--- rmcd_call(): a function, which a worker calls between two visits
 *
 * The main thread handles one request at a time, so only workers need care: all that the
 * pipelines use is changed by calls on the worker that owns it. Documentation/daemon.rst.
 */
#ifndef RMCD_H
#define RMCD_H

#include <sched.h>
#include <stdio.h>
#include "kmod/fabric/config.h"
#include "kmod/fabric/region.h"
#include "kmod/member/member.h"
#include "kmod/ni/ni.h"
#include "kmod/ni/park.h"
#include "yield.h"

#define RMCD_MAX_SETS		64	/* sets of workers, as in the module */
#define RMCD_MAX_WORKERS	256

/*
 * Quotas of a user and of a context: as in kmod/run/config.h, which says why; with the options
 * --OPTION-user and --OPTION-context and what they count. mapped_mib, MiB of registered memory, is
 * for addresses of this process, of which it has 128 TiB, and for its page tables: 1/512 of it,
 * which this process is charged for. This is the most that is the default; config.c takes as many
 * times the memory that this process may have as RMCD_MAPPED_TIMES says.
 */
#define RMCD_QUOTAS(X)								\
	X(qps,		"max-qps",	256,		512,	"queue pairs per node")	\
	X(files,	"max-files",	1024,		4096,	"open contexts")	\
	X(buffers,	"max-buffers",	4096,		16384,	"local buffers")	\
	X(queue_mib,	"queue-mib",	64,		128,	"MiB of queues")	\
	X(tx_slots,	"max-tx-slots",	56,		512,	"slots for transactions per node") \
	X(mapped_mib,	"mapped-mib",	1048576,	4194304, \
	  "MiB of registered memory, or less where there is less memory,")

/* A user may map all memory some times: as segment, as buffer, in several processes */
#define RMCD_MAPPED_TIMES	4
#define RMCD_MAPPED_TIMES_CONTEXT 16

enum rmcd_resource {
#define RMCD_QUOTA_ENUM(name, option, user, context, what) RMCD_RES_##name,
	RMCD_QUOTAS(RMCD_QUOTA_ENUM)
#undef RMCD_QUOTA_ENUM
	RMCD_RESOURCES
};

/**
 * struct rmcd_config - configuration
 * @fabric: the fabric, and the place of this daemon in it
 * @ni: NI organisation
 * @sets: sets of workers; nodes are assigned to them round-robin
 * @frontends: frontends per unit, in the split organisation
 * @itt: operations in flight per node
 * @att_entries: active SABRes per node
 * @att_depth: lines of one SABRe fetched ahead
 * @att_stall_ms: an active SABRe without requests is ended after this
 * @sabre: enum rmc_sabre_mode of segments registered with RMC_SABRE_DEFAULT
 * @local: allow the local path
 * @park_us: an idle worker polls for this long before it parks
 * @share: workers share CPUs with applications; -1: if there are too few CPUs
 * @cpus: CPUs for workers
 * @cpu: the same as a list, in the order in which workers take them
 * @cpu_count: entries of @cpu
 * @socket: path of the control socket; NULL: a default
 * @contexts: contexts to create, as the user spelled them; NULL: context 0
 * @stop_fd: descriptor whose end ends the daemon; -1: none
 * @region_size: bytes of a region file that does not exist yet
 * @locals: nodes of this daemon in a region file, from fabric.node on
 * @user: quotas of a user, by enum rmcd_resource
 * @context: quotas of a context
 */
struct rmcd_config {
	struct rmc_fabric_config fabric;
	const struct rmc_ni_org *ni;
	u32 sets;
	u32 frontends;
	u32 itt;
	u32 att_entries;
	u32 att_depth;
	u32 att_stall_ms;
	u32 sabre;
	bool local;
	u32 park_us;
	int share;
	cpu_set_t cpus;
	int cpu[CPU_SETSIZE];
	u32 cpu_count;
	const char *socket;
	const char *contexts;
	int stop_fd;
	u64 region_size;
	u32 locals;
	u32 user[RMCD_RESOURCES];
	u32 context[RMCD_RESOURCES];
};

struct rmcd;
struct rmcd_call;
struct rmcd_file;

/**
 * struct rmcd_worker - a worker thread
 * @ni: nodes and queue pairs that it polls; first, since rmc_os_wake() casts
 * @d: daemon
 * @number: index in rmcd.worker
 * @thread: thread; valid if @started
 * @started: the thread runs
 * @cpu: CPU that it is pinned to
 * @share: it shares that CPU with applications: yield when there is no work
 * @yields: decides when it yields, with @share
 * @park: decides when it may park
 * @park_ns: idle time before it parks
 * @poll_ns_max: longest sleep; 0: until woken
 * @epoll: it sleeps in it, for @event, the doorbell, and the wake eventfds of files
 * @event: eventfd that rmc_os_wake() writes
 * @kicked: wake-up request; set before @event is written, cleared before checking for work
 * @call: function to call, of the main thread
 * @stop: end the thread
 */
struct rmcd_worker {
	struct rmc_ni_worker ni;
	struct rmcd *d;
	u32 number;
	pthread_t thread;
	bool started;
	int cpu;
	bool share;
	struct rmc_yield yields;
	struct rmc_park park;
	u64 park_ns;
	u64 poll_ns_max;
	int epoll;
	int event;
	u32 kicked;
	struct rmcd_call *call;
	u32 stop;
};

/**
 * struct rmcd_port - our end of the fabric
 * @fabric: the part that the pipelines use
 * @name: name of the transport
 * @kind: enum rmc_fabric_kind
 * @first: lowest node id of this daemon
 * @locals: number of its nodes, from @first on
 * @epoch: of the last claim of each node, counted from @first; NULL: ids need no claim
 * @poll_us_max: a parked worker polls again after at most this time; 0: never
 * @doorbell: of each node, a descriptor that is readable when a peer rings it, -1: none; NULL: no
 *	node has one
 * @channel_bytes: memory of channels that are allocated on demand
 * @reclaim: claim the id of a fenced node again: 0 or -errno; NULL: no node can be fenced
 * @close: mirror of rmcd_*_open(); the nodes have left
 */
struct rmcd_port {
	struct rmc_fabric fabric;
	const char *name;
	u32 kind;
	u32 first;
	u32 locals;
	u32 *epoch;
	u32 poll_us_max;
	int *doorbell;
	u64 channel_bytes;
	int (*reclaim)(struct rmcd_port *port, u32 nid);
	void (*close)(struct rmcd_port *port);
};

struct rmcd_port *rmcd_loopback_open(const struct rmc_fabric_config *cfg);
struct rmcd_port *rmcd_shared_open(const struct rmc_fabric_config *cfg, u32 locals);

struct rmcd_context;
struct rmcd_engine;
struct rmcd_user;
struct rmcd_mem;
struct rmcd_watcher;
struct rmcd_waiter;

/**
 * struct rmcd - the daemon
 * @cfg: configuration
 * @port: our end of the fabric
 * @node: local nodes; ids count from @port->first
 * @worker: workers
 * @workers: number of workers
 * @ctx: contexts by id
 * @user: users with open contexts
 * @watcher: event files; guarded by @watch_lock
 * @watchers: number of them
 * @watch_lock: guards @watcher; workers take it at an event
 * @exposed: memory of segments and ranges
 * @engines: engines of transactions
 * @owed: stack of waiters whose sleepers the main thread wakes
 * @event: eventfd that wakes the main thread
 * @armed: eventfds of clients that may be signalled: watchdog.h; a futex
 * @fault_lock: as the module's; the main thread alone changes faults
 * @debugfs: as the module's, not used
 */
struct rmcd {
	struct rmcd_config cfg;
	struct rmcd_port *port;
	struct rmc_node **node;
	struct rmcd_worker *worker;
	u32 workers;
	struct rmcd_context *ctx[RMC_MAX_CONTEXTS];
	struct rmcd_user *user;
	struct rmcd_watcher *watcher;
	u32 watchers;
	pthread_mutex_t watch_lock;	/* see above */
	struct rmcd_mem *exposed;
	struct rmcd_engine *engines;
	struct rmcd_waiter *owed;
	int event;
	u32 armed;
	struct { } fault_lock;
	void *debugfs;
};

/* main.c: one line on stderr */
void rmcd_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* config.c */
int rmcd_config_parse(struct rmcd_config *cfg, int argc, char **argv);
int rmcd_config_cpu(const struct rmcd_config *cfg, u32 worker);
void rmcd_config_workers(struct rmcd_config *cfg, u32 workers);

/* device.c */
int rmcd_start(struct rmcd *d);
void rmcd_stop(struct rmcd *d);
struct rmc_node *rmcd_node(struct rmcd *d, u32 nid);
u32 rmcd_node_state(struct rmcd *d, u32 nid);
int rmcd_node_down(struct rmcd *d, struct rmc_node *node);
int rmcd_node_up(struct rmcd *d, struct rmc_node *node);

/* worker.c */
int rmcd_worker_init(struct rmcd_worker *w, struct rmcd *d, u32 number);
void rmcd_worker_destroy(struct rmcd_worker *w);
int rmcd_worker_start(struct rmcd_worker *w);
void rmcd_worker_stop(struct rmcd_worker *w);
int rmcd_worker_watch(struct rmcd_worker *w, int fd);
void rmcd_worker_unwatch(struct rmcd_worker *w, int fd);
int rmcd_call(struct rmc_ni_worker *ni, int (*fn)(void *arg), void *arg);

static inline struct rmcd_worker *rmcd_worker_of(struct rmc_ni_worker *ni)
{
	return (struct rmcd_worker *)ni;
}

#endif
