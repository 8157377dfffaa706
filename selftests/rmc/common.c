// SPDX-License-Identifier: GPL-2.0
/* Helpers that the test programs share. */
#include <dirent.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "common.h"

const char *module_missing(void)
{
	if (geteuid())
		return "must be root";
	return NULL;
}

const char *suite_missing(void)
{
	if (access(CTL_PATH, F_OK))
		return "no " CTL_PATH ": rmc.ko is not loaded";
	if (module_missing())
		return module_missing();
	if (ctx_create(CTX, 0666, 0, 0) && errno != EEXIST)
		return "cannot create a context";
	return NULL;
}

int open_ctl(void)
{
	return open(CTL_PATH, O_RDWR | O_CLOEXEC);
}

int open_ctx(unsigned int ctx_id)
{
	char path[64];

	snprintf(path, sizeof(path), RMC_CTX_DIR "/%u", ctx_id);
	return open(path, O_RDWR | O_CLOEXEC);
}

int ctx_create(unsigned int ctx_id, unsigned int mode, unsigned int uid, unsigned int gid)
{
	struct rmc_ctx_create arg = {
		.size = sizeof(arg), .ctx_id = ctx_id, .mode = mode, .uid = uid, .gid = gid,
	};
	int fd = open_ctl(), err, saved;

	if (fd < 0)
		return -1;
	err = ioctl(fd, RMC_IOC_CTX_CREATE, &arg);
	saved = errno;
	close(fd);
	errno = saved;
	return err;
}

int ctx_remove(unsigned int ctx_id)
{
	struct rmc_ctx_remove arg = { .size = sizeof(arg), .ctx_id = ctx_id };
	int fd = open_ctl(), err, saved;

	if (fd < 0)
		return -1;
	err = ioctl(fd, RMC_IOC_CTX_REMOVE, &arg);
	saved = errno;
	close(fd);
	errno = saved;
	return err;
}

int seg_reg(int fd, void *addr, uint64_t len, unsigned int flags)
{
	struct rmc_seg_reg arg = {
		.size = sizeof(arg), .flags = flags, .addr = (uintptr_t)addr, .length = len,
	};

	return ioctl(fd, RMC_IOC_SEG_REG, &arg);
}

int seg_unreg(int fd)
{
	struct rmc_seg_unreg arg = { .size = sizeof(arg) };

	return ioctl(fd, RMC_IOC_SEG_UNREG, &arg);
}

int buf_reg(int fd, void *addr, uint64_t len, unsigned int flags)
{
	struct rmc_buf_reg arg = {
		.size = sizeof(arg), .flags = flags, .addr = (uintptr_t)addr, .length = len,
	};

	return ioctl(fd, RMC_IOC_BUF_REG, &arg) ? -1 : (int)arg.buf_id;
}

int buf_unreg(int fd, unsigned int id)
{
	struct rmc_buf_unreg arg = { .size = sizeof(arg), .buf_id = id };

	return ioctl(fd, RMC_IOC_BUF_UNREG, &arg);
}

int qp_create(int fd, unsigned int entries, struct rmc_qp_create *out)
{
	memset(out, 0, sizeof(*out));
	out->size = sizeof(*out);
	out->entries = entries;
	return ioctl(fd, RMC_IOC_QP_CREATE, out);
}

int qp_destroy(int fd, unsigned int id)
{
	struct rmc_qp_id arg = { .size = sizeof(arg), .qp_id = id };

	return ioctl(fd, RMC_IOC_QP_DESTROY, &arg);
}

void *memory(size_t len)
{
	size_t round = (len + PAGE - 1) & ~(PAGE - 1);
	uint8_t *p = mmap(NULL, round + PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED);
	REQUIRE(!mprotect(p + round, PAGE, PROT_NONE));
	return p;
}

void end_open(struct end *e, unsigned int ctx_id, int nid, size_t seg_len, size_t buf_len,
	      unsigned int entries)
{
	memset(e, 0, sizeof(*e));
	e->ctx = rmc_open(ctx_id, nid);
	if (!e->ctx) {
		ktap_say("%s", rmc_errmsg());
		REQUIRE(!"rmc_open");
	}
	e->nid = nid;
	e->seg_len = seg_len;
	e->buf_len = buf_len;
	if (seg_len) {
		e->seg = memory(seg_len);
		REQUIRE_EQ(rmc_seg_register(e->ctx, e->seg, seg_len, 0), 0);
	}
	if (buf_len) {
		e->buf = memory(buf_len);
		e->buf_id = rmc_buf_register(e->ctx, e->buf, buf_len);
		REQUIRE(e->buf_id >= 0);
	}
	if (entries) {
		e->qp = rmc_qp_create(e->ctx, entries);
		if (!e->qp) {
			ktap_say("%s", rmc_errmsg());
			REQUIRE(!"rmc_qp_create");
		}
	}
}

