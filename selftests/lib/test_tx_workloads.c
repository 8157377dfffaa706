/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The workloads of rmc-tx over nodes of one process: all clients run at once, and what has to hold
 * of the data afterwards does. Damage is found: each condition of TPC-C has a row that is changed.
 */
#include <string.h>
#include "../tap.h"
#include "tpcc.h"
#include "tx_cluster.h"

#ifndef ROUNDS
#define ROUNDS		400		/* transactions of each client */
#endif

static struct cluster c;
static struct tx_client client[CLUSTER_NODES];
static const struct workload *workload;
static int rounds;

static void open_workload(const char *name, unsigned int flags, const struct tx_scale *scale)
{
	static struct rmc_tx_table table[RMC_TX_TABLES_MAX];
	struct rmc_tx_options o = { .table = table, .flags = flags };
	int i;

	workload = workload_find(name);
	o.tables = workload->tables(scale, table);
	o.records = workload_records(workload, scale);
	memset(&c, 0, sizeof(c));
	cluster_open(&c, CLUSTER_NODES, &o);
	for (i = 0; i < CLUSTER_NODES; i++) {
		client[i] = (struct tx_client){
			.workload = workload, .db = c.node[i].db, .scale = *scale, .self = i,
			.nodes = CLUSTER_NODES, .load_seed = 1, .seed = 77 + (uint64_t)i,
		};
		CHECK_EQ(workload->load(&client[i]), 0);
	}
}

static void close_workload(void)
{
	int i;

	for (i = 0; i < CLUSTER_NODES && workload->close; i++)
		workload->close(&client[i]);
	cluster_close(&c);
}

/* NULL, or what is wrong */
static const char *wrong(void)
{
	int64_t sums[TX_SUMS] = { 0 }, is, expected;
	const char *what;
	int i;

	for (i = 0; i < CLUSTER_NODES; i++)
		CHECK_EQ(rmc_tx_quiet(client[i].db), 0);
	for (i = 0; i < CLUSTER_NODES; i++)
		CHECK_EQ(workload->sum(&client[i], sums), 0);
	what = workload->judge(&client[0].scale, sums, &is, &expected);
	return what;
}

static void *run(void *arg)
{
	struct tx_client *l = (struct tx_client *)arg;
	unsigned int kind;
	bool holds = true;
	int i, err;

	for (i = 0; i < rounds && !l->full; i++) {
		err = workload->one(l, &kind);
		if (!err && workload->condition && i % 16 == 8)
			err = workload->condition(l, &holds);
		if (err || !holds) {
			printf("# client %d, transaction %d: %d, %s\n", l->self, i, err,
			       holds ? "holds" : "does not hold");
			CHECK(!"a transaction or a condition fails");
			break;
		}
	}
	return NULL;
}

static uint64_t run_all(void)
{
	pthread_t thread[CLUSTER_NODES];
	uint64_t done = 0;
	int i, k;

	for (i = 0; i < CLUSTER_NODES; i++)
		pthread_create(&thread[i], NULL, run, &client[i]);
	for (i = 0; i < CLUSTER_NODES; i++)
		pthread_join(thread[i], NULL);
	for (k = 0; k < TX_KINDS && workload->kind[k]; k++) {
		uint64_t of_kind = 0;

		for (i = 0; i < CLUSTER_NODES; i++)
			of_kind += client[i].done[k];
		printf("# %s: %llu committed\n", workload->kind[k], (unsigned long long)of_kind);
		CHECK(of_kind);
		done += of_kind;
	}
	return done;
}

/* ---- smallbank, tatp ---- */

static const struct tx_scale small = { .accounts = 60, .subscribers = 40 };

static void consistent(const char *name)
{
	unsigned int flags;

	rounds = ROUNDS;
	for (flags = 0; flags <= (cluster_is_sw() ? RMC_TX_ALL_REMOTE : 0); flags++) {
		open_workload(name, flags, &small);
		CHECK(!wrong());
		run_all();
		CHECK(!wrong());
		close_workload();
	}
}

/* Changes a byte of the first record of a table that is present: in a transaction of its own */
struct damage {
	struct rmc_tx_addr at;
	size_t len;
};

static int damage(struct rmc_tx *t, void *arg)
{
	const struct damage *d = (const struct damage *)arg;
	const uint8_t *p;
	uint8_t byte;
	int err;

	if (!d->len)
		return rmc_tx_delete(t, d->at);
	err = rmc_tx_get(t, d->at, 1, (const void **)&p);
	if (err)
		return err;
	byte = *p ^ 1;
	return rmc_tx_put(t, d->at, &byte, 1);
}

