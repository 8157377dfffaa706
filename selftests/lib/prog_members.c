/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A server of several processes: prog_members [CALLS]
 *
 *	node 0	a client calls node 1, and gets a note for each call from the process that had it
 *	node 1	three processes share the domain; the first one has opened it, and another one is
 *		killed in between, and followed by another process
 *
 * In the end the process that has opened the domain closes it, and the others are told. Prints "members:
 * ok", or the failed check and fails.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rmc/rmc.h>

#define MEMBERS		3
#define PROCESSES	4		/* on node 1, in all */
#define WINDOW		4
#define PATIENCE_MS	60000

/* Shared by all processes */
static struct {
	uint32_t up[PROCESSES], served[PROCESSES], stop, gone;
	uint32_t calls;			/* as asked for */
} *shared;

static const char *who = "client";

#define CHECK(cond) do {							\
	if (!(cond)) {								\
		printf("%s: line %d: not true: %s (%s)\n", who, __LINE__, #cond, rmc_errmsg()); \
		exit(1);							\
	}									\
} while (0)

struct note {
	uint32_t process, call;
};

static struct rmc_ctx *open_node(int nid)
{
	struct rmc_ctx *ctx = rmc_open(0, nid);

	CHECK(ctx);
	return ctx;
}

static struct rmc_domain_options options(void)
{
	struct rmc_domain_options o;

	rmc_domain_defaults(&o);
	o.nodes = 2;
	o.slots = 16;
	o.max_message = 256;
	o.max_answer = 64;
	o.policy = RMC_DOM_RR;
	o.cores = MEMBERS;
	o.timeout_ms = 3000;
	return o;
}

