/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every ioctl with a valid argument. abi.c makes its size, flags or pointer invalid, args.c its
 * fields.
 */
#ifndef CALLS_H
#define CALLS_H

#include "common.h"

enum { CTL = 1, FILE_ = 2 };

/*
 * Every ioctl with an argument whose outcome (want: 0 or an errno) is neither
 * EINVAL nor E2BIG, and which has no lasting effect that matters.
 */
union arg {
	struct { uint32_t size, flags; } head;
	struct rmc_query query;
	struct rmc_node_info node_info;
	struct rmc_attach attach;
	struct rmc_seg_reg seg_reg;
	struct rmc_seg_unreg seg_unreg;
	struct rmc_buf_reg buf_reg;
	struct rmc_buf_unreg buf_unreg;
	struct rmc_qp_create qp_create;
	struct rmc_qp_id qp_id;
	struct rmc_cq_arm cq_arm;
	struct rmc_seg_arm seg_arm;
	struct rmc_seg_add seg_add;
	struct rmc_seg_del seg_del;
	struct rmc_watch watch;
	struct rmc_ctx_create ctx_create;
	struct rmc_ctx_remove ctx_remove;
	struct rmc_dom_query dom_query;
	struct rmc_dom_create dom_create;
	struct rmc_dom_open dom_open;
	struct rmc_dom_destroy dom_destroy;
	struct rmc_dom_attach dom_attach;
	struct rmc_dom_detach dom_detach;
	struct rmc_aq_arm aq_arm;
	struct rmc_room_arm room_arm;
	struct rmc_dom_stats dom_stats;
	struct rmc_tx_reg tx_reg;
	struct rmc_tx_open tx_open;
};