static void damage_one(uint32_t table, uint64_t rid, size_t field, size_t len)
{
	struct damage d = { rmc_tx_at(rmc_tx_record(table, rid), field), len };

	CHECK_EQ(rmc_tx_run(client[0].db, damage, &d), 0);
}

static void run_smallbank(void)
{
	consistent("smallbank");
	open_workload("smallbank", 0, &small);
	damage_one(1, 59, 0, 8);
	CHECK(wrong());
	close_workload();
}

static void run_tatp(void)
{
	uint64_t i;

	consistent("tatp");
	open_workload("tatp", 0, &small);
	damage_one(4, 3, 0, 8);				/* the index */
	CHECK(wrong());
	damage_one(4, 3, 0, 8);
	CHECK(!wrong());
	for (i = 0; tx_peek(&client[0], 3, i, &(char[18]){ 0 }, 18); i++)
		;
	damage_one(3, i, 0, 0);				/* a forwarding that nobody deleted */
	CHECK(wrong());
	close_workload();
}

/* ---- TPC-C ---- */

/* By warehouse, members find the rows that they sum up in their own memory: that is fast. */
static const struct tx_scale tiny = {
	.warehouses = 2, .items = 40, .customers = 12, .orders = 20, .room = 40,
	.by_warehouse = true,
};

static void run_tpcc(void)
{
	static const struct tx_scale anywhere = {
		.warehouses = 2, .items = 40, .customers = 6, .orders = 4, .room = 20,
	};
	int k;

	for (k = 0; k < 2; k++) {
		rounds = k ? ROUNDS / 4 : ROUNDS / 8;
		open_workload("tpcc", 0, k ? &tiny : &anywhere);
		CHECK(!wrong());
		run_all();
		CHECK(!wrong());
		close_workload();
	}
}

static void ends_when_full(void)
{
	struct tx_scale s = tiny;
	int i, full = 0;

	s.warehouses = 1;
	s.room = 2;
	rounds = 100000;
	open_workload("tpcc", 0, &s);
	run(&client[0]);
	run(&client[1]);
	for (i = 0; i < CLUSTER_NODES; i++)
		full += client[i].full;
	CHECK_EQ(full, 2);
	CHECK(!wrong());
	close_workload();
}

/* ---- YCSB ---- */

static const struct tx_scale ycsb[] = {
	/* not as many as transactions that load them have room for */
	{ .keys = 301, .requests = 5, .record_bytes = 256, .structure = "table" },
	{ .keys = 302, .requests = 5, .record_bytes = 1000, .structure = "map" },
	/* blocks with 245 entries: two levels */
	{ .keys = 1000, .requests = 5, .record_bytes = 64, .structure = "tree" },
	{ .keys = 999, .requests = 5, .record_bytes = 64, .structure = "btree" },
};

#define YCSBS	(sizeof(ycsb) / sizeof(ycsb[0]))

static void run_ycsb(void)
{
	static const char *const name[] = { "ycsb-a", "ycsb-b" };
	unsigned int i;

	rounds = ROUNDS / 4;
	for (i = 0; i < 2 * YCSBS; i++) {
		open_workload(name[i % 2], i % 3 ? 0 : RMC_TX_ALL_REMOTE, &ycsb[i / 2]);
		CHECK(!wrong());
		run_all();
		CHECK(!wrong());
		close_workload();
	}
}

/* A key of the structure, which the workload itself never changes */
struct key {
	void *s;
	struct rmc_blocks *blocks;
	uint64_t key;
	bool deletes;
};

static int change_key(struct rmc_tx *t, void *arg)
{
	const struct key *k = (const struct key *)arg;
	int err = rmc_tx_blocks_use(k->blocks, t);

	if (!err && k->deletes)
		return rmc_table_delete((struct rmc_table *)k->s, k->key);
	return err ? err : rmc_table_put((struct rmc_table *)k->s, k->key, 7);
}

static bool wrong_is(const char *text)
{
	const char *what = wrong();

	if (!what || !strstr(what, text))
		printf("# %s, not %s\n", what ? what : "nothing", text);
	return what && strstr(what, text);
}

