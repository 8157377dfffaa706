/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* X x Y queueing systems: see queues.h */
#include <string.h>
#include "queues.h"

/* Put a time into a heap of @n that has one more place at its root. */
static void sink(uint64_t *heap, unsigned int n, uint64_t t)
{
	unsigned int i = 0, child;

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= t)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = t;
}

void queues_run(unsigned int queues, unsigned int servers, const struct message *m, size_t n,
		uint64_t *latency)
{
	uint64_t free_at[SERVERS_MAX];	/* a heap for each queue */
	size_t i;

	memset(free_at, 0, sizeof(free_at[0]) * queues * servers);
	for (i = 0; i < n; i++) {
		uint64_t *heap = free_at + m[i].key % queues * servers;
		uint64_t start = heap[0] > m[i].arrives ? heap[0] : m[i].arrives;

		sink(heap, servers, start + m[i].service);
		latency[i] = start + m[i].service - m[i].arrives;
	}
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t t = *a;

	*a = *b;
	*b = t;
}

/* Hoare's selection. The pivot is the middle value: sorted values take no longer than others. */
uint64_t percentile(uint64_t *value, size_t n, unsigned int permille)
{
	size_t low = 0, high = n, rank;

	if (!n)
		return 0;
	rank = (n * permille + 999) / 1000;
	rank = rank ? rank - 1 : 0;
	while (high - low > 1) {
		uint64_t pivot = value[low + (high - low) / 2];
		size_t less = low, same = low, more = high;

		/* [low, less) < pivot, [less, same) == pivot, [more, high) > pivot */
		while (same < more) {
			if (value[same] < pivot)
				swap(&value[less++], &value[same++]);
			else if (value[same] > pivot)
				swap(&value[same], &value[--more]);
			else
				same++;
		}
		if (rank < less)
			high = less;
		else if (rank >= more)
			low = more;
		else
			return pivot;
	}
	return value[low];
}
