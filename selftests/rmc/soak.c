// SPDX-License-Identifier: GPL-2.0
/*
 * Mixed traffic for a while, with processes that are killed and stopped: at the end
 * the sums are correct, and the kernel's resources are released.
 *
 *	RMC_SOAK_SECONDS	of mixed traffic (default 5)
 *	RMC_SOAK_ROUNDS		of killing and starting again (default 40)
 *
 * The bank is a process of its own that is never killed: node 0, with one account per
 * customer in its segment. Customers add to their accounts. They record how much they
 * send before they send it, and how much was acknowledged afterwards. No acknowledged
 * amount may be missing, and no amount may be there that was not sent.
 */
#include <sched.h>
#include <sys/prctl.h>
#include "common.h"

#define CUSTOMERS	6
#define AREA		(8 * PAGE)	/* of one customer: its account, then its data */
#define BANK		(CUSTOMERS * AREA)
#define IN_FLIGHT	16
#define PATIENCE_MS	60000	/* extra time until each customer was served once */

struct account {
	uint64_t sent, acked;
	uint64_t operations;
	int broken;
};

static struct account *account;		/* shared by all processes */

static unsigned int setting(const char *name, unsigned int def)
{
	const char *s = getenv(name);

	return s && *s ? (unsigned int)atoi(s) : def;
}

static int bad(struct account *a, const char *what, int status)
{
	ktap_say("%s: %s", what, rmc_strerror(status));
	__atomic_store_n(&a->broken, 1, __ATOMIC_RELAXED);
	return 0;
}

/* Some additions at once: each is recorded as sent, and their sum as acknowledged. */
static int add_some(struct end *e, struct account *a, uint64_t at, uint32_t *r)
{
	unsigned int n = 1 + rnd(r) % IN_FLIGHT, i;
	uint64_t sum = 0, one;
	int slot;

	for (i = 0; i < n; i++) {
		slot = rmc_wait_for_slot(e->qp, NULL);
		if (slot < 0)
			return bad(a, "slot", slot);
		one = 1 + rnd(r) % 1000;
		sum += one;
		__atomic_fetch_add(&a->sent, one, __ATOMIC_SEQ_CST);
		rmc_faa_async(e->qp, slot, 0, at, one);
	}
	slot = rmc_drain_cq(e->qp, NULL);
	if (slot)
		return bad(a, "additions", slot);
	__atomic_fetch_add(&a->acked, sum, __ATOMIC_SEQ_CST);
	return 1;
}

/* A read returns what was written, whatever other customers do. */
static int write_and_read(struct end *e, struct account *a, uint64_t at, uint32_t *r)
{
	size_t len = 1 + rnd(r) % (4 * PAGE), off = rnd(r) % PAGE;
	unsigned int seed = rnd(r);
	int s;

	fill(e->buf, len, seed);
	s = rmc_write(e->qp, 0, at + PAGE + off, e->buf, len);
	if (s)
		return bad(a, "write", s);
	memset(e->buf, 0, len);
	s = rmc_read(e->qp, 0, at + PAGE + off, e->buf, len);
	if (s)
		return bad(a, "read", s);
	if (differs(e->buf, len, seed) >= 0)
		return bad(a, "what was read is not what was written", 0);
	return 1;
}

/* Register and withdraw a buffer, create and destroy a queue pair. */
static int come_and_go(struct end *e, struct account *a, uint32_t *r)
{
	struct rmc_qp *qp;
	int id;

	id = rmc_buf_register(e->ctx, e->seg, (1 + rnd(r) % 8) * PAGE);
	if (id < 0)
		return bad(a, rmc_errmsg(), 0);
	qp = rmc_qp_create(e->ctx, 8);
	if (!qp)
		return bad(a, rmc_errmsg(), 0);
	if (rmc_read(qp, 0, 0, e->seg, 64))
		return bad(a, "second queue pair", 0);
	rmc_qp_destroy(qp);
	if (rmc_buf_unregister(e->ctx, id))
		return bad(a, "buffer", 0);
	return 1;
}

