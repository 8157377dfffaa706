/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A sonuma-vm program with blocking operations, in C and in C++: every node numbers
 * the pages of its context, then reads and writes those of another.
 * usage: test_compat_sync TARGET_NODE
 */
#include "sonuma.h"

#define PAGES		64
#define CTX_0		0
#define READY		0x5245414459ULL
#define MARK		0xa5

static rmc_wq_t *wq;
static rmc_cq_t *cq;
static uint8_t *lbuff;
static int snid;

static int fail(const char *what)
{
	printf("FAILED: %s\n", what);
	return 1;
}

static uint64_t read_word(uint64_t ctx_offset)
{
	rmc_rread_sync(wq, cq, lbuff, 0, snid, CTX_0, ctx_offset, sizeof(uint64_t));
	return *(uint64_t *)lbuff;
}

/* A short read or write does not change the bytes around it. */
static int short_ones(void)
{
	unsigned int length, i;

	for (length = 1; length < 64; length++) {
		memset(lbuff, MARK, 256);
		rmc_rread_sync(wq, cq, lbuff, 64, snid, CTX_0, 2 * PAGE_SIZE, length);
		for (i = 0; i < 256; i++)
			if ((lbuff[i] != MARK) != (i >= 64 && i < 64 + length))
				return fail("a short read changed its neighbourhood");
	}
	for (length = 1; length < 64; length++) {
		memset(lbuff, 0, 256);
		rmc_rwrite_sync(wq, cq, lbuff, 0, snid, CTX_0, 3 * PAGE_SIZE, 256);
		memset(lbuff, MARK, 256);
		rmc_rwrite_sync(wq, cq, lbuff, 0, snid, CTX_0, 3 * PAGE_SIZE + 64, length);
		rmc_rread_sync(wq, cq, lbuff, 0, snid, CTX_0, 3 * PAGE_SIZE, 256);
		for (i = 0; i < 256; i++)
			if ((lbuff[i] == MARK) != (i >= 64 && i < 64 + length))
				return fail("a short write changed its neighbourhood");
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint8_t *ctx = NULL;
	uint64_t i;
	int fd;

	if (argc != 2)
		return fail("usage: test_compat_sync TARGET_NODE");
	snid = atoi(argv[1]);
	fd = kal_open((char *)RMC_DEV);
	if (fd < 0)
		return fail("kal_open");
	if (kal_reg_lbuff(fd, &lbuff, 1) < 0 || kal_reg_ctx(fd, &ctx, PAGES) < 0 ||
	    kal_reg_wq(fd, &wq) < 0 || kal_reg_cq(0, &cq) < 0)
		return fail("registration");
	if (kal_reg_lbuff(fd + 1000, &lbuff, 1) >= 0)
		return fail("a wrong file descriptor was taken");

	for (i = 1; i < PAGES; i++)
		*(uint64_t *)(ctx + i * PAGE_SIZE) = i << 8 | 0x55;
	memset(ctx + 2 * PAGE_SIZE, 0x33, 64);
	__atomic_store_n((uint64_t *)ctx, READY, __ATOMIC_RELEASE);

	while (read_word(0) != READY)
		;
	for (i = 4; i < PAGES; i++)
		if (read_word(i * PAGE_SIZE) != (i << 8 | 0x55))
			return fail("a page has the wrong number");
	if (short_ones())
		return 1;

	/* A failed operation returns an error and does not change the buffer. */
	memset(lbuff, MARK, 64);
	if (!rmc_rread_sync(wq, cq, lbuff, 0, snid, CTX_0, (uint64_t)PAGES * PAGE_SIZE + 4096, 64))
		return fail("a read beyond the context");
	if (!rmc_rread_sync(wq, cq, lbuff, 0, snid, CTX_0, 0, 0))
		return fail("a read of no bytes");
	if (!rmc_rread_sync(wq, cq, lbuff, 0, -1, CTX_0, 0, 64))
		return fail("a read from no node");
	if (!rmc_rread_sync(wq, cq, lbuff, 0, snid, 77, 0, 64))
		return fail("a read in a context that is not open");
	if (!rmc_rread_sync(wq, cq, lbuff, PAGE_SIZE - 8, snid, CTX_0, 0, 64))
		return fail("a read beyond the local buffer");
	for (i = 0; i < 64; i++)
		if (lbuff[i] != MARK)
			return fail("a refused read changed the buffer");
	if (rmc_rread_sync(wq, cq, lbuff, 0, snid, CTX_0, 0, 64))
		return fail("a good read after bad ones");
	printf("all pages are right\n");
	return 0;
}
