/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Native messaging (T18 chapter 5): a message goes to a node, and the RMC of that node chooses
 * which core processes it.
 *
 *	domain = rmc_domain_open(team);			on every node, once
 *	core = rmc_core_open(domain, 0, 0);		in each thread
 *
 *	while (rmc_arrival_wait(core, &m, 50, -1) == 1) {		a server
 *		n = handle(rmc_arrival_data(core, &m), m.len, answer);
 *		rmc_receive(core, &m);
 *		rmc_send(core, (int)m.nid, answer, n, 0);
 *	}
 *
 * A core is a thread with a queue pair and, unless it only sends, an arrival queue. Each pair of
 * nodes has S slots, which all cores of a node share: so many messages are under way at a time,
 * from rmc_send() until the receiver's rmc_receive(). Messages of a pair have no order.
 *
 * Each message arrives once, also when packets are lost: what is in doubt is asked for and sent
 * again, in later calls of the same core. A peer that is gone is given up: rmc_send() returns its
 * status until rmc_core_join().
 *
 * One thread at a time per core. Cores of a domain may be opened, used and closed by threads
 * that know nothing of each other; other calls on the context need the caller's lock meanwhile.
 */
#ifndef RMC_LIB_DOMAIN_H
#define RMC_LIB_DOMAIN_H

#include <string.h>
#include <linux/rmc_domain.h>
#include <rmc/abi.h>
#include <rmc/team.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rmc_domain;

/* Nodes that talk to each other have the same first_nid, nodes, slots, max_message, max_answer. */
struct rmc_domain_options {
	unsigned int first_nid;		/* first node of the domain */
	unsigned int nodes;		/* N; 0: all from first_nid on */
	unsigned int slots;		/* S; 0: 64, or fewer if they take more than 16 MiB */
	unsigned int max_message;	/* bytes; 0: 4096 */
	unsigned int policy;		/* enum rmc_dom_policy */
	unsigned int depth;		/* messages that a core may have; 0: 2 */
	unsigned int cores;		/* most cores of this node; 0: 16 */
	unsigned int groups;		/* of cores; 0: 1 */
	unsigned int flags;		/* RMC_DOM_REQUEUE, RMC_DOM_KEY */
	unsigned int entries;		/* of a core's queue pair; 0: RMC_QP_ENTRIES_DEFAULT */
	unsigned int timeout_ms;	/* to join a peer, or to learn of a message; 0: 30 s */
	unsigned int max_answer;	/* bytes of an answer; 0: calls are not possible */
	unsigned int key_offset;	/* RMC_DOM_KEY: of 64 bits in a message, by which it is given */
	unsigned int classes;		/* RMC_DOM_CLASS: 1 .. 16; the key is the class, 0 first */
	unsigned int age_us;		/* RMC_DOM_CLASS, RMC_DOM_STEAL: one that waits so long comes first */
	unsigned int members;		/* processes of this node that share it, see rmc_domain_attach(); 0: 1 */
	unsigned int wake_us;		/* a message waits so long for a core that polls, if others sleep */
};

#define RMC_DOMAIN_OPTIONS_SIZE_VER0	44
RMC_ABI_SIZE_VER0(rmc_domain_options, timeout_ms, RMC_DOMAIN_OPTIONS_SIZE_VER0);

/* All zero but policy RMC_DOM_GREEDY and flag RMC_DOM_REQUEUE */
void rmc_domain_defaults_sized(struct rmc_domain_options *o, size_t size);
RMC_SIZED void rmc_domain_defaults(struct rmc_domain_options *o)
{
	rmc_domain_defaults_sized(o, sizeof(*o));
}

/*
 * Open the context's domain on this node; there is one at most. NULL with errno set on failure,
 * see rmc_errmsg(). ENOTTY: this RMC has no native messages.
 */
struct rmc_domain *rmc_domain_open_sized(struct rmc_ctx *ctx,
					 const struct rmc_domain_options *options, size_t size);