static void __attribute__((noreturn)) customer(unsigned int number, uint32_t r)
{
	struct account *a = &account[number];
	uint64_t at = number * AREA;
	struct end e;
	int ok = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	end_open(&e, CTX, (int)(number % 4), 0, 8 * PAGE, 2 * IN_FLIGHT);
	e.seg = memory(8 * PAGE);
	while (ok) {
		switch (rnd(&r) % 8) {
		case 0:
			ok = come_and_go(&e, a, &r);
			break;
		case 1 ... 3:
			ok = write_and_read(&e, a, at, &r);
			break;
		default:
			ok = add_some(&e, a, at, &r);
		}
		__atomic_fetch_add(&a->operations, 1, __ATOMIC_RELAXED);
	}
	_exit(1);
}

static pid_t start(unsigned int number, uint32_t r)
{
	pid_t pid = helper();

	if (!pid)
		customer(number, r);
	return pid;
}

static void stop(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Kernel resources in use; compared before and after */
struct given {
	long long pinned, files, refs, available;
};

/* The current count; the file stays open, since opening it again would add to the count. */
static long long files_counted(int fd)
{
	char text[64] = "";

	REQUIRE(pread(fd, text, sizeof(text) - 1, 0) > 0);
	return atoll(text);
}

/*
 * All open files of the system. /proc/sys/fs/file-nr lacks each CPU's pending difference, which
 * may be 32 files or more, up or down. So open files on each CPU until it adds its difference to
 * the count: the change beyond the files opened here is what was pending.
 */
static long long files_open(void)
{
	int fd = open("/proc/sys/fs/file-nr", O_RDONLY | O_CLOEXEC), file[1024], n, cpu;
	long long files, before, now;
	cpu_set_t all, one;

	REQUIRE(fd >= 0);
	REQUIRE(!sched_getaffinity(0, sizeof(all), &all));
	files = files_counted(fd);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		REQUIRE(!sched_setaffinity(0, sizeof(one), &one));
		before = files_counted(fd);
		for (n = 0, now = before; now == before; now = files_counted(fd)) {
			REQUIRE(n < 1000);
			file[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
			REQUIRE(file[n] >= 0);
			n++;
		}
		files += now - before - n;
		while (n)
			close(file[--n]);
	}
	REQUIRE(!sched_setaffinity(0, sizeof(all), &all));
	close(fd);
	return files;
}

static struct given given(void)
{
	struct given g = {
		.pinned = pages_pinned(),
		.files = files_open(),
		/* references to the module: one for each of its open files */
		.refs = file_number("/sys/module/rmc/refcnt", ""),
		.available = memory_there(),
	};

	return g;
}

static void check_given(struct given before)
{
	struct given now;
	int i;

	/* files and slabs are freed a little later */
	for (i = 0; i < 50; i++) {
		now = given();
		if (now.refs == before.refs && now.pinned == before.pinned &&
		    now.files - before.files < 8 && before.available - now.available < 4 << 10)
			break;
		usleep(100000);
	}
	ktap_say("pages pinned %+lld, files of rmc %+lld, all open files %+lld, memory %+lld KiB",
		 now.pinned - before.pinned, now.refs - before.refs, now.files - before.files,
		 now.available - before.available);
	CHECK_EQ(now.pinned, before.pinned);
	CHECK_EQ(now.refs, before.refs);
	/* other processes of the guest open and close files */
	CHECK(now.files - before.files < 8);
	/* thousands of processes may have run: a leak of some pages in each would be far more */
	CHECK(before.available - now.available < 16 << 10);
}

static uint64_t balance(struct end *bank, unsigned int number)
{
	return __atomic_load_n((uint64_t *)(bank->seg + number * AREA), __ATOMIC_SEQ_CST);
}

static void check_sums(struct end *bank)
{
	unsigned int i;

	for (i = 0; i < CUSTOMERS; i++) {
		uint64_t have = balance(bank, i);

		CHECK(!account[i].broken);
		CHECK(account[i].acked);
		if (!CHECK(have >= account[i].acked && have <= account[i].sent))
			ktap_say("account %u: %llu, acknowledged %llu, sent %llu", i,
				 (unsigned long long)have, (unsigned long long)account[i].acked,
				 (unsigned long long)account[i].sent);
	}
}

static void open_bank(struct end *bank)
{
	account = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(account != MAP_FAILED);
	end_open(bank, CTX, 0, BANK, 0, 0);
}

TEST_WITHIN(killed_and_started_again, 3600)
{
	unsigned int rounds = setting("RMC_SOAK_ROUNDS", 40), i;
	struct end bank;
	struct given before = { 0 };
	pid_t pid[CUSTOMERS];
	uint32_t r = 77;

	open_bank(&bank);
	/* the first rounds fill caches */
	for (i = 0; i < rounds + 2 * CUSTOMERS; i++) {
		unsigned int number = i % CUSTOMERS;

		if (i == 2 * CUSTOMERS) {
			unsigned int k;

			for (k = 0; k < CUSTOMERS; k++)
				stop(pid[k]);
			before = given();
			for (k = 0; k < CUSTOMERS; k++)
				pid[k] = start(k, rnd(&r));
		}
		if (i >= CUSTOMERS)
			stop(pid[number]);
		pid[number] = start(number, rnd(&r));
		usleep(rnd(&r) % 20000);
		if (!CHECK(!account[number].broken))
			break;
	}
	usleep(500000);
	for (i = 0; i < CUSTOMERS; i++)
		stop(pid[i]);
	check_given(before);
	check_sums(&bank);
	end_close(&bank);
	ktap_say("%u rounds", rounds);
}

/* True if each customer has had an addition acknowledged */
static int all_served(void)
{
	unsigned int i;

	for (i = 0; i < CUSTOMERS && __atomic_load_n(&account[i].acked, __ATOMIC_RELAXED); i++)
		;
	return i == CUSTOMERS;
}

TEST_WITHIN(mixed_traffic_with_pauses, 7200)
{
	unsigned long long end = ktap_ms() + 1000ULL * setting("RMC_SOAK_SECONDS", 5);
	uint64_t operations = 0, least = UINT64_MAX, most = 0;
	struct given before;
	struct end bank;
	pid_t pid[CUSTOMERS];
	uint32_t r = 78;
	unsigned int i;

	open_bank(&bank);
	before = given();
	for (i = 0; i < CUSTOMERS; i++)
		pid[i] = start(i, rnd(&r));
	/* a guest that its host rarely runs serves all customers, too, but takes longer */
	while (ktap_ms() < end || (ktap_ms() < end + PATIENCE_MS && !all_served())) {
		i = rnd(&r) % CUSTOMERS;
		switch (rnd(&r) % 8) {
		case 0:
			stop(pid[i]);
			pid[i] = start(i, rnd(&r));
			break;
		case 1 ... 3:
			kill(pid[i], SIGSTOP);
			usleep(rnd(&r) % 50000);
			kill(pid[i], SIGCONT);
			break;
		default:
			usleep(rnd(&r) % 100000);
		}
	}
	for (i = 0; i < CUSTOMERS; i++) {
		stop(pid[i]);
		operations += account[i].operations;
		least = account[i].operations < least ? account[i].operations : least;
		most = account[i].operations > most ? account[i].operations : most;
	}
	check_given(before);
	check_sums(&bank);
	end_close(&bank);
	ktap_say("%llu batches of operations, %llu to %llu of each", (unsigned long long)operations,
		 (unsigned long long)least, (unsigned long long)most);
}

KTAP_MAIN(suite_missing)
