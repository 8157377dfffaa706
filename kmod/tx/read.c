// SPDX-License-Identifier: GPL-2.0
/*
 * Participant: atomic reads of many lines by who has no transaction (HADES section V-B). A reader
 * is ordered before all that are not prepared when it begins: it holds up the stores of those that
 * commit on its lines later, not their INTEND. So none is squashed, no commit takes another round
 * trip, and readers one after another keep no commit waiting.
 */
#include "ranges.h"
#include "record.h"

static bool touches(const struct rmc_tx_reader *r, u64 line)
{
	return line >= r->first && line < r->end;
}

/**
 * rmc_tx_part_read() - check whether lines may be read at once, as an atomic read
 * @p: participant
 * @offset: first byte
 * @length: bytes, RMC_TX_LINES lines at most
 *
 * Return: RMC_S_OK: as long as no other call is made, they are a snapshot; RMC_S_TX_LOCKED (a
 * transaction is committing to them, which may be over elsewhere), RMC_S_BAD_LENGTH,
 * RMC_S_OUT_OF_RANGE.
 */
u8 rmc_tx_part_read(struct rmc_tx_part *p, u64 offset, u32 length)
{
	struct rmc_tx_reader r;
	struct rmc_tx_group *g;
	struct rmc_tx_line *l;
	u64 slots;
	u32 i;

	if (!length || length > RMC_TX_LINES * RMC_LINE)
		return RMC_S_BAD_LENGTH;
	if (!rmc_tx_part_covers(p, offset, length))
		return RMC_S_OUT_OF_RANGE;
	r.first = rmc_tx_line_of(offset);
	r.end = rmc_tx_line_of(offset + length - 1) + 1;
	for (i = 0; i < p->groups; i++) {
		g = &p->group[i];
		/* who has locked in advance only has no lines: it has promised nothing */
		for (slots = g->locked; slots; slots &= slots - 1) {
			l = rmc_tx_line_at(g, g->record[__ffs64(slots)].first);
			for (; l; l = rmc_tx_line_at(g, l->next))
				if (touches(&r, l->line))
					return RMC_S_TX_LOCKED;
		}
	}
	return RMC_S_OK;
}

/**
 * rmc_tx_part_read_begin() - an atomic read of lines begins
 * @p: participant
 * @offset: first byte
 * @length: bytes, RMC_TX_LINES lines at most
 * @reader: out, for rmc_tx_part_read_end()
 *
 * Until then nothing is stored to the lines.
 *
 * Return: as rmc_tx_part_read(); RMC_S_TX_LOCKED also if there are RMC_TX_READERS.
 */
u8 rmc_tx_part_read_begin(struct rmc_tx_part *p, u64 offset, u32 length, u32 *reader)
{
	u8 status = rmc_tx_part_read(p, offset, length);
	u32 i;

	if (status)
		return status;
	for (i = 0; i < p->readers && p->reader[i].end; i++)
		;
	if (i == RMC_TX_READERS)
		return RMC_S_TX_LOCKED;
	p->readers = max(p->readers, i + 1);
	p->reader[i].first = rmc_tx_line_of(offset);
	p->reader[i].end = rmc_tx_line_of(offset + length - 1) + 1;
	*reader = i;
	return RMC_S_OK;
}

/**
 * rmc_tx_part_read_end() - an atomic read ends
 * @p: participant
 * @reader: from rmc_tx_part_read_begin(), once
 */
void rmc_tx_part_read_end(struct rmc_tx_part *p, u32 reader)
{
	memset(&p->reader[reader], 0, sizeof(p->reader[reader]));
	while (p->readers && !p->reader[p->readers - 1].end)
		p->readers--;
}

/**
 * rmc_tx_is_being_read() - check whether what a transaction writes is being read
 * @p: participant
 * @t: transaction that is prepared
 *
 * Return: true: its lines must not be stored yet.
 */
bool rmc_tx_is_being_read(const struct rmc_tx_part *p, const struct rmc_tx_ref *t)
{
	struct rmc_tx_line *l;
	u32 i;

	if (likely(!p->readers))
		return false;
	for (l = rmc_tx_line_at(t->g, t->r->first); l; l = rmc_tx_line_at(t->g, l->next))
		for (i = 0; i < p->readers; i++)
			if (touches(&p->reader[i], l->line))
				return true;
	return false;
}
