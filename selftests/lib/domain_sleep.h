/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Sleeping for arrivals and for room, for test_domain.c. */
#ifndef DOMAIN_SLEEP_H
#define DOMAIN_SLEEP_H

#define WAKES	1500

static void *slow_sender(void *arg)
{
	unsigned int i, seed = 1;

	(void)arg;
	for (i = 0; i < WAKES; i++) {
		seed = seed * 1664525 + 1013904223;
		if (seed >> 30)
			usleep(seed >> 8 & 63);
		CHECK_EQ(send_value(core[0], 1, 8, i, 0), 0);
	}
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	return NULL;
}

static void sleeping(void)
{
	struct rmc_domain_options o = options(1, 1);
	struct rmc_arrival m;
	struct pollfd p;
	pthread_t thread;
	uint64_t before;
	uint32_t i;

	open_nodes(&o);
	before = rmc_now_ms();
	CHECK_EQ(rmc_arrival_wait(core[1], &m, 0, 30), 0);
	CHECK(rmc_now_ms() - before >= 29);
	CHECK_EQ(rmc_arrival_wait(core[1], &m, 100, 0), 0);
	pthread_create(&thread, NULL, slow_sender, NULL);
	for (i = 0; i < WAKES; i++) {
		/* a wake-up that is lost is one for which it sleeps long */
		before = rmc_now_ms();
		CHECK_EQ(rmc_arrival_wait(core[1], &m, i % 3 ? 0 : 20, 5000), 1);
		CHECK(rmc_now_ms() - before < 4000);
		CHECK_EQ(rmc_receive(core[1], &m), 0);
	}
	pthread_join(thread, NULL);
	CHECK(quiet(1));
	/* event loops: a RECEIVE in flight would be a reason to wake, too */
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	p = (struct pollfd) { .fd = rmc_core_eventfd(core[1]), .events = POLLIN };
	rmc_core_disarm(core[1]);
	CHECK_EQ(rmc_core_arm(core[1]), 0);
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_EQ(send_value(core[0], 1, 8, 5, 0), 0);
	CHECK_EQ(poll(&p, 1, 5000), 1);
	CHECK_EQ(rmc_arrival_next(core[1], &m), 1);
	rmc_core_disarm(core[1]);
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	close_nodes();
}

/* What a sleeper has sent is continued meanwhile. */
static void sleeper_in_doubt(void)
{
	struct rmc_domain_options o = options(2, 2);
	struct rmc_arrival m;

	open_nodes(&o);
	next(RMC_OP_SEND, RMC_S_TIMEOUT, 4);
	CHECK_EQ(send_value(core[0], 0, 8, 5, 0), 0);
	CHECK_EQ(rmc_arrival_wait(core[0], &m, 0, 5000), 1);
	CHECK_EQ(fates, 0);
	CHECK_EQ(rmc_receive(core[0], &m), 0);
	close_nodes();
}

#define SLEEPS	3

static int armed_so_often(void)
{
	int n;

	fake_lock();
	n = fake_armed;
	fake_unlock();
	return n;
}

static int kept;	/* the first message was not received */

/* Keeps the first message until the sender has armed SLEEPS times for room, or for 30 ms */
static void keep(int until_armed)
{
	uint64_t end = rmc_now_ms() + 10000;

	if (!until_armed)
		usleep(30000);
	while (until_armed && armed_so_often() < SLEEPS && rmc_now_ms() < end)
		usleep(1000);
	__atomic_store_n(&kept, 0, __ATOMIC_RELEASE);
}

/* Takes all others as they come. */
static void *slow_receiver(void *arg)
{
	struct rmc_arrival m;
	uint32_t i;

	for (i = 0; i < WAKES; i++) {
		CHECK_EQ(rmc_arrival_wait(core[1], &m, 20, 5000), 1);
		if (i == 0)
			keep(!!arg);
		else if (i % 4 == 0)
			usleep(i % 64);
		CHECK_EQ(rmc_receive(core[1], &m), 0);
	}
	return NULL;
}

/* An arrival for node 0, whose event loop has armed */
static void transfer_to_loop(struct pollfd *p)
{
	CHECK_EQ(poll(p, 1, 0), 0);
	CHECK_EQ(send_value(core[1], 0, 8, 9, 0), 0);
	CHECK_EQ(poll(p, 1, 5000), 1);
}

static void *late_receiver(void *arg)
{
	struct rmc_arrival m;

	(void)arg;
	usleep(30000);
	CHECK(has(core[2], &m, 8, 1));
	CHECK_EQ(rmc_receive(core[2], &m), 0);
	return NULL;
}

/*
 * A slot that another core frees is reported, too; and what an event loop has armed for is not lost in a
 * send that waits.
 */
