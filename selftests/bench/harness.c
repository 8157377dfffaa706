// SPDX-License-Identifier: GPL-2.0
/* What the native benchmarks share; see harness.h. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "harness.h"
#include "kmod/core/local.h"

bool bench_quick;
int bench_finer = 1;
bool bench_polls_inline = true;
u32 bench_chunk_shift = 12;
u64 bench_bytes;
u8 *bench_segment;
static int cpus[8];

/* ---- library side ---- */

/* weak: programs that link librmc have its function */
__attribute__((weak)) int rmc_relax_slow(struct rmc_qp *qp, unsigned int spins)
{
	if (__atomic_load_n(&qp->flags->need_wakeup, __ATOMIC_RELAXED) && qp->wake)
		qp->wake(qp);
	if (!(spins & 0xffff))
		sched_yield();
	return 0;
}

__attribute__((weak)) void rmc_cq_failed(struct rmc_qp *qp, int slot, int status)
{
	if (!qp->error)
		qp->error = status;
}

static void wake(struct rmc_qp *qp)
{
	struct app *a = qp->priv;

	if (bench_polls_inline)
		testbed_poll_inline(rmc_qp_worker(&a->qp), BENCH_PARK_NS);
	else
		rmc_os_wake(rmc_qp_worker(&a->qp));
}

void bench_check(int err)
{
	if (err) {
		fprintf(stderr, "operation failed with status %d\n", err);
		exit(1);
	}
}

/* ---- measuring ---- */

u64 bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Measured over the run so far; the measurement of the limits makes it long enough */
static u64 ticks0, ns0;

double bench_ns_per_tick(void)
{
	return (double)(bench_now() - ns0) / (bench_ticks() - ticks0);
}

static int cmp(const void *a, const void *b)
{
	double x = *(double *)a, y = *(double *)b;

	return x < y ? -1 : x > y;
}

double bench_median(double *v, int n)
{
	qsort(v, n, sizeof(*v), cmp);
	return v[n / 2];
}

