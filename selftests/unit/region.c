// SPDX-License-Identifier: GPL-2.0
/*
 * Formatting of a region that several kernels map, and claims of node ids, while other
 * kernels change the shared words between any two of our steps (shim/kernel/stub.h):
 *
 *	state word   RAW ----- FORMATTING|place|nonce ----- READY|place
 *	              ^ attach()         |  ^ dead for 2 s: another kernel
 *	              |                  +--+
 *	              +--- other kernels, in each sleep and before each exchange
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include "../tap.h"
#include "kmod/fabric/config.h"
#include "kmod/fabric/shared.h"

#define BYTES		(4 << 20)
#define DEAD_MS		100
#define DOORBELL	0x12345678	/* any word */
#define TRIES		1000	/* consecutive ones without a sleep: the call spins */

void (*stub_exchange)(void *word, bool after);
void (*stub_sleep)(void);
bool stub_signal;
unsigned long jiffies;
u32 stub_sleeps;

static char said[512];		/* the last log message */
static struct rmc_region region;
static struct rmc_fabric fabric;
static struct rmc_region_head *head;
static unsigned int tries, nonce, until;
static jmp_buf spins;

static const struct rmc_fabric_config config = {
	.nodes = 4, .units = 1, .rrpps = 1, .mtu = 512, .interleave = 4096,
	.ring_order = 4, .pay_order = 4,
};

void stub_say(const char *text, ...)
{
	va_list ap;

	va_start(ap, text);
	vsnprintf(said, sizeof(said), text, ap);
	va_end(ap);
}

u32 get_random_u32(void)
{
	return ++nonce;
}

/* no node runs here */
void rmc_ni_notify(struct rmc_node *node, enum rmc_lane lane)
{
	abort();
}

void usleep_range(unsigned long least, unsigned long most)
{
	CHECK(least <= most);
	jiffies++;
	stub_sleeps++;
	tries = 0;
	if (stub_sleep)
		stub_sleep();
}

/* Also returns if the call spins and never sleeps. */
static int attach(struct rmc_region *r, struct rmc_fabric *f, const struct rmc_fabric_config *cfg)
{
	if (setjmp(spins))
		return -ELOOP;
	return rmc_region_attach(r, f, cfg);
}

/* Another kernel that attaches, undisturbed. */
static int other_attaches(const struct rmc_fabric_config *cfg)
{
	void (*exchange)(void *, bool) = stub_exchange;
	void (*in_sleep)(void) = stub_sleep;
	struct rmc_region r = { .base = region.base, .bytes = region.bytes };
	struct rmc_fabric f = { .dead_ms = DEAD_MS };
	int err;

	stub_exchange = NULL;
	stub_sleep = NULL;
	err = rmc_region_attach(&r, &f, cfg);
	stub_exchange = exchange;
	stub_sleep = in_sleep;
	return err;
}

/* The place whose numbers are valid, see region.h */
static const struct rmc_region_head *numbers(void)
{
	return rmc_region_head(&(struct rmc_region){
		.base = region.base,
		.place = head->state >> RMC_REGION_PLACE_SHIFT & RMC_REGION_PLACE_MASK,
	});
}

static u32 state(void)
{
	return head->state & RMC_REGION_STATE_MASK;
}

static void setup(void)
{
	region = (struct rmc_region){ .base = aligned_alloc(PAGE_SIZE, BYTES), .bytes = BYTES };
	fabric = (struct rmc_fabric){ .dead_ms = DEAD_MS };
	memset(region.base, 0, BYTES);
	head = region.base;
	stub_exchange = NULL;
	stub_sleep = NULL;
	stub_signal = false;
	stub_sleeps = 0;
	tries = 0;
	said[0] = 0;
}

static void teardown(const char *name)
{
	free(region.base);
	tap_result(name);
}

