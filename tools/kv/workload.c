/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-kv bench: YCSB's core workloads A (half reads, half updates), B (95% reads) and C
 * (reads). Members load a part of the keys each; then the first --clients of them run,
 * and all serve. A reduction adds up their results.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "hist.h"
#include "json.h"
#include "kv.h"
#include "opt.h"
#include "path.h"
#include "zipf.h"

#define CHUNK		4096		/* of the reduction */
#define KEY_SIZE	32
#define SERVE_EVERY	8		/* operations; those on own keys do not serve others */

enum { GETS, PUTS, MISSES, TORN, FAILED, BUCKETS, STALE, TRIES, RETRIED, LOCKED, FELL_BACK, BYTES,
       SERVED, COUNTS };

static const char * const count_name[COUNTS] = {
	"gets", "puts", "misses", "torn_values", "failed", "bucket_reads", "stale_entries",
	"object_reads", "torn_reads", "locked_reads", "fell_back", "bytes", "served",
};

struct measured {
	struct hist get, put;
	uint64_t count[COUNTS];
	double ops_per_s;
};

size_t workload_bytes(int nodes)
{
	return rmc_coll_bytes(nodes, CHUNK);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void check(const char *what, int err)
{
	if (err)
		die(EXIT_FAILED, "%s: %s", what, rmc_strerror(err));
}

void value_make(void *value, size_t len, uint64_t state)
{
	uint8_t *p = (uint8_t *)value;
	uint64_t i, w;

	for (i = 0; len; i++) {
		size_t n = len < sizeof(w) ? len : sizeof(w);

		w = state + i;
		memcpy(p, &w, n);
		p += n;
		len -= n;
	}
}

int value_torn(const void *value, size_t len)
{
	const uint8_t *p = (const uint8_t *)value;
	uint64_t first, i, w, differ = 0;

	if (len < sizeof(first))
		return 0;
	memcpy(&first, p, sizeof(first));
	for (i = 0; i < len / sizeof(w); i++) {
		memcpy(&w, p + i * sizeof(w), sizeof(w));
		differ |= w ^ (first + i);
	}
	return differ != 0;
}

size_t key_make(char *key, size_t size, uint64_t n)
{
	return (size_t)snprintf(key, size, "user%020llu", (unsigned long long)n);
}

static void load(struct kv_run *r, void *value)
{
	uint64_t i;
	char key[KEY_SIZE];
	size_t len;

	for (i = (uint64_t)r->team->self; i < r->keys; i += (uint64_t)r->team->nodes) {
		len = key_make(key, sizeof(key), i);
		value_make(value, r->value, i << 32);
		check("load", rmc_kv_put(r->kv, key, len, value, r->value));
		if (!r->quiet && !r->team->self && !(i & 0xffff) && i)
			fprintf(stderr, "loaded %llu of %llu keys\n", (unsigned long long)i,
				(unsigned long long)r->keys);
	}
}

static int reads_percent(const char *mix)
{
	return !strcasecmp(mix, "A") ? 50 : !strcasecmp(mix, "B") ? 95 : 100;
}

static void get_one(struct kv_run *r, const char *key, size_t len, struct measured *m)
{
	uint64_t t0 = now_ns();
	const void *value;
	size_t n;
	int err;

	err = rmc_kv_get(r->kv, key, len, &value, &n);
	hist_add(&m->get, now_ns() - t0);
	m->count[GETS]++;
	if (err == -ENOENT)
		m->count[MISSES]++;
	else if (err >= RMC_SCHEME_TORN || rmc_sabre_again(err) || err == -EAGAIN)
		m->count[FAILED]++;
	else
		check("get", err);
	m->count[TORN] += !err && value_torn(value, n);
}

static void put_one(struct kv_run *r, const char *key, size_t len, void *value, uint64_t state,
		    struct measured *m)
{
	uint64_t t0;
	int err;

	value_make(value, r->value, state);
	t0 = now_ns();
	err = rmc_kv_put(r->kv, key, len, value, r->value);
	hist_add(&m->put, now_ns() - t0);
	m->count[PUTS]++;
	if (err == RMC_SCHEME_LOCKED)
		m->count[FAILED]++;
	else
		check("put", err);
}

static void run(struct kv_run *r, void *value, struct measured *m)
{
	uint64_t seed = ((uint64_t)r->seed + 1) * 0x9e3779b97f4a7c15ULL + (uint64_t)r->team->self;
	uint64_t start = now_ns(), now = start, reported = start, n, key_number;
	uint64_t end = r->operations ? ~0ULL : start + (uint64_t)r->seconds * 1000000000;
	int reads = reads_percent(r->mix), uniform = !strcmp(r->distribution, "uniform");
	char key[KEY_SIZE];
	struct zipf z;
	size_t len;

	zipf_init(&z, r->keys, r->theta_percent / 100.0);
	for (n = 0; r->operations ? n < r->operations : now < end; n++) {
		key_number = uniform ? random_next(&seed) % r->keys : zipf_scrambled(&z, &seed);
		len = key_make(key, sizeof(key), key_number);
		if (reads == 100 || (int)(random_next(&seed) % 100) < reads)
			get_one(r, key, len, m);
		else
			put_one(r, key, len, value, key_number << 32 | n << 16, m);
		if (!(n % SERVE_EVERY)) {
			if (rmc_kv_progress(r->kv) < 0)
				die(EXIT_FAILED, "the queue pair is dead");
			now = now_ns();
		}
		if (!r->quiet && !r->team->self && now - reported > 1000000000) {
			reported = now;
			fprintf(stderr, "%llu s: %.0f operations per second\n",
				(unsigned long long)((now - start) / 1000000000),
				(double)n * 1e9 / (double)(now - start));
		}
	}
	m->ops_per_s = (double)n * 1e9 / (double)(now_ns() - start);
}

static void count_store(struct kv_run *r, struct measured *m, const struct rmc_kv_stats *before)
{
	struct rmc_kv_stats s;

	rmc_kv_stats(r->kv, &s);
	m->count[BUCKETS] = s.buckets - before->buckets;
	m->count[STALE] = s.stale - before->stale;
	m->count[TRIES] = s.reads.tries - before->reads.tries;
	m->count[RETRIED] = s.reads.torn - before->reads.torn;
	m->count[LOCKED] = s.reads.locked - before->reads.locked;
	m->count[FELL_BACK] = s.reads.fell_back - before->reads.fell_back;
	m->count[BYTES] = s.reads.bytes - before->reads.bytes;
	m->count[SERVED] = s.served - before->served;
}

static void add_up(struct kv_run *r, struct measured *m)
{
	struct measured *sum = (struct measured *)calloc(1, sizeof(*sum));

	if (!sum)
		die(EXIT_FAILED, "out of memory");
	check("adding up", rmc_coll_reduce(r->coll, 0, m->get.count, sum->get.count, HIST_BUCKETS,
					   RMC_U64, RMC_SUM));
	check("adding up", rmc_coll_reduce(r->coll, 0, m->put.count, sum->put.count, HIST_BUCKETS,
					   RMC_U64, RMC_SUM));
	check("adding up", rmc_coll_reduce(r->coll, 0, m->count, sum->count, COUNTS,
					   RMC_U64, RMC_SUM));
	check("adding up", rmc_coll_reduce(r->coll, 0, &m->ops_per_s, &sum->ops_per_s, 1,
					   RMC_DOUBLE, RMC_SUM));
	*m = *sum;
	free(sum);
}

/* Of reads of objects, the longest of its operations; those of buckets and messages are short */
static const char *path(const struct kv_run *r)
{
	return path_of_team(r->team, rmc_scheme_bytes(r->scheme, r->value));
}

static void report_json(const struct kv_run *r, const struct measured *m)
{
	struct json j;
	int i;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "scheme", r->scheme->name);
	json_bool(&j, "atomic", !!(r->scheme->flags & RMC_SCHEME_ATOMIC));
	json_string(&j, "mix", r->mix);
	json_string(&j, "distribution", r->distribution);
	json_double(&j, "theta", r->theta_percent / 100.0);
	json_string(&j, "path", path(r));
	json_int(&j, "nodes", r->team->nodes);
	json_int(&j, "clients", r->clients);
	json_uint(&j, "keys", r->keys);
	json_uint(&j, "value_bytes", r->value);
	json_double(&j, "operations_per_s", m->ops_per_s);
	for (i = 0; i < COUNTS; i++)
		json_uint(&j, count_name[i], m->count[i]);
	hist_json(&j, "get", &m->get);
	hist_json(&j, "put", &m->put);
	json_end_object(&j);
}

