/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Readers: what their files share.
 *
 *	reader_open.c	their memory
 *	reader.c	the calls: start, poll, release, read
 *	steps.c		executes the program of each read
 *	unlatch.c	releases latches, beside the reads
 *	serve.c		the owner's answer to a message
 *
 * Each read is an entry, and each step that leaves this node is an operation of the queue
 * pair (ISSUED) or a message (ASKED):
 *
 *	             .------ next step, or the first one again ------.
 *	             v                                               |
 *	FREE --> READY ----> ISSUED, ASKED ----> steps at this node -+--> DONE --> FREE
 *	start          slot,             result                            release
 *	               cell
 */
#ifndef RMC_LIB_SCHEME_READER_H
#define RMC_LIB_SCHEME_READER_H

#include "../internal.h"
#include "rmc/reader.h"
#include "row.h"
#include "scheme.h"

enum state { FREE, READY, ISSUED, ASKED, DONE };

/* Use of a WQ slot */
enum use { USE_NONE, USE_STEP, USE_UNLATCH };

struct entry {
	enum state state;
	uint8_t latched;		/* the word has to be released */
	uint8_t abandoned;		/* caller has returned: @read is @own, result dropped */
	struct rmc_object_read *read;
	const struct step *at;		/* READY: to be issued; ISSUED, ASKED: it is executed */
	uint8_t *image;			/* landing buffer */
	uint8_t *data;			/* in the image, or what its check copies */
	union {
		uint64_t not_before;	/* READY: ns, backing off until then */
		int ticket;		/* ASKED */
	};
	uint64_t expected, word;	/* compare-and-swap of the latch */
	uint32_t backoff;
	unsigned int failures;
	struct rmc_object_read own;
};

_Static_assert(sizeof(struct entry) == 128, "two lines; the second is seldom used");

/* A latch to be released */
struct unlatch {
	int nid;
	uint64_t offset, word;
	unsigned int tries;
};

struct slot {
	enum use use;
	struct entry *entry;
	struct unlatch unlatch;
};

struct rmc_reader {
	struct rmc_qp *qp;
	const struct scheme *scheme;
	uint32_t latch_at;		/* of the scheme, copied: often used */
	uint8_t releases;		/* readers release its latch: likewise */
	struct rmc_reader_options o;
	struct rmc_scheme_params p;
	struct rmc_reader_stats stats;
	struct entry *entry;
	struct slot *slot;
	struct unlatch *unlatch;	/* to be issued */
	unsigned int unlatches;
	unsigned int active;		/* entries neither FREE nor DONE */
	unsigned int abandoned;		/* entries without a caller */
	unsigned int ready;		/* of these READY or ASKED: to be polled */
	struct entry **done;
	unsigned int done_head, done_tail;	/* free running */
	unsigned int done_mask;
	unsigned int *free, frees;
	uint64_t token;			/* of latches: never reused */
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

static inline unsigned int rmc_reader_window(const struct rmc_reader_options *o)
{
	return o->window ? o->window : 1;
}

/* The entry at the head of the WQ, if it is free; the ring is filled in order. */
static inline int rmc_reader_free_slot(const struct rmc_reader *r)
{
	unsigned int slot = r->qp->head & r->qp->mask;

	return r->qp->slot[slot] == RMC_SLOT_BUSY ? -1 : (int)slot;
}

/*
 * steps.c. An entry is ready: its step is issued at once, or by rmc_reader_poll_ready() when
 * it could not be. An operation of a slot has completed.
 */
void rmc_reader_ready(struct rmc_reader *r, struct entry *e);
int rmc_reader_poll_ready(struct rmc_reader *r);
void rmc_reader_completed(struct rmc_reader *r, int slot, int status);

/* unlatch.c: queue a release, issue those that are queued, one has completed */
void rmc_reader_unlatch(struct rmc_reader *r, struct entry *e);
void rmc_reader_issue_unlatches(struct rmc_reader *r);
void rmc_reader_unlatched(struct rmc_reader *r, const struct unlatch *u, int status);

#endif /* RMC_LIB_SCHEME_READER_H */
