/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A client of several latch servers (latch nic-rpc of <rmc/sync.h>), one of which does not answer, or
 * lies: it harms the latches of its own objects, and no other ones.
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

/* --- a server that does not answer --- */

/* Latches of the other server are taken and released meanwhile. */
static void others_go_on(struct client *c)
{
	struct rmc_hold h = { .len = LEN }, *done;
	unsigned int i, k;

	for (i = 0; i < 20; i++) {
		CHECK_EQ(rmc_sync_write(c->s, 0, &h), 0);
		CHECK_EQ(rmc_sync_commit(c->s, &h), 0);
		for (k = 0; k < 100; k++)
			CHECK_EQ(rmc_sync_poll(c->s, &done), 0);
		CHECK_EQ(rmc_latch_server_holder(server, 0, NULL), -1);
	}
}

/* It answers no release any more: so many were under way, and what follows them */
static void silent(void)
{
	struct rmc_hold h[4] = { { .len = LEN }, { .len = LEN }, { .len = LEN }, { .len = LEN } };
	struct client c;
	unsigned int i, k;

	for (k = 1; k <= 4; k++) {
		server = fake_server(0);
		client_open(&c, NULL, "rw", RMC_SYNC_ASYNC, CLIENT);
		c.w.last_nid = BAD;
		c.link.other = fake_server(0);
		rmc_rpc_set_timeout(c.link.rpc, -1);
		for (i = 0; i < k; i++)
			CHECK_EQ(rmc_sync_read(c.s, rmc_sync_addr(BAD, 1024 * (1 + i)), &h[i]), 0);
		c.link.silent = SILENT;
		for (i = 0; i < k; i++)
			CHECK_EQ(rmc_sync_end(c.s, &h[i]), 0);
		others_go_on(&c);
		CHECK_EQ(holds(), 0);
		/* not to wait for a second */
		c.w.rmc.flags->dead = 1;
		client_close(&c);
		rmc_latch_server_close(c.link.other);
		rmc_latch_server_close(server);
	}
}

/* It gives latches, and never says that they are released. */
static void releases_unanswered(void)
{
	struct rmc_hold h = { .len = LEN }, *done;
	unsigned int i, k, ended;
	struct client c;

	server = fake_server(0);
	client_open(&c, NULL, "rw", RMC_SYNC_ASYNC, CLIENT);
	c.w.last_nid = BAD;
	c.link.other = fake_server(0);
	rmc_rpc_set_timeout(c.link.rpc, -1);
	c.link.silent = SILENT_OF_RELEASES;
	for (i = ended = 1; i < 300 && ended; i++) {
		CHECK_EQ(rmc_sync_start(c.s, RMC_SYNC_READ, rmc_sync_addr(BAD, 1024), &h), 0);
		for (k = ended = 0; k < 100 && !ended; k++)
			ended = rmc_sync_poll(c.s, &done) == 1;
		if (ended)
			CHECK_EQ(h.status || rmc_sync_end(c.s, &h), 0);
	}
	others_go_on(&c);
	c.w.rmc.flags->dead = 1;
	client_close(&c);
	rmc_latch_server_close(c.link.other);
	rmc_latch_server_close(server);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a server that says that tokens are used up", lies },
		{ "a server that does not answer", silent },
		{ "a server that does not answer releases", releases_unanswered },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
