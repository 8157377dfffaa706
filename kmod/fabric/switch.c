// SPDX-License-Identifier: GPL-2.0
/*
 * Data plane of a switch: what happens to a packet (R25 sections 5.4, 5.5, table 2, figure 24).
 *
 * A packet comes from a peer, so all its fields may have any values: it is matched with ranges
 * that the control plane has set, and gives no index of its own.
 */
#include "../base/opcode.h"
#include "switch.h"

/* Tuples and words that a packet may touch; what touches more is not looked at one by one */
#define TOUCH_MOST	(RMC_MTU_MAX / 8)

static void refuse(struct rmc_switch_packet *p, u8 status)
{
	p->type = RMC_SWITCH_REFUSED;
	p->verdict = RMC_SWITCH_ANSWER;
	p->status = status;
}

static void answer(struct rmc_switch_packet *p, u64 word)
{
	p->verdict = RMC_SWITCH_ANSWER;
	p->status = RMC_S_OK;
	p->word = word;
}

/* ---- parser and tables ---- */

/* A packet for the tuple that begins at @base, which has a register */
static void classify_tuple(struct rmc_switch_packet *p, u64 base, u32 bytes)
{
	bool head = p->offset == base && p->length == 8;
	bool whole = p->offset == base && p->length == bytes;

	switch (p->op) {
	case RMC_OP_READ:
		if (whole)
			p->type = RMC_SWITCH_READ_REQ;
		else if (head)
			p->type = RMC_SWITCH_READ_VERSION;
		else
			refuse(p, RMC_S_BAD_LENGTH);
		break;
	case RMC_OP_WRITE:
	case RMC_OP_WRITE_ONCE:
		if (whole)
			p->type = RMC_SWITCH_WRITE_REQ;
		else
			refuse(p, RMC_S_BAD_LENGTH);
		break;
	case RMC_OP_CAS:
		if (head)
			p->type = RMC_SWITCH_LATCH;
		else
			refuse(p, p->length == 8 ? RMC_S_BAD_OP : RMC_S_BAD_LENGTH);
		break;
	default:
		refuse(p, RMC_S_BAD_OP);
	}
}

static void classify_word(struct rmc_switch_packet *p)
{
	if (p->op != RMC_OP_READ && p->op != RMC_OP_CAS && p->op != RMC_OP_FAA)
		refuse(p, RMC_S_BAD_OP);
	else if (p->length != 8)
		refuse(p, RMC_S_BAD_LENGTH);
	else if (p->offset & 7)
		refuse(p, RMC_S_BAD_ALIGN);
	else if (p->op == RMC_OP_READ)
		p->type = RMC_SWITCH_WORD_READ;
	else
		p->type = p->op == RMC_OP_CAS ? RMC_SWITCH_WORD_CAS : RMC_SWITCH_WORD_FAA;
}

/* Match a packet with a range that it overlaps. */
static void match(const struct rmc_switch_range *r, struct rmc_switch_packet *p)
{
	u64 end = min(p->offset + p->length - r->begin, (u64)r->stride * r->count);
	u64 start = p->offset > r->begin ? p->offset - r->begin : 0;
	u32 first = rmc_os_div(start, r->stride), last = rmc_os_div(end - 1, r->stride), i;
	u32 slot = 0;

	if (!r->hot)
		return;
	for (i = first; i <= last && i - first < TOUCH_MOST && !slot; i++)
		slot = r->slot[array_index_nospec(i, r->count)];
	if (!slot && last - first < TOUCH_MOST)
		return;
	/* what touches several is no operation on the first one, and is refused */
	p->tuple = slot - 1;
	if (r->words)
		classify_word(p);
	else
		classify_tuple(p, r->begin + (u64)first * r->stride, r->bytes);
}

