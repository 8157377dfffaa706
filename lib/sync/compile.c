/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A row of the table, a latch and options: what cannot work is refused here, with the reason
 * in the message; the rest becomes programs whose steps need no options any more. Rows of
 * what cannot work ("broken-...") have their options themselves and are not checked.
 */
#include "state.h"

int rmc_sync_is_ordered(const struct rmc_qp *qp)
{
	return rmc_qp_is_ordered((struct rmc_qp *)(uintptr_t)qp);
}

#define ORDERED_OPTIONS	(RMC_SYNC_SPEC | RMC_SYNC_COMBINE | RMC_SYNC_WRITE_UNLATCH)
#define ALL_OPTIONS	(ORDERED_OPTIONS | RMC_SYNC_ASYNC | RMC_SYNC_TRUST_ORDER)

static int refuse(const struct scheme *row, const char *why)
{
	return rmc_fail(EINVAL, "scheme %s: %s", row->pub.name, why);
}

/* The row with this latch, or NULL */
static const struct scheme *with_latch(const struct scheme *row, unsigned int latch)
{
	int none = !row->latch && !row->reads && !row->writes && !row->pub.needs;

	switch (latch) {
	case RMC_LATCH_DEFAULT:
		return row;
	case RMC_LATCH_RW:
		return row->writes == &rmc_latch_rw ? row : NULL;
	case RMC_LATCH_EXCL:
		return row->excl ? row->excl : row->writes == &rmc_latch_excl ? row : NULL;
	case RMC_LATCH_VERSION:
		return row->writes == &rmc_latch_version ? row : NULL;
	case RMC_LATCH_DETACHED:
		return row->apart;
	case RMC_LATCH_NONE:
		return none ? row : NULL;
	case RMC_LATCH_NIC_RPC:
		return row->served;
	default:
		return NULL;
	}
}

static int find_layout(struct plan *plan, const struct rmc_sync_options *o)
{
	const struct scheme *row = plan->row, *s = with_latch(row, o->latch);

	if (!s && o->latch == RMC_LATCH_NIC_RPC && row->writes && !row->reads)
		return refuse(row, "latch nic-rpc: readers that validate do not see it in the object");
	if (!s)
		return refuse(row, "this latch is none that it works with");
	if (o->latch == RMC_LATCH_NIC_RPC && o->flags & (RMC_SYNC_SPEC | RMC_SYNC_COMBINE))
		return refuse(row, "spec and combine with latch nic-rpc: messages and operations are in "
			      "no order");
	if (o->flags & RMC_SYNC_WRITE_UNLATCH && !row->options) {
		if (s->writes == &rmc_latch_rw)
			return refuse(row, "write-unlatch with latch rw: readers add to the word "
				      "that is written, and one of the two is lost");
		if (s->writes != &rmc_latch_excl || !row->foot)
			return refuse(row, "write-unlatch needs latch excl in the object");
		s = row->foot;
	}
	plan->scheme = s;
	plan->reads = s->reads;
	plan->writes = s->writes;
	return 0;
}

/* Copy a program; true if it has a step with flag. */
static int copy_program(struct step *to, const struct step *from, unsigned int options)
{
	unsigned int found = 0;

	for (;; from++) {
		*to = *from;
		found |= to->flags;
		if ((to->flags & STEP_SPEC && options & RMC_SYNC_SPEC) ||
		    (to->flags & STEP_COMBINE && options & RMC_SYNC_COMBINE))
			to->flags |= STEP_BEHIND;
		if (options & RMC_SYNC_WRITE_UNLATCH && to->op == STEP_WRITE) {
			to->flags |= STEP_UNLATCHES;
			from++;		/* the release */
		}
		if (to++->op == STEP_END)
			return (int)found;
	}
}

/* Is this read the last step of a reader that leaves this node? */
static int is_last(const struct step *p)
{
	if (p[1].op == STEP_CHECK && p[1].part == PART_IMAGE)
		p++;
	return p[1].op == STEP_USE;
}

/* Groups, and steps that take the short way through the executor */
static void count_groups(struct step *p)
{
	int latched = 0;

	for (; p->op != STEP_END; p++) {
		p->group = 1;
		latched |= p->op == STEP_LATCH;
		while (p[p->group].flags & STEP_BEHIND)
			p->group++;
		if (p->group == 1 && !(p->flags & STEP_BEHIND) && p->part == PART_IMAGE &&
		    (p->op == STEP_READ || p->op == STEP_SABRE))
			p->flags |= STEP_FETCHES | (is_last(p) && !latched ? STEP_LAST : 0);
	}
}

/*
 * A read's hold becomes a write's: the latch, and is the version still the same? If the
 * latch is the version, are there SABRes?
 */
static void upgrade_program(struct plan *plan)
{
	unsigned int behind = plan->flags & RMC_SYNC_SPEC ? STEP_BEHIND : 0;
	int odd = sync_odd_version(plan->writes);
	struct step *to = plan->upgrade;
	const struct step *from;

	if (plan->writes && plan->writes != plan->reads) {
		*to++ = (struct step){ STEP_LATCH, PART_LATCH, 0, 0 };
		/* the atomic expects the version: if it succeeds, that is the same */
		if (!plan->reads && !(plan->writes->flags & (LATCH_INDEX | LATCH_TUPLE))) {
			*to++ = (struct step){ STEP_READ, PART_WORDS, (uint8_t)behind, 0 };
			*to++ = (struct step){ STEP_CHECK, odd ? PART_READERS : PART_SAME, 0, 0 };
		}
	}
	for (from = plan->write; from->op != STEP_USE; from++)
		;
	while ((*to++ = *from++).op != STEP_END)
		;
}

