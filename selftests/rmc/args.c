// SPDX-License-Identifier: GPL-2.0
/* The fields of every ioctl's argument: known bad values, and random values. */
#include <dirent.h>
#include "calls.h"

#define NOWHERE	0xffff888000000000ULL
#define KERNEL	0xffffffff81000000ULL

/* One bad field in an otherwise valid argument */
static const struct {
	unsigned long cmd;
	size_t offset, bytes;
	uint64_t value;
	int want;
} wrong[] = {
#define W(cmd, type, field, value, want)					\
	{ RMC_IOC_##cmd, offsetof(struct type, field), sizeof(((struct type *)0)->field), \
	  (uint64_t)(value), want }
	W(NODE_INFO, rmc_node_info, nid, 1024, EINVAL),
	W(NODE_INFO, rmc_node_info, nid, 0x80000000, EINVAL),
	W(NODE_INFO, rmc_node_info, nid, ~0U, EINVAL),
	W(ATTACH, rmc_attach, nid, 1024, ENXIO),
	W(ATTACH, rmc_attach, nid, 0x80000000, ENXIO),
	W(ATTACH, rmc_attach, nid, ~0U, ENXIO),
	W(SEG_REG, rmc_seg_reg, addr, 0, EFAULT),
	W(SEG_REG, rmc_seg_reg, addr, 1, EINVAL),
	W(SEG_REG, rmc_seg_reg, addr, 64, EFAULT),
	W(SEG_REG, rmc_seg_reg, addr, 0x7ffffffff000ULL, EFAULT),
	W(SEG_REG, rmc_seg_reg, addr, 0x800000000000ULL, EFAULT),
	W(SEG_REG, rmc_seg_reg, addr, NOWHERE, EFAULT),
	W(SEG_REG, rmc_seg_reg, addr, KERNEL, EFAULT),
	W(SEG_REG, rmc_seg_reg, addr, ~63ULL, EFAULT),
	W(SEG_REG, rmc_seg_reg, length, 0, EINVAL),
	W(SEG_REG, rmc_seg_reg, length, RMC_OFFSET_MAX + 2, EINVAL),
	W(SEG_REG, rmc_seg_reg, length, 1ULL << 63, EINVAL),
	W(SEG_REG, rmc_seg_reg, length, ~0ULL, EINVAL),
	W(SEG_REG, rmc_seg_reg, numa_node, 1, EINVAL),
	W(SEG_REG, rmc_seg_reg, numa_node, -1, EINVAL),
	W(SEG_REG, rmc_seg_reg, version_offset, 8, EINVAL),
	W(SEG_REG, rmc_seg_reg, readers_offset, 8, EINVAL),
	W(SEG_REG, rmc_seg_reg, sabre_mode, 1, EINVAL),
	W(SEG_REG, rmc_seg_reg, sabre_mode, ~0U, EINVAL),
	W(SEG_REG, rmc_seg_reg, flags, RMC_MEM_ALLOC, EINVAL),
	W(SEG_REG, rmc_seg_reg, flags, RMC_MEM_NUMA, EINVAL),
	W(BUF_REG, rmc_buf_reg, addr, 0, EFAULT),
	W(BUF_REG, rmc_buf_reg, addr, 64, EFAULT),
	W(BUF_REG, rmc_buf_reg, addr, 0x7ffffffff000ULL, EFAULT),
	W(BUF_REG, rmc_buf_reg, addr, 0x800000000000ULL, EFAULT),
	W(BUF_REG, rmc_buf_reg, addr, RMC_WQE_LBUF_MASK, EINVAL),
	W(BUF_REG, rmc_buf_reg, addr, NOWHERE, EINVAL),
	W(BUF_REG, rmc_buf_reg, addr, KERNEL, EINVAL),
	W(BUF_REG, rmc_buf_reg, addr, ~0ULL, EINVAL),
	W(BUF_REG, rmc_buf_reg, length, 0, EINVAL),
	W(BUF_REG, rmc_buf_reg, length, RMC_OFFSET_MAX + 2, EINVAL),
	W(BUF_REG, rmc_buf_reg, length, ~0ULL, EINVAL),
	W(BUF_REG, rmc_buf_reg, numa_node, 1, EINVAL),
	W(BUF_REG, rmc_buf_reg, numa_node, -1, EINVAL),
	W(SEG_ADD, rmc_seg_add, addr, 1, EINVAL),
	W(SEG_ADD, rmc_seg_add, length, 0, EINVAL),
	W(SEG_ADD, rmc_seg_add, length, ~0ULL, EINVAL),
	W(SEG_ADD, rmc_seg_add, offset, 1, EINVAL),
	W(SEG_ADD, rmc_seg_add, offset, ~63ULL, EINVAL),
	W(SEG_DEL, rmc_seg_del, offset, 1, ENOENT),
	W(BUF_REG, rmc_buf_reg, flags, RMC_MEM_ALLOC, EINVAL),
	W(BUF_REG, rmc_buf_reg, flags, RMC_MEM_NUMA, EINVAL),
	W(BUF_UNREG, rmc_buf_unreg, buf_id, ~0U, ENOENT),
	W(QP_CREATE, rmc_qp_create, entries, 0, EINVAL),
	W(QP_CREATE, rmc_qp_create, entries, 1, EINVAL),
	W(QP_CREATE, rmc_qp_create, entries, 3, EINVAL),
	W(QP_CREATE, rmc_qp_create, entries, 8192, EINVAL),
	W(QP_CREATE, rmc_qp_create, entries, 0x80000000, EINVAL),
	W(QP_CREATE, rmc_qp_create, entries, ~0U, EINVAL),
	W(QP_DESTROY, rmc_qp_id, qp_id, ~0U, ENOENT),
	W(WAKE, rmc_qp_id, qp_id, ~0U, ENOENT),
	W(CQ_ARM, rmc_cq_arm, qp_id, ~0U, ENOENT),
	W(WATCH, rmc_watch, types, 1U << RMC_EVENT_TYPES, EOPNOTSUPP),
	W(WATCH, rmc_watch, types, 0x80000000, EOPNOTSUPP),
	W(WATCH, rmc_watch, nid, 1024, ENXIO),
	W(WATCH, rmc_watch, nid, 0x7fffffff, ENXIO),
	W(SEG_ARM, rmc_seg_arm, eventfd, 4711, EBADF),
	W(SEG_ARM, rmc_seg_arm, eventfd, 0, EINVAL),
	W(TX_REG, rmc_tx_reg, offset, 1, EINVAL),
	W(TX_REG, rmc_tx_reg, offset, PAGE, EINVAL),
	W(TX_REG, rmc_tx_reg, offset, ~63ULL, EINVAL),
	W(TX_REG, rmc_tx_reg, length, 1, EINVAL),
	W(TX_REG, rmc_tx_reg, length, PAGE + 64, EINVAL),
	W(TX_REG, rmc_tx_reg, length, ~63ULL, EINVAL),
	W(TX_REG, rmc_tx_reg, local, 1, EINVAL),
	W(TX_REG, rmc_tx_reg, local, 64, EFAULT),
	W(TX_REG, rmc_tx_reg, local, 0x7ffffffff000ULL, EFAULT),
	W(TX_REG, rmc_tx_reg, local, 0x800000000000ULL, EFAULT),
	W(TX_REG, rmc_tx_reg, local, NOWHERE, EFAULT),
	W(TX_REG, rmc_tx_reg, local, KERNEL, EFAULT),
	W(TX_REG, rmc_tx_reg, local, ~63ULL, EFAULT),
	W(TX_REG, rmc_tx_reg, buffers, 65, EINVAL),
	W(TX_REG, rmc_tx_reg, buffers, ~0U, EINVAL),
	W(TX_REG, rmc_tx_reg, groups, 1025, EINVAL),
	W(TX_REG, rmc_tx_reg, groups, ~0U, EINVAL),
	W(TX_OPEN, rmc_tx_open, qp_id, ~0U, ENOENT),
	W(TX_OPEN, rmc_tx_open, slots, 0, EINVAL),
	W(TX_OPEN, rmc_tx_open, slots, 65, EINVAL),
	W(TX_OPEN, rmc_tx_open, slots, ~0U, EINVAL),
	W(TX_OPEN, rmc_tx_open, bytes, 65537, EINVAL),
	W(TX_OPEN, rmc_tx_open, bytes, ~0U, EINVAL),
	W(CTX_CREATE, rmc_ctx_create, ctx_id, 256, EINVAL),
	W(CTX_CREATE, rmc_ctx_create, ctx_id, ~0U, EINVAL),
	W(CTX_CREATE, rmc_ctx_create, mode, 01000, EINVAL),
	W(CTX_CREATE, rmc_ctx_create, mode, ~0U, EINVAL),
	W(CTX_CREATE, rmc_ctx_create, uid, ~0U, EINVAL),
	W(CTX_CREATE, rmc_ctx_create, gid, ~0U, EINVAL),
	W(CTX_REMOVE, rmc_ctx_remove, ctx_id, 256, ENOENT),
	W(CTX_REMOVE, rmc_ctx_remove, ctx_id, ~0U, ENOENT),
	W(CTX_REMOVE, rmc_ctx_remove, ctx_id, CTX, EBUSY),
#undef W
};

