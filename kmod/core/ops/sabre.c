// SPDX-License-Identifier: GPL-2.0
/*
 * SABRe: atomic read of an object of many lines (M16; T18 chapters 4 and 7). att.c
 * has the protocol and its table. This file takes the snapshot, in one of four ways:
 *
 *   overlapped   fetch lines and version at once; load version, data, version
 *   serialized   load version; data after the version has arrived; version
 *   locked       increment readers, load version; data; decrement readers
 *   tx           no version: all writers are transactions, of which none may store meanwhile
 *
 * A fetch is a prefetch: it binds no value, so in all three the loads that return
 * data follow the load of the version (version.h). None waits for a writer.
 */
#include "../node.h"
#include "../tx_homes.h"
#include "../version.h"

static u32 *readers_of(const struct rmc_xfer *x)
{
	return rmc_mem_ptr(x->seg, x->offset + x->seg->readers_off);
}

/*
 * Copy from memory that writers may change meanwhile. Line atomicity is not needed:
 * a torn line fails the version check.
 */
static void copy_racy(u8 *dst, const u8 *src, u32 len)
{
	if (len >= rmc_os_bulk_min) {
		rmc_lines_copy(dst, src, len);
		return;
	}
	for (; len && (uintptr_t)src & 7; len--)
		*dst++ = READ_ONCE(*src++);
	for (; len >= RMC_LINE; len -= RMC_LINE, dst += RMC_LINE, src += RMC_LINE)
		rmc_line_pass((u64 *)dst, (const u64 *)src);
	for (; len >= 8; len -= 8, dst += 8, src += 8)
		rmc_put64(dst, READ_ONCE(*(const u64 *)src));
	for (; len; len--)
		*dst++ = READ_ONCE(*src++);
}

static void load_racy(const struct rmc_mem *mem, u64 off, u8 *dst, u32 len)
{
	do {
		u64 run;
		const u8 *src = rmc_mem_at(mem, off, &run);
		u32 n = min_t(u64, run, len);

		copy_racy(dst, src, n);
		dst += n;
		off += n;
		len -= n;
	} while (len);
}

/* RMC_S_OK if the segment has objects, and the range may be one of them. */
static u8 validate(const struct rmc_mem *seg, u64 offset, u32 length)
{
	if (seg->sabre == RMC_SABRE_DEFAULT)
		return RMC_S_NO_VERSION;
	if (offset & 7)
		return RMC_S_BAD_ALIGN;
	/* rmc_sabre_open() looks for the range: it may go before the transfer becomes active */
	if (seg->sabre == RMC_SABRE_TX)
		return RMC_S_OK;
	if (length < sizeof(u64) || seg->version_off > length - sizeof(u64))
		return RMC_S_NO_VERSION;
	if (seg->sabre == RMC_SABRE_LOCKED && seg->readers_off > length - sizeof(u32))
		return RMC_S_NO_VERSION;
	return RMC_S_OK;
}

/*
 * The window of vulnerability opens: fetch as many lines as the stream buffer
 * holds, as far as memory is contiguous (M16 section 4.1), the version's first.
 */
static void fetch(const struct rmc_xfer *x, u32 depth)
{
	u64 run;
	const u8 *p;
	u32 i, lines;

	if (x->seg->sabre != RMC_SABRE_OVERLAPPED)
		return;
	prefetch(x->at);
	p = rmc_mem_at(x->seg, x->offset, &run);
	lines = min(rmc_lines(x->offset, min_t(u64, run, x->length)), depth);
	for (i = 0; i + 4 <= lines; i += 4, p += 4 * RMC_LINE) {
		prefetch(p);
		prefetch(p + RMC_LINE);
		prefetch(p + 2 * RMC_LINE);
		prefetch(p + 3 * RMC_LINE);
	}
	for (; i < lines; i++, p += RMC_LINE)
		prefetch(p);
}

/* First access to the object: the window closes. */
static u8 begin(struct rmc_xfer *x)
{
	u8 status;

	x->speculative = false;
	if (x->seg->sabre == RMC_SABRE_TX) {
		if (unlikely(!x->part))
			return RMC_S_NO_VERSION;
		status = rmc_tx_part_read_begin(x->part, x->offset, x->length, &x->reader);
		x->held = !status;
		return status == RMC_S_TX_LOCKED ? RMC_S_SABRE_LOCKED : status;
	}
	if (x->seg->sabre == RMC_SABRE_LOCKED) {
		/* full barrier: increment readers, then load the version; pairs with
		 * rmc_object_try_begin(), which makes the version odd, then loads readers
		 */
		rmc_os_faa32(readers_of(x), 1);
		x->held = true;
	}
	x->version = rmc_version_begin(x->at);
	if (unlikely(rmc_version_odd(x->version)))
		return RMC_S_SABRE_LOCKED;
	if (x->seg->sabre == RMC_SABRE_SERIALIZED)
		rmc_os_finish_loads();
	return RMC_S_OK;
}

static void release(struct rmc_xfer *x)
{
	if (!x->held)
		return;
	x->held = false;
	if (x->seg->sabre == RMC_SABRE_TX) {
		rmc_tx_part_read_end(x->part, x->reader);
		return;
	}
	/* full barrier: data loads first; pairs with the writer's load of readers */
	rmc_os_faa32(readers_of(x), -1);
}

