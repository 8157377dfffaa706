/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All states of the nodes of tx_world.h and of the network between them. A message is delivered at
 * any time after it was sent, so any two are delivered in either order; a message that is lost is
 * one that is removed instead. What happens once in a while (a loss, a death, ...) happens as often
 * as the configuration allows, at any time.
 *
 * In a state without messages and with all transactions over, oracle_check() judges the run. From
 * each state such a one can be reached: in no fair continuation is a transaction stuck.
 */
#ifndef TX_MODEL_H
#define TX_MODEL_H

#include "tx_world.h"

#define MODEL_MSGS	64	/* in flight */

struct state {
	u32 node[WORLD_NODES];
	u32 net;		/* messages in flight */
	u64 misc;		/* fields below */
};

/* Fields of state.misc: first bit */
enum {
	M_DONE		= 0,	/* committed transactions whose application knows */
	M_BEFORE	= 4,	/* of each transaction: which were done when it began */
	M_DROPS		= 20,	/* how often so far */
	M_DUPS		= 23,
	M_SILENCES	= 26,
	M_EXPIRIES	= 29,
	M_DEAD		= 32,	/* coordinators */
	M_RESTARTED	= 35,	/* participants */
	M_PART_EPOCH	= 38,	/* bit 3y + n: participant y knows of the death of n */
	M_COORD_EPOCH	= 47,	/* bit 3n + y: coordinator n knows of the restart of y */
	M_FORGOT	= 56,	/* participants that restarted without being noticed */
};

struct model {
	struct search search;
	struct pool net;
	struct memo memo;
	struct view *view[WORLD_NODES];
	u32 views[WORLD_NODES];
	u64 ends, committed[1 << WORLD_TXS];	/* end states, by the transactions that committed */
	u64 most;		/* messages in flight */
	const char *wrong;	/* the first rule that does not hold, in state @bad */
	u32 bad;
	bool cut;		/* there are more states */
	const struct state *tracing;	/* the step that leads there is printed */
};

static struct model model;

static inline u32 field(u64 misc, u32 at, u32 bits)
{
	return (u32)(misc >> at) & ((1U << bits) - 1);
}

static inline bool flag(u64 misc, u32 at)
{
	return misc >> at & 1;
}

static inline void model_wrong(u32 id, const char *why)
{
	if (model.wrong)
		return;
	model.wrong = why;
	model.bad = id;
}

static inline const struct view *view_of(u32 n, u32 state)
{
	return &model.view[n][state];
}

/* After a step: what its state looks like from outside */
static inline void model_view(u32 n)
{
	u32 id = image[n].loaded;

	if (id < model.views[n])
		return;
	if (!(id & (id - 1)) || !id)
		model.view[n] = explore_grow(model.view[n],
					     (id ? id * 2 : 1) * sizeof(struct view));
	model.view[n][id] = node_view(n);
	model.views[n] = id + 1;
}

/* What an event does to a node: run once, then looked up */
static inline struct step model_step(u32 n, u32 state, enum event_kind kind, u64 arg)
{
	struct { u32 node, kind; u64 state, arg; } key = { n, kind, state, arg };
	bool fresh;

	step = memo_find(&model.memo, &key, sizeof(key), &fresh);
	if (!fresh)
		return *step;
	memset(step, 0, sizeof(*step));
	image_load(&image[n], state);
	node_event(n, kind, arg);
	step->state = image_save(&image[n]);
	model_view(n);
	return *step;
}

static const char *const msg_names[] = {
	"ACCESS", "INTEND", "DATA", "CLOSE(commit)", "CLOSE(abort)", "SQUASH", "LOCK", "local access",
};

