// SPDX-License-Identifier: GPL-2.0
/*
 * The participant of transactions: random calls beside a model that has sets instead of filters.
 * The lines are such that a filter is a set, so that each status has to be the model's.
 */
#include "tx_bed.h"

#define LINE(n)		(BED_START + 64 * (u64)(n))

static struct bed b;

#define M_SOURCES	3
#define M_SLOTS		3
#define M_LINES		8
#ifdef __SANITIZE_ADDRESS__
#define M_STEPS		150000
#else
#define M_STEPS		600000
#endif

static struct model {
	u32 gen;
	u8 state, refused;
	bool squashed;
	u32 rd, wr;		/* lines in filters */
	u32 want, have;		/* lines of INTEND, of DATA */
} model[M_SOURCES][M_SLOTS];

static u32 model_line[M_LINES];
static u8 model_byte[M_LINES], model_new[M_SOURCES][M_SLOTS];

static u32 random32(u32 n)
{
	static u64 s = 88172645463325252ULL;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (s >> 11) % n;
}

/* Lines none of which has a bit of another, so that a filter is a set */
static void pick_lines(void)
{
	u32 line, n = 0, i;
	u64 used[RMC_TX_ROW] = { 0 };

	for (line = 0; n < M_LINES; line++) {
		struct rmc_tx_hash h = rmc_tx_hash(rmc_tx_crc(1 + line));

		for (i = 0; i < 2; i++) {
			u32 bit = i ? h.b : h.a;

			if (used[bit / 64] & 1ULL << bit % 64)
				break;
		}
		if (i < 2)
			continue;
		used[h.a / 64] |= 1ULL << h.a % 64;
		used[h.b / 64] |= 1ULL << h.b % 64;
		model_line[n++] = line;
	}
	CHECK(line < 100);
}

static bool model_locked(const struct model *m, u32 lines, bool reads)
{
	const struct model *o = &model[0][0];
	u32 i;

	for (i = 0; i < M_SOURCES * M_SLOTS; i++, o++)
		if (o != m && o->state == RMC_TX_PREPARED && (o->wr | (reads ? o->rd : 0)) & lines)
			return true;
	return false;
}

static void model_clear(struct model *m, u8 state)
{
	*m = (struct model) { .gen = m->gen, .state = state };
}

static u8 model_open(struct model *m, u32 gen)
{
	if (m->state == RMC_TX_NONE || (s32)(gen - m->gen) > 0) {
		m->gen = gen;
		model_clear(m, RMC_TX_OPEN);
	}
	if (gen != m->gen || m->state > RMC_TX_PREPARED)
		return RMC_S_TX_STALE;
	return RMC_S_OK;
}

static u8 model_access(struct model *m, u32 gen, bool own, u32 line)
{
	u8 status = model_open(m, gen);

	if (status)
		return status;
	if (m->state == RMC_TX_PREPARED)
		return RMC_S_PROTOCOL;
	if (m->squashed)
		return RMC_S_TX_SQUASHED;
	if (own)
		m->wr |= 1U << line;
	else
		m->rd |= 1U << line;
	return model_locked(m, 1U << line, false) ? RMC_S_TX_LOCKED : RMC_S_OK;
}

static u8 model_refuse(struct model *m, u8 status)
{
	m->refused = status;
	m->squashed = true;
	m->rd = 0;
	m->wr = 0;
	return status;
}

static u8 model_intend(struct model *m, u32 gen, bool here, u32 lines)
{
	struct model *o = &model[0][0];
	bool known = m->state != RMC_TX_NONE && m->gen == gen;
	u8 status;
	u32 i;

	if (here && !known) {
		if (m->state != RMC_TX_NONE && (s32)(gen - m->gen) < 0)
			return RMC_S_TX_STALE;
		m->gen = gen;
		model_clear(m, RMC_TX_ABORTED);
		return RMC_S_TX_STALE;
	}
	status = model_open(m, gen);
	if (status)
		return status;
	if (m->state == RMC_TX_PREPARED)
		return lines == m->want ? RMC_S_OK : RMC_S_PROTOCOL;
	if (m->refused)
		return m->refused;
	if (m->squashed)
		return model_refuse(m, RMC_S_TX_SQUASHED);
	if (model_locked(m, lines, true))
		return model_refuse(m, RMC_S_TX_LOCKED);
	m->state = RMC_TX_PREPARED;
	m->want = lines;
	m->wr |= lines;
	for (i = 0; i < M_SOURCES * M_SLOTS; i++, o++)
		if (o != m && o->state == RMC_TX_OPEN && (o->rd | o->wr) & lines)
			o->squashed = true;
	return RMC_S_OK;
}