/* An item that is drawn often: scrambled numbers leave some out */
static uint64_t hot_item(uint64_t keys)
{
	uint64_t seed = 1, item = 0, last;
	struct zipf z;

	zipf_init(&z, keys, 0.99);
	do {
		last = item;
		item = zipf_scrambled(&z, &seed);
	} while (item != last);
	return item;
}

/* The status of the first transaction that does not commit: it has read the hot item */
static int first_refused(void)
{
	unsigned int i, kind;
	int err = 0;

	for (i = 0; i < 200 && !err; i++)
		err = workload->one(&client[0], &kind);
	return err;
}

static void damaged_ycsb(void)
{
	unsigned int i;
	struct key k = { 0 };
	uint64_t item;

	for (i = 0; i < YCSBS; i++) {
		item = hot_item(ycsb[i].keys);
		open_workload("ycsb-a", 0, &ycsb[i]);
		damage_one(1, item, 3, 8);
		CHECK(wrong_is("fields"));
		CHECK_EQ(first_refused(), -EPROTO);
		damage_one(1, item, 3, 8);
		CHECK(!wrong());
		/* an update that is lost, and one of another field */
		client[1].ledger[0]++;
		CHECK(wrong_is("all fields"));
		client[1].ledger[0]--;
		client[1].ledger[1]++;
		CHECK(wrong_is("each field"));
		close_workload();
	}
	open_workload("ycsb-b", 0, &ycsb[0]);
	k.blocks = rmc_tx_blocks_open(client[0].db, 0, RMC_BLOCKS_TABLE, ycsb[0].keys);
	CHECK(k.blocks);
	k.s = rmc_table_open(k.blocks, 0);
	item = hot_item(ycsb[0].keys);
	CHECK(item != 7);
	k.key = 2 * item + 1;
	CHECK_EQ(rmc_tx_run(client[0].db, change_key, &k), 0);
	CHECK(wrong_is("nobody"));
	k.key = 2 * item;
	CHECK_EQ(rmc_tx_run(client[0].db, change_key, &k), 0);
	CHECK(wrong_is("keys of the structure"));
	k.deletes = true;
	CHECK_EQ(rmc_tx_run(client[0].db, change_key, &k), 0);
	CHECK(wrong_is("keys of the structure"));
	CHECK_EQ(first_refused(), -EPROTO);
	rmc_table_close((struct rmc_table *)k.s);
	rmc_blocks_close(k.blocks);
	close_workload();
	open_workload("ycsb-b", 0, &ycsb[1]);
	damage_one(0, 7, 0, 0);				/* a block of the map */
	CHECK(wrong());
	close_workload();
}

#define FIELD(type, field)	offsetof(struct type, field), 8

static void damaged_tpcc(void)
{
	/* what is changed, and the first condition that it violates; 10: weighted payments, too */
	static const struct {
		uint32_t table;
		uint64_t rid;
		size_t field, len;
		const char *condition;
	} all[] = {
		{ WAREHOUSE, 1, FIELD(warehouse, ytd), "condition 1" },
		{ DISTRICT, 3, FIELD(district, next_o), "condition 2" },
		{ NEW_ORDER, 3 * 60 + 16, 0, 0, "condition 3" },
		{ ORDER, 3 * 60 + 2, FIELD(order, lines), "condition 4" },
		{ NEW_ORDER, 3 * 60 + 14, 0, 0, "condition 5" },
		{ ORDER_LINE, (3 * 60 + 2) * 15, 0, 0, "condition 4" },
		{ ORDER_LINE, (3 * 60 + 2) * 15, FIELD(order_line, delivered), "condition 7" },
		{ HISTORY, 52 + 3, FIELD(history_row, amount), "condition 8" },
		{ HISTORY, 52 + 3, FIELD(history_row, customer), "condition 10: weighted" },
		{ CUSTOMER, 17, FIELD(customer, balance), "condition 10" },
		{ CUSTOMER, 17, FIELD(customer, ytd_payment), "condition 10" },
		{ QUEUE, 4, FIELD(queue, oldest), "condition 11" },
		{ ORDER_LINE, (3 * 60 + 2) * 15, FIELD(order_line, amount), "condition 10" },
	};
	const char *what;
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		open_workload("tpcc", 0, &tiny);
		damage_one(all[i].table, all[i].rid, all[i].field, all[i].len);
		what = wrong();
		CHECK(what && strstr(what, all[i].condition));
		if (!what || !strstr(what, all[i].condition))
			printf("# damage %u: %s, not %s\n", i, what ? what : "nothing",
			       all[i].condition);
		close_workload();
	}
}

