/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * One member of a team whose members read and write each other's objects:
 * prog_sync ROW|SYSTEM [OPTION...], options spec, combine, async, write-unlatch, excl, detached,
 * nic-rpc; lossy: links lose packets.
 * Each object but the last is a count, repeated: no read is a mixture, and no update is lost.
 * The last one of each member is also written by that member's CPU.
 * With dies RMC-SYNC, member 1 ends with two latched objects of member 0, the first one half written if
 * it is written in place. Member 0 lets that program release them, with json as an option; keep: data
 * as it is; spoilt: of the first one the copy out of place is none.
 * With holder-dies and nic-rpc member 1 has half written one of two; member 0, which has the latches,
 * learns that it is dead, and goes on.
 * Prints "member N: ok ...", or the failed check and fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "member.h"

#define LEN		400
#define WORDS		(LEN / sizeof(uint64_t))
#define OBJECTS		3		/* of each member */
#define STEPS		400
#define SLOTS		64
#define NODES		8		/* members at most */
#define LINE_BYTES	64

static struct rmc_sync_options o = {
	.max = LEN, .attempts = 1000000, .buffers = 4,
	.backoff_ns = 1000, .backoff_max_ns = 100000, .grace_us = 50000,
};

static const struct rmc_scheme *layout;
static struct rmc_sync *s;
static const char *recovers;
static int json, keep, spoilt, lossy, holder_dies;
static size_t step;
static uint64_t seed, torn, lost;

/* Latches by messages: of this member's objects, and calls to those of others */
static struct rmc_msg *messages;
static int done;			/* members that need no latch any more */

/* What a member tells the others: behind its objects */
struct report {
	uint64_t added[NODES][OBJECTS];
	uint64_t lost;			/* operations, or behind one that was */
};

static unsigned int rnd(unsigned int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)(seed >> 33) % n;
}

static size_t report_at(void)
{
	return OBJECTS * step;
}

/* Detached latches, then the pools of all members */
static size_t latches_at(void)
{
	return report_at() + ((sizeof(struct report) + 63) & ~(size_t)63);
}

static size_t pool_at(int member)
{
	return latches_at() + 64 + (size_t)member * SLOTS * rmc_sync_copy_bytes(LEN);
}

static size_t messages_at(void)
{
	return pool_at(NODES);
}

static unsigned int cells(void)
{
	return rmc_rpc_cells(RMC_LATCH_REQUEST, 8);
}

static int answer(void *arg, int nid, const void *request, size_t len, void *response, size_t size)
{
	(void)arg;
	if (len == 1) {
		done++;
		return 0;
	}
	return rmc_latch_serve(o.latch_server, nid, request, len, response, size);
}

static void open_latches(void)
{
	struct rmc_latch_server_options so = {
		.nodes = team->nodes, .first_nid = team->first_nid, .holds = 16,
		.bytes = team->offset + OBJECTS * step,
	};
	struct rmc_rpc_options ro = {
		.max = RMC_LATCH_REQUEST, .window = 8, .nodes = team->nodes,
		.first_nid = team->first_nid, .qp = team->qp, .handler = answer,
	};
	struct rmc_msg_options mo;

	rmc_msg_defaults(&mo);
	mo.at = messages_at();
	mo.cells = cells();
	o.latch_server = rmc_latch_server_open(&so);
	messages = rmc_msg_open_with(team, &mo);
	CHECK(o.latch_server && messages);
	o.rpc = rmc_rpc_open(messages, &ro);
	CHECK(o.rpc);
	if (lossy)
		rmc_rpc_set_timeout(o.rpc, 20);
}

/* Serves until no member needs a latch any more: all of them are free then. */
static void serve_others(void)
{
	struct rmc_latch_server_stats stats;
	unsigned int spins = 0;
	int m;

	if (!o.rpc)
		return;
	rmc_rpc_set_timeout(o.rpc, -1);
	for (m = 0; m < team->nodes; m++)
		if (m != team->self)
			OK(rmc_rpc_call(o.rpc, rmc_team_nid(team, m), "d", 1, NULL, 0, NULL));
	while (done < team->nodes - 1) {
		CHECK(rmc_rpc_progress(o.rpc) >= 0);
		OK(rmc_relax(team->qp, &spins));
	}
	rmc_latch_server_stats(o.latch_server, &stats);
	CHECK(!stats.holds && !stats.objects && !stats.invalid && stats.granted > 0);
	done = 0;
}

static int mixed(const void *p)
{
	const uint64_t *data = (const uint64_t *)p;
	unsigned int i;

	for (i = 1; i < WORDS; i++)
		if (data[i] != data[0])
			return 1;
	return 0;
}

