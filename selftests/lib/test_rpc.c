/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Calls of <rmc/rpc.h> over stubs of messages: responses that are late, duplicate, from
 * another node, or of another length than they state.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "../../lib/rpc_link.h"
#include "../tap.h"

#define NODES	3
#define FIRST	4		/* node id of the first */
#define WINDOW	2
#define MAX	64
#define QUEUE	16

struct head {
	uint32_t kind;
	int32_t ticket, result;
	uint32_t reserved;
};

#define REQUEST		1
#define RESPONSE	2

/* --- stubs of messages --- */

static struct {
	int status, from;
	size_t len;
	uint8_t data[200];
} queue[QUEUE];
static unsigned int queued, taken;
static int repeated_end;	/* of nid repeated_from, on every call when the queue is empty */
static int repeated_from;
static unsigned int repeats;

static struct {
	int nid;
	size_t len;
	struct head h;
	uint8_t body[200];
} sent;
static unsigned int sends;
static int send_status, rejoin_status;

int rmc_msg_send(struct rmc_msg *m, int nid, const void *buf, size_t len, unsigned int flags)
{
	(void)m;
	(void)flags;
	if (send_status)
		return send_status;
	CHECK(len >= sizeof(sent.h) && len <= sizeof(sent.h) + MAX);
	sent.nid = nid;
	sent.len = len - sizeof(sent.h);
	memcpy(&sent.h, buf, sizeof(sent.h));
	memcpy(sent.body, (const uint8_t *)buf + sizeof(sent.h), sent.len);
	sends++;
	return 0;
}

int rmc_msg_recv(struct rmc_msg *m, int nid, void *buf, size_t size, size_t *len, int *from,
		 unsigned int flags)
{
	(void)m;
	CHECK(nid == RMC_MSG_ANY && flags == RMC_MSG_DONTWAIT);
	if (taken == queued && repeated_end) {
		*from = repeated_from;
		return ++repeats > 1000 ? -EIO : repeated_end;
	}
	if (taken == queued)
		return -EAGAIN;
	*from = queue[taken % QUEUE].from;
	*len = queue[taken % QUEUE].len;
	CHECK(*len <= size);
	memcpy(buf, queue[taken % QUEUE].data, *len);
	return queue[taken++ % QUEUE].status;
}

static int flushed = -1;

int rmc_msg_flush(struct rmc_msg *m, int nid)
{
	CHECK(m == (struct rmc_msg *)(void *)&sent);
	flushed = nid;
	return 0;
}

int rmc_msg_rejoin(struct rmc_msg *m, int nid, unsigned int timeout_ms)
{
	(void)m;
	(void)nid;
	(void)timeout_ms;
	return rejoin_status;
}

static void arrives(int from, uint32_t kind, int ticket, int result, const void *body, size_t len)
{
	struct head h = { kind, ticket, result, 0 };

	queue[queued % QUEUE].status = 0;
	queue[queued % QUEUE].from = from;
	queue[queued % QUEUE].len = sizeof(h) + len;
	memcpy(queue[queued % QUEUE].data, &h, sizeof(h));
	memcpy(queue[queued % QUEUE].data + sizeof(h), body, len);
	queued++;
}

static void ends(int from, int status)
{
	queue[queued % QUEUE].status = status;
	queue[queued % QUEUE].from = from;
	queue[queued % QUEUE].len = 0;
	queued++;
}

/* --- calls over these stubs --- */

static int handled, handler_result;
static size_t handler_len;

static int handler(void *arg, int nid, const void *request, size_t len, void *response,
		   size_t size)
{
	CHECK(arg == &handled && nid == FIRST + 2 && size == MAX);
	CHECK(len < 1 || *(const uint8_t *)request == 'q');
	handler_len = len;
	handled++;
	memset(response, 'r', size);
	return handler_result;
}

static struct rmc_rpc *open_calls(void)
{
	struct rmc_rpc_options o = {
		.max = MAX, .window = WINDOW, .nodes = NODES, .first_nid = FIRST,
		.handler = handler, .arg = &handled,
	};
	struct rmc_rpc *r = rmc_rpc_open((struct rmc_msg *)(void *)&sent, &o);

