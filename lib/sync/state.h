/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * What the files of this directory share.
 *
 *	compile.c	a row, a latch and options: refused, or the programs
 *	open.c		memory
 *	hold.c		calls of programs: read, write, end, commit ...
 *	steps.c		executes the program of each entry
 *	check.c		the step CHECK
 *	result.c	what the result of an operation means for its entry
 *	unlatch.c	releases latches, beside the programs
 *	resume.c	ordered queue pairs that have stopped
 *	copies.c	index words, and the pool of copies
 *	message.c	latches by messages, and
 *	server.c	who answers these
 *	system.c	options that R25 compares
 *
 * Each hold is an entry. Steps that leave this node are operations of the queue pair: those
 * that are posted together (a group) are ISSUED, and the program continues when all have
 * completed. A message is ASKED, also for a latch.
 *
 *	             .------ next group, or the first one again -----.
 *	             v                                               |
 *	FREE --> READY ----> ISSUED, ASKED ----> steps at this node -+--> DONE --> HELD or FREE
 *	call           slots,            results                          its call
 *	               cell                                               returns
 *
 * HELD: the data is the caller's. Its next call makes the entry READY at the step behind
 * STEP_USE. An entry in the background has no caller, and is free when it is done.
 *
 * rmc/reader.h is the same with relaxed set: a program ends with STEP_USE.
 */
#ifndef RMC_LIB_SYNC_STATE_H
#define RMC_LIB_SYNC_STATE_H

#include "../internal.h"
#include "rmc/reader.h"
#include "rmc/sync.h"
#include "latch.h"
#include "request.h"

enum state { FREE, READY, ISSUED, ASKED, DONE, HELD };

/* No result of a call: beside enum rmc_scheme_status */
#define SYNC_READERS	255

/* No word of a latch is this one. */
#define EVICT_NONE	(~0ULL)

enum job { JOB_READ, JOB_WRITE, JOB_UPGRADE };

_Static_assert(FREE == 0 && JOB_READ == 0, "what entries begin with");

/* Use of a WQ slot */
enum use { USE_NONE, USE_STEP, USE_RESOLVE, USE_UNLATCH, USE_RESUME, USE_LOOK };

/* An ordered queue pair has stopped: nothing is issued until it has been resumed. */
enum stop { STOP_NONE, STOPPED, RESUMING };

struct entry {
	uint8_t state;			/* enum state */
	/* zero when a program begins: */
	uint8_t job;			/* enum job */
	uint8_t latched;		/* word has to be released */
	uint8_t used;			/* the program is behind STEP_USE */
	uint8_t unsure;			/* an atomic with want was lost: it may come yet */
	uint8_t abandoned;		/* the caller has returned: result dropped */
	uint8_t waited;			/* a call waits for it: not to be queued as done */
	uint8_t background;
	uint8_t stored;			/* the object may have been written */
	uint8_t evicts;			/* takes the latch of s->evicted */
	uint8_t torn;			/* the data may be half written */
	uint8_t swap_lost;		/* a swap of the index word, or a write to a switch, is in doubt */
	uint8_t hot;			/* a switch has the tuple, and unlatches it with its write */
	uint8_t alone;			/* to be issued when nothing is in flight */
	uint8_t first;			/* the group was issued when nothing was in flight */
	uint8_t clean;			/* nobody had begun to write what is taken over */
	uint8_t latch_status;		/* of the group's LATCH, UNLATCH */
	uint8_t release_status;
	uint8_t release_tries;		/* LATCH_MESSAGE: calls without an outcome */
	uint8_t resolving;		/* the word is read that tells the outcome: how often */
	uint8_t pending;		/* operations of the group in flight */
	int status;			/* of the group's other operations; DONE: of the program */
	uint32_t bytes;			/* of the image */
	unsigned int index;
	int nid;
	uint64_t offset;
	size_t len;
	void *caller;			/* rmc_hold or rmc_object_read */
	const struct step *at;		/* READY: to be issued; ISSUED, ASKED: it is executed */
	uint8_t *image;			/* landing buffer */
	uint8_t *data;			/* in the image, or what its check copies */
	union {
		uint64_t not_before;	/* READY: ns, backing off until then */
		int ticket;		/* ASKED */
	};
	uint32_t backoff;
	/* zero when a program begins: */
	unsigned int failures;
	const struct latch *latch;	/* that is held */
	const struct latch *taking;	/* that is being taken */
	uint64_t expected;		/* by its atomic */
	uint64_t version;		/* of the data; of LAYOUT_INDEX: the index word */
	uint64_t copy;			/* LAYOUT_INDEX: offset of the new copy */
	uint64_t waits;			/* for room for a message: since then, ns */
	/* set when they are needed: */
	uint64_t word;			/* of the latch that is held */
	uint64_t evicted;		/* what the atomic with want replaces */
	uint64_t want;			/* what the atomic stores */
	uint64_t words[2];		/* latch and version, as read last */
	uint64_t found, release_found;	/* results of atomics */
	uint64_t since;			/* ROW_TIMED: when the index word was read, ns */
	uint32_t readers;		/* SABRes that hold the object */
	struct latch_response answer;	/* LATCH_MESSAGE, ASKED */
};