static void fill(void *p, uint64_t value)
{
	uint64_t *data = (uint64_t *)p;
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		data[i] = value;
}

static struct rmc_object *mine(unsigned int k)
{
	return (struct rmc_object *)(void *)((uint8_t *)team->seg + k * step);
}

static uint64_t address(int member, unsigned int k)
{
	return rmc_sync_addr(rmc_team_nid(team, member), team->offset + k * step);
}

static void read_one(int member, unsigned int k, struct rmc_hold *h)
{
	int err, was_mixed;

	OK(rmc_sync_read(s, address(member, k), h));
	was_mixed = mixed(h->data);
	err = rmc_sync_end(s, h);
	CHECK(err == 0 || err == RMC_SCHEME_TORN);
	CHECK(err || !was_mixed);
	torn += err == RMC_SCHEME_TORN;
}

static void write_one(int member, unsigned int k, struct rmc_hold *h)
{
	struct report *r = (struct report *)(void *)((uint8_t *)team->seg + report_at());
	int err, upgrades = rnd(4) == 0;

	err = upgrades ? rmc_sync_read(s, address(member, k), h) :
	      rmc_sync_write(s, address(member, k), h);
	OK(err);
	if (upgrades && (err = rmc_sync_upgrade(s, h))) {
		CHECK(err == RMC_SCHEME_TORN || err == RMC_SCHEME_LOCKED);
		torn++;
		return;
	}
	CHECK(!mixed(h->data));
	fill(h->data, *(uint64_t *)h->data + 1);
	err = rmc_sync_commit(s, h);
	CHECK(err == 0 || err == RMC_SCHEME_TORN);
	r->added[member][k] += !err;
	torn += !!err;
}

/* The member's CPU, on its own memory */
static void own(void)
{
	uint8_t data[LEN];
	unsigned int k = rnd(OBJECTS);
	int err = rmc_scheme_read(layout, mine(k), data, LEN);

	if (err == -EOPNOTSUPP)
		return;
	CHECK(err == 0 || err == RMC_SCHEME_TORN || err == RMC_SCHEME_LOCKED);
	CHECK(err || !mixed(data));
	if (k < OBJECTS - 1)
		return;
	fill(data, rnd(1000000));
	err = rmc_scheme_write(layout, mine(k), data, LEN, NULL);
	CHECK(err == 0 || err == RMC_SCHEME_LOCKED);
}

static void run(int members)
{
	static struct rmc_hold h[NODES][OBJECTS];
	struct rmc_sync_stats stats;
	unsigned int i, k;
	int m;

	for (m = 0; m < members; m++)
		for (k = 0; k < OBJECTS; k++)
			h[m][k].len = LEN;
	for (i = 0; i < STEPS; i++) {
		m = (int)rnd((unsigned int)members);
		k = rnd(OBJECTS);
		if (rnd(3))
			read_one(m, k, &h[m][k]);
		else
			write_one(m, k, &h[m][k]);
		own();
	}
	OK(rmc_sync_drain(s));
	rmc_sync_stats(s, &stats);
	((struct report *)(void *)((uint8_t *)team->seg + report_at()))->lost = stats.lost;
}

/* Of another member; packets of this read may be lost as well */
static void read_report(int n, struct report *to)
{
	int i, err;

	for (i = 0; i < 20; i++) {
		err = rmc_read(team->qp, rmc_team_nid(team, n), team->offset + report_at(), to,
			       sizeof(*to));
		if (!lossy || err != RMC_S_TIMEOUT)
			break;
	}
	OK(err);
}

/* Counts are what all members together have added. */
static void sums(int members)
{
	static struct report all[NODES];
	struct rmc_hold h = { .len = LEN };
	uint64_t sum;
	unsigned int k;
	int m, n;

	CHECK(rmc_buf_register(team->ctx, all, sizeof(all)) >= 0);
	for (n = 0; n < team->nodes; n++) {
		read_report(n, &all[n]);
		lost += all[n].lost;
	}
	for (m = 0; m < members; m++) {
		for (k = 0; k < OBJECTS - 1; k++) {
			for (n = 0, sum = 0; n < team->nodes; n++)
				sum += all[n].added[m][k];
			OK(rmc_sync_read(s, address(m, k), &h));
			CHECK(!mixed(h.data));
			CHECK(*(uint64_t *)h.data == sum);
			OK(rmc_sync_end(s, &h));
		}
	}
	OK(rmc_sync_drain(s));
}

