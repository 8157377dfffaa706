/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Contexts, memory and messages: what the library requests from the driver, and what is left
 * when any call of the driver fails. Uses stub_driver.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <rmc/msg.h>
#include "../../lib/internal.h"
#include "rmc/object.h"
#include "rmc/watch.h"
#include "stub_driver.h"
#include "../tap.h"

#define PAGE	4096

static struct rmc_ctx *ctx;
static _Alignas(PAGE) char memory[64 * PAGE];

static int says(const char *part)
{
	int found = strstr(rmc_errmsg(), part) != NULL;

	if (!found)
		printf("# message: %s\n", rmc_errmsg());
	return found;
}

static void open_ctx(void)
{
	stub_reset();
	ctx = rmc_open(7, -1);
	if (!ctx) {
		printf("Bail out! %s\n", rmc_errmsg());
		exit(1);
	}
}

static void close_ctx(void)
{
	rmc_close(ctx);
	CHECK_EQ(stub_left(), 0);
}

/* Make the library take this process for a child of a fork. */
static void become_child(int child)
{
	ctx->pid = (int)getpid() + child;
}

static int opens_node(const char *environment, int nid)
{
	struct rmc_ctx *c;
	int got;

	stub_reset();
	stub.query.nodes = RMC_NID_MAX + 1;
	stub.query.first_local = 2;
	stub.query.local_nodes = RMC_NID_MAX - 1;
	setenv("RMC_NODE", environment, 1);
	c = rmc_open(0, nid);
	unsetenv("RMC_NODE");
	if (!c) {
		got = -errno;
		CHECK_EQ(stub_left(), 0);
		return got;
	}
	got = rmc_nid(c);
	CHECK_EQ(stub.attach.nid, got);
	rmc_close(c);
	CHECK_EQ(stub_left(), 0);
	return got;
}

static void nodes(void)
{
	CHECK_EQ(opens_node("", -1), 2);		/* the lowest */
	CHECK_EQ(opens_node("3", -1), 3);
	CHECK_EQ(opens_node("3", 4), 4);
	CHECK_EQ(opens_node("1023", -1), RMC_NID_MAX);
	CHECK_EQ(opens_node("1024", -1), -EINVAL);
	CHECK(says("RMC_NODE is '1024', not a node id"));
	CHECK_EQ(opens_node("-1", -1), -EINVAL);
	CHECK_EQ(opens_node("-7", -1), -EINVAL);
	CHECK_EQ(opens_node("4x", -1), -EINVAL);
	CHECK_EQ(opens_node("", 0), -ENXIO);		/* a node of another machine */
	CHECK(says("node 0 is not on this machine, which has 2 .. 1023 of 1024 nodes"));
	CHECK_EQ(opens_node("", 1), -ENXIO);
}

