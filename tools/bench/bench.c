/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The benchmarks. All nodes expose memory and meet; node 0 measures against its
 * peer, with --double-sided the peer also measures against node 0; the others sleep
 * in the last barrier until the end. A node exposes
 *
 *	| struct header, one page | data ... |
 *
 * The first word of every line of data is its offset, so that reads can be checked. It
 * is even: for SABRes, the version of an object without a writer.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "bench.h"
#include "memlock.h"
#include "opt.h"
#include "progress.h"

#define HEADER_BYTES	4096
#define HEADER_MAGIC	0x726d632d62656e63ULL
#define WARM_UP_SHARE	10		/* a tenth of the iterations, but at most */
#define WARM_UP_MAX	1000
#define PEAK_WINDOWS	10		/* peak bandwidth is that of the best tenth */
#define TYPICAL_WINDOWS	100
#define CHECKED_LINES	32

struct header {
	uint64_t magic;
	uint64_t data_len;
};

static int check(const char *what, int err)
{
	if (err)
		die(EXIT_FAILED, "%s: %s", what, rmc_strerror(err));
	return err;
}

static uint64_t meminfo(const char *key)
{
	unsigned long long kib = 0;
	size_t len = strlen(key);
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, len) && sscanf(line + len, ": %llu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib << 10;
}

/* Nodes of this run that share our memory: one in a VM, all over loopback */
static int nodes_here(void)
{
	int n = opt_env_int("RMC_NODES", 1, 1), local = 0;
	FILE *f = fopen("/sys/class/misc/rmc/local_nodes", "re");

	if (f) {
		if (fscanf(f, "%d", &local) != 1)
			local = 0;
		fclose(f);
	}
	return local > 0 && local < n ? local : n;
}

/* The requested or default size, less if memory is short */
static uint64_t choose_segment(const struct bench *b)
{
	uint64_t size = BENCH_DEFAULT_SEGMENT, available = meminfo("MemAvailable");
	struct rlimit rl;
	int n = nodes_here();

	if (b->segment)
		return b->segment & ~63ULL;
	while (n > 0 && available && size > (1 << 20) && size * (uint64_t)n > available / 2)
		size /= 2;
	if (geteuid() && !getrlimit(RLIMIT_MEMLOCK, &rl) && rl.rlim_cur != RLIM_INFINITY)
		while (size > (1 << 16) && size > rl.rlim_cur / 2)
			size /= 2;
	return size;
}

static void pin(int cpu)
{
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	size_t len = CPU_ALLOC_SIZE((size_t)cpu + 1);

	if (!set)
		die(EXIT_FAILED, "out of memory");
	CPU_ZERO_S(len, set);
	CPU_SET_S((size_t)cpu, len, set);
	if (sched_setaffinity(0, len, set))
		die(EXIT_FAILED, "cannot run on CPU %d: %s", cpu, strerror(errno));
	CPU_FREE(set);
}

static uint64_t slot_bytes(uint64_t size)
{
	return (size + 63) & ~63ULL;
}

/* The first is the team's; only a node that measures has more. */
static void make_qps(struct bench *b, unsigned int entries)
{
	int i;

	b->qp[0] = b->team->qp;
	for (i = 1; i < b->qps; i++) {
		b->qp[i] = rmc_qp_create(b->team->ctx, entries);
		if (!b->qp[i])
			die(EXIT_FAILED, "%s", rmc_errmsg());
	}
}