	CHECK(r);
	queued = taken = sends = repeats = 0;
	send_status = rejoin_status = handled = repeated_end = 0;
	return r;
}

static int post(struct rmc_rpc *r, int nid, void *response, size_t size)
{
	return rmc_rpc_post(r, nid, "question", 8, response, size);
}

/* Poll a call once: PENDING, or its result. */
#define PENDING	-9999

static int poll_call(struct rmc_rpc *r, int ticket)
{
	int result = 0, failed = 0, n = rmc_rpc_poll(r, ticket, &result, &failed);

	return n < 0 ? n : n ? result : PENDING;
}

static void answered(void)
{
	uint8_t out[20] = { 0 };
	struct rmc_rpc *r = open_calls();
	int t = post(r, FIRST + 1, out, 10);

	CHECK(t >= 0);
	CHECK(sent.nid == FIRST + 1 && sent.h.kind == REQUEST && sent.h.ticket == t);
	CHECK(sent.len == 8 && !memcmp(sent.body, "question", 8));
	CHECK_EQ(poll_call(r, t), PENDING);
	arrives(FIRST + 1, RESPONSE, t, 10, "0123456789", 10);
	CHECK_EQ(poll_call(r, t), 10);
	CHECK(!memcmp(out, "0123456789", 11));
	CHECK_EQ(poll_call(r, t), -EINVAL);			/* a ticket is valid once */
	t = post(r, FIRST + 1, out, 10);
	arrives(FIRST + 1, RESPONSE, t, -ENOENT, "", 0);
	CHECK_EQ(poll_call(r, t), -ENOENT);
	CHECK(!memcmp(out, "0123456789", 11));
	rmc_rpc_close(r);
}

/* Responses of another length than they state, or longer than the buffer */
static void lengths(void)
{
	uint8_t out[20];
	struct rmc_rpc *r = open_calls();
	int t;

	memset(out, 0x55, sizeof(out));
	t = post(r, FIRST, out, 9);
	arrives(FIRST, RESPONSE, t, 10, "0123456789", 10);
	CHECK_EQ(poll_call(r, t), -EMSGSIZE);
	t = post(r, FIRST, out, 20);
	arrives(FIRST, RESPONSE, t, 10, "01234567", 8);
	CHECK_EQ(poll_call(r, t), -EPROTO);
	t = post(r, FIRST, out, 20);
	arrives(FIRST, RESPONSE, t, 8, "0123456789", 10);
	CHECK_EQ(poll_call(r, t), -EPROTO);
	t = post(r, FIRST, out, 20);
	arrives(FIRST, RESPONSE, t, 8, "", 0);
	CHECK_EQ(poll_call(r, t), -EPROTO);
	CHECK(out[0] == 0x55 && !memcmp(out, out + 1, 19));
	/* messages without a header, of an unknown kind or with a bad ticket are dropped */
	t = post(r, FIRST, out, 20);
	arrives(FIRST, RESPONSE, t, 1, "x", 1);
	queue[(queued - 1) % QUEUE].len = sizeof(struct head) - 1;
	arrives(FIRST, 3, t, 1, "x", 1);
	arrives(FIRST, RESPONSE, -1, 1, "x", 1);
	CHECK_EQ(rmc_rpc_progress(r), 3);
	CHECK_EQ(poll_call(r, t), PENDING);
	CHECK(out[0] == 0x55 && !handled && sends == 5);
	rmc_rpc_close(r);
}

