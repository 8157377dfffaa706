// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions that the RMC commits: the ioctls and their errors, conflicts between processes, what
 * a process leaves behind that ends at any time, memory that is withdrawn meanwhile.
 */
#include <signal.h>
#include <sys/mman.h>
#include "common.h"

#define SEG		(16 * PAGE)
#define LOCAL_BYTES	((sizeof(struct rmc_tx_local) + PAGE - 1) & ~(PAGE - 1))
#define LOCKS_BYTES	((sizeof(struct rmc_tx_locks) + PAGE - 1) & ~(PAGE - 1))

static struct end owner, user;

static struct rmc_tx_reg reg_of(uint64_t offset, uint64_t length)
{
	return (struct rmc_tx_reg){ .size = sizeof(struct rmc_tx_reg), .offset = offset,
				    .length = length };
}

static int tx_reg(struct end *e, struct rmc_tx_reg *r)
{
	return ioctl(rmc_fd(e->ctx), RMC_IOC_TX_REG, r);
}

static int tx_unreg(struct end *e)
{
	struct rmc_tx_reg r = reg_of(0, 0);

	return tx_reg(e, &r);
}

/* Memory that rmcd can have as well, with an inaccessible page behind it */
static void *shared(size_t len)
{
	uint8_t *p = mmap(NULL, len + PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			  0);

	REQUIRE(p != MAP_FAILED);
	REQUIRE(!mprotect(p + len, PAGE, PROT_NONE));
	return p;
}

static void prepare(void)
{
	end_open(&owner, CTX, 0, SEG, 0, 0);
	end_open(&user, CTX, 1, 0, PAGE, 16);
}

/* Statuses of a plain write and an atomic of @user at an offset of @owner's segment */
static void expect_plain(uint64_t offset, int want)
{
	uint64_t old;

	CHECK_EQ(rmc_write(user.qp, 0, offset, user.buf, 64), want);
	CHECK_EQ(rmc_faa(user.qp, 0, offset, 1, &old), want);
	CHECK_EQ(rmc_read(user.qp, 0, offset, user.buf, 64), RMC_S_OK);
}

TEST(plain_writes_in_the_range_are_refused)
{
	struct rmc_tx_reg r = reg_of(PAGE, 2 * PAGE);

	prepare();
	REQUIRE(!tx_reg(&owner, &r));
	expect_plain(0, RMC_S_OK);
	expect_plain(PAGE - 64, RMC_S_OK);
	expect_plain(PAGE, RMC_S_READ_ONLY);
	expect_plain(3 * PAGE - 64, RMC_S_READ_ONLY);
	expect_plain(3 * PAGE, RMC_S_OK);
	CHECK_EQ(rmc_write(user.qp, 0, PAGE - 64, user.buf, 128), RMC_S_READ_ONLY);
	REQUIRE(!tx_unreg(&owner));
	expect_plain(PAGE, RMC_S_OK);
	CHECK_ERRNO(tx_unreg(&owner), ENOENT);
}

TEST(fields_of_a_range)
{
	static const struct { uint64_t offset, length; } outside[] = {
		{ 32, 64 }, { 64, 32 }, { 0, SEG + 64 }, { SEG, 64 }, { 1ULL << 40, 64 },
		{ ~63ULL, 128 }, { 64, ~63ULL }, { SEG - 64, 128 },
	};
	struct rmc_tx_reg r = reg_of(0, 64);
	uint8_t *local = shared(LOCAL_BYTES + PAGE);
	struct end none;
	unsigned int i;

	prepare();
	end_open(&none, CTX, 1, 0, 0, 0);
	CHECK_ERRNO(tx_reg(&none, &r), ENOENT);
	for (i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		r = reg_of(outside[i].offset, outside[i].length);
		if (!CHECK_ERRNO(tx_reg(&owner, &r), EINVAL))
			ktap_say("offset %llx", (unsigned long long)r.offset);
	}
	r = reg_of(0, SEG);
	r.buffers = 65;
	CHECK_ERRNO(tx_reg(&owner, &r), EINVAL);
	r.buffers = 64;
	r.groups = 1025;
	CHECK_ERRNO(tx_reg(&owner, &r), EINVAL);
	r.groups = 1024;
	r.local = (uintptr_t)local + 32;
	CHECK_ERRNO(tx_reg(&owner, &r), EINVAL);
	/* the last page is not there */
	r.local = (uintptr_t)local + LOCAL_BYTES + PAGE + 64 - sizeof(struct rmc_tx_local);
	CHECK_ERRNO(tx_reg(&owner, &r), EFAULT);
	r.local = (uintptr_t)local + PAGE - 64;
	CHECK(!tx_reg(&owner, &r));
	CHECK_ERRNO(tx_reg(&owner, &r), EEXIST);
	/* one node's range is nothing to another's */
	REQUIRE(!seg_reg(rmc_fd(user.ctx), memory(PAGE), PAGE, 0));
	r = reg_of(0, PAGE);
	CHECK(!tx_reg(&user, &r));
	CHECK(!tx_unreg(&owner));
	CHECK_ERRNO(tx_reg(&user, &r), EEXIST);
}

