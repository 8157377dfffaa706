// SPDX-License-Identifier: GPL-2.0
/*
 * Caches of tags (hades.h): two levels of a core, and the LLC of a node, each replacing the line
 * that was used longest ago. The LLC does not evict a line that a transaction has written as long
 * as the set has another one (HADES section VIII-C).
 */
#include <stdlib.h>
#include "hades.h"

/**
 * hd_cache_init() - an empty cache
 * @c: cache
 * @kib: capacity
 * @ways: lines of a set
 * @writers: lines know which transaction has written them
 *
 * Return: 0, or -1: no memory.
 */
int hd_cache_init(struct hd_cache *c, uint64_t kib, uint32_t ways, bool writers)
{
	uint64_t lines = kib * 1024 / HD_LINE;

	*c = (struct hd_cache) { .sets = (uint32_t)(lines / ways), .ways = ways };
	c->tag = calloc(lines, sizeof(*c->tag));
	c->used = calloc(lines, sizeof(*c->used));
	c->writer = writers ? calloc(lines, 1) : NULL;
	return c->tag && c->used && (c->writer || !writers) ? 0 : -1;
}

/**
 * hd_cache_free() - free what hd_cache_init() has allocated
 * @c: cache
 */
void hd_cache_free(struct hd_cache *c)
{
	free(c->tag);
	free(c->used);
	free(c->writer);
	*c = (struct hd_cache) { 0 };
}

static uint64_t find_way(const struct hd_cache *c, uint64_t key)
{
	uint64_t first = key % c->sets * c->ways, i;

	for (i = first; i < first + c->ways; i++)
		if (c->tag[i] == key + 1)
			return i;
	return UINT64_MAX;
}

/* The line's place; *hit: it was there; *out: 1 + slot whose written line it has driven out */
static uint64_t look_up(struct hd_cache *c, uint64_t key, bool *hit, unsigned int *out)
{
	uint64_t first = key % c->sets * c->ways, i, victim = UINT64_MAX, at = find_way(c, key);

	*hit = at != UINT64_MAX;
	if (out)
		*out = 0;
	if (*hit) {
		c->used[at] = ++c->clock;
		return at;
	}
	for (i = first; i < first + c->ways; i++)
		if (!(c->writer && c->writer[i]) &&
		    (victim == UINT64_MAX || c->used[i] < c->used[victim]))
			victim = i;
	for (i = first; victim == UINT64_MAX && i < first + c->ways; i++)
		if (i == first || c->used[i] < c->used[at])
			at = i;
	if (victim == UINT64_MAX) {
		victim = at;
		if (out)
			*out = c->writer[victim];
	}
	c->tag[victim] = key + 1;
	c->used[victim] = ++c->clock;
	if (c->writer)
		c->writer[victim] = 0;
	return victim;
}

static uint64_t key_of(enum hd_space space, uint64_t line)
{
	return (uint64_t)space << 48 | line;
}

static void evicted(struct hd_node *n, unsigned int out)
{
	if (out)
		hd_home_squash(n, out - 1);
}

static uint64_t one_line(struct hd_client *c, uint64_t key)
{
	unsigned int out;
	bool hit;

	look_up(&c->core->l1, key, &hit, NULL);
	if (hit)
		return hd.l1;
	look_up(&c->core->l2, key, &hit, NULL);
	if (hit)
		return hd.l2;
	look_up(&c->node->llc, key, &hit, &out);
	evicted(c->node, out);
	return hit ? hd.llc : hd.dram;
}

/**
 * hd_touch() - a core accesses lines that follow each other
 * @c: coroutine
 * @space: which memory
 * @line: the first one
 * @lines: how many
 * @directory: each access goes to the directory
 *
 * Return: time, ps: of the first line, and of the others as far as they do not overlap.
 */
uint64_t hd_touch(struct hd_client *c, enum hd_space space, uint64_t line, unsigned int lines,
		  bool directory)
{
	uint64_t sum = 0, t;
	unsigned int i;

	for (i = 0; i < lines; i++) {
		t = one_line(c, key_of(space, line + i));
		if (directory && t < hd.llc)
			t = hd.llc;
		sum += i ? t / hd.overlap : t;
	}
	return sum;
}

/**
 * hd_dma() - an adapter accesses lines of its node
 * @n: node
 * @line: the first one
 * @lines: how many
 *
 * Return: time, ps.
 */
uint64_t hd_dma(struct hd_node *n, uint64_t line, unsigned int lines)
{
	uint64_t sum = 0, t;
	unsigned int i, out;
	bool hit;

	for (i = 0; i < lines; i++) {
		look_up(&n->llc, key_of(HD_SEGMENT, line + i), &hit, &out);
		evicted(n, out);
		t = hit ? hd.llc : hd.dram;
		sum += i ? t / hd.overlap : t;
	}
	return sum;
}

/**
 * hd_speculative() - a transaction writes a line of its node
 * @n: node
 * @line: line
 * @slot: its slot
 *
 * Return: 0, or 1 + slot of a transaction whose line had to leave for it.
 */
unsigned int hd_speculative(struct hd_node *n, uint64_t line, uint32_t slot)
{
	unsigned int out;
	bool hit;
	uint64_t at = look_up(&n->llc, key_of(HD_SEGMENT, line), &hit, &out);

	n->llc.writer[at] = (uint8_t)(1 + slot);
	return out;
}

/**
 * hd_settled() - a line is not a transaction's any more
 * @n: node
 * @line: line
 * @slot: slot of the transaction
 */
void hd_settled(struct hd_node *n, uint64_t line, uint32_t slot)
{
	uint64_t at = find_way(&n->llc, key_of(HD_SEGMENT, line));

	if (at != UINT64_MAX && n->llc.writer[at] == 1 + slot)
		n->llc.writer[at] = 0;
}
