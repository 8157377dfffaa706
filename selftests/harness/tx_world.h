/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Nodes for an exhaustive search (explore.h): each with the participant and the coordinator of
 * kmod/tx/, memory, and clients that run a fixed list of operations as a transaction. A step of a
 * node is a function of its memory and of an event; it leaves messages and remarks behind.
 */
#ifndef TX_WORLD_H
#define TX_WORLD_H

#include "kmod/tx/coord.h"
#include "kmod/tx/part.h"
#include "explore.h"
#include "tx_oracle.h"

#define WORLD_NODES	3
#define WORLD_TXS	ORACLE_TX
#define WORLD_LINES	4	/* of a node */
#define WORLD_OPS	6	/* of a transaction */
#define WORLD_WORDS	2	/* of a line that are looked at: the first and the last */
#define WORLD_PAGE	4096
#define WORLD_OUT	24	/* messages of a step */
#define WORLD_GEN	U32_MAX	/* of the first attempt: the next one's is 0 */

_Static_assert(ORACLE_ITEMS >= WORLD_NODES * WORLD_LINES * WORLD_WORDS, "items");

enum op_kind {
	OP_NONE,
	OP_READ,	/* the line */
	OP_WRITE,	/* the whole line */
	OP_PART,	/* one word of it, the first or the last */
	OP_LOAD,	/* as OP_READ, of the own node, by loads beside local filters */
	OP_STORE,	/* as OP_WRITE, of the own node, by a redo buffer beside local filters */
};

struct op {
	u8 kind, node, line, word;
};

struct script {
	u8 node;	/* of the coordinator */
	bool parallel;	/* accesses do not wait for each other */
	bool hold;	/* prepared first; then it commits or not */
	u8 lock;	/* bit of each operation whose line is locked in advance */
	u8 attempts;	/* 0: one */
	struct op op[WORLD_OPS];
};

/* What a search is about */
struct config {
	const char *name, *about;
	u32 nodes, txs;
	u32 size;	/* 0: quick; more: only if asked for */
	struct script tx[WORLD_TXS];
	/* how often, in a run */
	u8 drops, dups, silences, expiries;
	u8 may_die;	/* nodes whose coordinator may die, one of them in a run */
	u8 may_restart;	/* nodes whose participant may, one of them in a run */
	u8 may_forget;	/* the same, and coordinators are not told */
	u8 buffers;	/* Locking Buffers of a participant; 0: enough */
	u8 sure;	/* bit of each transaction that commits in each run */
	bool peaceful;	/* no transaction hurts another one: all commit in each run */
};

/* Messages, events and remarks are numbers. */
enum msg_kind {
	MSG_ACCESS, MSG_INTEND, MSG_DATA, MSG_COMMIT, MSG_ABORT, MSG_SQUASH,
	MSG_LOCK,
	MSG_LOCAL,	/* not a message: the next step of a local access */
};

struct msg {
	u8 kind, reply, tx, node, op, attempt, flags, status, v[WORLD_WORDS];
};

static inline u64 msg_pack(const struct msg *m)
{
	return (u64)m->kind | (u64)m->reply << 4 | (u64)m->tx << 5 | (u64)m->node << 8 |
	       (u64)m->op << 12 | (u64)m->attempt << 16 | (u64)m->flags << 20 |
	       (u64)m->status << 24 | (u64)m->v[0] << 32 | (u64)m->v[1] << 40;
}

static inline struct msg msg_unpack(u64 w)
{
	return (struct msg) {
		.kind = w & 15, .reply = w >> 4 & 1, .tx = w >> 5 & 7, .node = w >> 8 & 15,
		.op = w >> 12 & 15, .attempt = w >> 16 & 15, .flags = w >> 20 & 15,
		.status = w >> 24 & 255, .v = { w >> 32 & 255, w >> 40 & 255 },
	};
}

enum event_kind {
	EV_MSG, EV_START, EV_RESEND, EV_EXPIRE, EV_DIE, EV_SILENT, EV_PART_EPOCH, EV_RESTART,
	EV_COORD_EPOCH, EV_DECIDE, EV_DROP,
};

enum client_phase {
	CLIENT_IDLE, CLIENT_LOCKS, CLIENT_RUNS, CLIENT_COMMITS, CLIENT_HELD, CLIENT_OVER, CLIENT_DEAD,
};