static void parse(const struct rmc_switch *sw, struct rmc_switch_packet *p)
{
	u16 flags = rmc_op_flags(p->op);
	u32 i;

	p->type = RMC_SWITCH_OTHER;
	p->verdict = RMC_SWITCH_FORWARD;
	p->changed = false;
	p->known = false;
	p->took = false;
	p->stale = false;
	p->holder = 1 + p->source * RMC_REQ_GROUPS + p->group;
	p->era = sw->era[p->source];
	/* what names no memory, or none that a packet may name */
	if (!flags || flags & (RMC_OPF_NO_MEMORY | RMC_OPF_EMPTY) || !p->length)
		return;
	for (i = 0; i < RMC_SWITCH_RANGES && p->type != RMC_SWITCH_REFUSED; i++) {
		const struct rmc_switch_range *r = &sw->range[i];

		if (r->count && r->ctx_id == p->ctx_id && p->offset + p->length > r->begin &&
		    p->offset < r->begin + (u64)r->stride * r->count)
			match(r, p);
	}
}

/* A client is a group of a source in one context: contexts of a unit do not wait for each other. */
static u64 key_of(const struct rmc_switch_packet *p)
{
	return (u64)p->holder << 16 | p->ctx_id;
}

static u16 *bucket_of(struct rmc_switch *sw, u64 key)
{
	return &sw->bucket[(key * 0x9e3779b97f4a7c15ULL >> 32) & (RMC_SWITCH_CLIENTS - 1)];
}

/* Look up the client. Returns false if it has no id. */
static bool find_client(struct rmc_switch *sw, struct rmc_switch_packet *p)
{
	u64 key = key_of(p);
	u16 id;

	for (id = *bucket_of(sw, key); id; id = sw->client[id - 1].next) {
		if (sw->client[id - 1].key != key)
			continue;
		p->client = id - 1;
		return true;
	}
	return false;
}

/* The same; a new one gets an id. Returns false if there is none. */
static bool get_client(struct rmc_switch *sw, struct rmc_switch_packet *p)
{
	struct rmc_switch_client *c;
	u16 *bucket;

	if (find_client(sw, p))
		return true;
	if (!sw->free_clients)
		return false;
	p->client = sw->free_client[--sw->free_clients];
	c = &sw->client[p->client];
	c->key = key_of(p);
	bucket = bucket_of(sw, c->key);
	c->next = *bucket;
	*bucket = p->client + 1;
	return true;
}

/* The storage node is passed an operation on a tuple. */
static void owe(struct rmc_switch *sw, const struct rmc_switch_packet *p)
{
	struct rmc_switch_client *c = &sw->client[p->client];

	c->write = p->type == RMC_SWITCH_WRITE_REQ;
	c->owed = p->tuple + 1;
	if (c->write)
		sw->users[p->tuple].writes++;
	else
		sw->users[p->tuple].reads++;
	sw->waits++;
}

/**
 * rmc_switch_answered() - the storage node has answered a client, or never will
 * @sw: switch
 * @client: id
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_switch_answered(struct rmc_switch *sw, u32 client)
{
	struct rmc_switch_client *c = &sw->client[client];

	if (!c->owed)
		return;
	if (c->write)
		sw->users[c->owed - 1].writes--;
	else
		sw->users[c->owed - 1].reads--;
	c->owed = 0;
	sw->waits--;
}

static void put_client(struct rmc_switch *sw, u32 id)
{
	u16 *link = bucket_of(sw, sw->client[id].key);

	rmc_switch_answered(sw, id);
	while (*link != id + 1)
		link = &sw->client[*link - 1].next;
	*link = sw->client[id].next;
	sw->client[id].key = 0;
	memset(&sw->use[id], 0, sizeof(*sw->use));
	sw->free_client[sw->free_clients++] = id;
}

/* ---- stages: each gets one register of its own, and the packet ---- */

/* 0: a request that was processed before is a duplicate, of the network. */
static void stage_last(struct rmc_switch_last *reg, struct rmc_switch_packet *p)
{
	if ((s32)(p->psn - reg->psn) <= 0) {
		p->verdict = RMC_SWITCH_DROP;
		return;
	}
	reg->psn = p->psn;
}

