/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Names to dense numbers: open addressing, never more than half full. */
#include <stdlib.h>
#include <string.h>
#include "strtab.h"

#define FIRST_BUCKETS	1024

static uint32_t hash_of(const char *s, size_t len)
{
	uint32_t h = 2166136261u;	/* FNV-1a */
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

static void place(struct strtab *t, uint32_t number)
{
	uint32_t i = t->hash[number] & (t->buckets - 1);

	while (t->bucket[i])
		i = (i + 1) & (t->buckets - 1);
	t->bucket[i] = number + 1;
}

static int grow(struct strtab *t)
{
	uint32_t buckets = t->buckets ? 2 * t->buckets : FIRST_BUCKETS, i;
	uint32_t *bucket = (uint32_t *)calloc(buckets, sizeof(*bucket));
	char **name = (char **)realloc(t->name, buckets / 2 * sizeof(*name));
	uint32_t *hash;

	if (name)
		t->name = name;
	hash = (uint32_t *)realloc(t->hash, buckets / 2 * sizeof(*hash));
	if (hash)
		t->hash = hash;
	if (!bucket || !name || !hash) {
		free(bucket);
		return -1;
	}
	free(t->bucket);
	t->bucket = bucket;
	t->buckets = buckets;
	t->room = buckets / 2;
	for (i = 0; i < t->count; i++)
		place(t, i);
	return 0;
}

uint32_t strtab_add(struct strtab *t, const char *s, size_t len)
{
	uint32_t h = hash_of(s, len), i, number;

	for (i = h & (t->buckets - 1); t->buckets && t->bucket[i]; i = (i + 1) & (t->buckets - 1)) {
		number = t->bucket[i] - 1;
		if (t->hash[number] == h && !strncmp(t->name[number], s, len) &&
		    !t->name[number][len])
			return number;
	}
	if (t->count == t->room && grow(t))
		return STRTAB_FULL;
	number = t->count;
	t->name[number] = strndup(s, len);
	if (!t->name[number])
		return STRTAB_FULL;
	t->hash[number] = h;
	t->count++;
	place(t, number);
	return number;
}

void strtab_free(struct strtab *t)
{
	uint32_t i;

	for (i = 0; i < t->count; i++)
		free(t->name[i]);
	free(t->name);
	free(t->hash);
	free(t->bucket);
	memset(t, 0, sizeof(*t));
}
