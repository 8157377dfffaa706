/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Programs and libraries of different versions. Every struct that callers fill ends at the
 * end of a page, and the next page is inaccessible. A library that takes a struct to be
 * longer than its program does therefore faults. Each call is made as a program of these
 * headers makes it, and through the symbol, as a program of version 1.0 makes it.
 *
 * Linked with librmc.so as it is, and with one whose structs have all grown. Also compiled
 * with -DGROWN against the headers of that one. No module is needed: calls are refused
 * before they reach the driver.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "../tap.h"

/* The last bytes before an inaccessible page */
static void *at_end(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

	if (p == MAP_FAILED || mprotect(p + page, page, PROT_NONE))
		_exit(1);
	return p + page - size;
}

#define AT_END(type)	((struct type *)at_end(sizeof(struct type)))
#define OLD(type, SIZE)	((struct type *)at_end(RMC_##SIZE##_SIZE_VER0))

/* ASK() sets a field of a later version; a library that does not know the field refuses it */
#ifdef GROWN
#define ASK(p)		((p)->grown = 1)
#define REFUSED(err)	E2BIG
#else
#define ASK(p)		((void)(p))
#define REFUSED(err)	(err)
#endif

/* Symbols that programs of version 1.0 call; their C names are inlines now. */
struct rmc_team *old_team_open(const void *o, size_t len) __asm__("rmc_team_open_with");
void old_msg_defaults(void *o) __asm__("rmc_msg_defaults");
struct rmc_msg *old_msg_open_raw(const void *r, const void *o) __asm__("rmc_msg_open_raw");
struct rmc_msg *old_msg_open(struct rmc_team *t, const void *o) __asm__("rmc_msg_open_with");
struct rmc_herd *old_herd_open(struct rmc_team *t, const void *o) __asm__("rmc_herd_open");
struct rmc_rpc *old_rpc_open(struct rmc_msg *m, const void *o) __asm__("rmc_rpc_open");
struct rmc_reader *old_reader_open(struct rmc_qp *q, const void *o) __asm__("rmc_reader_open");
size_t old_reader_bytes(const void *o) __asm__("rmc_reader_bytes");
struct rmc_kv *old_kv_open(struct rmc_team *t, const void *o) __asm__("rmc_kv_open");
size_t old_kv_bytes(int nodes, const void *o) __asm__("rmc_kv_bytes");
void old_policy_init(void *p) __asm__("rmc_sabre_policy_init");
int old_sabre_retry(struct rmc_qp *q, int nid, uint64_t offset, void *lbuf, size_t len, void *p)
	__asm__("rmc_sabre_retry");
int old_register_objects(struct rmc_ctx *c, void *addr, size_t len, unsigned int flags,
			 const void *layout) __asm__("rmc_seg_register_objects");
int old_alloc_objects(struct rmc_ctx *c, size_t len, unsigned int flags, int numa_node,
		      const void *layout, void **addr) __asm__("rmc_seg_alloc_objects");

void old_domain_defaults(void *o) __asm__("rmc_domain_defaults");
struct rmc_domain *old_domain_open(struct rmc_ctx *c, const void *o)
	__asm__("rmc_domain_open_with");

/* Never opened: calls fail because of their options, or before they reach the driver. */
static struct rmc_team team = { .nodes = 2 };
static struct rmc_qp qp;

#define FAILS(call, err) do {			\
	errno = 0;				\
	CHECK(!(call));				\
	CHECK_EQ(errno, err);			\
} while (0)

static void test_team(void)
{
	struct rmc_team_options *o = AT_END(rmc_team_options);

	o->ctx_id = 12345;		/* does not exist */
	CHECK(!rmc_team_open_with(o, 64));
	CHECK(errno != E2BIG && errno != EINVAL);
	ASK(o);
	CHECK(!rmc_team_open_with(o, 64));
	CHECK_EQ(errno == E2BIG, REFUSED(0) == E2BIG);
	o = OLD(rmc_team_options, TEAM_OPTIONS);
	o->ctx_id = 12345;
	CHECK(!old_team_open(o, 64));
	CHECK(errno != E2BIG && errno != EINVAL);
}

