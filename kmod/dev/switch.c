// SPDX-License-Identifier: GPL-2.0
/*
 * Control of switches. The RRPP's worker makes each change, between packets, and in steps: it does
 * not stop for longer than RMC_SWITCH_BATCH tuples take. A crash clears all registers at once, and
 * memory that is withdrawn goes through all of them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/random.h>
#include "../run/device.h"
#include "switch.h"

/* Time for the storage node to answer what it was passed */
#define WAIT_MS		1000

/* Argument of the calls on the worker */
struct call {
	struct rmc_node *unit;
	const struct rmc_switch_command *command;
	struct rmc_switch_range *range;	/* out: a table to free */
	struct rmc_switch *sw;		/* in: to install; out: to free */
	struct rmc_switch_state *state;
	u32 at;				/* tuples or registers that are done */
	u32 place;			/* of a range, to empty */
	struct rmc_switch_unlatch unlatch;
};

static int install(void *arg)
{
	struct call *c = arg;
	struct rmc_switch *sw = c->sw;

	c->sw = NULL;
	return rmc_switched_install(c->unit, sw);
}

static int put_range(void *arg)
{
	struct call *c = arg;

	return rmc_switched_add(c->unit, c->range);
}

/* Up to @most tuples from c->at on; -EAGAIN: there are more. */
static int move(struct call *c, u32 most, bool hot)
{
	struct rmc_switch_memory m = rmc_switched_memory(c->unit);
	const struct rmc_switch_range *r = &c->command->range;
	u32 n = min(most - c->at, (u32)RMC_SWITCH_BATCH);
	u64 offset = r->begin + (u64)c->at * r->stride;
	u32 done = n;
	int err;

	/* a segment that is withdrawn meanwhile takes the range with it: -ENODEV */
	err = hot ? rmc_switched_promote(c->unit, r->ctx_id, offset, n) :
		    rmc_switch_demote(c->unit->links.sw, r->ctx_id, offset, n, &done, &m);
	c->at += done;
	return err ?: c->at < most ? -EAGAIN : 0;
}

static int promote_hot(void *arg)
{
	struct call *c = arg;

	return move(c, c->command->hot, true);
}

/* One step of PROMOTE or DEMOTE, whose distances are those of the range. */
static int move_some(void *arg)
{
	struct call *c = arg;

	return move(c, c->command->range.count, c->command->action == RMC_SWITCH_PROMOTE);
}

/* One step of making all tuples cold; at the end the switch is taken away. */
static int empty(void *arg)
{
	struct call *c = arg;
	struct rmc_switch *sw = c->unit->links.sw;
	struct rmc_switch_memory m = rmc_switched_memory(c->unit);
	u32 done;
	int err;

	while (!sw->crashed && c->place < RMC_SWITCH_RANGES) {
		const struct rmc_switch_range *r = &sw->range[c->place];
		u32 n = min(r->count - min(c->at, r->count), (u32)RMC_SWITCH_BATCH);

		if (n) {
			err = rmc_switch_demote(sw, r->ctx_id, r->begin + (u64)c->at * r->stride,
						n, &done, &m);
			c->at += done;
			return err ?: -EAGAIN;
		}
		c->place++;
		c->at = 0;
	}
	return rmc_switched_take_away(c->unit, &c->sw);
}

/* The last step of what failed: tuples that were to go stay in use. */
static int keep(void *arg)
{
	struct call *c = arg;

	if (c->unit->links.sw)
		rmc_switch_keep(c->unit->links.sw);
	return 0;
}

static int crash(void *arg)
{
	struct call *c = arg;

	rmc_switch_crash(c->unit->links.sw);
	return 0;
}

static int recover(void *arg)
{
	struct call *c = arg;
	struct rmc_switch_memory m = rmc_switched_memory(c->unit);

	return rmc_switch_recover(c->unit->links.sw, &m);
}

static int unlatch(void *arg)
{
	struct call *c = arg;
	int err = rmc_switched_unlatch(c->unit, &c->unlatch, c->at);

	if (err)
		return err;
	c->at += RMC_SWITCH_BATCH;
	if (c->at < c->unit->links.sw->registers)
		return -EAGAIN;
	return c->unlatch.kept ? -EBUSY : 0;
}

static int look(void *arg)
{
	struct call *c = arg;
	const struct rmc_switch *sw = c->unit->links.sw;

	*c->state = (struct rmc_switch_state){
		.epoch = sw->epoch, .crashed = sw->crashed, .registers = sw->registers,
		.frees = sw->frees, .latched = sw->latched,
		.clients = RMC_SWITCH_CLIENTS - sw->free_clients, .stats = sw->stats,
	};
	memcpy(c->state->range, sw->range, sizeof(sw->range));
	return 0;
}

static int try_steps(struct call *c, int (*step)(void *arg))
{
	unsigned long end = jiffies + msecs_to_jiffies(WAIT_MS);
	u32 at = 0, place = 0;
	int err;

	for (;;) {
		err = rmc_worker_call(c->unit->srv_worker, step, c);
		if (err != -EAGAIN)
			return err;
		if (c->at != at || c->place != place) {
			at = c->at;
			place = c->place;
			end = jiffies + msecs_to_jiffies(WAIT_MS);
		} else if (!time_before(jiffies, end)) {
			return -EBUSY;
		}
		usleep_range(10, 100);
	}
}

/* Calls a step until it is done, or fails; -EBUSY after -EAGAIN for long. */
static int steps(struct call *c, int (*step)(void *arg))
{
	int err = try_steps(c, step);

	if (err)
		rmc_worker_call(c->unit->srv_worker, keep, c);
	return err;
}

/* Take the switch away, if it serves nothing. */
static int turn_off(struct call *c)
{
	int err = steps(c, empty);

	rmc_switch_destroy(c->sw);
	c->sw = NULL;
	return err;
}