static void parse(int argc, char **argv)
{
	const struct rmc_sync_system *system = argc > 1 ? rmc_sync_system_find(argv[1]) : NULL;
	int i;

	o.scheme = argc > 1 ? rmc_sync_find(argv[1]) : NULL;
	if (system)
		OK(rmc_sync_system_use(system, &o));
	if (!o.scheme)
		exit(2);
	for (i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "spec"))
			o.flags |= RMC_SYNC_SPEC;
		else if (!strcmp(argv[i], "combine"))
			o.flags |= RMC_SYNC_COMBINE;
		else if (!strcmp(argv[i], "async"))
			o.flags |= RMC_SYNC_ASYNC;
		else if (!strcmp(argv[i], "write-unlatch"))
			o.flags |= RMC_SYNC_WRITE_UNLATCH;
		else if (!strcmp(argv[i], "excl"))
			o.latch = RMC_LATCH_EXCL;
		else if (!strcmp(argv[i], "detached"))
			o.latch = RMC_LATCH_DETACHED;
		else if (!strcmp(argv[i], "nic-rpc"))
			o.latch = RMC_LATCH_NIC_RPC;
		else if (!strcmp(argv[i], "holder-dies"))
			holder_dies = 1;
		else if (!strcmp(argv[i], "json"))
			json = 1;
		else if (!strcmp(argv[i], "keep"))
			keep = 1;
		else if (!strcmp(argv[i], "lossy"))
			lossy = 1;
		else if (!strcmp(argv[i], "spoilt"))
			spoilt = 1;
		else if (!strcmp(argv[i], "dies") && i + 1 < argc)
			recovers = argv[++i];
		else
			exit(2);
	}
}

/* What has been released: zeros, or what was found of it */
static void check_recovered(unsigned int k)
{
	struct rmc_hold h = { .len = LEN };
	const uint8_t *data;
	unsigned int i, n;

	OK(rmc_sync_write(s, address(0, k), &h));
	data = (const uint8_t *)h.data;
	for (i = n = 0; i < LEN; i++) {
		CHECK(!data[i] || data[i] == 0x55);
		n += data[i] == 0x55;
	}
	/* of a line with a version, a part is data */
	CHECK(keep && !k ? n == LINE_BYTES || n == LINE_BYTES - 2 : !n);
	OK(rmc_sync_cancel(s, &h));
}

/* Nobody but rmc-sync knows that member 1 is dead. */
static int dead_member(void)
{
	struct rmc_hold h = { .len = LEN };
	int unlatches = !!(o.flags & RMC_SYNC_WRITE_UNLATCH);
	static uint8_t before[LEN];
	char command[400];
	unsigned int k;

	for (k = 0; team->self && k < 2; k++)
		OK(rmc_sync_write(s, address(0, k), &h));
	OK(rmc_team_barrier(team));
	if (team->self) {
		printf("member 1: ok\n");
		fflush(stdout);
		_exit(0);
	}
	snprintf(command, sizeof(command), "%s recover --scheme %s%s --owner %d --at %llu --tuples %d "
		 "--bytes %d --pad 1 --dead %d --torn %s%s", recovers, o.scheme->name,
		 unlatches ? " --opt write-unlatch" : "", rmc_team_nid(team, 0),
		 (unsigned long long)team->offset, OBJECTS, LEN, rmc_team_nid(team, 1),
		 keep ? "keep" : "zero", json ? " --json" : "");
	if (spoilt)
		((uint64_t *)team->seg)[8] = 77;	/* the home copy's key */
	/* a line of the write that member 1 did not bring to its end */
	else if (!(o.scheme->needs & RMC_NEEDS_POOL))
		memset((uint8_t *)team->seg + LINE_BYTES, 0x55, LINE_BYTES);
	memcpy(before, (uint8_t *)team->seg + 64, LEN);
	k = (unsigned int)system(command);
	CHECK(WIFEXITED(k) && WEXITSTATUS(k) == (spoilt ? 1 : 0));
	/* it stays as it was, latched */
	CHECK(!spoilt || !memcmp(before, (uint8_t *)team->seg + 64, LEN));
	CHECK(!spoilt || (*(uint64_t *)team->seg & 1ULL << 58));
	for (k = (unsigned int)spoilt; k < OBJECTS; k++)
		check_recovered(k);
	OK(rmc_sync_drain(s));
	printf("member 0: ok, recovered\n");
	fflush(stdout);
	_exit(0);
}

static void take_over(uint64_t offset, struct rmc_hold *h)
{
	unsigned int spins = 0;

	OK(rmc_sync_take_over(s, rmc_sync_addr(rmc_team_nid(team, 0), offset),
			      rmc_team_nid(team, 1), h));
	CHECK(h->torn);
	fill(h->data, 7);
	OK(rmc_sync_commit(s, h));
	OK(rmc_relax(team->qp, &spins));
}