/* 1: replies do not name their tuple, so the client's request leaves it here. */
static void stage_client(struct rmc_switch_use *reg, struct rmc_switch_packet *p)
{
	u32 request = p->type == RMC_SWITCH_READ_REP ? RMC_SWITCH_READ_REQ : RMC_SWITCH_WRITE_REQ;

	switch (p->type) {
	case RMC_SWITCH_READ_REQ:
	case RMC_SWITCH_WRITE_REQ:
		if (reg->tuple) {
			refuse(p, RMC_S_BUSY);
			break;
		}
		reg->tuple = p->tuple + 1;
		reg->type = p->type;
		break;
	case RMC_SWITCH_READ_REP:
	case RMC_SWITCH_WRITE_REP:
		p->known = reg->tuple == p->tuple + 1 && reg->type == request;
		if (p->known)
			reg->tuple = 0;
		break;
	default:	/* RMC_SWITCH_RELEASE */
		reg->tuple = 0;
	}
}

/* True if the tuple is latched by who sends the packet. A client that comes back has no latches. */
static bool is_mine(const struct rmc_switch_tuple *reg, const struct rmc_switch_packet *p)
{
	return reg->word & RMC_SWITCH_LATCHED && reg->holder == p->holder && reg->era == p->era;
}

/*
 * A compare-and-swap from a word to the next one: the first latches the tuple, the second, by the
 * same client, gives it free without a write. The old word would say to others that they did.
 */
static void latch(struct rmc_switch_tuple *reg, struct rmc_switch_packet *p)
{
	u64 was = reg->word;
	bool latched = was & RMC_SWITCH_LATCHED;

	if (p->operand[1] != p->operand[0] + 1) {
		refuse(p, RMC_S_BAD_OP);
		return;
	}
	/* the version after that must not reach the epoch */
	if (!latched && (was & RMC_SWITCH_VERSION) == RMC_SWITCH_VERSION - 1) {
		refuse(p, RMC_S_NO_VERSION);
		return;
	}
	if (was == p->operand[0]) {
		if (latched && !is_mine(reg, p)) {
			refuse(p, RMC_S_ABORTED);
			return;
		}
		reg->word = was + 1;
		reg->holder = latched ? 0 : p->holder;
		reg->era = p->era;
		p->took = true;
	}
	answer(p, was);
}

/* True if a write has been done before, and its reply was lost: its sender repeats it. */
static bool is_done(const struct rmc_switch_tuple *reg, const struct rmc_switch_packet *p)
{
	return reg->written == p->operand[0] + 1 && reg->writer == p->holder &&
	       reg->writer_era == p->era;
}

static void access_word(struct rmc_switch_tuple *reg, struct rmc_switch_packet *p)
{
	answer(p, reg->word);
	if (p->type == RMC_SWITCH_WORD_FAA)
		reg->word += p->operand[0];
	else if (p->type == RMC_SWITCH_WORD_CAS && reg->word == p->operand[0])
		reg->word = p->operand[1];
}

/* 2: versions and latches. */
static void stage_tuple(struct rmc_switch_tuple *reg, struct rmc_switch_packet *p)
{
	bool mine = is_mine(reg, p);

	switch (p->type) {
	case RMC_SWITCH_READ_REQ:
	case RMC_SWITCH_READ_REP:
		p->version = reg->word;
		break;
	case RMC_SWITCH_READ_VERSION:
		answer(p, reg->word);
		break;
	case RMC_SWITCH_LATCH:
		latch(reg, p);
		break;
	case RMC_SWITCH_WRITE_REQ:
		/* the latch of another client, or of another epoch */
		if (!mine || reg->word != p->operand[0]) {
			p->stale = true;
			if (is_done(reg, p))
				answer(p, reg->written);
			else
				refuse(p, RMC_S_ABORTED);
			break;
		}
		p->word = reg->word + 1;
		p->changed = true;
		break;
	case RMC_SWITCH_WRITE_REP:
		/* a write that failed has changed nothing: the client still has the latch */
		if (!p->known || p->status || !mine)
			break;
		reg->word++;
		reg->written = reg->word;
		reg->writer = p->holder;
		reg->writer_era = p->era;
		reg->holder = 0;
		p->took = true;
		break;
	default:	/* words */
		access_word(reg, p);
	}
}

