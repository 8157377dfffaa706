// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that several segments expose: refused where two workers would serve the same line. The
 * themes differ in who serves it: one worker (fused), one of two sets of workers (pair), or
 * several RRPPs (edge).
 */
#include "common.h"

/* The result of registering memory on node @nid that a segment of node 0 already exposes */
static int exposed_again(struct rmc_ctx *ctx, int nid)
{
	long long sets = file_number("/sys/module/rmc/parameters/workers", "");
	struct rmc_query q = { .size = sizeof(q) };

	REQUIRE(!ioctl(rmc_fd(ctx), RMC_IOC_QUERY, &q));
	REQUIRE(sets > 0);
	/* nodes are distributed over the sets of workers */
	return q.rrpps > 1 || nid % sets ? -EADDRINUSE : 0;
}

/*
 * One worker serves a line. If segments are distributed over several RRPPs, their memory cannot
 * be exposed again; otherwise nodes of the same worker can expose it any number of times.
 */
TEST(a_line_has_one_server)
{
	uint8_t *p = memory(4 * PAGE);
	struct end a, b, c;
	int again;

	end_open(&a, CTX, 0, 0, 0, 0);
	end_open(&b, CTX, 1, 0, PAGE, 16);
	end_open(&c, CTX, 2, 0, 0, 0);
	again = exposed_again(a.ctx, 1);
	REQUIRE_EQ(rmc_seg_register(a.ctx, p, 2 * PAGE - 128, 0), 0);
	CHECK_EQ(rmc_seg_register(c.ctx, p, 2 * PAGE, 0), exposed_again(a.ctx, 2));
	end_close(&c);
	/* other lines of the same page do not conflict */
	CHECK_EQ(rmc_seg_register(b.ctx, p + 2 * PAGE - 128, PAGE, 0), 0);
	CHECK_EQ(rmc_seg_unregister(b.ctx), 0);
	/* overlaps of one line, of all lines, and of a part in the middle */
	CHECK_EQ(rmc_seg_register(b.ctx, p + 2 * PAGE - 192, PAGE, 0), again);
	CHECK_EQ(rmc_seg_unregister(b.ctx), again ? -ENOENT : 0);
	CHECK_EQ(rmc_seg_register(b.ctx, p, 2 * PAGE - 128, 0), again);
	CHECK_EQ(rmc_seg_unregister(b.ctx), again ? -ENOENT : 0);
	CHECK_EQ(rmc_seg_register(b.ctx, p + PAGE, 64, 0), again);
	CHECK_EQ(rmc_seg_unregister(b.ctx), again ? -ENOENT : 0);
	/* the refused registration left nothing behind */
	CHECK_EQ(rmc_seg_register(b.ctx, p + 3 * PAGE, PAGE, 0), 0);
	CHECK_EQ(rmc_write(b.qp, 0, PAGE, b.buf, PAGE - 128), RMC_S_OK);
	CHECK_EQ(rmc_read(b.qp, 1, 0, b.buf, PAGE), RMC_S_OK);
	/* ranges: memory of another segment, and of the same segment at another offset */
	CHECK_EQ(rmc_seg_add(b.ctx, p + PAGE, 64, 8 * PAGE, 0), again);
	CHECK_EQ(rmc_seg_add(b.ctx, p + 3 * PAGE, 64, 16 * PAGE, 0), exposed_again(a.ctx, 0));
	CHECK_EQ(rmc_seg_add(b.ctx, p + 2 * PAGE, 64, 24 * PAGE, 0), 0);
	/* any number of workers may serve memory that peers may only read */
	CHECK_EQ(rmc_seg_unregister(a.ctx), 0);
	CHECK_EQ(rmc_seg_unregister(b.ctx), 0);
	REQUIRE_EQ(rmc_seg_register(a.ctx, p, PAGE, RMC_MEM_READONLY), 0);
	CHECK_EQ(rmc_seg_register(b.ctx, p, PAGE, 0), again);
	CHECK_EQ(rmc_seg_unregister(b.ctx), again ? -ENOENT : 0);
	CHECK_EQ(rmc_seg_register(b.ctx, p, PAGE, RMC_MEM_READONLY), 0);
	CHECK_EQ(rmc_seg_add(b.ctx, p + 2 * PAGE, 64, 24 * PAGE, 0), 0);
	CHECK_EQ(rmc_seg_unregister(a.ctx), 0);
	/* the memory is free again, also after a range is withdrawn */
	CHECK_EQ(rmc_seg_remove(b.ctx, 24 * PAGE), 0);
	CHECK_EQ(rmc_seg_register(a.ctx, p + 2 * PAGE, 64, 0), 0);
	end_close(&a);
	CHECK_EQ(rmc_seg_add(b.ctx, p + 2 * PAGE, 64, 24 * PAGE, 0), 0);
	end_close(&b);
	end_open(&a, CTX, 0, 0, 0, 0);
	CHECK_EQ(rmc_seg_register(a.ctx, p, 4 * PAGE, 0), 0);
	end_close(&a);
}