static void report_text(const struct kv_run *r, const struct measured *m)
{
	size_t i;

	printf("scheme       %s (%s)\n", r->scheme->name, r->scheme->title);
	printf("workload     %s, %s", r->mix, r->distribution);
	if (strcmp(r->distribution, "uniform"))
		printf(" %.2f", r->theta_percent / 100.0);
	printf(", %llu keys of %llu bytes, %d clients of %d nodes\n", (unsigned long long)r->keys,
	       (unsigned long long)r->value, r->clients, r->team->nodes);
	printf("path         %s\n", path(r));
	printf("throughput   %.0f operations per second\n\n", m->ops_per_s);
	hist_text_head();
	hist_text("get", &m->get);
	hist_text("put", &m->put);
	printf("\n");
	for (i = MISSES; i < COUNTS; i++)
		printf("%-14s %llu\n", count_name[i], (unsigned long long)m->count[i]);
	if (m->count[TORN])
		printf("\n%llu of %llu values that were read were torn%s\n",
		       (unsigned long long)m->count[TORN], (unsigned long long)m->count[GETS],
		       r->scheme->flags & RMC_SCHEME_ATOMIC ? ": that is a bug" :
		       ": nothing checks them in this scheme");
}

int workload(struct kv_run *r)
{
	struct measured *m = (struct measured *)calloc(1, sizeof(*m));
	void *value = malloc(r->value + 8);
	struct rmc_kv_stats before;
	int torn;

	if (!m || !value)
		die(EXIT_FAILED, "out of memory");
	load(r, value);
	check("barrier", rmc_kv_barrier(r->kv));
	rmc_kv_stats(r->kv, &before);
	if (r->team->self < r->clients)
		run(r, value, m);
	check("barrier", rmc_kv_barrier(r->kv));
	count_store(r, m, &before);
	add_up(r, m);
	if (!r->team->self)
		r->json ? report_json(r, m) : report_text(r, m);
	torn = !r->team->self && m->count[TORN] && r->scheme->flags & RMC_SCHEME_ATOMIC;
	free(value);
	free(m);
	return torn ? EXIT_FAILED : EXIT_OK;
}
