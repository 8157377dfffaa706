/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Part of test_msg.c: node 1 restarts and is admitted again. The test acts as node 1 and
 * writes its line at node 0. Checks of the memory show how node 0 treats the earlier
 * incarnation.
 */
#define CELL_BYTES	64
#define COUNTERS	0	/* words of a line */
#define NONCE		1
#define ECHO		2

/* A word of the line that node 0 has written at node 1 */
static uint64_t line_of_0(int word)
{
	return rmc_load_acquire(&((uint64_t *)(void *)node[1].seg)[word]);
}

static struct rmc_cell *ring_of(int writer)
{
	return (struct rmc_cell *)(void *)(node[!writer].seg +
					   ((size_t)writer * (CELLS + 1) + 1) * CELL_BYTES);
}

/* Write the line of a new incarnation of node 1. */
static uint64_t next_life(uint64_t nonce)
{
	rmc_store_release(&line_of_1()[ECHO], 0);
	rmc_store_release(&line_of_1()[COUNTERS], 0);
	rmc_store_release(&line_of_1()[NONCE], nonce);
	return nonce;
}

/*
 * An incarnation that leaves all kinds of state: messages in both directions, credits, junk
 * in its ring, a pull.
 */
static void former_life(void)
{
	static uint8_t large[2000];
	uint8_t buf[10] = { 0 };
	size_t len;
	int i;

	begin(2, 1024);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(rmc_msg_send(node[0].m, 1, buf, sizeof(buf), 0), 0);
		CHECK_EQ(rmc_msg_recv(node[1].m, 0, buf, sizeof(buf), &len, NULL, 0), 0);
	}
	CHECK_EQ(rmc_msg_send(node[0].m, 1, node[0].data, 5000, RMC_MSG_ASYNC), 0);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 1);
	CHECK_EQ(rmc_msg_send(node[1].m, 0, node[1].data, sizeof(large), RMC_MSG_ASYNC), 0);
	CHECK_EQ(rmc_msg_recv(node[0].m, 1, large, sizeof(large), &len, NULL, 0), 0);
	for (i = 0; i < 5; i++)
		CHECK_EQ(rmc_msg_send(node[1].m, 0, buf, sizeof(buf), 0), 0);
	/* some credits are in the line, others are not returned yet */
	for (i = 0; i < 5; i++)
		CHECK_EQ(rmc_msg_recv(node[0].m, 1, buf, sizeof(buf), &len, NULL, 0), 0);
	CHECK_EQ(rmc_msg_flush(node[1].m, 0), 0);
	CHECK(line_of_0(COUNTERS) >> 32 == 1 && (uint32_t)line_of_0(COUNTERS));
	/* each cell of the ring has contents, but none is a message */
	for (i = 0; i < CELLS; i++)
		memset(&ring_of(1)[i], 0x54, CELL_BYTES);
}

static int is_zero(const void *at, size_t len)
{
	const uint8_t *p = (const uint8_t *)at;
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i])
			return 0;
	return 1;
}

static void put(int i, unsigned int length, unsigned int credits)
{
	memset(ring_of(1)[i].payload, 'n', RMC_MSG_PAYLOAD);
	rmc_store_release(&ring_of(1)[i].head,
			  rmc_cell_head(1, RMC_CELL_PUSH, credits, length));
}

/* Both sides start over: cells, credits and pulls are counted from zero. */
static void counts_anew(void)
{
	uint8_t buf[60];
	size_t len;
	int i, from;

	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);
	memset(ring_of(0), 0, (size_t)CELLS * CELL_BYTES);
	for (i = 0; i < CELLS; i++)
		CHECK_EQ(rmc_msg_send(node[0].m, 1, "ab", 2, RMC_MSG_DONTWAIT), 0);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, "ab", 2, RMC_MSG_DONTWAIT), -EAGAIN);
	usleep(20000);
	/* the first cell, in the first lap, without credits to return */
	CHECK_EQ(rmc_cell_load(&ring_of(0)[0]), rmc_cell_head(1, RMC_CELL_PUSH, 0, 2));
	CHECK(rmc_cell_load(&ring_of(0)[CELLS - 1]));
	put(0, 10, 3);
	CHECK_EQ(rmc_msg_recv(node[0].m, RMC_MSG_ANY, buf, sizeof(buf), &len, &from, 0), 0);
	CHECK(len == 10 && from == 1 && buf[9] == 'n');
	for (i = 0; i < 3; i++)
		CHECK_EQ(rmc_msg_send(node[0].m, 1, "ab", 2, RMC_MSG_DONTWAIT), 0);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, "ab", 2, RMC_MSG_DONTWAIT), -EAGAIN);
	/* credits for a quarter of the ring are in the line, none for the earlier incarnation */
	for (i = 1; i < CELLS / 2; i++) {
		put(i, 10, 0);
		CHECK_EQ(rmc_msg_recv(node[0].m, 1, buf, sizeof(buf), &len, NULL, 0), 0);
	}
	CHECK_EQ(rmc_msg_flush(node[0].m, 1), 0);
	CHECK_EQ(line_of_0(COUNTERS), CELLS / 4);
	CHECK_EQ(rmc_msg_send(node[0].m, 0, "", 0, RMC_MSG_DONTWAIT), 0);
}

