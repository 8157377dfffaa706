/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Latch nic-rpc of <rmc/sync.h>: each message lost, late or doubled; a holder that dies in each
 * message and each operation; closed in the middle. Messages are served as they are sent.
 */
#include <errno.h>
#include "fake_latches.h"

static const char * const rows[] = { "rw", "excl", "relaxed-farm", "relaxed-crc64" };
#define ROWS		4

/* --- costs, and what excludes what --- */

struct count {
	const char *row;
	unsigned int flags;
	int writes;
	unsigned int messages, asked, round_trips;	/* operations and calls; of these calls */
};

static void count(const struct count *t)
{
	struct rmc_sync_stats before, after;
	struct rmc_sync_cost cost;
	struct client c;
	unsigned int i, sent, issued;

	server = fake_server(0);
	client_open(&c, NULL, t->row, t->flags, CLIENT);
	tap_where = t->row;
	CHECK_EQ(write_state(&c, 1), 0);
	before = stats_of(&c);
	sent = c.link.sent;
	issued = c.w.messages;
	for (i = 0; i < 100; i++) {
		if (t->writes)
			CHECK_EQ(write_state(&c, (uint8_t)i), 0);
		else
			CHECK_EQ(read_state(&c), 1);
	}
	after = stats_of(&c);
	CHECK_EQ(c.link.sent - sent, t->asked * 100);
	CHECK_EQ(c.w.messages - issued, (t->messages - t->asked) * 100);
	CHECK_EQ(after.messages - before.messages, t->messages * 100);
	CHECK_EQ(after.round_trips - before.round_trips, t->round_trips * 100);
	CHECK_EQ(after.atomics, 0);
	CHECK_EQ(rmc_sync_cost(&c.o, t->writes, &cost), 0);
	CHECK_EQ(cost.messages, t->messages);
	CHECK_EQ(cost.round_trips, t->round_trips);
	CHECK_EQ(cost.atomics, 0);
	CHECK_EQ(holds(), 0);
	tap_where = NULL;
	client_close(&c);
	rmc_latch_server_close(server);
}