static void test_format(void)
{
	struct rmc_region r;
	struct rmc_fabric f = { 0 };

	setup();
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	CHECK_EQ(head->state, RMC_REGION_READY);
	CHECK_EQ(stub_sleeps, 0);
	CHECK_EQ(fabric.nodes, 4);
	CHECK_EQ(fabric.mtu, 512);
	CHECK(!said[0]);
	/* the second one asks for other numbers */
	r = (struct rmc_region){ .base = region.base, .bytes = BYTES };
	CHECK_EQ(attach(&r, &f, &(struct rmc_fabric_config){ .nodes = 9, .units = 2, .rrpps = 1 }), 0);
	CHECK_EQ(f.nodes, 4);
	CHECK_EQ(f.mtu, 512);
	CHECK_EQ(f.unit_order, 0);
	CHECK(said[0]);
	teardown("the first formats, the next takes over what is there");
}

static void test_impossible(void)
{
	struct rmc_fabric_config cfg = config;

	setup();
	region.bytes = PAGE_SIZE;
	CHECK_EQ(attach(&region, &fabric, &config), -ENOSPC);
	CHECK_EQ(head->state, RMC_REGION_RAW);
	region.bytes = 8 * PAGE_SIZE;
	CHECK_EQ(attach(&region, &fabric, &config), -ENOSPC);
	CHECK_EQ(head->state, RMC_REGION_RAW);
	region.bytes = BYTES;
	cfg.pay_order = 1;
	CHECK_EQ(attach(&region, &fabric, &cfg), -EINVAL);
	CHECK_EQ(head->state, RMC_REGION_RAW);
	/* the place stays that of earlier formatters */
	head->state = RMC_REGION_RAW | 2 << RMC_REGION_PLACE_SHIFT;
	CHECK_EQ(attach(&region, &fabric, &cfg), -EINVAL);
	CHECK_EQ(head->state, RMC_REGION_RAW | 2 << RMC_REGION_PLACE_SHIFT);
	head->state = RMC_REGION_RAW;
	/* the next one asks for less */
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	head->nodes = 40;
	CHECK_EQ(attach(&region, &fabric, &config), -EPROTO);
	head->version++;
	CHECK_EQ(attach(&region, &fabric, &config), -EPROTO);
	CHECK_EQ(head->state, RMC_REGION_READY);
	teardown("what cannot be is refused, and another may try");
}