TEST(read_only_segment_is_erofs)
{
	struct rmc_tx_reg r = reg_of(0, PAGE);
	struct end e;

	end_open(&e, CTX, 0, 0, 0, 0);
	REQUIRE(!seg_reg(rmc_fd(e.ctx), memory(PAGE), PAGE, RMC_MEM_READONLY));
	CHECK_ERRNO(tx_reg(&e, &r), EROFS);
}

TEST(eight_contexts_of_a_node_have_ranges)
{
	struct rmc_tx_reg r = reg_of(0, PAGE);
	struct end e[9];
	unsigned int i;

	for (i = 0; i < 9; i++) {
		if (ctx_create(CTX + i, 0666, 0, 0))
			REQUIRE(errno == EEXIST);
		end_open(&e[i], CTX + i, 0, PAGE, 0, 0);
		if (i < 8)
			CHECK(!tx_reg(&e[i], &r));
	}
	CHECK_ERRNO(tx_reg(&e[8], &r), ENOSPC);
	CHECK(!tx_unreg(&e[3]));
	CHECK(!tx_reg(&e[8], &r));
	for (i = 0; i < 9; i++) {
		end_close(&e[i]);
		if (i)
			CHECK(!ctx_remove(CTX + i));
	}
}

static int seg_add(struct end *e, void *addr, uint64_t offset)
{
	struct rmc_seg_add a = { .size = sizeof(a), .addr = (uintptr_t)addr, .length = PAGE,
				 .offset = offset };

	return ioctl(rmc_fd(e->ctx), RMC_IOC_SEG_ADD, &a);
}

static int seg_del(struct end *e, uint64_t offset)
{
	struct rmc_seg_del d = { .size = sizeof(d), .offset = offset };

	return ioctl(rmc_fd(e->ctx), RMC_IOC_SEG_DEL, &d);
}

/* A range inside memory that was added to the segment goes with that, and with nothing else. */
TEST(range_goes_with_its_memory)
{
	const uint64_t far = 1 << 30;
	struct rmc_tx_reg r = reg_of(far, PAGE), half = reg_of(far - PAGE, 2 * PAGE);
	void *more = memory(PAGE);

	prepare();
	REQUIRE(!seg_add(&owner, more, far));
	REQUIRE(!seg_add(&owner, memory(PAGE), far - PAGE));
	CHECK_ERRNO(tx_reg(&owner, &half), EINVAL);
	REQUIRE(!tx_reg(&owner, &r));
	expect_plain(far, RMC_S_READ_ONLY);
	expect_plain(0, RMC_S_OK);
	REQUIRE(!seg_del(&owner, far - PAGE));
	expect_plain(far, RMC_S_READ_ONLY);
	REQUIRE(!seg_del(&owner, far));
	CHECK_ERRNO(tx_unreg(&owner), ENOENT);
	REQUIRE(!seg_add(&owner, more, far));
	expect_plain(far, RMC_S_OK);
	REQUIRE(!tx_reg(&owner, &r));
	/* with the segment, all of it */
	REQUIRE(!seg_unreg(rmc_fd(owner.ctx)));
	CHECK_ERRNO(tx_unreg(&owner), ENOENT);
	REQUIRE(!seg_reg(rmc_fd(owner.ctx), owner.seg, SEG, 0));
	r = reg_of(0, PAGE);
	REQUIRE(!tx_reg(&owner, &r));
	expect_plain(0, RMC_S_READ_ONLY);
	REQUIRE(!seg_unreg(rmc_fd(owner.ctx)));
	REQUIRE(!seg_reg(rmc_fd(owner.ctx), owner.seg, SEG, 0));
	expect_plain(0, RMC_S_OK);
}