/* Member 1 holds two objects, and a third one as a reader, when it is gone. */
static int dead_holder(void)
{
	struct rmc_hold h[OBJECTS] = { { .len = LEN }, { .len = LEN }, { .len = LEN } };
	int nid = rmc_team_nid(team, 1), left;
	unsigned int k, spins = 0;
	uint64_t offset;

	if (team->self) {
		for (k = 0; k < 2; k++)
			OK(rmc_sync_write(s, address(0, k), &h[k]));
		OK(rmc_sync_read(s, address(0, 2), &h[2]));
		fill(h[0].data, 5);
		OK(rmc_write(team->qp, rmc_team_nid(team, 0), team->offset + 64, h[0].data, 64));
		printf("member 1: ok\n");
		fflush(stdout);
		_exit(0);
	}
	while (!rmc_rpc_lost(o.rpc, nid)) {
		CHECK(rmc_rpc_progress(o.rpc) >= 0);
		OK(rmc_relax(team->qp, &spins));
	}
	OK(rmc_sync_read(s, address(0, 2), &h[2]));
	OK(rmc_sync_end(s, &h[2]));
	CHECK(rmc_sync_write(s, address(0, 2), &h[2]) == RMC_SCHEME_LOCKED);
	left = rmc_latch_server_dead(o.latch_server, nid);
	CHECK(left == 2);
	OK(rmc_sync_write(s, address(0, 2), &h[2]));
	OK(rmc_sync_commit(s, &h[2]));
	CHECK(rmc_sync_write(s, address(0, 0), &h[0]) == RMC_SCHEME_LOCKED);
	while (!rmc_latch_server_left(o.latch_server, nid, 0, &offset))
		take_over(offset, &h[0]);
	for (k = 0; k < OBJECTS; k++) {
		OK(rmc_sync_write(s, address(0, k), &h[k]));
		CHECK(!mixed(h[k].data) && *(uint64_t *)h[k].data == (k < 2 ? 7 : 0));
		OK(rmc_sync_cancel(s, &h[k]));
	}
	printf("member 0: ok, %d taken over\n", left);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	struct rmc_team_options t = { .numa_node = -1 };
	struct rmc_qp *qp;
	unsigned int k;
	int members;

	parse(argc, argv);
	if (o.scheme->fetch == RMC_FETCH_SABRE)
		t.flags = RMC_TEAM_OBJECTS;
	layout = rmc_sync_layout(&o);
	if (!layout)
		exit(2);
	step = o.stride ? o.stride : rmc_scheme_bytes(layout, LEN) + 64;
	team = rmc_team_open_with(&t, messages_at() + rmc_msg_bytes(NODES, cells()));
	if (!team || team->nodes > NODES) {
		printf("no team: %s\n", rmc_errmsg());
		return 1;
	}
	for (k = 0; k < OBJECTS; k++)
		rmc_scheme_init(layout, mine(k), LEN);
	OK(rmc_team_barrier(team));
	seed = 0x9e3779b97f4a7c15ULL * ((uint64_t)team->self + 1);
	/* copies are in the memory of one node only */
	members = o.scheme->needs & RMC_NEEDS_POOL ? 1 : team->nodes;
	o.nid = team->first_nid + team->self;
	o.pool = team->offset + pool_at(team->self);
	o.pool_slots = SLOTS;
	o.pool_nid = rmc_team_nid(team, 0);
	o.latches = team->offset + latches_at();
	o.base = team->offset;
	o.stride = step;
	o.objects = OBJECTS;
	if (o.latch == RMC_LATCH_NIC_RPC)
		open_latches();
	if (holder_dies)
		o.attempts = 8;
	qp = rmc_qp_create_with(team->ctx, 64, o.flags & ~RMC_SYNC_ASYNC ? RMC_QP_ORDERED : 0);
	CHECK(qp != NULL);
	s = rmc_sync_open(qp, &o);
	if (!s)
		printf("member %d: %s\n", team->self, rmc_errmsg());
	CHECK(s != NULL);
	if (recovers)
		return dead_member();
	if (holder_dies)
		return dead_holder();
	run(members);
	serve_others();
	OK(rmc_team_barrier(team));
	sums(members);
	serve_others();
	OK(rmc_team_barrier(team));
	rmc_sync_close(s);
	if (o.rpc) {
		rmc_rpc_close(o.rpc);
		rmc_msg_close(messages);
		rmc_latch_server_close(o.latch_server);
	}
	rmc_qp_destroy(qp);
	printf("member %d: ok, %lu changed meanwhile, %lu lost by all\n", team->self,
	       (unsigned long)torn, (unsigned long)lost);
	rmc_team_close(team);
	return 0;
}