/*
 * Is the data read so far no longer a snapshot? A writer that finds our lock has
 * made the version odd, and waits. A larger version is from a writer that ignores it.
 */
static bool changed(const struct rmc_xfer *x)
{
	if (x->seg->sabre == RMC_SABRE_TX)
		return false;
	if (likely(!rmc_version_changed(x->at, x->version)))
		return false;
	return !x->held || rmc_version_changed(x->at, x->version + 1);
}

/**
 * rmc_sabre_open() - start a transfer that becomes active
 * @node: unit
 * @x: transfer
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_sabre_open(struct rmc_node *node, struct rmc_xfer *x)
{
	x->speculative = true;
	if (x->seg->sabre == RMC_SABRE_TX) {
		x->part = rmc_tx_homes_part(&node->tx_homes, node->ep, x->seg, x->offset,
					    x->length);
		return;
	}
	x->at = rmc_mem_ptr(x->seg, x->offset + x->seg->version_off);
	fetch(x, node->att.depth);
}

/**
 * rmc_sabre_data() - fill the payload of data replies
 * @x: transfer, active
 * @tx: reply ring; its next payload lines are free
 * @offset: of these lines in the segment, bytes
 * @length: bytes
 *
 * Return: RMC_S_OK; RMC_S_SABRE_LOCKED, RMC_S_SABRE_ABORTED: there is no snapshot.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_sabre_data(struct rmc_xfer *x, struct rmc_ring *tx, u64 offset, u32 length)
{
	u32 skip = offset & (RMC_LINE - 1);
	u32 run = rmc_ring_run(tx, tx->pay_pos, skip, length);
	u8 status;

	if (x->speculative) {
		status = begin(x);
		if (unlikely(status))
			return status;
	} else if (unlikely(changed(x))) {
		/* no need to send the rest of it */
		return RMC_S_SABRE_ABORTED;
	}
	load_racy(x->seg, offset, rmc_ring_line(tx, tx->pay_pos) + skip, run);
	if (unlikely(run < length))
		load_racy(x->seg, offset + run, tx->pay, length - run);
	return RMC_S_OK;
}

/**
 * rmc_sabre_close() - validate the snapshot, and release the object
 * @x: transfer, all of whose data was sent
 *
 * Return: RMC_S_OK, RMC_S_SABRE_ABORTED.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_sabre_close(struct rmc_xfer *x)
{
	u8 status = unlikely(changed(x)) ? RMC_S_SABRE_ABORTED : RMC_S_OK;

	release(x);
	return status;
}

/**
 * rmc_sabre_drop() - release the object of a transfer that ends early
 * @x: transfer
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_sabre_drop(struct rmc_xfer *x)
{
	release(x);
}

/* Serve a whole transfer at once, without an ATT entry. */
static u8 whole(struct rmc_serve *s)
{
	struct rmc_xfer x rmc_os_unset;
	u8 status;

	x.seg = s->seg;
	x.offset = s->req.offset;
	x.length = s->req.length;
	x.held = false;
	rmc_sabre_open(s->node, &x);
	status = rmc_sabre_data(&x, s->tx, x.offset, x.length);
	if (likely(!status))
		return rmc_sabre_close(&x);
	release(&x);
	return status;
}

/**
 * rmc_sabre_prepare() - validate a SABRe's WQ entry
 * @qp: queue pair
 * @w: snapshot
 *
 * Return: RMC_S_OK, RMC_S_BAD_LENGTH. Only the destination knows where the
 * version is.
 * Context: RGP worker, does not sleep.
 */
u8 rmc_sabre_prepare(const struct rmc_qpair *qp, struct rmc_wqe *w)
{
	return w->length <= RMC_SABRE_MAX ? RMC_S_OK : RMC_S_BAD_LENGTH;
}

/**
 * rmc_sabre_load() - a SABRe's requests have no payload
 * @e: operation
 * @tx: request ring
 * @offset: of the packet in the segment, bytes
 * @length: of the packet, bytes
 */
void rmc_sabre_load(const struct rmc_itt_entry *e, struct rmc_ring *tx, u64 offset, u32 length)
{
}

/**
 * rmc_sabre_serve() - serve an announcement, data requests, or a SABRe of one packet
 * @s: request, or run of data requests
 *
 * Return: enum rmc_status, RMC_HELD, RMC_AGAIN.
 * Context: RRPP worker, does not sleep.
 */
u8 rmc_sabre_serve(struct rmc_serve *s)
{
	u8 status;

	if (!(s->word1 & RMC_REQ_FIRST))
		return rmc_att_count_requests(s);
	status = validate(s->seg, s->req.offset, s->req.length);
	if (unlikely(status))
		return status;
	if (s->word1 & RMC_REQ_LAST || rmc_att_all_arrived(s))
		return whole(s);
	return rmc_att_register(s);
}

/**
 * rmc_sabre_complete() - copy a data reply's payload into the local buffer
 * @e: operation; the packet lies within it, the RCP checked
 * @rx: reply ring, at the payload
 * @word1: echo of the request
 *
 * What a failed SABRe leaves in the buffer is unspecified.
 *
 * Context: RCP worker, does not sleep.
 */
void rmc_sabre_complete(const struct rmc_itt_entry *e, struct rmc_ring *rx, u64 word1)
{
	rmc_read_complete(e, rx, word1);
}