static void *map_locks(struct end *e, const struct rmc_tx_reg *r, int prot)
{
	return mmap(NULL, LOCKS_BYTES, prot, MAP_SHARED, rmc_fd(e->ctx), (off_t)r->locks_offset);
}

/* What the owner maps of the Locking Buffers it can read, and in no way write. */
TEST(locks_are_read_only)
{
	struct rmc_tx_reg r = reg_of(0, PAGE);
	struct rmc_tx_locks *locks;
	int mem;

	prepare();
	REQUIRE(!tx_reg(&owner, &r));
	CHECK(r.locks_offset);
	CHECK_ERRNO((long)map_locks(&owner, &r, PROT_READ | PROT_WRITE), EACCES);
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, rmc_fd(owner.ctx),
			       (off_t)r.locks_offset), EINVAL);
	locks = map_locks(&owner, &r, PROT_READ);
	REQUIRE(locks != MAP_FAILED);
	CHECK_EQ(locks->mask, 0);
	CHECK_EQ(locks->wr[1023], 0);
	CHECK_ERRNO(mprotect(locks, LOCKS_BYTES, PROT_READ | PROT_WRITE), EACCES);
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	REQUIRE(mem >= 0);
	CHECK(pwrite(mem, "x", 1, (off_t)(uintptr_t)locks) < 0);
	/* the mapping stays when the range is gone, a new one there is none */
	REQUIRE(!tx_unreg(&owner));
	CHECK_EQ(locks->mask, 0);
	CHECK_ERRNO((long)map_locks(&owner, &r, PROT_READ), EINVAL);
}

/* ---- transactions ---- */

#define NODES		2		/* with a segment each: of @homes */
#define AT(line)	((line) * 64UL)

static struct end homes[NODES];

/* A process's end for transactions, with one slot */
struct client {
	struct end e;
	unsigned int slot;
	struct rmc_tx_open open;
};

static int tx_open(struct end *e, unsigned int slots, struct rmc_tx_open *o)
{
	*o = (struct rmc_tx_open){ .size = sizeof(*o), .qp_id = e->qp->id, .slots = slots };
	return ioctl(rmc_fd(e->ctx), RMC_IOC_TX_OPEN, o);
}

static void client_open(struct client *c, int nid)
{
	end_open(&c->e, CTX, nid, 0, 4 * PAGE, 16);
	REQUIRE(!tx_open(&c->e, 1, &c->open));
	REQUIRE_EQ(__builtin_popcountll(c->open.slot_mask), 1);
	c->slot = (unsigned int)__builtin_ctzll(c->open.slot_mask);
}

static void homes_open(void)
{
	struct rmc_tx_reg r = reg_of(0, SEG);
	int nid;

	for (nid = 0; nid < NODES; nid++) {
		end_open(&homes[nid], CTX, nid, SEG, 0, 0);
		REQUIRE(!tx_reg(&homes[nid], &r));
	}
}

static uint64_t home_word(int nid, uint64_t line)
{
	return __atomic_load_n((uint64_t *)(homes[nid].seg + AT(line)), __ATOMIC_ACQUIRE);
}

/* A node that is not the client's own stores its part soon after the commit is complete. */
static void expect_word(int nid, uint64_t line, uint64_t want)
{
	unsigned long long end = ktap_ms() + 5000 * ktap_slow();

	while (home_word(nid, line) != want && ktap_ms() < end)
		usleep(100);
	CHECK_EQ(home_word(nid, line), want);
}

static int tx_access(struct client *c, unsigned int op, int nid, uint64_t line)
{
	int status = rmc_execute(c->e.qp, op, nid, AT(line), c->e.buf, rmc_tx_length(c->slot, 64));
	int tries;

	/* the transaction before is not over at all nodes, or another one commits here */
	for (tries = 0; tries < 2000 && (status == RMC_S_BUSY || status == RMC_S_TX_LOCKED);
	     tries++) {
		usleep(1000);
		status = rmc_execute(c->e.qp, op, nid, AT(line), c->e.buf,
				     rmc_tx_length(c->slot, 64));
	}
	return status;
}

