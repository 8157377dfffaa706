/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmcctl doctor: checks the set-up. One line per check: ok, WARN (works, but slowly or not
 * for all users) or FAIL, and what to do.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include "../../lib/internal.h"
#include "doctor.h"

#define MEMLOCK_ADVISED		(64ULL << 20)	/* segment of the benchmarks */

void say(struct doctor *d, enum verdict v, const char *check, const char *cure, const char *fmt,
	 ...)
{
	static const char * const names[] = { "ok", "WARN", "FAIL" };
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->failed |= v == FAIL;
	if (d->json) {
		json_object(d->json, NULL);
		json_string(d->json, "check", check);
		json_string(d->json, "result", names[v]);
		json_string(d->json, "text", text);
		if (cure && v != OK)
			json_string(d->json, "cure", cure);
		json_end_object(d->json);
		return;
	}
	printf("%-4s %-10s %s", names[v], check, text);
	if (cure && v != OK)
		printf("; %s", cure);
	putchar('\n');
}

/* Number of devices; *interrupts: number of those with doorbells for rmc */
static int ivshmem_devices(int *interrupts)
{
	struct sysfs_names names = sysfs_list("", SYSFS_PCI), irqs;
	int found = 0;
	unsigned int i;

	for (i = 0; i < names.count; i++) {
		uint64_t vendor, device;

		if (sysfs_u64(&vendor, SYSFS_PCI "/%s/vendor", names.name[i]) ||
		    sysfs_u64(&device, SYSFS_PCI "/%s/device", names.name[i]) ||
		    vendor != 0x1af4 || device != 0x1110)
			continue;
		found++;
		/* the folder also exists after a failed request, so list it */
		irqs = sysfs_list("", SYSFS_PCI "/%s/msi_irqs", names.name[i]);
		*interrupts += irqs.count > 0;
		sysfs_names_free(&irqs);
	}
	sysfs_names_free(&names);
	return found;
}

static int check_module(struct doctor *d)
{
	if (sysfs_exists(SYSFS_RMC)) {
		say(d, OK, "module", NULL, "rmc is loaded");
		return 0;
	}
	say(d, FAIL, "module",
	    sysfs_exists("module/rmc") ? "see dmesg | grep rmc for why it has no device"
				       : "modprobe rmc, or insmod rmc.ko; or start rmcd",
	    "rmc is not loaded");
	return -1;
}

static void check_control(struct doctor *d)
{
	struct rmc_ctx *control = ctl_control();
	struct rmc_query q = { .size = sizeof(q) };

	if (!control) {
		if (errno == EACCES || errno == EPERM)
			say(d, WARN, "control", "run as root to administer contexts",
			    "no permission to open %s", RMC_CONTROL_DEVICE);
		else
			say(d, FAIL, "control", "is devtmpfs or udev running?", "%s: %s",
			    RMC_CONTROL_DEVICE, strerror(errno));
		return;
	}
	if (rmc_call(control, RMC_IOC_QUERY, &q))
		say(d, FAIL, "control", "module and tools of the same version?",
		    "%s does not answer queries: %s", RMC_CONTROL_DEVICE, strerror(errno));
	else if (q.abi != RMC_ABI_VERSION)
		say(d, FAIL, "control", "update the older one", "module has ABI %u, rmcctl %u",
		    q.abi, RMC_ABI_VERSION);
	else
		say(d, OK, "control", NULL, "%s answers, ABI %u", RMC_CONTROL_DEVICE, q.abi);
}

static void check_fabric(struct doctor *d)
{
	char fabric[SYSFS_VALUE] = "", memtype[SYSFS_VALUE];
	int doorbells = 0, ivshmem = ivshmem_devices(&doorbells);
	uint64_t nodes = 0;

	sysfs_string(fabric, SYSFS_RMC "/fabric");
	sysfs_u64(&nodes, SYSFS_RMC "/nodes");
	if (!strcmp(fabric, "ivshmem") && !ivshmem)
		say(d, FAIL, "fabric", "start the VM with an ivshmem device",
		    "ivshmem fabric, but no ivshmem device is visible");
	else if (!strcmp(fabric, "loopback") && ivshmem)
		say(d, WARN, "fabric", "load rmc with fabric=ivshmem to reach other VMs",
		    "loopback, although %d ivshmem device%s present", ivshmem,
		    ivshmem == 1 ? " is" : "s are");
	else
		say(d, OK, "fabric", NULL, "%s, %u nodes", *fabric ? fabric : "(unknown)",
		    (unsigned int)nodes);

	if (!strcmp(fabric, "ivshmem") && doorbells)
		say(d, OK, "doorbell", NULL, "peers wake this kernel by interrupt");
	else if (!strcmp(fabric, "ivshmem"))
		say(d, WARN, "doorbell", "give the VM ivshmem-doorbell: rmc-vm up --doorbell on",
		    "none: an idle node polls at intervals, see poll_us_max");

	if (sysfs_string(memtype, SYSFS_RMC "/memtype"))
		return;
	if (strcasestr(memtype, "back") || !strcasecmp(memtype, "wb"))
		say(d, OK, "memtype", NULL, "fabric memory is %s", memtype);
	else
		say(d, WARN, "memtype", "check MTRR and PAT: another driver mapped the device?",
		    "fabric memory is %s, not write-back: every access is slow", memtype);
}