/* The end of a read without a latch, and then its use, and its end, once more */
static void valid_program(struct plan *plan)
{
	const struct step *use = plan->read, *from;
	struct step *to = plan->valid;

	while (use->op != STEP_USE)
		use++;
	for (from = use + 1; from->op != STEP_END && !plan->reads; from++)
		*to++ = *from;
	if (to != plan->valid)
		for (from = use; from->op != STEP_END; from++)
			*to++ = *from;
	*to = (struct step){ STEP_END, PART_DATA, 0, 0 };
	count_groups(plan->valid);
}

/* A write that begins with the latch of a dead node */
static void take_program(struct plan *plan)
{
	uint8_t part = plan->scheme->layout->flags & LAYOUT_INDEX ? PART_BODY : PART_IMAGE;
	struct step *to = plan->take;
	const struct step *from;

	*to++ = (struct step){ STEP_LATCH, PART_LATCH, 0, 0 };
	*to++ = (struct step){ STEP_READ, part, 0, 0 };
	*to++ = (struct step){ STEP_CHECK, PART_IMAGE, 0, 0 };
	for (from = plan->write; from->op != STEP_USE; from++)
		;
	while ((*to++ = *from++).op != STEP_END)
		;
	count_groups(plan->take);
}

int rmc_sync_compile(struct plan *plan, const struct rmc_sync_options *o, const struct rmc_qp *qp)
{
	int found = 0, err;

	memset(plan, 0, sizeof(*plan));
	if (!o->scheme)
		return rmc_fail(EINVAL, "sync: no scheme");
	plan->row = scheme_of(o->scheme);
	if (o->flags & ~ALL_OPTIONS)
		return refuse(plan->row, "flags that this library does not know");
	err = find_layout(plan, o);
	if (err)
		return err;
	plan->flags = o->flags | plan->row->options;
	if (qp && o->flags & ORDERED_OPTIONS & ~plan->row->options &&
	    !(o->flags & RMC_SYNC_TRUST_ORDER) && !rmc_sync_is_ordered(qp))
		return rmc_fail(EOPNOTSUPP, "scheme %s: spec, combine and write-unlatch need an "
				"ordered queue pair", plan->row->pub.name);
	if (!plan->row->read)
		return refuse(plan->row, "no scheme of rmc_sync_find()");
	found = copy_program(plan->read, plan->row->read, plan->flags);
	if (plan->row->write) {
		found |= copy_program(plan->write, plan->row->write, plan->flags);
		upgrade_program(plan);
		take_program(plan);
		count_groups(plan->write);
		count_groups(plan->upgrade);
	}
	count_groups(plan->read);
	valid_program(plan);
	if (o->flags & RMC_SYNC_SPEC && !(found & STEP_SPEC))
		return refuse(plan->row, "spec: its reads wait for no latch");
	if (o->flags & RMC_SYNC_COMBINE && !(found & STEP_COMBINE))
		return refuse(plan->row, "combine: its writes have no release");
	return 0;
}

/* --- counts --- */

static int is_atomic(const struct step *p, const struct latch *latch)
{
	return ((p->op == STEP_LATCH || p->op == STEP_UNLATCH) && !latch_by_message(latch)) ||
	       p->op == STEP_SWAP;
}

static void count_program(const struct plan *plan, int writes, struct rmc_sync_cost *c)
{
	const struct latch *latch = writes ? plan->writes : plan->reads;
	int async = plan->flags & RMC_SYNC_ASYNC, used = 0, latched = 0, i;
	/* the index word, but a copy that is not written yet must not be read; a tuple's word */
	int known = !(plan->row->row & ROW_TIMED) &&
		    !(writes && async && plan->scheme->layout->flags & LAYOUT_INDEX);
	const struct step *p;

	for (p = writes ? plan->write : plan->read; p->op != STEP_END; p += i) {
		i = 1;
		used |= p->op == STEP_USE;
		/* of a tuple: as if a switch had it */
		if (p->op == STEP_USE || p->op == STEP_CHECK || p->flags & STEP_COLD ||
		    (p->flags & STEP_UNKNOWN && known))
			continue;
		latched |= p->op == STEP_LATCH && latch_released(latch);
		for (i = 0; i < p->group; i++) {
			c->messages++;
			c->atomics += (unsigned int)is_atomic(&p[i], latch);
		}
		/* nobody waits in the background, nor ever for some releases */
		if (!(used && async && (writes || latched)) &&
		    !(p->op == STEP_UNLATCH && latch->flags & LATCH_LAZY))
			c->round_trips++;
	}
}

int rmc_sync_cost_sized(const struct rmc_sync_options *options, size_t size, int writes,
			struct rmc_sync_cost *cost)
{
	struct rmc_sync_options o;
	struct plan plan;
	int err;

	err = rmc_struct_in(&o, sizeof(o), options, size, RMC_SYNC_OPTIONS_SIZE_VER1,
			    "sync options");
	if (!err)
		err = rmc_sync_compile(&plan, &o, NULL);
	if (err)
		return err;
	if (writes && !plan.row->write)
		return rmc_fail(EOPNOTSUPP, "scheme %s: only the owner writes", plan.row->pub.name);
	memset(cost, 0, sizeof(*cost));
	count_program(&plan, writes, cost);
	return 0;
}

const struct rmc_scheme *rmc_sync_layout_sized(const struct rmc_sync_options *options,
					       size_t size)
{
	struct rmc_sync_options o;
	struct plan plan;
	int err;

	err = rmc_struct_in(&o, sizeof(o), options, size, RMC_SYNC_OPTIONS_SIZE_VER1,
			    "sync options");
	if (!err)
		err = rmc_sync_compile(&plan, &o, NULL);
	if (!err)
		return &plan.scheme->pub;
	errno = -err;
	return NULL;
}
