// SPDX-License-Identifier: GPL-2.0
/*
 * SABRes through the driver: they return only whole objects, whatever writers and
 * readers do, and even if these die. The checker that finds no torn object among
 * SABRes must find some among plain reads.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include "common.h"

#define OBJECTS		16
#define OBJECT		8192UL
#define SEG		(OBJECTS * OBJECT)
#define WORDS		(OBJECT / 8 - 2)
#define BIG		(256UL << 10)

static struct end owner, user;
static uint8_t *objects;

static struct rmc_object *object(int i)
{
	return (struct rmc_object *)(objects + i * OBJECT);
}

static uint64_t *words(struct rmc_object *o)
{
	return (uint64_t *)(o + 1);
}

/* Node 0 exposes objects in memory that its children share. */
static void expose(unsigned int mode, size_t len)
{
	struct rmc_object_layout layout = { .mode = mode };

	objects = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(objects != MAP_FAILED);
	end_open(&owner, CTX, 0, 0, 0, 0);
	REQUIRE_EQ(rmc_seg_register_objects(owner.ctx, objects, len, 0, &layout), 0);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* @pause: microseconds to sleep in the middle */
static void stamp(struct rmc_object *o, unsigned int pause)
{
	uint64_t *w = words(o), v;
	size_t k;

	rmc_object_write_begin(o);
	v = w[0] + 1;
	for (k = 0; k < WORDS; k++) {
		__atomic_store_n(&w[k], v, __ATOMIC_RELAXED);
		if (pause && k == WORDS / 2)
			usleep(pause);
	}
	rmc_object_write_end(o);
}

static int torn(const uint8_t *copy)
{
	const uint64_t *w = (const uint64_t *)(copy + sizeof(struct rmc_object));
	size_t k;

	/* a writer that waits for this reader has made the version odd */
	if ((*(const uint64_t *)copy & ~1ULL) != 2 * w[0])
		return 1;
	for (k = 1; k < WORDS; k++)
		if (w[k] != w[0])
			return 1;
	return 0;
}

/*
 * The owner stamps one object after the other until the reader has ended. Sometimes it sleeps
 * between two objects, and within one: with few CPUs no reader would run there otherwise.
 */
static void write_until(pid_t reader)
{
	int i = 0, status;

	while (!waitpid(reader, &status, WNOHANG)) {
		stamp(object(i % OBJECTS), i % 37 ? 0 : 20 + i % 150);
		if (!(++i % 16))
			usleep(100);
	}
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

static void no_object_is_torn(unsigned int mode)
{
	struct rmc_sabre_policy p;
	int i, whole = 0, bad = 0, err;
	double end = now() + 12;
	pid_t pid;

	expose(mode, SEG);
	pid = helper();
	if (!pid) {
		end_open(&user, CTX, 1, 0, OBJECT, 8);
		rmc_sabre_policy_init(&p);
		p.attempts = 1000;
		for (i = 0; i < 3000 && now() < end; i++) {
			err = rmc_sabre_retry(user.qp, 0, i % OBJECTS * OBJECT, user.buf, OBJECT, &p);
			REQUIRE(!err || rmc_sabre_again(err));
			whole += !err;
			bad += !err && torn(user.buf);
		}
		ktap_say("%d whole, %d torn, %llu of %llu attempts failed", whole - bad, bad,
			 (unsigned long long)p.failed, (unsigned long long)p.tried);
		_exit(bad || !whole);
	}
	write_until(pid);
	for (i = 0; i < OBJECTS; i++)
		CHECK_EQ(object(i)->readers, 0);
}

TEST(no_object_is_torn_overlapped)
{
	no_object_is_torn(RMC_SABRE_OVERLAPPED);
}

TEST(no_object_is_torn_serialized)
{
	no_object_is_torn(RMC_SABRE_SERIALIZED);
}

TEST(no_object_is_torn_locked)
{
	no_object_is_torn(RMC_SABRE_LOCKED);
}

/* The checker finds torn objects: with plain reads, and with the version read after the data. */
static void is_noticed(int version_after)
{
	uint64_t version = 0;
	int i, bad = 0;
	double end = now() + 40;
	pid_t pid;

	expose(RMC_SABRE_OVERLAPPED, SEG);
	pid = helper();
	if (!pid) {
		end_open(&user, CTX, 1, 0, 2 * OBJECT, 8);
		for (i = 0; !bad && now() < end; i++) {
			uint64_t at = i % OBJECTS * OBJECT;

			REQUIRE_EQ(rmc_read(user.qp, 0, at, user.buf, OBJECT), RMC_S_OK);
			if (version_after) {
				REQUIRE_EQ(rmc_read(user.qp, 0, at, user.buf + OBJECT, 8), RMC_S_OK);
				version = *(uint64_t *)(user.buf + OBJECT);
			}
			bad += !(version & 1) && torn(user.buf);
		}
		ktap_say("torn after %d reads", i);
		_exit(!bad);
	}
	write_until(pid);
}

TEST(plain_reads_are_torn_and_that_is_noticed)
{
	is_noticed(0);
}

TEST(version_after_the_data_is_no_check_and_that_is_noticed)
{
	is_noticed(1);
}

/* ---- registration and statuses ---- */

static int reg(struct rmc_seg_reg *r)
{
	r->size = sizeof(*r);
	r->addr = (uintptr_t)objects;
	r->length = SEG;
	return ioctl(rmc_fd(owner.ctx), RMC_IOC_SEG_REG, r);
}

TEST(layouts_are_validated)
{
	struct rmc_seg_reg r;

	expose(0, SEG);
	REQUIRE_EQ(rmc_seg_unregister(owner.ctx), 0);
#define REFUSED(want, ...) do {							\
		r = (struct rmc_seg_reg){ __VA_ARGS__ };			\
		CHECK_ERRNO(reg(&r), want);					\
	} while (0)
	REFUSED(EINVAL, .version_offset = 8);
	REFUSED(EINVAL, .readers_offset = 8);
	REFUSED(EINVAL, .sabre_mode = 1);
	REFUSED(EINVAL, .flags = RMC_MEM_OBJECTS, .sabre_mode = 5);
	REFUSED(EINVAL, .flags = RMC_MEM_OBJECTS, .sabre_mode = RMC_SABRE_TX,
		.version_offset = 8);
	REFUSED(EINVAL, .flags = RMC_MEM_OBJECTS, .sabre_mode = RMC_SABRE_TX, .readers_offset = 8);
	REFUSED(EINVAL, .flags = RMC_MEM_OBJECTS, .version_offset = 4);
	REFUSED(EINVAL, .flags = RMC_MEM_OBJECTS, .readers_offset = 10);
	REFUSED(EINVAL, .flags = RMC_MEM_OBJECTS, .sabre_mode = RMC_SABRE_LOCKED);
	REFUSED(EINVAL, .flags = RMC_MEM_OBJECTS, .readers_offset = 4);
	REFUSED(EOPNOTSUPP, .flags = RMC_MEM_OBJECTS, .reserved2 = 1);
	/* a program older than objects passes a shorter struct */
	r = (struct rmc_seg_reg){ .size = offsetof(struct rmc_seg_reg, version_offset),
				  .addr = (uintptr_t)objects, .length = SEG };
	CHECK_EQ(ioctl(rmc_fd(owner.ctx), RMC_IOC_SEG_REG, &r), 0);
	end_open(&user, CTX, 1, 0, OBJECT, 8);
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, 64), RMC_S_NO_VERSION);
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, OBJECT), RMC_S_NO_VERSION);
}