void check_nodes(struct doctor *d)
{
	struct sysfs_names names = sysfs_list("node", SYSFS_RMC);
	unsigned int i, local = 0, up = 0;
	uint64_t peers;

	for (i = 0; i < names.count; i++) {
		char state[SYSFS_VALUE];

		if (sysfs_string(state, SYSFS_RMC "/%s/state", names.name[i]))
			continue;
		local++;
		if (!strcmp(state, "up"))
			up++;
		else
			say(d, FAIL, "node",
			    ctl_is_daemon() ? "rmcctl node up, or see what rmcd printed"
					    : "see dmesg | grep rmc",
			    "%s is %s", names.name[i], state);
	}
	sysfs_names_free(&names);
	if (!local)
		say(d, FAIL, "node", "all node ids taken? see dmesg | grep rmc",
		    "this kernel has no node");
	else if (up == local)
		say(d, OK, "node", NULL, "%u local node%s up", up, up == 1 ? "" : "s");

	if (sysfs_u64(&peers, SYSFS_RMC "/peers_up"))
		return;
	if (peers || local > 1)
		say(d, OK, "peers", NULL, "%u up", (unsigned int)peers);
	else
		say(d, WARN, "peers",
		    ctl_is_daemon() ? "start the other daemons of the --region"
				    : "start the other VMs: rmc-vm status shows them",
		    "no other node is up");
}

void check_cpus(struct doctor *d)
{
	struct sysfs_names names = sysfs_list("worker", SYSFS_RMC);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t share = 0;

	sysfs_u64(&share, SYSFS_RMC "/share");
	if (share)
		say(d, WARN, "cpus", "more CPUs let workers have their own",
		    "%u worker%s share %ld CPUs with applications: higher latency", names.count,
		    names.count == 1 ? "" : "s", cpus);
	else if (names.count && cpus <= (long)names.count)
		say(d, WARN, "cpus",
		    ctl_is_daemon() ? "add CPUs, or start rmcd with --ni fused or --share 1"
				    : "add CPUs, or load rmc with ni=fused or share=1",
		    "%u workers on %ld CPUs leave none for applications", names.count, cpus);
	else
		say(d, OK, "cpus", NULL, "%u worker%s, %ld CPUs", names.count,
		    names.count == 1 ? "" : "s", cpus);
	sysfs_names_free(&names);
}

/* QEMU's emulator names itself in the hypervisor's CPUID leaf. */
static int emulated(void)
{
#ifdef __x86_64__
	unsigned int a, b, c, e;

	if (__get_cpuid(1, &a, &b, &c, &e) && c & 1U << 31) {
		char name[12];

		__cpuid(0x40000000, a, b, c, e);
		memcpy(name, &b, 4);
		memcpy(name + 4, &c, 4);
		memcpy(name + 8, &e, 4);
		return !memcmp(name, "TCGTCGTCGTCG", sizeof(name));
	}
#endif
	return 0;
}

static void check_machine(struct doctor *d)
{
	if (!emulated())
		say(d, OK, "machine", NULL, "not emulated");
	else if (sysconf(_SC_NPROCESSORS_CONF) < 2)
		say(d, FAIL, "machine", "give the VM two CPUs or more (-smp 2)",
		    "emulated with one CPU: QEMU drops the lock prefix, atomics are lost");
	else
		say(d, WARN, "machine", "use KVM for measurements",
		    "emulated (QEMU TCG): correct, but times mean nothing");
}

static void check_contexts(struct doctor *d)
{
	struct sysfs_names names = sysfs_list("rmcctx", SYSFS_CONTEXTS);
	unsigned int i, mine = 0;
	char path[64];

	for (i = 0; i < names.count; i++) {
		snprintf(path, sizeof(path), RMC_CTX_DIR "/%.20s",
			 names.name[i] + strlen("rmcctx"));
		mine += !access(path, R_OK | W_OK);
	}
	if (!names.count)
		say(d, WARN, "contexts", "rmcctl context create 0 --mode 0666",
		    "none: applications have nothing to open");
	else if (!mine)
		say(d, WARN, "contexts", "chmod or chgrp one in " RMC_CTX_DIR ", or create it with --mode",
		    "%u, none of which you may open", names.count);
	else
		say(d, OK, "contexts", NULL, "%u, you may open %u", names.count, mine);
	sysfs_names_free(&names);
}

static void check_memlock(struct doctor *d)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_MEMLOCK, &rl))
		return;
	if (rl.rlim_cur == RLIM_INFINITY)
		say(d, OK, "memlock", NULL, "unlimited");
	else if (!geteuid())	/* root usually has CAP_IPC_LOCK */
		say(d, OK, "memlock", NULL, "%llu KiB, which does not bind root",
		    (unsigned long long)rl.rlim_cur >> 10);
	else if (rl.rlim_cur >= MEMLOCK_ADVISED)
		say(d, OK, "memlock", NULL, "%llu KiB", (unsigned long long)rl.rlim_cur >> 10);
	else
		say(d, WARN, "memlock", "ulimit -l, or limits.conf: memlock",
		    "only %llu KiB can be pinned", (unsigned long long)rl.rlim_cur >> 10);
}

