/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dispatcher of messages (T18 chapter 5): which core gets which message, and when.
 *
 *   rmc_dispatch_arrive()                                     rmc_dispatch_done()
 *        |                                                         ^
 *        v  arrive()                       fetch()                 |
 *     message ----> FIFO ----> rmc_dispatch_next(): a core -----> core
 *                              with room, and a message
 *
 * rmc_dispatch_pass() is the first two at once, for while no message waits.
 *
 * A policy is two functions: arrive() chooses the FIFO of a message, fetch() the FIFO that a core
 * with room takes from. A core has room while given - done < depth. Of the cores that have room
 * and find a message, the one with the fewest outstanding messages is next; of several, one that
 * polls rather than one that sleeps; then the lowest. Those whose thread is not on a CPU are last.
 *
 * One thread calls all of this: the worker that owns the dispatcher. It knows no rings, packets
 * or workers. Memory is the caller's: one block for the dispatcher, and struct rmc_dispatch_msg
 * in the record of each slot. A message is in exactly one place, so nothing can overflow.
 *
 * Cost of a message: some operations on sets of cores, each a bitmap of a word per 64 cores, for
 * each number of outstanding messages up to the depth; jsq and steal also update a tree over all
 * cores, 8 nodes deep at 256. None depends on how many cores are attached, or busy. Attaching and
 * detaching visit all FIFOs, and the messages that have to move.
 *
 * selftests/unit/dispatch_oracle.c compares each message with tools/qsim.
 */
#ifndef RMC_DISPATCH_H
#define RMC_DISPATCH_H

#include "../base/os.h"

/*
 * NAME, name, whose FIFOs, arrive, fetch, flags of dispatch.c. FIFOs: ALL, one for all cores; CORE,
 * GROUP, CLASS, one for each. The key of a message is a hash, of its source for instance; with
 * CLASS the number of its class.
 *
 * rr		round robin
 * static	the core that the key is bound to (16x1)
 * random	a random core
 * greedy	one FIFO, any core (1xN)
 * groups	the group that the key is bound to, as 4x4 of T18: with the unit's number as key
 * jsq		the core with the least work: waiting, outstanding, and its load hint
 * sq2		the one with less work of two random cores, which may be one
 * jiq		a core without work, else the one that the key is bound to
 * steal	as static; a core whose FIFO is empty takes the head of the longest one
 * keyed	the core that the key is bound to, which stays when other cores come or go
 * class	FIFOs in order of urgency, 0 first; a core takes from the classes of its mask
 * hier		the one with less work of two random groups, which may be one
 * shared	one FIFO; threads pull, and rmc_dispatch_next() gives nothing
 */
#define RMC_DISPATCH_POLICIES(X)						\
	X(RR, rr, CORE, next, home, 0)						\
	X(STATIC, static, CORE, bound, home, 0)					\
	X(RANDOM, random, CORE, random, home, 0)				\
	X(GREEDY, greedy, ALL, first, home, HOLDS)				\
	X(GROUPS, groups, GROUP, bound, home, HOLDS)				\
	X(JSQ, jsq, CORE, least, home, LEAST)					\
	X(SQ2, sq2, CORE, lighter, home, 0)					\
	X(JIQ, jiq, CORE, idle, home, IDLE)					\
	X(STEAL, steal, CORE, bound, longest, LONGEST)				\
	X(KEYED, keyed, CORE, bucket, home, BUCKETS)				\
	X(CLASS, class, CLASS, class, urgent, 0)				\
	X(HIER, hier, GROUP, lighter, home, HOLDS)				\
	X(SHARED, shared, ALL, first, home, PULLED)

enum rmc_dispatch_policy {
#define X(NAME, name, of, arrive, fetch, flags)	RMC_DISPATCH_##NAME,
	RMC_DISPATCH_POLICIES(X)
#undef X
	RMC_DISPATCH_COUNT
};

#define RMC_DISPATCH_CORES	256		/* most cores: 4 words of a bitmap */
#define RMC_DISPATCH_DEPTH	16		/* most messages that a core may have */
#define RMC_DISPATCH_CLASSES	16		/* most classes: a change unites their cores */
#define RMC_DISPATCH_NS		1000000000ULL	/* longest wake_ns and age_ns: a second */

