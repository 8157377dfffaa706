/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Domains over rmcd's socket: memory that comes with answers, arming, and what is left when the
 * daemon ends or breaks the protocol. Their messages are those of test_domain.c.
 */
#include <poll.h>
#include <sys/wait.h>
#include "daemon_client.h"
#include "../../lib/driver/daemon.h"
#include <rmc/domain.h>

#define SLOTS	3
#define BYTES	1000

static struct rmc_domain *open_domain(void)
{
	struct rmc_domain_options o;

	rmc_domain_defaults(&o);
	o.slots = SLOTS;
	o.max_message = BYTES;
	o.depth = 2;
	o.cores = 4;
	return rmc_domain_open_with(ctx, &o);
}

static void memory(void)
{
	struct rmc_arrival m;
	struct rmc_core *core, *sends;
	struct rmc_domain *d;
	int open_fds;

	open_ctx();
	open_fds = count_fds();
	d = open_domain();
	CHECK(d);
	core = rmc_core_open(d, 0, RMC_CORE_NO_JOIN);
	sends = rmc_core_open(d, 0, RMC_CORE_NO_JOIN | RMC_CORE_SEND_ONLY);
	CHECK(core && sends);
	/* of a queue pair the wake-up stays on both sides; its operands' file, and the buffer's */
	CHECK_EQ(count_fds(), open_fds + 2 * 4);
	CHECK_EQ(stubd_seen().cores, 2);
	CHECK_EQ(core->number, 3);
	CHECK_EQ(sends->number, ~0U);
	CHECK_EQ(core->entries, 128);
	/* each side sees what the other one writes */
	memcpy(stubd_recv() + (2 * SLOTS + 1) * 1088 + 64, "hello", 6);
	stubd_aq()[0].word0 = 1 | 2ULL << RMC_AQ_NID_SHIFT | 1ULL << RMC_AQ_SLOT_SHIFT |
			      6ULL << RMC_AQ_LEN_SHIFT | 5ULL << RMC_AQ_TURN_SHIFT;
	CHECK_EQ(rmc_arrival_next(core, &m), 1);
	CHECK(m.nid == 2 && m.slot == 1 && m.len == 6 && m.turn == 5);
	CHECK(!strcmp((const char *)rmc_arrival_data(core, &m), "hello"));
	CHECK_EQ(rmc_arrival_next(sends, &m), 0);
	rmc_core_close(sends);
	rmc_core_close(core);
	rmc_domain_close(d);
	CHECK_EQ(stubd_seen().domains, 0);
	CHECK_EQ(count_fds(), open_fds);
	/* and again */
	d = open_domain();
	CHECK(d && rmc_core_open(d, 0, RMC_CORE_NO_JOIN));
	CHECK(!open_domain());
	CHECK_EQ(errno, EEXIST);
	CHECK(says("has a domain on node 2 already"));
	rmc_domain_close(d);
	CHECK_EQ(count_fds(), open_fds);
	close_ctx();
}

static void arming(void)
{
	struct rmc_core *core, *sends;
	struct rmc_domain *d;
	struct pollfd p;
	struct stubd s;

	open_ctx();
	d = open_domain();
	core = d ? rmc_core_open(d, 0, RMC_CORE_NO_JOIN) : NULL;
	sends = d ? rmc_core_open(d, 0, RMC_CORE_NO_JOIN | RMC_CORE_SEND_ONLY) : NULL;
	CHECK(core && sends);
	if (!core || !sends)
		return;
	core->taken = 5;
	stubd_report();
	CHECK_EQ(rmc_core_arm(core), 0);
	s = stubd_seen();
	CHECK_EQ(s.fds, 1);
	CHECK(s.drained);
	CHECK_EQ(s.aq_arm.seen, 5);
	CHECK_EQ(s.aq_arm.qp_id, core->qp->id);
	CHECK_EQ(s.cq_arm.size, 0);
	stubd_signal();
	p = (struct pollfd) { .fd = rmc_core_eventfd(core), .events = POLLIN };
	CHECK_EQ(poll(&p, 1, 1000), 1);
	/* with operations in flight, completions are reported as well */
	rmc_issue(core->qp, RMC_OP_NOTIFY, 0, 1, 0, NULL, 0);
	CHECK_EQ(rmc_core_arm(core), 0);
	CHECK_EQ(stubd_seen().cq_arm.qp_id, core->qp->id);
	CHECK(stubd_seen().cq_arm.size);
	/* a core that only sends has no arrivals */
	s = stubd_seen();
	CHECK_EQ(rmc_core_arm(sends), 0);
	CHECK_EQ(stubd_seen().messages, s.messages);
	stubd_refuse(RMC_IOC_AQ_ARM, ENOENT);
	CHECK_EQ(rmc_core_arm(core), -ENOENT);
	CHECK(says("arrival queue"));
	core->qp->tail = core->qp->head;	/* as if it had completed */
	rmc_domain_close(d);
	close_ctx();
}