/* A word at the start of a line of each node in @nodes; 0: nothing is written. Its bytes */
static size_t record_of(struct client *c, unsigned int nodes, uint64_t line, uint64_t value)
{
	struct rmc_tx_commit *commit = (struct rmc_tx_commit *)(c->e.buf + PAGE);
	struct rmc_tx_item *item = (struct rmc_tx_item *)(commit + 1);
	uint64_t *data;
	int nid;

	*commit = (struct rmc_tx_commit){ .count = (uint32_t)__builtin_popcount(nodes) };
	data = (uint64_t *)(item + commit->count);
	for (nid = 0; nodes >> nid; nid++) {
		if (!(nodes >> nid & 1))
			continue;
		*item++ = (struct rmc_tx_item){ .offset = AT(line), .length = 8,
						.nid = (uint16_t)nid };
		*data++ = value;
	}
	return (size_t)((uint8_t *)data - (uint8_t *)commit);
}

static int tx_commit(struct client *c, unsigned int nodes, uint64_t line, uint64_t value)
{
	size_t bytes = record_of(c, nodes, line, value);

	return rmc_execute(c->e.qp, RMC_OP_TX_COMMIT, (int)c->slot, 0, c->e.buf + PAGE, bytes);
}

static int tx_abort(struct client *c)
{
	return rmc_execute(c->e.qp, RMC_OP_TX_ABORT, (int)c->slot, 0, NULL, 0);
}

/* Write all of @nodes, whatever is left of others' transactions: it takes no longer than they do */
static void tx_write(struct client *c, unsigned int nodes, uint64_t line, uint64_t value)
{
	unsigned long long end = ktap_ms() + 10000 * ktap_slow();
	int status;

	do {
		int nid;

		for (nid = 0, status = 0; !status && nodes >> nid; nid++)
			status = tx_access(c, RMC_OP_TX_OWN, nid, line);
		if (status)
			tx_abort(c);
		else
			status = tx_commit(c, nodes, line, value);
	} while (status && ktap_ms() < end);
	CHECK_EQ(status, RMC_S_OK);
}

TEST(capability)
{
	const struct rmc_query *q;
	struct end e;

	end_open(&e, CTX, 0, 0, 0, 0);
	q = rmc_query(e.ctx);
	CHECK(q->features & RMC_FEATURE_TX);
	CHECK(q->op_mask >> RMC_OP_TX_READ & 1 && q->op_mask >> RMC_OP_TX_OWN & 1);
	CHECK(q->op_mask >> RMC_OP_TX_COMMIT & 1 && q->op_mask >> RMC_OP_TX_ABORT & 1);
	CHECK(q->max_tx_slots_user && q->max_tx_slots_context >= q->max_tx_slots_user);
}

TEST(reads_and_writes_on_two_nodes)
{
	struct client c;

	homes_open();
	client_open(&c, 2);
	CHECK_EQ(c.open.unit / rmc_query(c.e.ctx)->units, 2);
	homes[0].seg[AT(3) + 8] = 77;
	CHECK_EQ(tx_access(&c, RMC_OP_TX_READ, 0, 3), RMC_S_OK);
	CHECK_EQ(c.e.buf[8], 77);
	CHECK_EQ(tx_access(&c, RMC_OP_TX_OWN, 1, 3), RMC_S_OK);
	CHECK_EQ(tx_commit(&c, 3, 3, 4711), RMC_S_OK);
	/* the other node stores its part soon, and shows it to nobody before */
	CHECK_EQ(tx_access(&c, RMC_OP_TX_READ, 1, 3), RMC_S_OK);
	CHECK_EQ(*(uint64_t *)c.e.buf, 4711);
	CHECK_EQ(tx_access(&c, RMC_OP_TX_READ, 0, 3), RMC_S_OK);
	CHECK_EQ(*(uint64_t *)c.e.buf, 4711);
	CHECK_EQ(c.e.buf[8], 77);
	CHECK_EQ(tx_commit(&c, 0, 0, 0), RMC_S_OK);
	expect_word(0, 3, 4711);
	expect_word(1, 3, 4711);
}

TEST(abort_has_no_effect)
{
	struct client c;

	homes_open();
	client_open(&c, 1);
	CHECK_EQ(tx_access(&c, RMC_OP_TX_OWN, 0, 1), RMC_S_OK);
	CHECK_EQ(tx_abort(&c), RMC_S_OK);
	CHECK_EQ(home_word(0, 1), 0);
	tx_write(&c, 1, 1, 5);
	expect_word(0, 1, 5);
}

