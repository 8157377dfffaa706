/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A stub of rmcd that a test controls: a thread that accepts one connection after another and
 * answers as protocol.h says, or against it. It has the last message, its descriptors, and
 * its own mapping of all memory it was given.
 */
#ifndef STUB_DAEMON_H
#define STUB_DAEMON_H

#include <linux/rmc.h>
#include <linux/rmc_queue.h>
#include <linux/rmc_domain.h>
#include "../../lib/driver/protocol.h"

#define STUBD_BUFFERS	8
#define STUBD_QPS	4

/* What is wrong with the answer */
enum stubd_fault {
	FAULT_NONE,
	FAULT_EOF,		/* there is none: the daemon dies */
	FAULT_RESET,		/* likewise, and it has not read the request */
	FAULT_SHORT,		/* the head is cut */
	FAULT_SHORT_BODY,
	FAULT_LONG_BODY,
	FAULT_TOO_LONG,		/* longer than any message */
	FAULT_REQUEST,		/* of another request */
	FAULT_RESERVED,
	FAULT_FDS_COUNT,	/* other than the number that comes */
	FAULT_FDS_MORE,		/* one descriptor more */
	FAULT_FDS_MANY,		/* more than any message has */
	FAULT_FDS_NONE,
	FAULT_FDS_REFUSED,	/* descriptors with a refusal */
	FAULT_RET,		/* an errno that does not exist */
	FAULT_SHORT_WQ,		/* a queue pair whose memory is a byte too short */
	FAULT_SHORT_CQ,
	FAULT_STRIDE,		/* a domain with too small a stride */
	FAULT_NO_LIFE,
	FAULT_AQ_ENTRIES,	/* an arrival queue with three entries */
};

struct stubd {
	unsigned int messages;		/* since the start */
	unsigned int connections;
	__u32 fault_request;		/* its answer is wrong: request, or 0: */
	unsigned int fault_at;		/* message of this number, from 1; 0: none */
	enum stubd_fault fault;
	__u32 refuse;			/* this request fails */
	int error;			/* with this errno */
	unsigned int notified;		/* RMC_IOC_SEG_ARM returns it */

	struct rmcd_open open;
	struct rmc_cq_arm cq_arm;
	struct rmc_seg_arm seg_arm;
	struct rmc_aq_arm aq_arm;
	int domains;			/* that exist */
	int cores;			/* attached since the start, less those detached */
	struct rmc_seg_reg seg_reg;
	struct rmc_seg_add seg_add;
	struct rmc_buf_reg buf_reg;
	struct rmcd_memory memory;	/* of the last registration */
	unsigned int fds;		/* of the last message */
	int drained;			/* the report eventfd was empty when a QP was armed */
};

/* Start it at this path; stop it, and wait until it has closed all */
void stubd_start(const char *path);
void stubd_stop(void);

/* Close the connection, as the end of rmcd does */
void stubd_hang_up(void);

struct stubd stubd_seen(void);
void stubd_set(__u32 fault_request, unsigned int fault_at, enum stubd_fault fault);
void stubd_refuse(__u32 request, int error);
void stubd_notified(unsigned int n);

/* Its mapping of a piece of the last registration; NULL: none */
void *stubd_piece(unsigned int n);
int stubd_seals(unsigned int n);	/* of the file */

/* Its mapping of the slots of the domain, and of the arrival queue of the last core */
char *stubd_recv(void);
struct rmc_send_slot *stubd_send(void);
struct rmc_aq_entry *stubd_aq(void);

struct rmc_wq_entry *stubd_wq(unsigned int qp);
struct rmc_cq_entry *stubd_cq(unsigned int qp);
struct rmc_qp_flags *stubd_flags(unsigned int qp);
__u64 stubd_woken(unsigned int qp);	/* wake-ups since the last call */
void stubd_report(void);		/* signals the report eventfd */
void stubd_signal(void);		/* signals the eventfd of the last arming */
#endif