/* 3: what the version was when the tuple was asked for. */
static void stage_version(struct rmc_switch_seen *reg, struct rmc_switch_packet *p)
{
	if (p->type == RMC_SWITCH_READ_REQ) {
		reg->word = p->version;
		return;
	}
	if (p->status)
		return;		/* no payload */
	p->changed = true;
	p->word = RMC_SWITCH_FAILED;
	if (p->known && reg->word == p->version && !(p->version & RMC_SWITCH_LATCHED))
		p->word = p->version | RMC_SWITCH_VERIFIED;
}

/* 4: the receiver does not count what it is not passed. */
static void stage_offset(struct rmc_switch_offset *reg, struct rmc_switch_packet *p)
{
	if (p->verdict == RMC_SWITCH_ANSWER)
		reg->psn++;
	else
		p->psn -= reg->psn;
}

static bool has_client(const struct rmc_switch_packet *p)
{
	return p->type == RMC_SWITCH_READ_REQ || p->type == RMC_SWITCH_READ_REP ||
	       p->type == RMC_SWITCH_WRITE_REQ || p->type == RMC_SWITCH_WRITE_REP ||
	       p->type == RMC_SWITCH_RELEASE;
}

static bool has_tuple(const struct rmc_switch_packet *p)
{
	return p->type != RMC_SWITCH_OTHER && p->type != RMC_SWITCH_REFUSED &&
	       p->type != RMC_SWITCH_RELEASE;
}

/* True if it makes a tuple hard to demote. Who has latched it may write, or give it free. */
static bool begins(const struct rmc_switch_packet *p)
{
	return p->type == RMC_SWITCH_READ_REQ ||
	       (p->type == RMC_SWITCH_LATCH && !(p->operand[0] & RMC_SWITCH_LATCHED));
}

/* Stages 1 to 3; stage 5 is the caller, who has the packet's fields. */
static void pass(struct rmc_switch *sw, struct rmc_switch_packet *p)
{
	if (has_client(p))
		stage_client(&sw->use[p->client], p);
	if (has_tuple(p))
		stage_tuple(&sw->tuple[p->tuple], p);
	if (p->type == RMC_SWITCH_READ_REQ || p->type == RMC_SWITCH_READ_REP)
		stage_version(&sw->seen[p->client], p);
}

/* The receiver counts what it is passed, and so knows the number of the next packet. */
static void check_psn(struct rmc_switch *sw, const struct rmc_switch_packet *p)
{
	struct rmc_switch_port *port = &sw->port[p->source];

	if (unlikely(p->psn != port->sent + port->passed))
		rmc_switch_count(sw, psn_errors);
	port->passed++;
}

static void count_request(struct rmc_switch *sw, const struct rmc_switch_packet *p)
{
	if (p->verdict == RMC_SWITCH_FORWARD)
		rmc_switch_count(sw, forwarded);
	else if (p->status)
		rmc_switch_count(sw, refused);
	else
		rmc_switch_count(sw, answered);
	if (!p->took)
		return;
	if (p->operand[0] & RMC_SWITCH_LATCHED) {
		rmc_switch_count(sw, unlatches);
		sw->latched--;
	} else {
		rmc_switch_count(sw, latches);
		sw->latched++;
	}
}

/* Of a reply: what it answers is not waited for any more. */
static void count_reply(struct rmc_switch *sw, const struct rmc_switch_packet *p)
{
	const struct rmc_switch_client *c = &sw->client[p->client];
	bool write = p->type == RMC_SWITCH_WRITE_REP;

	if (c->owed == p->tuple + 1 && c->write == write)
		rmc_switch_answered(sw, p->client);
	if (p->changed && p->word == RMC_SWITCH_FAILED)
		rmc_switch_count(sw, failed_reads);
	if (p->took) {
		rmc_switch_count(sw, unlatches);
		sw->latched--;
	}
}

