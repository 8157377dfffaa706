// SPDX-License-Identifier: GPL-2.0
/* The ioctl interface: sizes, flags, pointers, and which ioctls each device accepts. */
#include "calls.h"

TEST(exact_size)
{
	const struct call *c;
	union arg a;
	int dev;

	prepare();
	for_each_call(c, dev) {
		good_arg(c, &a);
		expect(c, dev, &a, c->want, "valid argument");
	}
}

/* Size of the struct's first version; callers may omit the fields added later. */
static uint32_t first_size(const struct call *c)
{
	switch (c->cmd) {
	case RMC_IOC_QUERY:
		return offsetof(struct rmc_query, att_entries);
	case RMC_IOC_NODE_INFO:
		return offsetof(struct rmc_node_info, local_bytes);
	case RMC_IOC_SEG_REG:
		return offsetof(struct rmc_seg_reg, version_offset);
	case RMC_IOC_DOM_QUERY:
		return offsetof(struct rmc_dom_query, max_wake_us);
	case RMC_IOC_DOM_CREATE:
		return offsetof(struct rmc_dom_create, wake_us);
	default:
		return c->size;
	}
}

TEST(shorter_is_einval)
{
	const struct call *c;
	union arg a;
	char when[40];
	uint32_t size;
	int dev;

	prepare();
	for_each_call(c, dev) {
		for (size = 0; size < first_size(c); size++) {
			/* no memory behind the stated size; size itself is always readable */
			uint8_t *p = edge - (size < 4 ? 4 : size);

			good_arg(c, &a);
			a.head.size = size;
			memcpy(p, &a, (size_t)(edge - p));
			snprintf(when, sizeof(when), "size %u", size);
			expect(c, dev, p, EINVAL, when);
		}
	}
}

TEST(longer_with_zeros_is_fine)
{
	const struct call *c;
	union arg a;
	char when[40];
	uint32_t more;
	int dev;

	prepare();
	for_each_call(c, dev) {
		for (more = 1; more <= SLACK; more++) {
			uint8_t *p = edge - c->size - more;

			good_arg(c, &a);
			a.head.size = c->size + more;
			memset(p, 0, c->size + more);
			memcpy(p, &a, c->size);
			snprintf(when, sizeof(when), "%u zero bytes more", more);
			expect(c, dev, p, c->want, when);
		}
	}
}

TEST(longer_with_content_is_e2big)
{
	const struct call *c;
	union arg a;
	char when[40];
	uint32_t more;
	int dev;

	prepare();
	for_each_call(c, dev) {
		for (more = 1; more <= SLACK; more++) {
			uint8_t *p = edge - c->size - more;

			good_arg(c, &a);
			a.head.size = c->size + more;
			memset(p, 0, c->size + more);
			memcpy(p, &a, c->size);
			edge[-1] = 0x80;
			snprintf(when, sizeof(when), "%u bytes more, the last not 0", more);
			expect(c, dev, p, E2BIG, when);
		}
	}
}

TEST(absurd_size_fails)
{
	static const uint32_t sizes[] = { 4097, 1 << 20, 0x7fffffff, 0x80000000, 0xffffffff };
	const struct call *c;
	union arg a;
	unsigned int i;
	int dev, got;

	prepare();
	for_each_call(c, dev) {
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			good_arg(c, &a);
			a.head.size = sizes[i];
			memcpy(edge - sizeof(a), &a, sizeof(a));
			got = issue(c, dev, edge - sizeof(a));
			if (got != E2BIG && got != EFAULT && got != EINVAL) {
				ktap_say("%s with size %u: errno %d", c->name, sizes[i], got);
				ktap_fail();
			}
		}
	}
}

TEST(unknown_flags_are_eopnotsupp)
{
	const struct call *c;
	union arg a;
	char when[40];
	int dev, bit;

	prepare();
	for_each_call(c, dev) {
		for (bit = 0; bit < 32; bit++) {
			if ((c->cmd == RMC_IOC_SEG_REG && bit < 4) ||
			    (c->cmd == RMC_IOC_SEG_ADD && !bit) ||
			    (c->cmd == RMC_IOC_QP_CREATE && !bit) ||
			    (c->cmd == RMC_IOC_WATCH && !bit) ||
			    (c->cmd == RMC_IOC_WAKE && !bit) ||
			    (c->cmd == RMC_IOC_DOM_CREATE && bit < 2) ||
			    (c->cmd == RMC_IOC_DOM_ATTACH && !bit) ||
			    (c->cmd == RMC_IOC_BUF_REG && (bit == 1 || bit == 2)))
				continue;
			good_arg(c, &a);
			a.head.flags = 1U << bit;
			snprintf(when, sizeof(when), "flag bit %d", bit);
			expect(c, dev, &a, EOPNOTSUPP, when);
		}
	}
}