void end_close(struct end *e)
{
	rmc_close(e->ctx);
	if (e->seg)
		munmap(e->seg, ((e->seg_len + PAGE - 1) & ~(PAGE - 1)) + PAGE);
	if (e->buf)
		munmap(e->buf, ((e->buf_len + PAGE - 1) & ~(PAGE - 1)) + PAGE);
}

/* 0, or an errno */
int file_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

long long file_number(const char *path, const char *key)
{
	FILE *f = fopen(path, "r");
	long long value = -1;
	char line[256];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)))
			continue;
		if (sscanf(line + strlen(key), "%lld", &value) == 1)
			break;
		value = -1;
	}
	fclose(f);
	return value;
}

long long pinned_kib(void)
{
	return file_number("/proc/self/status", "VmPin:");
}

void seg_place_settle(int nid)
{
	struct rmc_attach at = { .size = sizeof(at), .nid = (uint32_t)nid };
	unsigned long long end = ktap_ms() + 2000 * ktap_slow();
	int fd = open_ctx(CTX), err;
	void *mem = memory(PAGE);

	REQUIRE_EQ(ioctl(fd, RMC_IOC_ATTACH, &at), 0);
	do {
		err = seg_reg(fd, mem, PAGE, 0) ? errno : 0;
		if (err)
			usleep(1000);
	} while (err == EEXIST && ktap_ms() < end);
	CHECK_EQ(err, 0);
	close(fd);
	munmap(mem, PAGE);
}

/*
 * Pages pinned minus pages released. Both counters come from one read of /proc/vmstat: the
 * kernel sums them up at that moment.
 */
static long long pages_now(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);
	long long got = -1, back = -1;
	char line[256];
	FILE *f;

	/* the counters lag by up to a second unless stat_refresh updates them */
	if (fd >= 0) {
		if (write(fd, "1", 1) < 0)
			ktap_say("stat_refresh: %s", strerror(errno));
		close(fd);
	}
	f = fopen("/proc/vmstat", "r");
	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "nr_foll_pin_acquired %lld", &got);
		sscanf(line, "nr_foll_pin_released %lld", &back);
	}
	if (f)
		fclose(f);
	return got < 0 || back < 0 ? NOT_COUNTED : got - back;
}

/* Pages of an earlier process may still be being released: wait until the count is stable. */
long long pages_pinned(void)
{
	long long last = pages_now(), now;
	int i, same = 0;

	for (i = 0; i < 50 && same < 3; i++) {
		usleep(10000);
		now = pages_now();
		same = now == last ? same + 1 : 0;
		last = now;
	}
	return last;
}

int pages_settle(long long want)
{
	int i;

	for (i = 0; i < 200 && pages_now() != want; i++)
		usleep(10000);
	if (pages_now() == want)
		return 0;
	ktap_say("%lld pages are pinned, not %lld", pages_now(), want);
	return -1;
}

long long memory_there(void)
{
	long long kib = file_number("/proc/meminfo", "MemAvailable:"), pages;
	FILE *f = fopen("/proc/zoneinfo", "r");
	char line[256];

	if (!f)
		return kib;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %lld", &pages) == 1)
			kib += pages * (PAGE >> 10);
	fclose(f);
	return kib;
}

long long workers_sum(const char *name)
{
	long long sum = 0, one;
	char path[128];
	int k;

	for (k = 0; ; k++) {
		snprintf(path, sizeof(path), SYSFS "/worker%d/%s", k, name);
		one = file_number(path, "");
		if (one < 0)
			return k ? sum : -1;
		sum += one;
	}
}

long long workers_ns(void)
{
	DIR *dir = opendir("/proc");
	long long sum = -1, one;
	struct dirent *d;
	char path[300], name[32];
	FILE *f;

	if (!dir)
		return -1;
	while ((d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		name[0] = 0;
		if (fgets(name, sizeof(name), f) && !strncmp(name, "rmc/", 4)) {
			snprintf(path, sizeof(path), "/proc/%s/schedstat", d->d_name);
			one = file_number(path, "");
			if (one >= 0)
				sum = (sum < 0 ? 0 : sum) + one;
		}
		fclose(f);
	}
	closedir(dir);
	return sum;
}

int wait_parked(struct rmc_qp *qp, unsigned int ms)
{
	unsigned long long end = ktap_ms() + ms;

	while (!rmc_load_relaxed(&qp->flags->need_wakeup)) {
		if (ktap_ms() > end)
			return -1;
		usleep(1000);
	}
	return 0;
}

uint8_t pattern(unsigned int seed, size_t pos)
{
	uint32_t x = (uint32_t)pos * 2654435761U + seed * 40503U + 1;

	return (uint8_t)((x >> 24) ^ (x >> 11));
}

void fill(uint8_t *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = pattern(seed, i);
}

long differs(const uint8_t *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != pattern(seed, i))
			return (long)i;
	return -1;
}

