// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile clients of rmcd, which is a thread of this process (inside_rmcd.c). An input is a
 * sequence of actions of up to four clients: connections, messages with descriptors, changes of
 * memory that is shared with the daemon, operations in queues.
 *
 *	input --> actions of hostile clients --> rmcd <-- a modest neighbour
 *	                                          |
 *	          all clients have gone: holds as much as before
 *
 * After each input the neighbour's reads and messages have the right data. When the clients have
 * gone, descriptors, mappings, contexts, queue pairs, domains and charged resources are what they
 * were. As root, some clients belong to another user.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "inside_rmcd.h"
#include "selftests/rmcd/raw.h"
#include "socket_message.h"

#define CLIENTS		4
#define KEPT		16
#define SEG_BYTES	16384
#define OTHER_USER	65534
#define CONTEXTS	3		/* at the start */
#define BOUND_MS	10000
#define SOON_MS		10
#define JOIN_TRIES	10
#define MOST_ACTIONS	64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/**
 * struct client - a hostile client
 * @raw: connection; its fd is -1 if there is none
 * @admin: it belongs to the user of the daemon
 * @memory: its files
 * @kept: descriptors that it received
 * @keeps: number of them
 * @qp: the last queue pair that it created; wq is NULL: none
 * @send: send slots of its last domain; NULL: none
 * @sends: number of them
 */
struct client {
	struct raw raw;
	int admin;
	int memory[2];
	int kept[KEPT];
	uint32_t keeps;
	struct {
		uint8_t *wq, *cq;
		size_t wq_len, cq_len;
		int wake;
		uint32_t head;
	} qp;
	struct rmc_send_slot *send;
	uint32_t sends;
};

static struct client clients[CLIENTS];
static int files[FD_KINDS];	/* those that are no client's */
static uint8_t *arena;

static struct raw modest, control;
static struct raw_qp modest_qp;
static uint8_t *modest_seg, *modest_buf;
static struct {
	const uint8_t *recv;
	struct rmc_send_slot *send;
	const struct rmc_aq_entry *aq;
	uint32_t entries, turn;
} modest_domain;	/* of its own node, with one slot */
static struct holdings baseline;
static uint32_t base_fds, base_maps;

/* ---- the modest neighbour ---- */

static void *map_first(int fd, int protection)
{
	void *p = mmap(NULL, PAGE_BYTES, protection, MAP_SHARED, fd, 0);

	MUST(p != MAP_FAILED);
	return p;
}

static void open_modest_domain(void)
{
	struct rmc_dom_create c = {
		.size = sizeof(c), .nodes = 1, .slots = 1, .max_message = 256,
		.policy = RMC_DOM_GREEDY, .depth = 1, .cores = 1, .groups = 1,
	};
	struct rmc_dom_attach a = { .size = sizeof(a), .qp_id = modest_qp.id };

	MUST(!raw_call(&modest, RMC_IOC_DOM_CREATE, &c, sizeof(c)) && modest.gots == 2);
	modest_domain.recv = map_first(modest.got[0], PROT_READ);
	modest_domain.send = map_first(modest.got[1], PROT_READ | PROT_WRITE);
	/* closes them */
	MUST(!raw_call(&modest, RMC_IOC_DOM_ATTACH, &a, sizeof(a)) && modest.gots == 1);
	modest_domain.aq = map_first(modest.got[0], PROT_READ);
	modest_domain.entries = a.aq_entries;
	raw_post(&modest_qp, RMC_OP_JOIN, 0, 0, modest_buf, sizeof(uint64_t));
	MUST(raw_wait(&modest_qp, BOUND_MS) == RMC_S_OK);
}

static void open_modest(void)
{
	void *p;
	int fd = shared(2 * SEG_BYTES, &p);

	while (raw_connect(&modest)) {
		MUST(!inside_ended());
		usleep(1000);
	}
	raw_close(&modest);
	modest_seg = p;
	modest_buf = modest_seg + SEG_BYTES;
	MUST(!raw_open(&modest, MODEST_CTX));
	MUST(!raw_open(&control, -1));
	MUST(!raw_seg(&modest, modest_seg, SEG_BYTES, fd, 0));
	MUST(!raw_buf(&modest, modest_buf, SEG_BYTES, fd, SEG_BYTES, NULL));
	MUST(!raw_qp(&modest, &modest_qp, 16));
	close(fd);
	open_modest_domain();
}

