// SPDX-License-Identifier: GPL-2.0
/* Control plane of the switch model: ranges, cold tuples, crashes, latches of who is gone. */
#include "one_switch.h"

static u32 epoch_of(u64 word)
{
	return word >> RMC_SWITCH_EPOCH_SHIFT & (RMC_SWITCH_EPOCHS - 1);
}

/* Recovery: versions from memory; who had a latch before has none. */
static void test_crash(void)
{
	u64 v2 = RMC_SWITCH_SWITCHED | 2ULL << RMC_SWITCH_EPOCH_SHIFT | 2;
	struct rmc_switch_packet before[3];
	u32 i;

	begin();
	CHECK_EQ(rmc_switch_recover(sw, &mem), -EINVAL);
	CHECK(latch(0, 0, VERSION(0)));
	write_tuple(0, 0, VERSION(1));
	CHECK(latch(0, 0, VERSION(2)));
	CHECK(latch(1, 1, VERSION(0)));
	/* on their way to the storage node, or back */
	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(3), 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(2, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(3, RMC_OP_READ, 5 * BYTES, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	/* the last of each source was passed on, answered, refused or lost before the switch */
	before[0] = packet(0, RMC_OP_WRITE, LAST, BYTES);
	CHECK_EQ(send(0, RMC_OP_WRITE, LAST, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	before[1] = packet(1, RMC_OP_READ, 0, 8);
	CHECK_EQ(send(1, RMC_OP_READ, 0, 8, 0, 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(refusal(2, RMC_OP_FAA, 0, 8), RMC_S_BAD_OP);
	before[2] = packet(2, RMC_OP_READ, LAST, BYTES);
	psn[2]++;
	rmc_switch_lost(sw, 2);
	rmc_switch_crash(sw);
	/* duplicates of what came before */
	for (i = 0; i < 3; i++) {
		rmc_switch_request(sw, &before[i]);
		CHECK_EQ(before[i].verdict, RMC_SWITCH_DROP);
	}
	CHECK_EQ(send(0, RMC_OP_READ, LAST, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(refusal(2, RMC_OP_READ, 5 * BYTES, BYTES), RMC_S_BUSY);
	CHECK_EQ(refusal(2, RMC_OP_READ, 0, 8), RMC_S_BUSY);
	CHECK_EQ(refusal(2, RMC_OP_CAS, 0, 8), RMC_S_BUSY);
	CHECK_EQ(refusal(2, RMC_OP_WRITE, 0, BYTES), RMC_S_BUSY);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), -EBUSY);
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 1, &done, &mem), -EBUSY);
	/* a write that lands behind the recovery would change what has a version already */
	CHECK_EQ(rmc_switch_recover(sw, &mem), -EAGAIN);
	reply(3, RMC_OP_READ, 5 * BYTES, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	reply(2, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	CHECK_EQ(rmc_switch_recover(sw, &mem), -EAGAIN);
	reply(0, RMC_OP_WRITE, 0, BYTES, RMC_S_BUSY);
	CHECK_EQ(rmc_switch_recover(sw, &mem), 0);
	/* stage 1 has no operation that nobody will answer */
	CHECK_EQ(send(3, RMC_OP_READ, 5 * BYTES, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	reply(3, RMC_OP_READ, 5 * BYTES, BYTES, RMC_S_OK);
	CHECK(last.word & RMC_SWITCH_VERIFIED && last.word != RMC_SWITCH_FAILED);

	CHECK_EQ(version(0), v2);
	CHECK_EQ(version(1), v2 - 2);
	CHECK_EQ(sw->latched, 0);
	/* the latch was forgotten; another owner's word is the same but for the epoch */
	CHECK(latch(2, 1, v2 - 2));
	CHECK_EQ(send(1, RMC_OP_WRITE, BYTES, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	/* even without one: nobody but the old owner asks, and it is told */
	CHECK(latch(0, 0, v2));
	CHECK_EQ(send(0, RMC_OP_WRITE, 0, BYTES, VERSION(3), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	CHECK_EQ(send(0, RMC_OP_CAS, 0, 8, VERSION(3), VERSION(4)), RMC_SWITCH_ANSWER);
	CHECK_EQ(version(0), v2 + 1);
	write_tuple(0, 0, v2 + 1);
	/* a reader that validates with what it read before the crash */
	CHECK(version(5) != VERSION(0));
	for (i = 0; i < TUPLES; i++)
		CHECK_EQ(epoch_of(version(i)), 2);
	end();
}

/* Epochs are used once: then the switch has to be set up anew. */
static void test_epochs(void)
{
	u32 i;

	begin();
	rmc_switch_destroy(sw);
	sw = rmc_switch_create(&fabric, 0, TUPLES, RMC_SWITCH_EPOCHS - 1, 4);
	rmc_switch_join(sw, 3, psn[3]);
	CHECK_EQ(add(0, BYTES, BYTES, TUPLES, false), 0);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), 0);
	CHECK_EQ(epoch_of(version(0)), RMC_SWITCH_EPOCHS - 1);
	/* memory is hidden: a word of it is not 0 */
	rmc_switch_crash(sw);
	gone = true;
	CHECK_EQ(rmc_switch_recover(sw, &mem), -EAGAIN);
	gone = false;
	CHECK_EQ(rmc_switch_recover(sw, &mem), 0);
	CHECK_EQ(epoch_of(version(0)), 0);
	for (i = 6; i < RMC_SWITCH_EPOCHS; i++) {
		rmc_switch_crash(sw);
		CHECK_EQ(rmc_switch_recover(sw, &mem), 0);
	}
	/* the next one would be the one that others began with */
	CHECK_EQ(sw->epoch, RMC_SWITCH_EPOCHS - 6);
	rmc_switch_crash(sw);
	CHECK_EQ(rmc_switch_recover(sw, &mem), -EOVERFLOW);
	rmc_switch_withdraw(sw, memory);
	sw->crashed = false;
	CHECK_EQ(add(0, BYTES, BYTES, TUPLES, false), 0);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), -EOVERFLOW);
	end();
}

/* Cold tuples: passed on; no latch is in two places. */
static void test_cold(void)
{
	begin();
	CHECK(latch(0, 0, VERSION(0)));
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 1, &done, &mem), -EBUSY);
	write_tuple(0, 0, VERSION(1));
	/* a reader's registers name it */
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 2, &done, &mem), -EAGAIN);
	CHECK_EQ(done, 0);
	/* nobody else may, or it would never be free */
	CHECK_EQ(refusal(2, RMC_OP_READ, 0, BYTES), RMC_S_BUSY);
	CHECK_EQ(refusal(2, RMC_OP_CAS, 0, 8), RMC_S_BUSY);
	CHECK_EQ(version(0), VERSION(2));
	CHECK_EQ(read_tuple(2, 1), VERSION(0) | RMC_SWITCH_VERIFIED);
	rmc_switch_keep(sw);
	CHECK_EQ(read_tuple(2, 0), VERSION(2) | RMC_SWITCH_VERIFIED);
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 2, &done, &mem), -EAGAIN);
	CHECK_EQ(rmc_switch_demote(sw, CTX, BYTES, 1, &done, &mem), 0);
	CHECK_EQ(read_tuple(2, 0), VERSION(2) | RMC_SWITCH_VERIFIED);
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 2, &done, &mem), -EAGAIN);
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, VERSION(2) | RMC_SWITCH_VERIFIED);
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 2, &done, &mem), 0);
	CHECK_EQ(done, 2);
	CHECK_EQ(memory[0], VERSION(2) & ~RMC_SWITCH_SWITCHED);
	/* again: it is cold already */
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 1, &done, &mem), 0);
	CHECK_EQ(send(1, RMC_OP_CAS, 0, 8, 0, 1), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(1, RMC_OP_FAA, 0, 8, 0, 1), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	/* with a hot one beside it */
	CHECK_EQ(refusal(1, RMC_OP_READ, BYTES, 2 * BYTES), RMC_S_BAD_LENGTH);
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK(!last.changed);

	/* latched by an atomic of the storage node: not now */
	memory[0] |= RMC_SWITCH_LATCHED;
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), -EBUSY);
	memory[0] = 4;
	/* asked for while it was cold: not a read that the switch has seen from its begin */
	CHECK_EQ(send(1, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 2, &mem), 0);
	reply(1, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	CHECK_EQ(memory[0], VERSION(4));
	CHECK_EQ(version(0), VERSION(4));
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 2, &mem), 0);
	gone = true;
	CHECK_EQ(rmc_switch_demote(sw, CTX, 0, 1, &done, &mem), -EFAULT);
	gone = false;
	/* registers that are free again are used again */
	CHECK_EQ(sw->frees, WORDS);
	end();
}

