/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Latencies in buckets 3% wide, which add up over members. */
#ifndef RMC_TOOLS_HIST_H
#define RMC_TOOLS_HIST_H

#include <stdint.h>

#define HIST_BITS	5
#define HIST_BUCKETS	((64 - HIST_BITS + 1) << HIST_BITS)

struct hist {
	uint64_t count[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t ns);
uint64_t hist_total(const struct hist *h);
/* Percentile p (0 .. 1), nanoseconds; 0 when empty */
uint64_t hist_percentile(const struct hist *h, double p);

struct json;

/* Count and percentiles, microseconds: an object, or a line of a table */
void hist_json(struct json *j, const char *name, const struct hist *h);
void hist_text_head(void);
void hist_text(const char *name, const struct hist *h);	/* nothing when empty */

#endif /* RMC_TOOLS_HIST_H */