/* A message to itself, of @value */
static void check_message(uint8_t value)
{
	uint32_t nth = modest_domain.turn++;
	const struct rmc_aq_entry *e = &modest_domain.aq[nth % modest_domain.entries];
	uint64_t slot = rmc_slot_offset(0, (uint8_t)modest_domain.turn), word = 0;
	uint32_t phase = !(nth / modest_domain.entries & 1), ms, i;

	modest_domain.send->turn = modest_domain.turn;
	__atomic_store_n(&modest_domain.send->valid, RMC_SEND_USED, __ATOMIC_RELEASE);
	raw_post(&modest_qp, RMC_OP_SEND, 0, slot, modest_buf, 256);
	MUST(raw_wait(&modest_qp, BOUND_MS) == RMC_S_OK);
	for (ms = 0; ms < BOUND_MS; ms++) {
		word = __atomic_load_n(&e->word0, __ATOMIC_ACQUIRE);
		if ((word & 1) == phase)
			break;
		usleep(1000);
	}
	MUST((word & 1) == phase && word >> RMC_AQ_LEN_SHIFT == 256);
	for (i = 0; i < 256; i++)
		MUST(modest_domain.recv[64 + i] == value);
	raw_post(&modest_qp, RMC_OP_RECEIVE, 0, slot, NULL, 0);
	MUST(raw_wait(&modest_qp, BOUND_MS) == RMC_S_OK);
	MUST(__atomic_load_n(&modest_domain.send->valid, __ATOMIC_ACQUIRE) == RMC_SEND_FREE);
}

static void check_modest(void)
{
	static uint8_t round;
	uint32_t i;

	memset(modest_seg, ++round, PAGE_BYTES);
	memset(modest_buf, ~round, PAGE_BYTES);
	raw_post(&modest_qp, RMC_OP_READ, 0, 0, modest_buf, PAGE_BYTES);
	MUST(raw_wait(&modest_qp, BOUND_MS) == RMC_S_OK);
	for (i = 0; i < PAGE_BYTES; i++)
		MUST(modest_buf[i] == round);
	check_message(round);
}

/* ---- what the daemon holds ---- */

static uint32_t count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint32_t n = 0;

	MUST(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Mappings of files in memory: those of the daemon, and of the neighbour */
static uint32_t count_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	static char line[512];
	uint32_t n = 0;

	MUST(f);
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, "/memfd:");
	fclose(f);
	return n;
}

/* The daemon frees event files whose reader has gone when another one is opened. */
static void sweep_watchers(void)
{
	struct rmc_watch w = { .size = sizeof(w), .nid = -1, .flags = RMC_WATCH_NONBLOCK };
	struct rmc_query q = { .size = sizeof(q) };

	MUST(!raw_call(&control, RMC_IOC_WATCH, &w, sizeof(w)));
	MUST(control.gots == 1);
	/* closes it */
	MUST(!raw_call(&control, RMC_IOC_QUERY, &q, sizeof(q)));
}

/* An administrator puts right what clients of the daemon's own user may change. */
static void restore_contexts(void)
{
	struct rmc_ctx_create create = { .size = sizeof(create), .uid = geteuid() };
	struct rmc_ctx_remove remove = { .size = sizeof(remove) };
	struct rmcd_attr a = { .path = "class/misc/rmc/node1/state", .value = "up" };
	uint32_t id, tries = 0;
	int err;

	for (id = 0; id < 256; id++) {
		if (inside_has_context(id) == (id < CONTEXTS))
			continue;
		create.ctx_id = id;
		create.mode = id == 1 ? 0666 : 0600;
		remove.ctx_id = id;
		MUST(!(id < CONTEXTS ? raw_call(&control, RMC_IOC_CTX_CREATE, &create, sizeof(create)) :
			       raw_call(&control, RMC_IOC_CTX_REMOVE, &remove, sizeof(remove))));
	}
	/* on a busy machine the node may still be joining */
	do
		err = raw_call(&control, RMCD_ATTR_WRITE, &a, sizeof(a));
	while (err == -ETIMEDOUT && ++tries < JOIN_TRIES);
	MUST(!err);
}