/* Ranges and numbers of the control plane */
static void test_ranges(void)
{
	u32 i;

	begin();
	CHECK_EQ(add(0, BYTES, BYTES, 1, false), -EEXIST);
	CHECK_EQ(add(LAST - 8, 8, 8, 2, true), -EEXIST);
	CHECK_EQ(add(LAST, 2048, 1025, 1, false), -EMSGSIZE);
	CHECK_EQ(add(LAST, 64, 128, 1, false), -EINVAL);
	CHECK_EQ(add(LAST, 128, 8, 1, false), -EINVAL);
	CHECK_EQ(add(LAST + 8, 128, 128, 1, false), -EINVAL);
	CHECK_EQ(add(LAST, 72, 64, 1, false), -EINVAL);
	CHECK_EQ(add(LAST, 0, 0, 1, false), -EINVAL);
	CHECK_EQ(add(LAST, 16, 8, 1, true), -EINVAL);
	CHECK_EQ(add(LAST + 4, 8, 8, 1, true), -EINVAL);
	CHECK_EQ(add(LAST, 64, 64, 0, false), -ERANGE);
	CHECK_EQ(add(LAST, 64, 64, RMC_SWITCH_TUPLES + 1, false), -ERANGE);
	for (i = 1; i < RMC_SWITCH_RANGES; i++)
		CHECK_EQ(add(LAST + 64 * i, 64, 64, 1, false), 0);
	CHECK_EQ(add(LAST + 64 * i, 64, 64, 1, false), -ENOBUFS);

	/* a place that is free again is used again */
	CHECK_EQ(rmc_switch_remove(sw, CTX, 0), -EBUSY);
	CHECK_EQ(rmc_switch_remove(sw, CTX, BYTES), -ENODEV);
	CHECK_EQ(rmc_switch_remove(sw, CTX + 1, 0), -ENODEV);
	CHECK_EQ(rmc_switch_remove(sw, CTX, LAST + 192), 0);
	CHECK_EQ(add(LAST + 64 * i, 64, 64, 1, false), 0);

	CHECK_EQ(rmc_switch_promote(sw, CTX, 8, 1, &mem), -EINVAL);
	CHECK_EQ(rmc_switch_promote(sw, CTX + 1, 0, 1, &mem), -ENODEV);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, TUPLES + 1, &mem), -ERANGE);
	CHECK_EQ(rmc_switch_demote(sw, CTX, BYTES, TUPLES, &done, &mem), -ERANGE);
	CHECK_EQ(rmc_switch_promote(sw, CTX, LAST + 64, 1, &mem), 0);
	gone = true;
	CHECK_EQ(rmc_switch_promote(sw, CTX, LAST + 128, 1, &mem), -EFAULT);
	gone = false;
	sw->frees = 0;
	CHECK_EQ(rmc_switch_promote(sw, CTX, LAST + 128, 1, &mem), -ENOBUFS);

	/* a segment goes: nothing of it is served, latched or waited for, and a place is free */
	CHECK(latch(2, 5, VERSION(0)));
	CHECK_EQ(send(0, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	rmc_switch_withdraw(sw, memory + 1);
	CHECK_EQ(version(0), VERSION(0));
	rmc_switch_withdraw(sw, memory);
	CHECK(!sw->waits);
	CHECK(!sw->latched);
	CHECK_EQ(sw->frees, TUPLES + 1);
	CHECK_EQ(send(1, RMC_OP_CAS, 0, 8, VERSION(0), VERSION(1)), RMC_SWITCH_FORWARD);
	/* the next segment may be the same memory: its words are new all the same */
	CHECK_EQ(add(0, BYTES, BYTES, TUPLES, false), 0);
	CHECK_EQ(rmc_switch_promote(sw, CTX, 0, 1, &mem), 0);
	CHECK(version(0) != VERSION(0));
	/* who waited for a read of it may read again */
	CHECK_EQ(read_tuple(0, 0), version(0) | RMC_SWITCH_VERIFIED);
	end();
}

/* A holder dies: the control plane gives its tuples free, once they are repaired. */
static void test_dead_holder(void)
{
	struct rmc_switch_unlatch u = { .nid = 1, .connected = true };

	begin();
	CHECK(latch(1, 0, VERSION(0)));
	CHECK(latch(1, 7, VERSION(0)));
	CHECK(latch(2, 8, VERSION(0)));
	/* its write is in the storage node's queue */
	CHECK_EQ(send(1, RMC_OP_WRITE, 7 * BYTES, BYTES, VERSION(1), 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(rmc_switch_unlatch(sw, &u, 1, &mem), -EAGAIN);
	CHECK_EQ(u.freed, 0);
	rmc_switch_leave(sw, 1);
	CHECK_EQ(version(0), VERSION(1));
	CHECK_EQ(sw->latched, 3);
	/* who reads it all the time does not keep its latch; nor is what it reads verified */
	CHECK_EQ(send(3, RMC_OP_READ, 0, BYTES, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(rmc_switch_unlatch(sw, &u, RMC_SWITCH_BATCH, &mem), 0);
	CHECK_EQ(rmc_switch_unlatch(sw, &u, 0, &mem), 0);
	CHECK_EQ(u.freed, 2);
	CHECK_EQ(u.kept, 0);
	reply(3, RMC_OP_READ, 0, BYTES, RMC_S_OK);
	CHECK_EQ(last.word, RMC_SWITCH_FAILED);
	CHECK_EQ(version(0), VERSION(2));
	/* what recovery would read */
	CHECK_EQ(memory[0], VERSION(2));
	CHECK_EQ(version(8), VERSION(1));
	CHECK_EQ(sw->latched, 1);
	/* the dead one's write comes late */
	CHECK_EQ(send(1, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	end();
}

/* A holder comes back: what it had latched is not its own, and can be taken while it is alive. */
static void test_returned_holder(void)
{
	struct rmc_switch_unlatch u = { .nid = 1 };

	begin();
	CHECK(latch(1, 0, VERSION(0)));
	CHECK(latch(1, 1, VERSION(0)));
	rmc_switch_leave(sw, 1);
	rmc_switch_join(sw, 1, psn[1]);
	CHECK_EQ(send(1, RMC_OP_WRITE, 0, BYTES, VERSION(1), 0), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	CHECK_EQ(send(1, RMC_OP_CAS, 0, 8, VERSION(1), VERSION(2)), RMC_SWITCH_ANSWER);
	CHECK_EQ(last.status, RMC_S_ABORTED);
	CHECK(latch(1, 2, VERSION(0)));
	CHECK_EQ(rmc_switch_unlatch(sw, &u, 0, &mem), 0);
	CHECK_EQ(u.freed, 2);
	CHECK_EQ(u.kept, 1);
	CHECK_EQ(version(0), VERSION(2));
	CHECK_EQ(version(2), VERSION(1));
	/* a process of a node that is alive */
	u.connected = true;
	CHECK_EQ(rmc_switch_unlatch(sw, &u, 0, &mem), 0);
	CHECK_EQ(u.freed, 3);
	CHECK_EQ(version(2), VERSION(2));
	/* who does not know whether it has latched: free it; that fails if it was another one */
	CHECK(latch(1, 3, VERSION(0)));
	CHECK(latch(1, 3, VERSION(1)));
	CHECK_EQ(version(3), VERSION(2));
	CHECK(latch(2, 3, VERSION(2)));
	CHECK(!latch(1, 3, VERSION(3)));
	CHECK_EQ(last.status, RMC_S_ABORTED);
	end();
}

/* Two RRPPs, each with a switch: a tuple has one owner, by its address. */
static void test_owners(void)
{
	struct rmc_switch *other, *first;
	u32 i;

	begin();
	rmc_switch_destroy(sw);
	fabric.unit_order = 1;
	fabric.rrpp_order = 1;
	fabric.interleave = 256;
	fabric.mtu = 256;
	CHECK_EQ(rmc_fabric_check(&fabric), 0);
	memset(memory, 0, sizeof(memory));
	first = rmc_switch_create(&fabric, 0, TUPLES, 1, 0);
	other = rmc_switch_create(&fabric, 1, TUPLES, 1, 0);
	sw = first;
	/* a tuple in blocks of both would have two owners */
	CHECK_EQ(add(0, 192, 192, 8, false), -EINVAL);
	CHECK_EQ(add(64, BYTES, BYTES, 8, false), -EINVAL);
	for (i = 0; i < 2; i++) {
		sw = i ? other : first;
		rmc_switch_join(sw, 3, psn[3]);
		CHECK_EQ(add(0, BYTES, BYTES, TUPLES, false), 0);
		CHECK_EQ(rmc_switch_promote(sw, CTX, 0, TUPLES, &mem), 0);
		CHECK_EQ(sw->range[0].hot, TUPLES / 2);
	}
	for (i = 0; i < TUPLES; i++)
		CHECK(!first->range[0].slot[i] != !other->range[0].slot[i]);
	sw = other;
	CHECK_EQ(send(3, RMC_OP_READ, 0, 8, 0, 0), RMC_SWITCH_FORWARD);
	CHECK_EQ(send(3, RMC_OP_READ, 256, 8, 0, 0), RMC_SWITCH_ANSWER);
	rmc_switch_destroy(first);
	end();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "switch: crash and recovery", test_crash },
		{ "switch: epochs", test_epochs },
		{ "switch: cold tuples", test_cold },
		{ "switch: ranges", test_ranges },
		{ "switch: a dead holder", test_dead_holder },
		{ "switch: a holder that comes back", test_returned_holder },
		{ "switch: several switches", test_owners },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
