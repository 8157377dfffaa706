// SPDX-License-Identifier: GPL-2.0
/*
 * The RMC's own messages (Documentation/messaging.rst) over the core at native speed, through the
 * library's domains. One thread is the application of both nodes, the worker has the other CPU:
 *
 *	application (sender)			worker		application (receiver)
 *	t0 rmc_send -> WQ entry, data ---> RGP .. RRPP --> slot, arrival queue
 *							  reads the slot in place -> t1
 *							  rmc_receive -> WQ entry -> t2
 *
 * Latency ends at t1; a ping-pong's half round trip, as of rmc_netpipe, at t2. The direction
 * alternates, and a message follows at once: its SEND waits for the RECEIVE before it, unless it is
 * "alone". The library's one-sided messages (messages.c), reads, memcpy() and the ping-pong of a line
 * are measured in the same rounds. All ways write the message anew and read a word of each line.
 * Each ratio is the median of those of the rounds. "asked" is what messages shall reach; only with
 * --check the exit status depends on it.
 *
 *	build/host/native_bench [--quick] [--json] [--check] [--path local|packets] [PART ...]
 */
#define _GNU_SOURCE
#include <getopt.h>
#include "message_ends.h"
#include "native_ends.h"
#include "native_rows.h"

#define ROUNDS		9
#define LIMITS		11		/* samples of the ping-pong */
#define LATENCIES	4000		/* per size, way and round; quick: a quarter */
#define CORES		2		/* of a node */
#define IN_FLIGHT	32
#define STREAM		8		/* of 4 KiB */
#define WINDOWS		200		/* of a rate in a round, some 100 us each */
#define BATCHES		200		/* of operations whose worker time is measured */
#define WRITTEN		(1UL << 20)	/* offset in the segment, beyond what <rmc/msg.h> has */

/* Alone: each message when all operations of the one before have completed */
enum way { NATIVE, NATIVE_RECEIVED, PUSH, PULL, NATIVE_ALONE, PUSH_ALONE, PULL_ALONE, WAYS };

static const char * const way_names[] = {
	"native", "native, received", "push", "pull", "native, alone", "push, alone", "pull, alone",
};

static const u32 sizes[] = { 8, 48, 64, 256, 1024, 4096, 8192 };
static const struct {
	const char *name;
	u32 policy;
	double asked;			/* ns of the worker over a write */
} policies[] = {
	{ "greedy", RMC_DOM_GREEDY, 25 }, { "rr", RMC_DOM_RR, 40 }, { "jsq", RMC_DOM_JSQ, 40 },
};

static bool packets;
static struct bench bench;
static struct domain plain[ARRAY_SIZE(policies)], calls;

/* ---- one-way latency ---- */

static struct samples one_way[ARRAY_SIZE(sizes)][WAYS];
static struct latency_ratios {
	struct samples pingpong, emulated;
} ratios[ARRAY_SIZE(sizes)], alone[ARRAY_SIZE(sizes)];

/* received: NULL: messages alone */
static void native_latency(struct samples *read, struct samples *received, u32 size, int n)
{
	double ns = bench_ns_per_tick();
	u64 t0, t;
	int i;

	for (i = -50; i < n; i++) {
		t0 = bench_ticks();
		t = transfer(&plain[0], i & 1, size);
		if (i >= 0)
			rows_sample(read, t * ns);
		if (!received)
			flush(&plain[0]);
		else if (i >= 0)
			rows_sample(received, (bench_ticks() - t0) * ns);
	}
	flush(&plain[0]);
}

static void emulated_latency(struct samples *s, bool pull, bool alone, u32 size, int n)
{
	double ns = bench_ns_per_tick();
	u64 t0, now;
	int i;

	t0 = bench_ticks();
	for (i = -50; i < n; i++) {
		/* what is pulled is sent from where it is, what is pushed from anywhere */
		if (pull)
			memcpy(end[i & 1].seg + END_DATA, source, size);
		end_send(&end[i & 1], size);
		end_receive(&end[!(i & 1)], size);
		look(end[!(i & 1)].in, size);
		now = bench_ticks();
		if (i >= 0)
			rows_sample(s, (now - t0) * ns);
		if (alone)
			ends_flush();
		t0 = bench_ticks();
	}
	ends_flush();
}

