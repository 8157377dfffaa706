// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Histories in memory: operations, transactions, keys. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

void *check_grow(void *array, size_t n, size_t more, size_t *room, size_t each)
{
	size_t want = n + more, to = *room;
	void *p;

	if (want <= *room)
		return array;
	if (want > CHECK_OPS_MAX)
		return NULL;
	while (to < want)
		to = to ? to * 2 : 64;
	p = realloc(array, to * each);
	if (p)
		*room = to;
	return p;
}

/* GROW(h, ops, op, 1): room for one more in h->op. Evaluates to false if there is none. */
#define GROW(h, count, array, more) ({						\
	void *p_ = check_grow((h)->array, (h)->count, more, &(h)->array##_room,	\
			      sizeof(*(h)->array));				\
	if (p_)									\
		(h)->array = p_;						\
	p_ != NULL;								\
})

void check_init(struct check_history *h)
{
	memset(h, 0, sizeof(*h));
}

void check_free(struct check_history *h)
{
	free(h->op);
	free(h->scan);
	free(h->pair);
	free(h->txn);
	free(h->part);
	free(h->element);
	free(h->key);
	free(h->names);
	free(h->table);
	check_init(h);
}

static uint64_t hash_name(const char *name, size_t length)
{
	uint64_t x = length, word;

	while (length >= sizeof(word)) {
		memcpy(&word, name, sizeof(word));
		x = check_mix2(x, word);
		name += sizeof(word);
		length -= sizeof(word);
	}
	word = 0;
	memcpy(&word, name, length);
	return check_mix2(x, word);
}

/* Twice the table; its size is a power of two, at most half of it is used */
static int grow_table(struct check_history *h)
{
	size_t size = h->table_size ? h->table_size * 2 : 64, i, j;
	uint32_t *table = calloc(size, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (i = 0; i < h->keys; i++) {
		j = hash_name(h->names + h->key[i].name, h->key[i].length) & (size - 1);
		while (table[j])
			j = (j + 1) & (size - 1);
		table[j] = (uint32_t)i + 1;
	}
	free(h->table);
	h->table = table;
	h->table_size = size;
	return 0;
}

/* Names are single words of a text, and none of its marks. */
static bool valid_name(const char *name, size_t length)
{
	size_t i;

	if (!length || length > CHECK_KEY_MAX)
		return false;
	if (length == 1 && memchr("=;*?", *name, 4))
		return false;
	for (i = 0; i < length; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f)
			return false;
	return true;
}

int64_t check_key(struct check_history *h, const char *name, size_t length)
{
	struct check_key *k;
	char *names;
	size_t i;

	if (!valid_name(name, length))
		return -EINVAL;
	if (2 * (h->keys + 1) > h->table_size && grow_table(h))
		return -ENOMEM;
	i = hash_name(name, length) & (h->table_size - 1);
	for (; h->table[i]; i = (i + 1) & (h->table_size - 1)) {
		k = &h->key[h->table[i] - 1];
		if (k->length == length && !memcmp(h->names + k->name, name, length))
			return h->table[i] - 1;
	}
	if (!GROW(h, keys, key, 1))
		return -ENOMEM;
	names = check_grow(h->names, h->name_bytes, length + 1, &h->name_room, 1);
	if (!names)
		return -ENOMEM;
	h->names = names;
	k = &h->key[h->keys];
	*k = (struct check_key){ .name = h->name_bytes, .length = (uint32_t)length };
	memcpy(h->names + h->name_bytes, name, length);
	h->names[h->name_bytes + length] = 0;
	h->name_bytes += length + 1;
	h->table[i] = (uint32_t)++h->keys;
	return (int64_t)h->keys - 1;
}

int64_t check_key_of(struct check_history *h, const char *name)
{
	return check_key(h, name, strlen(name));
}

const char *check_name(const struct check_history *h, uint32_t key)
{
	return h->names + h->key[key].name;
}

void check_initial(struct check_history *h, uint32_t key, uint64_t value)
{
	h->key[key].present = true;
	h->key[key].initial = value;
}

int64_t check_begin(struct check_history *h, uint32_t client, enum check_kind kind, uint32_t key,
		    uint64_t invoke)
{
	if (!GROW(h, ops, op, 1))
		return -ENOMEM;
	h->op[h->ops] = (struct check_op){
		.invoke = invoke, .complete = CHECK_PENDING, .client = client, .key = key,
		.scan = CHECK_NONE, .kind = (uint8_t)kind,
	};
	return (int64_t)h->ops++;
}

int64_t check_begin_scan(struct check_history *h, uint32_t client, uint32_t from, uint32_t to,
			 uint32_t max, uint64_t invoke)
{
	int64_t i;

	if (!GROW(h, scans, scan, 1))
		return -ENOMEM;
	i = check_begin(h, client, CHECK_SCAN, CHECK_NONE, invoke);
	if (i < 0)
		return i;
	h->scan[h->scans] = (struct check_scan){
		.from = from, .to = to, .max = max,
	};
	h->op[i].scan = (uint32_t)h->scans++;
	return i;
}

int check_scan_found(struct check_history *h, int64_t op, uint32_t key, uint64_t value)
{
	struct check_scan *s = &h->scan[h->op[op].scan];

	if (!s->found)
		s->first = h->pairs;
	else if (s->first + s->found != h->pairs)
		return -EINVAL;
	if (!GROW(h, pairs, pair, 1))
		return -ENOMEM;
	h->pair[h->pairs++] = (struct check_pair){ .key = key, .value = value };
	s->found++;
	return 0;
}

int64_t check_txn(struct check_history *h, uint32_t client, uint64_t invoke, uint64_t complete,
		  enum check_outcome outcome)
{
	if (!GROW(h, txns, txn, 1))
		return -ENOMEM;
	h->txn[h->txns] = (struct check_txn){
		.invoke = invoke, .complete = complete, .first = h->parts, .client = client,
		.outcome = (uint8_t)outcome,
	};
	return (int64_t)h->txns++;
}

static struct check_part *new_part(struct check_history *h, uint32_t key)
{
	struct check_part *p;

	if (!GROW(h, parts, part, 1))
		return NULL;
	p = &h->part[h->parts++];
	*p = (struct check_part){ .key = key, .first = h->elements };
	h->txn[h->txns - 1].parts++;
	return p;
}

int check_append(struct check_history *h, uint32_t key, uint64_t value)
{
	struct check_part *p = new_part(h, key);

	if (!p)
		return -ENOMEM;
	p->append = true;
	p->value = value;
	return 0;
}

int check_list(struct check_history *h, uint32_t key, const uint64_t *elements, uint32_t length)
{
	size_t n = length == CHECK_NONE ? 0 : length;
	struct check_part *p;

	if (!GROW(h, elements, element, n ? n : 1))
		return -ENOMEM;
	p = new_part(h, key);
	if (!p)
		return -ENOMEM;
	p->length = length;
	if (n)
		memcpy(h->element + h->elements, elements, n * sizeof(*elements));
	h->elements += n;
	return 0;
}