static void list_fds(void)
{
	char path[32], name[128];
	ssize_t n;
	int fd;

	for (fd = 0; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, name, sizeof(name));
		if (n > 0)
			fprintf(stderr, "descriptor %d: %.*s\n", fd, (int)n, name);
	}
}

static void say_difference(const struct holdings *now, uint32_t fds, uint32_t maps)
{
	const uint32_t *a = (const uint32_t *)&baseline, *b = (const uint32_t *)now;
	size_t i;

	fprintf(stderr, "descriptors %u, were %u; mappings %u, were %u\n", fds, base_fds, maps,
		base_maps);
	if (fds != base_fds)
		list_fds();
	for (i = 0; i < sizeof(*now) / sizeof(*a); i++)
		if (a[i] != b[i])
			fprintf(stderr, "word %zu of struct holdings: %u, was %u\n", i, b[i], a[i]);
}

/* The daemon notices the end of connections; other threads close and unmap what it received. */
static void check_holdings(void)
{
	struct holdings now;
	uint32_t fds = 0, maps = 0;
	int ms;

	for (ms = 0; ms < BOUND_MS; ms++) {
		sweep_watchers();
		fds = count_fds();
		maps = count_maps();
		if (fds == base_fds && maps == base_maps)
			break;
		usleep(ms < 5 ? 50 : 1000);
	}
	/* its answer: what closed the last descriptor has returned, too */
	restore_contexts();
	inside_holdings(&now);
	if (fds == base_fds && maps == base_maps && !memcmp(&now, &baseline, sizeof(now)))
		return;
	say_difference(&now, fds, maps);
	MUST(0);
}

/* ---- a hostile client ---- */

static void drop_qp(struct client *c)
{
	if (!c->qp.wq)
		return;
	munmap(c->qp.wq, c->qp.wq_len);
	munmap(c->qp.cq, c->qp.cq_len);
	close(c->qp.wake);
	memset(&c->qp, 0, sizeof(c->qp));
}

static void drop_slots(struct client *c)
{
	if (c->send)
		munmap(c->send, c->sends * sizeof(*c->send));
	c->send = NULL;
	c->sends = 0;
}

static void disconnect(struct client *c)
{
	while (c->keeps)
		close(c->kept[--c->keeps]);
	drop_qp(c);
	drop_slots(c);
	raw_close(&c->raw);
}

static void connect_client(struct client *c, uint32_t how)
{
	int other = !geteuid() && how & 1;

	if (c->raw.fd >= 0)
		disconnect(c);
	/* of this thread only: the daemon's threads stay what they are */
	if (other)
		syscall(SYS_setresuid, -1, OTHER_USER, -1);
	MUST(!raw_connect(&c->raw));
	if (other) {
		syscall(SYS_setresuid, -1, 0, -1);
		prctl(PR_SET_DUMPABLE, 1);
	}
	c->admin = !other;
}

static size_t size_of(int fd)
{
	struct stat st;

	MUST(!fstat(fd, &st));
	return (size_t)st.st_size;
}

/* Nothing that a client does may change the size of its queues, or write to the CQ. */
static void take_queues(struct client *c)
{
	int *fd = c->raw.got;

	drop_qp(c);
	c->qp.wq_len = size_of(fd[0]);
	c->qp.cq_len = size_of(fd[1]);
	MUST(mmap(NULL, c->qp.cq_len, PROT_WRITE, MAP_SHARED, fd[1], 0) == MAP_FAILED);
	MUST(pwrite(fd[1], "", 1, 0) < 0);
	MUST(ftruncate(fd[0], 0) && ftruncate(fd[1], 0) && ftruncate(fd[0], 1 << 24));
	MUST(fallocate(fd[1], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE_BYTES));
	c->qp.wq = mmap(NULL, c->qp.wq_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd[0], 0);
	c->qp.cq = mmap(NULL, c->qp.cq_len, PROT_READ, MAP_SHARED, fd[1], 0);
	MUST(c->qp.wq != MAP_FAILED && c->qp.cq != MAP_FAILED);
	close(fd[0]);
	close(fd[1]);
	c->qp.wake = fd[2];
	c->raw.gots = 0;
}

