/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exhaustive search through the states of a model whose parts run real code.
 *
 * Everything is stored once and named by a number (struct pool). A part's memory is stored as the
 * words that differ from those after set-up (struct image), so the state of the whole model is a
 * few numbers. What a step does to a part depends on that part only: it is run once, and looked up
 * whenever another part's state differs (struct memo). Holzmann's name for this is collapse
 * compression.
 *
 * The search is breadth first: the path to a state is one of the shortest (struct search). It keeps
 * all edges, to find the states from which no end can be reached.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPLORE_NONE	UINT32_MAX

/* Byte strings, each once, numbered in the order in which they came */
struct pool {
	uint8_t *data;
	uint64_t *at;		/* where each begins; one more than there are */
	uint32_t *table;	/* open addressing: number + 1 */
	uint64_t room;		/* bytes of data */
	uint32_t n, max, mask;
};

static inline void *explore_grow(void *p, uint64_t bytes)
{
	p = realloc(p, bytes);
	if (!p) {
		fprintf(stderr, "no memory for more states\n");
		exit(1);
	}
	return p;
}

__attribute__((no_sanitize("undefined")))
static inline uint64_t explore_hash(const void *what, uint32_t len)
{
	const uint8_t *p = what;
	uint64_t h = len * 0x9e3779b97f4a7c15ULL, w;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	for (; len; len--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	h ^= h >> 29;
	h *= 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 32;
}

static inline const void *pool_get(const struct pool *p, uint32_t id, uint32_t *len)
{
	if (len)
		*len = (uint32_t)(p->at[id + 1] - p->at[id]);
	return p->data + p->at[id];
}

static inline void pool_rehash(struct pool *p)
{
	uint32_t i, len, slot;
	const void *what;

	p->mask = p->mask ? p->mask * 2 + 1 : 1023;
	free(p->table);
	p->table = explore_grow(NULL, (p->mask + 1ULL) * sizeof(*p->table));
	memset(p->table, 0, (p->mask + 1ULL) * sizeof(*p->table));
	for (i = 0; i < p->n; i++) {
		what = pool_get(p, i, &len);
		slot = (uint32_t)explore_hash(what, len) & p->mask;
		while (p->table[slot])
			slot = (slot + 1) & p->mask;
		p->table[slot] = i + 1;
	}
}

/* The number of a byte string; a new one gets the next number */
static inline uint32_t pool_add(struct pool *p, const void *what, uint32_t len)
{
	uint32_t slot, n;
	const void *other;

	if (p->n >= p->mask / 4 * 3)
		pool_rehash(p);
	slot = (uint32_t)explore_hash(what, len) & p->mask;
	for (; p->table[slot]; slot = (slot + 1) & p->mask) {
		other = pool_get(p, p->table[slot] - 1, &n);
		if (n == len && !memcmp(other, what, len))
			return p->table[slot] - 1;
	}
	if (p->n + 2 > p->max) {
		p->max = p->max ? p->max * 2 : 256;
		p->at = explore_grow(p->at, (p->max + 1) * sizeof(*p->at));
		p->at[0] = 0;
	}
	if (!p->data || p->at[p->n] + len > p->room) {
		p->room = p->room * 2 + len + 4096;
		p->data = explore_grow(p->data, p->room);
	}
	memcpy(p->data + p->at[p->n], what, len);
	p->at[p->n + 1] = p->at[p->n] + len;
	p->table[slot] = p->n + 1;
	return p->n++;
}

static inline void pool_free(struct pool *p)
{
	free(p->data);
	free(p->at);
	free(p->table);
	memset(p, 0, sizeof(*p));
}

/* The memory of a part of the model, as words that differ from those after set-up */
struct image {
	struct region {
		uint64_t *word;
		uint32_t words;
	} region[16];
	uint64_t *initial[16];
	uint32_t regions;
	uint32_t loaded;	/* the state that the memory has now */
	struct pool state;
};

/* Only before image_begin() */
static inline void image_region(struct image *m, void *p, size_t bytes)
{
	if (m->regions == 16 || bytes % 8) {
		fprintf(stderr, "explore.h: regions\n");
		exit(1);
	}
	m->region[m->regions++] = (struct region){ p, (uint32_t)(bytes / 8) };
}

/* The number of the state that the memory has now */
static inline uint32_t image_save(struct image *m)
{
	static uint64_t diff[1 << 16];
	uint32_t i, k, n = 0;

	for (i = 0; i < m->regions; i++) {
		const uint64_t *now = m->region[i].word, *old = m->initial[i];

		for (k = 0; k < m->region[i].words; k++) {
			if (now[k] == old[k])
				continue;
			if (n + 2 > sizeof(diff) / sizeof(*diff)) {
				fprintf(stderr, "explore.h: a step changes too much\n");
				exit(1);
			}
			diff[n++] = (uint64_t)i << 32 | k;
			diff[n++] = now[k];
		}
	}
	m->loaded = pool_add(&m->state, diff, n * 8);
	return m->loaded;
}

/* State 0 is the memory as it is now. */
static inline void image_begin(struct image *m)
{
	uint32_t i;

	for (i = 0; i < m->regions; i++) {
		m->initial[i] = explore_grow(NULL, m->region[i].words * 8);
		memcpy(m->initial[i], m->region[i].word, m->region[i].words * 8);
	}
	image_save(m);
}

static inline void image_load(struct image *m, uint32_t id)
{
	const uint64_t *diff;
	uint32_t len, i;

	if (m->loaded == id)
		return;
	diff = pool_get(&m->state, m->loaded, &len);
	for (i = 0; i < len / 8; i += 2)
		m->region[diff[i] >> 32].word[(uint32_t)diff[i]] =
			m->initial[diff[i] >> 32][(uint32_t)diff[i]];
	diff = pool_get(&m->state, id, &len);
	for (i = 0; i < len / 8; i += 2)
		m->region[diff[i] >> 32].word[(uint32_t)diff[i]] = diff[i + 1];
	m->loaded = id;
}

static inline void image_end(struct image *m)
{
	uint32_t i;

	for (i = 0; i < m->regions; i++)
		free(m->initial[i]);
	pool_free(&m->state);
	memset(m, 0, sizeof(*m));
}

/* What a step did: results by key, both of a fixed size */
struct memo {
	struct pool key;
	uint8_t *result;
	uint32_t bytes;		/* of a result */
	uint32_t room;
};

/* The result of a key, and whether it still has to be computed */
static inline void *memo_find(struct memo *m, const void *key, uint32_t len, bool *fresh)
{
	uint32_t before = m->key.n, id = pool_add(&m->key, key, len);

	*fresh = id == before;
	if (id >= m->room) {
		m->room = m->room * 2 + 1024;
		m->result = explore_grow(m->result, (uint64_t)m->room * m->bytes);
	}
	return m->result + (uint64_t)id * m->bytes;
}

static inline void memo_free(struct memo *m)
{
	pool_free(&m->key);
	free(m->result);
	memset(m, 0, sizeof(*m));
}

/* States of the model, in the order of their distance from the first */
struct search {
	struct pool state;
	uint32_t *parent;	/* from which each was found first */
	uint64_t *first;	/* where the edges of each begin */
	uint32_t *edge;
	uint64_t edges, edge_room;
	uint32_t room;
	uint32_t from;		/* whose edges are being added */
	uint8_t *ends;		/* is an end, later: an end can be reached */
};

static inline void search_room(struct search *s)
{
	if (s->state.n < s->room)
		return;
	s->room = s->room * 2 + 4096;
	s->parent = explore_grow(s->parent, s->room * sizeof(*s->parent));
	s->first = explore_grow(s->first, (s->room + 1ULL) * sizeof(*s->first));
	s->ends = explore_grow(s->ends, s->room);
}

/* A state that a step from s->from leads to; its number */
static inline uint32_t search_add(struct search *s, const void *state, uint32_t len)
{
	uint32_t before = s->state.n, id;

	search_room(s);
	id = pool_add(&s->state, state, len);
	if (id == before) {
		s->parent[id] = s->from;
		s->ends[id] = 0;
	}
	if (s->from == EXPLORE_NONE)
		return id;
	if (s->edges == s->edge_room) {
		s->edge_room = s->edge_room * 2 + 4096;
		s->edge = explore_grow(s->edge, s->edge_room * sizeof(*s->edge));
	}
	s->edge[s->edges++] = id;
	return id;
}

/* Marks all states from which one that is marked in s->ends can be reached; the first other one */
static inline uint32_t search_endless(struct search *s)
{
	uint32_t *count, *back, *queue, n = s->state.n, i, tail = 0, found = EXPLORE_NONE;
	uint64_t e, *at;

	at = explore_grow(NULL, (n + 1ULL) * sizeof(*at));
	count = explore_grow(NULL, n * sizeof(*count));
	queue = explore_grow(NULL, n * sizeof(*queue));
	back = explore_grow(NULL, (s->edges + 1) * sizeof(*back));
	memset(count, 0, n * sizeof(*count));
	for (e = 0; e < s->edges; e++)
		count[s->edge[e]]++;
	for (at[0] = 0, i = 0; i < n; i++) {
		at[i + 1] = at[i] + count[i];
		count[i] = 0;
	}
	for (i = 0; i < n; i++)
		for (e = s->first[i]; e < s->first[i + 1]; e++)
			back[at[s->edge[e]] + count[s->edge[e]]++] = i;
	for (i = 0; i < n; i++)
		if (s->ends[i])
			queue[tail++] = i;
	for (i = 0; i < tail; i++)
		for (e = at[queue[i]]; e < at[queue[i] + 1]; e++)
			if (!s->ends[back[e]]) {
				s->ends[back[e]] = 1;
				queue[tail++] = back[e];
			}
	for (i = 0; i < n && found == EXPLORE_NONE; i++)
		if (!s->ends[i])
			found = i;
	free(at);
	free(count);
	free(queue);
	free(back);
	return found;
}

static inline void search_free(struct search *s)
{
	pool_free(&s->state);
	free(s->parent);
	free(s->first);
	free(s->edge);
	free(s->ends);
	memset(s, 0, sizeof(*s));
}

#endif