/* A late response to a cancelled call whose place a new call has taken */
static void late(void)
{
	uint8_t old[8], now[8];
	struct rmc_rpc *r = open_calls();
	int a, b, c;

	memset(old, 0x55, sizeof(old));
	memset(now, 0x66, sizeof(now));
	a = post(r, FIRST, old, 8);
	b = post(r, FIRST, old, 8);
	CHECK_EQ(post(r, FIRST, old, 8), -EAGAIN);
	CHECK_EQ(rmc_rpc_cancel(r, a), 0);
	CHECK_EQ(rmc_rpc_cancel(r, a), -EINVAL);
	CHECK_EQ(poll_call(r, a), -EINVAL);
	/* it occupies its place until its response arrives */
	CHECK_EQ(post(r, FIRST, old, 8), -EAGAIN);
	arrives(FIRST, RESPONSE, a, 8, "too late", 8);
	CHECK_EQ(rmc_rpc_progress(r), 1);
	CHECK_EQ(old[0], 0x55);
	c = post(r, FIRST, now, 8);
	CHECK(c >= 0 && c != a && c != b);
	arrives(FIRST, RESPONSE, a, 8, "too late", 8);
	CHECK_EQ(poll_call(r, c), PENDING);
	CHECK(now[0] == 0x66 && old[0] == 0x55);
	arrives(FIRST, RESPONSE, c, 8, "in time!", 8);
	arrives(FIRST, RESPONSE, c, 8, "repeated", 8);
	CHECK_EQ(rmc_rpc_progress(r), 2);
	CHECK_EQ(poll_call(r, c), 8);
	CHECK(!memcmp(now, "in time!", 8));
	CHECK_EQ(poll_call(r, b), PENDING);
	/* cancelling a complete call: no response is awaited */
	arrives(FIRST, RESPONSE, b, 0, "", 0);
	CHECK_EQ(rmc_rpc_progress(r), 1);
	CHECK_EQ(rmc_rpc_cancel(r, b), 0);
	CHECK(post(r, FIRST, now, 8) >= 0 && post(r, FIRST, now, 8) >= 0);
	rmc_rpc_close(r);
}

static void wrong_node(void)
{
	uint8_t out[8] = { 0x55 };
	struct rmc_rpc *r = open_calls();
	int t = post(r, FIRST + 1, out, 8);

	arrives(FIRST, RESPONSE, t, 8, "from 0 !", 8);
	arrives(FIRST + 2, RESPONSE, t, 8, "from 2 !", 8);
	CHECK_EQ(rmc_rpc_progress(r), 2);
	CHECK_EQ(poll_call(r, t), PENDING);
	CHECK_EQ(out[0], 0x55);
	arrives(FIRST + 1, RESPONSE, t, 8, "from 1 !", 8);
	CHECK_EQ(poll_call(r, t), 8);
	CHECK(!memcmp(out, "from 1 !", 8));
	rmc_rpc_close(r);
}

static void requests(void)
{
	struct rmc_rpc *r = open_calls();

	handler_result = MAX;
	arrives(FIRST + 2, REQUEST, 77, 0, "q12", 3);
	CHECK_EQ(rmc_rpc_progress(r), 1);
	CHECK(handled == 1 && handler_len == 3);
	CHECK(sent.nid == FIRST + 2 && sent.h.kind == RESPONSE && sent.h.ticket == 77);
	CHECK(sent.h.result == MAX && sent.len == MAX && sent.body[MAX - 1] == 'r');
	/* a response longer than the buffer is not sent, and a failed one has no data */
	handler_result = MAX + 1;
	arrives(FIRST + 2, REQUEST, 78, 0, "q", 1);
	CHECK_EQ(rmc_rpc_progress(r), 1);
	CHECK(sent.h.result == -EMSGSIZE && sent.len == 0);
	handler_result = -EIO;
	arrives(FIRST + 2, REQUEST, 79, 0, "", 0);
	CHECK_EQ(rmc_rpc_progress(r), 1);
	CHECK(sent.h.result == -EIO && sent.len == 0 && handler_len == 0);
	/* at most as many requests as the caller asks for are served */
	handler_result = 0;
	arrives(FIRST + 2, REQUEST, 80, 0, "q", 1);
	arrives(FIRST + 2, REQUEST, 81, 0, "q", 1);
	CHECK_EQ(rmc_rpc_progress_max(r, 0), 0);
	CHECK_EQ(rmc_rpc_progress_max(r, 1), 1);
	CHECK(handled == 4 && sent.h.ticket == 80);
	CHECK_EQ(rmc_rpc_progress_max(r, 5), 1);
	rmc_rpc_close(r);
}

