/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How two nodes join a shared region, leave, die, pause, and are replaced by a successor:
 * kmod/member/node.c, peer.c and kmod/core/channel.c, as a model for spin(1) that
 * selftests/model/run searches completely.
 *
 *   a life      one kernel under one epoch of a node id: two workers, RGP+RCP and RRPP.
 *               It may pause between any two steps, for so long that it seems dead, and
 *               resume. A step is the code between two accesses to shared memory whose
 *               order matters
 *   node table  state and epoch of an id, in one word
 *   sync        the epoch of the peer that a node acknowledged
 *   rings       of one slot each, requests and replies; a slot holds the epochs of both
 *               ends (represented by the laps, rmc_ring_begin()) and a number
 *
 * Asserted: no life zeroes rings that a life which follows the rules has open; both ends of a
 * ring count alike; a channel is opened once between two lives; at the end, the life under the
 * newest epoch is up and linked, and no other life is.
 *
 * Limits: id 0 has two lives, id 1 one; in a search one life dies or pauses, once.
 *
 * Not modelled: memory order (selftests/litmus); several units; time-outs of operations; a
 * joiner that gives up on a living peer after 4 x dead_ms; claiming and joining as two steps; a
 * node that goes down and up while its kernel runs, or is fenced and claims its id again.
 * Permitted: stores into rings by a life that has lost its id and has not noticed yet. They
 * lose packets of its successor, which time out or are retransmitted.
 *
 * BREAK_...: omits one rule. selftests/model/run requires that each omission is found.
 */
#ifndef LIVES
#define LIVES	2	/* of each id */
#endif
#ifndef LIVES1
#define LIVES1	LIVES	/* of id 1 */
#endif
#ifndef PAUSES
#define PAUSES	1
#endif
#ifndef DIE
#define DIE	1	/* lives, a bit each */
#endif
#ifndef STAND
#define STAND	0
#endif
#ifndef SENDS
#define SENDS	1	/* requests of a life on one channel */
#endif

#define FREE	0
#define JOINING	1
#define UP	2
#define DOWN	3

#define LIFE(id, e)	((id) * LIVES + (e) - 1)
#define NEWEST(id)	(epoch[id] > 0 && alive[LIFE(id, epoch[id])] && !still[LIFE(id, epoch[id])])

typedef slot { byte requester; byte server; byte n };

byte state[2], epoch[2];	/* the node table: an id's pair changes in one step */
byte sync[2];			/* by acknowledging id */
slot req[2], rep[2];		/* by the requester's id */

/* Of each life */
bool alive[2 * LIVES], still[2 * LIVES], stood[2 * LIVES];
bool up[2 * LIVES], fenced[2 * LIVES];
byte out_epoch[2 * LIVES];
bool asks[2 * LIVES], waiting[2 * LIVES], serves[2 * LIVES];
byte asks_of[2 * LIVES], sent[2 * LIVES], serves_to[2 * LIVES], received[2 * LIVES];

/* Channels that were opened between two lives, by the requester's id: bit per pair of epochs */
int outs[2], ins[2];
#define PAIR(a, b)	(1 << (((a) - 1) * LIVES + (b) - 1))

byte pauses;

#define RUNS	(alive[l] && !still[l])
#define STEP	atomic { RUNS ->	/* what a worker does between two pauses */
#define IF(...)	atomic { RUNS && (__VA_ARGS__) ->

/* A rule, unless it is omitted */
#ifdef BREAK_NOBODY_AWAITED
#define AWAITED(x)	true
#else
#define AWAITED(x)	(x)
#endif
#ifdef BREAK_ACKNOWLEDGED_EARLY
#define TOLD(x)		true
#else
#define TOLD(x)		(x)
#endif
#ifdef BREAK_ACKNOWLEDGED_OPEN
#define CLOSE(x)	false
#else
#define CLOSE(x)	(x)
#endif
#ifdef BREAK_NO_CREDIT
#define ANSWERED(x)	true
#else
#define ANSWERED(x)	(x)
#endif
#ifdef BREAK_NO_LAPS
#define LAPS(x)		true
#else
#define LAPS(x)		(x)
#endif
#ifdef BREAK_NO_FENCE
#define FENCED		false
#else
#define FENCED		(epoch[me] != e)
#endif