TEST(query_describes_the_table)
{
	const struct rmc_query *q;

	end_open(&user, CTX, 1, 0, PAGE, 8);
	q = rmc_query(user.ctx);
	CHECK(q->att_entries >= 1 && q->att_entries <= 64);
	CHECK(q->att_depth >= 1);
	CHECK(q->att_stall_ms >= 1);
	CHECK(q->sabre_mode >= RMC_SABRE_OVERLAPPED && q->sabre_mode <= RMC_SABRE_LOCKED);
	CHECK_EQ(q->max_sabre, RMC_SABRE_MAX);
	CHECK(q->op_mask >> RMC_OP_SABRE & 1);
}

TEST(statuses)
{
	expose(0, SEG);
	end_open(&user, CTX, 1, 0, OBJECT + PAGE, 8);
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, OBJECT), RMC_S_OK);
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, 1000), RMC_S_OK);
	CHECK_EQ(rmc_sabre(user.qp, 0, 4, user.buf, 64), RMC_S_BAD_ALIGN);
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, 7), RMC_S_NO_VERSION);
	CHECK_EQ(rmc_sabre(user.qp, 0, SEG - 64, user.buf, 128), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_sabre(user.qp, 0, SEG - PAGE, user.buf, OBJECT), RMC_S_OUT_OF_RANGE);
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, RMC_SABRE_MAX + 1UL), RMC_S_BAD_LENGTH);
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, 0), RMC_S_BAD_LENGTH);
	CHECK_EQ(rmc_sabre(user.qp, 2, 0, user.buf, OBJECT), RMC_S_BAD_CONTEXT);
}

/* ---- writers that die, readers that die ---- */

static int by_message(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf, size_t len, void *arg)
{
	/* what a message to the owner would return */
	memcpy(lbuf, objects + offset, len);
	*(int *)arg = nid + 100;
	return qp ? 0 : -EIO;
}

static int rewrite(struct rmc_object *o, void *arg)
{
	uint64_t *w = words(o);
	size_t k;

	if (!arg)
		return -EIO;
	for (k = 0; k < WORDS; k++)
		w[k] = o->version / 2 + 1;
	return 0;
}