TEST(reserved_fields_are_eopnotsupp)
{
	const struct call *c;
	char when[60];
	union arg a;
	int dev, i, bit;

	prepare();
	for_each_call(c, dev) {
		for (i = 0; i < 2 && c->reserved[i] >= 0; i++) {
			for (bit = 0; bit < 32; bit++) {
				good_arg(c, &a);
				((uint8_t *)&a)[c->reserved[i] + bit / 8] = 1 << bit % 8;
				snprintf(when, sizeof(when), "reserved field at %d, bit %d",
					 c->reserved[i], bit);
				expect(c, dev, &a, EOPNOTSUPP, when);
			}
		}
	}
}

TEST(bad_pointers_are_efault)
{
	static const unsigned long where[] = {
		0, 1, 0x7ffffffff000UL, 0x800000000000UL, 0xffff888000000000UL, ~0UL - 3, ~0UL,
	};
	const struct call *c;
	unsigned int i;
	int dev;

	prepare();
	for_each_call(c, dev)
		for (i = 0; i < sizeof(where) / sizeof(where[0]); i++)
			expect(c, dev, (void *)where[i], EFAULT, "bad pointer");
}

TEST(half_mapped_argument_is_efault)
{
	const struct call *c;
	union arg a;
	int dev;

	prepare();
	for_each_call(c, dev) {
		good_arg(c, &a);
		memcpy(edge - 4, &a, 4);
		expect(c, dev, edge - 4, EFAULT, "only its size is mapped");
	}
}

TEST(result_to_readonly_memory_is_efault)
{
	union arg *a = memory(PAGE);
	const struct call *c;
	int dev, fds;

	prepare();
	for_each_call(c, dev) {
		/* ioctls that fail before they write the answer return their own errno */
		if (!c->answers || c->want)
			continue;
		good_arg(c, a);
		fds = dup(0);
		close(fds);
		REQUIRE(!mprotect(a, PAGE, PROT_READ));
		expect(c, dev, a, EFAULT, "the answer cannot be written");
		REQUIRE(!mprotect(a, PAGE, PROT_READ | PROT_WRITE));
		/* no descriptor was left open */
		CHECK_EQ(dup(0), fds);
		close(fds);
		expect(c, dev, a, 0, "the answer can be written");
	}
}

TEST(failed_qp_create_leaves_no_qp)
{
	struct rmc_qp_create *arg = memory(PAGE), ok;
	const struct rmc_query *q;
	unsigned int i;

	prepare();
	q = rmc_query(e.ctx);
	arg->size = sizeof(*arg);
	arg->entries = 2;
	REQUIRE(!mprotect(arg, PAGE, PROT_READ));
	for (i = 0; i <= q->max_qps; i++)
		if (!CHECK_ERRNO(ioctl(rmc_fd(e.ctx), RMC_IOC_QP_CREATE, arg), EFAULT))
			break;
	CHECK(!qp_create(rmc_fd(e.ctx), 2, &ok));
}

TEST(failed_registration_leaves_nothing)
{
	struct rmc_seg_reg *seg = memory(PAGE);
	struct rmc_buf_reg *buf = (struct rmc_buf_reg *)(seg + 1);
	long long before;
	int fd;

	prepare();
	fd = rmc_fd(e.ctx);
	REQUIRE(!seg_unreg(fd));
	seg->size = sizeof(*seg);
	seg->flags = RMC_MEM_ALLOC;
	seg->length = 16 * PAGE;
	buf->size = sizeof(*buf);
	buf->flags = RMC_MEM_ALLOC;
	buf->length = 16 * PAGE;
	REQUIRE(!mprotect(seg, PAGE, PROT_READ));
	before = pinned_kib();
	CHECK_ERRNO(ioctl(fd, RMC_IOC_SEG_REG, seg), EFAULT);
	CHECK_ERRNO(ioctl(fd, RMC_IOC_BUF_REG, buf), EFAULT);
	CHECK_EQ(pinned_kib(), before);
	CHECK(!seg_reg(fd, e.seg, PAGE, 0));
}

