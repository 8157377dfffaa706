/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Who gets the next message: dispatch policies, by discrete events. A dispatcher gives messages to
 * cores, each of which has at most depth that it has not finished (T18 section 5.3: 1). The loop is
 * the time that giving a message and learning of its end take together; 0 is the ideal of T18
 * section 5.1. Times are picoseconds.
 */
#ifndef QSIM_DISPATCH_H
#define QSIM_DISPATCH_H

#include "queues.h"

/*
 * Name, arrive: queue of a message that arrived; fetch: queue that a free core takes from; what it
 * is. Queues: all, one for all cores; own, one for each core; group, one for each group of cores.
 */
#define POLICIES(X)								\
	X(rr, next, own, "round robin: the next core's queue")			\
	X(static, bound, own, "the core that a message is bound to")		\
	X(random, random, own, "a random core")					\
	X(greedy, all, all, "one queue; any core that is free")			\
	X(groups, group, group, "a queue for each group of cores")		\
	X(jsq, shortest, own, "join the shortest queue")			\
	X(sq2, shorter, own, "the shorter queue of two random cores, which may be one")		\
	X(jiq, idle, own, "join an idle core's queue, else the one it is bound to")	\
	X(steal, bound, longest, "as static, but a core without messages takes from the longest queue")	\
	X(class, group, urgent, "a queue for each class of messages, the first class first")	\
	X(hier, lighter, group, "of two random groups, which may be one, that with less work")

enum policy {
#define X(name, arrive, fetch, text)	POLICY_##name,
	POLICIES(X)
#undef X
	POLICY_COUNT
};

#define CORES_MAX	256
#define DEPTH_MAX	16

/**
 * struct host - cores and their dispatcher
 * @policy: who gets the next message
 * @cores: number of cores, 1 .. CORES_MAX
 * @groups: number of groups of cores, divides @cores; or of classes
 * @depth: messages that a core may have, 1 .. DEPTH_MAX
 * @loop: half of it passes until a message reaches a core, half until the dispatcher knows that it
 *	has ended
 * @seed: of policies that choose at random; not 0
 */
struct host {
	enum policy policy;
	unsigned int cores, groups, depth;
	uint64_t loop, seed;
};

const char *policy_name(enum policy policy);
const char *policy_text(enum policy policy);
/* The policy of that name, or -1 */
int policy_find(const char *name);

/**
 * dispatch_run() - run messages through a server
 * @s: server
 * @m: messages
 * @n: number of them, below UINT32_MAX
 * @latency: of each message, from its arrival to the end of its service
 *
 * Returns 0, or -ENOMEM.
 */
int dispatch_run(const struct host *s, const struct message *m, size_t n, uint64_t *latency);

#endif /* QSIM_DISPATCH_H */