TEST(a_wrong_field_has_its_errno)
{
	const struct call *c;
	char when[80];
	unsigned int i;
	union arg a;
	int dev;

	prepare();
	/* a registration's fields are validated before the check for an existing one */
	for_each_call(c, dev) {
		for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			if (wrong[i].cmd != c->cmd)
				continue;
			good_arg(c, &a);
			memcpy((uint8_t *)&a + wrong[i].offset, &wrong[i].value, wrong[i].bytes);
			snprintf(when, sizeof(when), "field at %zu is %#llx", wrong[i].offset,
				 (unsigned long long)wrong[i].value);
			expect(c, dev, &a, wrong[i].want, when);
		}
	}
}

/* Fails if the driver has an ioctl that the table lacks: such an ioctl would not be tested. */
TEST(the_table_has_every_ioctl)
{
	union arg *a = memory(PAGE);
	unsigned int nr, known;
	const struct call *c;
	int dev;

	prepare();
	for (nr = 0; nr < 256; nr++) {
		for (dev = CTL; dev <= FILE_; dev++) {
			known = 0;
			for (c = calls; c < calls + CALLS; c++)
				known |= c->cmd == _IO(RMC_IOC_TYPE, nr) && c->devices & dev;
			/* size 0: a known ioctl refuses it with EINVAL, not ENOTTY */
			memset(a, 0, sizeof(*a));
			CHECK_ERRNO(ioctl(fd_for(NULL, dev), _IO(RMC_IOC_TYPE, nr), a),
				    known ? EINVAL : ENOTTY);
		}
	}
}

