// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of random lengths between all members, pushed and pulled: each arrives once, in
 * order and intact, with any faults of links. Where a member crashes, members that detect it
 * revoke the team, and no call blocks forever.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runs.h"

#define PER_PAIR	6
#define LARGEST		3000
#define CELLS		64	/* half of them is more than what is pushed at once */
#define LINGER_US	1000000	/* a member whose last reply was lost retries */

static int received[RUN_NODES][RUN_NODES];

static void plan(void)
{
	memset(received, 0, sizeof(received));
	if (!run_choose(3))
		run.crash_ns = 500000 + run_choose(4000000);
}

static size_t length_of(int from, int to, int n)
{
	return 1 + (unsigned int)(from * 7919 + to * 104729 + n * 1299709) % LARGEST;
}

static void fill(unsigned char *p, int from, int to, int n)
{
	size_t len = length_of(from, to, n), i;

	for (i = 0; i < len; i++)
		p[i] = (unsigned char)(from * 31 + to * 17 + n * 7 + i);
}

/* Returns whether to continue. */
static int good(int err, const char *what)
{
	RUN_CHECK(!err || run.crash_ns, "%s: %s", what, rmc_strerror(err));
	return !err && !run.failed;
}

static int send_some(struct rmc_team *t, struct rmc_msg *m, int *sent, unsigned char *out)
{
	int peer, n = 0, err;

	for (peer = 0; peer < t->nodes; peer++) {
		if (peer == t->self || sent[peer] == PER_PAIR)
			continue;
		/* pulled messages stay there until the flush at the end */
		fill(out + (peer * PER_PAIR + sent[peer]) * LARGEST, t->self, peer, sent[peer]);
		err = rmc_msg_send(m, rmc_team_nid(t, peer),
				   out + (peer * PER_PAIR + sent[peer]) * LARGEST,
				   length_of(t->self, peer, sent[peer]), RMC_MSG_DONTWAIT);
		if (err == -EAGAIN)
			continue;
		if (!good(err, "sending"))
			return -1;
		sent[peer]++;
		n++;
	}
	return n;
}

static int receive_one(struct rmc_team *t, struct rmc_msg *m)
{
	static unsigned char want[LARGEST];
	unsigned char buf[LARGEST];
	size_t len = 0;
	int from = -1, n, err;

	err = rmc_msg_recv(m, RMC_MSG_ANY, buf, sizeof(buf), &len, &from, RMC_MSG_DONTWAIT);
	if (err == -EAGAIN)
		return 0;
	if (!good(err, "receiving"))
		return -1;
	n = received[t->self][from]++;
	RUN_CHECK(n < PER_PAIR && len == length_of(from, t->self, n),
		  "message %d from %d to %d has %zu bytes", n, from, t->self, len);
	fill(want, from, t->self, n);
	RUN_CHECK(run.failed || !memcmp(want, buf, len), "message %d from %d to %d is another",
		  n, from, t->self);
	return 1;
}

/* Send and receive all messages. Returns 0 when done. */
static int exchange(struct rmc_team *t, struct rmc_msg *m)
{
	unsigned char *out = (unsigned char *)t->seg + 256 * 1024;
	int sent[RUN_NODES] = { 0 }, got, left, done, n, peer;

	for (got = 0, left = t->nodes - 1; left || got < (t->nodes - 1) * PER_PAIR; got += n) {
		done = send_some(t, m, sent, out);
		n = receive_one(t, m);
		if (done < 0 || n < 0)
			return -1;
		for (left = 0, peer = 0; peer < t->nodes; peer++)
			left += peer != t->self && sent[peer] < PER_PAIR;
		if (!done && !n)
			sched_yield();
	}
	for (peer = 0; peer < t->nodes; peer++)
		if (peer != t->self && !good(rmc_msg_flush(m, rmc_team_nid(t, peer)), "flush"))
			return -1;
	return !good(rmc_team_barrier(t), "last barrier");
}

static void member(void *arg)
{
	struct rmc_msg_options o = { .cells = CELLS, .threshold = 1024 };
	struct rmc_team *t = rmc_team_open(0, 512 * 1024);
	struct rmc_msg *m = t ? rmc_msg_open_with(t, &o) : NULL;

	(void)arg;
	RUN_CHECK(m || run.crash_ns, "%s", rmc_errmsg());
	if (!m)
		return;
	if (!good(rmc_team_barrier(t), "barrier") || exchange(t, m))
		rmc_team_revoke(t);
	usleep(LINGER_US);
	rmc_msg_close(m);
	rmc_team_close(t);
}

static void check(void)
{
	unsigned int i, j;

	for (i = 0; i < run.o.nodes; i++)
		for (j = 0; j < run.o.nodes; j++)
			RUN_CHECK(received[i][j] == (i == j ? 0 : PER_PAIR) || run.crash_ns,
				  "%u got %d messages of %u", i, received[i][j], j);
}

const struct run_kind run_messages = {
	.name = "messages", .plan = plan, .member = member, .check = check,
};
