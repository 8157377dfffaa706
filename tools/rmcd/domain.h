/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Domains of messages: one per context and node, of the connection that created it. It ends with
 * the connection, for others that have opened it as well.
 *
 *	main thread: rmcd_domain_*()     dispatcher: worker of the node's first RRPP
 *	                                 cores: queue pairs, each with an arrival queue
 */
#ifndef RMCD_DOMAIN_H
#define RMCD_DOMAIN_H

#include "file.h"
#include "kmod/core/domain.h"

/**
 * struct rmcd_slots - memory of slots that a client maps
 * @mem: as the pipelines see it
 * @chunk: of @mem
 * @fd: sealed file; -1: there is none
 * @len: bytes
 */
struct rmcd_slots {
	struct rmc_mem mem;
	void *chunk[1];
	int fd;
	size_t len;
};

/**
 * struct rmcd_member - of a domain that several connections share
 * @file: connection; NULL: none, or the creator's
 * @send: its send slots
 * @kib: charged memory
 * @opened: number of connections that were this member
 */
struct rmcd_member {
	struct rmcd_file *file;
	struct rmcd_slots send;
	u32 kib;
	u32 opened;
};

/**
 * struct rmcd_domain - a domain
 * @d: the part that the pipelines use
 * @recv: receive slots, which clients only read
 * @send: send slots
 * @answers: answer slots, which clients only read; or none
 * @all: with RMC_DOM_SHARED the arrival queue of all cores; or none
 * @kib: charged memory
 * @policy: who gets which message
 * @depth: messages that a core may have
 * @groups: groups of cores
 * @classes: RMC_DOM_CLASS: number of them; else 0
 * @age_us: after which a message that waits comes first; 0: never
 * @wake_us: for which one waits for a core that polls
 * @cores: queue pairs that receive, of all members
 * @requeue: what a core has that goes is given to others
 * @members: connections that may share it, 1 or more
 * @other: those that do; member 0 is the creator
 */
struct rmcd_domain {
	struct rmc_domain d;
	struct rmcd_slots recv;
	struct rmcd_slots send;
	struct rmcd_slots answers;
	struct rmcd_slots all;
	u32 kib;
	u32 policy;
	u32 depth;
	u32 groups;
	u32 classes;
	u32 age_us;
	u32 wake_us;
	u32 cores;
	bool requeue;
	u32 members;
	struct rmcd_member other[RMC_MAX_MEMBERS];
};

/* The domain that the pipelines have as @d */
static inline const struct rmcd_domain *rmcd_domain_of(const struct rmc_domain *d)
{
	return (const struct rmcd_domain *)(const void *)d;
}

static_assert(offsetof(struct rmcd_domain, d) == 0, "see rmcd_domain_of()");

void rmcd_domain_query(struct rmc_dom_query *q);
int rmcd_domain_create(struct rmcd_file *f, struct rmc_dom_create *c);
int rmcd_domain_destroy(struct rmcd_file *f);
int rmcd_domain_attach(struct rmcd_file *f, struct rmc_dom_attach *a);
int rmcd_domain_detach(struct rmcd_file *f, struct rmcd_qp *q);
void rmcd_domain_sleeps(struct rmcd_file *f, struct rmcd_qp *q);
u32 rmcd_domain_expect_room(struct rmcd_file *f, struct rmcd_qp *q);
void rmcd_domain_stats(struct rmcd_file *f, struct rmc_dom_stats *s);
int rmcd_domain_missing(const struct rmcd_file *f);
void rmcd_domain_detach_all(struct rmcd_file *f);
int rmcd_slots_make(struct rmcd_slots *s, struct rmc_mem **mem, const char *name, u64 len,
		    bool read_only);
void rmcd_slots_free(struct rmcd_slots *s);

/* members.c */
int rmcd_domain_open(struct rmcd_file *f, struct rmc_dom_open *o);
int rmcd_domain_send_fd(const struct rmcd_file *f);
void rmcd_members_end(struct rmcd_domain *dom);
bool rmcd_member_leave(struct rmcd_file *f);

#endif