TEST(event_files_have_no_ioctls)
{
	struct rmc_watch w = { .size = sizeof(w), .nid = -1 };
	const struct call *c;
	union arg a;

	prepare();
	REQUIRE(!ioctl(ctl, RMC_IOC_WATCH, &w));
	for (c = calls; c < calls + CALLS; c++) {
		good_arg(c, &a);
		CHECK_ERRNO(ioctl(w.fd, c->cmd, &a), ENOTTY);
	}
}

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	REQUIRE(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static uint64_t value(uint32_t *state)
{
	static const uint64_t edges[] = {
		0, 1, 2, 8, 64, 4096, 255, 256, 1024, 0x7fffffff, 0x80000000, ~0U, 1ULL << 40,
		1ULL << 47, 1ULL << 48, 1ULL << 63, NOWHERE, ~0ULL,
	};

	switch (rnd(state) % 4) {
	case 0:
		return (uint64_t)rnd(state) << 32 | rnd(state);
	case 1:
		return (uintptr_t)e.buf + rnd(state) % PAGE;
	case 2:
		return rnd(state) % 8;
	default:
		return edges[rnd(state) % (sizeof(edges) / sizeof(edges[0]))];
	}
}

/* Every ioctl gives an allowed errno, and no descriptor or pinned page stays behind. */
TEST(values_by_chance)
{
	static const int allowed[] = {
		0, EINVAL, EOPNOTSUPP, E2BIG, EFAULT, ENOMEM, ENOSPC, ENXIO, EEXIST, ENOENT, EBUSY,
		EBADF,
	};
	uint32_t state = 4711, round, i, at;
	const struct call *c;
	int dev, got, fd, fds;
	long long pinned;
	union arg a;

	prepare();
	fds = open_fds();
	pinned = pages_pinned();
	for (round = 0; round < (uint32_t)ktap_rounds(20000); round++) {
		/* all tests share the contexts: leave them alone */
		c = &calls[rnd(&state) % CALLS];
		if (c->cmd == RMC_IOC_CTX_CREATE || c->cmd == RMC_IOC_CTX_REMOVE)
			continue;
		dev = rnd(&state) % 4 ? FILE_ : CTL;
		if (!(c->devices & dev))
			continue;
		fd = dev == CTL ? ctl : open_ctx(CTX);
		REQUIRE(fd >= 0);
		good_arg(c, &a);
		for (i = 0; i < 1 + rnd(&state) % 3; i++) {
			uint64_t v = value(&state);

			at = 4 + rnd(&state) % (c->size / 4 - 1) * 4;
			memcpy((uint8_t *)&a + at, &v, at + 8 <= c->size ? 8 : 4);
		}
		got = ioctl(fd, c->cmd, &a) ? errno : 0;
		for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
			if (allowed[i] == got)
				break;
		if (i == sizeof(allowed) / sizeof(allowed[0])) {
			ktap_say("%s: errno %d (%s)", c->name, got, strerror(got));
			ktap_fail();
		}
		if (!got && c->cmd == RMC_IOC_WATCH)
			close(a.watch.fd);
		if (dev == FILE_)
			close(fd);
	}
	CHECK_EQ(open_fds(), fds);
	CHECK(!pages_settle(pinned));
}

KTAP_MAIN(suite_missing)