static void contexts(void)
{
	struct rmc_node_info info = { .size = sizeof(info), .nid = 2 };
	int fd, zero;

	open_ctx();
	CHECK(!strcmp(stub.path, RMC_CTX_DIR "/7"));
	CHECK(fcntl(rmc_fd(ctx), F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(rmc_nodes(ctx), 4);
	stub.node_state = RMC_NODE_DOWN;
	CHECK_EQ(rmc_node_state(ctx, 3), RMC_NODE_DOWN);
	CHECK_EQ(stub.node_info.nid, 3);
	CHECK_EQ(rmc_node_info(ctx, &info), 0);
	CHECK_EQ(stub.node_info.nid, 2);
	CHECK_EQ(info.state, RMC_NODE_DOWN);
	stub.fail = RMC_IOC_NODE_INFO;
	stub.error = ENODEV;
	CHECK_EQ(rmc_node_state(ctx, 3), -ENODEV);
	CHECK_EQ(rmc_node_info(ctx, &info), -ENODEV);
	stub.fail = 0;
	CHECK_EQ(rmc_page_round(1), PAGE);
	CHECK_EQ(rmc_page_round(PAGE), PAGE);
	/* an eventfd that was used for waiting is closed as well */
	fd = rmc_sleepers_eventfd(&ctx->seg_sleepers);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(rmc_sleepers_eventfd(&ctx->seg_sleepers), fd);
	close_ctx();
	CHECK(fcntl(fd, F_GETFD) < 0);

	/* a program that has closed its standard input */
	zero = dup(0);
	close(0);
	open_ctx();
	CHECK_EQ(rmc_fd(ctx), 0);
	close_ctx();
	CHECK(zero < 0 || dup2(zero, 0) == 0);
	close(zero);
}

static void fails_to_open(int error, const char *why)
{
	stub.error = error;
	errno = 0;
	CHECK(!rmc_open(7, -1));
	CHECK_EQ(errno, error);
	CHECK(says(why));
	CHECK_EQ(stub_left(), 0);
}

static void failing_contexts(void)
{
	stub_reset();
	stub.fail_at = 1;
	fails_to_open(ENOENT, "the rmc module is not loaded");
	stub_reset();
	stub.fail_at = stub.module = 1;
	fails_to_open(ENOENT, "rmcctl context create 7");
	stub_reset();
	stub.fail_at = 1;
	fails_to_open(EACCES, "--mode, --uid and --gid");
	stub_reset();
	stub.fail_at = 1;
	fails_to_open(EMFILE, "cannot open " RMC_CTX_DIR "/7");
	stub_reset();
	stub.fail_at = 2;
	fails_to_open(ENOTTY, "is it an RMC device?");
	stub_reset();
	stub.query.abi++;
	fails_to_open(EPROTO, "update the older one");
	stub_reset();
	stub.query.abi--;
	fails_to_open(EPROTO, "update the older one");
	stub_reset();
	stub.query.local_nodes = 0;
	fails_to_open(ENXIO, "this kernel has no node");
	stub_reset();
	stub.fail_at = 3;
	fails_to_open(EBUSY, "cannot act for node 0");
}

/* The control device has the same calls, and belongs to no context. */
static void control(void)
{
	struct rmc_query q = { .size = sizeof(q) };
	struct rmc_ctx *c;

	stub_reset();
	c = rmc_driver_control();
	CHECK(c);
	if (!c)
		return;
	CHECK(!strcmp(stub.path, "/dev/rmc"));
	CHECK(fcntl(c->fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(rmc_call(c, RMC_IOC_QUERY, &q), 0);
	CHECK_EQ(q.nodes, 4);
	stub.fail = RMC_IOC_CTX_CREATE;
	stub.error = EEXIST;
	errno = 0;
	CHECK_EQ(rmc_call(c, RMC_IOC_CTX_CREATE, &(struct rmc_ctx_create) { 0 }), -1);
	CHECK_EQ(errno, EEXIST);
	CHECK_EQ(stub.attach.size, 0);
	rmc_driver_control_close(c);
	CHECK_EQ(stub_left(), 0);
	rmc_driver_control_close(NULL);
	stub_reset();
	stub.fail_at = 1;
	stub.error = EACCES;
	CHECK(!rmc_driver_control());
	CHECK_EQ(errno, EACCES);
	CHECK(says("no permission to open /dev/rmc: run rmcctl as root"));
	/* a device file that udev left, without a module */
	stub.calls = 0;
	stub.module = 1;
	stub.error = ENXIO;
	CHECK(!rmc_driver_control());
	CHECK(says("start rmcd"));
	/* the highest number is a context like any other */
	stub_reset();
	ctx = rmc_open(~0U, -1);
	CHECK(ctx && !strcmp(stub.path, RMC_CTX_DIR "/4294967295"));
	close_ctx();
}

static void names(void)
{
	CHECK(!strcmp(rmc_node_state_name(RMC_NODE_FREE), "free"));
	CHECK(!strcmp(rmc_node_state_name(RMC_NODE_DOWN), "down"));
	CHECK(!strcmp(rmc_node_state_name(RMC_NODE_DOWN + 1), "unknown"));
	CHECK(!strcmp(rmc_node_state_name(-EINVAL), "unknown"));
	CHECK(!strcmp(rmc_fabric_name(RMC_FABRIC_UML), "uml"));
	CHECK(!strcmp(rmc_fabric_name(RMC_FABRIC_UML + 1), "unknown"));
	CHECK(!strcmp(rmc_ni_name(RMC_NI_SPLIT), "split"));
	CHECK(!strcmp(rmc_ni_name(RMC_NI_SPLIT + 1), "unknown"));
	CHECK(rmc_ni_name(RMC_NI_FUSED - 1) && !strcmp(rmc_ni_name(RMC_NI_FUSED - 1), "unknown"));
}

/* --- segments and buffers --- */

static void segments(void)
{
	struct rmc_object_layout l = { .header = 24, .mode = RMC_SABRE_LOCKED };
	void *addr;

	open_ctx();
	CHECK_EQ(rmc_seg_register(ctx, memory, PAGE, RMC_MEM_READONLY), 0);
	CHECK_EQ(stub.seg_reg.addr, (uintptr_t)memory);
	CHECK_EQ(stub.seg_reg.length, PAGE);
	CHECK_EQ(stub.seg_reg.flags, RMC_MEM_READONLY);
	CHECK_EQ(rmc_seg_unregister(ctx), 0);
	CHECK_EQ(rmc_seg_unregister(ctx), -ENOENT);
	CHECK_EQ(rmc_seg_register(ctx, memory, PAGE, RMC_MEM_ALLOC), -EINVAL);
	CHECK_EQ(rmc_seg_register(ctx, memory, PAGE, RMC_MEM_NUMA), -EINVAL);
	CHECK_EQ(rmc_seg_register_objects(ctx, memory, PAGE, 0, &l), 0);
	CHECK_EQ(stub.seg_reg.flags, RMC_MEM_OBJECTS);
	CHECK_EQ(stub.seg_reg.version_offset, 24);
	CHECK_EQ(stub.seg_reg.readers_offset, 32);
	CHECK_EQ(stub.seg_reg.sabre_mode, RMC_SABRE_LOCKED);
	CHECK_EQ(rmc_seg_unregister(ctx), 0);
	CHECK_EQ(rmc_seg_alloc_objects(ctx, PAGE, 0, 0, &l, &addr), 0);
	CHECK_EQ(stub.seg_reg.flags, RMC_MEM_OBJECTS | RMC_MEM_ALLOC | RMC_MEM_NUMA);
	CHECK_EQ(stub.seg_reg.numa_node, 0);
	CHECK_EQ(rmc_seg_unregister(ctx), 0);
	stub.calls = 0;
	l.header = 12;
	CHECK_EQ(rmc_seg_register_objects(ctx, memory, PAGE, 0, &l), -EINVAL);
	l = (struct rmc_object_layout) { .mode = RMC_SABRE_TX + 1 };
	CHECK_EQ(rmc_seg_register_objects(ctx, memory, PAGE, 0, &l), -EINVAL);
	CHECK_EQ(rmc_seg_alloc_objects(ctx, PAGE, 0, -1, &l, &addr), -EINVAL);
	l = (struct rmc_object_layout) { .header = 8, .mode = RMC_SABRE_TX };
	CHECK_EQ(rmc_seg_register_objects(ctx, memory, PAGE, 0, &l), -EINVAL);
	CHECK_EQ(stub.calls, 0);
	l.header = 0;
	CHECK_EQ(rmc_seg_register_objects(ctx, memory, PAGE, 0, &l), 0);
	CHECK_EQ(stub.seg_reg.sabre_mode, RMC_SABRE_TX);
	CHECK(!stub.seg_reg.version_offset && !stub.seg_reg.readers_offset);
	CHECK_EQ(rmc_seg_unregister(ctx), 0);

	CHECK_EQ(rmc_seg_add(ctx, memory, 128, PAGE, RMC_MEM_READONLY), 0);
	CHECK_EQ(stub.seg_add.addr, (uintptr_t)memory);
	CHECK_EQ(stub.seg_add.length, 128);
	CHECK_EQ(stub.seg_add.offset, PAGE);
	CHECK_EQ(stub.seg_add.flags, RMC_MEM_READONLY);
	CHECK_EQ(rmc_seg_remove(ctx, PAGE), 0);
	CHECK_EQ(stub.seg_del.offset, PAGE);
	/* closing withdraws what is still registered */
	CHECK_EQ(rmc_seg_register(ctx, memory, PAGE, 0), 0);
	close_ctx();
}

static int segment_fails(void *addr, size_t len, unsigned int flags)
{
	int err;

	stub.fail = RMC_IOC_SEG_REG;
	err = rmc_seg_register(ctx, addr, len, flags);
	stub.fail = 0;
	return err;
}

static void failing_segments(void)
{
	const struct rlimit narrow = { 4 * PAGE, 4 * PAGE };
	struct rlimit was;

	open_ctx();
	stub.error = EINVAL;
	CHECK_EQ(segment_fails(memory, (1UL << 30) + 1, 0), -EINVAL);
	CHECK(says("1073741825 bytes; 1 .. 1073741824 are possible"));
	CHECK_EQ(segment_fails(memory + 8, 64, 0), -EINVAL);
	CHECK(says("is not a multiple of 64"));
	CHECK_EQ(segment_fails(memory, 64, RMC_MEM_OBJECTS), -EINVAL);
	CHECK(says("version and readers share 8 bytes"));
	CHECK_EQ(segment_fails(memory, 64, 0), -EINVAL);
	CHECK(says("the driver refuses it"));
	stub.error = ENOMEM;
	getrlimit(RLIMIT_MEMLOCK, &was);
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &narrow), 0);
	CHECK_EQ(segment_fails(memory, 4 * PAGE + 1, 0), -ENOMEM);
	CHECK(says("RLIMIT_MEMLOCK is 16384"));
	CHECK_EQ(segment_fails(memory, 64, 0), -ENOMEM);
	CHECK(says("no memory for a segment of 64 bytes"));
	setrlimit(RLIMIT_MEMLOCK, &was);
	stub.error = EFAULT;
	CHECK_EQ(segment_fails(memory, 64, 0), -EFAULT);
	stub.fail = RMC_IOC_SEG_ADD;
	CHECK_EQ(rmc_seg_add(ctx, memory, 64, 0, 0), -EFAULT);
	stub.error = ENOTTY;
	CHECK_EQ(rmc_seg_add(ctx, memory, 64, 0, 0), -ENOTTY);
	CHECK(says("a newer rmc.ko"));
	/* a buffer that the driver does not withdraw can be withdrawn later */
	stub.fail = RMC_IOC_BUF_UNREG;
	stub.error = EBUSY;
	CHECK_EQ(rmc_buf_register(ctx, memory, 100), 0);
	CHECK_EQ(stub.buf_reg.length, 100);
	CHECK_EQ(rmc_buf_unregister(ctx, 0), -EBUSY);
	stub.fail = 0;
	CHECK_EQ(rmc_buf_unregister(ctx, 0), 0);
	close_ctx();
}

static const struct stub_mapping *buffer_mapping(int id)
{
	return stub_mapped(STUB_BUF_OFFSET + (unsigned long long)id * PAGE);
}

static void driver_memory(void)
{
	const struct stub_mapping *m;
	void *seg = NULL, *a = NULL, *b = NULL;
	int first, second;

	open_ctx();
	CHECK_EQ(rmc_seg_alloc(ctx, PAGE + 1, 0, -1, &seg), 0);
	CHECK_EQ(stub.seg_reg.flags, RMC_MEM_ALLOC);
	m = stub_mapped(STUB_SEG_OFFSET);
	CHECK(m && m->addr == seg && m->len == 2 * PAGE && m->flags == MAP_SHARED && !m->forks);
	CHECK(m && m->prot == (PROT_READ | PROT_WRITE));
	first = rmc_buf_alloc(ctx, 100, -1, &a);
	CHECK_EQ(stub.buf_reg.flags, RMC_MEM_ALLOC);
	second = rmc_buf_alloc(ctx, PAGE, 3, &b);
	CHECK_EQ(stub.buf_reg.flags, RMC_MEM_ALLOC | RMC_MEM_NUMA);
	CHECK_EQ(stub.buf_reg.numa_node, 3);
	CHECK(first != second && a && b && a != b);
	CHECK(buffer_mapping(first) && buffer_mapping(second));
	/* each one removes only its own mapping, first or last */
	CHECK_EQ(rmc_buf_unregister(ctx, first), 0);
	CHECK(!buffer_mapping(first) && buffer_mapping(second) && stub_mapped(STUB_SEG_OFFSET));
	CHECK_EQ(rmc_seg_unregister(ctx), 0);
	CHECK(!stub_mapped(STUB_SEG_OFFSET) && buffer_mapping(second));
	/* a segment that the driver keeps stays mapped */
	CHECK_EQ(rmc_seg_alloc(ctx, PAGE, 0, -1, &seg), 0);
	stub.fail = RMC_IOC_SEG_UNREG;
	stub.error = EINTR;
	CHECK_EQ(rmc_seg_unregister(ctx), -EINTR);
	CHECK(stub_mapped(STUB_SEG_OFFSET));
	stub.fail = 0;
	CHECK_EQ(rmc_seg_unregister(ctx), 0);
	/* closing releases the rest; the driver withdraws buffers with the file */
	stub.buffer[second] = 0;
	close_ctx();
}

/* Fail each driver call of a function once; nothing may be left. */
static void each_fails(int (*make)(void))
{
	unsigned int n;
	int err;

	for (n = 1; ; n++) {
		stub.calls = 0;
		stub.fail_at = n;
		stub.error = EFAULT;
		err = make();
		if (stub.calls < n)
			break;
		CHECK(err == -EFAULT || err == -ENOMEM);
		if (tap_failures)
			return;
		rmc_close(ctx);
		CHECK_EQ(stub_left(), 0);
		open_ctx();
	}
	CHECK(n > 1);
	CHECK_EQ(err, 0);
	stub.fail_at = 0;
}

static int make_segment(void)
{
	void *addr;
	int err = rmc_seg_alloc(ctx, PAGE, 0, -1, &addr);

	/* a failed call leaves nothing registered or mapped */
	CHECK(!err || (!stub.segment && !stub_mapped(STUB_SEG_OFFSET)));
	return err;
}

static int make_buffer(void)
{
	void *addr;
	int id = rmc_buf_alloc(ctx, PAGE, -1, &addr);

	CHECK(id >= 0 || !stub.buffer[0]);
	return id < 0 ? id : rmc_buf_unregister(ctx, id);
}

static void memory_fails(void)
{
	open_ctx();
	each_fails(make_segment);
	close_ctx();
	open_ctx();
	each_fails(make_buffer);
	close_ctx();
}

static void ordered(void)
{
	struct rmc_qp *qp;

	open_ctx();
	errno = 0;
	CHECK(!rmc_qp_create_with(ctx, 8, RMC_QP_ORDERED));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(says("no ordered queue pairs"));
	ctx->query.features |= RMC_FEATURE_ORDERED;
	qp = rmc_qp_create_with(ctx, 8, RMC_QP_ORDERED);
	CHECK(qp && rmc_qp_is_ordered(qp));
	CHECK_EQ(stub.qp_create.flags, RMC_QP_ORDERED);
	rmc_qp_destroy(qp);
	qp = rmc_qp_create(ctx, 8);
	CHECK(qp && !rmc_qp_is_ordered(qp));
	CHECK_EQ(stub.qp_create.flags, 0);
	rmc_qp_destroy(qp);
	errno = 0;
	CHECK(!rmc_qp_create_with(ctx, 8, 1U << 30));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(says("have no flags 0x40000000"));
	rmc_close(ctx);
}

/* A child of a fork creates nothing in its parent's context, and releases nothing of it. */
static void child(void)
{
	void *addr;
	int id;

	open_ctx();
	id = rmc_buf_alloc(ctx, PAGE, -1, &addr);
	CHECK(id >= 0);
	CHECK_EQ(rmc_seg_alloc(ctx, PAGE, 0, -1, &addr), 0);
	become_child(1);
	stub.calls = stub.releases = 0;
	CHECK_EQ(rmc_seg_register(ctx, memory, PAGE, 0), -EPERM);
	CHECK(says("a child opens its own"));
	CHECK_EQ(rmc_seg_alloc(ctx, PAGE, 0, -1, &addr), -EPERM);
	CHECK_EQ(rmc_seg_add(ctx, memory, PAGE, PAGE, 0), -EPERM);
	CHECK_EQ(rmc_buf_register(ctx, memory, PAGE), -EPERM);
	CHECK_EQ(rmc_buf_alloc(ctx, PAGE, -1, &addr), -EPERM);
	CHECK_EQ(rmc_watch_open(ctx, 0, 0), -EPERM);
	errno = 0;
	CHECK(!rmc_qp_create(ctx, 8));
	CHECK_EQ(errno, EPERM);
	CHECK_EQ(rmc_seg_remove(ctx, PAGE), 0);
	CHECK_EQ(rmc_seg_unregister(ctx), 0);
	CHECK_EQ(rmc_buf_unregister(ctx, id), 0);
	CHECK_EQ(stub.calls, 0);
	CHECK_EQ(stub.releases, 0);
	/* the child may have its own mappings at these addresses by now */
	CHECK(stub_mapped(STUB_SEG_OFFSET) && buffer_mapping(id));
	become_child(0);
	rmc_close(ctx);
}

/* --- messages of a team of one --- */

static struct rmc_team team;
static unsigned int entries;

static void form_team(void)
{
	memset(memory, 0, sizeof(memory));
	stub.memory = memory;
	stub.op_status = RMC_S_OK;
	team = (struct rmc_team) {
		.ctx = ctx, .nodes = 1, .seg = memory + PAGE, .offset = PAGE, .len = 32 * PAGE,
		.line = (struct rmc_team_line *)(void *)(memory + 40 * PAGE), .view = 1,
		.first_nid = 2,
	};
}

static struct rmc_msg *open_msg(void)
{
	struct rmc_msg_options o;

	form_team();
	rmc_msg_defaults(&o);
	o.entries = entries;
	o.at = PAGE;
	return rmc_msg_open_with(&team, &o);
}

static int make_msg(void)
{
	struct rmc_msg *m = open_msg();
	int err = m ? 0 : -errno;

	rmc_msg_close(m);
	CHECK(!stub.qp[0] && !stub.buffer[0]);
	return err;
}

/* Number of cells with this payload */
static int cells_with(const char *payload)
{
	int i, n = 0;

	for (i = 1; i <= RMC_MSG_CELLS; i++)
		n += !strcmp(memory + 2 * PAGE + 64 * i + 4, payload);
	return n;
}

static void messages(void)
{
	static char large[3 * PAGE];
	struct rmc_msg *m;
	size_t len;
	char in[8];
	int i, from;

	open_ctx();
	ctx->query.max_length = stub.query.max_length = PAGE;
	entries = 16;
	m = open_msg();
	CHECK(m);
	CHECK_EQ(stub.qp_create.entries, 16);
	for (i = 0; i < STUB_MAPPINGS; i++)
		CHECK(!stub.mapping[i].addr || !stub.mapping[i].forks);
	/* the line is at its place in the segment, and it is signed */
	CHECK(((uint64_t *)(void *)(memory + 2 * PAGE))[1] != 0);
	CHECK_EQ(rmc_msg_send(m, 2, "hello", 6, 0), 0);
	CHECK_EQ(rmc_msg_recv(m, 2, in, sizeof(in), &len, &from, 0), 0);
	CHECK(len == 6 && !strcmp(in, "hello") && from == 2);
	CHECK(!strcmp(memory + 2 * PAGE + 64 + 4, "hello"));
	/* pushed below the threshold although it could be pulled, and pulled at the threshold */
	memcpy(memory + 20 * PAGE, "there", 6);
	CHECK_EQ(rmc_msg_send(m, 2, memory + 20 * PAGE, 6, RMC_MSG_ASYNC), 0);
	CHECK_EQ(rmc_msg_pending(m, 2), 0);
	CHECK_EQ(rmc_msg_recv(m, 2, in, sizeof(in), &len, NULL, 0), 0);
	rmc_msg_set_threshold(m, 6);
	CHECK_EQ(rmc_msg_send(m, 2, memory + 20 * PAGE, 6, RMC_MSG_ASYNC), 0);
	CHECK_EQ(rmc_msg_pending(m, 2), 1);
	CHECK_EQ(rmc_msg_recv(m, 2, in, sizeof(in), &len, NULL, RMC_MSG_REGISTERED), 0);
	CHECK_EQ(rmc_msg_flush(m, 2), 0);
	memset(memory + 20 * PAGE, 'p', 3 * PAGE);
	CHECK_EQ(rmc_msg_send(m, 2, memory + 20 * PAGE, 3 * PAGE, RMC_MSG_ASYNC), 0);
	CHECK_EQ(rmc_msg_pending(m, 2), 1);
	CHECK_EQ(rmc_msg_recv(m, 2, large, sizeof(large), &len, NULL,
			      RMC_MSG_REGISTERED), 0);
	CHECK(len == 3 * PAGE && large[len - 1] == 'p');
	/* lost writes are repeated before closing, whatever their number */
	rmc_msg_set_threshold(m, SIZE_MAX);
	CHECK_EQ(rmc_msg_flush(m, 2), 0);
	stub.ops = 0;
	__atomic_store_n(&stub.op_status, RMC_S_TIMEOUT, __ATOMIC_RELEASE);
	__atomic_store_n(&stub.hold, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 12; i++)
		CHECK_EQ(rmc_msg_send(m, 2, "last", 5, RMC_MSG_DONTWAIT), 0);
	__atomic_store_n(&stub.hold, 0, __ATOMIC_RELEASE);
	while (__atomic_load_n(&stub.ops, __ATOMIC_ACQUIRE) < 12)
		usleep(100);
	__atomic_store_n(&stub.op_status, RMC_S_OK, __ATOMIC_RELEASE);
	rmc_msg_close(m);
	CHECK_EQ(cells_with("last"), 12);
	/* nothing is left before the context is closed */
	for (i = 0; i < STUB_MAPPINGS; i++)
		CHECK(!stub.mapping[i].addr);
	CHECK(!stub.qp[0] && !stub.buffer[0]);
	close_ctx();
}

static void *release_soon(void *arg)
{
	(void)arg;
	usleep(20000);
	__atomic_store_n(&stub.hold, 0, __ATOMIC_RELEASE);
	return NULL;
}

#define BATCH	200

/*
 * More messages than the queue has entries, and more credits than a header with fewer bits
 * could hold
 */
static void many_messages(void)
{
	struct rmc_msg_options o;
	pthread_t thread;
	struct rmc_msg *m;
	int i, round, n;
	size_t len;

	open_ctx();
	form_team();
	rmc_msg_defaults(&o);
	o.cells = 1024;
	o.entries = 16;
	m = rmc_msg_open_with(&team, &o);
	CHECK(m);
	stub.hold = 1;
	CHECK(!pthread_create(&thread, NULL, release_soon, NULL));
	for (i = 0; i < 40; i++)
		CHECK_EQ(rmc_msg_send(m, 2, &i, sizeof(i), 0), 0);
	pthread_join(thread, NULL);
	for (i = 0; i < 40; i++) {
		CHECK_EQ(rmc_msg_recv(m, 2, &n, sizeof(n), &len, NULL, 0), 0);
		CHECK_EQ(n, i);
	}
	for (round = 0; round < 12; round++) {
		for (i = 0; i < BATCH; i++)
			CHECK_EQ(rmc_msg_send(m, 2, &i, sizeof(i), RMC_MSG_DONTWAIT), 0);
		for (i = 0; i < BATCH; i++)
			CHECK_EQ(rmc_msg_recv(m, 2, &n, sizeof(n), &len, NULL, 0), 0);
	}
	rmc_msg_close(m);
	close_ctx();
}

static void failing_messages(void)
{
	struct rmc_msg_options o;
	struct rmc_msg *m;
	size_t len;
	char c;

	open_ctx();
	each_fails(make_msg);
	/* its first write never completes */
	form_team();
	rmc_msg_defaults(&o);
	stub.hold = stub.stillborn = 1;
	errno = 0;
	CHECK(!rmc_msg_open_with(&team, &o));
	CHECK_EQ(errno, ESHUTDOWN);
	CHECK(!stub.qp[0] && !stub.buffer[0]);
	CHECK(says("cannot open message buffers"));
	stub.hold = stub.stillborn = 0;
	/* no retry if the node is down; the buffers may end with the segment */
	form_team();
	o.at = team.len - rmc_msg_bytes(1, o.cells);
	m = rmc_msg_open_with(&team, &o);
	CHECK(m);
	stub.node_state = RMC_NODE_DOWN;
	stub.ops = 0;
	__atomic_store_n(&stub.op_status, RMC_S_TIMEOUT, __ATOMIC_RELEASE);
	CHECK_EQ(rmc_msg_send(m, 2, "x", 1, 0), 0);
	CHECK_EQ(rmc_msg_recv(m, 2, &c, 1, &len, NULL, 0), RMC_S_TIMEOUT);
	CHECK_EQ(stub.ops, 1);
	rmc_msg_close(m);
	/* options are validated before anything is created */
	stub.calls = 0;
	o.at = team.len;
	errno = 0;
	CHECK(!rmc_msg_open_with(&team, &o));
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(stub.calls, 0);
	close_ctx();
}

/* --- events --- */

static void events(void)
{
	struct rmc_node_event out[3] = { { .nid = 1 }, { .nid = 2 }, { .nid = 3 } }, in[4];
	int pair[2];

	open_ctx();
	CHECK(!pipe2(pair, O_NONBLOCK));
	stub.watch_fd = pair[0];
	CHECK_EQ(rmc_watch_open(ctx, 6, RMC_WATCH_NONBLOCK), pair[0]);
	CHECK_EQ(stub.watch.types, 6);
	CHECK_EQ(stub.watch.flags, RMC_WATCH_NONBLOCK);
	CHECK_EQ(stub.watch.nid, -1);
	stub.fail = RMC_IOC_WATCH;
	stub.error = ENOTTY;
	CHECK_EQ(rmc_watch_open(ctx, 6, 0), -ENOTTY);
	CHECK(says("load a newer one"));
	stub.error = EBUSY;
	CHECK_EQ(rmc_watch_open(ctx, 6, 0), -EBUSY);
	stub.error = ENOSPC;
	CHECK_EQ(rmc_watch_open(ctx, 6, 0), -ENOSPC);

	CHECK_EQ(rmc_watch_read(pair[0], in, 0, 0), -EINVAL);
	alarm(20);
	CHECK_EQ(rmc_watch_read(pair[0], in, 4, 5), 0);
	CHECK_EQ(write(pair[1], out, sizeof(out)), sizeof(out));
	memset(in, 0, sizeof(in));
	CHECK_EQ(rmc_watch_read(pair[0], in, 2, -1), 2);
	CHECK(in[1].nid == 2 && in[2].nid == 0);
	CHECK_EQ(rmc_watch_read(pair[0], in, 4, 0), 1);
	CHECK_EQ(in[0].nid, 3);
	alarm(0);
	/* never readable; then closed, which is an error */
	CHECK_EQ(rmc_watch_read(pair[1], in, 4, 0), 0);
	close(pair[1]);
	close(pair[0]);
	CHECK(rmc_watch_read(pair[0], in, 4, 0) < 0);
	CHECK(!strcmp(rmc_event_name(RMC_EVENT_FENCED), "fenced"));
	CHECK(!strcmp(rmc_event_name(RMC_EVENT_TYPES), "unknown"));
	close_ctx();
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "which node a context acts for", nodes },
		{ "contexts", contexts },
		{ "contexts that cannot be opened", failing_contexts },
		{ "the control device", control },
		{ "names", names },
		{ "segments", segments },
		{ "segments that the driver refuses", failing_segments },
		{ "driver memory and its mappings", driver_memory },
		{ "each call of the driver fails: memory", memory_fails },
		{ "ordered queue pairs", ordered },
		{ "a child of a fork", child },
		{ "messages of a team", messages },
		{ "many messages of a team", many_messages },
		{ "each call of the driver fails: messages", failing_messages },
		{ "events", events },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
