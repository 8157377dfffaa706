// SPDX-License-Identifier: GPL-2.0
/*
 * Objects over several nodes: their owner, the first node, stamps them. All other nodes read
 * them with SABRes and check every word, then with plain reads until one is torn: this shows
 * that the check finds torn objects.
 *
 *	xobjects NODES		started with rmc-run
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <rmc/rmc.h>

#define OBJECTS		16
#define OBJECT		4096UL
#define WORDS		(OBJECT / 8 - 2)
#define SEG		(OBJECTS * OBJECT + 4096)
#define DONE		(OBJECTS * OBJECT)	/* a word per node */
#define SABRES		2000
#define SECONDS		45.0

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int fail(const char *what, int err)
{
	printf("%s: %s (%s)\n", what, err ? rmc_strerror(err) : "", rmc_errmsg());
	return 1;
}

static void *memory(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(fail("mmap", 0));
	return p;
}

/* Stamp one object after the other until all readers have finished. */
static int own(struct rmc_ctx *ctx, int nodes)
{
	struct rmc_object_layout layout = { .mode = RMC_SABRE_DEFAULT };
	uint8_t *seg = (uint8_t *)memory(SEG);
	uint64_t *done = (uint64_t *)(seg + DONE), v;
	double end = now() + SECONDS;
	int i = 0, left, err;
	size_t k;

	err = rmc_seg_register_objects(ctx, seg, SEG, 0, &layout);
	if (err)
		return fail("segment", err);
	do {
		struct rmc_object *o = (struct rmc_object *)(seg + i++ % OBJECTS * OBJECT);
		uint64_t *w = (uint64_t *)(o + 1);

		rmc_object_write_begin(o);
		v = w[0] + 1;
		for (k = 0; k < WORDS; k++) {
			__atomic_store_n(&w[k], v, __ATOMIC_RELAXED);
			/* the RMC may share this CPU: sometimes let it run during a write */
			if (k == WORDS / 2 && !(i % 4))
				usleep(1);
		}
		rmc_object_write_end(o);
		if (!(i % 16))
			usleep(50);
		for (left = 0, k = 1; k < (size_t)nodes; k++)
			left += !__atomic_load_n(&done[k], __ATOMIC_ACQUIRE);
	} while (left && now() < end);
	if (left)
		return fail("readers do not end", 0);
	printf("objects ok: %d writes\n", i);
	return 0;
}

static int torn(const uint8_t *copy)
{
	const uint64_t *w = (const uint64_t *)(copy + sizeof(struct rmc_object));
	size_t k;

	if (((const struct rmc_object *)copy)->version != 2 * w[0])
		return 1;
	for (k = 1; k < WORDS; k++)
		if (w[k] != w[0])
			return 1;
	return 0;
}

static int reader(struct rmc_ctx *ctx)
{
	uint8_t *buf = (uint8_t *)memory(2 * OBJECT);
	struct rmc_qp *qp = rmc_qp_create(ctx, 8);
	struct rmc_sabre_policy p;
	double end = now() + SECONDS - 5;
	int i, whole = 0, bad = 0, err, plain;

	if (!qp)
		return fail("queue pair", 0);
	err = rmc_buf_register(ctx, buf, 2 * OBJECT);
	if (err < 0)
		return fail("buffer", err);
	rmc_sabre_policy_init(&p);
	p.attempts = 10000;
	for (i = 0; i < SABRES && now() < end; i++) {
		err = rmc_sabre_retry(qp, 0, (uint64_t)(i % OBJECTS) * OBJECT, buf, OBJECT, &p);
		if ((err == RMC_S_BAD_CONTEXT || err == RMC_S_NODE_DOWN) && !whole) {
			/* the owner has not exposed its segment yet */
			usleep(10000);
			i--;
			continue;
		}
		if (err && !rmc_sabre_again(err))
			return fail("SABRe", err);
		whole += !err;
		bad += !err && torn(buf);
	}
	for (plain = 0; now() < end; plain++) {
		err = rmc_read(qp, 0, (uint64_t)(plain % OBJECTS) * OBJECT, buf, OBJECT);
		if (err)
			return fail("read", err);
		if (torn(buf))
			break;
	}
	*(uint64_t *)(buf + OBJECT) = 1;
	err = rmc_write(qp, 0, DONE + 8 * (uint64_t)rmc_nid(ctx), buf + OBJECT, 8);
	if (err)
		return fail("write", err);
	printf("%d objects whole, %d torn, %llu of %llu attempts failed; plain read %d torn\n",
	       whole - bad, bad, (unsigned long long)p.failed, (unsigned long long)p.tried, plain);
	if (!whole || bad || now() >= end)
		return 1;
	printf("objects ok\n");
	return 0;
}

int main(int argc, char **argv)
{
	const char *s = getenv("RMC_CTX");
	struct rmc_ctx *ctx = rmc_open(s ? (unsigned int)atoi(s) : 0, -1);

	if (argc != 2 || !ctx)
		return fail("xobjects NODES", 0);
	return rmc_nid(ctx) ? reader(ctx) : own(ctx, atoi(argv[1]));
}