static double pingpong(void)
{
	double pp[LIMITS];
	int i;

	for (i = 0; i < LIMITS; i++)
		pp[i] = bench_pingpong(&bench);
	return rows_limit(bench_median(pp, LIMITS));
}

static double copies(void)
{
	double s[LIMITS];
	int i;

	for (i = 0; i < LIMITS; i++)
		s[i] = bench_memcpy();
	return bench_median(s, LIMITS);
}

static void add_ratios(struct latency_ratios *r, double pp, const struct samples *native,
		       const struct samples *push, const struct samples *pull, int n)
{
	double v = rows_last_median(native, n);

	rows_sample(&r->pingpong, v / pp);
	rows_sample(&r->emulated,
		    v / fmin(rows_last_median(push, n), rows_last_median(pull, n)));
}

static void latency_round(void)
{
	int n = bench_quick ? LATENCIES / 4 : LATENCIES, pull;
	struct samples *way;
	double pp;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		way = one_way[i];
		pp = pingpong();
		set_source(sizes[i]);
		native_latency(&way[NATIVE], &way[NATIVE_RECEIVED], sizes[i], n);
		native_latency(&way[NATIVE_ALONE], NULL, sizes[i], n);
		for (pull = 0; pull < 2; pull++) {
			ends_set(sizes[i], pull);
			emulated_latency(&way[PUSH + pull], pull, false, sizes[i], n);
			emulated_latency(&way[PUSH_ALONE + pull], pull, true, sizes[i], n);
		}
		add_ratios(&ratios[i], pp, &way[NATIVE], &way[PUSH], &way[PULL], n);
		add_ratios(&alone[i], pp, &way[NATIVE_ALONE], &way[PUSH_ALONE], &way[PULL_ALONE], n);
	}
}

static double asked_of_emulated(u32 size)
{
	switch (size) {
	case 64: return 1.05;
	case 1024: return 0.7;
	case 4096: return 0;
	}
	return size < 64 ? 0.95 : 0.9;
}

static void latency_results(void)
{
	u32 i, w;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (w = 0; w < WAYS; w++) {
			const char *path = bench_path(&bench.w, sizes[i]);

			if (w == PUSH || w == PUSH_ALONE)
				path = ends_path(&bench.w, sizes[i], false);
			rows_latency(sizes[i], way_names[w], path, &one_way[i][w]);
		}
	}
}

static void ratio_rows(const char *what, u32 size, struct latency_ratios *r)
{
	char name[64];

	snprintf(name, sizeof(name), "%s, %u B", what, size);
	rows_ratio(name, "ping-pong", &r->pingpong, size <= 48 ? 1.8 : 0, true);
	rows_ratio(name, "best of push, pull", &r->emulated, asked_of_emulated(size), true);
}

static void latency_rows(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ratio_rows("one way", sizes[i], &ratios[i]);
		ratio_rows("one way, alone", sizes[i], &alone[i]);
	}
}

/* ---- rates ---- */

static struct samples rate[5];
static struct samples to_reads, calls_to_reads, to_memcpy;

enum { READS, MESSAGES, CALLS, STREAMED, MEMCPY };

/* Operations per ns: what a tenth of the windows reach, those that were not preempted */
static double windows(void (*some)(u32 n), u32 n)
{
	int windows = bench_quick ? WINDOWS / 4 : WINDOWS, i;
	double s[WINDOWS];
	u64 t0;

	for (i = -20; i < windows; i++) {
		t0 = bench_now();
		some(n);
		if (i >= 0)
			s[i] = (double)n / (bench_now() - t0);
	}
	bench_median(s, windows);		/* sorts */
	return s[windows - 1 - windows / 10];
}

static void landed(int slot, void *arg)
{
	struct bench_app *app = arg;

	(void)*(volatile u64 *)(app->lbuf + slot * (u64)app->stride);
}

static void some_reads(u32 n)
{
	struct bench_app *app = &bench.app;

	while (n--) {
		while (rmc_qp_in_flight(&app->qp) >= IN_FLIGHT)
			rmc_poll_cq(&app->qp, landed);
		bench_post(app, RMC_OP_READ, 64, 4096);
	}
}

/* Messages that were sent, and not received yet; they are all of one size. */
static u32 under_way;