TEST(conflict_squashes_the_slower_one)
{
	struct client a, b;

	homes_open();
	client_open(&a, 1);
	client_open(&b, 2);
	CHECK_EQ(tx_access(&a, RMC_OP_TX_READ, 0, 9), RMC_S_OK);
	CHECK_EQ(tx_access(&b, RMC_OP_TX_OWN, 0, 9), RMC_S_OK);
	CHECK_EQ(tx_commit(&b, 1, 9, 1), RMC_S_OK);
	CHECK_EQ(tx_commit(&a, 2, 9, 2), RMC_S_TX_SQUASHED);
	CHECK_EQ(home_word(1, 9), 0);
	/* neither of those that share nothing */
	CHECK_EQ(tx_access(&a, RMC_OP_TX_READ, 0, 10), RMC_S_OK);
	tx_write(&b, 1, 500, 3);
	CHECK_EQ(tx_commit(&a, 2, 9, 4), RMC_S_OK);
}

/* Objects that only transactions write: SABRes read them, and none is half new */
TEST(sabres_of_what_transactions_write)
{
	const struct rmc_object_layout layout = { .mode = RMC_SABRE_TX };
	struct rmc_tx_reg r = reg_of(0, SEG - PAGE);
	unsigned int i, ok = 0;
	uint64_t value = 0;
	struct client c;
	int err, status;

	end_open(&homes[0], CTX, 0, 0, 0, 0);
	homes[0].seg = memory(SEG);
	err = rmc_seg_register_objects(homes[0].ctx, homes[0].seg, SEG, 0, &layout);
	if (rmc_query(homes[0].ctx)->rrpps > 1) {
		CHECK_EQ(err, -EOPNOTSUPP);
		return;
	}
	REQUIRE_EQ(err, 0);
	end_open(&user, CTX, 1, 0, SEG, 16);
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, PAGE), RMC_S_NO_VERSION);
	REQUIRE(!tx_reg(&homes[0], &r));
	client_open(&c, 1);
	for (i = 0; i < 2000 && ok < 100; i++) {
		/* once a commit has completed, no reader finds what was before */
		if (i % 4 == 0)
			tx_write(&c, 1, 2, ++value);
		status = rmc_sabre(user.qp, 0, 0, user.buf, SEG - PAGE);
		if (status == RMC_S_SABRE_LOCKED)
			continue;
		if (!CHECK_EQ(status, RMC_S_OK))
			return;
		ok++;
		CHECK_EQ(*(uint64_t *)(user.buf + AT(2)), value);
	}
	CHECK_EQ(ok, 100);
	CHECK_EQ(rmc_sabre(user.qp, 0, SEG - 2 * PAGE, user.buf, 2 * PAGE), RMC_S_NO_VERSION);
	REQUIRE(!tx_unreg(&homes[0]));
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, PAGE), RMC_S_NO_VERSION);
}

TEST(fields_of_slots)
{
	struct rmc_tx_open o;
	struct end e, other;
	struct rmc_qp *qp;

	end_open(&e, CTX, 1, 0, PAGE, 16);
	end_open(&other, CTX, 1, 0, PAGE, 16);
	CHECK_EQ(rmc_execute(e.qp, RMC_OP_TX_READ, 0, 0, e.buf, rmc_tx_length(0, 64)),
		 RMC_S_BAD_OP);
	CHECK_ERRNO(tx_open(&e, 0, &o), EINVAL);
	CHECK_ERRNO(tx_open(&e, RMC_TX_MAX_SLOTS + 1, &o), EINVAL);
	o = (struct rmc_tx_open){ .size = sizeof(o), .qp_id = e.qp->id, .slots = 1,
				  .bytes = RMC_TX_MAX_BYTES + 1 };
	CHECK_ERRNO(ioctl(rmc_fd(e.ctx), RMC_IOC_TX_OPEN, &o), EINVAL);
	o.bytes = RMC_TX_MAX_BYTES;
	o.qp_id = 4711;
	CHECK_ERRNO(ioctl(rmc_fd(e.ctx), RMC_IOC_TX_OPEN, &o), ENOENT);
	CHECK(!tx_open(&e, 3, &o));
	CHECK_EQ(__builtin_popcountll(o.slot_mask), 3);
	CHECK_ERRNO(tx_open(&e, 1, &o), EEXIST);
	/* slots of others */
	CHECK_EQ(rmc_execute(other.qp, RMC_OP_TX_ABORT, 0, 0, NULL, 0), RMC_S_BAD_OP);
	CHECK(!tx_open(&other, 1, &o));
	CHECK_EQ(rmc_execute(e.qp, RMC_OP_TX_ABORT, 63, 0, NULL, 0), RMC_S_BAD_SLOT);
	CHECK_EQ(rmc_execute(e.qp, RMC_OP_TX_ABORT, 64, 0, NULL, 0), RMC_S_BAD_SLOT);
	CHECK_EQ(rmc_execute(e.qp, RMC_OP_TX_READ, 0, 0, e.buf, rmc_tx_length(63, 64)),
		 RMC_S_BAD_SLOT);
	qp = rmc_qp_create_with(e.ctx, 16, RMC_QP_ORDERED);
	REQUIRE(qp);
	o = (struct rmc_tx_open){ .size = sizeof(o), .qp_id = qp->id, .slots = 1 };
	CHECK_ERRNO(ioctl(rmc_fd(e.ctx), RMC_IOC_TX_OPEN, &o), EOPNOTSUPP);
}

