// SPDX-License-Identifier: GPL-2.0
/*
 * Corrupts the shared region of a running cluster, from the host.
 *
 *	scribble FILE SECONDS SEED pair A B	memory that only nodes A and B share; forges
 *						no request for context 0
 *	scribble FILE SECONDS SEED tables	all rings, doorbells, and the node table
 *	scribble FILE SECONDS SEED all		any byte may change, the header included
 *	scribble FILE SECONDS SEED state	the region's state word, without pauses
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "kmod/fabric/region.h"
#include "kmod/ni/ni.h"
#include "selftests/harness/scribble.h"

#define STRIKES	20		/* between two pauses: guests need the CPU too */
#define REST_US	1000

static struct rmc_region region;

static void *channel(struct rmc_fabric *f, u32 requester, u32 server)
{
	return rmc_region_channel(&region, f, requester, server);
}

static const struct rmc_fabric_ops ops = { .name = "file", .channel = channel };

/* fabric.c refers to it; nothing calls it here */
void rmc_ni_notify(struct rmc_node *dst, enum rmc_lane lane)
{
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void noise(struct scribble *s)
{
	u64 *words = region.base, value = scribble_random(s), words_all = region.bytes / 8;

	switch (scribble_below(s, 3)) {
	case 0:		/* the header */
		WRITE_ONCE(words[scribble_below(s, sizeof(struct rmc_region_head) / 8)],
			   scribble_below(s, 2) ? value : value % 8);
		return;
	case 1:		/* tables */
		words_all = region.channels / 8;
	}
	WRITE_ONCE(words[scribble_random(s) % words_all], value);
}

/* Alternate between unformatted, and being formatted by a random kernel: most claims fail. */
static unsigned long states(struct scribble *s, double end)
{
	struct rmc_region_head *h = region.base;
	unsigned long strikes;

	for (strikes = 0; strikes % 1024 || now() < end; strikes++)
		WRITE_ONCE(h->state, strikes % 2 ? RMC_REGION_RAW : RMC_REGION_FORMATTING |
			   (u32)scribble_random(s) << RMC_REGION_NONCE_SHIFT);
	WRITE_ONCE(h->state, RMC_REGION_RAW);
	return strikes;
}

int main(int argc, char **argv)
{
	struct rmc_fabric f = { .ops = &ops };
	struct scribble s = { .f = &f, .spare_ctx = -1 };
	unsigned long strikes = 0;
	bool pair, tables, all, state;
	u32 a = 0, b = 0, i;
	struct stat st;
	double end;
	int fd;

	pair = argc == 7 && !strcmp(argv[4], "pair");
	tables = argc == 5 && !strcmp(argv[4], "tables");
	all = argc == 5 && !strcmp(argv[4], "all");
	state = argc == 5 && !strcmp(argv[4], "state");
	if (!pair && !tables && !all && !state) {
		fprintf(stderr, "usage: scribble FILE SECONDS SEED pair A B|tables|all|state\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		perror(argv[1]);
		return 1;
	}
	region.bytes = (u64)st.st_size;
	region.base = mmap(NULL, region.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	s.rng = strtoull(argv[3], NULL, 0) * 2 + 1;
	if (state && region.base != MAP_FAILED) {
		printf("%lu strikes\n", states(&s, now() + atof(argv[2])));
		return 0;
	}
	if (region.base == MAP_FAILED || rmc_region_adopt(&region, &f)) {
		fprintf(stderr, "%s holds no fabric\n", argv[1]);
		return 1;
	}
	if (pair) {
		a = (u32)atoi(argv[5]);
		b = (u32)atoi(argv[6]);
		s.spare_ctx = 0;
	}
	if (a >= f.nodes || b >= f.nodes) {
		fprintf(stderr, "there are nodes 0 to %u\n", f.nodes - 1);
		return 2;
	}
	for (end = now() + atof(argv[2]); now() < end; usleep(REST_US)) {
		for (i = 0; i < STRIKES; i++, strikes++) {
			if (!pair) {
				a = scribble_below(&s, f.nodes);
				b = scribble_below(&s, f.nodes);
			}
			scribble_pair(&s, a, b);
		}
		if (!pair)
			scribble_tables(&s);
		if (all)
			noise(&s);
	}
	printf("%lu strikes\n", strikes);
	return 0;
}
