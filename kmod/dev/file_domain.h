/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Domains of files, for domain.c and members.c. A domain is the creator's. Others that share it
 * have it in rmc_file.domain as well, until they leave, or the creator ends it for all:
 *
 *   rmc_file.dom_lock          one file: create, open, leave, end
 *     rmc_context.dom_lock     all of the context: which domains there are, who shares them
 *       rmc_file.lock          of one file, at a time: its queue pairs, its pointer to the domain
 *
 * So with its own lock a file finds its domain as it was, and who ends it waits.
 */
#ifndef RMC_FILE_DOMAIN_H
#define RMC_FILE_DOMAIN_H

#include <linux/list.h>
#include "../core/node.h"
#include "../core/part.h"
#include "domain.h"

/**
 * struct rmc_file_domain - a domain; its creator's lock guards it
 * @d: the part that the pipelines use
 * @recv: receive slots
 * @send: send slots
 * @answers: answer slots, or NULL
 * @all: with RMC_DOM_SHARED the arrival queue of all cores; or NULL
 * @dir: its directory in sysfs, or NULL; guarded by rmc_file.dom_lock
 * @kib: charged memory
 * @depth: messages that a core may have
 * @groups: groups of cores
 * @classes: RMC_DOM_CLASS: number of them; else 0
 * @cores: queue pairs that receive, of all members (dispatcher)
 * @requeue: what a core has that goes is given to others
 * @policy: who gets which message
 * @age_us: after which one that waits comes first; 0: never
 * @wake_us: for which one waits for a core that polls
 * @members: files that may share it, 1 or more. The fields below are guarded by
 *	rmc_context.dom_lock
 * @link: in rmc_context.domains
 * @others: struct rmc_member of those that do
 * @opened: by member, number of files that were it
 */
struct rmc_file_domain {
	struct rmc_domain d;
	struct rmc_umem *recv;
	struct rmc_umem *send;
	struct rmc_umem *answers;
	struct rmc_umem *all;
	struct rmc_domain_dir *dir;
	u32 kib;
	u32 depth;
	u32 groups;
	u32 classes;
	u32 cores;
	bool requeue;
	u32 policy;
	u32 age_us;
	u32 wake_us;
	u32 members;
	struct list_head link;
	struct list_head others;
	u32 opened[RMC_MAX_MEMBERS];
};

/**
 * struct rmc_member - a file that shares the domain of another one
 * @file: it
 * @number: which member; member 0 is the creator
 * @send: its send slots
 * @kib: charged memory
 * @link: in rmc_file_domain.others
 */
struct rmc_member {
	struct rmc_file *file;
	u32 number;
	struct rmc_umem *send;
	u32 kib;
	struct list_head link;
};

static inline u32 rmc_member_number(const struct rmc_file *f)
{
	return f->member ? f->member->number : 0;
}

int rmc_dom_make(struct rmc_file *f, struct rmc_dom_create *c);

#endif