/* As many slots as a unit has; those of a queue pair that is gone come back. */
TEST(slots_run_out_and_come_back)
{
	struct rmc_tx_open o;
	struct end e[16];
	unsigned int i, n, units;

	end_open(&e[0], CTX, 0, 0, 0, 16);
	units = rmc_query(e[0].ctx)->units;
	REQUIRE(2 * units < 16);
	REQUIRE(!tx_open(&e[0], RMC_TX_MAX_SLOTS, &o));
	for (n = 1; n < 2 * units; n++) {
		end_open(&e[n], CTX, 0, 0, 0, 16);
		if (tx_open(&e[n], RMC_TX_MAX_SLOTS, &o))
			CHECK_EQ(errno, ENOSPC);
	}
	for (i = 0; i < n; i++)
		end_close(&e[i]);
	for (i = 0; i < units; i++) {
		end_open(&e[i], CTX, 0, 0, 0, 16);
		CHECK(!tx_open(&e[i], RMC_TX_MAX_SLOTS, &o));
		CHECK_EQ(o.slot_mask, ~0ULL);
	}
}

/* ---- processes that end ---- */

static void wait_for(const unsigned int *word, unsigned int value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
		usleep(100);
}

static void kill_it(pid_t pid)
{
	REQUIRE(!kill(pid, SIGKILL));
	REQUIRE(waitpid(pid, NULL, 0) == pid);
}