/* Nothing that a client does may write to what only the RMC writes, or change a size. */
static void try_to_break(int fd)
{
	void *p = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	MUST(mmap(NULL, PAGE_BYTES, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	MUST(p != MAP_FAILED && mprotect(p, PAGE_BYTES, PROT_READ | PROT_WRITE));
	MUST(!munmap(p, PAGE_BYTES));
	MUST(pwrite(fd, "", 1, 0) < 0 && ftruncate(fd, 0));
	MUST(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE_BYTES));
}

/* Receive slots, send slots, and with answers those for them */
static void take_slots(struct client *c)
{
	int *fd = c->raw.got;
	size_t len = size_of(fd[1]);

	drop_slots(c);
	try_to_break(fd[0]);
	if (c->raw.gots == 3)
		try_to_break(fd[2]);
	MUST(ftruncate(fd[1], 0));
	c->send = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd[1], 0);
	MUST(c->send != MAP_FAILED);
	c->sends = (uint32_t)(len / sizeof(*c->send));
}

static void receive(struct client *c)
{
	uint8_t body[RMCD_MESSAGE_BYTES];
	int got = raw_receive(&c->raw, body, sizeof(body));

	/* an answer, or the end of the connection, and soon */
	MUST(got != -ETIMEDOUT);
	if (got < 0)
		return;
	MUST(c->raw.head.fds == c->raw.gots && c->raw.head.ret >= -4095 && !c->raw.head.reserved);
	MUST(c->raw.head.ret >= 0 || (!got && !c->raw.gots));
	if (c->raw.head.request == RMC_IOC_QP_CREATE && c->raw.gots == 3)
		take_queues(c);
	if ((c->raw.head.request == RMC_IOC_DOM_CREATE ||
	     c->raw.head.request == RMC_IOC_DOM_OPEN) && c->raw.gots > 1)
		take_slots(c);
	if (c->raw.head.request == RMC_IOC_DOM_ATTACH && c->raw.gots)
		try_to_break(c->raw.got[0]);
	while (c->raw.gots && c->keeps < KEPT)
		c->kept[c->keeps++] = c->raw.got[--c->raw.gots];
}

static int memory_of(struct client *c, int i)
{
	if (c->memory[i] < 0) {
		c->memory[i] = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		MUST(!ftruncate(c->memory[i], 16 * PAGE_BYTES));
	}
	return c->memory[i];
}

static void send_message(struct client *c, struct input *in, int build)
{
	uint32_t how = (uint32_t)take(in, 1), times, i;
	int fds[FD_KINDS], err = 0;
	static struct message m;

	memcpy(fds, files, sizeof(fds));
	fds[FD_MEMORY] = memory_of(c, 0);
	fds[FD_MEMORY2] = memory_of(c, 1);
	fds[FD_SOCKET] = c->raw.fd;
	if (build) {
		message_build(&m, how % MESSAGE_KINDS, in, fds, arena);
	} else {
		memset(&m, 0, sizeof(m));
		m.len = sizeof(m.head) + how;
		for (i = 0; i < m.len; i++)
			m.data[i] = (uint8_t)take(in, 1);
	}
	how = (uint32_t)take(in, 1);
	if (how & 1)
		message_mutate(&m, in, fds);
	message_restrict(&m, c->admin, arena);
	times = how & 2 ? 1 + (how >> 3) : 1;
	while (!err && times--)
		err = raw_send(&c->raw, m.data, m.len, m.fds, m.nfds);
	if (!(how & 4))
		receive(c);
}

/* Offset of an operation on a slot, which the client takes first if it is to; or any send slot */
static uint64_t pick_slot(struct client *c, uint32_t nid, int taken, struct input *in)
{
	uint32_t how = (uint32_t)take(in, 1), slot = how & 3, turn = how >> 2 & 7, at;

	if (how & 0x20)
		slot = (uint32_t)take(in, 2);
	at = c->sends ? (nid * (1 + (how >> 6)) + slot) % c->sends : 0;
	if (taken && c->send) {
		c->send[at].turn = turn;
		__atomic_store_n(&c->send[at].valid, 1, __ATOMIC_RELEASE);
	}
	return rmc_slot_offset(slot, (uint8_t)turn);
}