inline clear(s)
{
	s.requester = 0; s.server = 0; s.n = 0
}

/* rmc_region_reset(), of one ring. Asserts what the acknowledgements guarantee. */
inline zero(s)
{
	atomic {
		RUNS ->
		if
		:: epoch[me] == e && epoch[p] > 0 ->
			assert(!(alive[LIFE(p, epoch[p])] &&
				 (sync[p] == e || !stood[LIFE(p, epoch[p])]) &&
				 (asks[LIFE(p, epoch[p])] || serves[LIFE(p, epoch[p])])))
		:: else
		fi;
		clear(s)
	}
}

/* Read the epoch, close our own end, then store the acknowledgement */
#define ACKNOWLEDGE								\
	IF(TOLD(out_epoch[l] == epoch[p]) && sync[me] != epoch[p]) x = epoch[p] }; \
	STEP									\
		if								\
		:: CLOSE(serves[l] && serves_to[l] != x) ->			\
			serves[l] = false; serves_to[l] = 0; received[l] = 0	\
		:: else								\
		fi };								\
	STEP sync[me] = x }

/* RRPP worker: rmc_node_join_poll(), rmc_node_tick_srv(), rmc_in_open(), serving */
proctype rrpp(byte me, e)
{
	byte p = 1 - me, l = LIFE(me, e), x, n;

	{
	/* join: the tick detects a successor, then polls the peers */
	do
	:: IF(FENCED) goto fence }
	:: IF(!FENCED) skip };
	   if
	   :: IF(FENCED) skip }
	   :: IF(AWAITED((state[p] != UP && state[p] != JOINING) || sync[p] == e || !NEWEST(p)))
		break }
	   :: ACKNOWLEDGE
	   fi
	od;
	zero(req[me]); zero(rep[me]); zero(req[p]); zero(rep[p]);
	STEP x = epoch[p] };
	STEP sync[me] = x };
	STEP out_epoch[l] = x };
	STEP
		if
#ifndef BREAK_STATE_STORED
		:: epoch[me] != e -> goto fence
		:: epoch[me] == e ->
#else
		:: true ->
#endif
			state[me] = UP; up[l] = true
		fi };

	/* ticks, and the work of visits between them */
	do
	:: IF(FENCED) goto fence }
	:: IF(serves[l] && !(state[p] == UP && serves_to[l] == epoch[p])) serves[l] = false; serves_to[l] = 0; received[l] = 0 }
	:: ACKNOWLEDGE
	:: IF(!serves[l] && state[p] == UP && up[l] && sync[p] == e && sync[me] == epoch[p] &&
	      req[p].requester == epoch[p] && req[p].server == e) x = epoch[p] };
	   STEP
		if
		:: sync[p] == e && sync[me] == x ->
			assert(!(ins[p] & PAIR(x, e)));
			ins[p] = ins[p] | PAIR(x, e);
			serves[l] = true; serves_to[l] = x; received[l] = 0
		:: else
		fi }
	:: IF(serves[l] && req[p].n != 0 && req[p].n != received[l] &&
	      LAPS(req[p].requester == serves_to[l] && req[p].server == e))
		assert(req[p].requester == serves_to[l] && req[p].server == e);
		assert(req[p].n == received[l] + 1);
		received[l] = req[p].n; x = serves_to[l]; n = req[p].n };
	   STEP rep[p].requester = x; rep[p].server = e; rep[p].n = n }
	od
	} unless { !alive[l] -> goto gone };
fence:
	atomic { !alive[l] || !still[l] -> fenced[l] = true; up[l] = false; serves[l] = false }
gone:
	skip
}

inline forget()
{
	asks[l] = false; waiting[l] = false; asks_of[l] = 0; sent[l] = 0
}