static u8 model_close(struct model *m, u32 gen, bool commit, u8 byte)
{
	u32 i;

	if (m->state == RMC_TX_NONE || m->gen != gen) {
		if (commit)
			return RMC_S_TX_STALE;
		if (m->state != RMC_TX_NONE && (s32)(gen - m->gen) < 0)
			return RMC_S_TX_STALE;
		m->gen = gen;
		model_clear(m, RMC_TX_ABORTED);
		return RMC_S_OK;
	}
	if (m->state == RMC_TX_COMMITTED)
		return commit ? RMC_S_OK : RMC_S_PROTOCOL;
	if (m->state == RMC_TX_ABORTED)
		return commit ? RMC_S_TX_STALE : RMC_S_OK;
	if (!commit) {
		model_clear(m, RMC_TX_ABORTED);
		return RMC_S_OK;
	}
	if (m->state == RMC_TX_OPEN)
		return RMC_S_PROTOCOL;
	if (m->want != m->have)
		return RMC_S_BUSY;
	for (i = 0; i < M_LINES; i++)
		if (m->want & 1U << i)
			model_byte[i] = byte;
	model_clear(m, RMC_TX_COMMITTED);
	return RMC_S_OK;
}

static u8 model_data(struct model *m, u32 gen, u32 line)
{
	if (m->state == RMC_TX_NONE || m->gen != gen || m->state == RMC_TX_ABORTED)
		return RMC_S_TX_STALE;
	if (m->state == RMC_TX_COMMITTED)
		return RMC_S_OK;
	if (m->state == RMC_TX_OPEN || !(m->want & 1U << line))
		return RMC_S_PROTOCOL;
	m->have |= 1U << line;
	return RMC_S_OK;
}

static u8 real_intend(struct rmc_txid id, bool here, u32 lines)
{
	struct rmc_tx_range r[M_LINES];
	u32 i, n = 0;

	for (i = 0; i < M_LINES; i++)
		if (lines & 1U << i)
			r[n++] = (struct rmc_tx_range) { .offset = LINE(model_line[i]), .length = 64 };
	return rmc_tx_part_intend(b.p, &id, here ? RMC_TX_HERE : 0, r, n);
}

/* One call; the gen is the record's, mostly */
static void model_step(u32 s, u32 slot)
{
	struct model *m = &model[s][slot];
	u32 line = random32(M_LINES), lines = random32(1 << M_LINES) & random32(1 << M_LINES);
	struct rmc_txid id = tx(1 + s, slot, m->gen);
	u8 *byte = &model_new[s][slot];
	bool flag = random32(2);

	if (m->state == RMC_TX_NONE || m->state > RMC_TX_PREPARED || !random32(40))
		id.gen += random32(4) ? 1 : -random32(3);
	switch (random32(8)) {
	case 0: case 1: case 2:
		CHECK_EQ(rmc_tx_part_access(b.p, &id, flag ? RMC_TX_OWN : RMC_TX_READ,
					    LINE(model_line[line]) + 8, 16),
			 model_access(m, id.gen, flag, line));
		break;
	case 3:
		if (m->state == RMC_TX_PREPARED && random32(4))
			lines = m->want;
		CHECK_EQ(real_intend(id, flag, lines), model_intend(m, id.gen, flag, lines));
		break;
	case 4: case 5: case 6:
		if (m->state == RMC_TX_PREPARED && m->want)
			while (!(m->want & 1U << line))
				line = random32(M_LINES);
		if (!m->have)
			*byte = random32(256);
		CHECK_EQ(tx_data(&b, id, LINE(model_line[line]), 64, *byte),
			 model_data(m, id.gen, line));
		break;
	default:
		flag = random32(4);
		CHECK_EQ(rmc_tx_part_close(b.p, &id, 0, flag), model_close(m, id.gen, flag, *byte));
		break;
	}
}

static void model_lost(u32 s, bool epoch)
{
	u32 slot;

	if (epoch)
		rmc_tx_part_epoch(b.p, 1 + s);
	else
		rmc_tx_part_silent(b.p, 1 + s);
	for (slot = 0; slot < M_SLOTS; slot++) {
		struct model *m = &model[s][slot];

		if (epoch)
			*m = (struct model) { 0 };
		else if (m->state == RMC_TX_OPEN) {
			m->squashed = true;
			m->rd = 0;
			m->wr = 0;
		}
	}
}

static void test_model(void)
{
	u32 step, s, slot, i, committed = 0, squashed = 0;

	bed_begin(&b);
	pick_lines();
	memset(model, 0, sizeof(model));
	memset(model_byte, FILL, sizeof(model_byte));
	for (step = 0; step < M_STEPS && tap_failures < 5; step++) {
		struct rmc_txid hint;
		u8 before;

		s = random32(M_SOURCES);
		slot = random32(M_SLOTS);
		before = model[s][slot].state;
		if (!random32(2000))
			model_lost(s, random32(2));
		else
			model_step(s, slot);
		committed += before == RMC_TX_PREPARED && model[s][slot].state == RMC_TX_COMMITTED;
		while (rmc_tx_part_hint(b.p, &hint)) {
			CHECK(model[hint.source - 1][hint.slot].squashed);
			CHECK_EQ(model[hint.source - 1][hint.slot].gen, hint.gen);
			squashed++;
		}
		for (i = 0; i < M_LINES; i++)
			CHECK_EQ(bed_others(&b, LINE(model_line[i]), 64, model_byte[i]), 0);
		if (tap_failures)
			printf("# step %u\n", step);
	}
	printf("# %u calls, %u committed, %u squashed\n", step, committed, squashed);
	CHECK(committed > M_STEPS / 200 && squashed > M_STEPS / 200);
	bed_end(&b);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "tx part: random calls beside a model", test_model },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