/* Memory is mapped as long as it has to be, once, and not beyond its end. */
static void mapping(void)
{
	struct rmc_dom_create arg = { .size = sizeof(arg), .nodes = 4, .slots = 16,
				      .max_message = BYTES, .depth = 1, .cores = 1, .groups = 1 };
	struct rmc_qp_create qp = { .size = sizeof(qp), .entries = 8 };
	struct rmc_dom_attach at_core = { .size = sizeof(at_core) };
	size_t len = 17 * PAGE;			/* 4 * 16 * 1088 */
	struct rmc_daemon *d;
	void *p;

	open_ctx();
	d = (struct rmc_daemon *)ctx->priv;
	CHECK(rmc_map(ctx, PAGE, PROT_READ, RMC_DAEMON_MAP_DOM) == MAP_FAILED);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_DOM_ATTACH, &at_core), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_DOM_CREATE, &arg), 0);
	CHECK_EQ(arg.stride, 1088);
	CHECK_EQ(arg.life, 77);
	CHECK(rmc_map(ctx, len + PAGE, PROT_READ, arg.recv_offset) == MAP_FAILED);
	CHECK(rmc_map(ctx, len - PAGE, PROT_READ, arg.recv_offset) == MAP_FAILED);
	CHECK(rmc_map(ctx, len, PROT_READ, arg.recv_offset + 2) == MAP_FAILED);
	CHECK(rmc_map(ctx, len, PROT_READ | PROT_WRITE, arg.recv_offset) == MAP_FAILED);
	CHECK_EQ(errno, EPERM);			/* sealed */
	p = rmc_map(ctx, len, PROT_READ, arg.recv_offset);
	CHECK(p != MAP_FAILED && !munmap(p, len));
	CHECK(rmc_map(ctx, len, PROT_READ, arg.recv_offset) == MAP_FAILED);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_QP_CREATE, &qp), 0);
	at_core.qp_id = qp.qp_id;
	CHECK_EQ(rmc_call(ctx, RMC_IOC_DOM_ATTACH, &at_core), 0);
	CHECK(rmc_map(ctx, PAGE, PROT_READ, at_core.aq_offset) == MAP_FAILED);
	p = rmc_map(ctx, 2 * PAGE, PROT_READ, at_core.aq_offset);
	CHECK(p != MAP_FAILED && !munmap(p, 2 * PAGE));
	CHECK(rmc_map(ctx, 2 * PAGE, PROT_READ, at_core.aq_offset) == MAP_FAILED);
	/* a second time, after leaving */
	CHECK_EQ(rmc_call(ctx, RMC_IOC_DOM_DETACH, &(struct rmc_dom_detach) {
			.size = sizeof(struct rmc_dom_detach), .qp_id = qp.qp_id }), 0);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_DOM_ATTACH, &at_core), 0);
	p = rmc_map(ctx, 2 * PAGE, PROT_READ, at_core.aq_offset);
	CHECK(p != MAP_FAILED && !munmap(p, 2 * PAGE));
	CHECK(rmc_alive(ctx));
	/* another file in place of the send slots: what is mapped then would be SIGBUS */
	close(d->dom.fd[1]);
	d->dom.fd[1] = memfd_create("short", MFD_CLOEXEC);
	CHECK(rmc_map(ctx, PAGE, PROT_READ, arg.send_offset) == MAP_FAILED);
	CHECK_EQ(errno, EPROTO);
	CHECK(!rmc_alive(ctx));
	close_ctx();
}

/* Opens all: what failed, by rmc_errmsg(); a daemon that ended is not what an errno says alone */
static int session(int *protocol)
{
	struct rmc_core *core;
	struct rmc_domain *d;

	*protocol = 0;
	ctx = rmc_open(7, 2);
	if (!ctx)
		return 1;
	errno = 0;
	d = open_domain();
	core = d ? rmc_core_open(d, 0, RMC_CORE_NO_JOIN) : NULL;
	*protocol = errno == EPROTO;
	CHECK(core || errno == EPROTO || errno == ESHUTDOWN);
	CHECK(core || says("rmcd"));
	if (core && rmc_core_arm(core))
		core = NULL;
	rmc_domain_close(d);
	rmc_close(ctx);
	return !core;
}

