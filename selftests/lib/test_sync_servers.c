/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A client of several latch servers (latch nic-rpc of <rmc/sync.h>), one of which lies: it harms
 * the latches of its own objects, and no other ones.
 */
#include <errno.h>
#include "fake_latches.h"

#define BAD		1		/* node of that one */

static int write_at(struct client *c, int nid, uint64_t offset)
{
	struct rmc_hold h = { .len = LEN };
	int err = rmc_sync_write(c->s, rmc_sync_addr(nid, offset), &h);

	return err ? err : rmc_sync_cancel(c->s, &h);
}

/* --- a server that says that tokens are used up --- */

static void lies(void)
{
	static const uint64_t said[] = { ~0ULL, ~0ULL - 2 * LATCH_WINDOW, 1ULL << 63 };
	struct client c;
	unsigned int i, life;

	server = fake_server(0);
	client_open(&c, NULL, "rw", 0, CLIENT);
	c.w.last_nid = BAD;
	for (life = 0; life < 3; life++) {
		for (i = 0; i < 3 * LATCH_WINDOW; i++) {
			c.link.newest = said[i % 3];
			CHECK(write_at(&c, BAD, 1024) != 0);
			CHECK_EQ(write_at(&c, 0, 0), 0);
		}
		rmc_sync_close(c.s);
		c.s = rmc_sync_open(&c.w.qp, &c.o);
	}
	CHECK_EQ(holds(), 0);
	client_close(&c);
	rmc_latch_server_close(server);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a server that says that tokens are used up", lies },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
