// SPDX-License-Identifier: GPL-2.0
/*
 * Coordinators and participants of three nodes, with messages that are lost, doubled and overtake
 * each other. Transfers keep the sum of all accounts, and stamps, lines that are written as a whole
 * without being read, are equal at all nodes: each audit that commits has to see that.
 */
#include "tx_bed.h"
#include "kmod/tx/coord.h"

#define NODES		3
#define SLOTS		3
#define ACCOUNTS	4	/* of a node; the line behind them is its stamp */
#define STAMP		ACCOUNTS
#define PLACES		(NODES * (ACCOUNTS + 1))
#define BALANCE		1000
#define BAG		512
#ifdef __SANITIZE_ADDRESS__
#define STEPS		1000000
#else
#define STEPS		4000000
#endif

enum kind { TRANSFER, STAMPS, AUDIT };
enum type { ACCESS, ACCESS_REPLY, CONTROL, CONTROL_REPLY, DATA, HINT };

/* A transaction: bit n * (ACCOUNTS + 1) + line of its masks stands for a line */
static struct run {
	bool on;
	enum kind kind;
	u32 gen, reads, owns, writes, got;
	u64 value[PLACES], fresh[PLACES];
} run[NODES][SLOTS];

static struct message {
	enum type type;
	u32 to, place;
	struct rmc_txid id;
	struct rmc_tx_msg msg;
	u64 value;
	u8 status;
} bag[BAG];

static struct bed bed[NODES];
static struct rmc_tx_coord coord[NODES];
static u32 bagged, committed[3], squashed, refused_late;
static u64 stamps;
static bool draining, quiet;

static u32 random32(u32 n)
{
	static u64 s = 0x853c49e6748fea9bULL;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (s >> 11) % n;
}

static u32 node_of(u32 place)
{
	return place / (ACCOUNTS + 1);
}

static u64 offset_of(u32 place)
{
	return BED_START + 64 * (3 + place % (ACCOUNTS + 1));
}

static u64 *word_at(u32 place)
{
	return (u64 *)bed_at(&bed[node_of(place)], offset_of(place));
}

/* A full bag loses it */
static void send(struct message m)
{
	if (bagged < BAG)
		bag[bagged++] = m;
}

/* ---- the side of the coordinator ---- */

static struct rmc_txid id_of(u32 n, u32 slot)
{
	return tx(n, slot, run[n][slot].gen);
}

static void send_accesses(u32 n, u32 slot)
{
	struct run *r = &run[n][slot];
	u32 place;

	for (place = 0; place < PLACES; place++)
		if ((r->reads | r->owns) & ~r->got & 1U << place)
			send((struct message) { .type = ACCESS, .to = node_of(place), .place = place,
						.id = id_of(n, slot), .status = !!(r->owns & 1U << place) });
}

static void start(u32 n, u32 slot)
{
	struct run *r = &run[n][slot];
	u32 a = random32(NODES * ACCOUNTS), c = random32(NODES * ACCOUNTS), place;

	memset(r, 0, sizeof(*r));
	if (rmc_tx_coord_begin(&coord[n], slot, &r->gen))
		return;
	r->on = true;
	r->kind = random32(3) ? TRANSFER : random32(2) ? STAMPS : AUDIT;
	a += a / ACCOUNTS;
	c += c / ACCOUNTS;
	for (place = 0; place < PLACES; place++) {
		bool stamp = place % (ACCOUNTS + 1) == STAMP;

		if (r->kind == AUDIT || (r->kind == TRANSFER && (place == a || place == c)))
			r->reads |= 1U << place;
		if ((r->kind == STAMPS && stamp) || (r->kind == TRANSFER && (place == a || place == c)))
			r->writes |= 1U << place;
	}
	/* one of them to write parts of it */
	if (r->kind == TRANSFER && random32(2)) {
		r->reads &= ~(1U << a);
		r->owns |= 1U << a;
	}
	stamps++;
	for (place = 0; place < PLACES; place++) {
		r->fresh[place] = stamps;
		if ((r->reads | r->owns | r->writes) & 1U << place)
			CHECK_EQ(rmc_tx_coord_touch(&coord[n], slot, node_of(place),
						    !(r->kind == STAMPS)), 0);
	}
	send_accesses(n, slot);
}

