// SPDX-License-Identifier: GPL-2.0
/*
 * Memory behind the RRPP, for runs that ask for it: lines of segments arrive some time after they
 * were asked for, one every some picoseconds. What asks for them is the core's own code, by the
 * shim: prefetch() at once, a copy when it runs, and whatever follows an acquire of a word in a
 * segment (the version of an object) not before that word has arrived.
 *
 *	  visit begins
 *	    | prefetch(line)    ------ memory ------> arrives
 *	    | load of a version ..................... until here
 *	    | copy              ------ memory ------> last line arrives: the visit ends
 *
 * With costs of a pipeline ("pipe") a worker is free for the next packets meanwhile, as hardware
 * is. Else it waits, as a CPU does.
 */
#include "node.h"

#define AHEAD		1024	/* lines that are remembered: more than any visit fetches */
#define PS		1000
/* A line that arrived longer ago than so many accesses to memory is not in a cache any more. */
#define KEPT		8

bool sim_lines_on;

static struct {
	const struct sim_node *node;
	uintptr_t from, to;
} *segment;
static u32 segments, room;

/* The visit that runs now; times are in ps */
static struct {
	struct sim_worker *w;
	u64 begin;	/* when */
	u64 version;	/* an object's version has arrived */
	u64 stall;	/* time that a CPU has waited */
	u64 arrival;	/* of the last line */
} visit;

/**
 * sim_lines_segment() - a node registers a segment
 * @n: node
 * @p: its memory
 * @bytes: length
 *
 * Return: 0 or -ENOMEM.
 */
int sim_lines_segment(const struct sim_node *n, const void *p, size_t bytes)
{
	if (segments == room) {
		void *more = realloc(segment, (room + 64) * sizeof(*segment));

		if (!more)
			return -ENOMEM;
		segment = more;
		room += 64;
	}
	segment[segments].node = n;
	segment[segments].from = (uintptr_t)p;
	segment[segments++].to = (uintptr_t)p + bytes;
	return 0;
}

/**
 * sim_lines_withdraw() - a node withdraws a segment
 * @n: node
 * @p: its memory
 */
void sim_lines_withdraw(const struct sim_node *n, const void *p)
{
	u32 i;

	for (i = 0; i < segments; i++)
		if (segment[i].node == n && segment[i].from == (uintptr_t)p)
			segment[i--] = segment[--segments];
}

/**
 * sim_lines_reset() - forget all segments
 */
void sim_lines_reset(void)
{
	free(segment);
	segment = NULL;
	segments = 0;
	room = 0;
	visit.w = NULL;
}

static bool in_segment(const void *p)
{
	u32 i;

	for (i = 0; visit.w && i < segments; i++)
		if (segment[i].node == visit.w->node && (uintptr_t)p >= segment[i].from &&
		    (uintptr_t)p < segment[i].to)
			return true;
	return false;
}

/* Where the visit is: a pipeline is where it began, a CPU has worked and waited since then. */
static u64 now(void)
{
	if (sim.cost.pipe)
		return visit.begin;
	return visit.begin + sim_visit_work(visit.w) * PS + visit.stall;
}

/* When a line arrives that is asked for at a given time, unless it was asked for before. */
static u64 fetch(uintptr_t line, u64 at)
{
	struct sim_line *l = &visit.w->ahead[line % AHEAD];

	if (l->line != line || l->arrives + KEPT * sim.cost.memory * PS < at) {
		visit.w->next_line = max(visit.w->next_line, at);
		l->line = line;
		l->arrives = visit.w->next_line + sim.cost.memory * PS;
		visit.w->next_line += sim.cost.line;
	}
	visit.arrival = max(visit.arrival, l->arrives);
	return l->arrives;
}

/* A CPU waits for it. */
static void wait_for(u64 at)
{
	if (!sim.cost.pipe && at > now())
		visit.stall += at - now();
}

/**
 * sim_lines_fetch() - prefetch()
 * @p: address
 */
void sim_lines_fetch(const void *p)
{
	if (in_segment(p))
		fetch((uintptr_t)p / RMC_LINE, now());
}

/**
 * sim_lines_depend() - a load on which later loads depend
 * @p: address
 */
void sim_lines_depend(const void *p)
{
	if (!in_segment(p))
		return;
	visit.version = fetch((uintptr_t)p / RMC_LINE, now());
	wait_for(visit.version);
}

/**
 * sim_lines_load() - a copy
 * @p: where from
 * @n: bytes
 */
void sim_lines_load(const void *p, size_t n)
{
	uintptr_t line = (uintptr_t)p / RMC_LINE, end = ((uintptr_t)p + n - 1) / RMC_LINE;
	u64 last = 0, at;

	if (!n || !in_segment(p))
		return;
	for (at = max(now(), visit.version); line <= end; line++)
		last = max(last, fetch(line, at));
	wait_for(last);
}

/**
 * sim_lines_begin() - a visit begins
 * @w: worker
 *
 * Return: 0 or -ENOMEM.
 */
int sim_lines_begin(struct sim_worker *w)
{
	if (!w->ahead)
		w->ahead = calloc(AHEAD, sizeof(*w->ahead));
	if (!w->ahead)
		return -ENOMEM;
	memset(&visit, 0, sizeof(visit));
	visit.w = w;
	visit.begin = sim.now * PS;
	return 0;
}

/**
 * sim_lines_end() - a visit ends
 *
 * Return: ns that it takes for memory beside its work.
 */
u64 sim_lines_end(void)
{
	u64 at = visit.begin + (sim.cost.pipe ? 0 : visit.stall + sim_visit_work(visit.w) * PS);
	u64 rest = visit.arrival > at ? visit.arrival - at : 0;

	if (!sim.cost.pipe)
		rest += visit.stall;
	visit.w = NULL;
	/* the last line of a run, to the nanosecond */
	return rest / PS;
}
