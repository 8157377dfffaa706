// SPDX-License-Identifier: GPL-2.0
/*
 * A peer's entry of the node table changes while a node polls it, after each access in turn.
 * The table is a protected page: each access faults, and the handler lets this one instruction
 * through. The events of the peer are in order in all cases. The entry may also be the node's
 * own, and a successor takes it over while the node changes its state: what the successor
 * wrote must stay.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "../tap.h"
#include "testbed.h"
#include "kmod/core/pipeline.h"
#include "kmod/member/member.h"

#if defined(__x86_64__)

static struct testbed peers;
static struct rmc_region_node *entries;		/* a page that is protected during a poll */
static u32 step, change_at;
static u64 becomes;

/* Let the instruction execute that accesses it, */
static void touched(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	/* another fault happens again, and ends the test */
	if ((uintptr_t)info->si_addr / 4096 != (uintptr_t)entries / 4096)
		signal(SIGSEGV, SIG_DFL);
	mprotect(entries, 4096, PROT_READ | PROT_WRITE);
	uc->uc_mcontext.gregs[REG_EFL] |= 0x100;
}

/* and change the entry after it. */
static void touched_once(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.gregs[REG_EFL] &= ~0x100;
	if (++step == change_at)
		entries[1].claim = becomes;
	mprotect(entries, 4096, PROT_NONE);
}

/* A link is up only while its node is, and each has one event; up only under this claim. */
static void check_node_events(bool up, bool linked, u64 claim)
{
	u32 i;

	for (i = 0; i < testbed_node_event_count && i < TESTBED_NODE_EVENTS; i++) {
		u32 type = testbed_node_events[i].type;

		if (type == RMC_EVENT_NODE_UP || type == RMC_EVENT_LINK_UP)
			CHECK_EQ(rmc_claim(RMC_NODE_UP, testbed_node_events[i].epoch), claim);
		if (type == RMC_EVENT_NODE_UP || type == RMC_EVENT_NODE_DOWN) {
			CHECK_EQ(up, type == RMC_EVENT_NODE_DOWN);
			CHECK(!linked);
			up = !up;
		} else {
			CHECK_EQ(linked, type == RMC_EVENT_LINK_DOWN);
			CHECK(up);
			linked = !linked;
		}
	}
	CHECK_EQ(up, rmc_claim_state(claim) == RMC_NODE_UP);
}

/* It changes after each access to the table in turn. @knows: the epoch that we work with */
static void polls(u64 is, u64 then, u32 knows)
{
	struct rmc_node *node = peers.node[0];
	bool up, linked;

	becomes = then;
	for (step = change_at = 1; step >= change_at && !tap_failures; change_at++) {
		entries[1].claim = is;
		peers.sync[1] = knows;
		rmc_peers_poll(node);
		rmc_peers_poll(node);
		up = node->peer[1].state == RMC_NODE_UP;
		linked = node->peer[1].linked;
		CHECK_EQ(up, rmc_claim_state(is) == RMC_NODE_UP);
		CHECK_EQ(linked, up && knows == rmc_claim_epoch(is));
		testbed_node_event_count = 0;
		step = 0;
		mprotect(entries, 4096, PROT_NONE);
		rmc_peers_poll(node);
		mprotect(entries, 4096, PROT_READ | PROT_WRITE);
		CHECK(step > 3);
		entries[1].claim = then;
		rmc_peers_poll(node);
		rmc_peers_poll(node);
		check_node_events(up, linked, then);
	}
}

static void leave(struct rmc_node *node)
{
	rmc_node_leave(node);
}

static void go_down(struct rmc_node *node)
{
	rmc_node_down_srv(node);
}

static void come_up(struct rmc_node *node)
{
	rmc_node_join_poll(node, rmc_os_ns_to_ms(testbed_now_ns));
}

/* Another kernel claims node 1's id after each access to its entry in turn. */
static void taken_over(u32 state, u32 then, void (*act)(struct rmc_node *node))
{
	struct rmc_node *node = peers.node[1];

	becomes = rmc_claim(RMC_NODE_JOINING, 2);
	for (step = change_at = 1; step >= change_at && !tap_failures; change_at++) {
		entries[0].state = RMC_NODE_DOWN;
		entries[1].claim = rmc_claim(state, 1);
		node->epoch = 1;
		node->up = state == RMC_NODE_UP;
		node->left = false;
		step = 0;
		mprotect(entries, 4096, PROT_NONE);
		act(node);
		mprotect(entries, 4096, PROT_READ | PROT_WRITE);
		CHECK(step > 1);
		if (step >= change_at)
			CHECK_EQ(entries[1].claim, becomes);
		else
			CHECK_EQ(entries[1].claim, rmc_claim(then, 1));
	}
}