static void nobody_serves(void)
{
	struct rmc_rpc_options o = { .max = MAX, .nodes = NODES, .first_nid = FIRST };
	struct rmc_rpc *r = rmc_rpc_open((struct rmc_msg *)(void *)&sent, &o);

	CHECK(r);
	queued = taken = 0;
	arrives(FIRST, REQUEST, 1, 0, "q", 1);
	CHECK_EQ(rmc_rpc_progress(r), 1);
	CHECK(sent.h.result == -ENOSYS && sent.len == 0);
	rmc_rpc_close(r);
}

static void refused(void)
{
	uint8_t big[MAX + 1] = { 0 };
	struct rmc_rpc_options o = { .max = MAX, .window = 4097, .nodes = 1 };
	struct rmc_rpc *r = open_calls();

	CHECK_EQ(post(r, FIRST - 1, NULL, 0), -EINVAL);
	CHECK_EQ(post(r, FIRST + NODES, NULL, 0), -EINVAL);
	CHECK_EQ(rmc_rpc_post(r, FIRST, big, MAX + 1, NULL, 0), -EMSGSIZE);
	CHECK_EQ(poll_call(r, -1), -EINVAL);
	CHECK_EQ(poll_call(r, 12345), -EINVAL);
	CHECK_EQ(rmc_rpc_cancel(r, -1), -EINVAL);
	/* a request that could not be sent frees its place */
	send_status = -EIO;
	CHECK_EQ(post(r, FIRST, NULL, 0), -EIO);
	CHECK_EQ(post(r, FIRST, NULL, 0), -EIO);
	CHECK_EQ(post(r, FIRST, NULL, 0), -EIO);
	send_status = 0;
	CHECK(rmc_rpc_post(r, FIRST, big, MAX, NULL, 0) >= 0);
	CHECK_EQ(sends, 1);
	rmc_rpc_close(r);
	CHECK(!rmc_rpc_open((struct rmc_msg *)(void *)&sent, &o) && errno == EINVAL);
	CHECK(strstr(rmc_errmsg(), "4097"));
}

/* A node's end ends the calls to it, and no others. It is reported until the node is back. */
static void lost(void)
{
	uint8_t out[8];
	struct rmc_rpc *r = open_calls();
	int a = post(r, FIRST, out, 8), b = post(r, FIRST, out, 8);
	int c = post(r, FIRST + 1, out, 8), result = 0, failed = 0;

	CHECK_EQ(rmc_rpc_cancel(r, b), 0);
	CHECK_EQ(rmc_rpc_lost(r, FIRST), 0);
	ends(FIRST, RMC_S_NODE_DOWN);
	CHECK_EQ(rmc_rpc_progress(r), 1);
	CHECK_EQ(rmc_rpc_lost(r, FIRST), RMC_S_NODE_DOWN);
	CHECK_EQ(rmc_rpc_lost(r, FIRST + 1), 0);
	CHECK_EQ(rmc_rpc_lost(r, FIRST + NODES), 0);
	CHECK_EQ(rmc_rpc_poll(r, a, &result, &failed), 1);
	CHECK(result == RMC_S_NODE_DOWN && failed == 1);
	CHECK_EQ(poll_call(r, c), PENDING);
	CHECK_EQ(post(r, FIRST, out, 8), -ENODEV);
	CHECK_EQ(rmc_rpc_call(r, FIRST, "x", 1, out, 8, NULL), RMC_S_NODE_DOWN);
	/* the first cause stays */
	ends(FIRST, RMC_S_BAD_CONTEXT);
	CHECK_EQ(rmc_rpc_progress(r), 0);
	CHECK_EQ(rmc_rpc_lost(r, FIRST), RMC_S_NODE_DOWN);
	rejoin_status = -ETIMEDOUT;
	CHECK_EQ(rmc_rpc_rejoin(r, FIRST, 1), -ETIMEDOUT);
	CHECK_EQ(post(r, FIRST, out, 8), -ENODEV);
	CHECK_EQ(rmc_rpc_rejoin(r, FIRST + NODES, 1), -EINVAL);
	rejoin_status = 0;
	CHECK_EQ(rmc_rpc_rejoin(r, FIRST, 1), 0);
	/* both places are free again, that of the cancelled call too */
	CHECK(post(r, FIRST, out, 8) >= 0 && post(r, FIRST, out, 8) >= 0);
	/* a rejoin without a noticed end ends the calls to the earlier incarnation */
	c = post(r, FIRST + 2, out, 8);
	CHECK_EQ(rmc_rpc_rejoin(r, FIRST + 2, 1), 0);
	CHECK_EQ(rmc_rpc_flush(r, FIRST + 2), 0);
	CHECK_EQ(flushed, FIRST + 2);
	CHECK_EQ(rmc_rpc_flush(r, FIRST - 1), -EINVAL);
	CHECK_EQ(rmc_rpc_poll(r, c, &result, &failed), 1);
	CHECK(result == RMC_S_BAD_CONTEXT && failed == 1);
	/* the end is detected by a send */
	send_status = RMC_S_NODE_DOWN;
	CHECK_EQ(post(r, FIRST + 2, out, 8), -ENODEV);
	CHECK_EQ(rmc_rpc_lost(r, FIRST + 2), RMC_S_NODE_DOWN);
	rmc_rpc_close(r);
}