enum odd {
	ODD_NOT, ODD_TORN, ODD_CALL, ODD_LOST,
};

struct client {
	u8 phase;
	u8 attempt;
	u8 committed;
	u8 pending;		/* bit of each operation that is not answered */
	u8 next;		/* operation */
	u8 in_doubt;		/* decided, and the coordinator or a participant was lost */
	u8 status;		/* of the last squash */
	u8 pad;
	u8 saw[WORLD_OPS][WORLD_WORDS];
	u8 pad2[4];
};

/* Memory of a node; all of it is its state */
struct node {
	struct rmc_tx_coord coord;
	struct client client[WORLD_TXS];
	struct oracle_item item[WORLD_LINES][WORLD_WORDS];
	u64 odd;		/* enum odd: what must not happen in any state */
	u64 page[WORLD_PAGE / 8];
};

/* What a step leaves behind */
struct step {
	u32 state;		/* of the node */
	u8 began, committed;	/* transactions */
	u8 outs;
	u64 out[WORLD_OUT];	/* messages */
};

/* What the model asks of a node's state */
struct view {
	u8 startable, executing, busy, over, held;	/* bits of transactions */
	bool clean;	/* nothing of a transaction is left at the participant */
	u8 odd;		/* enum odd */
};

static const struct config *conf;
static struct node node[WORLD_NODES] __attribute__((aligned(64)));
static struct rmc_tx_local local[WORLD_NODES];
static struct rmc_tx_locks shared[WORLD_NODES];
static struct rmc_tx_part *part[WORLD_NODES];
static struct rmc_tx_limits limits;
static struct rmc_mem mem[WORLD_NODES];
static void *chunk[WORLD_NODES];
static struct image image[WORLD_NODES];
static u32 line_number[WORLD_LINES];	/* of which no two have a bit of a filter in common */
static struct step *step;		/* the one that runs */
static u64 *initial_part;		/* bytes of a new participant, by word */

static inline u32 tx_slot(u32 tx)
{
	u32 t, slot = 0;

	for (t = 0; t < tx; t++)
		slot += conf->tx[t].node == conf->tx[tx].node;
	return slot;
}

static inline u32 tx_of(u32 n, u32 slot)
{
	u32 t;

	for (t = 0; t < conf->txs; t++)
		if (conf->tx[t].node == n && tx_slot(t) == slot)
			return t;
	return WORLD_TXS;
}

static inline u32 gen_of(u32 attempt)
{
	return WORLD_GEN + attempt;
}

static inline struct rmc_txid txid_of(u32 tx, u32 attempt)
{
	return (struct rmc_txid) {
		.source = conf->tx[tx].node, .slot = tx_slot(tx), .gen = gen_of(attempt),
	};
}

static inline bool op_is_local(const struct op *op)
{
	return op->kind == OP_LOAD || op->kind == OP_STORE;
}

/* Are there transactions with loads and stores? Otherwise participants have no local filters. */
static inline bool world_local(void)
{
	u32 t, k;

	for (t = 0; t < conf->txs; t++)
		for (k = 0; k < WORLD_OPS; k++)
			if (op_is_local(&conf->tx[t].op[k]))
				return true;
	return false;
}

static inline bool op_writes(const struct op *op)
{
	return op->kind == OP_WRITE || op->kind == OP_PART || op->kind == OP_STORE;
}

static inline u64 op_offset(const struct op *op)
{
	return (u64)line_number[op->line] * RMC_LINE +
	       (op->kind == OP_PART && op->word ? RMC_LINE - 8 : 0);
}

static inline u32 op_length(const struct op *op)
{
	return op->kind == OP_PART ? 8 : RMC_LINE;
}

static inline void emit(struct msg m)
{
	if (step->outs == WORLD_OUT) {
		fprintf(stderr, "tx_world.h: a step sends too much\n");
		exit(1);
	}
	step->out[step->outs++] = msg_pack(&m);
}

static inline u64 line_word(u32 n, u32 line, u32 word)
{
	return node[n].page[line_number[line] * 8 + (word ? 7 : 0)];
}