uint32_t rnd(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

void run_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	REQUIRE(!sched_setaffinity(0, sizeof(one), &one));
}

int other_cpu(const cpu_set_t *all, int but)
{
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (cpu != but && CPU_ISSET(cpu, all))
			return cpu;
	return -1;
}

static int by_size(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

void sort_u32(uint32_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_size);
}

/*
 * A process for each CPU that answers to a word while asked to. It is not a thread: of those
 * that share memory User-Mode Linux runs one at a time.
 */
static struct echo {
	uint32_t word;		/* odd: the echo's turn; it makes it even */
	uint32_t awake, stop;
	int wake[2];
} *echoes;

/* Nothing else in the guest delays a process of this class */
static bool real_time(void)
{
	struct sched_param param = { .sched_priority = 50 };

	return !sched_setscheduler(0, SCHED_FIFO, &param);
}

static void answer(struct echo *e)
{
	char c;

	while (read(e->wake[0], &c, 1) == 1) {
		__atomic_store_n(&e->awake, 1, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&e->stop, __ATOMIC_ACQUIRE)) {
			uint32_t word = __atomic_load_n(&e->word, __ATOMIC_ACQUIRE);

			if (word & 1)
				__atomic_store_n(&e->word, word + 1, __ATOMIC_RELEASE);
		}
		__atomic_store_n(&e->awake, 0, __ATOMIC_RELEASE);
	}
}

/* False if @word does not get this value before @end, in microseconds of ktap_us() */
static bool becomes(uint32_t *word, uint32_t value, uint64_t end)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		if (ktap_us() > end)
			return false;
	return true;
}

/*
 * Two CPUs hand over a word 64 times, with a system call each time: far below a millisecond
 * in all where the host runs both. Where it runs one after the other, as well as a process of
 * User-Mode Linux and its kernel, each time takes a time slice of the host, milliseconds.
 */
static bool hand_over(struct echo *e)
{
	uint64_t end = ktap_us() + 20000;
	uint32_t n = 0;

	__atomic_store_n(&e->stop, 0, __ATOMIC_RELEASE);
	REQUIRE_EQ(write(e->wake[1], "", 1), 1);
	if (becomes(&e->awake, 1, end)) {
		while (n < 64) {
			__atomic_fetch_add(&e->word, 1, __ATOMIC_RELEASE);
			n++;
			if (!becomes(&e->word, 2 * n, end))
				break;
			syscall(SYS_getppid);
		}
	}
	__atomic_store_n(&e->stop, 1, __ATOMIC_RELEASE);
	REQUIRE(becomes(&e->awake, 0, ktap_us() + 10000000));
	e->word = 0;
	return n == 64 && ktap_us() < end;
}

void host_probe_start(void)
{
	int cpu, cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

	echoes = mmap(NULL, cpus * sizeof(*echoes), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(echoes != MAP_FAILED);
	for (cpu = 0; cpu < cpus; cpu++) {
		REQUIRE(!pipe(echoes[cpu].wake));
		if (!helper()) {
			run_on(cpu);
			if (real_time())
				answer(&echoes[cpu]);
			_exit(0);
		}
	}
}

bool host_runs_all_cpus(void)
{
	int other, here = sched_getcpu(), cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	struct sched_param none = { 0 };
	cpu_set_t before;
	bool runs = true;

	REQUIRE(!sched_getaffinity(0, sizeof(before), &before));
	run_on(here);
	if (real_time()) {
		for (other = 0; other < cpus && runs; other++)
			runs = other == here || hand_over(&echoes[other]);
		REQUIRE(!sched_setscheduler(0, SCHED_OTHER, &none));
	}
	REQUIRE(!sched_setaffinity(0, sizeof(before), &before));
	return runs;
}

pid_t helper(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	return pid;
}

int helper_ok(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return 0;
	if (WIFSIGNALED(status))
		ktap_say("helper was killed by signal %d", WTERMSIG(status));
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

void drop_privileges(unsigned int uid)
{
	REQUIRE(!setgroups(0, NULL));
	REQUIRE(!setgid(uid));
	REQUIRE(!setuid(uid));
}
