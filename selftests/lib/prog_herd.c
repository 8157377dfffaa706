/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Error cases of receive buffers: prog_herd MODE, as a member of a team of two. Member 0
 * serves. Prints "member N: ok", or the failed check and fails.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "../../lib/cell.h"
#include "control.h"
#include "member.h"

#define SIZE		200
#define SLOTS		3
#define QUIT		0xff	/* first byte of the last request */
#define PATIENCE_MS	20000
#define SLOW_MS		500	/* as DELAY */
#define DELAY		"500ms"
#define TIMEOUT_MS	60
#define TRIES		8	/* of the library, while the node is up */
#define CELLS		((SIZE + RMC_MSG_PAYLOAD - 1) / RMC_MSG_PAYLOAD)
#define IDLE_POLLS	40000
#define POLLS		1000	/* polls that find no request */

static struct rmc_herd *h;
static struct rmc_herd_options o = { .server = 0, .cores = 1, .slots = SLOTS, .size = SIZE };

static long long ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Answer each request with SIZE copies of its byte, until QUIT; count requests by byte. */
static void serve(unsigned int *seen)
{
	struct rmc_herd_core *core = rmc_herd_core(h, 0);
	struct rmc_herd_request r;
	uint8_t out[SIZE];
	int n;

	for (;;) {
		n = rmc_herd_poll(core, &r);
		CHECK(n >= 0);
		if (!n)
			continue;
		CHECK(r.len == 1);
		memset(out, *(const uint8_t *)r.data, SIZE);
		seen[out[0]]++;
		OK(rmc_herd_reply(core, &r, out, SIZE));
		if (out[0] == QUIT)
			return;
	}
}

static int call(uint8_t what, size_t room)
{
	uint8_t response[SIZE] = { 0 };
	size_t len = 0, i;
	int err;

	err = rmc_herd_call(h, 0, &what, 1, response, room, &len);
	if (err)
		return err;
	CHECK(len == SIZE);
	for (i = 0; i < SIZE; i++)
		CHECK(response[i] == what);
	return 0;
}

/* Like call(), repeated until a slot is free. */
static void call_until(uint8_t what)
{
	long long end = ms() + PATIENCE_MS;
	int err;

	while ((err = call(what, SIZE)) == -EAGAIN && ms() < end)
		usleep(1000);
	OK(err);
}

/* A response larger than the caller's buffer does not keep its slot occupied. */
static void small(void)
{
	unsigned int seen[256] = { 0 };
	int i;

	if (!team->self) {
		serve(seen);
		CHECK(seen[1] == 5 * SLOTS);
		return;
	}
	for (i = 0; i < 5 * SLOTS; i++)
		CHECK(call(1, 10) == -EMSGSIZE);
	OK(call(2, SIZE));
	OK(call(QUIT, SIZE));
}

/* Neither does a cancelled ticket, and no other call gets its response. */
static void cancel(void)
{
	unsigned int seen[256] = { 0 };
	int i, round, ticket[SLOTS];
	uint8_t what = 3, buf[SIZE];

	if (!team->self) {
		usleep(100000);		/* all requests are posted before the first is answered */
		serve(seen);
		CHECK(seen[3] == 10 * SLOTS);
		return;
	}
	for (round = 0; round < 10; round++) {
		for (i = 0; i < SLOTS; i++)
			OK(rmc_herd_post(h, 0, &what, 1, &ticket[i]));
		for (i = 0; i < SLOTS; i++) {
			OK(rmc_herd_cancel(h, ticket[i]));
			CHECK(rmc_herd_cancel(h, ticket[i]) == -EINVAL);
			CHECK(rmc_herd_wait(h, ticket[i], buf, SIZE, NULL) == -EINVAL);
		}
		for (i = 0; i < SLOTS; i++)
			call_until(4);
	}
	OK(call(QUIT, SIZE));
}

/*
 * The write of a request failed with a timeout: the request may have arrived or not. First
 * requests are lost, then the replies to them.
 */
static void lost(void)
{
	static const char * const faults[] = {
		"set --from 1 --to 0 --lane requests --down",
		"set --from 0 --to 1 --lane replies --down",
	};
	unsigned int seen[256] = { 0 };
	long long began;
	int round, i;

	if (!team->self) {
		serve(seen);
		CHECK(seen[5] == SLOTS && seen[6] == 2 * SLOTS);
		return;
	}
	for (round = 0; round < 2; round++) {
		control_faults("timeout --retries 0 60");
		control_faults(faults[round]);
		for (i = 0; i < SLOTS; i++) {
			began = ms();
			/* a request that arrived may be answered before the last try fails */
			if (call(5, SIZE) != RMC_S_TIMEOUT)
				CHECK(round);
			else
				CHECK(ms() - began >= (TRIES - 1) * TIMEOUT_MS);
		}
		control_faults("clear");
		control_faults("timeout --retries 0 10000");
		for (i = 0; i < SLOTS; i++)
			call_until(6);
	}
	call_until(QUIT);
}