/* Notes the order of writes, from what memory has now */
static inline void node_watch(u32 n)
{
	struct node *d = &node[n];
	u32 i, w, k;

	for (i = 0; i < WORLD_LINES; i++) {
		const u64 *p = &d->page[line_number[i] * 8];

		for (w = 0; w < WORLD_WORDS; w++) {
			struct oracle_item *it = &d->item[i][w];
			u64 now = line_word(n, i, w);

			if (now == (it->n ? it->value[it->n - 1] : 0))
				continue;
			if (now > UINT8_MAX || it->n == ORACLE_WRITES)
				d->odd = ODD_TORN;
			else
				it->value[it->n++] = (u8)now;
		}
		/* whole lines leave no mixture between the words that are looked at */
		for (k = 2; k < 7; k++)
			if (p[k] != p[1])
				d->odd = ODD_TORN;
	}
}

static inline void client_send(u32 t, u32 k)
{
	const struct op *op = &conf->tx[t].op[k];
	struct client *c = &node[conf->tx[t].node].client[t];

	c->pending |= (u8)(1 << k);
	emit((struct msg) {
		.kind = op_is_local(op) ? MSG_LOCAL : MSG_ACCESS, .tx = (u8)t, .node = op->node,
		.op = (u8)k, .attempt = c->attempt,
	});
}

/* Operations until one has to be waited for; behind the last one, commit */
static inline void client_go(u32 t)
{
	const struct script *s = &conf->tx[t];
	struct node *d = &node[s->node];
	struct client *c = &d->client[t];
	const struct op *op;

	while (c->next < WORLD_OPS && s->op[c->next].kind) {
		op = &s->op[c->next];
		if (c->pending && !s->parallel)
			return;
		if (op_is_local(op) ? rmc_tx_coord_local(&d->coord, tx_slot(t)) :
		    rmc_tx_coord_touch(&d->coord, tx_slot(t), op->node, op->kind != OP_WRITE))
			d->odd = ODD_CALL;
		if (op->kind != OP_WRITE)
			client_send(t, c->next);
		c->next++;
	}
	if (c->pending)
		return;
	c->phase = CLIENT_COMMITS;
	if (s->hold ? rmc_tx_coord_prepare(&d->coord, tx_slot(t)) :
	    rmc_tx_coord_commit(&d->coord, tx_slot(t)))
		d->odd = ODD_CALL;
}

/* Locks in advance */
static inline void client_lock(u32 t)
{
	const struct script *s = &conf->tx[t];
	struct node *d = &node[s->node];
	u32 k;

	d->client[t].phase = CLIENT_LOCKS;
	for (k = 0; k < WORLD_OPS; k++)
		if (s->lock >> k & 1 && rmc_tx_coord_lock_at(&d->coord, tx_slot(t), s->op[k].node))
			d->odd = ODD_CALL;
	if (rmc_tx_coord_lock(&d->coord, tx_slot(t)))
		d->odd = ODD_CALL;
}

static inline void client_start(u32 t)
{
	struct node *d = &node[conf->tx[t].node];
	struct client *c = &d->client[t];
	u32 gen;

	if (c->phase == CLIENT_OVER)
		c->attempt++;
	c->phase = CLIENT_RUNS;
	c->pending = 0;
	c->next = 0;
	c->status = 0;
	memset(c->saw, ORACLE_UNREAD, sizeof(c->saw));
	if (rmc_tx_coord_begin(&d->coord, tx_slot(t), &gen) || gen != gen_of(c->attempt))
		d->odd = ODD_CALL;
	step->began |= (u8)(1 << t);
	if (conf->tx[t].lock) {
		client_lock(t);
		return;
	}
	client_go(t);
}

/* An access was answered */
static inline void client_access(const struct msg *m)
{
	struct node *d = &node[conf->tx[m->tx].node];
	struct client *c = &d->client[m->tx];
	const struct op *op = &conf->tx[m->tx].op[m->op];

	if (c->phase != CLIENT_RUNS || c->attempt != m->attempt || !(c->pending >> m->op & 1) ||
	    rmc_tx_coord_is_decided(&d->coord, tx_slot(m->tx)))
		return;
	if (m->status == RMC_S_TX_LOCKED) {
		client_send(m->tx, m->op);
		return;
	}
	if (m->status) {
		rmc_tx_coord_abort(&d->coord, tx_slot(m->tx), m->status);
		return;
	}
	c->pending &= (u8)~(1 << m->op);
	if (op->kind == OP_READ || op->kind == OP_LOAD)
		memcpy(c->saw[m->op], m->v, WORLD_WORDS);
	client_go(m->tx);
}

#include "tx_local.h"

