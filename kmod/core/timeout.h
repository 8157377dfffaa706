/* SPDX-License-Identifier: GPL-2.0 */
/* Operations that end without a last reply: see timeout.c. */
#ifndef RMC_TIMEOUT_H
#define RMC_TIMEOUT_H

#include "node.h"

/* Which operations rmc_itt_abort() ends; NULL or -1 matches all. */
struct rmc_abort {
	const struct rmc_qpair *qp;
	const struct rmc_mem *lbuf;
	s32 nid;
	u8 status;
	bool slots;	/* only those on slots of messages */
	bool tx;	/* only accesses of transactions */
	bool silent;	/* no completion: the CQ is going away */
};

u32 rmc_itt_abort(struct rmc_node *node, const struct rmc_abort *which);
u32 rmc_itt_expire(struct rmc_node *node);

#endif