/* Operations on own memory through the whole pipeline, and one on every peer */
static void check_operations(struct doctor *d, unsigned int ctx_id)
{
	struct rmc_ctx *ctx = rmc_open(ctx_id, -1);
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t *page, old = 0;
	struct rmc_qp *qp = NULL;
	int err, nid, self;

	if (!ctx) {
		say(d, FAIL, "context", rmc_errmsg(), "cannot use context %u", ctx_id);
		return;
	}
	say(d, OK, "context", NULL, "%u opened, acting for node %d", ctx_id, rmc_nid(ctx));

	/* a page each: a daemon shares whole pages only */
	page = (uint64_t *)mmap(NULL, 2 * len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
	if (page == MAP_FAILED) {
		say(d, FAIL, "self-test", "free some memory", "out of memory");
		goto out;
	}
	qp = rmc_qp_create(ctx, 0);
	if (!qp || rmc_buf_register(ctx, page, len) < 0) {
		say(d, FAIL, "self-test", rmc_errmsg(), "no queue pair or buffer");
		goto out;
	}
	say(d, rmc_query(ctx)->features & RMC_FEATURE_ORDERED ? OK : WARN, "ordered",
	    "needed by rmc_qp_create_with() alone: use a newer module, or rmcd",
	    rmc_query(ctx)->features & RMC_FEATURE_ORDERED ? "ordered queue pairs" :
							     "no ordered queue pairs");
	self = rmc_nid(ctx);
	err = rmc_seg_register(ctx, (char *)page + len, len, 0);
	if (err == -EEXIST) {
		say(d, OK, "self-test", NULL, "skipped: an application uses context %u", ctx_id);
	} else if (err) {
		say(d, FAIL, "self-test", rmc_errmsg(), "no segment");
	} else {
		uint64_t *remote = page + len / sizeof(*page);

		page[0] = 0x0123456789abcdefULL;
		err = rmc_write(qp, self, 0, page, 8);
		if (!err)
			err = rmc_faa(qp, self, 0, 1, &old);
		if (!err)
			err = rmc_read(qp, self, 0, page + 1, 8);
		if (err)
			say(d, FAIL, "self-test", "see rmcctl counters, and what the driver logged",
			    "%s", rmc_strerror(err));
		else if (old != page[0] || page[1] != page[0] + 1 || remote[0] != page[1])
			say(d, FAIL, "self-test", "report this: memory did not change as it should",
			    "wrong data");
		else
			say(d, OK, "self-test", NULL, "write, fetch-and-add and read on node %d",
			    self);
	}
	for (nid = 0; nid < rmc_nodes(ctx); nid++) {
		if (nid == self || rmc_node_state(ctx, nid) != RMC_NODE_UP)
			continue;
		err = rmc_read(qp, nid, 0, page, 8);
		/* All these are replies of the peer's RRPP. */
		if (!err || err == RMC_S_BAD_CONTEXT || err == RMC_S_OUT_OF_RANGE)
			say(d, OK, "peer", NULL, "node %d answers", nid);
		else
			say(d, FAIL, "peer", "rmcctl status there, and what the driver logged",
			    "node %d: %s", nid, rmc_strerror(err));
	}
out:
	rmc_close(ctx);
	if (page != MAP_FAILED)
		munmap(page, 2 * len);
}

int cmd_doctor(int argc, char **argv)
{
	int ctx_id = -1;
	const char *usage = "rmcctl doctor [--context ID] [--json]";
	const struct opt opts[] = {
		{ 'c', "context", OPT_INT, &ctx_id, 0, 1 << 30, "ID",
			"run operations under this context, too" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable" },
		{ 0 },
	};
	struct doctor d = { 0 };
	struct json json;

	if (opt_parse(argc, argv, opts, usage) != argc)
		die(EXIT_USAGE, "usage: %s", usage);
	if (ctl_json) {
		json_init(&json, stdout);
		d.json = &json;
		json_object(&json, NULL);
		json_array(&json, "checks");
	}
	if (ctl_is_daemon()) {
		doctor_daemon(&d);
	} else if (check_module(&d)) {
		int doorbells = 0, n = ivshmem_devices(&doorbells);

		if (n)
			say(&d, OK, "fabric", NULL, "%d ivshmem device%s present", n,
			    n == 1 ? " is" : "s are");
	} else {
		check_control(&d);
		check_fabric(&d);
		check_nodes(&d);
		check_cpus(&d);
		check_contexts(&d);
	}
	check_machine(&d);
	if (!ctl_is_daemon())
		check_memlock(&d);	/* rmcd pins nothing */
	if (!d.failed && ctx_id >= 0)
		check_operations(&d, (unsigned int)ctx_id);
	if (ctl_json) {
		json_end_array(&json);
		json_bool(&json, "ok", !d.failed);
		json_end_object(&json);
	}
	return d.failed ? EXIT_FAILED : EXIT_OK;
}
