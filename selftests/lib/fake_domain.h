/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Nodes with domains in this process, behind a driver of the library: slots, lives and arrival
 * queues as Documentation/messaging.rst says, without packets. Each queue pair has a thread, see
 * fake_rmc.h; a test decides what becomes of single operations.
 */
#ifndef FAKE_DOMAIN_H
#define FAKE_DOMAIN_H

#include "../../lib/internal.h"
#include "fake_rmc.h"

#define FAKE_NODES	3
#define FAKE_RRPPS	2

/* What becomes of an operation, besides enum rmc_status: it has no effect, and ends so; or FAKE_HOLD */
#define FAKE_GO		(-10)		/* nothing happens to it */
#define FAKE_LATE	(-11)		/* it has its effect, and ends with RMC_S_TIMEOUT */
#define FAKE_PART	(-12)		/* some packets of a SEND arrive; RMC_S_NODE_DOWN */
#define FAKE_DEAF	(-13)		/* packets of a RECEIVE or REPLY are lost; RMC_S_TIMEOUT */

/* Called with the lock, by threads of queue pairs; NULL: FAKE_GO */
extern int (*fake_fate)(int from, const struct fake_op *op);

extern int fake_down[FAKE_NODES];	/* the node is down */
extern int fake_repeated;		/* SENDs of messages that had been delivered */
extern int fake_asked;			/* JOINs */
extern int fake_armed;			/* times that a queue pair armed for room */
extern int fake_left;			/* queue pairs, buffers, domains that exist */
extern unsigned long fake_refuse;	/* a request of this number fails, */
extern int fake_error;			/* with this errno */

void fake_lock(void);
void fake_unlock(void);

/* Contexts of all nodes, and all of the above as at the start */
void fake_begin(void);
struct rmc_ctx *fake_ctx(int nid);

/* The queue pairs of a node are dead from now on. */
void fake_kill(int nid);

/* With the lock: the first message of a slot comes late, after a JOIN of its ring */
void fake_late(int to, int from, unsigned int slot, const void *data, unsigned int len);

/* Turn of the last message that was delivered in a slot of node to from node from */
unsigned int fake_turn(int to, int from, unsigned int slot);

#endif