/* A device without memory, or with less than the first page, is not accessed. */
static void test_no_memory(void)
{
	void *none = mmap(NULL, PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rmc_region r = { .base = none };
	struct rmc_fabric f = { 0 };

	setup();
	for (r.bytes = 0; r.bytes < 2 * PAGE_SIZE; r.bytes += PAGE_SIZE - 1) {
		said[0] = 0;
		CHECK_EQ(attach(&r, &f, &config), -ENOSPC);
		CHECK(strstr(said, "size="));
	}
	munmap(none, PAGE_SIZE);
	teardown("a device with no memory to speak of is refused");
}

static void other_is_first(void *word, bool after)
{
	stub_exchange = NULL;
	CHECK(word == &head->state);
	CHECK_EQ(other_attaches(&config), 0);
}

static void test_lost(void)
{
	setup();
	stub_exchange = other_is_first;
	CHECK_EQ(attach(&region, &fabric, &(struct rmc_fabric_config){ .nodes = 3, .units = 1, .rrpps = 1 }), 0);
	CHECK_EQ(fabric.nodes, 4);
	CHECK_EQ(stub_sleeps, 1);
	teardown("of two at the same moment one formats");
}

static void test_dead_formatter(void)
{
	unsigned long start = jiffies;

	setup();
	head->state = RMC_REGION_FORMATTING | 77 << RMC_REGION_NONCE_SHIFT;
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	CHECK(jiffies - start > RMC_REGION_FORMAT_MS);
	CHECK(jiffies - start < RMC_REGION_FORMAT_MS + 10);
	CHECK_EQ(state(), RMC_REGION_READY);
	teardown("a formatter that died is succeeded, not before its time is over");
}

static void formatter_is_replaced(void)
{
	/* the dead one is whom we found; another one is faster than we are */
	if (jiffies == until)
		head->state = RMC_REGION_FORMATTING | 78 << RMC_REGION_NONCE_SHIFT;
}

static void test_two_dead_formatters(void)
{
	unsigned long start = jiffies;

	setup();
	head->state = RMC_REGION_FORMATTING | 77 << RMC_REGION_NONCE_SHIFT;
	until = jiffies + RMC_REGION_FORMAT_MS - 1;
	stub_sleep = formatter_is_replaced;
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	CHECK(jiffies - start >= 2 * RMC_REGION_FORMAT_MS - 1);
	teardown("each formatter has its time");
}

static jmp_buf dies;

static void dies_after_claim(void *word, bool after)
{
	if (after)
		longjmp(dies, 1);
}

/* A formatter begins, and stops there. */
static void formatter_begins(void)
{
	struct rmc_region r = { .base = region.base, .bytes = BYTES };
	struct rmc_fabric f = { .dead_ms = DEAD_MS };

	stub_exchange = dies_after_claim;
	if (!setjmp(dies))
		rmc_region_attach(&r, &f, &config);
	stub_exchange = NULL;
	CHECK_EQ(state(), RMC_REGION_FORMATTING);
}

static void formatter_gives_up(void)
{
	u32 place = RMC_REGION_PLACE_MASK << RMC_REGION_PLACE_SHIFT;

	if (jiffies != until)
		return;
	/* its memory was too small, see format(); the next one has the same place */
	head->state = RMC_REGION_RAW | (head->state & place);
	formatter_begins();
}

/* One formatter gives up and another begins between two polls: the wait starts again. */
static void test_next_formatter(void)
{
	unsigned long start = jiffies;

	setup();
	formatter_begins();
	until = jiffies + RMC_REGION_FORMAT_MS - 1;
	stub_sleep = formatter_gives_up;
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	CHECK(jiffies - start >= 2 * RMC_REGION_FORMAT_MS - 1);
	teardown("a formatter does not inherit the age of the one before");
}

/* We were paused for seconds between the last word of the header and READY. */
static void we_are_late(void *word, bool after)
{
	if (after || head->magic != RMC_REGION_MAGIC)
		return;
	stub_exchange = NULL;
	CHECK_EQ(other_attaches(&(struct rmc_fabric_config){ .nodes = 3, .units = 1, .rrpps = 1,
						      .interleave = 4096 }), 0);
	CHECK_EQ(state(), RMC_REGION_READY);
}

static void test_late(void)
{
	setup();
	stub_exchange = we_are_late;
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	CHECK_EQ(fabric.nodes, 3);
	CHECK_EQ(fabric.nodes, numbers()->nodes);
	CHECK(stub_sleeps > RMC_REGION_FORMAT_MS);
	teardown("a formatter that was taken for dead takes over what its successor says");
}

static const struct rmc_fabric_config others_config = {
	.nodes = 3, .units = 1, .rrpps = 1, .mtu = 64, .interleave = 4096,
	.ring_order = 3, .pay_order = 3,
};
static u8 tables[64 * 1024];	/* as the successor's nodes left them */
static size_t tables_bytes;

/*
 * We were paused for seconds before the first word that we write. All three nodes of the
 * successor's fabric run by then.
 */
static void we_are_late_at_once(void *word, bool after)
{
	struct rmc_region r = { .base = region.base, .bytes = region.bytes };
	struct rmc_fabric f = { .dead_ms = DEAD_MS };
	u32 nid, epoch;

	if (!after || word != &head->state)
		return;
	stub_exchange = NULL;
	CHECK_EQ(rmc_region_attach(&r, &f, &others_config), 0);
	for (nid = 0; nid < 3; nid++) {
		CHECK_EQ(rmc_region_claim(&f, nid, &nid, &epoch), 0);
		f.node[nid].state = RMC_NODE_UP;
		f.doorbell[nid].word[0] = 7;
	}
	tables_bytes = r.channels - PAGE_SIZE;
	CHECK(tables_bytes <= sizeof(tables));
	memcpy(tables, f.node, tables_bytes);
}

static void test_late_at_once(void)
{
	setup();
	stub_exchange = we_are_late_at_once;
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	CHECK_EQ(fabric.nodes, 3);
	CHECK_EQ(fabric.mtu, 64);
	CHECK_EQ(fabric.ring_order, 3);
	CHECK_EQ(region.channels - PAGE_SIZE, tables_bytes);
	CHECK(!memcmp(fabric.node, tables, tables_bytes));
	/* nor does a later one find a mixed header */
	region.place = 0;
	fabric = (struct rmc_fabric){ .dead_ms = DEAD_MS };
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	CHECK_EQ(fabric.nodes, 3);
	CHECK(!memcmp(fabric.node, tables, tables_bytes));
	teardown("a formatter that was taken for dead changes nothing of its successor's");
}

/* Memory that is not empty is refused, and does not change. */
static void test_not_empty(void)
{
	u8 *tables;

	setup();
	tables = (u8 *)region.base + PAGE_SIZE + 200;
	*tables = 1;
	CHECK_EQ(attach(&region, &fabric, &config), -EPROTO);
	CHECK(said[0]);
	CHECK_EQ(*tables, 1);
	CHECK_EQ(state(), RMC_REGION_RAW);
	*tables = 0;
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	teardown("memory that is not zero is refused, not formatted");
}

/* Each formatter has its own place; if none is left, that is reported. */
static void test_all_died(void)
{
	u32 i;

	setup();
	for (i = 0; i < RMC_REGION_PLACE_MASK; i++) {
		head->state = RMC_REGION_FORMATTING | i << RMC_REGION_PLACE_SHIFT;
		CHECK_EQ(attach(&region, &fabric, &config), 0);
		CHECK_EQ(region.place, i + 1);
	}
	CHECK((u8 *)(rmc_region_head(&region) + 1) <= (u8 *)region.base + PAGE_SIZE);
	head->state = RMC_REGION_FORMATTING | i << RMC_REGION_PLACE_SHIFT;
	CHECK_EQ(attach(&region, &fabric, &config), -EPROTO);
	CHECK(said[0]);
	teardown("no place of the header is used twice");
}

/* Free whenever it is read, taken when it is to be claimed. */
static void never_rests(void *word, bool after)
{
	*(u32 *)word = after ? RMC_REGION_RAW :
		       RMC_REGION_FORMATTING | ++nonce << RMC_REGION_NONCE_SHIFT;
	if (++tries > TRIES) {
		stub_exchange = NULL;
		longjmp(spins, 1);
	}
}

static void signal_later(void)
{
	stub_signal = stub_sleeps >= 50;
}

static void test_never_rests(void)
{
	setup();
	stub_exchange = never_rests;
	stub_sleep = signal_later;
	CHECK_EQ(attach(&region, &fabric, &config), -EINTR);
	CHECK_EQ(stub_sleeps, 50);
	/* and as soon as it is stable, we get it */
	stub_signal = false;
	stub_exchange = NULL;
	stub_sleep = NULL;
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	teardown("a state word that never rests: each try that is lost sleeps, a signal ends them");
}

static u32 claim(s32 wanted, int err)
{
	u32 nid = ~0U, epoch = 0;

	CHECK_EQ(rmc_region_claim(&fabric, wanted, &nid, &epoch), err);
	CHECK_EQ(!epoch, !!err);
	if (!err) {
		CHECK_EQ(fabric.node[nid].state, RMC_NODE_JOINING);
		CHECK_EQ(fabric.node[nid].epoch, epoch);
		fabric.node[nid].state = RMC_NODE_UP;
	}
	return nid;
}

static void hearts_beat(void)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		fabric.node[i].heartbeat++;
}