RMC_SIZED struct rmc_domain *rmc_domain_open_with(struct rmc_ctx *ctx,
						  const struct rmc_domain_options *options)
{
	return rmc_domain_open_sized(ctx, options, sizeof(*options));
}

/* A domain of the team's members, with the defaults */
struct rmc_domain *rmc_domain_open(struct rmc_team *team);

/*
 * Share the domain that another process of this node has opened, with options->members, in the
 * context that both have open: this process has cores as well, gets messages by the same policy, and
 * sends by slots of its own, slots / members of each pair. member: 1 .. members - 1, or
 * RMC_DOM_ANY_MEMBER: one that no process is. Of the options, entries and timeout_ms count, and the
 * others are those of the domain; NULL: defaults.
 *
 * Where a process was this member before, each core goes on with its slots when it joins a peer:
 * messages that were under way are given up, those that lie at the peer are processed.
 *
 * The domain ends for all with the process that opened it, or its rmc_domain_close(). Then calls
 * return -ESHUTDOWN, or RMC_S_NO_DOMAIN. rmc_domain_close() of another member ends its own part only.
 *
 * NULL with errno set on failure, see rmc_errmsg(): ENOENT: no process has opened one; EBUSY, ENOSPC:
 * another process is this member, or all are there; EINVAL: no such member; EOPNOTSUPP: this RMC
 * shares no domains.
 */
struct rmc_domain *rmc_domain_attach_sized(struct rmc_ctx *ctx, unsigned int member,
					   const struct rmc_domain_options *options, size_t size);
RMC_SIZED struct rmc_domain *rmc_domain_attach(struct rmc_ctx *ctx, unsigned int member,
					       const struct rmc_domain_options *options)
{
	return rmc_domain_attach_sized(ctx, member, options, sizeof(*options));
}

/* Also closes its cores, which no thread may use any more. Before rmc_close(). */
void rmc_domain_close(struct rmc_domain *domain);

/* The caller sets stats->size, and stats->flags to 0. 0 or -errno */
int rmc_domain_stats(struct rmc_domain *domain, struct rmc_dom_stats *stats);

/* Number of a policy ("greedy"), or -EINVAL; its name, or "unknown" */
int rmc_domain_policy(const char *name);
const char *rmc_domain_policy_name(int policy);

/* Messages that can be sent to a node now; -EINVAL: it is none of the domain's */
int rmc_domain_room(const struct rmc_domain *domain, int nid);

/* Bytes that a message, or an answer, may have */
unsigned int rmc_domain_max_message(const struct rmc_domain *domain);
unsigned int rmc_domain_max_answer(const struct rmc_domain *domain);

/*
 * Fields are for the inlines below, not for applications. The library allocates it, and adds new
 * fields at the end.
 */
struct rmc_core {
	const struct rmc_aq_entry *aq;
	const uint8_t *recv;		/* receive slots of this node */
	uint32_t entries;		/* of the arrival queue, a power of two */
	uint32_t taken;			/* arrivals taken, free running */
	uint32_t first_nid;
	uint32_t slots;			/* S */
	uint32_t stride;		/* bytes of a receive slot */
	uint32_t number;		/* of this core; ~0: it only sends */
	struct rmc_qp *qp;
	struct rmc_domain *domain;
	uint32_t pulls;			/* RMC_DOM_SHARED: it takes from the queue of all cores */
};

RMC_ABI_OFFSET(rmc_core, aq, 0);
RMC_ABI_OFFSET(rmc_core, recv, 8);
RMC_ABI_OFFSET(rmc_core, entries, 16);
RMC_ABI_OFFSET(rmc_core, taken, 20);
RMC_ABI_OFFSET(rmc_core, first_nid, 24);
RMC_ABI_OFFSET(rmc_core, slots, 28);
RMC_ABI_OFFSET(rmc_core, stride, 32);
RMC_ABI_OFFSET(rmc_core, number, 36);
RMC_ABI_OFFSET(rmc_core, qp, 40);
RMC_ABI_OFFSET(rmc_core, domain, 48);
RMC_ABI_OFFSET(rmc_core, pulls, 56);

