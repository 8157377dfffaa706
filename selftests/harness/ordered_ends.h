/* SPDX-License-Identifier: GPL-2.0 */
/* How tests end operations of ordered queue pairs, and go on. */
#ifndef ORDERED_ENDS_H
#define ORDERED_ENDS_H

#include "ordered.h"

static inline void link_down(struct setup *s, enum rmc_lane lane, bool down)
{
	struct rmc_fault fault = { .down = down };
	u32 from = lane == RMC_LANE_REP;

	fault_set(&s->w, from, !from, lane, &fault, 1);
}

/* Until its next completion, for up to @ms: status or -1 */
static inline int wait_app(struct setup *s, struct app *a, u32 ms)
{
	u32 slot, status, k;

	for (;; ms--) {
		for (k = 0; k < 50; k++) {
			if (app_poll(a, &slot, &status))
				return status;
			testbed_visit(&s->w);
		}
		if (!ms)
			return -1;
		testbed_tick(&s->w, 1);
	}
}

static inline void post_flag(struct app *a)
{
	*(u64 *)data_at(FLAG) = 1;
	app_post(a, RMC_OP_WRITE, 1, FLAG, data_at(FLAG), 8);
}

static inline int resume(struct setup *s, struct app *a)
{
	post_resume(a);
	return wait_app(s, a, 40);
}

/* What is behind a failed operation has ended; then it goes on. */
static inline void check_resume(struct setup *s, struct app *a)
{
	int status;

	do
		status = resume(s, a);
	while (status > 0);
	CHECK_EQ(status, RMC_S_OK);
	CHECK_EQ(wait_app(s, a, 1), -1);
}

static inline u32 group_of(const struct app *a)
{
	return app_unit_qp(a)->group;
}

/* Queue pairs until the last one shares the group of @a */
static inline u32 share_group(struct setup *s, const struct app *a, struct app *more, u32 most)
{
	u32 n;

	for (n = 0; n < most; n++) {
		ordered_init(&more[n], s);
		if (group_of(&more[n]) == group_of(a) && app_unit_qp(&more[n])->node == app_unit_qp(a)->node)
			return n + 1;
	}
	CHECK(false);
	return n;
}

static inline u32 renewals(struct setup *s)
{
	u32 i, n = 0;

	for (i = 0; i < s->w.opts.units; i++)
		n += s->w.node[0]->unit[i]->renewals;
	return n;
}

/* Units that look at groups only if there is a tick */
static inline u32 renew_later(struct setup *s)
{
	u32 i, n = 0;

	for (i = 0; i < s->w.opts.units; i++)
		n += s->w.node[0]->unit[i]->renew_later;
	return n;
}

#endif