static void make_lbuf(struct bench *b)
{
	uint64_t one = slot_bytes(b->size);
	void *p;

	b->lbuf_len = one * (uint64_t)b->outstanding;
	if (b->lbuf_len > BENCH_LBUF_MAX)
		b->lbuf_len = one > BENCH_LBUF_MAX ? one : BENCH_LBUF_MAX;
	b->lbuf_len = (b->lbuf_len + 4095) & ~4095ULL;
	if (b->numa_node >= 0) {
		if (rmc_buf_alloc(b->team->ctx, b->lbuf_len, b->numa_node, &p) < 0)
			die(EXIT_FAILED, "%s", rmc_errmsg());
	} else {
		p = mmap(NULL, b->lbuf_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
		if (p == MAP_FAILED)
			die(EXIT_FAILED, "no memory for a local buffer of %llu bytes",
			    (unsigned long long)b->lbuf_len);
		madvise(p, b->lbuf_len, MADV_HUGEPAGE);
		if (rmc_buf_register(b->team->ctx, p, b->lbuf_len) < 0)
			die(EXIT_FAILED, "%s", rmc_errmsg());
	}
	memset(p, 0, b->lbuf_len);
	b->lbuf = (char *)p;
}

static void join(struct bench *b)
{
	struct rmc_team_options options = {
		.ctx_id = (unsigned int)b->ctx_id,
		.numa_node = b->numa_node,
		.flags = RMC_TEAM_SLEEP | (b->op == RMC_OP_SABRE ? RMC_TEAM_OBJECTS : 0),
		.entries = 2,
	};
	uint64_t len, i;
	struct header *h;

	while (options.entries < (unsigned int)b->outstanding)
		options.entries *= 2;
	memlock_raise();
	len = choose_segment(b);
	b->team = rmc_team_open_with(&options, HEADER_BYTES + len);
	if (!b->team)
		die(EXIT_FAILED, "%s", rmc_errmsg());
	for (i = 0; i + 8 <= len; i += 64)
		*(uint64_t *)((char *)b->team->seg + HEADER_BYTES + i) = i;
	h = (struct header *)b->team->seg;
	h->data_len = len;
	h->magic = HEADER_MAGIC;
	make_lbuf(b);
	make_qps(b, options.entries);
	check("meeting the other nodes", rmc_team_barrier(b->team));
}

static uint64_t data_offset(const struct bench *b)
{
	return b->team->offset + HEADER_BYTES;
}

/* The node to measure against: -1 when this node does not measure. */
static int choose_target(struct bench *b)
{
	struct rmc_team *t = b->team;
	int peer = b->peer >= 0 ? b->peer : rmc_team_nid(t, 1);

	if (peer < rmc_team_nid(t, 0) || peer >= rmc_team_nid(t, 0) + t->nodes)
		die(EXIT_USAGE, "--peer %d: this run has node %d .. %d; rmc-run -n starts more",
		    peer, rmc_team_nid(t, 0), rmc_team_nid(t, 0) + t->nodes - 1);
	if (t->self == 0)
		return peer;
	if (b->double_sided && rmc_team_nid(t, t->self) == peer)
		return rmc_team_nid(t, 0);
	return -1;
}

static void find_target(struct bench *b)
{
	struct header *h = (struct header *)b->lbuf;

	check("reading the peer's header",
	      rmc_read(b->team->qp, b->target, b->team->offset, h, sizeof(*h)));
	if (h->magic != HEADER_MAGIC)
		die(EXIT_FAILED, "node %d runs something else", b->target);
	b->data_len = h->data_len;
}

static void set_size(struct bench *b, uint64_t size)
{
	uint64_t span = b->data_len;

	if (b->pattern == HOT && span > BENCH_HOT_BYTES)
		span = BENCH_HOT_BYTES;
	b->stride = slot_bytes(size);
	b->count = span / b->stride ? span / b->stride : 1;
	b->next = 0;
}

static inline __attribute__((always_inline)) uint64_t next_offset(struct bench *b, uint64_t base)
{
	uint64_t i;

	if (b->pattern == SEQUENTIAL) {
		i = b->next;
		b->next = i + 1 == b->count ? 0 : i + 1;
	} else {
		b->rng ^= b->rng << 13;
		b->rng ^= b->rng >> 7;
		b->rng ^= b->rng << 17;
		i = ((b->rng >> 32) * b->count) >> 32;
	}
	return base + i * b->stride;
}

/* Check that reads return the peer's memory. */
static void check_data(struct bench *b)
{
	uint64_t base = data_offset(b), offset, *word = (uint64_t *)b->lbuf;
	int i;

	set_size(b, 64);
	for (i = 0; i < CHECKED_LINES; i++) {
		offset = next_offset(b, base);
		*word = ~0ULL;
		check("reading", rmc_read(b->team->qp, b->target, offset, word, sizeof(*word)));
		if (*word != offset - base)
			die(EXIT_FAILED, "wrong data: %#llx at offset %#llx of node %d",
			    (unsigned long long)*word, (unsigned long long)(offset - base),
			    b->target);
	}
}

static void progress(struct bench *b, uint64_t size, uint64_t done, uint64_t all)
{
	if (progress_due(b->progress))
		fprintf(stderr, "%s%llu bytes: %3u%%%s", progress_begin(), (unsigned long long)size,
			(unsigned int)(done * 100 / all), progress_end());
}

static inline __attribute__((always_inline)) int one(struct bench *b, struct rmc_qp *qp,
						     enum rmc_opcode op, uint64_t base,
						     uint64_t size)
{
	uint64_t offset = next_offset(b, base), old;

	switch (op) {
	case RMC_OP_READ:
		return rmc_read(qp, b->target, offset, b->lbuf, size);
	case RMC_OP_WRITE:
		return rmc_write(qp, b->target, offset, b->lbuf, size);
	case RMC_OP_SABRE:
		return rmc_execute(qp, op, b->target, offset, b->lbuf, size);
	case RMC_OP_CAS:
		return rmc_cas(qp, b->target, offset, 0, 1, &old);
	default:
		return rmc_faa(qp, b->target, offset, 1, &old);
	}
}

/* Instantiated per operation, so that the loop has no branches on it */
static inline __attribute__((always_inline)) void latency_loop(struct bench *b,
		enum rmc_opcode op, uint64_t size, uint64_t *sample, uint64_t n, uint64_t second)
{
	uint64_t base = data_offset(b), last, now, next, i;
	struct rmc_qp *qp = b->team->qp;

	last = bench_cycles();
	next = last + second;
	for (i = 0; i < n; i++) {
		int err = one(b, qp, op, base, size);

		if (rmc_unlikely(err))
			check("operation", err);
		now = bench_cycles();
		sample[i] = now - last;
		last = now;
		if (rmc_unlikely(now > next)) {
			progress(b, size, i, n);
			last = bench_cycles();
			next = last + second;
		}
	}
}

static void latency_of(struct bench *b, uint64_t size, uint64_t *sample, uint64_t n,
		       uint64_t second)
{
	switch (b->op) {
	case RMC_OP_READ:
		latency_loop(b, RMC_OP_READ, size, sample, n, second);
		break;
	case RMC_OP_WRITE:
		latency_loop(b, RMC_OP_WRITE, size, sample, n, second);
		break;
	case RMC_OP_SABRE:
		latency_loop(b, RMC_OP_SABRE, size, sample, n, second);
		break;
	case RMC_OP_CAS:
		latency_loop(b, RMC_OP_CAS, size, sample, n, second);
		break;
	default:
		latency_loop(b, RMC_OP_FAA, size, sample, n, second);
	}
}

/* Pauses before each operation: the worker parks, and each operation wakes it. */
static void wake_latency(struct bench *b, uint64_t size, uint64_t *sample, uint64_t n,
			 uint64_t second)
{
	uint64_t base = data_offset(b), next = bench_cycles() + second, start, i;

	for (i = 0; i < n; i++) {
		usleep((useconds_t)b->pause_us);
		start = bench_cycles();
		check("operation", one(b, b->team->qp, b->op, base, size));
		sample[i] = bench_cycles() - start;
		if (start > next) {
			progress(b, size, i, n);
			next = start + second;
		}
	}
}

static uint64_t warm_up(const struct bench *b)
{
	uint64_t n = (uint64_t)b->iterations / WARM_UP_SHARE + 1;

	return n > WARM_UP_MAX ? WARM_UP_MAX : n;
}

static void measure_latency(struct bench *b, uint64_t size, double cycles_per_us)
{
	uint64_t n = (uint64_t)b->iterations, second = (uint64_t)(cycles_per_us * 1e6);
	uint64_t *sample = (uint64_t *)malloc(n * sizeof(*sample));
	struct latency_stats s;

	if (!sample)
		die(EXIT_FAILED, "no memory for %llu samples", (unsigned long long)n);
	memset(sample, 0, n * sizeof(*sample));		/* no page faults in the loop */
	latency_of(b, size, sample, warm_up(b) < n ? warm_up(b) : n, second);
	if (b->pause_us)
		wake_latency(b, size, sample, n, second);
	else
		latency_of(b, size, sample, n, second);
	latency_stats(&s, sample, n, cycles_per_us);
	report_latency(b, size, &s);
	free(sample);
}

/*
 * Keep outstanding operations in flight until n have been issued, over all queue pairs in
 * rotation.
 */
static inline __attribute__((always_inline)) void bandwidth_loop(struct bench *b,
		enum rmc_opcode op, uint64_t size, uint64_t n)
{
	uint64_t base = data_offset(b), buffers = b->lbuf_len / b->stride, i;
	unsigned int outstanding = (unsigned int)b->outstanding, k;
	struct rmc_completion c;
	struct rmc_qp *qp;
	int slot;

	for (i = 0, k = 0; i < n; i++) {
		qp = b->qp[k];
		while (rmc_qp_in_flight(qp) >= outstanding)
			check("waiting", rmc_cq_wait(qp, &c));
		slot = rmc_wait_for_slot(qp, NULL);
		if (rmc_unlikely(slot < 0 || rmc_qp_error(qp)))
			check("operation", slot < 0 ? slot : rmc_qp_error(qp));
		rmc_issue(qp, op, slot, b->target, next_offset(b, base),
			  b->lbuf + ((uint64_t)slot % buffers) * b->stride, size);
		k = k + 1 == (unsigned int)b->qps ? 0 : k + 1;
	}
}

static uint64_t in_flight(struct bench *b)
{
	uint64_t n = 0;
	int k;

	for (k = 0; k < b->qps; k++) {
		rmc_poll_cq(b->qp[k], NULL);	/* errors stay in the queue */
		n += rmc_qp_in_flight(b->qp[k]);
	}
	return n;
}

static void drain(struct bench *b, const char *what)
{
	int k;

	for (k = 0; k < b->qps; k++)
		check(what, rmc_drain_cq(b->qp[k], NULL));
}

static void bandwidth_of(struct bench *b, uint64_t size, uint64_t n)
{
	if (b->op == RMC_OP_READ)
		bandwidth_loop(b, RMC_OP_READ, size, n);
	else
		bandwidth_loop(b, RMC_OP_WRITE, size, n);
}

/*
 * A window of a run, of at least some completed operations. Issued operations do not
 * count: while the queue fills, issuing takes no time.
 */
struct window {
	uint64_t least, done, since;
};

/* At the end of a window its operations per cycle, and begin the next; else 0 */
static double window_over(struct window *w, uint64_t done, uint64_t now)
{
	double rate = 0;

	if (done - w->done >= w->least) {
		rate = (double)(done - w->done) / (double)(now - w->since);
		w->done = done;
		w->since = now;
	}
	return rate;
}

static uint64_t share(uint64_t n, uint64_t of)
{
	return n / of ? n / of : 1;
}

/*
 * Peak bandwidth is that of the best window of a tenth of all operations, typical
 * bandwidth the median of windows of a hundredth, which excludes windows in which another
 * process had the CPU.
 */
static void measure_bandwidth(struct bench *b, uint64_t size, double cycles_per_us)
{
	uint64_t n = (uint64_t)b->iterations, left = n, step = share(n, TYPICAL_WINDOWS), i = 0;
	uint64_t second = (uint64_t)(cycles_per_us * 1e6), start, now, next, done;
	double rate, fine[2 * TYPICAL_WINDOWS], best = 0, scale = cycles_per_us * 1e6;
	struct window tenth = { share(n, PEAK_WINDOWS), 0, 0 }, hundredth = { step, 0, 0 };
	struct bandwidth_stats s = { .n = n };

	bandwidth_of(b, size, warm_up(b));
	drain(b, "warming up");

	start = bench_cycles();
	tenth.since = hundredth.since = now = start;
	next = start + second;
	while (left) {
		if (step > left)
			step = left;
		bandwidth_of(b, size, step);
		left -= step;
		if (!left)
			drain(b, "operation");
		done = n - left - in_flight(b);
		now = bench_cycles();
		rate = window_over(&tenth, done, now);
		if (rate > best)
			best = rate;
		rate = window_over(&hundredth, done, now);
		if (rate > 0 && i < 2 * TYPICAL_WINDOWS)
			fine[i++] = rate;
		if (now > next) {
			progress(b, size, n - left, n);
			next = now + second;
		}
	}
	s.rate = (double)n * scale / (double)(now - start);
	s.avg = s.rate * (double)size;
	s.peak = best * scale * (double)size;
	s.typical = i ? median(fine, i) * scale * (double)size : s.avg;
	if (s.peak < s.avg)
		s.peak = s.avg;
	report_bandwidth(b, size, &s);
}

static void measure(struct bench *b)
{
	uint64_t size = b->all_sizes ? BENCH_MIN_SIZE : b->size;
	uint64_t limit = rmc_query(b->team->ctx)->max_length;
	double cycles_per_us = bench_calibrate();
	int active = b->target >= 0;

	if (active) {
		find_target(b);
		check_data(b);
		if (!b->all_sizes && b->size > limit)
			die(EXIT_USAGE, "--size %llu: operations have at most %llu bytes here",
			    (unsigned long long)b->size, (unsigned long long)limit);
		if (!b->all_sizes && b->size > b->data_len)
			die(EXIT_USAGE, "--size %llu: node %d exposes %llu bytes; --segment sets how many",
			    (unsigned long long)b->size, b->target,
			    (unsigned long long)b->data_len);
		report_begin(b);
	}
	for (; size <= b->size; size *= 2) {
		/* Writers start after all nodes have checked the data. */
		if (b->double_sided)
			check("waiting for the other side",
			      rmc_team_barrier_with(b->team, active ? 0 : RMC_TEAM_SLEEP));
		if (!active || size > limit || size > b->data_len)
			continue;
		set_size(b, size);
		report_size(b, size);
		if (b->test->metric == LATENCY)
			measure_latency(b, size, cycles_per_us);
		else
			measure_bandwidth(b, size, cycles_per_us);
	}
	if (active)
		report_end(b);
}

int bench_main(const struct bench_test *test, int argc, char **argv)
{
	struct bench b = { .test = test };

	bench_options(&b, argc, argv);
	if (b.cpu >= 0)
		pin(b.cpu);
	join(&b);
	b.rng = (uint64_t)b.seed * 0x9e3779b97f4a7c15ULL + (uint64_t)b.team->self + 1;
	b.target = choose_target(&b);
	measure(&b);
	check("last barrier", rmc_team_barrier(b.team));
	rmc_team_close(b.team);
	return EXIT_OK;
}
