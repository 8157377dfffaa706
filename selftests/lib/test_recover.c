/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc-sync recover, over stubs of the library: what it says of each object, and what it asks for.
 */
#include <setjmp.h>
#include "../../tools/sync/recover.c"
#include "../tap.h"

#define OBJECTS		4
#define SELF		3
#define LEN		64

/* What becomes of each object, and what has been done with it */
static struct {
	int take, torn, cancel, commit;		/* results */
	int loses;				/* the release is lost, and no call says so */
	int drain;
	unsigned int cancelled, committed;
	uint8_t data[LEN];
} object[OBJECTS];

static struct rmc_sync_options opened;
static struct rmc_sync_stats stats;
static int now;					/* the object */
static int died;
static jmp_buf usage;

void die(int status, const char *format, ...)
{
	(void)format;
	died = status;
	longjmp(usage, 1);
}

struct rmc_ctx *rmc_open(unsigned int ctx_id, int nid)
{
	(void)ctx_id;
	(void)nid;
	return (struct rmc_ctx *)(void *)&stats;
}

int rmc_nid(const struct rmc_ctx *ctx)
{
	(void)ctx;
	return SELF;
}

void rmc_close(struct rmc_ctx *ctx)
{
	(void)ctx;
}

struct rmc_qp *ordered_qp(struct rmc_ctx *ctx, unsigned int entries, int ordered)
{
	(void)entries;
	CHECK(ordered);
	return (struct rmc_qp *)(void *)ctx;
}

void rmc_qp_destroy(struct rmc_qp *qp)
{
	(void)qp;
}

int rmc_sync_is_ordered(const struct rmc_qp *qp)
{
	return !!qp;
}

struct rmc_sync *rmc_sync_open_sized(struct rmc_qp *qp, const struct rmc_sync_options *o,
				     size_t size)
{
	CHECK_EQ(size, sizeof(opened));
	opened = *o;
	return (struct rmc_sync *)(void *)qp;
}

void rmc_sync_close(struct rmc_sync *s)
{
	(void)s;
}

const char *rmc_errmsg(void)
{
	return "";
}

const char *rmc_strerror(int err)
{
	(void)err;
	return "an error";
}

int rmc_sync_take_over(struct rmc_sync *s, uint64_t addr, int nid, struct rmc_hold *h)
{
	(void)s;
	(void)nid;
	now = (int)(addr % (1ULL << 48) / LEN);
	h->data = object[now].data;
	h->torn = object[now].torn;
	return object[now].take;
}

int rmc_sync_cancel(struct rmc_sync *s, struct rmc_hold *h)
{
	(void)s;
	(void)h;
	object[now].cancelled++;
	stats.unlocks_lost += !!object[now].loses;
	return object[now].cancel;
}

int rmc_sync_commit(struct rmc_sync *s, struct rmc_hold *h)
{
	(void)s;
	(void)h;
	object[now].committed++;
	stats.unlocks_lost += !!object[now].loses;
	return object[now].commit;
}

int rmc_sync_drain(struct rmc_sync *s)
{
	(void)s;
	return object[now].drain;
}

void rmc_sync_stats_sized(const struct rmc_sync *s, struct rmc_sync_stats *to, size_t size)
{
	(void)s;
	memcpy(to, &stats, size);
}

/* --- */

static size_t as_long(size_t len)
{
	return len;
}

static const struct rmc_scheme scheme = { .name = "a scheme", .image = as_long };
static const struct rmc_scheme copies = { .name = "a pool", .image = as_long,
					  .needs = RMC_NEEDS_POOL };

static struct sync_run run_of(const char *torn, int dead, int client)
{
	struct sync_run r = {
		.tuples = OBJECTS, .bytes = LEN, .dead = dead, .client = client, .torn_data = torn,
		.o.scheme = &scheme, .layout = &scheme, .json = 1,
	};
	int i;

	memset(object, 0, sizeof(object));
	memset(&stats, 0, sizeof(stats));
	for (i = 0; i < OBJECTS; i++)
		memset(object[i].data, 0x55, LEN);
	return r;
}