/* The server dies: tickets end with its status, and so do later requests. */
static void orphan(void)
{
	int ticket[SLOTS], err, i;
	uint8_t buf[SIZE];

	if (!team->self) {
		usleep(300000);
		_exit(0);
	}
	for (i = 0; i < SLOTS; i++)
		OK(rmc_herd_post(h, 0, "x", 1, &ticket[i]));
	OK(rmc_herd_cancel(h, ticket[0]));
	for (i = 1; i < SLOTS; i++) {
		err = rmc_herd_wait(h, ticket[i], buf, SIZE, NULL);
		CHECK(err == RMC_S_NODE_DOWN || err == RMC_S_BAD_CONTEXT);
		CHECK(rmc_herd_wait(h, ticket[i], buf, SIZE, NULL) == -EINVAL);
	}
	err = rmc_herd_post(h, 0, "x", 1, &ticket[0]);
	CHECK(err == RMC_S_NODE_DOWN || err == RMC_S_BAD_CONTEXT);
}

/* All tickets are cancelled, then the server dies: EAGAIN must not be returned for ever. */
static void orphan_cancelled(void)
{
	long long end = ms() + PATIENCE_MS;
	int ticket, err, i;

	if (!team->self) {
		usleep(300000);
		_exit(0);
	}
	for (i = 0; i < SLOTS; i++) {
		OK(rmc_herd_post(h, 0, "x", 1, &ticket));
		OK(rmc_herd_cancel(h, ticket));
	}
	while ((err = rmc_herd_post(h, 0, "x", 1, &ticket)) == -EAGAIN && ms() < end)
		usleep(1000);
	CHECK(err == RMC_S_NODE_DOWN || err == RMC_S_BAD_CONTEXT);
}

/* Counts for the library, which is linked with --wrap=sched_yield */
static unsigned int yields;

int __wrap_sched_yield(void);
int __real_sched_yield(void);
int __wrap_sched_yield(void)
{
	yields++;
	return __real_sched_yield();
}

/*
 * An idle server yields to a worker that may want its CPU, and reports that its queue pair is
 * dead.
 */
static void idle(void)
{
	struct rmc_herd_request r;
	unsigned int i;
	int n = 0;

	if (team->self)
		return;
	yields = 0;
	for (i = 0; i < IDLE_POLLS; i++)
		CHECK(!rmc_herd_poll(rmc_herd_core(h, 0), &r));
	/* one each few microseconds, where a worker may want this CPU */
	CHECK(yields >= 20 || !team->qp->flags->shared_cpu);
	control_kill_daemon();
	while (!rmc_load_relaxed(&team->qp->flags->dead))
		usleep(1000);
	usleep(10000);
	for (i = 0; i < 1000 && !n; i++)
		n = rmc_herd_poll(rmc_herd_core(h, 0), &r);
	CHECK(n == -ESHUTDOWN && i <= RMC_SPINS_PER_CHECK);
	printf("member 0: ok\n");
	fflush(stdout);
	_exit(0);
}

static int poll_one(struct rmc_herd_core *core, struct rmc_herd_request *r)
{
	long long end = ms() + PATIENCE_MS;
	int n;

	while (!(n = rmc_herd_poll(core, r)) && ms() < end)
		;
	return n;
}

static void poll_nothing(struct rmc_herd_core *core)
{
	struct rmc_herd_request r;
	int i;

	for (i = 0; i < POLLS; i++)
		CHECK(!rmc_herd_poll(core, &r));
}

/* A server may keep requests for a while: each is delivered once and takes one response. */
static void kept(void)
{
	struct rmc_herd_core *core = rmc_herd_core(h, 0);
	struct rmc_herd_request r[SLOTS];
	uint8_t buf[SIZE + 1] = { 0 }, what[SLOTS];
	int i, k, ticket[SLOTS];
	size_t len;

	if (!team->self) {
		for (i = 0; i < SLOTS; i++) {
			CHECK(poll_one(core, &r[i]) == 1);
			what[i] = *(const uint8_t *)r[i].data;
			for (k = 0; k < i; k++)
				CHECK(r[k].slot != r[i].slot);
		}
		poll_nothing(core);
		for (i = SLOTS; i-- > 0; ) {
			memset(buf, what[i], SIZE);
			CHECK(rmc_herd_reply(core, &r[i], buf, SIZE + 1) == -EMSGSIZE);
			OK(rmc_herd_reply(core, &r[i], buf, SIZE));
			CHECK(rmc_herd_reply(core, &r[i], buf, SIZE) == -EINVAL);
		}
		r[0].slot = SLOTS;
		CHECK(rmc_herd_reply(core, &r[0], buf, SIZE) == -EINVAL);
		return;
	}
	for (i = 0; i < SLOTS; i++) {
		what[i] = (uint8_t)(10 + i);
		OK(rmc_herd_post(h, 0, &what[i], 1, &ticket[i]));
	}
	for (i = 0; i < SLOTS; i++) {
		OK(rmc_herd_wait(h, ticket[i], buf, SIZE, &len));
		CHECK(len == SIZE && buf[0] == what[i] && !memcmp(buf, buf + 1, SIZE - 1));
	}
}

/* A word after the receive buffers, through which members report their steps to each other */
static uint64_t *word;		/* registered */