/*
 * The first epoch of a new switch. That of a unit's first one is random: before the unit there may
 * have been others, with words that peers still have.
 */
static u32 first_epoch(const struct rmc_links *l)
{
	return l->switch_epochs ? l->switch_epoch + 1 : get_random_u32();
}

static int demote_range(void *arg)
{
	struct call *c = arg;

	return move(c, c->command->range.count, false);
}

static int remove_range(void *arg)
{
	struct call *c = arg;
	const struct rmc_switch_range *r = &c->command->range;

	return rmc_switch_remove(c->unit->links.sw, r->ctx_id, r->begin);
}

/* Undo SET, but for tuples that somebody has latched meanwhile. */
static void undo(struct call *c)
{
	c->at = 0;
	if (steps(c, demote_range))
		return;
	c->at = 0;
	if (rmc_worker_call(c->unit->srv_worker, remove_range, c) == 1)
		turn_off(c);
}

static int set(struct call *c)
{
	struct rmc_node *unit = c->unit;
	struct rmc_switch_range range = c->command->range;
	bool first = !unit->links.sw;
	int err = rmc_switch_check(unit->fabric, &range);

	if (err)
		return err;
	if (c->command->hot > range.count)
		return -ERANGE;
	range.slot = rmc_os_zalloc(range.count * sizeof(*range.slot));
	if (!range.slot)
		return -ENOMEM;
	c->range = &range;
	if (first) {
		c->sw = rmc_switch_create(unit->fabric, unit->ep, c->command->registers,
					  first_epoch(&unit->links), unit->links.switch_epochs);
		err = c->sw ? rmc_worker_call(unit->srv_worker, install, c) : -ENOMEM;
	}
	err = err ?: rmc_worker_call(unit->srv_worker, put_range, c);
	rmc_os_free(range.slot);
	if (err) {
		/* nothing is left of a switch that could not begin */
		if (first && unit->links.sw)
			turn_off(c);
		return err;
	}
	err = c->command->hot ? steps(c, promote_hot) : 0;
	if (err)
		undo(c);
	return err;
}

/* The distance of the tuples of the range that PROMOTE and DEMOTE name; 0: there is none. */
static u32 stride_of(struct rmc_node *unit, const struct rmc_switch_range *r)
{
	struct rmc_switch_state *state = rmc_os_zalloc(sizeof(*state));
	u32 i, stride = 0;

	if (state && rmc_dev_switch_state(unit, state)) {
		for (i = 0; i < RMC_SWITCH_RANGES; i++) {
			const struct rmc_switch_range *o = &state->range[i];

			if (o->count && o->ctx_id == r->ctx_id && r->begin >= o->begin &&
			    r->begin < o->begin + (u64)o->stride * o->count)
				stride = o->stride;
		}
	}
	rmc_os_free(state);
	return stride;
}

static int promote_or_demote(struct call *c)
{
	struct rmc_switch_command command = *c->command;

	command.range.stride = stride_of(c->unit, &command.range);
	if (!command.range.stride)
		return -ENODEV;
	if (!command.range.count || command.range.count > RMC_SWITCH_TUPLES)
		return -ERANGE;
	c->command = &command;
	return steps(c, move_some);
}

/**
 * rmc_dev_switch() - change the switch before a unit
 * @unit: unit that serves requests; the device's fault_lock is held
 * @command: what to do; any numbers
 *
 * After a failure some tuples may have been moved. Nothing is left of a range that could not be
 * added, unless somebody has latched tuples of it by then.
 *
 * Return: 0; -ENODEV: there is no switch, or no such tuple; -EBUSY: a tuple is latched or in use,
 * the switch has crashed, the node is alive; -EOVERFLOW: no epoch is left; -ENOMEM; and as
 * rmc_switch_check(), rmc_switch_add(), rmc_switch_promote(). Context: may sleep.
 */
int rmc_dev_switch(struct rmc_node *unit, const struct rmc_switch_command *command)
{
	struct call c = {
		.unit = unit, .command = command,
		.unlatch = { .nid = command->nid, .connected = command->force },
	};

	if (command->action == RMC_SWITCH_SET)
		return set(&c);
	if (!unit->links.sw)
		return -ENODEV;
	switch (command->action) {
	case RMC_SWITCH_OFF:
		return turn_off(&c);
	case RMC_SWITCH_PROMOTE:
	case RMC_SWITCH_DEMOTE:
		return promote_or_demote(&c);
	case RMC_SWITCH_CRASH:
		return rmc_worker_call(unit->srv_worker, crash, &c);
	case RMC_SWITCH_RECOVER:
		return steps(&c, recover);
	case RMC_SWITCH_UNLATCH:
		return steps(&c, unlatch);
	default:
		return -EINVAL;
	}
}

/**
 * rmc_dev_switch_undo() - undo RMC_SWITCH_SET, as another unit has failed
 * @unit: unit that has done it; the device's fault_lock is held
 * @command: as of rmc_dev_switch()
 *
 * Context: may sleep.
 */
void rmc_dev_switch_undo(struct rmc_node *unit, const struct rmc_switch_command *command)
{
	struct call c = { .unit = unit, .command = command };

	if (unit->links.sw)
		undo(&c);
}

/**
 * rmc_dev_switch_state() - look at the switch before a unit
 * @unit: unit; the device's fault_lock is held
 * @state: out
 *
 * Return: false if there is none. Context: may sleep.
 */
bool rmc_dev_switch_state(struct rmc_node *unit, struct rmc_switch_state *state)
{
	struct call c = { .unit = unit, .state = state };

	return unit->links.sw && !rmc_worker_call(unit->srv_worker, look, &c);
}
