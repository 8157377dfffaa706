/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the native benchmarks share: the core with one pinned pthread per worker,
 * librmc's inline path on the application's side, and the limits of this machine.
 * The first application is on node 0 and works on the last node, which exposes
 * bed_segment.
 *
 *	bench.c		ratios to the limits, asked-for ones
 *	sweep.c		curves over sizes and more, for tools/rmc-figures and rmc-bench
 *	objects.c	atomic object reads, with the library's schemes
 *	messages.c	the library's messages
 *	ni_bench.c	NI organisations beside each other (T18 chapter 6)
 */
#ifndef BED_H
#define BED_H

#include "testbed.h"

/* both sides call their end of a queue pair struct rmc_qp */
#define rmc_qp user_qp
#include "lib/include/rmc/qp.h"
#undef rmc_qp

#define BED_ENTRIES	128
/*
 * Operations before the first that counts: what a limit measured before has driven out of
 * the caches, above all the chunk table of a segment, comes back with some 1000 of them.
 */
#define BED_WARM_UP	2000
#define BED_SLOT	65536UL		/* most bytes of local buffer per slot */

/* An application and its end of the queue pair */
struct bed_app {
	struct app a ____cacheline_aligned;	/* the worker's, as if in the kernel */
	struct user_qp qp ____cacheline_aligned;
	u8 slots[BED_ENTRIES];
	struct rmc_mem *buf;
	u8 *lbuf;
	u32 stride;			/* of the slots' pieces of lbuf, bytes */
	u32 target;			/* node */
};

struct bed {
	struct testbed w;
	struct bed_app app;
	struct rmc_mem *seg;
};

extern bool bed_quick;			/* a quarter of the operations */
extern u64 bed_bytes;			/* of bed_segment */
extern u8 *bed_segment;
extern u32 bed_chunk_shift;		/* physically contiguous: 4 KiB, 21 where in huge pages */

/* Pins the caller and maps; how many CPUs there are: fewer than two will not do. */
int bed_setup(u64 bytes);
void bed_init(struct bed *b, u32 nodes, const char *ni, u32 mtu);
void bed_init_opts(struct bed *b, const struct testbed_opts *o);
void bed_start(struct bed *b, bool park);
void bed_fini(struct bed *b);
/* One more, on @nid, between bed_init() and bed_start() */
void bed_app_init(struct bed *b, struct bed_app *app, u32 nid, u32 target);
void bed_app_fini(struct bed_app *app);
void bed_check(int err);
/*
 * Also between nodes of one worker there are packets, as with local=0 of the module, or the
 * local path is taken
 */
void bed_packets(struct testbed *w, bool packets);
/* The value of an option --path: "packets" or "local" */
bool bed_is_path(const char *name, bool *packets);

void bed_pin(int cpu);
u8 *bed_map(size_t n);			/* in huge pages, none of it zero */
u64 bed_now(void);			/* ns */
double bed_ns_per_tick(void);

/* For single operations: a read of the clock costs as much as a tenth of a remote read */
static inline u64 bed_ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return bed_now();
#endif
}

u64 bed_random(void);
double bed_median(double *v, int n);	/* sorts */

/* One sample of blocking latency, ns */
double bed_latency(struct bed_app *app, u32 op, u32 size, u64 span);
/* Operations per microsecond with @outstanding in flight */
double bed_rate(struct bed_app *app, u32 op, u32 size, u64 span, u32 outstanding);
/* One blocking operation */
u64 bed_one(struct bed_app *app, u32 op, u32 size, u64 span);
/* Issue one read or write; the data that comes is read as well */
void bed_post(struct bed_app *app, u32 op, u32 size, u64 span);

/*
 * Samples of limits take so many times fewer operations: short ones, of which the
 * median forgets those in which a CPU was taken away
 */
/* idle time after which a worker parks, as park_us is by default */
#define BED_PARK_NS	200000
extern bool bed_helps;			/* on a parked worker: help it, else wake its thread */
extern int bed_finer;

/*
 * One sample of a limit: a line's round trip, ns; GB/s; a dependent read, ns; simple
 * operations by the worker's CPU, which must be idle, a ns: fewer when what shares the
 * core with it is busy, of which a VM sees nothing else
 */
double bed_pingpong(struct bed *b);
double bed_memcpy(void);
double bed_access(void);
double bed_arithmetic(void);

/* With bed_start(b, true): the share of a CPU that a parked worker takes; ns of a read
 * after @us in which the worker has parked
 */
double bed_idle(struct bed *b);
double bed_wake(struct bed *b, u32 us);
/* What the machine takes for that alone: a thread asleep for @us is woken and says so */
double bed_thread_wake(u32 us);

#endif
