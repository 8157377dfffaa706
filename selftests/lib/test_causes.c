/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Failures name their cause: what rmc_errmsg() returns after a failed call, with a stub of
 * the driver that only fails. Also tests the two hashes of the store.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../lib/kv/state.h"
#include "../tap.h"

static int driver_errno;

int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	(void)request;
	errno = driver_errno;
	return driver_errno ? -1 : 0;
}

static int says(const char *part)
{
	int found = strstr(rmc_errmsg(), part) != NULL;

	if (!found)
		printf("# message: %s\n", rmc_errmsg());
	return found;
}

static struct rmc_ctx ctx = {
	.driver = &rmc_driver_module,
	.query = { .max_segment = 1ULL << 40, .max_buffers = 8, .local_nodes = 1 },
};

static void segments(void)
{
	static _Alignas(64) char memory[256];

	driver_errno = EINVAL;
	CHECK_EQ(rmc_seg_register(&ctx, memory + 8, 64, 0), -EINVAL);
	CHECK(says("not a multiple of 64"));
	CHECK_EQ(rmc_seg_register(&ctx, memory, 0, 0), -EINVAL);
	CHECK(says("1 .. 1099511627776 are possible"));
	CHECK_EQ(rmc_seg_alloc(&ctx, 4096, 0, 77, (void **)&(void *){ NULL }), -EINVAL);
	CHECK(says("NUMA node 77"));
	driver_errno = ENOMEM;
	CHECK_EQ(rmc_seg_register(&ctx, memory, 64, 0), -ENOMEM);
	CHECK(says("RLIMIT_MEMLOCK"));
}

/* A failure to pin a buffer is not reported as a lack of the process's own memory. */
static void readers(void)
{
	static struct rmc_qp_flags flags;
	struct rmc_qp qp = { .ctx = &ctx, .entries = 16, .mask = 15, .flags = &flags };
	struct rmc_reader_options o = { .scheme = rmc_scheme_find("farm"), .max = 64 };

	driver_errno = ENOMEM;
	CHECK(!rmc_reader_open(&qp, &o));
	CHECK_EQ(errno, ENOMEM);
	CHECK(says("RLIMIT_MEMLOCK"));
	driver_errno = ENOSPC;
	CHECK(!rmc_reader_open(&qp, &o));
	CHECK_EQ(errno, ENOSPC);
	CHECK(says("all 8 local buffers"));
}

static void calls(void)
{
	struct rmc_rpc_options o = { .max = 64, .window = 1 };

	rmc_set_errmsg("something else");
	CHECK(!rmc_rpc_open(NULL, &o));		/* no nodes */
	CHECK_EQ(errno, EINVAL);
	CHECK(says("rpc: "));
	o.nodes = 1;
	o.window = 1U << 30;
	CHECK(!rmc_rpc_open(NULL, &o));
	CHECK_EQ(errno, EINVAL);
	CHECK(says("1073741824 calls"));
}

/* By default, the sanitizers' allocator ends the program instead of returning NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void stores(void)
{
	struct rmc_kv kv = { .o = { .objects = 1ULL << 50 }, .shape = { .hash = { .further = 1 } } };

	rmc_set_errmsg("something else");
	CHECK_EQ(rmc_kv_owner_open(&kv), -ENOMEM);
	CHECK(says("no memory for the index of 1125899906842624 objects"));
	rmc_kv_owner_close(&kv);
}

#define MEMBERS	8
#define KEYS	(1U << 16)
#define GROUPS	16

/*
 * The keys of one member spread over all of its buckets, whatever their number: the member
 * is independent of all bits of bucket and tag.
 */
static void hashes(void)
{
	static unsigned int bucket[4 * 7][GROUPS], tag[GROUPS], owned;
	struct rmc_team team = { .nodes = MEMBERS };
	struct rmc_kv kv = { .team = &team, .shape = { .hash = { .buckets = 1ULL << 26 } } };
	uint64_t key, hash, n;
	unsigned int shift, i;

	for (key = 0; key < KEYS; key++) {
		if (rmc_kv_owner(&kv, &key, sizeof(key)))
			continue;
		owned++;
		hash = rmc_hash_key(&key, sizeof(key)).hash;
		n = rmc_hash_home(&kv.shape.hash, hash);
		for (shift = 0; shift + 4 <= 26; shift++)
			bucket[shift][n >> shift & (GROUPS - 1)]++;
		tag[rmc_hash_tag(hash) >> 12]++;
	}
	/* one in eight, within six standard deviations */
	CHECK(owned > KEYS / MEMBERS - 510 && owned < KEYS / MEMBERS + 510);
	for (i = 0; i < GROUPS; i++) {
		/* 512 expected, deviation 22 */
		for (shift = 0; shift + 4 <= 26; shift++)
			CHECK(bucket[shift][i] > 380 && bucket[shift][i] < 644);
		CHECK(tag[i] > 380 && tag[i] < 644);
	}
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "segments", segments },
		{ "readers", readers },
		{ "remote procedure calls", calls },
		{ "stores", stores },
		{ "the owner of a key says nothing about its bucket", hashes },
	};

	ctx.pid = (int)getpid();
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