TEST(unknown_ioctls_are_enotty)
{
	static const unsigned long cmds[] = {
		_IO(RMC_IOC_TYPE, 0x7f), _IO(RMC_IOC_TYPE, 0x0f), _IO(RMC_IOC_TYPE, 0xff),
		_IO('r', 0x00), _IOR(RMC_IOC_TYPE, 0x00, struct rmc_query), 0, ~0U,
	};
	union arg a = { .query.size = sizeof(struct rmc_query) };
	unsigned int i;

	prepare();
	for (i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		CHECK_ERRNO(ioctl(ctl, cmds[i], &a), ENOTTY);
		CHECK_ERRNO(ioctl(rmc_fd(e.ctx), cmds[i], &a), ENOTTY);
	}
}

TEST(wrong_device_is_enotty)
{
	const struct call *c;
	union arg a;

	prepare();
	for (c = calls; c < calls + CALLS; c++) {
		if (c->devices == (CTL | FILE_))
			continue;
		good_arg(c, &a);
		expect(c, c->devices == CTL ? FILE_ : CTL, &a, ENOTTY, "the other device's");
	}
}

static void check_query(const struct rmc_query *q)
{
	CHECK_EQ(q->size, sizeof(*q));
	CHECK_EQ(q->abi, RMC_ABI_VERSION);
	CHECK(q->fabric >= RMC_FABRIC_LOOPBACK && q->fabric <= RMC_FABRIC_UML);
	CHECK(q->ni >= RMC_NI_FUSED && q->ni <= RMC_NI_SPLIT);
	CHECK(q->units >= 1 && q->units <= 8 && !(q->units & (q->units - 1)));
	CHECK(q->rrpps >= 1 && q->rrpps <= q->units && !(q->rrpps & (q->rrpps - 1)));
	CHECK(q->interleave >= 64 && !(q->interleave & (q->interleave - 1)));
	CHECK(q->max_ranges >= 1);
	CHECK(q->local_path <= 1);
	CHECK(q->max_waits >= q->max_qps && q->max_watches >= 1);
	CHECK(q->nodes >= 1 && q->nodes <= RMC_NID_MAX + 1);
	CHECK(q->local_nodes >= 1 && q->first_local + q->local_nodes <= q->nodes);
	CHECK(q->mtu >= 64 && !(q->mtu % 64));
	CHECK(q->max_length >= 1 << 20 && q->max_length <= RMC_LENGTH_MAX);
	CHECK(q->max_segment >= 1ULL << 30 && q->max_segment <= RMC_OFFSET_MAX + 1);
	CHECK(q->max_contexts >= 1 && q->max_qps >= 1 && q->max_buffers >= 1);
	CHECK(q->max_entries >= 2 && !(q->max_entries & (q->max_entries - 1)));
	CHECK(q->itt_entries >= 1);
	CHECK(q->timeout_ms >= 1);
	CHECK(q->shared_cpu <= 1);
	CHECK_EQ(q->op_mask & 0x1f, 1 << RMC_OP_READ | 1 << RMC_OP_WRITE | 1 << RMC_OP_CAS |
		 1 << RMC_OP_FAA);
	CHECK(q->op_mask >> RMC_OP_WRITE_ONCE & 1);
	CHECK(!(q->op_mask >> RMC_OP_MAX));
	CHECK_EQ(q->flags, 0);
	CHECK(q->features & RMC_FEATURE_WATCH);
	CHECK(q->features & RMC_FEATURE_YIELD);
	CHECK(q->features & RMC_FEATURE_ORDERED);
}

TEST(query_is_correct)
{
	struct rmc_query q;
	int fd;

	prepare();
	memset(&q, 0, sizeof(q));
	q.size = sizeof(q);
	REQUIRE(!ioctl(ctl, RMC_IOC_QUERY, &q));
	check_query(&q);
	CHECK_EQ(q.nid, -1);
	CHECK_EQ(q.ctx_id, -1);
	CHECK_EQ(q.nodes, file_number(SYSFS "/nodes", ""));
	CHECK_EQ(q.mtu, file_number(SYSFS "/mtu", ""));
	CHECK_EQ(q.shared_cpu, file_number(SYSFS "/share", ""));

	fd = open_ctx(CTX);
	memset(&q, 0, sizeof(q));
	q.size = sizeof(q);
	REQUIRE(!ioctl(fd, RMC_IOC_QUERY, &q));
	check_query(&q);
	CHECK_EQ(q.ctx_id, CTX);

	memset(&q, 0, sizeof(q));
	q.size = sizeof(q);
	REQUIRE(!ioctl(rmc_fd(e.ctx), RMC_IOC_QUERY, &q));
	CHECK_EQ(q.nid, 0);
}

