/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Blocks of WQs and CQs between a core and an edge NI: invalidation-based MESI with three hops, and
 * a directory that serves one transaction of a block at a time (T18 section 6.2.1, figure 6.2).
 *
 *	GetX	A -> home: GETX; home -> A: GRANT; home -> B: INVALIDATE; B -> A: INV_ACK;
 *		A -> home: UNBLOCK
 *	GetRO	A -> home: GETRO; if B has it modified, home -> B: FORWARD; B -> A: LINE;
 *		A -> home: UNBLOCK with the block; else home -> A: LINE; A -> home: UNBLOCK
 *
 * p->line: of its core; p->value: entries that the block has; p->slot: whether the core is A.
 */
#include "chip.h"

unsigned int wq_line_of(uint64_t entry)
{
	return (unsigned int)(entry / P_wq_line % WQ_LINES);
}

unsigned int cq_line_of(uint64_t entry)
{
	return WQ_LINES + (unsigned int)(entry / P_cq_line % CQ_LINES);
}

static unsigned int router_of(struct chip *c, unsigned int core, int is_core)
{
	return is_core ? c->noc.topology.core[core] : ni_of(c, core)->router;
}

static void send(struct chip *c, unsigned int from, unsigned int to, enum class class,
		 enum kind kind, unsigned int flits, unsigned int delay, const struct packet *about,
		 uint64_t value)
{
	struct packet *p = noc_send(&c->noc, from, to, class, flits, delay);

	p->kind = (uint8_t)kind;
	p->core = about->core;
	p->line = about->line;
	p->slot = about->slot;
	p->value = (uint32_t)value;
}

/* A core or its NI asks for a line; 0: no room, ask again */
int line_get(struct chip *c, unsigned int core, unsigned int line, enum kind kind)
{
	int is_core = (kind == KIND_GETX) == (line < WQ_LINES);
	unsigned int from = router_of(c, core, is_core), to = c->core[core].line[line].home;
	struct packet about = { .core = (uint8_t)core, .line = (uint8_t)line,
				.slot = (uint8_t)is_core };

	if (!noc_room(&c->noc, from, to, CLASS_REQ))
		return 0;
	send(c, from, to, CLASS_REQ, kind, P_control_flits, 0, &about, 0);
	return 1;
}

static uint64_t entries_of(const struct core *core, unsigned int line)
{
	return line < WQ_LINES ? core->stored : core->cq_written;
}

/* The directory begins a transaction; 0: no room */
static int begin(struct chip *c, const struct packet *p, enum kind kind)
{
	struct core *core = &c->core[p->core];
	struct line *l = &core->line[p->line];
	uint8_t own = p->slot ? l->core : l->ni, other = p->slot ? l->ni : l->core;
	unsigned int a = router_of(c, p->core, p->slot), b = router_of(c, p->core, !p->slot);

	if (!noc_room(&c->noc, l->home, b, CLASS_DIR) || !noc_room(&c->noc, l->home, a, CLASS_DRS))
		return 0;
	l->busy = 1;
	l->granted = l->acked = 0;
	l->need_ack = other == SHARED;
	if (kind == KIND_GETX) {
		if (l->need_ack)
			send(c, l->home, b, CLASS_DIR, KIND_INVALIDATE, P_control_flits, P_llc,
			     p, 0);
		send(c, l->home, a, CLASS_DRS, KIND_GRANT,
		     own == SHARED ? P_control_flits : P_data_flits, P_llc, p, 0);
	} else if (other == MODIFIED) {
		send(c, l->home, b, CLASS_DIR, KIND_FORWARD, P_control_flits, P_llc, p, 0);
	} else {
		send(c, l->home, a, CLASS_DRS, KIND_LINE, P_data_flits, P_llc, p,
		     entries_of(core, p->line));
	}
	return 1;
}

static int get_arrives(struct chip *c, const struct packet *p)
{
	struct line *l = &c->core[p->core].line[p->line];

	if (l->busy) {
		l->pending = (uint8_t)(p->kind + 1);
		return 1;
	}
	return begin(c, p, (enum kind)p->kind);
}