/**
 * rmc_switch_request() - a request arrives at the switch
 * @sw: switch
 * @p: packet; the caller has set what is parsed. @length of an announcement: of all of it
 *
 * The caller does what @verdict says, and what @changed.
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_switch_request(struct rmc_switch *sw, struct rmc_switch_packet *p)
{
	u8 status;

	parse(sw, p);
	stage_last(&sw->last[p->source], p);
	if (p->verdict == RMC_SWITCH_DROP) {
		rmc_switch_count(sw, duplicates);
		return;
	}
	/* not by the unit: by then it might admit what the switch has not seen */
	status = p->type != RMC_SWITCH_OTHER && sw->admit ? sw->admit(sw->arg, p) : RMC_S_OK;
	if (status)
		refuse(p, status);
	if (has_tuple(p) && (sw->crashed || (p->tuple + 1 == sw->closing && begins(p))))
		refuse(p, RMC_S_BUSY);
	if (has_client(p) && !get_client(sw, p))
		refuse(p, RMC_S_BUSY);
	pass(sw, p);
	stage_offset(&sw->offset[p->source], p);
	if (p->stale) {
		struct rmc_switch_packet again = *p;

		/* it has stored its tuple, and cannot go back to stage 1 */
		again.type = RMC_SWITCH_RELEASE;
		pass(sw, &again);
		rmc_switch_count(sw, stale_writes);
	}
	if (p->verdict == RMC_SWITCH_FORWARD) {
		check_psn(sw, p);
		if (has_client(p))
			owe(sw, p);
	}
	count_request(sw, p);
}

/**
 * rmc_switch_reply() - a reply of the storage node arrives at the switch
 * @sw: switch
 * @p: packet, with the status, opcode, offset, length and context of its request
 *
 * The caller does what @changed says.
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_switch_reply(struct rmc_switch *sw, struct rmc_switch_packet *p)
{
	u8 status = p->status;

	parse(sw, p);
	p->status = status;
	if (p->type == RMC_SWITCH_READ_REQ)
		p->type = RMC_SWITCH_READ_REP;
	else if (p->type == RMC_SWITCH_WRITE_REQ)
		p->type = RMC_SWITCH_WRITE_REP;
	else
		p->type = RMC_SWITCH_OTHER;
	p->verdict = RMC_SWITCH_FORWARD;
	if (p->type == RMC_SWITCH_OTHER)
		return;
	/* a tuple that was cold when this was asked for, by who is no client */
	if (!find_client(sw, p)) {
		p->changed = p->type == RMC_SWITCH_READ_REP && !status;
		p->word = RMC_SWITCH_FAILED;
		return;
	}
	pass(sw, p);
	if (sw->crashed)
		p->word = RMC_SWITCH_FAILED;
	count_reply(sw, p);
}

/* ---- connections ---- */

/**
 * rmc_switch_lost() - a request was lost before the switch
 * @sw: switch
 * @source: endpoint of the requester
 *
 * Its receiver counts it all the same: it is passed the mark of a lost packet (filter.h).
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_switch_lost(struct rmc_switch *sw, u32 source)
{
	sw->port[source].passed++;
}

/**
 * rmc_switch_join() - a connection begins
 * @sw: switch
 * @source: endpoint of the requester
 * @psn: number of its first packet
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_switch_join(struct rmc_switch *sw, u32 source, u32 psn)
{
	rmc_switch_leave(sw, source);
	/* what a filter still holds from before is nobody's */
	sw->last[source] = (struct rmc_switch_last){ .psn = psn - 1 };
	memset(&sw->offset[source], 0, sizeof(sw->offset[source]));
	memset(&sw->port[source], 0, sizeof(sw->port[source]));
	sw->port[source].sent = psn;
}

/**
 * rmc_switch_leave() - a connection ends: none of its requests is answered any more
 * @sw: switch
 * @source: endpoint of the requester, whose latches remain, and are nobody's: rmc_switch_unlatch()
 *
 * Context: RRPP worker, does not sleep.
 */
void rmc_switch_leave(struct rmc_switch *sw, u32 source)
{
	u32 i;

	sw->era[source]++;
	for (i = 0; i < RMC_SWITCH_CLIENTS; i++) {
		u64 key = sw->client[i].key;

		if (key && ((key >> 16) - 1) / RMC_REQ_GROUPS == source)
			put_client(sw, i);
	}
}