static void test_messages(void)
{
	struct rmc_msg_options *o = AT_END(rmc_msg_options);
	struct rmc_msg_raw *raw = AT_END(rmc_msg_raw);

	memset(o, 0xff, sizeof(*o));
	rmc_msg_defaults(o);
	CHECK(o->at == 0 && o->cells == RMC_MSG_CELLS && o->threshold == RMC_MSG_THRESHOLD);
	o->cells = 3;			/* is refused */
	raw->nodes = 2;
	raw->qp = &qp;
	FAILS(rmc_msg_open_raw(raw, o), EINVAL);
	FAILS(rmc_msg_open_with(&team, o), EINVAL);
	ASK(o);
	FAILS(rmc_msg_open_raw(raw, o), REFUSED(EINVAL));
	FAILS(rmc_msg_open_with(&team, o), REFUSED(EINVAL));

	o = OLD(rmc_msg_options, MSG_OPTIONS);
	raw = OLD(rmc_msg_raw, MSG_RAW);
	raw->nodes = 2;
	old_msg_defaults(o);
	CHECK(o->at == 0 && o->cells == RMC_MSG_CELLS && o->threshold == RMC_MSG_THRESHOLD);
	o->cells = 3;
	FAILS(old_msg_open_raw(raw, o), EINVAL);
	FAILS(old_msg_open(&team, o), EINVAL);
}

static void test_herd_and_rpc(void)
{
	struct rmc_herd_options *ho = AT_END(rmc_herd_options);
	struct rmc_rpc_options *ro = AT_END(rmc_rpc_options);

	ho->server = -1;		/* is refused */
	FAILS(rmc_herd_open(&team, ho), EINVAL);
	FAILS(rmc_rpc_open(NULL, ro), EINVAL);		/* nodes is 0 */
	ASK(ho);
	ASK(ro);
	FAILS(rmc_herd_open(&team, ho), REFUSED(EINVAL));
	FAILS(rmc_rpc_open(NULL, ro), REFUSED(EINVAL));
	ho = OLD(rmc_herd_options, HERD_OPTIONS);
	ho->server = -1;
	FAILS(old_herd_open(&team, ho), EINVAL);
	FAILS(old_rpc_open(NULL, OLD(rmc_rpc_options, RPC_OPTIONS)), EINVAL);
}

static void test_reader_and_kv(void)
{
	struct rmc_reader_options *o = AT_END(rmc_reader_options);
	struct rmc_kv_options *ko = AT_END(rmc_kv_options);
	size_t bytes, kv_bytes;

	FAILS(rmc_reader_open(&qp, o), EINVAL);		/* without a scheme */
	o->scheme = rmc_scheme_find("plain");
	o->max = 1000;
	bytes = rmc_reader_bytes(o);
	CHECK(bytes >= 1000);
	kv_bytes = rmc_kv_bytes(2, ko);
	CHECK(kv_bytes > 0);
	ko->at = 64;
	FAILS(rmc_kv_open(&team, ko), ENOSPC);		/* the team has no bytes */
	ASK(o);
	ASK(ko);
	FAILS(rmc_reader_open(&qp, o), REFUSED(EINVAL));
	FAILS(rmc_kv_open(&team, ko), REFUSED(ENOSPC));
	CHECK_EQ(rmc_kv_bytes(2, ko), REFUSED(0) ? 0 : kv_bytes);

	o = OLD(rmc_reader_options, READER_OPTIONS);
	FAILS(old_reader_open(&qp, o), EINVAL);
	o->scheme = rmc_scheme_find("plain");
	o->max = 1000;
	CHECK_EQ(old_reader_bytes(o), bytes);
	ko = OLD(rmc_kv_options, KV_OPTIONS);
	CHECK_EQ(old_kv_bytes(2, ko), kv_bytes);
	ko->at = 64;
	FAILS(old_kv_open(&team, ko), ENOSPC);
}

