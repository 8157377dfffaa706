/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What the files of the checker share. */
#ifndef RMC_CHECK_INTERNAL_H
#define RMC_CHECK_INTERNAL_H

#include "check.h"

/* Room for more elements of an array; NULL: no memory, or more than CHECK_OPS_MAX */
void *check_grow(void *array, size_t n, size_t more, size_t *room, size_t each);

/* SplitMix64's last step: each bit of the result depends on all of x */
static inline uint64_t check_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static inline uint64_t check_mix2(uint64_t a, uint64_t b)
{
	return check_mix(a + 0x9e3779b97f4a7c15ULL * (b + 1));
}

/* ---- linearizability ---- */

/*
 * An operation as the algorithms see it: a copy, whose constraints may be weaker than those of the
 * operation in the history. key counts the keys of the group; a scan is of those from arg to
 * before expected.
 */
struct item {
	const struct check_op *op;
	uint64_t invoke, complete;
	uint64_t arg, expected, got;
	uint32_t key;
	uint8_t kind, known;
};

struct value {
	uint64_t v;		/* 0 if absent */
	bool present;
};

/* Keys that have to be checked together, in their order, and their operations */
struct group {
	const struct check_history *h;
	const uint32_t *key;	/* numbers in the history */
	const uint32_t *local;	/* of each key of the history: its place in its group */
	uint32_t keys;
	struct item *item;
	size_t items;
};

/* Where the operations of a violation are collected */
struct evidence {
	struct check_finding f;
	const struct check_op **op;	/* freed by the caller */
	size_t room;
};

int check_evidence_add(struct evidence *e, const struct check_op *op);

/*
 * Each returns a verdict or -ENOMEM. check_register() returns -EDOM if the group is not one key
 * with reads and writes of different values. It fills in e if it finds a violation.
 */
int check_register(const struct group *g, struct evidence *e);

struct search_limits {
	uint64_t max_states, max_steps;
	void (*progress)(void *arg, uint64_t done, uint64_t all);
	void *arg;
	uint64_t before, all;	/* of progress */
	/* results */
	uint64_t states, steps;
	const struct check_op *blocked;	/* its completion was never reached */
	uint64_t reached;		/* and the time of that */
};

int check_search(const struct group *g, struct search_limits *l);

/* Fewest operations of a group that the search rejects */
int check_core(const struct group *g, const struct search_limits *found, struct evidence *e);

static inline bool check_changes(uint8_t kind)
{
	return kind != CHECK_READ && kind != CHECK_SCAN;
}

/*
 * -EINVAL: an operation or transaction that cannot be, see check_linear(); -EBUSY: two of one
 * client overlap; -ENOMEM
 */
int check_valid_ops(const struct check_history *h, size_t overlap[2]);
int check_valid_txns(const struct check_history *h, size_t overlap[2]);

/* Whether an operation has a condition, so that ok or fail is a result of it */
bool check_conditional(enum check_kind kind);

/* ---- transactions ---- */

/*
 * Edges of the graph. VIA continues an edge: a node that is no transaction is between. LOST is ww,
 * or else the other way round is: between two transactions that append to a list which they both
 * read without the other's append.
 */
enum edge_kind { EDGE_WW, EDGE_WR, EDGE_RW, EDGE_RT, EDGE_VIA, EDGE_LOST };

#define EDGE_BIT(kind)	(1U << (kind))

struct edge {
	uint32_t from, to;
	uint32_t key;
	uint8_t kind;
};

struct graph {
	uint32_t nodes;		/* transactions, then others */
	uint32_t txns;
	struct edge *edge;	/* sorted by from after graph_sort() */
	size_t edges, room;
	size_t *first;		/* of each node, and the end */
	bool *covered;		/* node is in a component that was reported */
	bool *cut;		/* node is in a component whose search was cut short */
	bool undecided;		/* a component that may have a cycle was not reported */
};

int graph_add(struct graph *g, uint32_t from, uint32_t to, enum edge_kind kind, uint32_t key);
int graph_sort(struct graph *g);
void graph_free(struct graph *g);

/* Called for each cycle: n transactions, and from each the edge to the next */
struct cycle {
	enum check_reason reason;
	bool realtime, partial;
	const uint32_t *txn;
	struct check_step *step;
	size_t n;
};

/* Reports a cycle of each component that has one. 0 or -ENOMEM. */
int graph_cycles(struct graph *g, bool realtime, void (*found)(void *arg, const struct cycle *c),
		 void *arg);

#endif /* RMC_CHECK_INTERNAL_H */