/* What a process has accessed that is killed does not stand in others' way. */
TEST(killed_before_it_commits)
{
	unsigned int *step = shared(PAGE);
	struct client c, child;
	pid_t pid;

	homes_open();
	client_open(&c, 2);
	pid = helper();
	if (!pid) {
		client_open(&child, 1);
		REQUIRE_EQ(tx_access(&child, RMC_OP_TX_OWN, 0, 7), RMC_S_OK);
		REQUIRE_EQ(tx_access(&child, RMC_OP_TX_OWN, 1, 7), RMC_S_OK);
		__atomic_store_n(step, 1, __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	wait_for(step, 1);
	kill_it(pid);
	tx_write(&c, 3, 7, 8);
	CHECK_EQ(tx_access(&c, RMC_OP_TX_READ, 1, 7), RMC_S_OK);
	CHECK_EQ(*(uint64_t *)c.e.buf, 8);
}

/* Both nodes have all of a commit or nothing, whenever its process is killed. */
TEST(killed_while_it_commits)
{
	unsigned int *done = shared(PAGE), round, seed = 1;
	struct client c, child;
	uint64_t last = 0;
	pid_t pid;

	homes_open();
	client_open(&c, 2);
	for (round = 1; round <= 12; round++) {
		*done = 0;
		pid = helper();
		if (!pid) {
			uint64_t value = (uint64_t)round << 32;

			client_open(&child, 1);
			for (;; __atomic_fetch_add(done, 1, __ATOMIC_RELEASE))
				tx_write(&child, 3, 7, ++value);
		}
		wait_for(done, 1);
		usleep(rnd(&seed) % 3000);
		kill_it(pid);
		/* who reads both sees one commit: nothing is locked for ever */
		do {
			if (!CHECK_EQ(tx_access(&c, RMC_OP_TX_READ, 0, 7), RMC_S_OK))
				break;
			last = *(uint64_t *)c.e.buf;
			if (!CHECK_EQ(tx_access(&c, RMC_OP_TX_READ, 1, 7), RMC_S_OK))
				break;
		} while (tx_commit(&c, 0, 0, 0));
		CHECK_EQ(*(uint64_t *)c.e.buf, last);
		CHECK_EQ(last >> 32, round);
	}
	expect_word(0, 7, last);
	expect_word(1, 7, last);
}

/* A child of fork() has the file, too, and nothing of the transactions. */
TEST(child_of_fork_keeps_nothing)
{
	unsigned int *step = shared(PAGE);
	struct client c, child;
	pid_t pid;

	homes_open();
	client_open(&c, 2);
	pid = helper();
	if (!pid) {
		client_open(&child, 1);
		REQUIRE_EQ(tx_access(&child, RMC_OP_TX_OWN, 0, 7), RMC_S_OK);
		if (!fork())
			for (;;)
				pause();
		__atomic_store_n(step, 1, __ATOMIC_RELEASE);
		_exit(0);
	}
	wait_for(step, 1);
	CHECK(helper_ok(pid));
	tx_write(&c, 1, 7, 3);
}

/* ---- memory that goes meanwhile ---- */

TEST(buffer_goes_with_transactions_open)
{
	struct client c, d;

	homes_open();
	client_open(&c, 1);
	client_open(&d, 2);
	CHECK_EQ(tx_access(&c, RMC_OP_TX_OWN, 0, 7), RMC_S_OK);
	CHECK(!buf_unreg(rmc_fd(c.e.ctx), (unsigned int)c.e.buf_id));
	CHECK_EQ(tx_access(&c, RMC_OP_TX_READ, 0, 7), RMC_S_BAD_LBUF);
	CHECK_EQ(tx_commit(&c, 1, 7, 6), RMC_S_BAD_LBUF);
	CHECK_EQ(home_word(0, 7), 0);
	tx_write(&d, 1, 7, 9);
	CHECK_EQ(tx_abort(&c), RMC_S_OK);
	expect_word(0, 7, 9);
}

static int seg_again(struct end *e)
{
	struct rmc_tx_reg r = reg_of(0, SEG);

	return seg_reg(rmc_fd(e->ctx), e->seg, SEG, 0) ?: tx_reg(e, &r);
}

TEST(segment_goes_with_transactions_open)
{
	struct client c;

	homes_open();
	client_open(&c, 2);
	CHECK_EQ(tx_access(&c, RMC_OP_TX_OWN, 0, 7), RMC_S_OK);
	CHECK_EQ(tx_access(&c, RMC_OP_TX_OWN, 1, 7), RMC_S_OK);
	REQUIRE(!seg_unreg(rmc_fd(homes[0].ctx)));
	CHECK(tx_commit(&c, 3, 7, 6) != RMC_S_OK);
	CHECK_EQ(tx_access(&c, RMC_OP_TX_READ, 0, 7), RMC_S_BAD_CONTEXT);
	CHECK_EQ(tx_abort(&c), RMC_S_OK);
	REQUIRE(!seg_again(&homes[0]));
	CHECK_EQ(home_word(0, 7), 0);
	CHECK_EQ(home_word(1, 7), 0);
	tx_write(&c, 3, 7, 9);
	expect_word(0, 7, 9);
}

/* A range that begins anew knows nothing of transactions before. */
TEST(range_goes_with_transactions_open)
{
	struct rmc_tx_reg r = reg_of(0, SEG);
	struct client c;

	homes_open();
	client_open(&c, 2);
	CHECK_EQ(tx_access(&c, RMC_OP_TX_OWN, 0, 7), RMC_S_OK);
	REQUIRE(!tx_unreg(&homes[0]));
	REQUIRE(!tx_reg(&homes[0], &r));
	CHECK_EQ(tx_commit(&c, 1, 7, 6), RMC_S_TX_STALE);
	CHECK_EQ(home_word(0, 7), 0);
	tx_write(&c, 1, 7, 9);
}

TEST(queue_pair_goes_with_transactions_open)
{
	struct client c, d;

	homes_open();
	client_open(&c, 1);
	client_open(&d, 2);
	CHECK_EQ(tx_access(&c, RMC_OP_TX_OWN, 0, 7), RMC_S_OK);
	REQUIRE(!qp_destroy(rmc_fd(c.e.ctx), c.e.qp->id));
	tx_write(&d, 1, 7, 9);
}

KTAP_MAIN(suite_missing)