static void other_wakes(void)
{
	struct rmc_domain_options o = options(1, 1);
	struct rmc_core *other;
	struct rmc_arrival m;
	pthread_t thread;
	struct pollfd p;

	open_nodes(&o);
	other = rmc_core_open(domain[0], 0, RMC_CORE_SEND_ONLY);
	CHECK(other);
	CHECK_EQ(send_value(other, 1, 8, 1, 0), 0);
	CHECK(has(core[1], &m, 8, 1));
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	/* the other core has not seen that its message is there */
	p = (struct pollfd) { .fd = rmc_core_eventfd(core[0]), .events = POLLIN };
	CHECK_EQ(rmc_core_arm_room(core[0]), 0);
	CHECK_EQ(send_value(core[0], 1, 8, 2, RMC_SEND_DONTWAIT), -EAGAIN);
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_EQ(rmc_core_flush(other), 0);
	CHECK_EQ(poll(&p, 1, 0), 1);
	CHECK_EQ(send_value(core[0], 1, 8, 2, RMC_SEND_DONTWAIT), 0);
	CHECK(has(core[1], &m, 8, 2));
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	/* which is the event that it armed for */
	CHECK_EQ(rmc_core_flush(core[1]), 0);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	/* nobody waits: nobody is woken */
	rmc_core_disarm(core[0]);
	CHECK_EQ(send_value(other, 2, 8, 1, 0), 0);
	CHECK_EQ(rmc_core_flush(other), 0);
	CHECK_EQ(poll(&p, 1, 0), 0);

	CHECK_EQ(rmc_core_arm(core[0]), 0);
	transfer_to_loop(&p);
	pthread_create(&thread, NULL, late_receiver, NULL);
	CHECK_EQ(send_value(core[0], 2, 8, 1, 0), 0);
	CHECK_EQ(poll(&p, 1, 0), 1);
	pthread_join(thread, NULL);
	CHECK(has(core[0], &m, 8, 9));
	CHECK_EQ(rmc_receive(core[0], &m), 0);
	CHECK(has(core[2], &m, 8, 1));
	CHECK_EQ(rmc_receive(core[2], &m), 0);
	rmc_core_close(other);
	close_nodes();
}

static void sleeping_for_room(void)
{
	struct rmc_domain_options o = options(1, 1);
	uint64_t before;
	struct rmc_arrival m;
	struct pollfd p;
	pthread_t thread;
	uint32_t i, late = 0;
	int armed;

	open_nodes(&o);
	CHECK_EQ(send_value(core[0], 1, 8, 0, 0), 0);
	CHECK_EQ(armed_so_often(), 0);
	kept = 1;
	before = rmc_now_ms();
	pthread_create(&thread, NULL, slow_receiver, &kept);
	CHECK_EQ(send_value(core[0], 1, 8, 1, 0), 0);
	CHECK(!__atomic_load_n(&kept, __ATOMIC_ACQUIRE));
	/*
	 * It has slept: each time until it asks, however busy the machine is, but for the last time.
	 * One that finds its eventfd readable, though nothing has happened, arms at once again. Its
	 * completion is a reason to wake once.
	 */
	armed = armed_so_often();
	CHECK(armed >= SLEEPS);
	CHECK((rmc_now_ms() - before) / ASK_MS + 3 >= (uint64_t)armed);
	for (i = 2; i < WAKES; i++) {
		before = rmc_now_ms();
		CHECK_EQ(send_value(core[0], 1, 8, i, 0), 0);
		late += rmc_now_ms() - before >= ASK_MS;
	}
	/* a wake-up that is lost is one that comes after this time; so is that of a busy machine */
	CHECK(late < WAKES / 20);
	pthread_join(thread, NULL);
	/* an RMC that does not know the request: it spins */
	fake_refuse = RMC_IOC_ROOM_ARM;
	fake_error = ENOTTY;
	pthread_create(&thread, NULL, slow_receiver, NULL);
	for (i = 0; i < WAKES; i++)
		CHECK_EQ(send_value(core[0], 1, 8, i, 0), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(rmc_core_arm_room(core[0]), -ENOTTY);
	fake_refuse = 0;
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	CHECK(quiet(1));
	/* event loops */
	CHECK_EQ(send_value(core[0], 1, 8, 1, 0), 0);
	CHECK_EQ(rmc_core_flush(core[0]), 0);
	CHECK_EQ(send_value(core[0], 1, 8, 2, RMC_SEND_DONTWAIT), -EAGAIN);
	p = (struct pollfd) { .fd = rmc_core_eventfd(core[0]), .events = POLLIN };
	rmc_core_disarm(core[0]);
	CHECK_EQ(rmc_core_arm_room(core[0]), 0);
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK(has(core[1], &m, 8, 1));
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	CHECK_EQ(poll(&p, 1, 5000), 1);
	CHECK_EQ(send_value(core[0], 1, 8, 2, RMC_SEND_DONTWAIT), 0);
	CHECK(has(core[1], &m, 8, 2));
	CHECK_EQ(rmc_receive(core[1], &m), 0);
	close_nodes();
}

#endif