static void keep(u32 n, u32 size, u32 in_flight)
{
	struct domain *d = &plain[0];
	struct rmc_arrival m;
	u32 core;
	int err;

	while (n) {
		while (under_way < in_flight) {
			err = rmc_send(d->core[0][0], 1, source, size, RMC_SEND_DONTWAIT);
			if (err == -EAGAIN)
				break;
			check("send", err);
			under_way++;
		}
		while (n && take(d, 1, &m, &core)) {
			check("receive", rmc_receive(d->core[1][core], &m));
			under_way--;
			n--;
		}
	}
}

static void some_messages(u32 n)
{
	keep(n, 64, IN_FLIGHT);
}

static void some_pages(u32 n)
{
	keep(n, 4096, STREAM);
}

static struct rmc_call asked[IN_FLIGHT];
static u32 first_call, calls_open;

static void ask(void)
{
	int err;

	while (calls_open < IN_FLIGHT) {
		err = rmc_call_send(calls.core[0][0], 1, source, 64, RMC_SEND_DONTWAIT,
				    &asked[(first_call + calls_open) % IN_FLIGHT]);
		if (err == -EAGAIN)
			return;
		check("call", err);
		calls_open++;
	}
}

static void some_calls(u32 n)
{
	struct rmc_arrival m;
	const void *answer;
	size_t len;
	u32 core;
	int err;

	while (n) {
		ask();
		while (take(&calls, 1, &m, &core))
			check("reply", rmc_respond(calls.core[1][core], &m, source, 64));
		while (n && calls_open) {
			err = rmc_call_poll(calls.core[0][0], &asked[first_call], &answer, &len);
			if (err == -EAGAIN)
				break;
			check("answer", err);
			look(answer, len);
			rmc_call_end(calls.core[0][0], &asked[first_call]);
			first_call = (first_call + 1) % IN_FLIGHT;
			calls_open--;
			n--;
		}
	}
}

/* What is under way is received, before other sizes */
static void drain(struct domain *d)
{
	struct rmc_arrival m;
	u32 core;

	while (under_way) {
		if (!take(d, 1, &m, &core))
			continue;
		check("receive", rmc_receive(d->core[1][core], &m));
		under_way--;
	}
	flush(d);
}

static void rate_round(void)
{
	double reads, messages, answered, streamed, copied;

	pingpong();
	set_source(64);
	bench.app.stride = 64;
	reads = windows(some_reads, 600);
	bench_check(rmc_drain_cq(&bench.app.qp, landed));
	messages = windows(some_messages, 150);
	drain(&plain[0]);
	answered = windows(some_calls, 150);
	set_source(4096);
	copied = copies();
	streamed = windows(some_pages, 80) * 4096;
	drain(&plain[0]);
	rows_sample(&rate[READS], reads * 1e3);
	rows_sample(&rate[MESSAGES], messages * 1e3);
	rows_sample(&rate[CALLS], answered * 1e3);
	rows_sample(&rate[STREAMED], streamed);
	rows_sample(&rate[MEMCPY], copied);
	rows_sample(&to_reads, messages / reads);
	rows_sample(&calls_to_reads, answered / reads);
	rows_sample(&to_memcpy, streamed / copied);
}

static void rate_rows(void)
{
	const char *path = bench_path(&bench.w, 4096);

	rows_value("64 B reads, 32 in flight", "M/s", path, &rate[READS], 0, false);
	rows_value("SEND + RECEIVE of 64 B, 32 in flight", "M/s", path, &rate[MESSAGES], 5, false);
	rows_ratio("SEND + RECEIVE of 64 B, 32 in flight", "64 B reads", &to_reads, 0.4, false);
	rows_value("SEND + REPLY of 64 B, 32 in flight", "M/s", path, &rate[CALLS], 0, false);
	rows_ratio("SEND + REPLY of 64 B, 32 in flight", "64 B reads", &calls_to_reads, 0.5, false);
	rows_value("memcpy of 8 KiB", "GB/s", NULL, &rate[MEMCPY], 0, false);
	rows_value("messages of 4 KiB, 8 in flight", "GB/s", path, &rate[STREAMED], 0, false);
	rows_ratio("messages of 4 KiB, 8 in flight", "memcpy", &to_memcpy, 0.8, false);
}

/* ---- time of the worker ---- */

/*
 * The worker's busy clock: of visits that found work. While the gate is closed it does nothing, so
 * that what is posted meanwhile is found at once. Written by the worker: idle, busy.
 */