static void counts(void)
{
	static const struct count table[] = {
		{ "rw", 0, 1, 4, 2, 4 }, { "rw", RMC_SYNC_ASYNC, 1, 4, 2, 2 },
		{ "rw", 0, 0, 3, 2, 3 }, { "rw", RMC_SYNC_ASYNC, 0, 3, 2, 2 },
		{ "excl", 0, 1, 4, 2, 4 }, { "excl", 0, 0, 3, 2, 3 },
		{ "relaxed-farm", 0, 1, 4, 2, 4 }, { "relaxed-farm", 0, 0, 1, 0, 1 },
		{ "relaxed-crc64", 0, 1, 4, 2, 4 }, { "relaxed-crc64", RMC_SYNC_ASYNC, 1, 4, 2, 2 },
		{ "relaxed-crc64", 0, 0, 1, 0, 1 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		count(&table[i]);
}

static void excludes(void)
{
	struct rmc_hold h[3] = { { .len = LEN }, { .len = LEN }, { .len = LEN } };
	struct client a, b;
	unsigned int i;

	for (i = 0; i < ROWS; i++) {
		int latched = i < 2, shared = i != 1;

		tap_where = rows[i];
		server = fake_server(0);
		client_open(&a, NULL, rows[i], 0, CLIENT);
		client_open(&b, a.w.segment, rows[i], 0, OTHER);
		CHECK_EQ(rmc_sync_write(a.s, 0, &h[0]), 0);
		CHECK_EQ(rmc_sync_write(b.s, 0, &h[1]), RMC_SCHEME_LOCKED);
		CHECK_EQ(h[1].tries, ATTEMPTS);
		CHECK_EQ(rmc_sync_read(b.s, 0, &h[1]), latched ? RMC_SCHEME_LOCKED : 0);
		if (!latched)
			CHECK_EQ(rmc_sync_end(b.s, &h[1]), 0);
		/* another object has another latch */
		CHECK_EQ(rmc_sync_write(b.s, 1024, &h[1]), 0);
		fill((uint8_t *)h[0].data, LEN, 1);
		CHECK_EQ(rmc_sync_commit(a.s, &h[0]), 0);
		CHECK_EQ(rmc_sync_cancel(b.s, &h[1]), 0);
		/* the word of the object is nobody's */
		CHECK(i == 2 || !word_at(&a.w, 0));
		CHECK_EQ(read_state(&b), 1);
		/* readers share it, if the row's do */
		CHECK_EQ(rmc_sync_read(a.s, 0, &h[0]), 0);
		CHECK_EQ(rmc_sync_read(b.s, 0, &h[1]), shared ? 0 : RMC_SCHEME_LOCKED);
		CHECK_EQ(rmc_sync_upgrade(a.s, &h[0]), i == 0 ? RMC_SCHEME_LOCKED : 0);
		if (i)
			CHECK_EQ(rmc_sync_cancel(a.s, &h[0]), 0);
		if (shared)
			CHECK_EQ(rmc_sync_end(b.s, &h[1]), 0);
		CHECK_EQ(rmc_sync_drain(a.s), 0);
		CHECK_EQ(holds(), 0);
		/* one reader becomes a writer, if nothing has changed */
		CHECK_EQ(rmc_sync_read(a.s, 0, &h[0]), 0);
		if (!latched) {
			CHECK_EQ(write_state(&b, 2), 0);
			CHECK_EQ(rmc_sync_upgrade(a.s, &h[0]), RMC_SCHEME_TORN);
			CHECK_EQ(rmc_sync_drain(a.s), 0);
			CHECK_EQ(rmc_sync_read(a.s, 0, &h[0]), 0);
		}
		CHECK_EQ(rmc_sync_upgrade(a.s, &h[0]), 0);
		CHECK_EQ(rmc_sync_write(b.s, 0, &h[1]), RMC_SCHEME_LOCKED);
		fill((uint8_t *)h[0].data, LEN, 3);
		CHECK_EQ(rmc_sync_commit(a.s, &h[0]), 0);
		CHECK_EQ(read_state(&b), 3);
		CHECK_EQ(holds(), 0);
		client_close(&b);
		client_close(&a);
		rmc_latch_server_close(server);
	}
	tap_where = NULL;
}

/* The owner's CPU cannot see the latch; it asks its own server, without a message. */
static void owner(void)
{
	struct rmc_hold h = { .len = LEN }, other = { .len = LEN };
	struct rmc_sync_options o;
	struct rmc_sync *s;
	const struct rmc_scheme *layout;
	struct client c;
	struct fixture w;
	uint8_t back[LEN];

	server = fake_server(2);
	client_open(&c, NULL, "rw", 0, CLIENT);
	layout = rmc_sync_layout(&c.o);
	CHECK_EQ(rmc_scheme_write(layout, (struct rmc_object *)c.w.segment, back, LEN, NULL),
		 -EOPNOTSUPP);
	CHECK_EQ(rmc_scheme_read(layout, (struct rmc_object *)c.w.segment, back, LEN), -EOPNOTSUPP);
	CHECK_EQ(rmc_scheme_repair(layout, (struct rmc_object *)c.w.segment, back, LEN), -EOPNOTSUPP);
	CHECK_EQ(rmc_sync_holder(layout, (struct rmc_object *)c.w.segment, LEN), -EOPNOTSUPP);
	CHECK_EQ(rmc_sync_break(layout, (struct rmc_object *)c.w.segment, LEN, CLIENT), -EOPNOTSUPP);
	fixture_init_with(&w, c.w.segment, 1);
	o = c.o;
	o.memory = w.memory;
	o.nid = 0;
	o.rpc = NULL;
	s = rmc_sync_open(&w.qp, &o);
	CHECK(!s && errno == EINVAL);
	o.latch_server = server;
	s = rmc_sync_open(&w.qp, &o);
	CHECK(s != NULL);
	CHECK_EQ(rmc_sync_write(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_write(c.s, 0, &other), RMC_SCHEME_LOCKED);
	CHECK_EQ(rmc_sync_commit(s, &h), 0);
	CHECK_EQ(write_state(&c, 4), 0);
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK(is_whole(&h, 4));
	CHECK_EQ(rmc_sync_end(s, &h), 0);
	CHECK_EQ(rmc_sync_read(s, rmc_sync_addr(1, 0), &h), -EINVAL);	/* nobody to ask */
	/* as many as the server has room for */
	CHECK_EQ(rmc_sync_read(s, 0, &h), 0);
	CHECK_EQ(rmc_sync_read(s, 1024, &other), 0);
	CHECK_EQ(rmc_sync_read(s, 2048, &(struct rmc_hold){ .len = LEN }), -EDQUOT);
	rmc_sync_close(s);
	CHECK_EQ(holds(), 0);
	fixture_fini(&w);
	client_close(&c);
	rmc_latch_server_close(server);
}

/* --- messages that are lost, late, or there twice --- */

enum what { WRITES, READS, UPGRADES, CANCELS, WHATS };

static int use_object(struct client *c, enum what what)
{
	struct rmc_hold h = { .len = LEN };
	int err;

	if (what == READS) {
		err = read_state(c);
		return err < 0 ? -err : 0;
	}
	if (what == WRITES)
		return write_state(c, 2);
	err = what == CANCELS ? rmc_sync_write(c->s, 0, &h) : rmc_sync_read(c->s, 0, &h);
	if (!err && what == CANCELS)
		err = rmc_sync_cancel(c->s, &h);
	if (!err && what == UPGRADES)
		err = rmc_sync_upgrade(c->s, &h);
	if (!err && what == UPGRADES) {
		fill((uint8_t *)h.data, LEN, 2);
		err = rmc_sync_commit(c->s, &h);
	}
	rmc_sync_drain(c->s);
	return err;
}

struct lossy {
	const char *row;
	unsigned int flags;
	enum what what;
	enum message_fault fault;
	unsigned int at, faults;
};

/* True: the fault has happened. */
static int try_lossy(const struct lossy *t)
{
	struct client c, other;
	int err, happened, state;
	char where[96];

	snprintf(where, sizeof(where), "%s %x, %d, fault %d of message %u, %u times", t->row, t->flags,
		 (int)t->what, (int)t->fault, t->at, t->faults);
	tap_where = where;
	server = fake_server(0);
	client_open(&c, NULL, t->row, t->flags, CLIENT);
	client_open(&other, c.w.segment, t->row, 0, OTHER);
	CHECK_EQ(write_state(&other, 1), 0);
	c.link.fault = t->fault;
	c.link.faults = t->faults;
	c.link.fault_at = t->at;
	err = use_object(&c, t->what);
	happened = c.link.faults < t->faults;
	/* one fault is overcome, but for a peer that is given up */
	CHECK(!err || t->faults > 1 || t->fault == PEER_LOST);
	c.link.fault_at = 0;
	c.link.fault = MESSAGE_ARRIVES;
	fake_late(&c.link);
	if (t->fault != PEER_LOST) {
		CHECK(t->faults > 1 || holds() == 0);
		rmc_sync_close(c.s);
		fake_late(&c.link);
		c.s = rmc_sync_open(&c.w.qp, &c.o);
	}
	/* what is not released is known to be */
	if (holds())
		CHECK(t->faults > 1 || t->fault == PEER_LOST);
	if (t->fault == PEER_LOST || holds()) {
		struct rmc_hold h = { .len = LEN };

		CHECK(rmc_latch_server_dead(server, CLIENT) <= 1);
		err = rmc_sync_take_over(other.s, 0, CLIENT, &h);
		CHECK(!err || err == -ENOENT);
		if (!err) {
			fill((uint8_t *)h.data, LEN, 1);
			CHECK_EQ(rmc_sync_commit(other.s, &h), 0);
		}
	}
	CHECK_EQ(holds(), 0);
	state = read_state(&other);
	CHECK(state == 1 || state == 2);
	CHECK_EQ(write_state(&other, 5), 0);
	CHECK_EQ(read_state(&other), 5);
	client_close(&other);
	client_close(&c);
	CHECK_EQ(holds(), 0);
	rmc_latch_server_close(server);
	tap_where = NULL;
	return happened;
}

static void losses(void)
{
	struct lossy t;
	unsigned int row, k, what, fault;

	for (row = 0; row < ROWS; row++) {
		for (k = 0; k < 4; k++) {
			t.row = rows[row];
			t.flags = k & 1 ? RMC_SYNC_ASYNC : 0;
			t.faults = k & 2 ? 100 : 1;
			for (what = 0; what < WHATS; what++) {
				for (fault = MESSAGE_LOST; fault < MESSAGE_FAULTS; fault++) {
					t.what = (enum what)what;
					t.fault = (enum message_fault)fault;
					for (t.at = 1; try_lossy(&t) && t.at < 12; t.at++)
						;
					CHECK(t.at < 12 && (t.at > 2 || (what == READS && row > 1)));
				}
			}
		}
	}
}

/* An operation of the queue pair is lost while the latch is held. */
static void lost_operations(void)
{
	struct client c, other;
	unsigned int row, at, k, fault;
	int err, state;

	for (row = 0; row < ROWS; row++) {
		for (k = 0; k < 4; k++) {
			for (fault = LOSE_REQUEST; fault <= LOSE_HALF; fault++) {
				for (at = 1; at < 8; at++) {
					tap_where = rows[row];
					server = fake_server(0);
					client_open(&c, NULL, rows[row], k & 1 ? RMC_SYNC_ASYNC : 0, CLIENT);
					client_open(&other, c.w.segment, rows[row], 0, OTHER);
					CHECK_EQ(write_state(&other, 1), 0);
					c.w.fault = (enum fault)fault;
					c.w.fault_at = at;
					c.w.faults = k & 2 ? 100 : 1;
					err = use_object(&c, at & 1 ? WRITES : UPGRADES);
					CHECK(!err || k & 2);
					c.w.fault_at = 0;
					/* what may be half written stays latched, by its writer */
					state = stats_of(&c).quarantined ? 0 : read_state(&other);
					CHECK(state >= 0 && state < 3);
					if (stats_of(&c).quarantined) {
						struct rmc_hold h = { .len = LEN };

						CHECK_EQ(holds(), 1);
						CHECK_EQ(rmc_sync_take_over(other.s, 0, CLIENT, &h),
							 RMC_SCHEME_LOCKED);
						CHECK_EQ(rmc_sync_take_over(c.s, 0, CLIENT, &h), 0);
						fill((uint8_t *)h.data, LEN, 2);
						CHECK_EQ(rmc_sync_commit(c.s, &h), 0);
						CHECK_EQ(rmc_sync_drain(c.s), 0);
						CHECK_EQ(read_state(&other), 2);
					}
					CHECK_EQ(holds(), 0);
					client_close(&other);
					client_close(&c);
					rmc_latch_server_close(server);
				}
			}
		}
	}
	tap_where = NULL;
}

/* --- a holder dies --- */

struct death {
	const char *row;
	unsigned int flags;
	enum what what;
	unsigned int message, behind, operation, lines;	/* in which; 0: none */
};

static int try_death(const struct death *t)
{
	struct rmc_hold h = { .len = LEN };
	struct client c, other;
	uint64_t offset;
	int died, state, err, left;
	char where[96];

	snprintf(where, sizeof(where), "%s %x, %d, dead in message %u%s, or operation %u, %u lines",
		 t->row, t->flags, (int)t->what, t->message, t->behind ? ", behind" : "", t->operation,
		 t->lines);
	tap_where = where;
	server = fake_server(0);
	client_open(&c, NULL, t->row, t->flags, CLIENT);
	client_open(&other, c.w.segment, t->row, 0, OTHER);
	CHECK_EQ(write_state(&c, 1), 0);
	c.link.dies_at = t->message;
	c.link.dies_behind = (int)t->behind;
	c.w.dies_at = t->operation;
	c.w.dies_lines = t->lines;
	use_object(&c, t->what);
	rmc_sync_close(c.s);
	died = c.w.dead;
	/* its node knows; then a survivor goes on at once */
	left = rmc_latch_server_dead(server, CLIENT);
	CHECK(left == 0 || left == 1);
	CHECK_EQ(holds(), left);
	other.w.messages = other.link.sent = 0;
	if (left) {
		CHECK_EQ(rmc_sync_write(other.s, 0, &h), RMC_SCHEME_LOCKED);
		CHECK_EQ(other.link.sent, 1);
		CHECK_EQ(rmc_latch_server_left(server, CLIENT, 0, &offset), 0);
		CHECK_EQ(offset, 0);
		err = rmc_sync_take_over(other.s, 0, CLIENT, &h);
		CHECK_EQ(err, 0);
		if (!err && h.torn)
			fill((uint8_t *)h.data, LEN, 9);
		else if (!err)
			CHECK(is_whole(&h, ((uint8_t *)h.data)[0]));
		CHECK_EQ(h.torn ? rmc_sync_commit(other.s, &h) : rmc_sync_cancel(other.s, &h), 0);
	}
	state = read_state(&other);
	CHECK(state == 1 || state == 2 || (left && state == 9));
	CHECK_EQ(write_state(&other, 3), 0);
	CHECK_EQ(read_state(&other), 3);
	CHECK(other.w.messages + other.link.sent <= 20);
	CHECK_EQ(holds(), 0);
	client_close(&other);
	fake_link_close(&c.link);
	fixture_fini(&c.w);
	rmc_latch_server_close(server);
	tap_where = NULL;
	return died;
}

static void deaths(void)
{
	struct death t;
	unsigned int row, k, what;

	for (row = 0; row < ROWS; row++) {
		for (k = 0; k < 2; k++) {
			for (what = 0; what < WHATS; what++) {
				t = (struct death){ .row = rows[row], .what = (enum what)what,
						    .flags = k ? RMC_SYNC_ASYNC : 0 };
				for (t.message = 1; try_death(&t) && t.message < 9; t.message++)
					;
				t.behind = 1;
				for (t.message = 1; try_death(&t) && t.message < 9; t.message++)
					;
				CHECK(t.message < 9 && (t.message > 2 || (what == READS && row > 1)));
				t.message = t.behind = 0;
				/* 256 bytes and words are at most five lines */
				for (t.lines = 0; t.lines <= 5; t.lines++) {
					for (t.operation = 1; try_death(&t) && t.operation < 9;
					     t.operation++)
						;
					CHECK(t.operation > 1 && t.operation < 9);
				}
			}
		}
	}
}

/* --- lives of a client --- */

static void lives(void)
{
	struct rmc_hold h = { .len = LEN };
	struct client c;

	/* it was ahead of the clock in its earlier life */
	server = fake_server(0);
	client_open(&c, NULL, "rw", 0, CLIENT);
	{
		struct latch_request q = {
			.magic = RMC_LATCH_MAGIC, .call = LATCH_EXCLUDE, .token = 1ULL << 62,
		};
		struct latch_response a;

		CHECK_EQ(rmc_latch_serve(server, CLIENT, &q, sizeof(q), &a, sizeof(a)), sizeof(a));
		/* what that has left is this client's to take over */
		CHECK_EQ(rmc_sync_write(c.s, 0, &h), RMC_SCHEME_LOCKED);
		CHECK_EQ(rmc_sync_take_over(c.s, 0, OTHER, &h), -ENOENT);
		CHECK_EQ(rmc_sync_take_over(c.s, 0, -1, &h), -EOPNOTSUPP);
		CHECK_EQ(rmc_sync_take_over(c.s, 0, CLIENT, &h), 0);
		CHECK(h.torn);
		CHECK_EQ(rmc_sync_commit(c.s, &h), 0);
		/* the end of all tokens */
		q.call = LATCH_RELEASE;
		q.token = ~0ULL;
		CHECK_EQ(rmc_latch_serve(server, CLIENT, &q, sizeof(q), &a, sizeof(a)), sizeof(a));
		CHECK_EQ(rmc_sync_write(c.s, 0, &h), -EOVERFLOW);
		/* a node that is none of the RPC's */
		CHECK_EQ(rmc_sync_take_over(c.s, 0, NODES, &h), -EINVAL);
	}
	CHECK_EQ(holds(), 0);
	client_close(&c);
	rmc_latch_server_close(server);
	/* the server takes a reader for dead */
	server = fake_server(0);
	client_open(&c, NULL, "rw", 0, CLIENT);
	CHECK_EQ(rmc_sync_read(c.s, 0, &h), 0);
	CHECK_EQ(rmc_latch_server_dead(server, CLIENT), 0);
	CHECK_EQ(rmc_sync_upgrade(c.s, &h), RMC_SCHEME_TORN);
	CHECK_EQ(rmc_sync_read(c.s, 0, &h), -EHOSTDOWN);
	CHECK_EQ(rmc_latch_server_alive(server, CLIENT), 0);
	CHECK_EQ(rmc_sync_read(c.s, 0, &h), 0);
	CHECK_EQ(rmc_latch_server_dead(server, CLIENT), 0);
	CHECK_EQ(rmc_sync_end(c.s, &h), RMC_SCHEME_TORN);
	CHECK_EQ(rmc_latch_server_alive(server, CLIENT), 0);
	CHECK_EQ(holds(), 0);
	/* a reader's hold that was given up: nobody has written */
	{
		struct latch_request q = {
			.magic = RMC_LATCH_MAGIC, .call = LATCH_SHARE, .token = 77,
		};
		struct latch_response a;

		q.client = 9;
		CHECK_EQ(rmc_latch_serve(server, CLIENT, &q, sizeof(q), &a, sizeof(a)), sizeof(a));
		rmc_sync_close(c.s);
		c.o.client = 9;
		c.s = rmc_sync_open(&c.w.qp, &c.o);
		CHECK_EQ(rmc_sync_take_over(c.s, 0, CLIENT, &h), 0);
		CHECK(!h.torn);
		CHECK_EQ(rmc_sync_cancel(c.s, &h), 0);
	}
	CHECK_EQ(holds(), 0);
	client_close(&c);
	rmc_latch_server_close(server);
}

/* --- a holder that was taken for dead, and lives --- */

/* Another node takes the object over, stores 7, and is its next holder. */
static void is_taken(struct client *other, struct rmc_hold *h)
{
	CHECK_EQ(rmc_latch_server_dead(server, CLIENT), 1);
	CHECK_EQ(rmc_latch_server_alive(server, CLIENT), 0);
	CHECK_EQ(rmc_sync_take_over(other->s, 0, CLIENT, h), 0);
	fill((uint8_t *)h->data, LEN, 7);
	CHECK_EQ(rmc_sync_commit(other->s, h), 0);
	CHECK_EQ(rmc_sync_write(other->s, 0, h), 0);
}

/*
 * It is told, and what it has stored is counted: also if the reply of its release was lost, and if
 * its token is an old one.
 */
static void evicted(void)
{
	struct rmc_hold h = { .len = LEN }, next = { .len = LEN };
	unsigned int row, k, i;
	struct client c, other;
	int async, commits;

	for (row = 0; row < ROWS; row++) {
		for (k = 0; k < 16; k++) {
			tap_where = rows[row];
			async = !!(k & 1);
			commits = !!(k & 2);
			server = fake_server(0);
			client_open(&c, NULL, rows[row], async ? RMC_SYNC_ASYNC : 0, CLIENT);
			client_open(&other, c.w.segment, rows[row], 0, OTHER);
			CHECK_EQ(rmc_sync_write(c.s, 0, &h), 0);
			for (i = 0; k & 4 && i < LATCH_WINDOW + 4; i++)
				CHECK_EQ(rmc_sync_write(c.s, 1024, &next) ||
					 rmc_sync_cancel(c.s, &next) || rmc_sync_drain(c.s), 0);
			is_taken(&other, &next);
			c.link.fault = RESPONSE_LOST;
			c.link.fault_at = k & 8 && !(k & 4);
			c.link.faults = 1;
			fill((uint8_t *)h.data, LEN, 2);
			CHECK_EQ(commits ? rmc_sync_commit(c.s, &h) : rmc_sync_cancel(c.s, &h),
				 async ? 0 : RMC_SCHEME_TORN);
			CHECK_EQ(rmc_sync_drain(c.s), async && commits ? RMC_SCHEME_TORN : 0);
			CHECK_EQ(stats_of(&c).damaged, commits);
			CHECK_EQ(stats_of(&c).background_failed, async && commits);
			/* the next one's hold is its own */
			CHECK_EQ(rmc_latch_server_holder(server, 0, NULL), OTHER);
			fill((uint8_t *)next.data, LEN, 8);
			CHECK_EQ(rmc_sync_commit(other.s, &next), 0);
			CHECK_EQ(stats_of(&other).damaged, 0);
			CHECK_EQ(read_state(&c), 8);
			CHECK_EQ(holds(), 0);
			client_close(&other);
			client_close(&c);
			rmc_latch_server_close(server);
		}
	}
	tap_where = NULL;
}

/* --- close --- */

/* Closed with each call under way, answered or not, and with each hold: nothing stays latched. */
static void closed(void)
{
	struct rmc_hold h = { .len = LEN }, other = { .len = LEN };
	unsigned int row, k, at;
	struct client c;

	for (row = 0; row < ROWS; row++) {
		for (k = 0; k < 8; k++) {
			for (at = 1; at < 6; at++) {
				tap_where = rows[row];
				server = fake_server(0);
				client_open(&c, NULL, rows[row], k & 1 ? RMC_SYNC_ASYNC : 0, CLIENT);
				h.hint = 0;
				c.link.fault = k & 4 ? MESSAGE_LOST : RESPONSE_LOST;
				c.link.fault_at = at;
				c.link.faults = k & 2 ? 1 : 0;
				if (at & 1) {
					rmc_sync_start(c.s, RMC_SYNC_WRITE, 0, &h);
					rmc_sync_start(c.s, RMC_SYNC_READ, 1024, &other);
				} else if (!rmc_sync_read(c.s, 0, &h)) {
					rmc_sync_start(c.s, RMC_SYNC_UPGRADE, 0, &h);
				}
				client_close(&c);
				CHECK_EQ(holds(), 0);
				rmc_latch_server_close(server);
			}
		}
	}
	tap_where = NULL;
	/* nobody answers: a release is tried eight times */
	server = fake_server(0);
	client_open(&c, NULL, "rw", 0, CLIENT);
	CHECK_EQ(rmc_sync_read(c.s, 0, &h), 0);
	rmc_rpc_set_timeout(c.link.rpc, 1);
	at = c.link.sent;
	c.link.deaf = 1;
	rmc_sync_close(c.s);
	c.s = NULL;
	CHECK_EQ(c.link.sent - at, 8);
	client_close(&c);
	rmc_latch_server_close(server);
}

/* Responses that come when nobody waits for them any more: their memory is not there. */
static void late_response(void)
{
	struct message m = { .head = { 2, 0, RMC_LATCH_RESPONSE, 0 } };
	struct rmc_hold h = { .len = LEN }, *done;
	struct client c;
	unsigned int k;

	/* of a latch: the server does not answer, or the RMC is dead; of releases: it is dead */
	for (k = 0; k < 4; k++) {
		server = fake_server(0);
		client_open(&c, NULL, "rw", k == 2 ? RMC_SYNC_ASYNC : 0, CLIENT);
		rmc_rpc_set_timeout(c.link.rpc, -1);
		if (k > 1)
			CHECK_EQ(rmc_sync_read(c.s, 0, &h), 0);
		c.link.deaf = 1;
		CHECK_EQ(rmc_sync_start(c.s, k > 1 ? RMC_SYNC_END : RMC_SYNC_READ, 0, &h), 0);
		CHECK_EQ(rmc_sync_poll(c.s, &done), 0);
		m.head.ticket = c.link.unanswered.head.ticket;
		c.w.rmc.flags->dead = k > 0;
		rmc_sync_close(c.s);
		c.s = NULL;
		CHECK(k != 0 || c.link.unanswered.head.ticket != m.head.ticket);
		c.link.response[c.link.responses++] = m;
		m.head.ticket = c.link.unanswered.head.ticket;
		c.link.response[c.link.responses++] = m;
		CHECK_EQ(rmc_rpc_progress(c.link.rpc), 2);
		c.link.deaf = 0;
		client_close(&c);
		rmc_latch_server_close(server);
	}
}

/* The window is full, with calls that nobody answers: within its time limit, and beyond */
static void no_room(void)
{
	struct rmc_hold h = { .len = LEN };
	struct client c;
	int i;

	server = fake_server(0);
	client_open(&c, NULL, "rw", 0, CLIENT);
	CHECK_EQ(write_state(&c, 1), 0);
	CHECK_EQ(rmc_sync_read(c.s, 1024, &h), 0);
	c.link.deaf = 1;
	for (i = 0; i < 80; i++)
		CHECK_EQ(rmc_sync_read(c.s, 0, &(struct rmc_hold){ .len = LEN }), RMC_S_TIMEOUT);
	CHECK_EQ(rmc_rpc_post(c.link.rpc, 0, &i, sizeof(i), NULL, 0), -EAGAIN);
	/* a hold ends, and says that it is not released */
	CHECK_EQ(rmc_sync_end(c.s, &h), 0);
	CHECK(stats_of(&c).unlocks_lost > 0);
	rmc_sync_close(c.s);
	c.s = NULL;
	client_close(&c);
	rmc_latch_server_close(server);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "messages, operations and round trips of each row", counts },
		{ "holds exclude each other, readers share, upgrades", excludes },
		{ "the owner asks its own server", owner },
		{ "each message lost, late or doubled", losses },
		{ "operations that are lost under the latch", lost_operations },
		{ "a holder dies in each message and operation: others go on, nothing is torn", deaths },
		{ "lives of a client, and one that is taken for dead", lives },
		{ "a holder that was taken for dead is told", evicted },
		{ "closed in the middle", closed },
		{ "a response that comes behind the close", late_response },
		{ "calls that nobody answers, until there is no room", no_room },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