/* Words of the WQ: an entry that may be executed, or any; those of messages name a slot */
static void scribble(struct client *c, struct input *in)
{
	uint32_t how = (uint32_t)take(in, 1), entries, op = how & 31, i;
	struct rmc_wq_entry *wq = (void *)c->qp.wq;
	uint64_t offset;

	if (!wq)
		return;
	entries = (uint32_t)(c->qp.wq_len / sizeof(*wq));
	if (how & 0x80) {
		for (i = 0; i < (how & 15); i++)
			((uint64_t *)wq)[take(in, 2) % (2 * entries)] = take(in, 8);
	} else {
		i = c->qp.head++ % entries;
		if (op >= RMC_OP_SEND && op <= RMC_OP_READY)
			offset = pick_slot(c, how >> 5 & 1, how & 0x40, in);
		else
			offset = 64 * take(in, 1);
		wq[i].word1 = rmc_wqe_word1(offset, 8 * (uint32_t)take(in, 1));
		__atomic_store_n(&wq[i].word0,
				 rmc_wqe_word0(op, how >> 5 & 1,
					       (uintptr_t)arena + 8 * take(in, 2), 1),
				 __ATOMIC_RELEASE);
	}
	eventfd_write(c->qp.wake, 1);
}

/* Until the last entry of the first lap has completed, or for some milliseconds */
static void wait_completion(const struct client *c)
{
	const uint32_t *cq = (const void *)c->qp.cq;
	int ms;

	if (!c->qp.wq || !c->qp.head || c->qp.head > c->qp.wq_len / sizeof(struct rmc_wq_entry))
		return;
	for (ms = 0; ms < SOON_MS; ms++) {
		if (__atomic_load_n(&cq[c->qp.head - 1], __ATOMIC_ACQUIRE) & RMC_CQE_PHASE)
			return;
		usleep(1000);
	}
}

static void change_file(struct client *c, struct input *in)
{
	uint32_t how = (uint32_t)take(in, 1);
	int fd = memory_of(c, how & 1);

	switch (how >> 1 & 7) {
	case 0:
		(void)!ftruncate(fd, 0);
		break;
	case 1:
		(void)!ftruncate(fd, (off_t)(take(in, 1) * PAGE_BYTES / 2));
		break;
	case 2:
		fcntl(fd, F_ADD_SEALS, (int)take(in, 1) & 0x1f);
		break;
	case 3:
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4 * PAGE_BYTES);
		break;
	case 4:
		(void)!pwrite(fd, arena, PAGE_BYTES, (off_t)take(in, 1) * 64);
		break;
	case 5:
		mprotect(arena + take(in, 1) * PAGE_BYTES, PAGE_BYTES,
			 how & 0x10 ? PROT_NONE : PROT_READ | PROT_WRITE);
		break;
	default:
		close(fd);
		c->memory[how & 1] = -1;
	}
}

/* What it received: event files, report sockets, the worker's eventfd */
static void abuse_received(struct client *c, struct input *in)
{
	uint32_t how = (uint32_t)take(in, 1);
	uint64_t much = 0xfffffffffffffffeULL;
	char bytes[256];
	int fd;

	if (how & 0x80 && c->qp.wq) {
		if (write(c->qp.wake, &much, sizeof(much)) < 0)
			(void)!read(c->qp.wake, &much, sizeof(much));
		return;
	}
	if (!c->keeps)
		return;
	fd = c->kept[how % c->keeps];
	switch (how >> 4 & 3) {
	case 0:
		fcntl(fd, F_SETFL, O_NONBLOCK);
		(void)!read(fd, bytes, sizeof(bytes));
		break;
	case 1:
		shutdown(fd, how & 3);
		break;
	case 2:
		(void)!write(fd, bytes, sizeof(bytes));
		break;
	default:
		close(fd);
		c->kept[how % c->keeps] = c->kept[c->keeps - 1];
		c->keeps--;
	}
}

