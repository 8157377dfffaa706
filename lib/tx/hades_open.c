/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * HADES: what a database asks of its member's RMC: transactions in the member's memory, and slots
 * for the queue pair. The first line of the memory (store.h) is not part of that.
 *
 * A slot of the database has two sets, and each set a slot of the RMC: while nodes have not
 * answered the end of a transaction, the next one uses the other. If the RMC has not so many, there
 * is one set per slot.
 */
#include <stdlib.h>
#include <string.h>
#include "hades.h"
#include "store.h"

/* Of an own record that is used by loads and stores, each line may be a range */
static uint32_t most_ranges(const struct rmc_tx_db *db)
{
	uint64_t n = db->o.records;

	if (db->system->own_loads)
		n *= db->shape.largest / LINE;
	return n < RMC_TX_MAX_RANGES ? (uint32_t)n : RMC_TX_MAX_RANGES;
}

/* Bytes that a transaction writes at most, each range up to a multiple of 8 */
static uint32_t most_bytes(const struct rmc_tx_db *db)
{
	uint64_t bytes = (uint64_t)db->o.records * db->shape.largest;

	return bytes < RMC_TX_MAX_BYTES ? (uint32_t)bytes : RMC_TX_MAX_BYTES;
}

size_t rmc_tx_hades_more_bytes(const struct rmc_tx_db *db)
{
	return sizeof(struct rmc_tx_commit) + most_ranges(db) * sizeof(struct rmc_tx_item) +
	       most_bytes(db);
}

int rmc_tx_hades_usable(const struct rmc_query *q)
{
	if (!((uint64_t)q->op_mask >> RMC_OP_TX_COMMIT & 1))
		return rmc_fail(EOPNOTSUPP, "this RMC has no transactions: load a newer module, or "
				"start a newer rmcd");
	return 0;
}

static int range_failed(const struct rmc_ctx *ctx)
{
	int err = errno;

	if (rmc_why(ctx))
		return rmc_fail(err, "%s", rmc_why(ctx));
	switch (err) {
	case ENOTTY:
		return rmc_fail(EOPNOTSUPP, "this RMC has no transactions: load a newer module, or "
				"start a newer rmcd");
	case EEXIST:
		return rmc_fail(err, "node %d has transactions under context %u already",
				ctx->query.nid, ctx->id);
	case EROFS:
		return rmc_fail(err, "transactions in a segment that is read-only");
	default:
		return rmc_fail(err, "no transactions in the team's segment: %s", strerror(err));
	}
}

static int open_range(struct rmc_tx_db *db)
{
	struct rmc_tx_reg reg = {
		.size = sizeof(reg),
		.offset = db->team->offset + db->o.at + sizeof(struct tx_store),
		.length = db->shape.bytes - sizeof(struct tx_store),
		.local = (uintptr_t)rmc_tx_hades_filters(db),
	};

	int err = rmc_call(db->team->ctx, RMC_IOC_TX_REG, &reg);

	/* one that knows no filters of owners: own records, too, are accessed through it */
	if (err && errno == EOPNOTSUPP && reg.local) {
		rmc_tx_hades_local_close(db);
		reg.size = sizeof(reg);
		reg.local = 0;
		err = rmc_call(db->team->ctx, RMC_IOC_TX_REG, &reg);
	}
	if (err)
		return range_failed(db->team->ctx);
	db->registered = 1;
	return rmc_tx_hades_local_locks(db, reg.locks_offset);
}

/* Slots of the RMC; one that gives none is a test's */
static int open_slots(struct rmc_tx_db *db, uint64_t *mask)
{
	struct rmc_tx_open open = {
		.size = sizeof(open), .qp_id = db->qp->id, .bytes = most_bytes(db),
	};
	int err = ENOSPC;

	*mask = ~0ULL;
	if (db->o.slots > RMC_TX_MAX_SLOTS / 2)
		db->sets = 1;
	if (!db->team->ctx)
		return 0;
	for (; db->sets; db->sets--) {
		open.slots = db->o.slots * db->sets;
		if (!rmc_call(db->team->ctx, RMC_IOC_TX_OPEN, &open)) {
			*mask = open.slot_mask;
			return 0;
		}
		err = errno;
		if (err != ENOSPC)
			break;
	}
	db->sets = 1;
	return rmc_fail(err, "no %u slots for transactions: %s", db->o.slots,
			err == ENOSPC ? "others of this context have them" : strerror(err));
}

int rmc_tx_hades_open(struct rmc_tx_db *db)
{
	uint64_t mask = 0;
	unsigned int i, k;
	int err = 0;

	db->asked = (uint64_t *)calloc((size_t)db->team->nodes, sizeof(*db->asked));
	if (!db->asked)
		return rmc_fail(ENOMEM, "out of memory");
	err = rmc_tx_hades_local_open(db);
	if (!err)
		err = db->team->ctx ? open_range(db) : rmc_tx_hades_local_locks(db, 0);
	if (!err)
		err = open_slots(db, &mask);
	for (i = 0; i < db->o.slots && !err; i++)
		for (k = 0; k < db->sets; k++) {
			db->slot[i].set[k].rmc_slot = (uint8_t)__builtin_ctzll(mask);
			mask &= mask - 1;
		}
	return err;
}

void rmc_tx_hades_close(struct rmc_tx_db *db)
{
	struct rmc_tx_reg reg = { .size = sizeof(reg) };

	if (db->registered && !rmc_ctx_inherited(db->team->ctx) &&
	    rmc_call(db->team->ctx, RMC_IOC_TX_REG, &reg))
		rmc_log(WARN, "transactions in the segment remain: %s", strerror(errno));
	rmc_tx_hades_local_close(db);
}

/* Before any transaction uses it, so with plain stores */
int rmc_tx_hades_load(struct rmc_tx_db *db, void *record, const void *data, size_t len)
{
	uint32_t *incarnation = (uint32_t *)record;

	(void)db;
	memcpy((uint8_t *)record + HADES_DATA, data, len);
	rmc_store_release(incarnation, rmc_load_relaxed(incarnation) | 1U);
	return 0;
}