static struct clock {
	struct rmc_ni_worker *ni;
	u32 open, stop;
	u32 idle __attribute__((aligned(64)));
	u64 busy;
} gate;

static void gated(void *arg)
{
	struct rmc_ni_worker *ni = gate.ni;
	u64 n = 0, t0;

	while (!__atomic_load_n(&gate.stop, __ATOMIC_ACQUIRE)) {
		if (!__atomic_load_n(&gate.open, __ATOMIC_ACQUIRE)) {
			__atomic_store_n(&gate.idle, 1, __ATOMIC_RELEASE);
			continue;
		}
		t0 = bench_ticks();
		if (rmc_ni_visit(ni))
			gate.busy += bench_ticks() - t0;
		if (!(++n & 1023) && rmc_os_now_ns() - ni->tick_ns > RMC_TICK_NS)
			rmc_ni_tick(ni, rmc_os_now_ns());
	}
}

static void gate_close(void)
{
	__atomic_store_n(&gate.idle, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&gate.open, 0, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&gate.idle, __ATOMIC_ACQUIRE))
		rmc_pause();
}

static void gate_open(void)
{
	gate.busy = 0;		/* the worker is idle */
	__atomic_store_n(&gate.open, 1, __ATOMIC_RELEASE);
}

/* The worker runs gated() from now on, with the gate closed. As testbed_call(), which would wait */
static void gate_begin(struct testbed *w)
{
	gate.ni = &w->worker->ni;
	gate.stop = 0;
	gate.open = 0;
	gate.idle = 0;
	__atomic_store_n(&w->worker->call, gated, __ATOMIC_RELEASE);
	gate_close();
}

static void gate_end(struct testbed *w)
{
	__atomic_store_n(&gate.stop, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&w->worker->call, __ATOMIC_ACQUIRE))
		rmc_pause();
}

/*
 * Ticks of the worker for @n writes of 64 B. As messages: the data is new, the places are as far
 * apart as receive slots, and what was written is read there, so the same lines change their CPU.
 */
static u64 gated_writes(u32 n)
{
	struct bench_app *app = &bench.app;
	u64 to[IN_FLIGHT];
	static u32 at;
	u32 i;
	int slot;

	for (i = 0; i < n; i++, at++) {
		slot = rmc_wait_for_slot(&app->qp, NULL);
		to[i] = WRITTEN + at % SLOTS * (END_LARGEST + RMC_LINE);
		memcpy(app->lbuf + slot * RMC_LINE, source, 64);
		rmc_write_async(&app->qp, slot, app->target, to[i], app->lbuf + slot * RMC_LINE, 64);
	}
	gate_open();
	bench_check(rmc_drain_cq(&app->qp, NULL));
	gate_close();
	for (i = 0; i < n; i++)
		look(bench_segment + to[i], 64);
	return gate.busy;
}

/* The same for @n messages, until cores have them, and until they were received */
static void gated_messages(struct domain *d, u32 n, u64 *sent, u64 *received)
{
	struct rmc_arrival m[IN_FLIGHT];
	u32 core[IN_FLIGHT], i;

	for (i = 0; i < n; i++)
		check("send", rmc_send(d->core[0][0], 1, source, 64, RMC_SEND_DONTWAIT));
	gate_open();
	for (i = 0; i < n; i += take(d, 1, &m[i], &core[i]))
		;
	flush(d);
	gate_close();
	*sent = gate.busy;
	for (i = 0; i < n; i++)
		check("receive", rmc_receive(d->core[1][core[i]], &m[i]));
	gate_open();
	flush(d);
	gate_close();
	*received = gate.busy;
}

/* ns per operation of the worker, @n at once: medians */
static void worker_times(struct domain *d, u32 n, double *writes, double *sent, double *received)
{
	int batches = bench_quick ? BATCHES / 4 : BATCHES, i;
	double v[3][BATCHES], ns = bench_ns_per_tick() / n;
	u64 s, r;

	for (i = -10; i < batches; i++) {
		u64 w = gated_writes(n);

		gated_messages(d, n, &s, &r);
		if (i < 0)
			continue;
		v[0][i] = w * ns;
		v[1][i] = s * ns;
		v[2][i] = r * ns;
	}
	*writes = bench_median(v[0], batches);
	*sent = bench_median(v[1], batches);
	*received = bench_median(v[2], batches);
}