static void *echo_soon(void *arg)
{
	uint64_t nonce = *(uint64_t *)arg;

	/* as in rejoin.c: the restarted peer echoes the survivor once its own nonce is echoed */
	while (line_of_0(ECHO) != nonce)
		usleep(100);
	rmc_store_release(&line_of_1()[ECHO], line_of_0(NONCE));
	return NULL;
}

static void rejoined(void)
{
	pthread_t newcomer;
	uint64_t nonce, own;
	uint8_t buf[8];
	size_t len;

	state_of_node = state_up_or_down;
	__atomic_store_n(&up_or_down, RMC_NODE_UP, __ATOMIC_RELEASE);
	former_life();
	own = line_of_0(NONCE);
	nonce = next_life(line_of_1()[NONCE] + 5);
	rmc_msg_pending(node[0].m, 1);	/* notices the unknown nonce */
	CHECK_EQ(rmc_msg_recv(node[0].m, 1, buf, sizeof(buf), &len, NULL, 0), RMC_S_BAD_CONTEXT);
	pthread_create(&newcomer, NULL, echo_soon, &nonce);
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 1, 5000), 0);
	pthread_join(newcomer, NULL);
	CHECK(line_of_0(NONCE) == own && line_of_0(ECHO) == nonce && !line_of_0(COUNTERS));
	CHECK(is_zero(ring_of(1), (size_t)CELLS * CELL_BYTES));
	counts_anew();
	/* the peer is silent from here on, and then down */
	__atomic_store_n(&up_or_down, RMC_NODE_DOWN, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_msg_recv(node[0].m, 1, buf, sizeof(buf), &len, NULL, 0), RMC_S_NODE_DOWN);
	end();
}

static int times_out(unsigned int ms)
{
	uint64_t start = 0, now;
	struct timespec ts;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	start = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	err = rmc_msg_rejoin(node[0].m, 1, ms);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	CHECK(now - start >= ms && now - start < ms + 5000);
	return err;
}

static void late_newcomer(void)
{
	uint64_t nonce, was, own, given;
	uint8_t buf[20];
	size_t len;

	former_life();
	own = line_of_0(NONCE);
	was = line_of_1()[NONCE];
	/* the known incarnation is not admitted again, even if it echoes our nonce */
	rmc_store_release(&line_of_1()[ECHO], own);
	CHECK_EQ(times_out(30), -ETIMEDOUT);
	CHECK(strstr(rmc_errmsg(), "node 1 did not open its messages again"));
	CHECK(line_of_0(ECHO) != was);
	/* nonce 0 is no incarnation: it is not admitted, and nothing is written to it */
	given = line_of_0(COUNTERS);
	next_life(0);
	rmc_store_release(&line_of_1()[ECHO], own);
	CHECK_EQ(times_out(30), -ETIMEDOUT);
	CHECK(given && line_of_0(COUNTERS) == given);
	/* an incarnation that does not echo our nonce is not admitted */
	nonce = next_life(was + 5);
	rmc_store_release(&line_of_1()[ECHO], own + 1);
	CHECK_EQ(times_out(30), -ETIMEDOUT);
	CHECK_EQ(line_of_0(ECHO), nonce);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, "x", 1, 0), RMC_S_BAD_CONTEXT);
	/* it echoes and sends at once: no message is delivered before it is admitted, */
	put(0, 10, 0);
	rmc_store_release(&line_of_1()[ECHO], own);
	CHECK_EQ(rmc_msg_recv(node[0].m, 1, buf, sizeof(buf), &len, NULL, 0), RMC_S_BAD_CONTEXT);
	/* and none is lost when it is admitted later */
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 1, 2000), 0);
	CHECK_EQ(rmc_msg_recv(node[0].m, 1, buf, sizeof(buf), &len, NULL, 0), 0);
	CHECK_EQ(len, 10);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, "x", 1, 0), 0);
	/* a further rejoin waits for the next incarnation */
	CHECK_EQ(times_out(30), -ETIMEDOUT);
	end();
}

/* Operations in flight to the earlier incarnation end before the next one uses its memory. */
static void *release_later(void *arg)
{
	(void)arg;
	usleep(50000);
	CHECK(line_of_0(ECHO) == 0);
	__atomic_store_n(&node[0].rmc.release, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void in_flight(void)
{
	pthread_t newcomer, releaser;
	uint64_t nonce;

	begin(2, 1024);
	__atomic_store_n(&node[0].hold, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, "held", 5, 0), 0);
	while (__atomic_load_n(&node[0].hold, __ATOMIC_ACQUIRE) != 2)
		usleep(100);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);
	nonce = next_life(line_of_1()[NONCE] + 5);
	pthread_create(&newcomer, NULL, echo_soon, &nonce);
	pthread_create(&releaser, NULL, release_later, NULL);
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 1, 5000), 0);
	CHECK(__atomic_load_n(&node[0].rmc.release, __ATOMIC_ACQUIRE));
	pthread_join(releaser, NULL);
	pthread_join(newcomer, NULL);
	end();
	/* a dead queue pair admits no peer: its operations may still take effect */
	begin(2, 1024);
	__atomic_store_n(&node[0].hold, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, "held", 5, 0), 0);
	while (__atomic_load_n(&node[0].hold, __ATOMIC_ACQUIRE) != 2)
		usleep(100);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);
	nonce = next_life(line_of_1()[NONCE] + 5);
	__atomic_store_n(&node[0].rmc.flags->dead, 1, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 1, 5000), -ESHUTDOWN);
	usleep(20000);
	CHECK(line_of_0(ECHO) != nonce);
	__atomic_store_n(&node[0].rmc.release, 1, __ATOMIC_RELEASE);
	end();
}

