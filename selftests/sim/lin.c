// SPDX-License-Identifier: GPL-2.0
/*
 * Wing and Gong's search with Lowe's memoization: the next operation may be any that was
 * invoked before the first response among the remaining ones. A set of completed operations and
 * the state after them is not searched again.
 */
#include <stdio.h>
#include <stdlib.h>
#include "lin.h"

#define MEMORY_ORDER	16

struct search {
	const struct lin *h;
	uint64_t must;		/* operations with a response */
	struct {
		uint64_t done, state;
		bool used;
	} *seen;
	uint32_t filled;
};

struct lin_op *lin_add(struct lin *h, enum lin_kind kind, uint64_t begin)
{
	struct lin_op *op;

	if (h->ops == LIN_MAX)
		return NULL;
	op = &h->op[h->ops++];
	*op = (struct lin_op){ .kind = kind, .begin = begin, .end = LIN_UNKNOWN };
	return op;
}

/* Apply an operation to a state. Returns false if its result does not fit. */
static bool apply(const struct lin_op *op, uint64_t *state)
{
	bool known = op->end != LIN_UNKNOWN;
	uint64_t was = *state;

	switch (op->kind) {
	case LIN_READ:
		return !known || op->got == was;
	case LIN_WRITE:
		*state = op->arg;
		return true;
	case LIN_ADD:
		*state = was + op->arg;
		return !known || op->got == was;
	case LIN_CAS:
		if (was == op->expected)
			*state = op->arg;
		return !known || op->got == was;
	case LIN_DELETE:
		*state = LIN_ABSENT;
		return !known || op->got == (was != LIN_ABSENT);
	}
	return false;
}

/* Returns whether a combination was searched before, and records it. */
static bool seen(struct search *s, uint64_t done, uint64_t state)
{
	uint64_t hash = (done * 0x9e3779b97f4a7c15ULL) ^ (state * 0xc2b2ae3d27d4eb4fULL);
	uint32_t mask = (1U << MEMORY_ORDER) - 1, i = (hash ^ hash >> 29) & mask;

	while (s->seen[i].used) {
		if (s->seen[i].done == done && s->seen[i].state == state)
			return true;
		i = (i + 1) & mask;
	}
	/* a table that is half full records no more: the search only takes longer */
	if (s->filled < mask / 2) {
		s->filled++;
		s->seen[i].used = true;
		s->seen[i].done = done;
		s->seen[i].state = state;
	}
	return false;
}

static bool search(struct search *s, uint64_t done, uint64_t state)
{
	uint64_t first_end = LIN_UNKNOWN, next;
	int i;

	if ((done & s->must) == s->must)
		return true;
	if (seen(s, done, state))
		return false;
	for (i = 0; i < s->h->ops; i++)
		if (!(done >> i & 1) && s->h->op[i].end < first_end)
			first_end = s->h->op[i].end;
	for (i = 0; i < s->h->ops; i++) {
		if (done >> i & 1 || s->h->op[i].begin > first_end)
			continue;
		next = state;
		if (apply(&s->h->op[i], &next) && search(s, done | 1ULL << i, next))
			return true;
	}
	return false;
}

/**
 * lin_check() - find an order that explains all results
 * @h: history
 *
 * Return: true when there is one.
 */
bool lin_check(const struct lin *h)
{
	struct search s = { .h = h };
	bool found;
	int i;

	for (i = 0; i < h->ops; i++)
		if (h->op[i].end != LIN_UNKNOWN)
			s.must |= 1ULL << i;
	s.seen = calloc(1U << MEMORY_ORDER, sizeof(*s.seen));
	if (!s.seen)
		abort();
	found = search(&s, 0, h->initial);
	free(s.seen);
	return found;
}

/**
 * lin_print() - print a history, for debugging
 * @h: history
 */
void lin_print(const struct lin *h)
{
	static const char * const names[] = { "read", "write", "add", "cas", "delete" };
	int i;

	for (i = 0; i < h->ops; i++) {
		const struct lin_op *op = &h->op[i];

		printf("#   %9llu .. %9lld %-6s arg %llx, got %llx\n",
		       (unsigned long long)op->begin, (long long)op->end, names[op->kind],
		       (unsigned long long)op->arg, (unsigned long long)op->got);
	}
}