static inline void model_label(u32 n, enum event_kind kind, u64 arg, const char *how)
{
	static const char *const names[] = {
		[EV_START] = "begins", [EV_RESEND] = "sends again", [EV_EXPIRE] = "waits no longer",
		[EV_DECIDE] = "is to commit", [EV_DROP] = "is to abort",
	};
	struct msg m = msg_unpack(arg);

	printf("# %s", how);
	switch (kind) {
	case EV_MSG:
		printf("T%u.%u %s%s node %u", m.tx, m.attempt, msg_names[m.kind],
		       m.reply ? " answered by" : m.kind == MSG_SQUASH ? " from" : " at", m.node);
		if (m.kind == MSG_ACCESS || m.kind == MSG_DATA || m.kind == MSG_LOCAL)
			printf(" line %u%s", conf->tx[m.tx].op[m.op].line,
			       conf->tx[m.tx].op[m.op].kind == OP_PART ? " (part)" : "");
		if (m.kind == MSG_LOCAL)
			printf(" step %u", m.flags);
		if (m.reply)
			printf(", status %u, values %u %u", m.status, m.v[0], m.v[1]);
		printf("\n");
		break;
	case EV_DIE:
		printf("coordinator %u dies\n", n);
		break;
	case EV_SILENT:
		printf("participant %u hears nothing of %u\n", n, (u32)arg);
		break;
	case EV_PART_EPOCH:
		printf("participant %u: new epoch of %u\n", n, (u32)arg);
		break;
	case EV_RESTART:
		printf("participant %u restarts\n", n);
		break;
	case EV_COORD_EPOCH:
		printf("coordinator %u: new epoch of %u\n", n, (u32)arg);
		break;
	default:
		printf("T%u %s\n", (u32)arg, names[kind]);
	}
}

/* A state that is one step away; net: its messages */
struct child {
	struct state s;
	u64 net[MODEL_MSGS];
	u32 msgs;
};

static inline struct child model_child(const struct state *s)
{
	struct child c = { .s = *s };
	u32 len;
	const void *net = pool_get(&model.net, s->net, &len);

	memcpy(c.net, net, len);
	c.msgs = len / 8;
	return c;
}

static inline void child_remove(struct child *c, u32 i)
{
	memmove(&c->net[i], &c->net[i + 1], (c->msgs - i - 1) * 8);
	c->msgs--;
}

static inline void child_insert(struct child *c, u64 m)
{
	u32 i = c->msgs;

	if (c->msgs == MODEL_MSGS) {
		fprintf(stderr, "tx_model.h: too many messages\n");
		exit(1);
	}
	for (; i && c->net[i - 1] > m; i--)
		c->net[i] = c->net[i - 1];
	c->net[i] = m;
	c->msgs++;
}

/* Is it for the coordinator? */
static inline bool msg_returns(const struct msg *m)
{
	return m->reply || m->kind == MSG_SQUASH || m->kind == MSG_LOCAL;
}

static inline u32 msg_target(const struct msg *m)
{
	return msg_returns(m) ? conf->tx[m->tx].node : m->node;
}

/* Nobody is there who would take it */
static inline bool msg_is_vain(u64 misc, const struct msg *m)
{
	u32 n = conf->tx[m->tx].node, y = m->node;

	if (msg_returns(m))
		return flag(misc, M_DEAD + n);
	return flag(misc, M_PART_EPOCH + 3 * y + n) ||
	       (flag(misc, M_RESTARTED + y) && !flag(misc, M_COORD_EPOCH + 3 * n + y));
}

static inline void model_add(struct child *c)
{
	struct state *s = &c->s;

	s->net = pool_add(&model.net, c->net, c->msgs * 8);
	if (c->msgs > model.most)
		model.most = c->msgs;
	search_add(&model.search, s, sizeof(*s));
}

/* The state behind the step, or its name if that is the one looked for */
static inline void model_take(struct child *c, u32 n, enum event_kind kind, u64 arg,
			      const char *how)
{
	if (model.tracing) {
		c->s.net = pool_add(&model.net, c->net, c->msgs * 8);
		if (!memcmp(&c->s, model.tracing, sizeof(c->s))) {
			model_label(n, kind, arg, how);
			model.tracing = NULL;
		}
		return;
	}
	model_add(c);
}