/* Conditions during the run; and a run in which one did not hold is not consistent. */
static void damaged_during_run(void)
{
	int64_t sums[TX_SUMS] = { 0 }, is, expected;
	int i, wrongs = 0;
	bool holds;

	workload = workload_find("tpcc");
	CHECK(!workload_judge(workload, &tiny, sums, 0, &is, &expected));
	CHECK(workload_judge(workload, &tiny, sums, 7, &is, &expected) && is == 7 && !expected);

	open_workload("tpcc", 0, &tiny);
	damage_one(WAREHOUSE, 0, FIELD(warehouse, ytd));
	damage_one(WAREHOUSE, 1, FIELD(warehouse, ytd));
	CHECK_EQ(tpcc_condition(&client[0], &holds), 0);
	CHECK(!holds);
	close_workload();
	open_workload("tpcc", 0, &tiny);
	for (i = 0; i < 20; i++)
		damage_one(DISTRICT, (uint64_t)i, FIELD(district, next_o));
	CHECK_EQ(tpcc_condition(&client[0], &holds), 0);
	CHECK(!holds);
	close_workload();
	open_workload("tpcc", 0, &tiny);
	for (i = 0; i < 20; i++)
		damage_one(NEW_ORDER, (uint64_t)i * 60 + 15, 0, 0);
	for (i = 0; i < 500; i++) {
		CHECK_EQ(tpcc_condition(&client[0], &holds), 0);
		wrongs += !holds;
	}
	CHECK(wrongs);
	close_workload();
}

/* The transaction that a client draws first with this seed */
static uint64_t seed_of(const struct tx_client *l, unsigned int from_percent)
{
	struct tx_client other = *l;
	uint64_t seed;

	for (seed = 1;; seed++) {
		other.seed = seed;
		if (tx_random(&other, 0, 99) >= from_percent)
			return seed;
	}
}

/* A transaction that changes a number of a record */
struct number {
	struct rmc_tx_addr at;
	uint32_t value;
};

static int set_number(struct rmc_tx *t, void *arg)
{
	const struct number *n = (const struct number *)arg;

	return rmc_tx_put(t, n->at, &n->value, sizeof(n->value));
}

static void set_field(uint32_t table, uint64_t rid, size_t field, uint32_t value)
{
	struct number n = { rmc_tx_at(rmc_tx_record(table, rid), field), value };
	int home = rmc_tx_home(client[0].db, n.at);

	CHECK_EQ(rmc_tx_run(client[home].db, set_number, &n), 0);
}

/* So many items that the last orders of a district have are scarce */
static unsigned int make_scarce(const struct tx_scale *s, uint64_t district, unsigned int n)
{
	static uint8_t seen[1000];
	struct order_line line;
	unsigned int scarce = 0;
	uint64_t o, i;

	memset(seen, 0, sizeof(seen));
	for (o = 0; o < s->orders; o++)
		for (i = 0; i < LINES_MAX; i++) {
			/* of a warehouse of member 0 */
			if (tx_peek(&client[0], ORDER_LINE, tpcc_line(s, district, o, i), &line,
				    sizeof(line)) || seen[line.item]++)
				continue;
			set_field(STOCK, district / DISTRICTS * s->items + line.item,
				  offsetof(struct stock, quantity), scarce < n ? 0 : 100);
			scarce += scarce < n;
		}
	return scarce;
}

static void numbers_in_records(void)
{
	unsigned int kind, found[8] = { 0 };
	struct tx_scale s = tiny;
	uint64_t i;
	int tries, err;

	/* a count that equals a status */
	s.items = 600;
	open_workload("tpcc", 0, &s);
	CHECK_EQ(make_scarce(&s, 0, RMC_TX_SQUASHED), RMC_TX_SQUASHED);
	client[0].seed = seed_of(&client[0], 96);
	CHECK_EQ(tpcc_one(&client[0], &kind), 0);
	CHECK_EQ(kind, STOCK_TX);
	CHECK_EQ(client[0].done[STOCK_TX], 1);
	/* more customers of a name, and more lines of an order, than there can be */
	for (i = 0; i < 2 * DISTRICTS * 12; i++)
		set_field(NAMES_TABLE, i / 12 * NAMES + i % 12, 0, 0x40000000);
	for (tries = err = 0; !err && tries < 200; tries++)
		err = tpcc_one(&client[0], &kind);
	CHECK_EQ(err, -EPROTO);
	CHECK(kind == PAYMENT_TX || kind == STATUS_TX);
	close_workload();
	open_workload("tpcc", 0, &tiny);
	for (i = 0; i < 2 * DISTRICTS * tpcc_orders(&tiny); i++)
		if (i % tpcc_orders(&tiny) < tiny.orders)
			set_field(ORDER, i, offsetof(struct order, carrier), 0x01ffff01);
	for (tries = 0; (!found[DELIVERY_TX] || !found[STATUS_TX]) && tries < 400; tries++) {
		err = tpcc_one(&client[0], &kind);
		CHECK(!err || (err == -EPROTO && (kind == DELIVERY_TX || kind == STATUS_TX)));
		found[kind] += err == -EPROTO;
	}
	CHECK(found[DELIVERY_TX] && found[STATUS_TX]);
	close_workload();
}