u64 bench_random(void)
{
	static u64 rng = 88172645463325252ULL;

	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

/*
 * Huge pages if the machine has them: the kernel accesses pinned memory through the direct map,
 * which uses them. The raw limits are measured with them too.
 */
u8 *bench_map(size_t n)
{
	size_t huge = 2UL << 20;
	u8 *p = mmap(NULL, n + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	p = (u8 *)(((uintptr_t)p + huge - 1) & ~(huge - 1));
	madvise(p, n, MADV_HUGEPAGE);
	memset(p, 1, n);
	return p;
}

void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int bench_setup(u64 bytes)
{
	int i, ncpu = sysconf(_SC_NPROCESSORS_ONLN);

	if (ncpu < 2) {
		fprintf(stderr, "needs two CPUs, this machine has one\n");
		return ncpu;
	}
	for (i = 0; i < 8; i++)
		cpus[i] = 1 + i % (ncpu - 1);
	bench_pin(0);
	ns0 = bench_now();
	ticks0 = bench_ticks();
	bench_bytes = bytes;
	bench_segment = bench_map(bytes);
	return ncpu;
}

/* ---- limits ---- */

static int operations(int n)
{
	return n / (bench_quick ? 4 : 1) / bench_finer;
}

double bench_memcpy(void)
{
	static u8 *copy;		/* source of writes */
	int n = operations(4000), k;
	u64 t0;

	if (!copy)
		copy = bench_map(bench_bytes);
	t0 = bench_now();
	/* 8 KiB pieces at random places, as in the reads */
	for (k = 0; k < n; k++)
		memcpy(copy + bench_random() % (bench_bytes / 8192) * 8192,
		       bench_segment + bench_random() % (bench_bytes / 8192) * 8192, 8192);
	return n * 8192.0 / (bench_now() - t0);
}

/* Memory in which each line points to another, all of them in one cycle */
static u8 *make_chain(void)
{
	u32 lines = bench_bytes / 64, i, j, t, *perm = malloc(lines * 4UL);
	u8 *chain = bench_map(bench_bytes);

	for (i = 0; i < lines; i++)
		perm[i] = i;
	for (i = lines - 1; i > 0; i--) {
		j = bench_random() % (i + 1);
		t = perm[i];
		perm[i] = perm[j];
		perm[j] = t;
	}
	for (i = 0; i < lines; i++)
		*(u64 *)(chain + (u64)perm[i] * 64) = perm[(i + 1) % lines];
	free(perm);
	return chain;
}

double bench_access(void)
{
	static u8 *chain;
	static u64 at;
	int n = operations(80000), i;
	u64 t0;

	if (!chain)
		chain = make_chain();
	t0 = bench_now();
	for (i = 0; i < n; i++)
		at = *(volatile u64 *)(chain + at * 64);
	return (double)(bench_now() - t0) / n;
}

double bench_arithmetic(void)
{
	int n = operations(400000), i;
	u64 a = 1, b = 2, c = 3, d = 4;
	double ns;
	u64 t0;

	bench_pin(cpus[0]);
	t0 = bench_now();
	for (i = 0; i < n; i++) {
		a += b ^ i;
		b += c ^ i;
		c += d ^ i;
		d += a ^ i;
		asm volatile("" : "+r" (a), "+r" (b), "+r" (c), "+r" (d));
	}
	ns = bench_now() - t0;
	bench_pin(0);
	return 8.0 * n / ns;
}

/*
 * Round trip of a line between this thread and the worker's. This machine may be a VM whose
 * CPUs move: compare it only with results measured right after it.
 */
double bench_pingpong(struct bench *b)
{
	static u32 line[128] __attribute__((aligned(256)));
	int n = operations(20000), i;
	static u32 v;
	u64 t0 = 0;

	__atomic_store_n(&b->w.pong, line, __ATOMIC_RELEASE);
	for (i = -100; i < n; i++) {
		if (!i)
			t0 = bench_now();
		__atomic_store_n(&line[0], ++v, __ATOMIC_RELEASE);
		while (__atomic_load_n(&line[64], __ATOMIC_ACQUIRE) != v)
			;
	}
	t0 = bench_now() - t0;
	__atomic_store_n(&b->w.pong, NULL, __ATOMIC_RELEASE);
	return (double)t0 / n;
}

/* ---- the core ---- */

void bench_app_init_at(struct bench *b, struct bench_app *app, u32 nid, u32 target, u8 *lbuf,
		       u32 slot_bytes)
{
	app_init(&app->a, &b->w, nid, 0, BENCH_ENTRIES);
	app->target = target;
	app->lbuf = lbuf;
	app->stride = slot_bytes;
	app->buf = mem_make(app->lbuf, bench_app_bytes(slot_bytes), 12, 0);
	rmc_bufs_add(&app->a.bufs, app->buf);
	rmc_qp_init_raw(&app->qp, app->a.wq, app->a.cq, app->a.flags, app->slots,
			(struct rmc_operands *)(app->lbuf + BENCH_ENTRIES * (u64)slot_bytes),
			BENCH_ENTRIES);
	rmc_qp_set_arg(&app->qp, app);
	app->qp.wake = wake;
	app->qp.priv = &app->a;
}

void bench_app_init(struct bench *b, struct bench_app *app, u32 nid, u32 target)
{
	bench_app_init_at(b, app, nid, target, bench_map(bench_app_bytes(BENCH_SLOT)), BENCH_SLOT);
	app->stride = 0;
}

void bench_app_fini(struct bench_app *app)
{
	app_fini(&app->a);
}

void bench_init_opts(struct bench *b, const struct testbed_opts *o)
{
	testbed_now_ns = 0;
	testbed_init(&b->w, o);
	bench_app_init(b, &b->app, 0, o->nodes - 1);
	b->seg = mem_make(bench_segment, bench_bytes, bench_chunk_shift, 0);
	seg_set(&b->w, o->nodes - 1, 0, b->seg);
}

void bench_init(struct bench *b, u32 nodes, const char *ni, u32 mtu)
{
	struct testbed_opts o = { .nodes = nodes, .ni = ni, .mtu = mtu, .itt = 1024 };

	bench_init_opts(b, &o);
}

void bench_start(struct bench *b, bool park)
{
	testbed_start(&b->w, cpus, park);
}

void bench_packets(struct testbed *w, bool packets)
{
	u32 i;

	for (i = 0; i < w->opts.nodes; i++)
		WRITE_ONCE(w->node[i]->local, !packets);
}

const char *bench_path(const struct testbed *w, u32 bytes)
{
	return bytes <= rmc_local_reach(w->node[0], 1) ? "local" : "packets";
}

bool bench_is_path(const char *name, bool *packets)
{
	*packets = !strcmp(name, "packets");
	return *packets || !strcmp(name, "local");
}

void bench_fini(struct bench *b)
{
	testbed_stop(&b->w);
	bench_app_fini(&b->app);
	testbed_fini(&b->w);
	mem_free(b->seg);
	mem_free(b->app.buf);
}

static u64 place(u32 size, u64 span)
{
	u64 off = bench_random() % (span / 64) * 64;

	return off + size > span ? 0 : off;
}

/* Also reads the data that arrived. */
u64 bench_one(struct bench_app *app, u32 op, u32 size, u64 span)
{
	u64 off = place(size, span), old = 0;

	if (op == RMC_OP_READ)
		bench_check(rmc_read(&app->qp, app->target, off, app->lbuf, size));
	else if (op == RMC_OP_WRITE)
		bench_check(rmc_write(&app->qp, app->target, off, app->lbuf, size));
	else if (op == RMC_OP_SABRE)
		bench_check(rmc_execute(&app->qp, op, app->target, off, app->lbuf, size));
	else if (op == RMC_OP_FAA)	/* keeps versions even */
		bench_check(rmc_faa(&app->qp, app->target, off, 2, &old));
	else
		bench_check(rmc_cas(&app->qp, app->target, off, 0, 0, &old));
	return old + *(volatile u64 *)app->lbuf;
}

double bench_latency(struct bench_app *app, u32 op, u32 size, u64 span)
{
	int n = bench_quick ? 5000 : 20000, i;
	u64 t0 = 0;

	for (i = -BENCH_WARM_UP; i < n; i++) {
		if (!i)
			t0 = bench_now();
		bench_one(app, op, size, span);
	}
	return (double)(bench_now() - t0) / n;
}

static void landed(int slot, void *arg)
{
	struct bench_app *app = arg;

	*(volatile u64 *)(app->lbuf + slot * (u64)app->stride);
}

void bench_post(struct bench_app *app, u32 op, u32 size, u64 span)
{
	int slot = rmc_wait_for_slot(&app->qp, landed);
	u64 off = place(size, span);

	if (op == RMC_OP_READ)
		rmc_read_async(&app->qp, slot, app->target, off, app->lbuf + slot * (u64)app->stride, size);
	else
		rmc_write_async(&app->qp, slot, app->target, off, app->lbuf + slot * (u64)app->stride, size);
}

double bench_rate(struct bench_app *app, u32 op, u32 size, u64 span, u32 outstanding)
{
	int n = (bench_quick ? 100000 : 400000) / (1 + size / 512), i;
	u64 t0 = bench_now();

	/* adjacent, as in an application: at a large power of two apart,
	 * they would compete for the same cache sets
	 */
	app->stride = (size + 63) & ~63U;
	for (i = 0; i < n; i++) {
		while (rmc_qp_in_flight(&app->qp) >= outstanding)
			rmc_poll_cq(&app->qp, landed);
		bench_post(app, op, size, span);
	}
	bench_check(rmc_drain_cq(&app->qp, landed));
	return (double)n * 1000 / (bench_now() - t0);
}

/* ---- parked ---- */

static double cpu_seconds(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_utime.tv_sec + ru.ru_utime.tv_usec / 1e6 +
	       ru.ru_stime.tv_sec + ru.ru_stime.tv_usec / 1e6;
}

double bench_idle(struct bench *b)
{
	double before;
	u64 t0;

	bench_one(&b->app, RMC_OP_READ, 64, 4096);
	usleep(300000);			/* it parks long before the end */
	before = cpu_seconds();
	t0 = bench_now();
	usleep(1000000);
	return (cpu_seconds() - before) * 1e9 / (bench_now() - t0);
}

double bench_wake(struct bench *b, u32 us)
{
	u64 t0;

	usleep(us);
	t0 = bench_now();
	bench_one(&b->app, RMC_OP_READ, 64, 4096);
	return bench_now() - t0;
}

/* Written by the waking thread, and by the woken one */
static u32 asked __attribute__((aligned(RMC_LINE))), answered __attribute__((aligned(RMC_LINE)));

static void *sleeper(void *arg)
{
	u32 seen = 0, now;

	bench_pin(cpus[0]);
	for (;;) {
		while ((now = __atomic_load_n(&asked, __ATOMIC_ACQUIRE)) == seen)
			syscall(__NR_futex, &asked, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
		seen = now;
		__atomic_store_n(&answered, seen, __ATOMIC_RELEASE);
	}
	return arg;
}

double bench_thread_wake(u32 us)
{
	static pthread_t thread;
	u64 t0;

	if (!thread) {
		if (pthread_create(&thread, NULL, sleeper, NULL))
			abort();
		pthread_detach(thread);
	}
	usleep(us);
	t0 = bench_now();
	__atomic_store_n(&asked, asked + 1, __ATOMIC_RELEASE);
	syscall(__NR_futex, &asked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	while (__atomic_load_n(&answered, __ATOMIC_ACQUIRE) != asked)
		rmc_pause();
	return bench_now() - t0;
}