/* A message that this core has: from rmc_arrival_next() to rmc_receive() */
struct rmc_arrival {
	uint32_t nid;			/* its sender */
	uint32_t slot;
	uint32_t turn;
	uint32_t len;			/* bytes */
	uint32_t kind;			/* enum rmc_aq_kind */
	uint32_t again;			/* another core had it, and is gone */
	uint64_t stamp;			/* when it was complete, or a little before; CLOCK_MONOTONIC, ns */
	uint8_t head[RMC_AQ_HEAD];	/* its first bytes */
};

RMC_ABI_SIZE(rmc_arrival, 80);

#define RMC_CORE_SEND_ONLY	(1U << 0)	/* gets no messages */
#define RMC_CORE_NO_JOIN	(1U << 1)	/* joins no peer: rmc_core_join() does */

/*
 * A core of the domain: a queue pair of its own. group: its group; with RMC_DOM_CLASS a mask of the
 * classes that it takes, 0: all; see struct rmc_dom_attach. Joins all
 * peers, also this node, and waits for domains that are not there yet. NULL with errno set on
 * failure, see rmc_errmsg(); ETIMEDOUT: a peer has not opened its domain in time.
 */
struct rmc_core *rmc_core_open(struct rmc_domain *domain, unsigned int group,
			       unsigned int flags);

/*
 * What it has sent is completed first, for at most a second. Messages that it has are given to
 * other cores (RMC_DOM_REQUEUE), or dropped.
 */
void rmc_core_close(struct rmc_core *core);

/*
 * Join a peer that was given up, or that began anew. If its domain is the one it was, messages in
 * doubt are sent now; if it is another one, they are dropped. Every core that sends to it calls
 * this. 0; the last status of the peer, after the time limit; or -errno.
 */
int rmc_core_join(struct rmc_core *core, int nid);

/*
 * Ask whether peers live, one after the other, each at most every 100 ms: for a core that waits for
 * messages and sends none. Does not wait. 0 or -ESHUTDOWN; rmc_core_lost() has what they say
 */
int rmc_core_probe(struct rmc_core *core);

/* Status for which a peer was given up; 0: it was not; -EINVAL */
int rmc_core_lost(const struct rmc_core *core, int nid);

/*
 * Handle completions, and continue what is in doubt. Calls of a core do so, but rmc_send(),
 * rmc_receive() and rmc_respond() may leave what was posted by the last two of them to a later call.
 * So the failure of a message may be told a call or two later. Until then the slots
 * of its messages are of no use to other cores: one that makes no calls for a long time calls
 * rmc_core_flush() before, or this now and then. 0, or -ESHUTDOWN when the queue pair is dead.
 */
int rmc_core_poll(struct rmc_core *core);

#define RMC_SEND_DONTWAIT	(1U << 0)	/* -EAGAIN instead of waiting */
#define RMC_SEND_OFFER		(1U << 1)	/* RMC_OP_OFFER: the arrival is an RMC_AQ_OFFER */

/*
 * Send len bytes, 1 .. max_message, to a node; buf is free again on return. Waits for room, in a
 * sleep if it takes long, and handles completions meanwhile, but no arrivals: two nodes that only send to each other wait for
 * ever, so a core that also receives takes RMC_SEND_DONTWAIT, and its arrivals when that fails.
 *
 * 0: it is under way; rmc_core_flush() tells when it is there. -EAGAIN; -EMSGSIZE; -EINVAL;
 * -ESHUTDOWN; or the enum rmc_status for which the peer was given up.
 */
int rmc_send(struct rmc_core *core, int nid, const void *buf, size_t len, unsigned int flags);