/*
 * Messages know members that calls were not opened for: options.nodes is less than the team. They
 * report an end on every call, when no other peer is left.
 */
static void outside(void)
{
	static const int nids[] = { FIRST - 1, FIRST + NODES, FIRST + NODES + 7 };
	uint8_t out[8];
	struct rmc_rpc *r = open_calls();
	int t = post(r, FIRST, out, 8);
	unsigned int i;

	for (i = 0; i < sizeof(nids) / sizeof(nids[0]); i++) {
		repeated_from = nids[i];
		repeated_end = RMC_S_NODE_DOWN;
		CHECK_EQ(rmc_rpc_progress(r), 0);
		CHECK_EQ(rmc_rpc_lost(r, nids[i]), 0);
		arrives(nids[i], RESPONSE, t, 8, "outside!", 8);
		CHECK_EQ(rmc_rpc_progress(r), 1);
		repeated_end = 0;
	}
	for (i = 0; i < NODES; i++)
		CHECK_EQ(rmc_rpc_lost(r, FIRST + (int)i), 0);
	CHECK_EQ(poll_call(r, t), PENDING);
	/* the end of one that calls know is counted once, what is behind the others is taken */
	ends(nids[0], RMC_S_NODE_DOWN);
	ends(nids[1], RMC_S_NODE_DOWN);
	arrives(FIRST, RESPONSE, t, 8, "answered", 8);
	repeated_from = FIRST;
	repeated_end = RMC_S_NODE_DOWN;
	CHECK_EQ(rmc_rpc_progress(r), 2);
	CHECK_EQ(poll_call(r, t), 8);
	rmc_rpc_close(r);
}

static void time_limits(void)
{
	uint8_t out[8] = { 0x55 };
	struct rmc_rpc *r = open_calls();
	size_t got = 99;
	int t;

	rmc_rpc_set_timeout(r, 5);
	t = post(r, FIRST, out, 8);
	usleep(20000);
	CHECK_EQ(poll_call(r, t), -ETIMEDOUT);
	CHECK_EQ(poll_call(r, t), -EINVAL);
	CHECK_EQ(rmc_rpc_call(r, FIRST, "x", 1, out, 8, &got), -ETIMEDOUT);
	/* both responses are still awaited: a third call finds no place, and times out */
	CHECK_EQ(post(r, FIRST, out, 8), -EAGAIN);
	CHECK_EQ(rmc_rpc_call(r, FIRST, "x", 1, out, 8, &got), -ETIMEDOUT);
	CHECK_EQ(sends, 2);
	arrives(FIRST, RESPONSE, t, 8, "too late", 8);
	CHECK_EQ(rmc_rpc_progress(r), 1);
	CHECK_EQ(out[0], 0x55);
	/* a response that is there is delivered, although the time is over */
	t = post(r, FIRST, out, 8);
	usleep(20000);
	arrives(FIRST, RESPONSE, t, 8, "in time!", 8);
	CHECK_EQ(poll_call(r, t), 8);
	CHECK_EQ(got, 99);
	rmc_rpc_close(r);
}