TEST(query_fills_only_what_was_asked)
{
	uint8_t room[sizeof(struct rmc_query) + 16];

	prepare();
	memset(room, 0, sizeof(room));
	memset(room + sizeof(struct rmc_query), 0x5a, 16);
	((struct rmc_query *)room)->size = sizeof(struct rmc_query);
	REQUIRE(!ioctl(ctl, RMC_IOC_QUERY, room));
	CHECK_EQ(room[sizeof(struct rmc_query)], 0x5a);
}

static uint32_t local_bytes(const struct end *from, uint32_t nid)
{
	struct rmc_node_info n = { .size = sizeof(n), .nid = nid };

	REQUIRE(!ioctl(rmc_fd(from->ctx), RMC_IOC_NODE_INFO, &n));
	return n.local_bytes;
}

/* Applications see the local path only in queries: operations succeed with and without it. */
TEST(local_path_is_switched_per_node)
{
	static const size_t lengths[] = { 8, 64, 1000, 16 * PAGE };
	const char *const path = SYSFS "/node1/local_path";
	struct rmc_query q = { .size = sizeof(q) };
	unsigned int i, k, can, self, other;
	struct end a, b;

	end_open(&a, CTX, 0, 16 * PAGE, 0, 0);
	end_open(&b, CTX, 1, 0, 16 * PAGE, 16);
	REQUIRE(!ioctl(rmc_fd(b.ctx), RMC_IOC_QUERY, &q));
	can = q.local_path;
	CHECK_EQ(can, q.ni == RMC_NI_FUSED && q.units == 1);
	CHECK(q.features & RMC_FEATURE_LOCAL_BYTES);
	self = local_bytes(&b, 1);
	other = local_bytes(&b, 0);
	CHECK_EQ(self != 0, can);
	CHECK(!self || self >= q.mtu || self >= 16384);
	/* 0 where the nodes have different workers */
	CHECK(!other || other == self);
	for (i = 0; i < 100; i++) {
		CHECK_EQ(file_put(path, i % 2 ? "1" : "0"), 0);
		CHECK_EQ(file_number(path, ""), i % 2);
		REQUIRE(!ioctl(rmc_fd(b.ctx), RMC_IOC_QUERY, &q));
		CHECK_EQ(q.local_path, i % 2 ? can : 0);
		CHECK_EQ(local_bytes(&b, 1), i % 2 ? self : 0);
		CHECK_EQ(local_bytes(&b, 0), i % 2 ? other : 0);
		/* another node's setting does not change */
		CHECK_EQ(file_number(SYSFS "/node0/local_path", ""), 1);
		for (k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
			memset(b.buf, (int)(i + k), lengths[k]);
			CHECK_EQ(rmc_write(b.qp, 0, 0, b.buf, lengths[k]), RMC_S_OK);
			CHECK(!memcmp(a.seg, b.buf, lengths[k]));
			memset(b.buf, 0xee, lengths[k]);
			CHECK_EQ(rmc_read(b.qp, 0, 0, b.buf, lengths[k]), RMC_S_OK);
			CHECK(!memcmp(a.seg, b.buf, lengths[k]));
		}
	}
	CHECK_EQ(file_put(path, "maybe"), EINVAL);
	CHECK_EQ(file_number(path, ""), 1);
	end_close(&b);
	end_close(&a);
}

TEST(attach_once)
{
	struct rmc_attach a = { .size = sizeof(a) };
	struct rmc_query q = { .size = sizeof(q) };
	int fd;

	prepare();
	REQUIRE(!ioctl(ctl, RMC_IOC_QUERY, &q));
	fd = open_ctx(CTX);
	REQUIRE(fd >= 0);
	a.nid = q.nodes;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_ATTACH, &a), ENXIO);
	a.nid = ~0U;
	CHECK_ERRNO(ioctl(fd, RMC_IOC_ATTACH, &a), ENXIO);
	a.nid = q.first_local + q.local_nodes - 1;
	CHECK(!ioctl(fd, RMC_IOC_ATTACH, &a));
	CHECK(!ioctl(fd, RMC_IOC_ATTACH, &a));
	if (q.local_nodes > 1) {
		a.nid = q.first_local;
		CHECK_ERRNO(ioctl(fd, RMC_IOC_ATTACH, &a), EBUSY);
	}
}

TEST(first_use_attaches_to_lowest_node)
{
	struct rmc_query q = { .size = sizeof(q) };
	struct rmc_qp_create qp;
	int fd = open_ctx(CTX);

	REQUIRE(fd >= 0);
	REQUIRE(!qp_create(fd, 2, &qp));
	REQUIRE(!ioctl(fd, RMC_IOC_QUERY, &q));
	CHECK_EQ(q.nid, q.first_local);
}