/* With more warehouses than members, all of a client's are at its node if they are --by-warehouse. */
static void homes(void)
{
	struct tx_scale s = tiny;
	unsigned int kind, i;
	struct warehouse w;
	int64_t first[10];

	s.warehouses = 10;
	s.items = 1;
	open_workload("tpcc", 0, &s);
	for (i = 0; i < 10; i++) {
		CHECK_EQ(tx_peek(&client[0], WAREHOUSE, i, &w, sizeof(w)), 0);
		first[i] = w.ytd;
	}
	for (i = 0; i < 100 && !client[1].full; i++)
		CHECK_EQ(tpcc_one(&client[1], &kind), 0);
	CHECK_EQ(rmc_tx_quiet(client[1].db), 0);
	CHECK(client[1].done[PAYMENT_TX] > 10);
	/* payments go to the home warehouse */
	for (i = 0; i < 10; i++) {
		CHECK_EQ(tx_peek(&client[0], WAREHOUSE, i, &w, sizeof(w)), 0);
		CHECK_EQ(w.ytd != first[i], i % CLUSTER_NODES == 1);
		CHECK_EQ(rmc_tx_home(c.node[0].db, rmc_tx_record(WAREHOUSE, i)),
			 (int)i % CLUSTER_NODES);
	}
	close_workload();
}

/* Which accounts a payment has changed */
static void both_hot(void)
{
	static const struct tx_scale accounts = { .accounts = 1000 };
	unsigned int i, kind, mixed = 0, both = 0, hot, cold;
	struct tx_client *l = &client[0];
	uint64_t rid;
	int64_t v;

	open_workload("smallbank", 0, &accounts);
	for (i = 0; i < 400 && both + mixed < 30; i++) {
		static int64_t old[1000];

		for (rid = 0; rid < 1000 && !i; rid++) {
			l = &client[rid % CLUSTER_NODES];	/* by its owner: that is fast */
			CHECK_EQ(tx_peek(l, 1, rid, &old[rid], 8), 0);
		}
		l = &client[0];
		CHECK_EQ(l->workload->one(l, &kind), 0);
		CHECK_EQ(rmc_tx_quiet(l->db), 0);
		for (rid = hot = cold = 0; rid < 1000; rid++) {
			CHECK_EQ(tx_peek(&client[rid % CLUSTER_NODES], 1, rid, &v, 8), 0);
			hot += v != old[rid] && rid < 40;
			cold += v != old[rid] && rid >= 40;
			old[rid] = v;
		}
		if (kind != 3)		/* a payment changes both */
			continue;
		mixed += hot && cold;
		both += hot == 2;
	}
	/* of cold pairs few have a hot account by chance */
	CHECK(both > 20 && mixed < 3);
	close_workload();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "smallbank: money", run_smallbank },
		{ "tatp: forwardings and numbers", run_tatp },
		{ "tpcc: twelve conditions, three during the run", run_tpcc },
		{ "ycsb: fields, keys and updates, over each structure", run_ycsb },
		{ "ycsb: damage and lost updates are found", damaged_ycsb },
		{ "tpcc: a run ends when there is no more room", ends_when_full },
		{ "tpcc: each condition finds damage", damaged_tpcc },
		{ "tpcc: those during the run find damage", damaged_during_run },
		{ "tpcc: numbers in records are checked", numbers_in_records },
		{ "tpcc: clients have warehouses of their own", homes },
		{ "smallbank: two accounts are both hot, or both of all", both_hot },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
