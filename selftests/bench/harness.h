/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the native benchmarks share: the core with one pinned pthread per worker, librmc's
 * inline path on the application's side, and the limits of this machine. The first application
 * is on node 0 and accesses the last node, which exposes bench_segment.
 *
 *	bench.c		ratios to the limits, with targets
 *	sweep.c		curves over sizes and more, for tools/rmc-figures and rmc-bench
 *	objects.c	atomic object reads, with the library's schemes
 *	messages.c	the library's messages
 *	tx_bench.c	transactions by parts, with tx_pass.c
 *	native_bench.c	the RMC's messages, through the library's domains
 *	ni_bench.c	NI organisations compared (T18 chapter 6), with ni_load.h
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include "testbed.h"

#include "lib/include/rmc/qp.h"

#define BENCH_ENTRIES	128
/*
 * Operations before the first one measured. A limit measured before has evicted cache lines,
 * above all of a segment's chunk table; some 1000 operations load them again.
 */
#define BENCH_WARM_UP	2000
#define BENCH_SLOT	65536UL		/* most bytes of local buffer per slot */

/* An application and its end of the queue pair */
struct bench_app {
	struct app a ____cacheline_aligned;	/* the worker's, as if in the kernel */
	struct rmc_qp qp ____cacheline_aligned;
	u8 slots[BENCH_ENTRIES];
	struct rmc_mem *buf;
	u8 *lbuf;
	u32 stride;			/* of the slots' pieces of lbuf, bytes */
	u32 target;			/* node */
};

struct bench {
	struct testbed w;
	struct bench_app app;
	struct rmc_mem *seg;
};

extern bool bench_quick;			/* a quarter of the operations */
extern u64 bench_bytes;			/* of bench_segment */
extern u8 *bench_segment;
extern u32 bench_chunk_shift;		/* physically contiguous: 4 KiB; 21: huge pages */

/* Pin the caller and map the segment. Returns the number of CPUs, of which two are needed. */
int bench_setup(u64 bytes);
void bench_init(struct bench *b, u32 nodes, const char *ni, u32 mtu);
void bench_init_opts(struct bench *b, const struct testbed_opts *o);
void bench_start(struct bench *b, bool park);
void bench_fini(struct bench *b);
/* Add an application on @nid, between bench_init() and bench_start() */
void bench_app_init(struct bench *b, struct bench_app *app, u32 nid, u32 target);
/* the same with the caller's memory for its local buffers, bench_app_bytes() */
void bench_app_init_at(struct bench *b, struct bench_app *app, u32 nid, u32 target, u8 *lbuf,
		       u32 slot_bytes);
void bench_app_fini(struct bench_app *app);
void bench_check(int err);
/*
 * Use packets between nodes of one worker too, as local=0 of the module does, or the local path
 */
void bench_packets(struct testbed *w, bool packets);
/* Path of operations of so many bytes of node 0 on node 1: "local" or "packets" */
const char *bench_path(const struct testbed *w, u32 bytes);
/* The value of an option --path: "packets" or "local" */
bool bench_is_path(const char *name, bool *packets);

static inline size_t bench_app_bytes(u32 slot_bytes)
{
	return BENCH_ENTRIES * ((size_t)slot_bytes + sizeof(struct rmc_operands));
}

void bench_pin(int cpu);
u8 *bench_map(size_t n);			/* in huge pages, no byte zero */
u64 bench_now(void);			/* ns */
double bench_ns_per_tick(void);

/* For single operations: reading the clock takes a tenth of the time of a remote read */
static inline u64 bench_ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return bench_now();
#endif
}

u64 bench_random(void);
double bench_median(double *v, int n);	/* sorts */

/* One sample of blocking latency, ns */
double bench_latency(struct bench_app *app, u32 op, u32 size, u64 span);
/* Operations per microsecond with @outstanding in flight */
double bench_rate(struct bench_app *app, u32 op, u32 size, u64 span, u32 outstanding);
/* One blocking operation */
u64 bench_one(struct bench_app *app, u32 op, u32 size, u64 span);
/* Issue one read or write, and read the data of a completed one */
void bench_post(struct bench_app *app, u32 op, u32 size, u64 span);

/* idle time after which a worker parks: the default of park_us */
#define BENCH_PARK_NS	200000
extern bool bench_polls_inline;	/* at a parked worker: poll inline, else wake its thread */
/*
 * Divisor of the operations in a sample of a limit. In many short samples the median ignores
 * those that were preempted.
 */
extern int bench_finer;

/*
 * One sample of a limit: round trip of a line, ns; GB/s; a dependent read, ns; simple
 * operations per ns by the worker's CPU, which must be idle. That rate drops when the other
 * hardware thread of the core is busy, which a VM cannot see otherwise.
 */
double bench_pingpong(struct bench *b);
double bench_memcpy(void);
double bench_access(void);
double bench_arithmetic(void);

/* With bench_start(b, true): the share of a CPU that a parked worker takes; ns of a read
 * after @us in which the worker has parked
 */
double bench_idle(struct bench *b);
double bench_wake(struct bench *b, u32 us);
/* Time for waking a thread that slept for @us, ns, without the core: a limit of the machine */
double bench_thread_wake(u32 us);

#endif
