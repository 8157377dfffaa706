/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A sonuma-vm program with asynchronous operations, in C and in C++.
 * usage: test_compat_async TARGET_NODE
 */
#include "sonuma.h"

#define ITERATIONS	4096
#define PAGES		64
#define SLOT_SIZE	64
#define CTX_0		0
#define CELL		64	/* one per iteration, modulo CELLS */
#define CELLS		((PAGES - 1) * PAGE_SIZE / CELL)

static rmc_wq_t *wq;
static rmc_cq_t *cq;
static uint8_t *lbuff;
static int snid, outstanding, wrong, again;
static unsigned int refused;

static void must(int truth, const char *what)
{
	if (truth)
		return;
	printf("FAILED: %s\n", what);
	wrong++;
}

static uint64_t cell_offset(uint64_t i)
{
	return PAGE_SIZE + i % CELLS * CELL;
}

static void on_read(uint8_t tid, wq_entry_t *head, void *owner)
{
	uint64_t cell = (head->offset - PAGE_SIZE) / CELL;

	must(tid < MAX_NUM_WQ, "tid within the queue");
	must(owner == &outstanding, "owner");
	must(head->op == 'r' && head->nid == snid && head->cid == CTX_0, "entry as posted");
	must(head->length == sizeof(uint64_t) && !head->valid && !head->status, "entry as posted");
	must(head->buf_addr == (uintptr_t)lbuff, "buffer as posted");
	must(*(uint64_t *)(uintptr_t)(head->buf_addr + head->buf_offset) == cell + 1000,
	     "what was read");
	outstanding--;
}

static void on_repeat(uint8_t tid, wq_entry_t *head, void *owner)
{
	on_read(tid, head, owner);
	if (again-- > 0) {
		rmc_rread_async(wq, lbuff, head->buf_offset, snid, CTX_0, head->offset,
				sizeof(uint64_t));
		outstanding++;
	}
}

static void on_write(uint8_t tid, wq_entry_t *head, void *owner)
{
	(void)tid;
	(void)owner;
	must(head->op == 'w' && !head->status, "write");
	outstanding--;
}

static void on_refusal(uint8_t tid, wq_entry_t *head, void *owner)
{
	(void)tid;
	(void)owner;
	refused += head->status != 0;
	outstanding--;
}

static void post_read(uint64_t i)
{
	rmc_rread_async(wq, lbuff, i % MAX_NUM_WQ * SLOT_SIZE, snid, CTX_0, cell_offset(i),
			sizeof(uint64_t));
	outstanding++;
}

/* The pattern of the emulator's own programs */
static void reads(void)
{
	uint64_t i;
	uint8_t head;

	for (i = 0; i < ITERATIONS; i++) {
		rmc_check_cq(wq, cq, &on_read, &outstanding);
		head = wq->head;
		must(!wq->q[head].valid, "the next entry is free");
		rmc_rread_async(wq, lbuff, head * SLOT_SIZE, snid, CTX_0, cell_offset(i),
				sizeof(uint64_t));
		must(wq->head == (head + 1) % MAX_NUM_WQ, "the head moves by one");
		outstanding++;
	}
	while (outstanding > 0)
		rmc_drain_cq(wq, cq, &on_read, &outstanding);
	must(!outstanding, "as many completions as reads");
}

/* Without a check before each read, no completion is lost; a local buffer may be reused. */
static void careless(void)
{
	uint64_t i;

	for (i = 0; i < 5 * MAX_NUM_WQ; i++) {
		rmc_rread_async(wq, lbuff, 0, snid, CTX_0, cell_offset(7), sizeof(uint64_t));
		outstanding++;
	}
	must(!rmc_rread_sync(wq, cq, lbuff, 0, snid, CTX_0, cell_offset(7), 8), "sync in between");
	must(outstanding == 5 * MAX_NUM_WQ, "sync calls no handler");
	rmc_drain_cq(wq, cq, on_read, &outstanding);
	must(!outstanding, "one drain delivers everything");
	rmc_drain_cq(wq, cq, on_read, &outstanding);
	must(!outstanding, "nothing comes twice");
}

static void posting_handler(void)
{
	uint64_t i;

	again = 1000;
	for (i = 0; i < MAX_NUM_WQ; i++) {
		rmc_check_cq(wq, cq, on_repeat, &outstanding);
		post_read(i);
	}
	while (outstanding > 0)
		rmc_drain_cq(wq, cq, on_repeat, &outstanding);
	must(again < 0 && !outstanding, "handlers may post");
}

static void writes(void)
{
	uint64_t i;

	memset(lbuff, 0, PAGE_SIZE);
	for (i = 0; i < MAX_NUM_WQ; i++) {
		rmc_check_cq(wq, cq, on_write, NULL);
		*(uint64_t *)(lbuff + i * SLOT_SIZE) = i + 5;
		rmc_rwrite_async(wq, lbuff, i * SLOT_SIZE, snid, CTX_0, 512 + i * 8, 8);
		outstanding++;
	}
	rmc_drain_cq(wq, cq, on_write, NULL);
	must(!outstanding, "writes complete");
	rmc_rread_sync(wq, cq, lbuff, 0, snid, CTX_0, 512, MAX_NUM_WQ * 8);
	for (i = 0; i < MAX_NUM_WQ; i++)
		must(((uint64_t *)lbuff)[i] == i + 5, "what was written");
}

static void refusals(void)
{
	rmc_rread_async(wq, lbuff, 0, snid, 9, 0, 8);
	rmc_rread_async(wq, lbuff, 0, snid, CTX_0, 1ULL << 39, 8);
	rmc_rwrite_async(wq, lbuff, 0, 5000, CTX_0, 0, 8);
	outstanding += 3;
	rmc_drain_cq(wq, cq, on_refusal, NULL);
	must(!outstanding && refused == 3, "what fails reaches the handler, too");
}

int main(int argc, char **argv)
{
	uint8_t *ctx = NULL;
	uint64_t i;
	int fd;

	if (argc != 2)
		return 1;
	snid = atoi(argv[1]);
	fd = kal_open((char *)"/root/node");
	if (fd < 0 || kal_reg_lbuff(fd, &lbuff, 1) < 0 || kal_reg_ctx(fd, &ctx, PAGES) < 0 ||
	    kal_reg_wq(fd, &wq) < 0 || kal_reg_cq(fd, &cq) < 0) {
		printf("FAILED: registration\n");
		return 1;
	}
	for (i = 0; i < CELLS; i++)
		*(uint64_t *)(ctx + cell_offset(i)) = i + 1000;
	__atomic_store_n((uint64_t *)ctx, 1, __ATOMIC_RELEASE);
	do
		rmc_rread_sync(wq, cq, lbuff, 0, snid, CTX_0, 0, 8);
	while (!*(uint64_t *)lbuff);

	reads();
	careless();
	posting_handler();
	writes();
	refusals();
	if (!wrong)
		printf("everything completed\n");
	return !!wrong;
}