static inline void part_request(struct msg m)
{
	struct rmc_tx_part *p = part[m.node];
	struct rmc_txid id = txid_of(m.tx, m.attempt);
	const struct op *op = &conf->tx[m.tx].op[m.op];
	u8 value = (u8)ORACLE_VALUE(m.tx, m.attempt);
	struct rmc_tx_range range[WORLD_OPS];
	u64 data[8];
	u32 k, n = 0, w, writes = 0;

	m.reply = 1;
	switch (m.kind) {
	case MSG_ACCESS:
		m.status = rmc_tx_part_access(p, &id,
					      op->kind == OP_PART ? RMC_TX_OWN : RMC_TX_READ,
					      op_offset(op), op_length(op));
		for (k = 0; k < WORLD_WORDS && !m.status; k++)
			m.v[k] = (u8)line_word(m.node, op->line, k);
		break;
	case MSG_INTEND:
		for (k = 0; k < WORLD_OPS; k++) {
			op = &conf->tx[m.tx].op[k];
			if (op_writes(op) && op->node == m.node)
				range[n++] = (struct rmc_tx_range){ op_offset(op), op_length(op) };
		}
		m.status = rmc_tx_part_intend(p, &id, m.flags, range, n);
		break;
	case MSG_LOCK:
		for (w = 1; w < 2; w--) {
			for (k = 0; k < WORLD_OPS; k++) {
				op = &conf->tx[m.tx].op[k];
				if (conf->tx[m.tx].lock >> k & 1 && op->node == m.node &&
				    op_writes(op) == w)
					range[n++] = (struct rmc_tx_range){ op_offset(op),
									    op_length(op) };
			}
			if (w)
				writes = n;
		}
		m.status = rmc_tx_part_lock(p, &id, range, writes, n - writes);
		break;
	case MSG_DATA:
		for (k = 0; k < 8; k++)
			data[k] = value;
		/* not answered: CLOSE says whether something is missing */
		rmc_tx_part_data(p, &id, op_offset(op), (u8 *)data, op_length(op));
		return;
	default:
		m.status = rmc_tx_part_close(p, &id, m.flags, m.kind == MSG_COMMIT);
		break;
	}
	emit(m);
}

static inline void coord_reply(const struct msg *m)
{
	static const u8 kinds[] = {
		[MSG_INTEND] = RMC_TX_INTEND, [MSG_COMMIT] = RMC_TX_COMMIT,
		[MSG_ABORT] = RMC_TX_ABORT, [MSG_LOCK] = RMC_TX_LOCK,
	};
	struct rmc_tx_msg a = {
		.nid = m->node, .slot = tx_slot(m->tx), .gen = gen_of(m->attempt),
		.flags = m->flags,
	};
	struct node *d = &node[conf->tx[m->tx].node];

	if (m->kind == MSG_ACCESS) {
		client_access(m);
		return;
	}
	a.kind = kinds[m->kind];
	if (m->kind == MSG_COMMIT && m->status && m->status != RMC_S_BUSY) {
		d->client[m->tx].in_doubt = 1;
		/* only a participant that was lost may not know it any more */
		if (!conf->may_restart && !conf->may_forget)
			d->odd = ODD_LOST;
	}
	rmc_tx_coord_answer(&d->coord, &a, m->status);
}

/* What the coordinator has to send and to report, and whom the participant has squashed */
static inline void node_pump(u32 n)
{
	static const u8 kinds[] = {
		[RMC_TX_INTEND] = MSG_INTEND, [RMC_TX_COMMIT] = MSG_COMMIT,
		[RMC_TX_ABORT] = MSG_ABORT, [RMC_TX_LOCK] = MSG_LOCK,
	};
	struct node *d = &node[n];
	struct rmc_tx_msg a;
	struct rmc_txid id;
	u32 slot, t, k;
	u8 status;

	while (rmc_tx_coord_locked(&d->coord, &slot)) {
		d->client[tx_of(n, slot)].phase = CLIENT_RUNS;
		client_go(tx_of(n, slot));
	}
	while (rmc_tx_coord_next(&d->coord, &a)) {
		struct msg m = { .kind = kinds[a.kind], .node = (u8)a.nid, .flags = (u8)a.flags };

		m.tx = (u8)tx_of(n, a.slot);
		m.attempt = (u8)(a.gen - WORLD_GEN);
		for (k = 0; k < WORLD_OPS && m.kind == MSG_COMMIT; k++) {
			const struct op *op = &conf->tx[m.tx].op[k];

			if (op_writes(op) && op->node == m.node)
				emit((struct msg){ .kind = MSG_DATA, .tx = m.tx, .node = m.node,
						   .attempt = m.attempt, .op = (u8)k });
		}
		emit(m);
	}
	while (rmc_tx_coord_prepared(&d->coord, &slot))
		d->client[tx_of(n, slot)].phase = CLIENT_HELD;
	while (rmc_tx_coord_ended(&d->coord, &slot, &status)) {
		t = tx_of(n, slot);
		d->client[t].phase = CLIENT_OVER;
		d->client[t].committed = !status || status == RMC_S_TX_PART_LOST;
		d->client[t].status = status;
		d->client[t].pending = 0;
		if (d->client[t].committed)
			step->committed |= (u8)(1 << t);
		local_end(t);
	}
	while (rmc_tx_part_hint(part[n], &id)) {
		t = tx_of(id.source, id.slot);
		if (t < conf->txs)
			emit((struct msg){ .kind = MSG_SQUASH, .tx = (u8)t, .node = (u8)n,
					   .attempt = (u8)(id.gen - WORLD_GEN) });
	}
}