static const u32 at_once[] = { 1, IN_FLIGHT };

static struct worker_rows {
	struct samples write[2], over[2], sent[2], received[2];	/* local path, packets */
} worker[ARRAY_SIZE(policies)][ARRAY_SIZE(at_once)];

static void worker_round(void)
{
	double w, s, r;
	u32 i, k, p;

	pingpong();
	set_source(64);
	bench.app.stride = 64;
	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		for (p = 0; p < 2; p++) {
			bench_packets(&bench.w, p);
			gate_begin(&bench.w);
			for (k = 0; k < ARRAY_SIZE(at_once); k++) {
				struct worker_rows *to = &worker[i][k];

				worker_times(&plain[i], at_once[k], &w, &s, &r);
				rows_sample(&to->write[p], w);
				rows_sample(&to->over[p], s - w);
				rows_sample(&to->sent[p], s);
				rows_sample(&to->received[p], r);
			}
			gate_end(&bench.w);
		}
	}
	bench_packets(&bench.w, packets);
}

static void worker_rows(void)
{
	char name[96];
	u32 i, k, p;
	int n;

	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		for (k = 0; k < ARRAY_SIZE(at_once); k++) {
			struct worker_rows *of = &worker[i][k];

			n = snprintf(name, sizeof(name), "worker, %s, 64 B, %u at once: ",
				     policies[i].name, at_once[k]);
#define ROW(what, path, s, asked) do {						\
	snprintf(name + n, sizeof(name) - n, what);				\
	rows_value(name, "ns", path, s, asked, true);				\
} while (0)
			for (p = 0; p < 2; p++) {
				const char *path = p ? "packets" : "local";

				ROW("write", path, &of->write[p], 0);
				ROW("SEND", path, &of->sent[p], 0);
				ROW("RECEIVE", path, &of->received[p], 0);
				ROW("SEND over a write", path, &of->over[p], policies[i].asked);
			}
#undef ROW
		}
	}
}

/* ---- many attached cores, of which one gets the messages ---- */

/*
 * Testbeds of their own: cores that are attached are queue pairs of the worker, too. Greedy gives the
 * first core what is sent while none has anything, and only that one is polled.
 */
static const int worker_cpu[] = { 1 };		/* as bench_start() */

static struct many {
	struct testbed w;
	struct domain d;
	u32 cores;
} few = { .cores = CORES }, many = { .cores = MANY };

static struct samples many_ns[2], many_worker[2], many_ratio, many_worker_ratio;

static void many_open(struct many *m)
{
	struct testbed_opts o = { .nodes = 2, .ni = "fused", .mtu = 4096, .itt = 1024 };

	testbed_init(&m->w, &o);
	bench_packets(&m->w, packets);
	testbed_start(&m->w, worker_cpu, false);
	open_domain(&m->d, &m->w, 1, RMC_DOM_GREEDY, m->cores, 0);
	m->d.polled = 1;
	testbed_stop(&m->w);
}

static double many_latency(struct many *m, double *worker_ns)
{
	int n = bench_quick ? LATENCIES / 4 : LATENCIES, i;
	double s[LATENCIES], ns = bench_ns_per_tick(), v[BATCHES];
	u64 sent, received;

	testbed_start(&m->w, worker_cpu, false);
	for (i = -200; i < n; i++) {
		u64 t = transfer(&m->d, 0, 8);

		/* or the next one might go to another core */
		check("flush", rmc_core_flush(m->d.core[1][0]));
		if (i >= 0)
			s[i] = t * ns;
	}
	flush(&m->d);
	gate_begin(&m->w);
	for (i = 0; i < BATCHES; i++) {
		gated_messages(&m->d, 1, &sent, &received);
		v[i] = (sent + received) * ns;
	}
	gate_end(&m->w);
	testbed_stop(&m->w);
	*worker_ns = bench_median(v, BATCHES);
	return bench_median(s, n);
}

static void many_round(void)
{
	double ns[2], worker_ns[2];

	pingpong();
	set_source(8);
	source[63] = 64;		/* gated_messages() */
	testbed_stop(&bench.w);
	ns[0] = many_latency(&few, &worker_ns[0]);
	ns[1] = many_latency(&many, &worker_ns[1]);
	bench_start(&bench, false);
	rows_sample(&many_ns[0], ns[0]);
	rows_sample(&many_ns[1], ns[1]);
	rows_sample(&many_worker[0], worker_ns[0]);
	rows_sample(&many_worker[1], worker_ns[1]);
	rows_sample(&many_ratio, ns[1] / ns[0]);
	rows_sample(&many_worker_ratio, worker_ns[1] / worker_ns[0]);
}