TEST(node_info)
{
	struct rmc_node_info n = { .size = sizeof(n) };
	struct rmc_query q = { .size = sizeof(q) };
	uint32_t nid;

	prepare();
	REQUIRE(!ioctl(ctl, RMC_IOC_QUERY, &q));
	for (nid = q.first_local; nid < q.first_local + q.local_nodes; nid++) {
		n.nid = nid;
		REQUIRE(!ioctl(ctl, RMC_IOC_NODE_INFO, &n));
		CHECK_EQ(n.state, RMC_NODE_UP);
		CHECK(n.local && n.epoch);
		CHECK_EQ(n.nid, nid);
	}
	n.nid = q.nodes;
	CHECK_ERRNO(ioctl(ctl, RMC_IOC_NODE_INFO, &n), EINVAL);
	CHECK_ERRNO(ioctl(rmc_fd(e.ctx), RMC_IOC_NODE_INFO, &n), EINVAL);
	n.nid = ~0U;
	CHECK_ERRNO(ioctl(ctl, RMC_IOC_NODE_INFO, &n), EINVAL);
}

TEST(qp_id_is_the_files_own)
{
	struct rmc_qp_id id = { .size = sizeof(id) };
	struct rmc_qp_create qp;
	struct end other;

	prepare();
	REQUIRE(!qp_create(rmc_fd(e.ctx), 2, &qp));
	end_open(&other, CTX, 0, 0, 0, 0);
	id.qp_id = qp.qp_id;
	CHECK_ERRNO(ioctl(rmc_fd(other.ctx), RMC_IOC_QP_DESTROY, &id), ENOENT);
	CHECK_ERRNO(ioctl(rmc_fd(other.ctx), RMC_IOC_WAKE, &id), ENOENT);
	CHECK(!ioctl(rmc_fd(e.ctx), RMC_IOC_WAKE, &id));
	id.flags = RMC_WAKE_YIELD;
	CHECK(ioctl(rmc_fd(e.ctx), RMC_IOC_WAKE, &id) >= 0);
	CHECK_ERRNO(ioctl(rmc_fd(e.ctx), RMC_IOC_QP_DESTROY, &id), EOPNOTSUPP);
	id.flags = 0;
	CHECK(!ioctl(rmc_fd(e.ctx), RMC_IOC_QP_DESTROY, &id));
	CHECK_ERRNO(ioctl(rmc_fd(e.ctx), RMC_IOC_QP_DESTROY, &id), ENOENT);
}

TEST(unregistering_nothing_is_enoent)
{
	prepare();
	CHECK(!seg_unreg(rmc_fd(e.ctx)));
	CHECK_ERRNO(seg_unreg(rmc_fd(e.ctx)), ENOENT);
	CHECK(!buf_unreg(rmc_fd(e.ctx), (unsigned int)e.buf_id));
	CHECK_ERRNO(buf_unreg(rmc_fd(e.ctx), (unsigned int)e.buf_id), ENOENT);
	CHECK_ERRNO(buf_unreg(rmc_fd(e.ctx), ~0U), ENOENT);
}

TEST(failed_tx_calls_leave_nothing)
{
	struct rmc_tx_reg *reg = memory(PAGE);
	struct rmc_tx_open *open = (struct rmc_tx_open *)(reg + 1), ok;
	struct rmc_qp_create qp;
	int fd;

	prepare();
	fd = rmc_fd(e.ctx);
	REQUIRE(!qp_create(fd, 2, &qp));
	*reg = (struct rmc_tx_reg){ .size = sizeof(*reg), .length = PAGE };
	*open = (struct rmc_tx_open){ .size = sizeof(*open), .qp_id = qp.qp_id, .slots = 64 };
	ok = *open;
	REQUIRE(!mprotect(reg, PAGE, PROT_READ));
	CHECK_ERRNO(ioctl(fd, RMC_IOC_TX_REG, reg), EFAULT);
	CHECK_ERRNO(ioctl(fd, RMC_IOC_TX_OPEN, open), EFAULT);
	CHECK(!ioctl(fd, RMC_IOC_TX_OPEN, &ok));
	REQUIRE(!mprotect(reg, PAGE, PROT_READ | PROT_WRITE));
	CHECK(!ioctl(fd, RMC_IOC_TX_REG, reg));
}

KTAP_MAIN(suite_missing)
