/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Contexts and memory of sonuma-vm programs.
 *
 * In sonuma-vm a daemon owns the memory, which exists before a program starts and after
 * it ends. Its programs rely on that: they read from a peer without checking that it
 * runs, and return from main() when they are done. Here the memory belongs to the
 * program. So the first operation on a node waits for its segment to appear, and a
 * program of a run of several nodes stays until the others are done as well. Each sets a
 * flag in a line behind its segment and reads the flags of the others, which are at the
 * same offset if they registered as many pages.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "internal.h"

#define WAIT_SECONDS		10	/* for a peer to appear; SONUMA_WAIT overrides it */
#define INTERVAL_US		1000
#define DONE			0x656e6f64616d6e73ULL	/* in the trailer: "snmadone" */

pthread_mutex_t sonuma_lock = PTHREAD_MUTEX_INITIALIZER;

static struct sonuma_ctx *contexts;	/* the last opened first */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static uint64_t number_from_environment(const char *name, uint64_t absent)
{
	const char *s = getenv(name);
	char *end;
	unsigned long n;

	if (!s || *s < '0' || *s > '9')
		return absent;
	n = strtoul(s, &end, 10);
	return *end ? absent : n;
}

static int report_error(void)
{
	int err = errno;

	fprintf(stderr, "sonuma: %s\n", rmc_errmsg());
	errno = err;
	return -1;
}

/* --- contexts --- */

static struct sonuma_ctx *open_ctx(const char *name)
{
	struct sonuma_ctx *ctx = (struct sonuma_ctx *)calloc(1, sizeof(*ctx));
	unsigned int id;
	char rest;

	if (!ctx)
		return NULL;
	if (!name || sscanf(name, RMC_CTX_DIR "/%u%c", &id, &rest) != 1) {
		id = (unsigned int)number_from_environment("RMC_CTX", 0);
		ctx->by_default = 1;
	}
	ctx->id = id;
	ctx->pid = getpid();
	ctx->rmc = rmc_open(id, -1);
	if (!ctx->rmc) {
		report_error();
		free(ctx);
		return NULL;
	}
	ctx->next = contexts;
	contexts = ctx;
	return ctx;
}

int sonuma_open(const char *name)
{
	struct sonuma_ctx *ctx;

	pthread_mutex_lock(&sonuma_lock);
	ctx = open_ctx(name);
	pthread_mutex_unlock(&sonuma_lock);
	return ctx ? rmc_fd(ctx->rmc) : -1;
}

struct sonuma_ctx *sonuma_find_ctx(int fd)
{
	struct sonuma_ctx *ctx;

	for (ctx = contexts; ctx; ctx = ctx->next)
		if (ctx->pid == getpid() && (!fd || rmc_fd(ctx->rmc) == fd))
			return ctx;
	if (!fd)
		return open_ctx(NULL);
	errno = EBADF;
	return NULL;
}

/* --- memory --- */

static void *pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, len, MADV_DONTFORK);
	return p;
}

int sonuma_reg_lbuff(int fd, uint8_t **buff, uint32_t num_pages)
{
	size_t len = (size_t)num_pages * PAGE_SIZE;
	struct sonuma_ctx *ctx;
	void *fresh = NULL;
	int id = -1;

	pthread_mutex_lock(&sonuma_lock);
	ctx = sonuma_find_ctx(fd);
	if (!ctx)
		goto out;
	if (!*buff) {
		fresh = pages(len);
		if (!fresh)
			goto out;
	}
	id = rmc_buf_register(ctx->rmc, fresh ? fresh : *buff, len);
	if (id < 0) {
		report_error();
		if (fresh)
			munmap(fresh, len);
	} else if (fresh) {
		*buff = (uint8_t *)fresh;
	}
out:
	pthread_mutex_unlock(&sonuma_lock);
	return id < 0 ? -1 : 0;
}

static void stay(void);