static const struct call {
	const char *name;
	unsigned long cmd;
	int devices;
	uint32_t size;
	int want;
	int reserved[2];	/* offsets of fields that must be 0; -1: none */
	int answers;		/* the struct is written back */
} calls[] = {
	{ "QUERY", RMC_IOC_QUERY, CTL | FILE_, sizeof(struct rmc_query), 0, { -1, -1 }, 1 },
	{ "NODE_INFO", RMC_IOC_NODE_INFO, CTL | FILE_, sizeof(struct rmc_node_info), 0, { -1, -1 }, 1 },
	{ "ATTACH", RMC_IOC_ATTACH, FILE_, sizeof(struct rmc_attach), 0,
	  { offsetof(struct rmc_attach, reserved), -1 }, 0 },
	{ "SEG_REG", RMC_IOC_SEG_REG, FILE_, sizeof(struct rmc_seg_reg), EEXIST,
	  { offsetof(struct rmc_seg_reg, reserved), offsetof(struct rmc_seg_reg, reserved2) }, 1 },
	{ "SEG_ADD", RMC_IOC_SEG_ADD, FILE_, sizeof(struct rmc_seg_add), EEXIST, { -1, -1 }, 0 },
	{ "SEG_DEL", RMC_IOC_SEG_DEL, FILE_, sizeof(struct rmc_seg_del), ENOENT, { -1, -1 }, 0 },
	{ "BUF_REG", RMC_IOC_BUF_REG, FILE_, sizeof(struct rmc_buf_reg), EEXIST, { -1, -1 }, 1 },
	{ "BUF_UNREG", RMC_IOC_BUF_UNREG, FILE_, sizeof(struct rmc_buf_unreg), ENOENT,
	  { offsetof(struct rmc_buf_unreg, reserved), -1 }, 0 },
	{ "QP_CREATE", RMC_IOC_QP_CREATE, FILE_, sizeof(struct rmc_qp_create), 0, { -1, -1 }, 1 },
	{ "QP_DESTROY", RMC_IOC_QP_DESTROY, FILE_, sizeof(struct rmc_qp_id), ENOENT,
	  { offsetof(struct rmc_qp_id, reserved), -1 }, 0 },
	{ "WAKE", RMC_IOC_WAKE, FILE_, sizeof(struct rmc_qp_id), ENOENT,
	  { offsetof(struct rmc_qp_id, reserved), -1 }, 0 },
	{ "CQ_ARM", RMC_IOC_CQ_ARM, FILE_, sizeof(struct rmc_cq_arm), ENOENT,
	  { offsetof(struct rmc_cq_arm, reserved), -1 }, 0 },
	{ "WATCH", RMC_IOC_WATCH, CTL | FILE_, sizeof(struct rmc_watch), 0,
	  { offsetof(struct rmc_watch, reserved), -1 }, 1 },
	{ "SEG_ARM", RMC_IOC_SEG_ARM, FILE_, sizeof(struct rmc_seg_arm), 0, { -1, -1 }, 1 },
	{ "CTX_CREATE", RMC_IOC_CTX_CREATE, CTL, sizeof(struct rmc_ctx_create), EEXIST,
	  { -1, -1 }, 0 },
	{ "CTX_REMOVE", RMC_IOC_CTX_REMOVE, CTL, sizeof(struct rmc_ctx_remove), ENOENT,
	  { offsetof(struct rmc_ctx_remove, reserved), -1 }, 0 },
	{ "SEG_UNREG", RMC_IOC_SEG_UNREG, FILE_, sizeof(struct rmc_seg_unreg), 0, { -1, -1 }, 0 },
	{ "DOM_QUERY", RMC_IOC_DOM_QUERY, FILE_, sizeof(struct rmc_dom_query), 0, { -1, -1 }, 1 },
	{ "DOM_CREATE", RMC_IOC_DOM_CREATE, FILE_, sizeof(struct rmc_dom_create), 0,
	  { offsetof(struct rmc_dom_create, reserved), -1 }, 1 },
	{ "DOM_OPEN", RMC_IOC_DOM_OPEN, FILE_, sizeof(struct rmc_dom_open), ENOENT, { -1, -1 }, 1 },
	{ "DOM_DESTROY", RMC_IOC_DOM_DESTROY, FILE_, sizeof(struct rmc_dom_destroy), ENOENT,
	  { -1, -1 }, 0 },
	{ "DOM_ATTACH", RMC_IOC_DOM_ATTACH, FILE_, sizeof(struct rmc_dom_attach), ENOENT,
	  { offsetof(struct rmc_dom_attach, reserved), -1 }, 1 },
	{ "DOM_DETACH", RMC_IOC_DOM_DETACH, FILE_, sizeof(struct rmc_dom_detach), ENOENT,
	  { offsetof(struct rmc_dom_detach, reserved), -1 }, 0 },
	{ "ROOM_ARM", RMC_IOC_ROOM_ARM, FILE_, sizeof(struct rmc_room_arm), ENOENT, { -1, -1 }, 0 },
	{ "AQ_ARM", RMC_IOC_AQ_ARM, FILE_, sizeof(struct rmc_aq_arm), ENOENT,
	  { offsetof(struct rmc_aq_arm, reserved), -1 }, 0 },
	{ "TX_REG", RMC_IOC_TX_REG, FILE_, sizeof(struct rmc_tx_reg), 0, { -1, -1 }, 1 },
	{ "DOM_STATS", RMC_IOC_DOM_STATS, FILE_, sizeof(struct rmc_dom_stats), ENOENT, { -1, -1 }, 1 },
};

#define CALLS		(sizeof(calls) / sizeof(calls[0]))
#define SLACK		64

static struct end e;
static int ctl;
static uint8_t *edge;	/* memory before it is accessible, memory from here on is not */

static void prepare(void)
{
	end_open(&e, CTX, 0, PAGE, PAGE, 0);
	ctl = open_ctl();
	REQUIRE(ctl >= 0);
	edge = (uint8_t *)memory(PAGE) + PAGE;
}

