/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Figures as perftest prints them, or as JSON. */
#include <stdio.h>
#include <string.h>
#include "bench.h"
#include "path.h"

#define MB	1048576.0	/* as perftest counts */

static const char * const pattern_names[] = {
	[RANDOM] = "random", [SEQUENTIAL] = "sequential", [HOT] = "hot",
};

static const char *op_name(const struct bench *b)
{
	switch (b->op) {
	case RMC_OP_READ: return "read";
	case RMC_OP_WRITE: return "write";
	case RMC_OP_SABRE: return "SABRe";
	case RMC_OP_CAS: return "compare-and-swap";
	case RMC_OP_FAA: return "fetch-and-add";
	default: return "?";
	}
}

static void rule(void)
{
	printf("---------------------------------------------------------------------------------------\n");
}

void report_begin(struct bench *b)
{
	const struct rmc_query *q = rmc_query(b->team->ctx);
	const char *fabric = rmc_fabric_name(q->fabric);
	const char *ni = rmc_ni_name(q->ni);
	int latency = b->test->metric == LATENCY;

	if (b->json) {
		struct json *j = &b->out;

		json_init(j, stdout);
		json_object(j, NULL);
		json_string(j, "test", b->test->name);
		json_string(j, "operation", op_name(b));
		json_int(j, "node", rmc_nid(b->team->ctx));
		json_int(j, "peer", b->target);
		json_bool(j, "double_sided", b->double_sided);
		json_string(j, "fabric", fabric);
		json_string(j, "ni", ni);
		json_int(j, "nodes", q->nodes);
		json_uint(j, "mtu", q->mtu);
		json_bool(j, "shared_cpu", q->shared_cpu != 0);
		json_uint(j, "segment", b->data_len);
		json_string(j, "pattern", pattern_names[b->pattern]);
		if (latency) {
			json_bool(j, "round_trip", 1);
			json_int(j, "pause_usec", b->pause_us);
		} else {
			json_int(j, "outstanding", b->outstanding);
			json_int(j, "qps", b->qps);
		}
		json_array(j, "results");
		return;
	}
	rule();
	printf("                    %s\n", b->test->title);
	printf(" Operation       : %s, node %d -> node %d%s%s\n", op_name(b),
	       rmc_nid(b->team->ctx), b->target,
	       b->target == rmc_nid(b->team->ctx) ? " (itself)" : "",
	       b->double_sided ? ", both sides at once" : "");
	printf(" Fabric          : %s, %u nodes, ni %s, mtu %u B%s\n", fabric, q->nodes, ni, q->mtu,
	       q->shared_cpu ? ", CPUs shared with workers" : "");
	printf(" Remote memory   : %.4g MiB, %s\n", (double)b->data_len / MB,
	       pattern_names[b->pattern]);
	if (latency)
		printf(" Times           : round trip, from issue to completion seen\n");
	else
		printf(" Outstanding     : %d%s\n", b->outstanding,
		       b->qps > 1 ? ", on each of several queue pairs" : "");
	if (b->pause_us)
		printf(" Pause           : %d us before each operation\n", b->pause_us);
	rule();
	if (latency)
		printf(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99%% percentile[usec]   99.9%% percentile[usec]   path\n");
	else
		printf(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]   path\n");
	fflush(stdout);
}

void report_size(struct bench *b, uint64_t size)
{
	b->row_path = path_name(b->team->ctx, b->target, size);
}

/* A filter or the switch of the local path may have changed during the measurement. */
static const char *row_path(struct bench *b, uint64_t size)
{
	const char *path = path_join(b->row_path, path_name(b->team->ctx, b->target, size));

	b->path = path_join(b->path, path);
	return path;
}

void report_latency(struct bench *b, uint64_t size, const struct latency_stats *s)
{
	const char *path = row_path(b, size);
	struct json *j = &b->out;

	if (!b->json) {
		printf(" %-7llu %-14llu %-14.2f %-14.2f %-16.2f %-14.2f %-15.2f %-22.2f %-26.2f %s\n",
		       (unsigned long long)size, (unsigned long long)s->n, s->min, s->max,
		       s->typical, s->avg, s->stdev, s->p99, s->p999, path);
		fflush(stdout);
		return;
	}
	json_object(j, NULL);
	json_uint(j, "bytes", size);
	json_string(j, "path", path);
	json_uint(j, "iterations", s->n);
	json_double(j, "t_min_usec", s->min);
	json_double(j, "t_max_usec", s->max);
	json_double(j, "t_typical_usec", s->typical);
	json_double(j, "t_avg_usec", s->avg);
	json_double(j, "t_stdev_usec", s->stdev);
	json_double(j, "p99_usec", s->p99);
	json_double(j, "p99_9_usec", s->p999);
	json_end_object(j);
}

void report_bandwidth(struct bench *b, uint64_t size, const struct bandwidth_stats *s)
{
	const char *path = row_path(b, size);
	struct json *j = &b->out;

	if (!b->json) {
		printf(" %-10llu %-14llu %-18.2f %-20.2f %-15.6f %s\n", (unsigned long long)size,
		       (unsigned long long)s->n, s->peak / MB, s->avg / MB, s->rate / 1e6, path);
		fflush(stdout);
		return;
	}
	json_object(j, NULL);
	json_uint(j, "bytes", size);
	json_string(j, "path", path);
	json_uint(j, "iterations", s->n);
	json_double(j, "bw_peak_bytes_per_sec", s->peak);
	json_double(j, "bw_typical_bytes_per_sec", s->typical);
	json_double(j, "bw_average_bytes_per_sec", s->avg);
	json_double(j, "msg_rate_per_sec", s->rate);
	json_end_object(j);
}

void report_end(struct bench *b)
{
	if (b->json) {
		json_end_array(&b->out);
		json_string(&b->out, "path", b->path ? b->path : "unknown");
		json_end_object(&b->out);
	} else {
		rule();
	}
	fflush(stdout);
}