/* Another kind of message: one place, which a member writes and the same member reads */
static struct {
	uint8_t data[MAX + RMC_RPC_HEADER];
	size_t len;
	int to, full, rejoined, closed;
} place;

static int place_send(void *to, int nid, const void *buf, size_t len)
{
	CHECK(to == &place && len <= sizeof(place.data));
	if (place.full)
		return -EAGAIN;
	memcpy(place.data, buf, len);
	place.len = len;
	place.to = nid;
	place.full = 1;
	return 0;
}

static int place_recv(void *to, void *buf, size_t size, size_t *len, int *from)
{
	CHECK(to == &place);
	if (!place.full)
		return -EAGAIN;
	CHECK(place.len <= size);
	memcpy(buf, place.data, place.len);
	*len = place.len;
	*from = place.to;
	place.full = 0;
	return 0;
}

static int place_rejoin(void *to, int nid, unsigned int timeout_ms)
{
	CHECK(to == &place);
	place.rejoined = nid * 100 + (int)timeout_ms;
	return 0;
}

static void place_close(void *to)
{
	CHECK(to == &place);
	place.closed++;
}

static void other_messages(void)
{
	static const struct rmc_rpc_link link = {
		.request = place_send, .respond = place_send, .recv = place_recv,
		.rejoin = place_rejoin, .close = place_close,
	};
	struct rmc_rpc_options o = {
		.max = MAX, .nodes = NODES, .first_nid = FIRST, .handler = handler, .arg = &handled,
	};
	struct rmc_rpc *r = rmc_rpc_open_over(&link, &place, &o);
	uint8_t out[8] = { 0 };
	size_t got = 0;

	CHECK(r);
	sends = queued = taken = 0;
	handler_result = 3;
	CHECK_EQ(rmc_rpc_call(r, FIRST + 2, "q", 1, out, 8, &got), 0);
	CHECK(got == 3 && !memcmp(out, "rrr", 4) && handled && !place.full);
	CHECK_EQ(rmc_rpc_rejoin(r, FIRST + 1, 7), 0);
	CHECK_EQ(place.rejoined, (FIRST + 1) * 100 + 7);
	CHECK_EQ(place.closed, 0);
	rmc_rpc_close(r);
	CHECK(place.closed == 1 && !sends && !taken);
	/* a link whose calls cannot be opened stays its caller's */
	o.nodes = 0;
	CHECK(!rmc_rpc_open_over(&link, &place, &o));
	CHECK_EQ(place.closed, 1);
}

static void cells(void)
{
	unsigned int w, c;
	size_t max;

	for (w = 1; w <= 8; w++) {
		for (max = 0; max < 2000; max += 37) {
			uint64_t each = (max + RMC_RPC_HEADER + RMC_MSG_PAYLOAD - 1) / RMC_MSG_PAYLOAD;

			c = rmc_rpc_cells(max, w);
			CHECK(!(c & (c - 1)) && c >= RMC_MSG_CELLS_MIN);
			/* up to a quarter of the cells may be returned late */
			CHECK(c - c / 4 >= 2 * w * each);
			CHECK(c == RMC_MSG_CELLS_MIN || c / 2 < 3 * w * each + 8);
		}
	}
	CHECK_EQ(rmc_rpc_cells(100, 0), rmc_rpc_cells(100, 1));
	CHECK_EQ(rmc_rpc_cells((size_t)RMC_MSG_CELLS_MAX * RMC_MSG_PAYLOAD, 1), 0);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "a call is answered once", answered },
		{ "responses of another length than they say, or than there is room", lengths },
		{ "late and repeated responses reach no other call", late },
		{ "nor do those of another node", wrong_node },
		{ "requests are answered, within what fits", requests },
		{ "nobody serves", nobody_serves },
		{ "calls that cannot be made", refused },
		{ "a node's end ends the calls to it alone", lost },
		{ "the end of a member that calls do not know ends none", outside },
		{ "time limits", time_limits },
		{ "calls over another kind of message", other_messages },
		{ "cells for so many calls", cells },
	};

	return tap_run(tests, (int)(sizeof(tests) / sizeof(tests[0])));
}
