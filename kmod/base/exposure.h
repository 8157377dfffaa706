/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether peers can name a segment, or a domain of messages, of a node.
 *
 * It is installed on the node's units one after another, each by its worker, but peers do not see
 * that: it is valid only while it is exposed, from after the last installation until before the
 * first removal. So if one unit serves a requester, all units do.
 */
#ifndef RMC_EXPOSURE_H
#define RMC_EXPOSURE_H

#include "os.h"

struct rmc_exposure {
	bool on;
};

/* Call after the installation on all units; valid until rmc_hide(). */
static inline void rmc_expose(struct rmc_exposure *e)
{
	/*
	 * No barrier: coherence is enough for a requester that asks one unit after another,
	 * since the first answer happens before the second question. Each unit wrote its
	 * own table.
	 */
	WRITE_ONCE(e->on, true);
}

/* Mirror of rmc_expose(). Requests being served continue until the units remove it. */
static inline void rmc_hide(struct rmc_exposure *e)
{
	WRITE_ONCE(e->on, false);
}

static inline bool rmc_is_exposed(const struct rmc_exposure *e)
{
	return READ_ONCE(e->on);
}

#endif