static void daemon_ends(void)
{
	unsigned int all, i;
	char where[32];
	int protocol;

	start();
	CHECK_EQ(session(&protocol), 0);
	all = stubd_seen().messages;
	stop();
	CHECK(all > 8);
	for (i = 1; i <= all; i++) {
		snprintf(where, sizeof(where), "message %u", i);
		tap_where = where;
		start();
		stubd_set(0, i, FAULT_EOF);
		session(&protocol);
		CHECK(!protocol);
		stop();
	}
	tap_where = NULL;
}

static void wrong_answers(void)
{
	static const struct {
		__u32 request;
		enum stubd_fault fault;
	} wrong[] = {
		{ RMC_IOC_DOM_CREATE, FAULT_FDS_NONE }, { RMC_IOC_DOM_CREATE, FAULT_FDS_MORE },
		{ RMC_IOC_DOM_CREATE, FAULT_FDS_REFUSED }, { RMC_IOC_DOM_CREATE, FAULT_SHORT_WQ },
		{ RMC_IOC_DOM_CREATE, FAULT_SHORT_BODY }, { RMC_IOC_DOM_CREATE, FAULT_STRIDE },
		{ RMC_IOC_DOM_CREATE, FAULT_NO_LIFE }, { RMC_IOC_DOM_ATTACH, FAULT_FDS_NONE },
		{ RMC_IOC_DOM_ATTACH, FAULT_FDS_MORE }, { RMC_IOC_DOM_ATTACH, FAULT_SHORT_WQ },
		{ RMC_IOC_DOM_ATTACH, FAULT_AQ_ENTRIES },
	};
	int protocol, i;
	char where[32];

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(where, sizeof(where), "wrong answer %d", i);
		tap_where = where;
		start();
		stubd_set(wrong[i].request, 0, wrong[i].fault);
		CHECK_EQ(session(&protocol), 1);
		CHECK(protocol);
		stop();
	}
	tap_where = NULL;
}

/* In a child, since the stub needs descriptors */
static void few_descriptors(void)
{
	struct rmc_dom_attach arg = { .size = sizeof(arg) };
	struct rmc_qp *qp;
	rlim_t before, i;
	int fd, next;

	ctx = rmc_open(7, 2);
	qp = ctx ? rmc_qp_create(ctx, 8) : NULL;
	CHECK(qp);
	next = dup(0);		/* all lower numbers are in use */
	close(next);
	for (i = 0; i < 4; i++) {
		before = limit_fds((rlim_t)next + i % 2);
		CHECK(!open_domain());
		CHECK_EQ(errno, EMFILE);
		CHECK(says("no descriptors left"));
		limit_fds(before);
		/* what came is closed, and the daemon has no domain that nobody has here */
		CHECK_EQ(stubd_seen().domains, 0);
		fd = dup(0);
		CHECK_EQ(fd, next);
		close(fd);
	}
	CHECK(open_domain());
	next = dup(0);
	close(next);
	before = limit_fds((rlim_t)next);
	arg.qp_id = qp->id;
	CHECK_EQ(rmc_call(ctx, RMC_IOC_DOM_ATTACH, &arg), -1);
	CHECK_EQ(errno, EMFILE);
	limit_fds(before);
	CHECK_EQ(stubd_seen().cores, 0);
	CHECK_EQ(rmc_call(ctx, RMC_IOC_DOM_ATTACH, &arg), 0);
}

static void out_of_descriptors(void)
{
	int status = -1;
	pid_t pid;

	start();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(PATIENCE_S);
		few_descriptors();
		fflush(stdout);
		_exit(!!tap_failures);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	stop();
}

/* A child closes its copies only. */
static void forked(void)
{
	struct rmc_core *core;
	struct rmc_domain *d;
	int status = -1;
	unsigned int messages;
	pid_t pid;

	open_ctx();
	d = open_domain();
	core = d ? rmc_core_open(d, 0, RMC_CORE_NO_JOIN) : NULL;
	CHECK(core);
	messages = stubd_seen().messages;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(PATIENCE_S);
		if (rmc_core_open(d, 0, 0) || errno != EPERM)
			_exit(1);
		rmc_core_close(core);
		rmc_domain_close(d);
		rmc_close(ctx);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(stubd_seen().messages, messages);
	stubd_aq()[0].word0 = 1;
	CHECK_EQ(rmc_arrival_next(core, &(struct rmc_arrival) { .nid = 0 }), 1);
	rmc_domain_close(d);
	close_ctx();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "memory of slots and arrivals", memory },
		{ "arming", arming },
		{ "memory is mapped in full, once, or not at all", mapping },
		{ "the daemon ends at any message", daemon_ends },
		{ "answers against the protocol end the connection", wrong_answers },
		{ "without descriptors a request fails, and nothing else", out_of_descriptors },
		{ "a child of fork()", forked },
	};

	return run_with_daemon(tests, ARRAY_SIZE(tests));
}