/* What is known of a core's thread, a hint. The order is that of preference. */
enum rmc_dispatch_hint {
	RMC_CORE_POLLS,		/* is running, and will see a message at once */
	RMC_CORE_SLEEPS,	/* has to be woken */
	RMC_CORE_OFF,		/* is not on a CPU, and waking it does not help */
	RMC_CORE_HINTS
};

/**
 * struct rmc_dispatch_params - what a dispatcher is to be
 * @policy: enum rmc_dispatch_policy
 * @depth: messages that a core may have, 1 .. RMC_DISPATCH_DEPTH
 * @cores: most cores, 1 .. RMC_DISPATCH_CORES
 * @groups: groups and hier: groups of cores, 1 .. @cores
 * @classes: class: 1 .. RMC_DISPATCH_CLASSES
 * @seed: of the policies that choose at random
 * @wake_ns: greedy, groups, hier: so long a message waits for a core that polls before it is given
 *	to one that does not; the caller comes back at rmc_dispatch_due()
 * @age_ns: steal, class: a core also inspects one more FIFO each time, in turn, and takes from it
 *	if its head waits for longer than this; 0: it does not
 */
struct rmc_dispatch_params {
	u32 policy;
	u32 depth;
	u32 cores;
	u32 groups;
	u32 classes;
	u64 seed;
	u64 wake_ns;
	u64 age_ns;
};

/**
 * struct rmc_dispatch_msg - a message, in the record of its slot; zeroed before its first use
 * @next: in a FIFO, or with a core; in a list of rmc_dispatch_detach()
 * @prev: with a core
 * @stamp: when it arrived
 * @key: set before it arrives, see RMC_DISPATCH_POLICIES
 * @fifo: FIFO that it is in, or came from
 * @core: core that has it
 * @state: private
 * @again: a core went away while it had it
 * @early: its core had room again before it was done
 */
struct rmc_dispatch_msg {
	struct rmc_dispatch_msg *next;
	struct rmc_dispatch_msg *prev;
	u64 stamp;
	u32 key;
	u16 fifo;
	u8 core;
	u8 state : 2;
	u8 again : 1;
	u8 early : 1;
};

struct rmc_dispatch;

const char *rmc_dispatch_name(u32 policy);
int rmc_dispatch_find(const char *name);
bool rmc_dispatch_has_groups(u32 policy);
bool rmc_dispatch_holds(u32 policy);
int rmc_dispatch_check(const struct rmc_dispatch_params *p);
size_t rmc_dispatch_bytes(const struct rmc_dispatch_params *p);
struct rmc_dispatch *rmc_dispatch_init(void *mem, const struct rmc_dispatch_params *p);
int rmc_dispatch_attach(struct rmc_dispatch *d, u32 group, u32 classes);
int rmc_dispatch_detach(struct rmc_dispatch *d, u32 core, struct rmc_dispatch_msg **held);
bool rmc_dispatch_hint(struct rmc_dispatch *d, u32 core, enum rmc_dispatch_hint hint);
void rmc_dispatch_thread(struct rmc_dispatch *d, u32 core, const void *thread);
bool rmc_dispatch_load(struct rmc_dispatch *d, u32 core, u8 load);

bool rmc_dispatch_arrive(struct rmc_dispatch *d, struct rmc_dispatch_msg *m, u64 now);
int rmc_dispatch_pass(struct rmc_dispatch *d, struct rmc_dispatch_msg *m, u64 now);
int rmc_dispatch_next(struct rmc_dispatch *d, u64 now, struct rmc_dispatch_msg **m);
struct rmc_dispatch_msg *rmc_dispatch_pull(struct rmc_dispatch *d, u32 core, u64 now);
bool rmc_dispatch_ready(struct rmc_dispatch *d, u32 core, struct rmc_dispatch_msg *m);
bool rmc_dispatch_done(struct rmc_dispatch *d, u32 core, struct rmc_dispatch_msg *m);

u64 rmc_dispatch_due(const struct rmc_dispatch *d);
u32 rmc_dispatch_waiting(const struct rmc_dispatch *d);
u32 rmc_dispatch_outstanding(const struct rmc_dispatch *d, u32 core);

/* A key of 8 bytes: all its bits count in each bit of the hash. */
static inline u32 rmc_dispatch_hash(u64 bytes)
{
	bytes = (bytes ^ bytes >> 30) * 0xbf58476d1ce4e5b9ULL;
	bytes = (bytes ^ bytes >> 27) * 0x94d049bb133111ebULL;
	return bytes >> 32;
}

#endif