/* The conflict lies behind more extents than one step enters; all of them are removed again. */
TEST(one_of_many_pages_has_another_server)
{
	size_t pages = 9000, i;
	struct end a, b;
	uint8_t *p;
	int again;

	p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(p != MAP_FAILED);
	madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
	/* touch them in an order that gives adjacent pages no adjacent frames */
	for (i = 0; i < pages; i++)
		p[i * 1009 % pages * PAGE] = 1;
	end_open(&a, CTX, 0, 0, 0, 0);
	end_open(&b, CTX, 1, 0, 0, 0);
	again = exposed_again(a.ctx, 1);
	REQUIRE_EQ(rmc_seg_register(a.ctx, p + (pages - 1) * PAGE, PAGE, 0), 0);
	CHECK_EQ(rmc_seg_register(b.ctx, p, pages * PAGE, 0), again);
	CHECK_EQ(rmc_seg_unregister(b.ctx), again ? -ENOENT : 0);
	CHECK_EQ(rmc_seg_register(b.ctx, p, (pages - 1) * PAGE, 0), 0);
	CHECK_EQ(rmc_seg_unregister(a.ctx), 0);
	CHECK_EQ(rmc_seg_unregister(b.ctx), 0);
	CHECK_EQ(rmc_seg_register(a.ctx, p, pages * PAGE, 0), 0);
	end_close(&a);
	end_close(&b);
}

/* Processes register and withdraw much memory in a loop, while one registers a page. */
TEST(registrations_wait_for_each_other_briefly)
{
	size_t bytes = 2048 * PAGE;
	unsigned long long t0, took, worst = 0;
	struct end a;
	pid_t pid[3];
	uint8_t *p;
	int i;

	for (i = 0; i < 3; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		end_open(&a, CTX, 1 + i, 0, 0, 0);
		p = memory(bytes);
		for (;;)
			if (rmc_seg_register(a.ctx, p, bytes, 0) || rmc_seg_unregister(a.ctx))
				_exit(1);
	}
	end_open(&a, CTX, 0, 0, 0, 0);
	p = memory(PAGE);
	usleep(100000);
	for (i = 0; i < 50; i++) {
		t0 = ktap_ms();
		CHECK_EQ(rmc_seg_register(a.ctx, p, PAGE, 0), 0);
		CHECK_EQ(rmc_seg_unregister(a.ctx), 0);
		took = ktap_ms() - t0;
		worst = took > worst ? took : worst;
	}
	for (i = 0; i < 3; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &(int){ 0 }, 0);
	}
	ktap_say("a page beside three that register 8 MiB each: %llu ms at most", worst);
	/* on a busy CPU each of the three may use up its time slice, several times */
	CHECK(worst < 1000);
	end_close(&a);
}

KTAP_MAIN(suite_missing)
