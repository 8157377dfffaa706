/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Requests for latches by messages, between message.c and server.c. A token names a hold, or an
 * attempt at one: it is a larger number than those before it of the same client. So a request may
 * be sent again, and one that comes late is recognized: see server.c.
 */
#ifndef RMC_LIB_SYNC_REQUEST_H
#define RMC_LIB_SYNC_REQUEST_H

#include <rmc/latch.h>

enum latch_call {
	LATCH_SHARE,		/* a hold of a reader */
	LATCH_EXCLUDE,		/* ... of a writer */
	LATCH_UPGRADE,		/* the reader's becomes a writer's, if it is the only one */
	LATCH_TAKE,		/* a writer's instead of that of a dead node, or of this client */
	LATCH_RELEASE,		/* it ends, and will not begin */
	LATCH_CALLS,
};

struct latch_request {
	uint32_t magic;
	uint16_t call;		/* enum latch_call */
	uint16_t client;	/* among those of its node */
	uint64_t offset, token;
	int32_t nid;		/* LATCH_TAKE: whose; else 0 */
	uint32_t reserved;	/* 0 */
};

enum latch_result {
	LATCH_DONE,		/* held; LATCH_RELEASE: no longer */
	LATCH_DONE_CLEAN,	/* LATCH_TAKE: held, and nobody has begun to write */
	/* these end the token, but that of an upgrade */
	LATCH_REFUSED,		/* others hold it */
	LATCH_LEFT,		/* a dead writer does */
	/* the token is too old, or its hold has ended; LATCH_RELEASE: too old, and not held */
	LATCH_LATE,
	LATCH_FULL,		/* the node has as many holds as there is room for */
	/* LATCH_TAKE: not held by that node; others: no longer, LATCH_RELEASE: it was taken over */
	LATCH_ABSENT,
	LATCH_DEAD,		/* the server takes the node that asks for dead */
};

struct latch_response {
	uint32_t result;	/* enum latch_result */
	int32_t holder;		/* node of the writer, -1: none */
	uint64_t newest;	/* largest token of this client so far */
};

/* Tokens below the newest one that a server knows: as many requests of a client overtake one */
#define LATCH_WINDOW	64

_Static_assert(sizeof(struct latch_request) == RMC_LATCH_REQUEST, "as the header file says");
_Static_assert(sizeof(struct latch_response) == RMC_LATCH_RESPONSE, "as the header file says");

#endif /* RMC_LIB_SYNC_REQUEST_H */