int sonuma_reg_ctx(int fd, uint8_t **segment, uint32_t num_pages)
{
	size_t len = (size_t)num_pages * PAGE_SIZE, all = len + PAGE_SIZE;	/* whole pages, for rmcd */
	struct sonuma_ctx *ctx;
	static int registered;
	void *fresh = NULL;
	int err = -1;

	if (!num_pages) {
		errno = EINVAL;
		return -1;
	}
	pthread_mutex_lock(&sonuma_lock);
	ctx = sonuma_find_ctx(fd);
	if (!ctx)
		goto out;
	if (!*segment) {
		fresh = pages(all);
		if (!fresh)
			goto out;
		err = rmc_seg_register(ctx->rmc, fresh, all, 0);
	} else {
		err = rmc_seg_register(ctx->rmc, *segment, len, 0);
	}
	if (err) {
		report_error();
		if (fresh)
			munmap(fresh, all);
		goto out;
	}
	if (fresh) {
		*segment = (uint8_t *)fresh;
		ctx->trailer = (uint64_t *)(*segment + len);
		ctx->trailer_offset = len;
		if (!registered)
			registered = !atexit(stay);
	}
out:
	pthread_mutex_unlock(&sonuma_lock);
	return err ? -1 : 0;
}

/* --- peers --- */

/* One word of a peer's segment: 0, an enum rmc_status, or -errno */
static int read_word(struct sonuma_ctx *ctx, int nid, uint64_t offset)
{
	int err;

	if (!ctx->landing) {
		void *p = pages(PAGE_SIZE);

		if (!p)
			return -ENOMEM;
		err = rmc_buf_register(ctx->rmc, p, PAGE_SIZE);
		if (err < 0) {
			munmap(p, PAGE_SIZE);
			return err;
		}
		ctx->landing = (uint64_t *)p;
	}
	if (!ctx->probe)
		ctx->probe = rmc_qp_create(ctx->rmc, PROBE_ENTRIES);
	if (!ctx->probe)
		return -errno;
	return rmc_read(ctx->probe, nid, offset, ctx->landing, sizeof(*ctx->landing));
}

static int absent(int status)
{
	return status == RMC_S_BAD_CONTEXT || status == RMC_S_NODE_DOWN;
}

/* The caller has sonuma_lock. The last status of read_word() */
static int await(struct sonuma_ctx *ctx, int nid)
{
	uint64_t deadline = now_ms() + 1000 * number_from_environment("SONUMA_WAIT", WAIT_SECONDS);
	int err;

	while (absent(err = read_word(ctx, nid, 0)) && now_ms() < deadline)
		usleep(INTERVAL_US);
	return err;
}

void sonuma_meet(struct sonuma_ctx *ctx, int nid)
{
	if (nid < 0 || nid > RMC_NID_MAX || __atomic_load_n(&ctx->met[nid], __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&sonuma_lock);
	if (!ctx->met[nid])
		await(ctx, nid);
	__atomic_store_n(&ctx->met[nid], 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&sonuma_lock);
}

/* At exit: the others may still read our segment. */
static void stay_in(struct sonuma_ctx *ctx, int nodes, uint64_t deadline)
{
	int first, nid, err;

	first = rmc_nid(ctx->rmc) - (int)number_from_environment("RMC_NODE", 0);
	__atomic_store_n(ctx->trailer, DONE, __ATOMIC_RELEASE);
	for (nid = first; nid < first + nodes; nid++) {
		if (nid == rmc_nid(ctx->rmc))
			continue;
		/* A peer that never appeared is skipped; one that is gone is done. */
		if (!ctx->met[nid] && absent(await(ctx, nid)))
			continue;
		do {
			err = read_word(ctx, nid, ctx->trailer_offset);
			if (err && err != RMC_S_TIMEOUT)
				break;
			if (!err && *ctx->landing == DONE)
				break;
			usleep(INTERVAL_US);
		} while (now_ms() < deadline);
	}
}

static void stay(void)
{
	uint64_t nodes = number_from_environment("RMC_NODES", 1);
	uint64_t linger = number_from_environment("SONUMA_LINGER", UINT64_MAX);
	uint64_t deadline = linger > UINT32_MAX ? UINT64_MAX : now_ms() + 1000 * linger;
	struct sonuma_ctx *ctx;

	if (nodes < 2 || nodes > RMC_NID_MAX + 1 || !linger || pthread_mutex_trylock(&sonuma_lock))
		return;
	for (ctx = contexts; ctx; ctx = ctx->next)
		if (ctx->pid == getpid() && ctx->trailer)
			stay_in(ctx, (int)nodes, deadline);
	pthread_mutex_unlock(&sonuma_lock);
}