static void announce(uint64_t step)
{
	*word = step;
	OK(rmc_write(team->qp, rmc_team_nid(team, !team->self),
		     team->offset + rmc_herd_bytes(&o), word, 8));
}

static void await_step(uint64_t step)
{
	const uint64_t *at = (const uint64_t *)(const void *)
		((const uint8_t *)team->seg + rmc_herd_bytes(&o));
	long long end = ms() + PATIENCE_MS;

	while (rmc_load_acquire(at) != step && ms() < end)
		usleep(100);
	CHECK(rmc_load_acquire(at) == step);
}

/*
 * Cells of a request arrive in any order. It is complete when all have arrived; cells of the
 * slot's previous use do not count. The client is a stub that writes cells one by one into
 * slot 0.
 */
static void in_pieces(void)
{
	static const unsigned int order[2][CELLS] = { { 0, 3, 1, 2 }, { 2, 0, 3, 1 } };
	struct rmc_herd_core *core = rmc_herd_core(h, 0);
	struct rmc_cell *cell = (struct rmc_cell *)(void *)(word + 8);
	unsigned int use, i, k, n;
	struct rmc_herd_request r;
	uint64_t step = 0;

	for (use = 0; use < 2; use++) {
		for (i = 0; i < CELLS; i++) {
			step++;
			if (!team->self) {
				await_step(step);
				if (i < CELLS - 1)
					poll_nothing(core);
				else
					CHECK(poll_one(core, &r) == 1);
				announce(step);
				continue;
			}
			k = order[use][i];
			n = k < CELLS - 1 ? RMC_MSG_PAYLOAD : SIZE - k * RMC_MSG_PAYLOAD;
			cell->head = k ? rmc_cell_head(!use, RMC_CELL_MORE, 0, use)
				       : rmc_cell_head(!use, RMC_CELL_PUSH, 0, SIZE);
			memset(cell->payload, (int)(1 + CELLS * use + k), n);
			OK(rmc_write(team->qp, rmc_team_nid(team, 0),
				     team->offset + k * sizeof(*cell), cell, sizeof(*cell)));
			announce(step);
			await_step(step);
		}
		if (team->self)
			continue;
		CHECK(r.len == SIZE && !r.slot);
		for (i = 0; i < SIZE; i++)
			CHECK(((const uint8_t *)r.data)[i] ==
			      1 + CELLS * use + i / RMC_MSG_PAYLOAD);
		OK(rmc_herd_reply(core, &r, "", 0));
	}
}

/*
 * The other side has a message, and uses its slot again, before the write of it completes. The
 * source of a write must not change until then: a lost packet is sent again from there. The
 * completion of all writes of one member is late.
 */
static void late(const char *fault)
{
	unsigned int seen[256] = { 0 };
	long long began, took = SLOW_MS;
	int i, tries, ticket[SLOTS];
	uint8_t buf[SIZE], what = 1;

	if (!team->self) {
		serve(seen);
		return;
	}
	control_faults(fault);
	/* all slots have responses before anything completes, unless this machine stands still */
	for (tries = 0; took >= SLOW_MS && tries < 10; tries++) {
		began = ms();
		for (i = 0; i < SLOTS; i++)
			OK(rmc_herd_post(h, 0, &what, 1, &ticket[i]));
		/* a call that waits for long asks the server, after all writes completed */
		usleep(SLOW_MS * 1000 / 4);
		for (i = 0; i < SLOTS; i++)
			OK(rmc_herd_wait(h, ticket[i], buf, SIZE, NULL));
		took = ms() - began;
		OK(call(2, SIZE));
		CHECK(ms() - began >= SLOW_MS - 1);
		usleep(SLOW_MS * 1000);
	}
	CHECK(took < SLOW_MS);
	control_faults("clear");
	OK(call(QUIT, SIZE));
}

static void late_requests(void)
{
	late("set --from 0 --to 1 --lane replies --delay " DELAY);
}

static void late_responses(void)
{
	late("set --from 1 --to 0 --lane replies --delay " DELAY);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "small", small }, { "cancel", cancel }, { "lost", lost }, { "orphan", orphan },
		{ "orphan_cancelled", orphan_cancelled }, { "idle", idle }, { "kept", kept },
		{ "pieces", in_pieces }, { "late_requests", late_requests },
		{ "late_responses", late_responses },
	};
	unsigned int i;

	team = rmc_team_open(0, rmc_herd_bytes(&o) + sizeof(*word));
	if (!team) {
		printf("%s\n", rmc_errmsg());
		return 1;
	}
	h = rmc_herd_open(team, &o);
	CHECK(h);
	word = (uint64_t *)aligned_alloc(4096, 4096);
	CHECK(word && rmc_buf_register(team->ctx, word, 4096) >= 0);
	OK(rmc_team_barrier(team));
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (argc > 1 && !strcmp(argv[1], modes[i].name))
			break;
	CHECK(i < sizeof(modes) / sizeof(modes[0]));
	modes[i].run();
	rmc_herd_close(h);
	printf("member %d: ok\n", team->self);
	rmc_team_close(team);
	free(word);
	return 0;
}