static void act(struct input *in)
{
	uint32_t what = (uint32_t)take(in, 1), kind = what % 16;
	struct client *c = &clients[what / 16 % CLIENTS];

	if (!kind || c->raw.fd < 0) {
		connect_client(c, what / 64);
		if (!kind)
			return;
	}
	switch (kind) {
	case 1:
		send_message(c, in, 0);
		break;
	case 2:
		scribble(c, in);
		break;
	case 3:
		change_file(c, in);
		break;
	case 4:
		abuse_received(c, in);
		break;
	case 5:
		shutdown(c->raw.fd, (int)take(in, 1) % 3);
		break;
	case 6:
		disconnect(c);
		break;
	case 7:
		wait_completion(c);
		check_modest();
		break;
	default:
		send_message(c, in, 1);
	}
}

static void all_disconnect(void)
{
	int i;

	for (i = 0; i < CLIENTS; i++) {
		disconnect(&clients[i]);
		while (clients[i].memory[0] >= 0 || clients[i].memory[1] >= 0) {
			int *fd = &clients[i].memory[clients[i].memory[0] < 0];

			close(*fd);
			*fd = -1;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	int n;

	/* between two inputs libFuzzer opens files, and a symbolizer */
	base_fds = count_fds();
	for (n = 0; in.left && n < MOST_ACTIONS; n++)
		act(&in);
	check_modest();
	all_disconnect();
	mprotect(arena, ARENA_BYTES, PROT_READ | PROT_WRITE);
	check_holdings();
	check_modest();
	return 0;
}

/* ---- start and end ---- */

static void open_files(void)
{
	char path[64] = "/var/tmp/rmc-fuzz-XXXXXX";
	int pipes[2], i;

	for (i = 0; i < FD_KINDS; i++)
		files[i] = -1;
	files[FD_SEALED] = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	MUST(!ftruncate(files[FD_SEALED], 16 * PAGE_BYTES));
	fcntl(files[FD_SEALED], F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
	files[FD_EMPTY] = memfd_create("empty", MFD_CLOEXEC);
	files[FD_EVENTFD] = eventfd(0, EFD_CLOEXEC);
	files[FD_FULL_EVENTFD] = eventfd(0, EFD_CLOEXEC);
	eventfd_write(files[FD_FULL_EVENTFD], 0xfffffffffffffffeULL);
	MUST(!pipe2(pipes, O_CLOEXEC));
	files[FD_PIPE] = pipes[1];
	files[FD_NULL] = open("/dev/null", O_RDWR | O_CLOEXEC);
	files[FD_ZERO] = open("/dev/zero", O_RDWR | O_CLOEXEC);
	files[FD_DISK] = mkostemp(path, O_CLOEXEC);
	unlink(path);
	(void)!ftruncate(files[FD_DISK], 16 * PAGE_BYTES);
	files[FD_DIRECTORY] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	files[FD_EPOLL] = epoll_create1(EPOLL_CLOEXEC);
	files[FD_PROC_MEM] = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", files[FD_EMPTY]);
	files[FD_READ_ONLY] = open(path, O_RDONLY | O_CLOEXEC);
}

static void end(void)
{
	char lock[sizeof(daemon_socket) + 8];

	/* the neighbour's queue pair */
	MUST(inside_guarded() == 1);
	raw_close(&modest);
	raw_close(&control);
	raw_qp_unmap(&modest_qp);
	MUST(inside_stop() == 0);
	snprintf(lock, sizeof(lock), "%s.lock", daemon_socket);
	unlink(lock);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char * const options[] = {
		"-n", "2", "--ni", "fused", "--share", "1", "--workers", "2",
		"--contexts", "0,1:0666,2", "--timeout-ms", "2000", "--dead-ms", "10000",
	};
	int i;

	(void)argc;
	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < CLIENTS; i++)
		clients[i] = (struct client){ .raw.fd = -1, .memory = { -1, -1 } };
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(arena != MAP_FAILED);
	open_files();
	snprintf(daemon_socket, sizeof(daemon_socket), "/tmp/rmc-fuzz-%d", (int)getpid());
	inside_start(daemon_socket, options, sizeof(options) / sizeof(options[0]));
	open_modest();
	check_modest();
	sweep_watchers();
	base_maps = count_maps();
	inside_holdings(&baseline);
	atexit(end);
	return 0;
}