/* A latch to be released */
struct unlatch {
	struct entry *entry;		/* that waits for it, or NULL */
	uint64_t offset, word, to;	/* LATCH_ADDS: to be subtracted, and what it was read as */
	const struct latch *latch;
	int nid;
	uint64_t waits;			/* LATCH_MESSAGE: for room for a message since then, ns */
	uint16_t tries;
	uint8_t how;			/* enum release */
	uint8_t flags;			/* UNLATCH_* */
};

#define UNLATCH_STORED	(1U << 0)	/* the object was written under it */
#define UNLATCH_TAKEN	(1U << 1)	/* somebody else has taken it over */
#define UNLATCH_UNDONE	(1U << 2)	/* what was subtracted from another's word has been added */

/* LATCH_MESSAGE: a release that no entry waits for */
struct told {
	struct unlatch unlatch;
	int ticket, used;
	struct latch_response answer;
};

enum release {
	RELEASE,		/* compare-and-swap, or subtract */
	RELEASE_READ,		/* LATCH_ADDS: is it still held? */
	RELEASE_EXACT,		/* LATCH_ADDS: compare-and-swap from what it was read as */
	RELEASE_UNDO,		/* LATCH_ADDS: add what was subtracted from another one's word */
};

/* What is known of an operation */
enum outcome { TOOK_EFFECT, DID_NOT, UNKNOWN };

struct slot {
	enum use use;
	struct entry *entry;
	const struct step *step;
	struct unlatch unlatch;
};

struct free_copy {
	uint64_t offset, not_before;
};

/* What compile.c makes of options */
struct plan {
	const struct scheme *row;	/* programs, and what the caller asked for */
	const struct scheme *scheme;	/* layout */
	const struct latch *reads, *writes;
	unsigned int flags;		/* RMC_SYNC_* */
	struct step read[PROGRAM_STEPS], write[PROGRAM_STEPS], upgrade[PROGRAM_STEPS];
	struct step take[PROGRAM_STEPS];	/* over what a dead node holds */
	struct step valid[PROGRAM_STEPS];	/* is what was read without a latch still so? END: no answer */
};

struct rmc_sync {
	struct rmc_qp *qp;
	const struct scheme *scheme;	/* plan.scheme, copied: often used */
	struct plan plan;
	struct rmc_sync_options o;
	struct rmc_scheme_params p;
	struct latch_owner self;
	uint8_t relaxed;		/* a reader: programs end with STEP_USE */
	uint8_t fall_back;
	uint8_t closing;
	uint8_t recurs;			/* a hold may have the word of the one before */
	uint8_t ordered;		/* writes and atomics arrive in order, also late ones */
	uint8_t stops;			/* after a failure: it is RMC_QP_ORDERED, or may be */
	uint8_t aborts;			/* ... as it is known: nothing is executed behind what was lost */
	uint8_t stop;			/* enum stop */
	uint8_t stop_caused;		/* the operation whose failure has stopped it is known */
	uint8_t notes;			/* images have words that are needed */
	uint8_t tuples;			/* a switch lets a client read or write one tuple at a time, */
	uint8_t tuple_busy;		/* ... and this one does */
	uint8_t fetches_words;		/* words are read as they are, and nothing else is to be done */
	size_t last_len, last_image, last_words;	/* of the last object: image, where words are */
	int evicted;			/* node of rmc_sync_take_over(), -1: readers */
	int failure;			/* first of an entry in the background */
	struct rmc_reader_stats stats;
	uint64_t writes, messages, round_trips, atomics, unknown, background_failed;
	uint64_t quarantined, damaged;
	struct entry *entry;
	struct slot *slot;
	struct unlatch *unlatch;	/* to be issued */
	unsigned int unlatches;
	unsigned int releasing;		/* in flight, and no entry waits for it */
	unsigned int repeats;		/* of all these, those that are repeated */
	unsigned int background;	/* of these without a caller */
	unsigned int abandoned;		/* entries without a caller */
	unsigned int ready;		/* of these READY or ASKED: to be polled; and telling */
	unsigned int telling;		/* of told[], in use */
	struct told *told;		/* LATCH_MESSAGE: as many as the queue pair has entries */
	struct entry **done;
	unsigned int done_head, done_tail;	/* free running */
	unsigned int done_mask;
	unsigned int *free, frees;
	struct free_copy *copy;		/* a ring: oldest first */
	unsigned int copies, copy_head;
	unsigned int unseen;		/* slots of the pool that may have copies from before */
	unsigned int used_before;	/* those that had */
	unsigned int wanted;		/* by commits to come */
	unsigned int looks_failed;
	uint8_t looking;		/* at the last one that is unseen */
	uint64_t token;			/* of latches: never reused */
	uint64_t *tokens;		/* LATCH_MESSAGE: the last one, for each node's server */
	uint64_t seed;
	unsigned int polls;
	void *memory;			/* ours, registered */
	int buf_id;
};