static int is_set(const uint32_t *word)
{
	return !!__atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* An RMC may notice the end of the process before a little later. */
static struct rmc_domain *attach(struct rmc_ctx *ctx, unsigned int member)
{
	struct rmc_domain_options o = { .timeout_ms = 3000 };
	struct rmc_domain *d;

	while (!(d = rmc_domain_attach(ctx, member, &o))) {
		CHECK(errno == EBUSY);
		usleep(1000);
	}
	return d;
}

/* Answers, and notes it, until the domain ends */
static void serve(uint32_t process, struct rmc_domain *d)
{
	struct rmc_core *core = rmc_core_open(d, 0, 0);
	struct note note = { .process = process };
	struct rmc_arrival m;
	int err;

	CHECK(core);
	CHECK(!rmc_core_open(d, 0, 0) && errno == ENOSPC);	/* its part of the cores */
	__atomic_store_n(&shared->up[process], 1, __ATOMIC_RELEASE);
	while (!is_set(&shared->stop)) {
		err = rmc_arrival_wait(core, &m, 20, 200);
		/* the first one closes it as soon as all shall stop */
		if (err == -ESHUTDOWN && process && is_set(&shared->stop))
			break;
		CHECK(err >= 0);
		if (!err)
			continue;
		memcpy(&note.call, rmc_arrival_data(core, &m), sizeof(note.call));
		err = rmc_send(core, 0, &note, sizeof(note), 0);
		CHECK(!err);
		CHECK(!rmc_respond(core, &m, &note, sizeof(note)));
		__atomic_fetch_add(&shared->served[process], 1, __ATOMIC_RELAXED);
	}
	err = rmc_core_flush(core);
	CHECK(!err || (process && (err == RMC_S_NO_DOMAIN || err == RMC_S_ABORTED ||
				   err == -ESHUTDOWN)));
	if (!process) {
		rmc_domain_close(d);
		__atomic_store_n(&shared->gone, 1, __ATOMIC_RELEASE);
		return;
	}
	/* asleep, or in a call */
	err = rmc_arrival_wait(core, &m, 0, PATIENCE_MS);
	CHECK(err == -ESHUTDOWN);
	CHECK(strstr(rmc_errmsg(), "has closed it"));
	err = rmc_send(core, 0, &note, sizeof(note), 0);
	if (!err)
		err = rmc_core_flush(core);
	CHECK(err == RMC_S_NO_DOMAIN || err == -ESHUTDOWN);
	CHECK(rmc_core_join(core, 0) == -ESHUTDOWN);
	rmc_domain_close(d);
}

static pid_t server(uint32_t process, unsigned int member)
{
	static char name[20];
	struct rmc_domain_options o = options();
	struct rmc_domain *d;
	struct rmc_ctx *ctx;
	pid_t pid = fork();

	if (pid)
		return pid;
	/* not left behind by a client that has failed */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(name, sizeof(name), "process %u", process);
	who = name;
	ctx = open_node(1);
	if (!member) {
		CHECK(!rmc_domain_attach(ctx, 1, NULL) && errno == ENOENT);
		o.members = MEMBERS;
		d = rmc_domain_open_with(ctx, &o);
		CHECK(d);
		CHECK(!rmc_domain_attach(ctx, 1, NULL) && errno == EEXIST);
		__atomic_store_n(&shared->up[process], 2, __ATOMIC_RELEASE);
	} else {
		CHECK(!rmc_domain_attach(ctx, 0, NULL) && errno == EINVAL);
		CHECK(!rmc_domain_attach(ctx, MEMBERS, NULL) && errno == EINVAL);
		d = attach(ctx, member);
		CHECK(!rmc_domain_open_with(ctx, &o) && errno == EEXIST);
		CHECK(rmc_domain_max_message(d) == o.max_message);
	}
	serve(process, d);
	rmc_close(ctx);
	exit(0);
}

static void until(const uint32_t *word)
{
	unsigned int i;

	for (i = 0; i < PATIENCE_MS && !is_set(word); i++)
		usleep(1000);
	CHECK(is_set(word));
}

static int ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static unsigned int lost, notes;

/* A note comes once for each process that had the call */
static void take_notes(struct rmc_core *core, uint8_t *noted)
{
	struct rmc_arrival m;
	struct note n;
	int err;

	while ((err = rmc_arrival_next(core, &m)) == 1) {
		CHECK(m.nid == 1 && m.len == sizeof(n));
		memcpy(&n, m.head, sizeof(n));
		CHECK(n.process < PROCESSES && n.call < shared->calls);
		CHECK(!(noted[n.call] & 1 << n.process));
		noted[n.call] |= (uint8_t)(1 << n.process);
		notes++;
		CHECK(!rmc_receive(core, &m));
	}
	CHECK(!err);
}

static void finish(struct rmc_core *core, struct rmc_call *call, uint32_t number, uint8_t *noted)
{
	const void *answer;
	struct note n;
	size_t len;
	int err;

	while ((err = rmc_call_poll(core, call, &answer, &len)) == -EAGAIN)
		take_notes(core, noted);
	/* a process that is killed takes the answers with it that it had not sent */
	CHECK(!err || err == RMC_S_TIMEOUT);
	if (err || !len) {
		lost++;
	} else {
		CHECK(len == sizeof(n));
		memcpy(&n, answer, len);
		CHECK(n.call == number);
	}
	rmc_call_end(core, call);
}

static void client(pid_t victim)
{
	struct rmc_domain_options o = options();
	struct rmc_call call[WINDOW] = { 0 };
	uint8_t *noted = (uint8_t *)calloc(1, shared->calls);
	struct rmc_ctx *ctx = open_node(0);
	struct rmc_domain *d;
	struct rmc_core *core;
	uint32_t i, killed = 0, buf[4] = { 0 };
	pid_t successor = 0;

	d = rmc_domain_open_with(ctx, &o);
	CHECK(d && noted);
	core = rmc_core_open(d, 0, 0);
	CHECK(core);
	for (i = 0; i < PROCESSES - 1; i++)
		until(&shared->up[i]);
	for (i = 0; i < shared->calls; i++) {
		if (i >= WINDOW)
			finish(core, &call[i % WINDOW], i - WINDOW, noted);
		buf[0] = i;
		while (rmc_call_send(core, 1, buf, sizeof(buf), RMC_SEND_DONTWAIT, &call[i % WINDOW]) ==
		       -EAGAIN)
			take_notes(core, noted);
		if (!killed && i > shared->calls / 3 && is_set(&shared->served[1])) {
			kill(victim, SIGKILL);
			waitpid(victim, NULL, 0);
			successor = server(PROCESSES - 1, 1);
			killed = i;
		}
	}
	CHECK(killed);
	for (; i < shared->calls + WINDOW; i++)
		finish(core, &call[i % WINDOW], i - WINDOW, noted);
	until(&shared->up[PROCESSES - 1]);
	/* the successor has its share of those that come now */
	for (i = 0; !is_set(&shared->served[PROCESSES - 1]); i++) {
		buf[0] = 0;
		memset(noted, 0, shared->calls);
		CHECK(i < 100 && !rmc_call_send(core, 1, buf, sizeof(buf), 0, call));
		finish(core, call, 0, noted);
	}
	/* more wait at the dispatcher than a core gets at a time */
	for (i = 0; i < PATIENCE_MS && notes + WINDOW < shared->calls; i++) {
		usleep(1000);
		take_notes(core, noted);
	}
	CHECK(lost <= WINDOW);
	CHECK(notes + WINDOW >= shared->calls);
	for (i = 0; i < PROCESSES; i++)
		CHECK(shared->served[i]);
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
	while (!is_set(&shared->gone)) {
		take_notes(core, noted);
		usleep(1000);
	}
	CHECK(ended_well(successor));
	rmc_domain_close(d);
	rmc_close(ctx);
	free(noted);
}

int main(int argc, char **argv)
{
	pid_t pid[PROCESSES - 1];
	const char *node = getenv("RMC_NODE");
	uint32_t i;

	/* where it is started for each node, the first one does it all */
	if (node && atoi(node) > 0)
		return 0;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	shared->calls = argc > 1 ? (uint32_t)atoi(argv[1]) : 600;
	setvbuf(stdout, NULL, _IOLBF, 0);
	pid[0] = server(0, 0);
	until(&shared->up[0]);
	for (i = 1; i < PROCESSES - 1; i++)
		pid[i] = server(i, i);
	client(pid[1]);
	CHECK(ended_well(pid[0]) && ended_well(pid[2]));
	printf("members: ok\n");
	return 0;
}