/* Requests that waited for the end of another one */
void line_step(struct chip *c)
{
	unsigned int i, left = 0;

	for (i = 0; i < c->readies; i++) {
		uint32_t id = c->ready[i];
		struct packet p = { .core = (uint8_t)(id / LINES), .line = (uint8_t)(id % LINES) };
		struct line *l = &c->core[p.core].line[p.line];
		enum kind kind = (enum kind)(l->pending - 1);

		p.slot = (kind == KIND_GETX) == (p.line < WQ_LINES);
		if (begin(c, &p, kind))
			l->pending = 0;
		else
			c->ready[left++] = id;
	}
	c->readies = left;
}

/* B, which gives its copy away or shares it */
static int asked(struct chip *c, unsigned int router, const struct packet *p)
{
	struct core *core = &c->core[p->core];
	struct line *l = &core->line[p->line];
	uint8_t *state = p->slot ? &l->ni : &l->core;
	unsigned int a = router_of(c, p->core, p->slot);

	if (!noc_room(&c->noc, router, a, CLASS_RSP))
		return 0;
	if (p->kind == KIND_INVALIDATE) {
		*state = INVALID;
		send(c, router, a, CLASS_RSP, KIND_INV_ACK, P_control_flits, P_l1, p, 0);
	} else {
		*state = SHARED;
		send(c, router, a, CLASS_RSP, KIND_LINE, P_data_flits, P_l1, p,
		     entries_of(core, p->line));
	}
	return 1;
}

/* A has its exclusive copy */
static void owns(struct chip *c, const struct packet *p)
{
	struct core *core = &c->core[p->core];
	struct line *l = &core->line[p->line];

	if (p->slot) {
		l->core = MODIFIED;
		l->ni = INVALID;
		core->stalled = 0;
		core->next = c->noc.now;
	} else {
		l->ni = MODIFIED;
		l->core = INVALID;
		core->owning = 0;
	}
}

/* Entries of a copy that are of its block: the counters are shorter than what they count */
static uint64_t seen(uint64_t before, uint32_t value)
{
	return before + (uint32_t)(value - (uint32_t)before);
}

static void has_copy(struct chip *c, const struct packet *p)
{
	struct core *core = &c->core[p->core];
	struct line *l = &core->line[p->line];

	if (p->slot) {
		l->core = SHARED;
		core->cq_seen = seen(core->cq_seen, p->value);
		core->stalled = 0;
		core->next = c->noc.now;
	} else {
		l->ni = SHARED;
		core->seen = seen(core->seen, p->value);
		core->loading = 0;
		ni_of(c, p->core)->loads--;
	}
}

/* Sent without room: there is one per line, at most */
static void unblock(struct chip *c, unsigned int router, const struct packet *p, unsigned int flits)
{
	unsigned int home = c->core[p->core].line[p->line].home;

	send(c, router, home, CLASS_RSP, KIND_UNBLOCK, flits, 0, p, 0);
}

int line_arrives(struct chip *c, unsigned int router, const struct packet *p)
{
	struct line *l = &c->core[p->core].line[p->line];

	switch ((enum kind)p->kind) {
	case KIND_GETX:
	case KIND_GETRO:
		return get_arrives(c, p);
	case KIND_INVALIDATE:
	case KIND_FORWARD:
		return asked(c, router, p);
	case KIND_LINE:
		has_copy(c, p);
		unblock(c, router, p, p->class == CLASS_RSP ? P_data_flits : P_control_flits);
		return 1;
	case KIND_UNBLOCK:
		l->busy = 0;
		if (l->pending)
			c->ready[c->readies++] = p->core * LINES + p->line;
		return 1;
	case KIND_GRANT:
		l->granted = 1;
		break;
	default:
		l->acked = 1;
	}
	if (l->granted && l->acked == l->need_ack) {
		owns(c, p);
		unblock(c, router, p, P_control_flits);
	}
	return 1;
}