static void many_rows(void)
{
	const char *path = bench_path(&many.w, 64);

	rows_value("one way, 8 B, 2 cores attached", "ns", path, &many_ns[0], 0, true);
	rows_value("one way, 8 B, 64 cores attached", "ns", path, &many_ns[1], 0, true);
	rows_ratio("one way, 8 B, 64 cores attached", "2 cores", &many_ratio, 1.03, true);
	rows_value("worker, SEND + RECEIVE, 2 cores attached", "ns", path, &many_worker[0], 0, true);
	rows_value("worker, SEND + RECEIVE, 64 cores attached", "ns", path, &many_worker[1], 0,
		   true);
	rows_ratio("worker, SEND + RECEIVE, 64 cores attached", "2 cores", &many_worker_ratio, 1.03,
		   true);
}

#include "native_dispatch.h"

static const struct {
	const char *name;
	void (*round)(void), (*rows)(void);
} parts[] = {
	{ "latency", latency_round, latency_rows },
	{ "rate", rate_round, rate_rows },
	{ "worker", worker_round, worker_rows },
	{ "cores", many_round, many_rows },
	{ "dispatch", alone_round, alone_rows },
};

static bool chosen[ARRAY_SIZE(parts)];

static int usage(FILE *f)
{
	fprintf(f,
		"usage: native_bench [--quick] [--json] [--check] [--path local|packets] [PART ...]\n"
		"parts: latency rate worker cores dispatch; all of them by default\n"
		"--check: exit status 1 if a row misses what is asked\n");
	return f == stdout ? 0 : 2;
}

static bool choose(int n, char **names)
{
	u32 i;
	int k;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		chosen[i] = !n;
	for (k = 0; k < n; k++) {
		for (i = 0; i < ARRAY_SIZE(parts) && strcmp(names[k], parts[i].name); i++)
			;
		if (i == ARRAY_SIZE(parts))
			return false;
		chosen[i] = true;
	}
	return true;
}

static void open_all(void)
{
	u8 *first;
	u32 i;

	/* a testbed opens its channels while it is the last one */
	many_open(&few);
	many_open(&many);
	alone_open();
	bench_init(&bench, 2, "fused", 4096);
	first = ends_init(&bench);
	bench_packets(&bench.w, packets);
	bench_start(&bench, false);
	bench_finer = 10;
	ends_open(first);
	bench_one(&bench.app, RMC_OP_READ, 64, 64);
	for (i = 0; i < ARRAY_SIZE(policies); i++)
		open_domain(&plain[i], &bench.w, 1 + i, policies[i].policy, CORES, 0);
	open_domain(&calls, &bench.w, 1 + i, RMC_DOM_GREEDY, CORES, 64);
}

int main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "json", no_argument, NULL, 'j' },
		{ "check", no_argument, NULL, 'c' },
		{ "path", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	bool json = false, asks = false;
	int c, k, missed;
	u32 i;

	while ((c = getopt_long(argc, argv, "qjcp:h", longopts, NULL)) != -1) {
		if (c == 'q')
			bench_quick = true;
		else if (c == 'j')
			json = true;
		else if (c == 'c')
			asks = true;
		else if (c != 'p' || !bench_is_path(optarg, &packets))
			return usage(c == 'h' ? stdout : stderr);
	}
	if (!choose(argc - optind, argv + optind))
		return usage(stderr);
	if (bench_setup(END_SEGMENT) < 2)
		return 4;
	open_all();
	for (k = 0; k < ROUNDS; k++) {
		for (i = 0; i < ARRAY_SIZE(parts); i++)
			if (chosen[i] && (!bench_quick || k % 3 == 0))
				parts[i].round();
	}
	rows_begin(json, packets ? "packets" : "local");
	if (chosen[0])
		latency_results();
	rows_next();
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		if (chosen[i])
			parts[i].rows();
	missed = rows_end();
	testbed_stop(&bench.w);
	return asks && missed ? 1 : 0;
}