/* The message of STEP_MESSAGE; the answer is the data. */
struct request {
	uint32_t magic;
	uint32_t reserved;
	uint64_t offset;
	uint64_t len;
};

_Static_assert(sizeof(struct request) == RMC_READER_REQUEST, "as the header file says");

static inline unsigned int sync_buffers(const struct rmc_sync_options *o)
{
	return o->buffers ? o->buffers : o->flags & RMC_SYNC_ASYNC ? 2 : 1;
}

/* Bytes of an object's image; objects often have the same length as the one before. */
static inline size_t sync_image(struct rmc_sync *s, size_t len)
{
	if (rmc_unlikely(len != s->last_len)) {
		s->last_image = s->scheme->pub.image(len);
		s->last_words = words_at(s->scheme, len);
		s->last_len = len;
	}
	return s->last_image;
}

/* As rmc_scheme_bytes() */
static inline size_t sync_bytes(struct rmc_sync *s, size_t len)
{
	return (sync_image(s, len) + RMC_CACHE_LINE - 1) & ~(size_t)(RMC_CACHE_LINE - 1);
}

/* The n entries at the head of the WQ, if they are free; the ring is filled in order. */
static inline int sync_free_slots(const struct rmc_sync *s, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (s->qp->slot[(s->qp->head + i) & s->qp->mask] == RMC_SLOT_BUSY)
			return 0;
	return 1;
}

static inline int sync_head(const struct rmc_sync *s)
{
	return (int)(s->qp->head & s->qp->mask);
}

static inline int latch_released(const struct latch *latch)
{
	return latch && latch->flags & LATCH_RELEASED;
}

/* Does its atomic only show the word of the latch that is to be taken over? */
static inline int sync_looks(const struct entry *e)
{
	return e->evicts && e->expected == EVICT_NONE;
}

/* Was the latch a dead writer's, and the object is not known to be in one state? */
static inline int sync_stays(const struct rmc_sync *s, const struct entry *e)
{
	return e->evicts && (e->used ? e->torn : s->evicted >= 0);
}

static inline int latch_by_message(const struct latch *latch)
{
	return latch && latch->flags & LATCH_MESSAGE;
}

/* Is the latch the version of a struct rmc_object? */
static inline int sync_odd_version(const struct latch *latch)
{
	return latch && latch->flags & LATCH_VERSION;
}

/* Does the index word's copy hold the object, or the object itself? */
static inline int sync_indexed(const struct rmc_sync *s)
{
	return !!(s->scheme->layout->flags & LAYOUT_INDEX);
}

/* Does the object begin with a tuple's word? */
static inline int sync_tuples(const struct rmc_sync *s)
{
	return !!(s->scheme->layout->flags & LAYOUT_TUPLE);
}

/*
 * Is it to be decided whether a switch has given it the latch? The word does not name its holder, but
 * only who has it may give it free.
 */
static inline int sync_gives_free(const struct entry *e)
{
	return e->at->op == STEP_LATCH && e->taking->flags & LATCH_TUPLE && !e->evicts &&
	       tuple_switched(e->want);
}

/* compile.c: 0, or -errno with the message set. qp NULL: order is not checked. */
int rmc_sync_compile(struct plan *plan, const struct rmc_sync_options *o, const struct rmc_qp *qp);