/* All accesses are answered: what it writes, and commit */
static void advance(u32 n, u32 slot)
{
	struct run *r = &run[n][slot];
	u32 place, sum = 0, amount;

	if (!r->on || r->got != (r->reads | r->owns) ||
	    coord[n].slot[slot].phase != RMC_TX_EXECUTING)
		return;
	if (r->kind == TRANSFER) {
		for (place = 0; place < PLACES; place++)
			if (r->writes & 1U << place)
				sum += r->value[place];
		amount = random32(sum + 1);
		for (place = 0; place < PLACES; place++)
			if (r->writes & 1U << place) {
				/* one account alone: both are the same */
				r->fresh[place] = hweight64(r->writes) == 1 ? sum : amount;
				amount = sum - amount;
			}
	}
	CHECK_EQ(rmc_tx_coord_commit(&coord[n], slot), 0);
}

static void check_audit(const struct run *r)
{
	u64 sum = 0;
	u32 place;

	for (place = 0; place < PLACES; place++)
		if (place % (ACCOUNTS + 1) == STAMP)
			CHECK_EQ(r->value[place], r->value[STAMP]);
		else
			sum += r->value[place];
	CHECK_EQ(sum, NODES * ACCOUNTS * BALANCE);
}

static void collect(u32 n)
{
	struct rmc_tx_msg msg;
	u32 slot, place;
	u8 status;

	while (rmc_tx_coord_next(&coord[n], &msg)) {
		struct run *r = &run[n][msg.slot];

		for (place = 0; msg.kind == RMC_TX_COMMIT && place < PLACES; place++)
			if (r->writes & 1U << place && node_of(place) == msg.nid)
				send((struct message) { .type = DATA, .to = msg.nid, .place = place,
							.id = id_of(n, msg.slot), .value = r->fresh[place] });
		send((struct message) { .type = CONTROL, .to = msg.nid, .id = id_of(n, msg.slot),
					.msg = msg, .place = r->writes });
	}
	while (rmc_tx_coord_ended(&coord[n], &slot, &status)) {
		struct run *r = &run[n][slot];

		if (status)
			squashed++;
		else
			committed[r->kind]++;
		if (!status && r->kind == AUDIT)
			check_audit(r);
		CHECK(status != RMC_S_TX_PART_LOST);
		CHECK(status != RMC_S_PROTOCOL);
		r->on = false;
	}
}

static void access_answered(const struct message *m)
{
	u32 n = m->id.source, slot = m->id.slot;
	struct run *r = &run[n][slot];

	if (!r->on || r->gen != m->id.gen || coord[n].slot[slot].phase != RMC_TX_EXECUTING)
		return;
	/* locked: again, later */
	if (m->status == RMC_S_TX_LOCKED)
		return;
	if (m->status) {
		rmc_tx_coord_abort(&coord[n], slot, m->status);
		return;
	}
	if (!(r->got & 1U << m->place)) {
		r->got |= 1U << m->place;
		r->value[m->place] = m->value;
	}
	advance(n, slot);
}

/* ---- the side of the participant ---- */

static u8 serve_intend(const struct message *m)
{
	struct rmc_tx_range r[ACCOUNTS + 1];
	u32 place, n = 0;

	for (place = 0; place < PLACES; place++)
		if (node_of(place) == m->to && m->place & 1U << place)
			r[n++] = (struct rmc_tx_range) { .offset = offset_of(place), .length = 64 };
	return rmc_tx_part_intend(bed[m->to].p, &m->id, m->msg.flags, r, n);
}

static void serve(const struct message *m)
{
	struct message reply = *m;
	struct bed *b = &bed[m->to];
	struct rmc_txid loser;
	u64 line[8] = { m->value, 1, 2, 3, 4, 5, 6, 7 };

	reply.to = m->id.source;
	if (m->type == ACCESS) {
		reply.type = ACCESS_REPLY;
		reply.status = rmc_tx_part_access(b->p, &m->id, m->status ? RMC_TX_OWN : RMC_TX_READ,
						  offset_of(m->place), 8);
		reply.value = *word_at(m->place);
		send(reply);
	} else if (m->type == DATA) {
		refused_late += rmc_tx_part_data(b->p, &m->id, offset_of(m->place), (u8 *)line, 64) != 0;
	} else {
		reply.type = CONTROL_REPLY;
		reply.status = m->msg.kind == RMC_TX_INTEND ? serve_intend(m) :
			       rmc_tx_part_close(b->p, &m->id, 0,
						 m->msg.kind == RMC_TX_COMMIT);
		send(reply);
	}
	while (rmc_tx_part_hint(b->p, &loser))
		send((struct message) { .type = HINT, .to = loser.source, .id = loser, .value = m->to });
}