/* The same while a node that left joins again: it gets the id, or keeps its older epoch. */
static void taken_while_joining(void)
{
	struct rmc_node *node = peers.node[1];
	bool kept = false;

	becomes = rmc_claim(RMC_NODE_UP, 9);
	for (step = change_at = 1; step >= change_at && !tap_failures; change_at++) {
		entries[1].claim = rmc_claim(RMC_NODE_DOWN, 1);
		node->epoch = 1;
		node->left = true;
		step = 0;
		mprotect(entries, 4096, PROT_NONE);
		rmc_node_join(node, rmc_os_ns_to_ms(testbed_now_ns));
		mprotect(entries, 4096, PROT_READ | PROT_WRITE);
		CHECK_EQ(node->epoch, node->left ? 1 : 2);
		kept |= node->left;
		CHECK_EQ(entries[1].claim, step >= change_at ? becomes :
			 rmc_claim(RMC_NODE_JOINING, 2));
	}
	CHECK(kept && !node->left);
}

/* A peer rejoins during a tick: no acknowledgement while an end of its older epoch is open. */
static void acknowledged_closed(void)
{
	struct rmc_node *node = peers.node[0];
	bool acknowledged = false;

	becomes = rmc_claim(RMC_NODE_JOINING, 3);
	for (step = change_at = 1; step >= change_at && !tap_failures; change_at++) {
		entries[0].claim = rmc_claim(RMC_NODE_UP, node->epoch);
		entries[1].claim = rmc_claim(RMC_NODE_UP, 2);
		peers.sync[1] = 2;
		peers.sync[2] = node->epoch;
		node->out_epoch[1] = 2;
		CHECK(rmc_in_open(node, 1));
		/* the worker of RGP and RCP has noticed already */
		node->out_epoch[1] = 3;
		step = 0;
		mprotect(entries, 4096, PROT_NONE);
		rmc_node_tick_srv(node, rmc_os_ns_to_ms(testbed_now_ns));
		mprotect(entries, 4096, PROT_READ | PROT_WRITE);
		CHECK(!(peers.sync[1] == 3 && node->in[1]));
		acknowledged |= peers.sync[1] == 3;
		rmc_in_close(node, 1);
	}
	CHECK(acknowledged);
}

static void test_entries(void)
{
	struct sigaction touch = { .sa_sigaction = touched, .sa_flags = SA_SIGINFO };
	struct sigaction once = { .sa_sigaction = touched_once, .sa_flags = SA_SIGINFO };
	const struct testbed_opts o = { .nodes = 2, .kernels = true };
	struct sigaction segv, trap;
	struct rmc_region_node *table;
	u32 i;

	testbed_init(&peers, &o);
	table = peers.table;
	entries = aligned_alloc(4096, 4096);
	memcpy(entries, table, 2 * sizeof(*table));
	peers.table = entries;
	for (i = 0; i < 2; i++)
		peers.fabric[i].node = entries;
	sigaction(SIGSEGV, &touch, &segv);
	sigaction(SIGTRAP, &once, &trap);
	polls(rmc_claim(RMC_NODE_JOINING, 2), rmc_claim(RMC_NODE_UP, 2), 2);
	polls(rmc_claim(RMC_NODE_UP, 2), rmc_claim(RMC_NODE_DOWN, 2), 2);
	polls(rmc_claim(RMC_NODE_UP, 2), rmc_claim(RMC_NODE_UP, 3), 2);
	/* the RRPP's half has noticed first */
	polls(rmc_claim(RMC_NODE_UP, 2), rmc_claim(RMC_NODE_UP, 3), 3);
	tap_result("a peer that comes or goes during a poll: events in order, once");
	polls(rmc_claim(RMC_NODE_UP, 2), rmc_claim(RMC_NODE_JOINING, 3), 2);
	tap_result("a peer that joins again during a poll is not up");
	taken_over(RMC_NODE_UP, RMC_NODE_DOWN, leave);
	taken_over(RMC_NODE_UP, RMC_NODE_DOWN, go_down);
	taken_over(RMC_NODE_JOINING, RMC_NODE_UP, come_up);
	taken_while_joining();
	tap_result("an id taken over while its owner changes state is the successor's");
	acknowledged_closed();
	tap_result("a life is acknowledged with no end open for the one before");
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGTRAP, &trap, NULL);
	peers.table = table;
	testbed_fini(&peers);
	free(entries);
}

int main(void)
{
	test_entries();
	return tap_done();
}

#else

int main(void)
{
	tap_skip("entries that change during a poll", "needs the trap flag of x86");
	return tap_done();
}

#endif