/* open.c: options are complete and checked; NULL with errno and the message set */
struct rmc_sync *rmc_sync_create(struct rmc_qp *qp, const struct rmc_sync_options *o,
				 const struct plan *plan);
size_t rmc_sync_memory(const struct rmc_sync_options *o, const struct scheme *scheme);

/*
 * steps.c. Execute a program, or continue behind a step of it. An entry is ready: its group is
 * issued at once (if it is one read of an image, true then), or later when there is room. Its
 * program has ended. Poll those that wait.
 */
void rmc_sync_begin(struct rmc_sync *s, struct entry *e, const struct step *program);
void rmc_sync_advance(struct rmc_sync *s, struct entry *e, const struct step *at);
int rmc_sync_fetch(struct rmc_sync *s, struct entry *e);
void rmc_sync_ready(struct rmc_sync *s, struct entry *e);
void rmc_sync_finish(struct rmc_sync *s, struct entry *e, int status);
int rmc_sync_poll_ready(struct rmc_sync *s);

/* check.c: 0; enum rmc_scheme_status; SYNC_READERS: SABRes hold the object; -errno */
int rmc_sync_check(struct rmc_sync *s, struct entry *e, unsigned int part);

/* steps.c: read the word that an operation without a known outcome was about */
void rmc_sync_resolve(struct rmc_sync *s, struct entry *e);

/* steps.c: begin the program again, after a back-off; continue behind a group */
void rmc_sync_again(struct rmc_sync *s, struct entry *e, int status);
void rmc_sync_part_done(struct rmc_sync *s, struct entry *e);

/* steps.c: an operation of a slot has completed; the usual case, and all others in result.c */
void rmc_sync_completed(struct rmc_sync *s, int slot, int status);
void rmc_sync_completed_otherwise(struct rmc_sync *s, int slot, int status);

/*
 * resume.c: an operation has failed; nothing is in flight; RMC_OP_RESUME has completed; was this
 * one only behind it?
 */
void rmc_sync_stop(struct rmc_sync *s, int status);
void rmc_sync_resume(struct rmc_sync *s);
void rmc_sync_resumed(struct rmc_sync *s, int status);
int rmc_sync_innocent(const struct rmc_sync *s, int status);

/*
 * result.c: what a status says of an operation; a step at this node or of a group failed; all
 * operations of a group have completed; its latch has been released, or was another's; close ends
 * the program
 */
enum outcome rmc_sync_outcome(const struct rmc_sync *s, int status);
void rmc_sync_failed(struct rmc_sync *s, struct entry *e, int status);
void rmc_sync_group_completed(struct rmc_sync *s, struct entry *e);
void rmc_sync_released(struct rmc_sync *s, struct entry *e, int taken);
void rmc_sync_closed(struct rmc_sync *s, struct entry *e);

/* result.c: the latch is the entry's; or taking it has failed */
void rmc_sync_took_latch(struct entry *e);
void rmc_sync_latch_failed(struct rmc_sync *s, struct entry *e, int status);

/*
 * message.c: ask for the latch of a READY entry, or for its release; may a latch of this node be
 * asked for? poll one that is ASKED; tell servers what is queued; poll that. Close: give up a call for
 * a latch; has a server not answered since then for too long? give up all calls
 */
void rmc_latch_ask(struct rmc_sync *s, struct entry *e);
int rmc_latch_may_ask(const struct rmc_sync *s, int nid);
void rmc_latch_poll(struct rmc_sync *s, struct entry *e);
void rmc_latch_tell(struct rmc_sync *s);
void rmc_latch_poll_told(struct rmc_sync *s);
void rmc_latch_drop(struct rmc_sync *s, struct entry *e);
int rmc_latch_unanswered(const struct rmc_sync *s, uint64_t since);
void rmc_latch_abandon(struct rmc_sync *s);

/*
 * unlatch.c: ask for a word in a slot; describe the release of what the entry holds, issue it in
 * the slot at the head, queue it, or leave the latch where the object may be half written; the same
 * of a latch that may be taken yet; issue those that are queued, one has completed; queue it once
 * more unless it has ended; was the word that it has found this one's? it was not: tell the
 * holder; is one of the object pending, or a commit?
 */