static void good_arg(const struct call *c, union arg *a)
{
	memset(a, 0, sizeof(*a));
	a->head.size = c->size;
	switch (c->cmd) {
	case RMC_IOC_SEG_REG:
		a->seg_reg.addr = (uintptr_t)e.seg;
		a->seg_reg.length = PAGE;
		break;
	case RMC_IOC_SEG_ADD:
		a->seg_add.addr = (uintptr_t)e.buf;
		a->seg_add.length = 64;
		break;
	case RMC_IOC_SEG_DEL:
		a->seg_del.offset = 1 << 20;
		break;
	case RMC_IOC_BUF_REG:
		a->buf_reg.addr = (uintptr_t)e.buf;
		a->buf_reg.length = PAGE;
		break;
	case RMC_IOC_BUF_UNREG:
		a->buf_unreg.buf_id = 4711;
		break;
	case RMC_IOC_QP_CREATE:
		a->qp_create.entries = 2;
		break;
	case RMC_IOC_QP_DESTROY:
	case RMC_IOC_WAKE:
		a->qp_id.qp_id = 4711;
		break;
	case RMC_IOC_CQ_ARM:
		a->cq_arm.qp_id = 4711;
		a->cq_arm.eventfd = -1;
		break;
	case RMC_IOC_WATCH:
		a->watch.nid = -1;
		break;
	case RMC_IOC_SEG_ARM:
		a->seg_arm.eventfd = -1;
		break;
	case RMC_IOC_CTX_CREATE:
		a->ctx_create.ctx_id = CTX;
		a->ctx_create.mode = 0666;
		break;
	case RMC_IOC_CTX_REMOVE:
		a->ctx_remove.ctx_id = 255;
		break;
	case RMC_IOC_DOM_CREATE:
		a->dom_create.nodes = 1;
		a->dom_create.slots = 1;
		a->dom_create.max_message = 64;
		a->dom_create.depth = 1;
		a->dom_create.cores = 1;
		a->dom_create.groups = 1;
		break;
	case RMC_IOC_DOM_OPEN:
		a->dom_open.member = 1;
		break;
	case RMC_IOC_DOM_ATTACH:
	case RMC_IOC_DOM_DETACH:
		a->dom_attach.qp_id = 4711;
		break;
	case RMC_IOC_ROOM_ARM:
		a->room_arm.qp_id = 4711;
		a->room_arm.eventfd = -1;
		break;
	case RMC_IOC_TX_REG:
		a->tx_reg.length = 64;
		break;
	case RMC_IOC_AQ_ARM:
		a->aq_arm.qp_id = 4711;
		a->aq_arm.eventfd = -1;
		break;
	}
}

static int fd_for(const struct call *c, int device)
{
	(void)c;
	return device == CTL ? ctl : rmc_fd(e.ctx);
}

/* Return 0 or errno; undo the effects of a success. */
static int issue(const struct call *c, int device, void *arg)
{
	int fd = fd_for(c, device);

	if (ioctl(fd, c->cmd, arg))
		return errno;
	if (c->cmd == RMC_IOC_QP_CREATE) {
		struct rmc_qp_create got;

		memcpy(&got, arg, sizeof(got));
		CHECK(!qp_destroy(fd, got.qp_id));
	}
	if (c->cmd == RMC_IOC_WATCH) {
		struct rmc_watch got;

		memcpy(&got, arg, sizeof(got));
		CHECK(!close(got.fd));
	}
	if (c->cmd == RMC_IOC_DOM_CREATE) {
		struct rmc_dom_destroy gone = { .size = sizeof(gone) };

		CHECK(!ioctl(fd, RMC_IOC_DOM_DESTROY, &gone));
	}
	if (c->cmd == RMC_IOC_TX_REG) {
		struct rmc_tx_reg none = { .size = sizeof(none) };

		CHECK(!ioctl(fd, RMC_IOC_TX_REG, &none));
	}
	if (c->cmd == RMC_IOC_SEG_UNREG)
		CHECK(!seg_reg(fd, e.seg, PAGE, 0));
	return 0;
}

static void expect(const struct call *c, int device, void *arg, int want, const char *when)
{
	int got = issue(c, device, arg);

	if (got == want)
		return;
	ktap_say("%s on %s, %s: errno %d (%s), not %d", c->name,
		 device == CTL ? "the control device" : "a context", when, got, strerror(got), want);
	ktap_fail();
}

#define for_each_call(c, dev)							\
	for ((c) = calls; (c) < calls + CALLS; (c)++)				\
		for ((dev) = CTL; (dev) <= FILE_; (dev)++)			\
			if ((c)->devices & (dev))

#endif