static void test_claim(void)
{
	u32 nid, epoch;

	setup();
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	CHECK_EQ(claim(2, 0), 2);
	CHECK_EQ(claim(-1, 0), 0);
	CHECK_EQ(claim(-1, 0), 1);
	CHECK_EQ(claim(-1, 0), 3);
	claim(4, -EINVAL);
	stub_sleep = hearts_beat;
	claim(-1, -EBUSY);
	claim(1, -EBUSY);
	/* an id that a node left is free, and its next node has another epoch */
	fabric.node[3].state = RMC_NODE_DOWN;
	CHECK_EQ(claim(-1, 0), 3);
	CHECK_EQ(fabric.node[3].epoch, 2);
	/* a silent node is watched; a node that joins meanwhile is not displaced */
	stub_sleep = NULL;
	stub_sleeps = 0;
	CHECK_EQ(claim(1, 0), 1);
	CHECK(stub_sleeps >= DEAD_MS);
	CHECK_EQ(fabric.node[1].epoch, 2);
	/* no epoch is 0, even after a wrap */
	fabric.node[3].claim = rmc_claim(RMC_NODE_DOWN, ~0U);
	CHECK_EQ(claim(3, 0), 3);
	CHECK_EQ(fabric.node[3].epoch, 1);
	/* an id that was given back is free; not if the node has joined since */
	fabric.node[0].state = RMC_NODE_DOWN;
	CHECK_EQ(rmc_region_claim(&fabric, 0, &nid, &epoch), 0);
	rmc_region_unclaim(&fabric, 0, epoch);
	CHECK_EQ(fabric.node[0].state, RMC_NODE_DOWN);
	CHECK_EQ(rmc_region_claim(&fabric, 0, &nid, &epoch), 0);
	fabric.node[0].state = RMC_NODE_UP;
	rmc_region_unclaim(&fabric, 0, epoch);
	CHECK_EQ(fabric.node[0].state, RMC_NODE_UP);
	/* a signal ends the wait */
	stub_signal = true;
	claim(0, -EINTR);
	teardown("node ids: free, left, alive, dead, given back");
}