/* An event at a node */
static inline void model_event(struct child *c, u32 n, enum event_kind kind, u64 arg,
			       const char *how)
{
	struct step st;
	u32 t, i;

	st = model_step(n, c->s.node[n], kind, arg);
	c->s.node[n] = st.state;
	for (t = 0; t < conf->txs; t++)
		if (st.began >> t & 1) {
			c->s.misc &= ~(15ULL << (M_BEFORE + 4 * t));
			c->s.misc |= (u64)field(c->s.misc, M_DONE, 4) << (M_BEFORE + 4 * t);
		}
	c->s.misc |= (u64)st.committed << M_DONE;
	for (i = 0; i < st.outs; i++) {
		struct msg m = msg_unpack(st.out[i]);

		if (!msg_is_vain(c->s.misc, &m))
			child_insert(c, st.out[i]);
	}
	model_take(c, n, kind, arg, how);
}

/* What is in flight and concerns a life that is over */
static inline void child_forget(struct child *c, bool returns, u32 source, u32 target)
{
	u32 i;

	for (i = c->msgs; i--;) {
		struct msg m = msg_unpack(c->net[i]);
		u32 n = conf->tx[m.tx].node;

		if (msg_returns(&m) != returns)
			continue;
		if ((source == EXPLORE_NONE || source == (returns ? m.node : n)) &&
		    (target == EXPLORE_NONE || target == (returns ? n : m.node)))
			child_remove(c, i);
	}
}

static inline void model_messages(const struct state *s)
{
	struct child base = model_child(s), c;
	u32 i;

	for (i = 0; i < base.msgs; i++) {
		struct msg m = msg_unpack(base.net[i]);
		bool sure = m.kind == MSG_LOCAL || conf->tx[m.tx].node == m.node;

		if (i && base.net[i] == base.net[i - 1])
			continue;
		c = base;
		child_remove(&c, i);
		model_event(&c, msg_target(&m), EV_MSG, base.net[i], "");
		if (sure)
			continue;
		if (field(s->misc, M_DROPS, 3) < conf->drops) {
			c = base;
			child_remove(&c, i);
			c.s.misc += 1ULL << M_DROPS;
			model_take(&c, 0, EV_MSG, base.net[i], "lost: ");
		}
		if (field(s->misc, M_DUPS, 3) < conf->dups) {
			c = base;
			c.s.misc += 1ULL << M_DUPS;
			model_event(&c, msg_target(&m), EV_MSG, base.net[i], "doubled: ");
		}
	}
}

/* Transactions that begin, send again, or are given up */
static inline void model_transactions(const struct state *s)
{
	struct child c = model_child(s);
	u32 t, i, waiting = 0;

	for (i = 0; i < c.msgs; i++)
		waiting |= 1U << msg_unpack(c.net[i]).tx;
	for (t = 0; t < conf->txs; t++) {
		u32 n = conf->tx[t].node;
		const struct view *v = view_of(n, s->node[n]);
		u8 executing = v->executing, startable = v->startable, busy = v->busy;
		u8 held = v->held;

		if (startable >> t & 1) {
			c = model_child(s);
			model_event(&c, n, EV_START, t, "");
		}
		if (held >> t & 1) {
			c = model_child(s);
			model_event(&c, n, EV_DECIDE, t, "");
			c = model_child(s);
			model_event(&c, n, EV_DROP, t, "");
		}
		if ((busy & ~held & ~waiting) >> t & 1) {
			c = model_child(s);
			model_event(&c, n, EV_RESEND, t, "");
		}
		if (executing >> t & 1 && field(s->misc, M_EXPIRIES, 3) < conf->expiries) {
			c = model_child(s);
			c.s.misc += 1ULL << M_EXPIRIES;
			model_event(&c, n, EV_EXPIRE, t, "");
		}
	}
}

/* Is there a transaction with this coordinator? */
static inline bool model_coordinates(u32 n)
{
	u32 t;

	for (t = 0; t < conf->txs; t++)
		if (conf->tx[t].node == n)
			return true;
	return false;
}