void rmc_sync_ask(struct rmc_sync *s, int slot, int nid, uint64_t offset);
void rmc_unlatch_of(struct rmc_sync *s, struct entry *e, struct unlatch *u);
void rmc_unlatch_issue(struct rmc_sync *s, const struct unlatch *u, int slot);
void rmc_sync_unlatch(struct rmc_sync *s, struct entry *e);
void rmc_sync_leave(struct rmc_sync *s, struct entry *e);
void rmc_sync_unlatch_late(struct rmc_sync *s, struct entry *e);
void rmc_sync_issue_unlatches(struct rmc_sync *s);
void rmc_sync_unlatched(struct rmc_sync *s, int slot, int status);
int rmc_unlatch_again(struct rmc_sync *s, struct unlatch *u, int status, uint64_t found);
int rmc_unlatch_was_held(const struct unlatch *u, uint64_t found);
void rmc_unlatch_taken(struct rmc_sync *s, struct unlatch *u);
int rmc_sync_commits(const struct rmc_sync *s, const struct entry *e);
int rmc_unlatch_pending(const struct rmc_sync *s, const struct entry *e);
uint64_t rmc_latch_elsewhere(const struct rmc_sync *s, uint64_t offset, size_t len);

/* The word of the latch of an object */
static inline uint64_t rmc_latch_offset(const struct rmc_sync *s, uint64_t offset, size_t len)
{
	const struct layout *l = s->scheme->layout;

	if (rmc_unlikely(l->flags & (LAYOUT_APART | LAYOUT_FOOT)))
		return rmc_latch_elsewhere(s, offset, len);
	return offset + l->latch_at;		/* LAYOUT_WORDS: 0 */
}

/* copies.c */
uint64_t rmc_copy_offset(const struct entry *e, uint64_t index);
int rmc_copy_check(const struct rmc_sync *s, struct entry *e);
int rmc_copy_take(struct rmc_sync *s, struct entry *e);
void rmc_copy_encode(struct entry *e);
void rmc_copy_give(struct rmc_sync *s, uint64_t offset, int used);
int rmc_copy_ready(const struct rmc_sync *s);
void rmc_copy_want(struct rmc_sync *s, int more);
void rmc_copy_look(struct rmc_sync *s);
void rmc_copy_looked(struct rmc_sync *s, int slot, int status);
int rmc_copy_comes(const struct rmc_sync *s);
uint64_t rmc_index_next(const struct entry *e);
enum outcome rmc_index_outcome(const struct entry *e, uint64_t now);
int rmc_index_marked(uint64_t index);

/* An entry for this object, or NULL; and it is free again */
static inline struct entry *sync_entry(struct rmc_sync *s, int nid, uint64_t offset, size_t len,
				       void *caller)
{
	struct entry *e;

	if (rmc_unlikely(!s->frees))
		return NULL;
	e = &s->entry[s->free[--s->frees]];
	memset(&e->job, 0, offsetof(struct entry, status) - offsetof(struct entry, job));
	e->caller = caller;
	e->nid = nid;
	e->offset = offset;
	e->len = len;
	memset(&e->failures, 0, offsetof(struct entry, word) - offsetof(struct entry, failures));
	e->backoff = s->o.backoff_ns;
	return e;
}

static inline void sync_free(struct rmc_sync *s, struct entry *e)
{
	e->state = FREE;
	e->background = 0;
	s->free[s->frees++] = e->index;
}

/* The words of an object have come, read into a slot's operands. */
static inline void sync_note_words(const struct rmc_sync *s, struct entry *e, int slot)
{
	memcpy(e->words, &s->qp->operands[slot], sizeof(e->words));
	e->readers = (uint32_t)e->words[1];
	if (!(s->scheme->layout->flags & LAYOUT_WORDS))
		e->words[WORD_VERSION] = e->words[0];
}

/* The oldest entry that is done and no call waits for, or NULL */
static inline struct entry *sync_done(struct rmc_sync *s)
{
	return s->done_head == s->done_tail ? NULL : s->done[s->done_tail++ & s->done_mask];
}

/* One visit to everything that may have happened: 0 or -errno */
static inline int sync_progress(struct rmc_sync *s)
{
	struct rmc_completion c;

	while (rmc_qp_in_flight(s->qp) && rmc_cq_next(s->qp, &c))
		rmc_sync_completed(s, c.slot, c.status);
	if (rmc_unlikely(s->stop == STOPPED))
		rmc_sync_resume(s);
	if (s->unlatches)
		rmc_sync_issue_unlatches(s);
	if (rmc_unlikely(s->wanted))
		rmc_copy_look(s);
	return s->ready ? rmc_sync_poll_ready(s) : 0;
}

#endif /* RMC_LIB_SYNC_STATE_H */