static void claims_never_rest(void *word, bool after)
{
	struct rmc_region_node *n = word;

	n->epoch++;
	n->state = after ? RMC_NODE_DOWN : RMC_NODE_JOINING;
	if (++tries > TRIES) {
		stub_exchange = NULL;
		longjmp(spins, 1);
	}
}

/* The same for the word of a node id. */
static void test_claim_never_rests(void)
{
	unsigned long start = jiffies;

	setup();
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	stub_exchange = claims_never_rest;
	fabric.node[2].state = RMC_NODE_DOWN;
	if (setjmp(spins))
		CHECK(tries <= TRIES);
	else
		claim(2, -EBUSY);
	CHECK(jiffies - start < 2 * DEAD_MS);
	teardown("the word of a node id never rests: it is taken for one that is alive");
}

static void test_reset(void)
{
	u32 from, to, i;

	setup();
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	memset(region.base + region.channels, 0x5a, 16 * region.stride);
	fabric.node[2].claim = rmc_claim(RMC_NODE_JOINING, 7);
	rmc_region_reset(&region, &fabric, 2, 7);
	for (from = 0; from < 4; from++) {
		for (to = 0; to < 4; to++) {
			u8 *channel = rmc_region_channel(&region, &fabric, from, to);
			u8 want = from == 2 || to == 2 ? 0 : 0x5a;

			for (i = 0; i < rmc_channel_bytes(&fabric) && channel[i] == want; i++)
				;
			CHECK_EQ(i, rmc_channel_bytes(&fabric));
		}
	}
	teardown("a node that joins finds empty channels, of others' nothing is gone");
}

/* The channel that is being zeroed when the claim changes */
static u8 *paused_at;

/* The first store to the channel: this kernel was paused here, and its id was claimed. */
static void resume(int signal)
{
	fabric.node[2].claim = rmc_claim(RMC_NODE_UP, 8);
	mprotect(paused_at, PAGE_SIZE, PROT_READ | PROT_WRITE);
}

/* A joiner that is paused while it zeroes its channels changes one channel of a successor. */
static void test_late_reset(void)
{
	struct sigaction act = { .sa_handler = resume }, old;
	u32 from, to, changed = 0;

	setup();
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	memset(region.base + region.channels, 0x5a, 16 * region.stride);
	fabric.node[2].claim = rmc_claim(RMC_NODE_JOINING, 7);
	paused_at = rmc_region_channel(&region, &fabric, 2, 1);
	CHECK_EQ((uintptr_t)paused_at % PAGE_SIZE, 0);
	sigaction(SIGSEGV, &act, &old);
	mprotect(paused_at, PAGE_SIZE, PROT_READ);
	rmc_region_reset(&region, &fabric, 2, 7);
	sigaction(SIGSEGV, &old, NULL);
	for (from = 0; from < 4; from++)
		for (to = 0; to < 4; to++)
			changed += !*(u8 *)rmc_region_channel(&region, &fabric, from, to);
	/* 2 to 0, 0 to 2, and the one in whose middle it was paused */
	CHECK_EQ(changed, 3);
	CHECK(!*paused_at);
	/* the same while it zeroes the other direction */
	fabric.node[2].claim = rmc_claim(RMC_NODE_JOINING, 7);
	paused_at = rmc_region_channel(&region, &fabric, 1, 2);
	sigaction(SIGSEGV, &act, &old);
	mprotect(paused_at, PAGE_SIZE, PROT_READ);
	rmc_region_reset(&region, &fabric, 2, 7);
	sigaction(SIGSEGV, &old, NULL);
	CHECK(*(u8 *)rmc_region_channel(&region, &fabric, 2, 2));
	CHECK(*(u8 *)rmc_region_channel(&region, &fabric, 2, 3));
	teardown("a joiner that resumes late zeroes no further channel of its successor");
}