TEST(writer_dies_and_the_owner_repairs)
{
	struct rmc_sabre_policy p;
	int asked = 0;
	pid_t pid;

	expose(0, SEG);
	stamp(object(0), 0);
	CHECK_EQ(rmc_object_repair(object(0), rewrite, &asked), -ENOENT);
	pid = helper();
	if (!pid) {
		rmc_object_write_begin(object(0));
		words(object(0))[5] = 77;
		_exit(0);
	}
	CHECK(helper_ok(pid));
	end_open(&user, CTX, 1, 0, OBJECT, 8);
	rmc_sabre_policy_init(&p);
	p.attempts = 5;
	CHECK_EQ(rmc_sabre_retry(user.qp, 0, 0, user.buf, OBJECT, &p), RMC_S_SABRE_LOCKED);
	CHECK_EQ(p.tried, 5);
	CHECK_EQ(p.failed, 5);
	CHECK(strstr(rmc_strerror(RMC_S_SABRE_LOCKED), "rmc_object_repair"));
	p.fallback = by_message;
	p.arg = &asked;
	CHECK_EQ(rmc_sabre_retry(user.qp, 0, 0, user.buf, OBJECT, &p), 0);
	CHECK_EQ(asked, 100);
	CHECK_EQ(p.fell_back, 1);
	CHECK_EQ(rmc_object_try_begin(object(0)), -EBUSY);
	/* a failed rewrite repairs nothing, and the repair can be tried again */
	CHECK_EQ(rmc_object_repair(object(0), rewrite, NULL), -EIO);
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, OBJECT), RMC_S_SABRE_LOCKED);
	CHECK_EQ(rmc_object_repair(object(0), rewrite, &asked), 0);
	CHECK_EQ(rmc_object_repair(object(0), rewrite, &asked), -ENOENT);
	CHECK_EQ(rmc_sabre(user.qp, 0, 0, user.buf, OBJECT), RMC_S_OK);
	CHECK(!torn(user.buf));
	/* the object of a live writer is not repaired */
	CHECK_EQ(rmc_object_try_begin(object(0)), 0);
	CHECK_EQ(rmc_object_repair(object(0), rewrite, &asked), -EAGAIN);
	rmc_object_write_end(object(0));
}

TEST(reader_is_killed_in_the_middle)
{
	unsigned long long began, stall;
	int i, slot, status, tries;
	pid_t pid;

	expose(RMC_SABRE_LOCKED, 4 * BIG);
	end_open(&user, CTX, 2, 0, BIG, 8);
	stall = rmc_query(user.ctx)->att_stall_ms;
	for (i = 0; i < 10; i++) {
		pid = helper();
		if (!pid) {
			end_open(&owner, CTX, 1, 0, BIG, 16);
			for (;;) {
				slot = rmc_wait_for_slot(owner.qp, NULL);
				rmc_sabre_async(owner.qp, slot, 0, 0, owner.buf, BIG);
			}
		}
		usleep(20000 + i * 1000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		/* its locks last no longer than att_stall_ms */
		rmc_object_write_begin(object(0));
		rmc_object_write_end(object(0));
		/* a SABRe that a busy host or a slow kernel stalls for att_stall_ms is aborted */
		tries = 0;
		do {
			began = ktap_ms();
			status = rmc_sabre(user.qp, 0, 0, user.buf, BIG);
		} while (status == RMC_S_SABRE_LOST && ktap_ms() - began >= stall && ++tries < 5);
		CHECK_EQ(status, RMC_S_OK);
	}
	CHECK_EQ(object(0)->readers, 0);
}

TEST(segment_goes_in_the_middle)
{
	struct rmc_object_layout layout = { .mode = RMC_SABRE_LOCKED };
	int i, err, gone = 0, whole = 0;
	double end = now() + 20;
	pid_t pid;

	expose(RMC_SABRE_LOCKED, 4 * BIG);
	pid = helper();
	if (!pid) {
		end_open(&user, CTX, 1, 0, BIG, 8);
		while ((gone < 5 || whole < 5) && now() < end) {
			err = rmc_sabre(user.qp, 0, 0, user.buf, BIG);
			gone += err == RMC_S_BAD_CONTEXT;
			whole += !err;
			REQUIRE(!err || err == RMC_S_BAD_CONTEXT || err == RMC_S_SABRE_LOST);
		}
		if (gone < 5 || whole < 5)
			ktap_say("%d objects whole, %d gone", whole, gone);
		_exit(gone < 5 || whole < 5);
	}
	for (i = 0; !waitpid(pid, &err, WNOHANG); i++) {
		/* wait longer each time, until a slow guest has time for a whole object */
		usleep(2000 + 200 * i);
		REQUIRE_EQ(rmc_seg_unregister(owner.ctx), 0);
		CHECK_EQ(object(0)->readers, 0);
		usleep(500);
		REQUIRE_EQ(rmc_seg_register_objects(owner.ctx, objects, 4 * BIG, 0, &layout), 0);
	}
	CHECK(WIFEXITED(err) && !WEXITSTATUS(err));
}

KTAP_MAIN(suite_missing)