static void deliver(void)
{
	u32 i = random32(bagged);
	struct message m = bag[i];

	/* some stay, and come again */
	if (draining || random32(12))
		bag[i] = bag[--bagged];
	if (!draining && !random32(30))
		return;
	switch (m.type) {
	case ACCESS_REPLY:
		access_answered(&m);
		break;
	case CONTROL_REPLY:
		rmc_tx_coord_answer(&coord[m.id.source], &m.msg, m.status);
		break;
	case HINT:
		rmc_tx_coord_squash(&coord[m.to], m.id.slot, m.id.gen, m.value);
		break;
	default:
		serve(&m);
		return;
	}
	collect(m.to);
}

static void tick(u32 n, u32 slot)
{
	if (!run[n][slot].on && rmc_tx_coord_is_free(&coord[n], slot)) {
		if (!draining && (!quiet || !random32(40)))
			start(n, slot);
		advance(n, slot);
	} else if (coord[n].slot[slot].phase == RMC_TX_EXECUTING) {
		send_accesses(n, slot);
	} else {
		rmc_tx_coord_resend(&coord[n], slot);
	}
	if (!random32(60))
		rmc_tx_coord_expire(&coord[n], slot);
	collect(n);
}

static bool at_rest(void)
{
	u32 n, slot;

	for (n = 0; n < NODES; n++)
		for (slot = 0; slot < SLOTS; slot++)
			if (!rmc_tx_coord_is_free(&coord[n], slot))
				return false;
	return !bagged;
}

static void begin(void)
{
	struct rmc_tx_limits limits = bed_limits();
	u32 n, place;

	for (n = 0; n < NODES; n++) {
		limits.self = n;
		bed_begin_with(&bed[n], &limits, NULL);
		rmc_tx_coord_init(&coord[n], n, -20);
	}
	for (place = 0; place < PLACES; place++)
		*word_at(place) = place % (ACCOUNTS + 1) == STAMP ? 0 : BALANCE;
}

static void test_transfers(void)
{
	u32 step, n, place, held = 0;
	u64 sum = 0;

	begin();
	for (step = 0; step < STEPS && tap_failures < 5; step++) {
		/* an audit takes long, and needs times when little happens */
		quiet = step / 10000 % 2;
		if (bagged && random32(8))
			deliver();
		else
			tick(random32(NODES), random32(SLOTS));
		if (!random32(20000))
			rmc_tx_part_silent(bed[random32(NODES)].p, random32(NODES));
	}
	/* without new ones, and without losses, all come to an end, and nothing is held */
	draining = true;
	for (step = 0; step < 100000 && !at_rest(); step++)
		if (bagged && random32(8))
			deliver();
		else
			tick(random32(NODES), random32(SLOTS));
	CHECK(at_rest());
	for (n = 0; n < NODES; n++)
		held += bed[n].p->locks;
	CHECK_EQ(held, 0);
	for (place = 0; place < PLACES; place++)
		if (place % (ACCOUNTS + 1) == STAMP)
			CHECK_EQ(*word_at(place), *word_at(STAMP));
		else
			sum += *word_at(place);
	CHECK_EQ(sum, NODES * ACCOUNTS * BALANCE);
	printf("# %u transfers, %u stamps, %u audits committed; %u squashed; %u DATA refused, late\n",
	       committed[TRANSFER], committed[STAMPS], committed[AUDIT], squashed, refused_late);
	CHECK(committed[TRANSFER] > STEPS / 2000 && committed[STAMPS] > STEPS / 4000 &&
	      committed[AUDIT] > STEPS / 20000);
	for (n = 0; n < NODES; n++)
		bed_end(&bed[n]);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "tx: transfers, stamps and audits over messages in disorder", test_transfers },
	};

	return tap_run(tests, ARRAY_SIZE(tests));
}