/* Nodes that die, restart or are not heard of, and the others that get to know it */
static inline void model_lives(const struct state *s)
{
	struct child c;
	u32 n, y;

	for (n = 0; n < conf->nodes; n++) {
		if (conf->may_die >> n & 1 && !field(s->misc, M_DEAD, 3)) {
			c = model_child(s);
			c.s.misc |= 1ULL << (M_DEAD + n);
			child_forget(&c, true, EXPLORE_NONE, n);
			model_event(&c, n, EV_DIE, 0, "");
		}
		if (conf->may_restart >> n & 1 && !field(s->misc, M_RESTARTED, 3)) {
			c = model_child(s);
			c.s.misc |= 1ULL << (M_RESTARTED + n);
			child_forget(&c, false, EXPLORE_NONE, n);
			model_event(&c, n, EV_RESTART, 0, "");
		}
		if (conf->may_forget >> n & 1 && !field(s->misc, M_FORGOT, 3)) {
			c = model_child(s);
			c.s.misc |= 1ULL << (M_FORGOT + n);
			child_forget(&c, false, EXPLORE_NONE, n);
			model_event(&c, n, EV_RESTART, 0, "");
		}
		for (y = 0; y < conf->nodes; y++) {
			if (y != n && model_coordinates(n) && !flag(s->misc, M_DEAD + n) &&
			    field(s->misc, M_SILENCES, 3) < conf->silences) {
				c = model_child(s);
				c.s.misc += 1ULL << M_SILENCES;
				model_event(&c, y, EV_SILENT, n, "");
			}
			if (flag(s->misc, M_DEAD + n) && !flag(s->misc, M_PART_EPOCH + 3 * y + n)) {
				c = model_child(s);
				c.s.misc |= 1ULL << (M_PART_EPOCH + 3 * y + n);
				child_forget(&c, false, n, y);
				model_event(&c, y, EV_PART_EPOCH, n, "");
			}
			if (flag(s->misc, M_RESTARTED + y) && model_coordinates(n) &&
			    !flag(s->misc, M_COORD_EPOCH + 3 * n + y)) {
				c = model_child(s);
				c.s.misc |= 1ULL << (M_COORD_EPOCH + 3 * n + y);
				child_forget(&c, true, y, n);
				model_event(&c, n, EV_COORD_EPOCH, y, "");
			}
		}
	}
}

static inline void model_expand(const struct state *s)
{
	model_messages(s);
	model_transactions(s);
	model_lives(s);
}

/* Nothing will happen any more */
static inline bool model_over(const struct state *s)
{
	u32 n, y, over = 0, len;

	pool_get(&model.net, s->net, &len);
	if (len)
		return false;
	for (n = 0; n < conf->nodes; n++) {
		over |= view_of(n, s->node[n])->over;
		for (y = 0; y < conf->nodes; y++)
			if ((flag(s->misc, M_DEAD + n) &&
			     !flag(s->misc, M_PART_EPOCH + 3 * y + n)) ||
			    (flag(s->misc, M_RESTARTED + y) && model_coordinates(n) &&
			     !flag(s->misc, M_COORD_EPOCH + 3 * n + y)))
				return false;
	}
	return over == (1U << conf->txs) - 1;
}

static struct oracle oracle;