/*
 * Wait until the core's operations have completed: messages lie at their nodes, slots that were
 * received are free. The first failure since the last call: a status, or -errno; 0 when there was
 * none. Messages to peers that were given up are not waited for.
 */
int rmc_core_flush(struct rmc_core *core);

/* The core has processed a message: its slot is free for the sender. 0 or -errno */
int rmc_receive(struct rmc_core *core, const struct rmc_arrival *m);

/*
 * The core takes one more message, and keeps this one: for servers that answer later, as when a disk
 * has. Once for each message. The core then has more than `depth' messages, but no more than the
 * senders' slots, and in a domain with several members no more than its part of these: what is said
 * beyond that has no effect. 0 or -errno; a message that it does not have: the next flush reports it.
 */
int rmc_ready(struct rmc_core *core, const struct rmc_arrival *m);

/*
 * rmc_receive(), and answer it with len bytes, 0 .. max_answer; buf is free again on return. One
 * operation in place of two, and it never waits for room: the answer has a place of its own, so
 * nodes that call each other cannot wait for each other. 0; -EMSGSIZE; -EOPNOTSUPP: the domain has
 * no answers; -EINVAL; -ESHUTDOWN.
 */
int rmc_respond(struct rmc_core *core, const struct rmc_arrival *m, const void *buf, size_t len);

/* A message whose answer is expected: from rmc_call_send() to rmc_call_end() */
struct rmc_call {
	uint32_t nid;
	uint32_t slot;
	uint32_t turn;
};

RMC_ABI_SIZE(rmc_call, 12);

/* As rmc_send(). The slot is the caller's until rmc_call_end(). -EOPNOTSUPP: no max_answer */
int rmc_call_send(struct rmc_core *core, int nid, const void *buf, size_t len, unsigned int flags,
		  struct rmc_call *call);

/*
 * Look for the answer, and handle completions. 0: *answer has *len bytes, which do not change until
 * rmc_call_end(); 0 bytes also if the message was only received. -EAGAIN: not yet; the enum
 * rmc_status for which the peer was given up, or RMC_S_TIMEOUT: it was processed, and the answer
 * is lost; -ESHUTDOWN; -EINVAL: no call of this core goes on. A call is executed once at most.
 */
int rmc_call_poll(struct rmc_core *core, const struct rmc_call *call, const void **answer,
		  size_t *len);

/* The same, and wait, spinning first; -ETIMEDOUT instead of -EAGAIN. timeout_ms < 0: for ever */
int rmc_call_wait(struct rmc_core *core, const struct rmc_call *call, const void **answer,
		  size_t *len, int timeout_ms);

/* The answer was read, or is not wanted: the slot is free once the peer has processed the message. */
void rmc_call_end(struct rmc_core *core, const struct rmc_call *call);

/*
 * Rendezvous, for what is longer than max_message: offer len bytes from an offset of this context's
 * segment on. The arrival is an RMC_AQ_OFFER, whose receiver reads them with rmc_fetch(), and then
 * answers or receives it. As rmc_call_send(): the data is the peer's until rmc_call_poll() returns
 * something else than -EAGAIN. flags: RMC_SEND_DONTWAIT
 */
int rmc_offer(struct rmc_core *core, int nid, uint64_t offset, uint64_t len, unsigned int flags,
	      struct rmc_call *call);

/*
 * Read what was offered into a registered buffer of size bytes. 0, and *len; -EMSGSIZE: *len is more
 * than that; -EINVAL: no offer; -EPROTO; -ESHUTDOWN; or the status of a read, as RMC_S_OUT_OF_RANGE
 * if it is not in the sender's segment.
 */
int rmc_fetch(struct rmc_core *core, const struct rmc_arrival *m, void *buf, size_t size,
	      size_t *len);

