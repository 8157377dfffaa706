/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages on the local path (local.h): SEND, OFFER, RECEIVE and REPLY without packets, where one
 * worker has both ends. As in local.h there are two passes over a batch of entries:
 *
 *   WQ entries --> where each is served; what it reads and writes is prefetched	first pass
 *		--> RGP's validation --> slot, dispatcher --> CQ entry			second pass
 *
 * An entry is validated in the second pass, since those before it may change the slot. One that has
 * to be refused changes nothing, and takes the packet path, which has the status. So do JOIN and
 * READY, a message that is too long for the local path, and an answer of several packets.
 */
#ifndef RMC_LOCAL_MESSAGE_H
#define RMC_LOCAL_MESSAGE_H

#include "node.h"

u32 rmc_local_messages(struct rmc_qpair *qp, u32 most, u32 longest, u32 budget, u32 *moved);

#endif