/* The status, and what it prints: an object of JSON */
static int recovered(struct sync_run *r, char *text, size_t size)
{
	FILE *to = tmpfile(), *was = stdout;
	volatile int status = -1;
	size_t n;

	died = 0;
	memset(named, 0, sizeof(named));
	stdout = to;
	if (!setjmp(usage))
		status = recover(r);
	stdout = was;
	rewind(to);
	n = fread(text, 1, size - 1, to);
	text[n] = '\0';
	fclose(to);
	return died ? died : status;
}

static int says(const char *text, const char *name, unsigned int value)
{
	char line[64];

	snprintf(line, sizeof(line), "\"%s\": %u,", name, value);
	return !!strstr(text, line);
}

/* Torn data is kept or zeroed, and named; the rest is only released. */
static void torn(void)
{
	static const char * const what[] = { "keep", "zero" };
	char text[2000];
	struct sync_run r;
	int i;

	for (i = 0; i < 2; i++) {
		r = run_of(what[i], 1, -1);
		object[0].take = -ENOENT;
		object[1].torn = 1;
		CHECK_EQ(recovered(&r, text, sizeof(text)), EXIT_OK);
		CHECK(says(text, "not_latched", 1) && says(text, "released", 2));
		CHECK(says(text, "torn", 1) && says(text, "failed", 0));
		CHECK(object[1].committed == 1 && !object[1].cancelled);
		CHECK(object[2].cancelled == 1 && !object[2].committed);
		CHECK_EQ(object[1].data[LEN - 1], i ? 0 : 0x55);
		CHECK_EQ(object[2].data[0], 0x55);
	}
}

/* A release that was lost is a failure, though the call says 0. So is any other one. */
static void failures(void)
{
	char text[2000];
	struct sync_run r;
	int i;

	for (i = 0; i < 6; i++) {
		r = run_of("zero", 1, -1);
		object[2].torn = i == 1 || i == 3;
		object[2].loses = i < 2;
		object[2].cancel = i == 2 ? RMC_S_NODE_DOWN : 0;
		object[2].commit = i == 3 ? RMC_S_NODE_DOWN : 0;
		object[2].take = i == 4 ? RMC_S_TIMEOUT : 0;
		object[2].drain = i == 5 ? -ESHUTDOWN : 0;
		CHECK_EQ(recovered(&r, text, sizeof(text)), EXIT_FAILED);
		CHECK(says(text, "released", 3) && says(text, "failed", 1) && says(text, "torn", 0));
		CHECK(strstr(strstr(text, "failed_at"), "128"));
	}
	/* copies out of place: there is no other data for them */
	r = run_of("zero", 1, -1);
	object[2].torn = 1;
	r.o.scheme = &copies;
	CHECK_EQ(recovered(&r, text, sizeof(text)), EXIT_FAILED);
	CHECK(says(text, "failed", 1) && object[2].cancelled == 1 && !object[2].committed);
}

/* Names: of this node's dead client, or one that no program has; and an end */
static void names(void)
{
	char text[2000];
	struct sync_run r;

	r = run_of("keep", SELF, -1);
	CHECK_EQ(recovered(&r, text, sizeof(text)), EXIT_USAGE);
	r = run_of("keep", SELF, 7);
	CHECK_EQ(recovered(&r, text, sizeof(text)), EXIT_OK);
	CHECK_EQ(opened.client, 7);
	r = run_of("keep", 1, 7);
	CHECK_EQ(recovered(&r, text, sizeof(text)), EXIT_USAGE);
	r = run_of("keep", 1, -1);
	CHECK_EQ(recovered(&r, text, sizeof(text)), EXIT_OK);
	CHECK(opened.client >= 240 && opened.client <= 255);
	CHECK_EQ(opened.nid, SELF);
	CHECK_EQ(opened.attempts, 64);
	r.attempts = 5;
	CHECK_EQ(recovered(&r, text, sizeof(text)), EXIT_OK);
	CHECK_EQ(opened.attempts, 5);
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "torn data is kept or zeroed, and named", torn },
		{ "what may still be latched is a failure", failures },
		{ "whose name it has, and how often it tries", names },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