/* RGP and RCP worker: rmc_node_tick_req(), rmc_peers_poll(), rmc_out_open(), sending */
proctype rgp(byte me, e)
{
	byte p = 1 - me, l = LIFE(me, e), x;

	{
	do
	:: IF(asks[l] && (!up[l] || fenced[l])) forget() }
	/* poll the peer: close channels to its other lives, then publish that */
	:: IF(out_epoch[l] != epoch[p] || (asks[l] && !(state[p] == UP && asks_of[l] == epoch[p])))
		x = epoch[p];
#ifndef BREAK_CLOSED_ONLY_IN_WORDS
		if
		:: asks[l] && !(state[p] == UP && asks_of[l] == x) ->
			forget()
		:: else
		fi
#endif
		};
	   STEP out_epoch[l] = x }
	:: IF(!asks[l] && state[p] == UP && up[l] && !fenced[l] && sync[p] == e &&
	      sync[me] == epoch[p]) x = epoch[p] };
	   STEP
		if
		:: up[l] && sync[p] == e && sync[me] == x ->
			assert(!(outs[me] & PAIR(e, x)));
			outs[me] = outs[me] | PAIR(e, x);
			asks[l] = true; asks_of[l] = x; sent[l] = 0; waiting[l] = false
		:: else
		fi }
	:: IF(asks[l] && ANSWERED(!waiting[l]) && sent[l] < SENDS)
		sent[l]++; waiting[l] = true;
		req[me].requester = e; req[me].server = asks_of[l]; req[me].n = sent[l] }
	:: IF(waiting[l] && rep[me].n != 0 && rep[me].n != sent[l] - 1 &&
	      LAPS(rep[me].requester == e && rep[me].server == asks_of[l]))
		assert(rep[me].requester == e && rep[me].server == asks_of[l]);
		assert(rep[me].n == sent[l]);
		waiting[l] = false }
	od
	} unless { !alive[l] }
}

/* rmc_region_claim(): an id that is free, was left, or whose owner seems dead */
inline begin(id)
{
	atomic {
		epoch[id] < (id == 0 -> LIVES : LIVES1) && !NEWEST(id) ->
#ifdef BREAK_SAME_EPOCH
		if
		:: epoch[id] == 0 -> epoch[id] = 1
		:: else
		fi;
#else
		epoch[id]++;
#endif
		state[id] = JOINING;
		alive[LIFE(id, epoch[id])] = true;
		run rrpp(id, epoch[id]);
		run rgp(id, epoch[id])
	}
}

/* True if an id's newest life is up, and linked to its peer if there is one */
#define FINE(id)	(!NEWEST(id) || (up[LIFE(id, epoch[id])] && state[id] == UP &&	\
	(!NEWEST(1 - id) || sync[id] == epoch[1 - id])))

inline end(l)
{
	alive[l] = false; still[l] = false; stood[l] = false; up[l] = false; fenced[l] = false;
	asks[l] = false; waiting[l] = false; asks_of[l] = 0; sent[l] = 0;
	serves[l] = false; serves_to[l] = 0; received[l] = 0; out_epoch[l] = 0
}

/*
 * Events of a life, if its bit is set in DIE or STAND: it dies, or rmc_node_leave() runs after
 * its workers were stopped; it pauses, and resumes.
 */
#define FATE(l)									\
	:: atomic { (DIE & 1 << (l)) && alive[l] && !still[l] ->		\
		if								\
		:: true								\
		:: epoch[(l) / LIVES] == (l) % LIVES + 1 -> state[(l) / LIVES] = DOWN	\
		fi;								\
		end(l) }							\
	:: atomic { (STAND & 1 << (l)) && pauses < PAUSES && alive[l] && !still[l] -> \
		pauses++; still[l] = true; stood[l] = true }			\
	:: atomic { (STAND & 1 << (l)) && still[l] -> still[l] = false }

init
{
	byte l;

	begin(0);
	begin(1);
	do
	:: begin(0)
	:: begin(1)
	FATE(0) FATE(1) FATE(2) FATE(3)
#if LIVES > 2
	FATE(4) FATE(5)
#endif
	:: break
	od;
	timeout ->
	assert(FINE(0) && FINE(1));
	for (l : 0 .. 2 * LIVES - 1) {
		assert(!(alive[l] && !still[l] && up[l] && epoch[l / LIVES] != l % LIVES + 1));
		/* without a pause, no packet was lost */
		assert(pauses > 0 || !alive[l] || !waiting[l] ||
		       !(asks[l] && NEWEST(1 - l / LIVES)))
	}
}