static void test_objects(void)
{
	struct rmc_object_layout *l = AT_END(rmc_object_layout);
	struct rmc_sabre_policy *p = AT_END(rmc_sabre_policy);
	char buf[64];
	void *addr;

	l->header = 4;			/* is refused */
	CHECK_EQ(rmc_seg_register_objects(team.ctx, buf, 64, 0, l), -EINVAL);
	CHECK_EQ(rmc_seg_alloc_objects(team.ctx, 64, 0, -1, l, &addr), -EINVAL);
	memset(p, 0xff, sizeof(*p));
	rmc_sabre_policy_init(p);
	CHECK(p->attempts == 16 && !p->fallback && !p->fell_back);
	p->tried = 7;
	CHECK_EQ(rmc_sabre_retry(&qp, 0, 0, buf, 64, p), -EBUSY);	/* one is in flight */
	CHECK_EQ(p->tried, 7);
	ASK(l);
	ASK(p);
	CHECK_EQ(rmc_seg_register_objects(team.ctx, buf, 64, 0, l), -REFUSED(EINVAL));
	CHECK_EQ(rmc_seg_alloc_objects(team.ctx, 64, 0, -1, l, &addr), -REFUSED(EINVAL));
	CHECK_EQ(rmc_sabre_retry(&qp, 0, 0, buf, 64, p), -REFUSED(EBUSY));

	l = OLD(rmc_object_layout, OBJECT_LAYOUT);
	l->header = 4;
	CHECK_EQ(old_register_objects(team.ctx, buf, 64, 0, l), -EINVAL);
	CHECK_EQ(old_alloc_objects(team.ctx, 64, 0, -1, l, &addr), -EINVAL);
	p = OLD(rmc_sabre_policy, SABRE_POLICY);
	memset(p, 0xff, RMC_SABRE_POLICY_SIZE_VER0);
	old_policy_init(p);
	CHECK(p->attempts == 16 && !p->fallback && !p->fell_back);
	CHECK_EQ(old_sabre_retry(&qp, 0, 0, buf, 64, p), -EBUSY);
}

static void test_domains(void)
{
	struct rmc_domain_options *o = AT_END(rmc_domain_options);

	memset(o, 0xff, sizeof(*o));
	rmc_domain_defaults(o);
	CHECK(!o->slots && o->policy == RMC_DOM_GREEDY && o->flags == RMC_DOM_REQUEUE);
	FAILS(rmc_domain_open_with(team.ctx, o), EPERM);	/* another process's context */
	ASK(o);
	FAILS(rmc_domain_open_with(team.ctx, o), REFUSED(EPERM));
	o = OLD(rmc_domain_options, DOMAIN_OPTIONS);
	memset(o, 0xff, RMC_DOMAIN_OPTIONS_SIZE_VER0);
	old_domain_defaults(o);
	CHECK(!o->timeout_ms && o->policy == RMC_DOM_GREEDY);
	FAILS(old_domain_open(team.ctx, o), EPERM);
}

static void test_blocks(void)
{
	struct rmc_blocks_options *o = AT_END(rmc_blocks_options);
	size_t bytes;

	CHECK_EQ(rmc_blocks_bytes(o), 0);
	o->capacity = 10;
	o->bytes = 100;
	bytes = rmc_blocks_bytes(o);
	CHECK(bytes >= 1000);
	o->client = RMC_BLOCKS_CLIENTS;
	FAILS(rmc_blocks_open(&qp, o), EINVAL);
	o->client = 0;
	FAILS(rmc_blocks_open(&qp, o), EINVAL);
	ASK(o);
	CHECK_EQ(rmc_blocks_bytes(o), REFUSED(0) ? 0 : bytes);
	CHECK_EQ(rmc_blocks_memory(o) == 0, REFUSED(0) ? 1 : 0);
}

static void test_sizes(void)
{
	char o[256] = { 0 };

	/* shorter than in any version; longer, with the rest zero or not */
	CHECK(!rmc_rpc_open_sized(NULL, (struct rmc_rpc_options *)(void *)o, 47));
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(rmc_kv_bytes_sized(2, (struct rmc_kv_options *)(void *)o, 63), 0);
	CHECK(rmc_kv_bytes_sized(2, (struct rmc_kv_options *)(void *)o, sizeof(o)) > 0);
	o[sizeof(o) - 1] = 1;
	CHECK_EQ(rmc_kv_bytes_sized(2, (struct rmc_kv_options *)(void *)o, sizeof(o)), 0);
	CHECK_EQ(errno, E2BIG);
	CHECK(strstr(rmc_errmsg(), rmc_version()));
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "team options", test_team },
		{ "message options", test_messages },
		{ "options of receive buffers and calls", test_herd_and_rpc },
		{ "options of readers and the object store", test_reader_and_kv },
		{ "object layouts and SABRe policies", test_objects },
		{ "options of domains", test_domains },
		{ "options of blocks", test_blocks },
		{ "sizes that no version has", test_sizes },
	};

	/* the limits that the library reads from a context: all zero, nothing is allowed */
	team.ctx = (struct rmc_ctx *)at_end(4096);
	qp.head = 1;
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