static u32 kicks;

static void kick(void *data)
{
	CHECK(data == &kicks);
	kicks++;
}

/* What ivshmem and uml share: a claim that fails does not change the port. */
static void test_shared(void)
{
	const struct rmc_fabric_config wanted = {
		.timeout_ms = 77, .dead_ms = 88, .poll_us_max = 99,
	};
	static const struct rmc_fabric_ops ops;
	struct rmc_shared s = { .irq = 5 };
	u8 *channel;

	setup();
	CHECK_EQ(attach(&region, &fabric, &config), 0);
	s.port.fabric = fabric;
	s.region = region;
	rmc_shared_init(&s, NULL, &ops, &wanted);
	CHECK(s.port.fabric.ops == &ops);
	CHECK_EQ(s.port.fabric.timeout_ms, 77);
	CHECK_EQ(s.port.fabric.dead_ms, 88);
	CHECK_EQ(s.port.poll_us_max, 99);
	CHECK_EQ(s.port.locals, 1);
	channel = rmc_shared_channel(&s.port.fabric, 1, 3);
	CHECK(channel == rmc_region_channel(&region, &fabric, 1, 3));
	*channel = 1;
	rmc_shared_reset(&s.port.fabric, 2, 0);
	CHECK_EQ(*channel, 1);
	rmc_shared_reset(&s.port.fabric, 3, 1);
	CHECK_EQ(*channel, 1);
	rmc_shared_reset(&s.port.fabric, 3, 0);
	CHECK_EQ(*channel, 0);
	CHECK_EQ(rmc_shared_claim(&s, 2), 0);
	CHECK_EQ(s.port.first, 2);
	CHECK_EQ(s.port.epoch, 1);
	CHECK_EQ(fabric.node[2].doorbell, 0);
	rmc_shared_has_doorbell(&s, DOORBELL);
	CHECK_EQ(fabric.node[2].doorbell, DOORBELL);
	/* another kernel has the id now, and is alive */
	fabric.node[2].claim = rmc_claim(RMC_NODE_UP, 2);
	fabric.node[2].doorbell = 9;
	stub_sleep = hearts_beat;
	CHECK_EQ(rmc_shared_reclaim(&s.port), -EBUSY);
	CHECK_EQ(s.port.first, 2);
	CHECK_EQ(s.port.epoch, 1);
	CHECK_EQ(fabric.node[2].doorbell, 9);
	stub_sleep = NULL;
	fabric.node[2].state = RMC_NODE_DOWN;
	CHECK_EQ(rmc_shared_reclaim(&s.port), 0);
	CHECK_EQ(s.port.first, 2);
	CHECK_EQ(s.port.epoch, 3);
	CHECK_EQ(fabric.node[2].doorbell, DOORBELL);
	/* doorbells are handled between start and stop */
	rmc_shared_rung(&s);
	rmc_shared_start(&s.port, kick, &kicks);
	rmc_shared_rung(&s);
	rmc_shared_stop(&s.port);
	rmc_shared_rung(&s);
	CHECK_EQ(kicks, 1);
	teardown("a port on shared memory: claimed again, or as it was; doorbell");
}

int main(void)
{
	test_format();
	test_impossible();
	test_no_memory();
	test_lost();
	test_dead_formatter();
	test_two_dead_formatters();
	test_next_formatter();
	test_late();
	test_late_at_once();
	test_not_empty();
	test_all_died();
	test_never_rests();
	test_claim();
	test_claim_never_rests();
	test_reset();
	test_late_reset();
	test_shared();
	return tap_done();
}