static inline void node_die(u32 n)
{
	struct node *d = &node[n];
	u32 t;

	for (t = 0; t < conf->txs; t++) {
		struct client *c = &d->client[t];

		if (conf->tx[t].node != n)
			continue;
		c->in_doubt = d->coord.slot[tx_slot(t)].phase == RMC_TX_COMMITTING;
		c->phase = CLIENT_DEAD;
		c->pending = 0;
	}
	memset(&d->coord, 0, sizeof(d->coord));
}

/* A coordinator hears that a participant is a new one */
static inline void node_hears(u32 n, u32 other)
{
	struct node *d = &node[n];
	const struct rmc_tx_slot *s;
	u32 t, i;

	for (t = 0; t < conf->txs; t++) {
		if (conf->tx[t].node != n)
			continue;
		s = &d->coord.slot[tx_slot(t)];
		for (i = 0; i < s->peers && s->phase == RMC_TX_COMMITTING; i++)
			if (s->peer[i].nid == other && s->peer[i].flags & RMC_TX_P_WAIT)
				d->client[t].in_doubt = 1;
	}
	rmc_tx_coord_epoch(&d->coord, other);
}

static inline void node_event(u32 n, enum event_kind kind, u64 arg)
{
	struct node *d = &node[n];
	struct msg m;
	u32 k;

	switch (kind) {
	case EV_MSG:
		m = msg_unpack(arg);
		if (m.kind == MSG_LOCAL)
			local_step(m);
		else if (m.kind == MSG_SQUASH)
			rmc_tx_coord_squash(&d->coord, tx_slot(m.tx), gen_of(m.attempt), m.node);
		else if (m.reply)
			coord_reply(&m);
		else
			part_request(m);
		break;
	case EV_START:
		client_start((u32)arg);
		break;
	case EV_RESEND:
		for (k = 0; k < WORLD_OPS; k++)
			if (d->client[arg].pending >> k & 1)
				client_send((u32)arg, k);
		rmc_tx_coord_resend(&d->coord, tx_slot((u32)arg));
		break;
	case EV_EXPIRE:
		if (d->client[arg].phase == CLIENT_HELD)
			d->client[arg].phase = CLIENT_COMMITS;
		rmc_tx_coord_expire(&d->coord, tx_slot((u32)arg));
		break;
	case EV_DECIDE:
		d->client[arg].phase = CLIENT_COMMITS;
		if (rmc_tx_coord_commit(&d->coord, tx_slot((u32)arg)))
			d->odd = ODD_CALL;
		break;
	case EV_DROP:
		d->client[arg].phase = CLIENT_COMMITS;
		rmc_tx_coord_abort(&d->coord, tx_slot((u32)arg), RMC_S_ABORTED);
		break;
	case EV_DIE:
		node_die(n);
		break;
	case EV_SILENT:
		rmc_tx_part_silent(part[n], (u32)arg);
		break;
	case EV_PART_EPOCH:
		rmc_tx_part_epoch(part[n], (u32)arg);
		break;
	case EV_RESTART:
		memcpy(part[n], initial_part + n * (rmc_tx_part_bytes(&limits) / 8),
		       rmc_tx_part_bytes(&limits));
		memset(&shared[n], 0, sizeof(shared[n]));
		break;
	case EV_COORD_EPOCH:
		node_hears(n, (u32)arg);
		break;
	}
	node_pump(n);
	node_watch(n);
}