/* The peer restarts again while it is admitted: its latest incarnation is admitted. */
static void ends_again(void)
{
	pthread_t newcomer;
	uint64_t nonce;

	former_life();
	nonce = next_life(line_of_1()[NONCE] + 5);
	CHECK_EQ(times_out(20), -ETIMEDOUT);
	nonce = next_life(nonce + 1);
	memset(&ring_of(1)[CELLS - 1], 0x54, CELL_BYTES);
	pthread_create(&newcomer, NULL, echo_soon, &nonce);
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 1, 5000), 0);
	pthread_join(newcomer, NULL);
	CHECK(is_zero(ring_of(1), (size_t)CELLS * CELL_BYTES));
	counts_anew();
	end();
	/* writes to the peer fail while it is admitted: they are repeated until the time limit */
	former_life();
	next_life(line_of_1()[NONCE] + 5);
	__atomic_store_n(&dead_node, 1, __ATOMIC_RELEASE);
	CHECK_EQ(times_out(30), -ETIMEDOUT);
	__atomic_store_n(&dead_node, -1, __ATOMIC_RELEASE);
	rmc_store_release(&line_of_1()[ECHO], line_of_0(NONCE));
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 1, 5000), 0);
	CHECK_EQ(line_of_0(ECHO), line_of_1()[NONCE]);
	end();
}

/* A receiver of RMC_MSG_ANY gets the end of each incarnation of a peer once. */
static void reported_again(void)
{
	uint64_t own, nonce;
	uint8_t buf[8];
	size_t len;

	begin(3, 1024);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, "x", 1, 0), 0);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);
	own = line_of_0(NONCE);
	nonce = next_life(line_of_1()[NONCE] + 5);
	CHECK_EQ(times_out(20), -ETIMEDOUT);
	CHECK_EQ(rmc_msg_recv(node[0].m, RMC_MSG_ANY, buf, sizeof(buf), &len, NULL, RMC_MSG_DONTWAIT),
		 RMC_S_BAD_CONTEXT);
	CHECK_EQ(rmc_msg_recv(node[0].m, RMC_MSG_ANY, buf, sizeof(buf), &len, NULL, RMC_MSG_DONTWAIT),
		 -EAGAIN);
	rmc_store_release(&line_of_1()[ECHO], own);
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 1, 5000), 0);
	next_life(nonce + 1);
	CHECK_EQ(rmc_msg_pending(node[0].m, 1), 0);
	CHECK_EQ(rmc_msg_recv(node[0].m, RMC_MSG_ANY, buf, sizeof(buf), &len, NULL, RMC_MSG_DONTWAIT),
		 RMC_S_BAD_CONTEXT);
	end();
}

static void *die_soon(void *arg)
{
	usleep(50000);
	__atomic_store_n(&((struct node *)arg)->rmc.flags->dead, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void dead_queue(void)
{
	struct rmc_msg_raw raw = { .nodes = 2, .self = 1, .rejoin = 1 };
	struct rmc_msg_options o;
	pthread_t killer;

	/* the survivor's queue pair dies while it waits for the restarted peer, and the reverse */
	former_life();
	pthread_create(&killer, NULL, die_soon, &node[0]);
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 1, 5000), -ESHUTDOWN);
	pthread_join(killer, NULL);
	rmc_msg_close(node[1].m);
	memset(node[1].seg, 0, rmc_msg_bytes(2, CELLS));
	raw.qp = &node[1].qp;
	raw.seg = node[1].seg;
	raw.seg_len = node[1].seg_len;
	raw.local = node[1].local;
	rmc_msg_defaults(&o);
	o.cells = CELLS;
	pthread_create(&killer, NULL, die_soon, &node[1]);
	errno = 0;
	node[1].m = rmc_msg_open_raw(&raw, &o);
	CHECK(!node[1].m);
	CHECK_EQ(errno, ESHUTDOWN);
	pthread_join(killer, NULL);
	end();
	former_life();
	next_life(line_of_1()[NONCE] + 5);
	node[0].rmc.flags->dead = 1;
	CHECK_EQ(rmc_msg_rejoin(node[0].m, 1, 5000), -ESHUTDOWN);
	CHECK_EQ(rmc_msg_send(node[0].m, 1, "x", 1, RMC_MSG_DONTWAIT), RMC_S_BAD_CONTEXT);
	node[0].rmc.flags->dead = 0;
	end();
}
