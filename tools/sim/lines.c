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
 * With costs of a pipeline ("pipe") a worker is free for the next packets when memory has taken
 * what it asked for, as hardware is. Else it waits for the data, as a CPU does. Copies of a single
 * line are not seen: what they load was prefetched, and is waited for at the end of the visit.
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
	u64 first;	/* number of its first line: results do not depend on addresses */
} *segment;
static u32 segments, room;
static u64 next_line = 1;	/* 0: no line */

/* The visit that runs now; times are in ps */
static struct {
	struct sim_worker *w;
	u64 begin;	/* when */
	u64 stall;	/* time that a CPU has waited */
	u64 loaded;	/* arrival of the last line of a copy */
	u64 fetched;	/* of the last line of all */
	u64 lines;	/* of copies */
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
	segment[segments].first = next_line;
	next_line += bytes / RMC_LINE + 2;
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
	next_line = 1;
	visit.w = NULL;
}

/* Number of a line in a segment of the visited node; 0: it is in none */
static u64 line_of(const void *p)
{
	uintptr_t at = (uintptr_t)p;
	u32 i;

	for (i = 0; visit.w && i < segments; i++)
		if (segment[i].node == visit.w->node && at >= segment[i].from && at < segment[i].to)
			return segment[i].first + at / RMC_LINE - segment[i].from / RMC_LINE;
	return 0;
}

/* Where the visit is: a pipeline is where it began, a CPU has worked and waited since then. */
static u64 now(void)
{
	if (sim.cost.pipe)
		return visit.begin;
	return visit.begin + sim_visit_work(visit.w) * PS + visit.stall;
}

/* When memory takes a request: at the first gap between those that it takes already */
static u64 gap(const struct sim_worker *w, u64 at, u32 *place)
{
	for (*place = 0; *place < w->taken; ++*place) {
		u64 t = w->take[*place];

		if (t + sim.cost.line <= at)
			continue;
		if (t >= at + sim.cost.line)
			break;
		at = t + sim.cost.line;
	}
	return at;
}

/* Memory takes a request at that time, which may be in future, or later. */
static u64 take(struct sim_worker *w, u64 at)
{
	u32 place, old;

	for (old = 0; old < w->taken && w->take[old] + sim.cost.line <= visit.begin; old++)
		;
	w->taken -= old;
	memmove(w->take, w->take + old, w->taken * sizeof(w->take[0]));
	at = gap(w, at, &place);
	/* more than any backlog: the worker waits until memory has taken what it asked for */
	if (w->taken == SIM_TAKE)
		abort();
	memmove(w->take + place + 1, w->take + place, (w->taken - place) * sizeof(w->take[0]));
	w->take[place] = at;
	w->taken++;
	return at;
}

/* When a line arrives that is asked for at a given time, unless it was asked for before */
static u64 fetch(u64 line, u64 *at)
{
	struct sim_line *l = &visit.w->ahead[line % AHEAD];

	if (l->line != line || l->arrives + KEPT * sim.cost.memory * PS < *at) {
		u64 taken = take(visit.w, *at);

		l->line = line;
		l->arrives = taken + sim.cost.memory * PS;
		*at = taken + sim.cost.line;
	}
	visit.fetched = max(visit.fetched, l->arrives);
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
	u64 line = line_of(p), at;

	if (!line)
		return;
	at = now();
	fetch(line, &at);
}

/**
 * sim_lines_depend() - a load on which later loads depend
 * @p: address
 */
void sim_lines_depend(const void *p)
{
	u64 line = line_of(p), at;
	struct sim_line *v;

	if (!line)
		return;
	at = now();
	at = fetch(line, &at);
	wait_for(at);
	v = &visit.w->version[visit.w->versions++ % SIM_VERSIONS];
	v->line = line;
	v->arrives = at;
}

/* When the version of a line's object arrives; 0: it has arrived, or there is none */
static u64 version_of(u64 line)
{
	const struct sim_line *v, *best = NULL;
	u32 i;

	for (i = 0; i < SIM_VERSIONS; i++) {
		v = &visit.w->version[i];
		if (v->line <= line && line - v->line < RMC_SABRE_MAX / RMC_LINE &&
		    v->arrives > now() && (!best || v->line > best->line))
			best = v;
	}
	return best ? best->arrives : 0;
}

/**
 * sim_lines_load() - a copy
 * @p: where from
 * @n: bytes
 */
void sim_lines_load(const void *p, size_t n)
{
	u64 line = line_of(p), end, last = 0, at;

	if (!n || !line)
		return;
	end = line + ((uintptr_t)p % RMC_LINE + n - 1) / RMC_LINE;
	for (at = max(now(), version_of(line)); line <= end; line++, visit.lines++)
		last = max(last, fetch(line, &at));
	visit.loaded = max(visit.loaded, last);
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
 * @lines: that it has served
 * @taken: out, when memory has taken the requests for them, ns
 *
 * Return: ns that it takes for memory beside its work.
 */
u64 sim_lines_end(u64 lines, u64 *taken)
{
	u64 at = visit.begin + (sim.cost.pipe ? 0 : visit.stall + sim_visit_work(visit.w) * PS);
	u64 arrival = lines > visit.lines ? visit.fetched : visit.loaded;
	u64 rest = arrival > at ? arrival - at : 0;
	u32 place;

	*taken = arrival ? min(arrival / PS - sim.cost.memory,
			       gap(visit.w, visit.begin, &place) / PS) : 0;
	if (!sim.cost.pipe)
		rest += visit.stall;
	visit.w = NULL;
	return rest / PS;
}