static inline bool part_clean(const struct rmc_tx_part *p)
{
	u32 g, i;

	for (g = 0; g < p->groups; g++) {
		const struct rmc_tx_group *group = &p->group[g];

		if (group->lines || group->open || group->locked || group->squashed || group->reserved)
			return false;
		for (i = 0; i < RMC_TX_BITS; i++)
			if (group->rd.bit[i] || group->wr.bit[i])
				return false;
		for (i = 0; i < RMC_TX_LINES / 64; i++)
			if (group->used[i])
				return false;
	}
	return !p->locks && !p->waiters && !p->buffers && (!p->shared || !p->shared->mask);
}

static inline struct view node_view(u32 n)
{
	struct view v = { .clean = part_clean(part[n]), .odd = (u8)node[n].odd };
	u32 t, most;

	for (t = 0; t < conf->txs; t++) {
		const struct client *c = &node[n].client[t];
		u8 bit = (u8)(1 << t);
		bool idle;

		if (conf->tx[t].node != n)
			continue;
		idle = c->phase == CLIENT_DEAD || rmc_tx_coord_is_free(&node[n].coord, tx_slot(t));
		most = conf->tx[t].attempts ? conf->tx[t].attempts : 1;
		if (c->phase == CLIENT_IDLE || (c->phase == CLIENT_OVER && idle && !c->committed &&
						c->attempt + 1u < most))
			v.startable |= bit;
		else if (idle)
			v.over |= bit;
		else
			v.busy |= bit;
		if (c->phase == CLIENT_HELD)
			v.held |= bit;
		if (c->phase == CLIENT_LOCKS || c->phase == CLIENT_RUNS || c->phase == CLIENT_COMMITS || c->phase == CLIENT_HELD)
			v.executing |= bit;
	}
	return v;
}

/* Lines that have no bit of a filter in common, so that no conflict is a false one */
static inline bool world_lines(void)
{
	u64 used = 0, bits;
	u32 i, n = 0;

	for (i = 0; i < WORLD_PAGE / RMC_LINE && n < WORLD_LINES; i++) {
		struct rmc_tx_hash h = rmc_tx_hash(rmc_tx_crc(i));

		bits = 1ULL << h.a % 64 | 1ULL << h.b % 64;
		if (used & bits)
			continue;
		used |= bits;
		line_number[n++] = i;
	}
	return n == WORLD_LINES;
}

static inline bool world_begin(const struct config *c)
{
	size_t bytes;
	u32 n;

	conf = c;
	limits = (struct rmc_tx_limits){
		.length = WORLD_PAGE, .groups = WORLD_NODES, .buffers = c->buffers,
	};
	bytes = rmc_tx_part_bytes(&limits);
	if (!world_lines() || bytes % 8)
		return false;
	initial_part = calloc(c->nodes, bytes);
	memset(node, 0, sizeof(node));
	memset(local, 0, sizeof(local));
	memset(shared, 0, sizeof(shared));
	for (n = 0; n < c->nodes; n++) {
		limits.self = n;
		chunk[n] = node[n].page;
		mem[n] = (struct rmc_mem){ .length = WORLD_PAGE, .chunk = &chunk[n] };
		rmc_mem_chunks(&mem[n], 12);
		part[n] = rmc_os_zalloc(bytes);
		if (rmc_tx_part_init(part[n], &limits, &mem[n], world_local() ? &local[n] : NULL,
				     world_local() ? &shared[n] : NULL))
			return false;
		rmc_tx_coord_init(&node[n].coord, n, WORLD_GEN - 1);
		memcpy((u8 *)initial_part + n * bytes, part[n], bytes);
		image_region(&image[n], &node[n], sizeof(node[n]));
		image_region(&image[n], part[n], bytes);
		if (world_local()) {
			image_region(&image[n], &local[n], sizeof(local[n]));
			image_region(&image[n], &shared[n], sizeof(shared[n]));
		}
		image_begin(&image[n]);
	}
	return true;
}

static inline void world_end(void)
{
	u32 n;

	for (n = 0; n < conf->nodes; n++) {
		image_end(&image[n]);
		rmc_os_free(part[n]);
	}
	free(initial_part);
}

#endif