/* What the transactions of a finished run have read and written */
static inline void model_history(const struct state *s)
{
	u32 n, t, k, w, i;

	memset(&oracle, 0, sizeof(oracle));
	oracle.count = conf->txs;
	for (n = 0; n < conf->nodes; n++) {
		image_load(&image[n], s->node[n]);
		for (i = 0; i < WORLD_LINES * WORLD_WORDS; i++)
			oracle.item[n * WORLD_LINES * WORLD_WORDS + i] =
				node[n].item[i / WORLD_WORDS][i % WORLD_WORDS];
	}
	for (t = 0; t < conf->txs; t++) {
		const struct client *c = &node[conf->tx[t].node].client[t];
		struct oracle_tx *o = &oracle.tx[t];

		o->committed = c->committed && !c->in_doubt;
		o->in_doubt = c->in_doubt;
		o->attempt = c->attempt;
		o->before = (u8)field(s->misc, M_BEFORE + 4 * t, 4);
		memset(o->saw, ORACLE_UNREAD, sizeof(o->saw));
		for (k = 0; k < WORLD_OPS; k++) {
			const struct op *op = &conf->tx[t].op[k];

			if (!op->kind)
				continue;
			for (w = 0; w < WORLD_WORDS; w++) {
				i = (op->node * WORLD_LINES + op->line) * WORLD_WORDS + w;
				if (op->kind == OP_READ || op->kind == OP_LOAD)
					o->saw[i] = c->saw[k][w];
				else if (op->kind != OP_PART || op->word == w)
					o->writes |= 1U << i;
			}
		}
	}
}

static inline void model_end(const struct state *s, u32 id)
{
	u32 n, t, mask = 0;

	model.ends++;
	for (n = 0; n < conf->nodes; n++)
		if (!view_of(n, s->node[n])->clean)
			model_wrong(id, "a lock, a filter bit, a record or staged bytes are left");
	model_history(s);
	for (t = 0; t < conf->txs; t++)
		mask |= (u32)oracle.tx[t].committed << t;
	if (conf->sure & ~mask)
		model_wrong(id, "one that has locked in advance was squashed");
	model.committed[mask]++;
	if (!oracle_check(&oracle))
		model_wrong(id, oracle.why);
}

/* Prints the steps that lead to a state */
static inline void model_trace(u32 id)
{
	static u32 path[10000];
	struct state s, next;
	u32 n = 0, i;

	for (; id != EXPLORE_NONE && n < 10000; id = model.search.parent[id])
		path[n++] = id;
	for (i = n - 1; i; i--) {
		memcpy(&s, pool_get(&model.search.state, path[i], NULL), sizeof(s));
		memcpy(&next, pool_get(&model.search.state, path[i - 1], NULL), sizeof(next));
		model.tracing = &next;
		model_expand(&s);
		model.tracing = NULL;
	}
}

static const char *const odd_names[] = {
	[ODD_TORN] = "a line is a mixture, or has a value that nobody wrote",
	[ODD_CALL] = "a call of a coordinator failed",
	[ODD_LOST] = "a part of a decided transaction was not stored",
};

/* Visits all states of a configuration; how it went is in the model */
static inline void model_run(u32 limit)
{
	struct search *se = &model.search;
	struct state s = { .net = 0 };
	u32 id, n;

	memset(&model, 0, sizeof(model));
	model.memo.bytes = sizeof(struct step);
	for (n = 0; n < conf->nodes; n++)
		model_view(n);
	se->from = EXPLORE_NONE;
	s.net = pool_add(&model.net, "", 0);
	search_add(se, &s, sizeof(s));
	for (id = 0; id < se->state.n && !model.wrong; id++) {
		memcpy(&s, pool_get(&se->state, id, NULL), sizeof(s));
		se->first[id] = se->edges;
		se->from = id;
		for (n = 0; n < conf->nodes; n++)
			if (view_of(n, s.node[n])->odd)
				model_wrong(id, odd_names[view_of(n, s.node[n])->odd]);
		if (model_over(&s)) {
			se->ends[id] = 1;
			model_end(&s, id);
			continue;
		}
		if (se->state.n >= limit) {
			model.cut = true;
			break;
		}
		model_expand(&s);
	}
	if (model.cut || model.wrong)
		return;
	search_room(se);
	se->first[id] = se->edges;
	id = search_endless(se);
	if (id != EXPLORE_NONE)
		model_wrong(id, "a transaction is stuck");
}

static inline void model_free(void)
{
	u32 n;

	search_free(&model.search);
	pool_free(&model.net);
	memo_free(&model.memo);
	for (n = 0; n < WORLD_NODES; n++)
		free(model.view[n]);
}

#endif