/* For the library and the inline below: an arrival from its entry, whose word 0 was loaded */
RMC_INLINE void rmc_arrival_set(struct rmc_arrival *m, uint64_t word, const struct rmc_aq_entry *e)
{
	m->nid = (uint32_t)(word >> RMC_AQ_NID_SHIFT) & 0x3ff;
	m->slot = (uint32_t)(word >> RMC_AQ_SLOT_SHIFT) & (RMC_MAX_SLOTS - 1);
	m->turn = (uint32_t)(word >> RMC_AQ_TURN_SHIFT) & 0xff;
	m->len = (uint32_t)(word >> RMC_AQ_LEN_SHIFT) & 0x1fffff;
	m->kind = (uint32_t)(word >> RMC_AQ_KIND_SHIFT) & RMC_AQ_KIND_MASK;
	m->again = !!(word & RMC_AQ_AGAIN);
	m->stamp = e->stamp;
	memcpy(m->head, e->head, sizeof(m->head));
}

/* Likewise: of a core with pulls set */
int rmc_arrival_pull(struct rmc_core *core, struct rmc_arrival *m);

/*
 * Take the next arrival if there is one: 1, else 0, or -ESHUTDOWN. Does not wait. A core gets no
 * more than `depth` messages that it has not received: one that keeps them gets no others.
 *
 * The acquire pairs with the release in the RMC, which stores word 0 last: then the whole message
 * is in its slot.
 */
RMC_INLINE int rmc_arrival_next(struct rmc_core *core, struct rmc_arrival *m)
{
	const struct rmc_aq_entry *e = &core->aq[core->taken & (core->entries - 1)];
	uint64_t word = rmc_load_acquire(&e->word0);

	if ((word & 1) != !(core->taken & core->entries))
		return core->pulls ? rmc_arrival_pull(core, m) : rmc_core_poll(core);
	rmc_arrival_set(m, word, e);
	core->taken++;
	return 1;
}

/* The message in its receive slot, which does not change until rmc_receive(). Read-only. */
RMC_INLINE const void *rmc_arrival_data(const struct rmc_core *core, const struct rmc_arrival *m)
{
	return core->recv + ((size_t)(m->nid - core->first_nid) * core->slots + m->slot) *
			    core->stride + 64;
}

/*
 * The same, or m->head if all of it is there: that line is here already, the slot's is not. It does
 * not change as long as m does not, until rmc_receive().
 */
RMC_INLINE const void *rmc_arrival_bytes(const struct rmc_core *core, const struct rmc_arrival *m)
{
	return m->len <= RMC_AQ_HEAD ? (const void *)m->head : rmc_arrival_data(core, m);
}

/*
 * Wait for an arrival and take it: spin for spin_us microseconds, then sleep for at most
 * timeout_ms milliseconds, for ever if that is negative. 1; 0: timeout; or -errno: -ESHUTDOWN
 * when the queue pair is dead, -EINTR on a signal, -EOPNOTSUPP: the core only sends. With
 * RMC_DOM_SHARED it does not sleep, but spins all the time, and rmc_core_arm() is not possible.
 */
int rmc_arrival_wait(struct rmc_core *core, struct rmc_arrival *m, unsigned int spin_us,
		     int timeout_ms);

/*
 * For event loops: the core's eventfd, closed with the core; make it readable once there is an
 * arrival, or a completion while operations are in flight; make it unreadable again. See
 * <rmc/wait.h>.
 */
int rmc_core_eventfd(struct rmc_core *core);
int rmc_core_arm(struct rmc_core *core);
void rmc_core_disarm(struct rmc_core *core);

/*
 * Make it readable once a send slot has become free after this call, of any node, or at the next
 * completion: for who got -EAGAIN. Try again after it, and sleep if that fails, for at most 100 ms: what
 * frees a slot may be lost with its packet, or another core be late. It may be armed for arrivals as
 * well.
 */
int rmc_core_arm_room(struct rmc_core *core);

#ifdef __cplusplus
}
#endif

#endif /* RMC_LIB_DOMAIN_H */
