/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl fault and rmcctl model: the driver's files in debugfs, or what a daemon has there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>
#include <linux/rmc.h>
#include "fault.h"

#define LINE	1024

/* Mount point of debugfs; RMC_DEBUGFS replaces it in tests. */
static const char *root(void)
{
	const char *s = getenv("RMC_DEBUGFS");

	return s ? s : "/sys/kernel/debug";
}

/* The same attribute of a daemon */
static void daemon_path(char *path, size_t len, const char *name)
{
	snprintf(path, len, "kernel/debug/rmc/%s", name);
}

static void __attribute__((noreturn)) daemon_refuses(const char *name, int err)
{
	open_control();		/* it may not answer at all */
	if (err == ENOENT)
		die(EXIT_FAILED, "this rmcd has no faults and no link model (no '%s'): use a newer one, or the module",
		    name);
	if (err == EACCES || err == EPERM)
		die(EXIT_FAILED, "no permission to see or change faults: run rmcctl %s",
		    ctl_admin());
	die(EXIT_FAILED, "rmcd does not show '%s': %s", name, strerror(err));
}

static int open_file(const char *name, int flags)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/rmc/%s", root(), name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && !getenv("RMC_DEBUGFS") &&
	    !mount("none", root(), "debugfs", 0, NULL))
		fd = open(path, flags | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	need_driver();
	if (errno == EACCES || errno == EPERM)
		die(EXIT_FAILED, "no permission to open %s: run rmcctl as root", path);
	die(EXIT_FAILED, "cannot open %s (%s): this kernel needs CONFIG_DEBUG_FS, mounted there",
	    path, strerror(errno));
}

/* 0 or errno */
static int write_file(const char *name, const char *line)
{
	int fd = open_file(name, O_WRONLY);
	int err = write(fd, line, strlen(line)) < 0 ? errno : 0;

	close(fd);
	return err;
}

static int write_daemon(const char *name, const char *line)
{
	char path[64];

	daemon_path(path, sizeof(path), name);
	if (!daemon_write(path, line))
		return 0;
	if (errno == ENOENT || errno == EACCES || errno == EPERM)
		daemon_refuses(name, errno);
	return errno;
}

int ctl_fault_try(const char *name, const char *line)
{
	return ctl_is_daemon() ? write_daemon(name, line) : write_file(name, line);
}

void ctl_fault_write(const char *name, const char *line)
{
	int err = ctl_fault_try(name, line);

	switch (err) {
	case 0:
		return;
	case EXDEV:
		die(EXIT_FAILED, "that node is not on this machine: faults are set where packets arrive; rmcctl status shows which nodes are here");
	case ENXIO:
		die(EXIT_FAILED, "there is no such node in this fabric");
	case ENOSPC:
		die(EXIT_FAILED, "the torus has less places than the fabric has nodes");
	case E2BIG:
		die(EXIT_FAILED, "these are too many links at once: name --from or --to");
	case EMSGSIZE:
		die(EXIT_FAILED, "packets of this fabric are too long for --lines any: it needs an mtu of at most 4096");
	case ENOMEM:
		die(EXIT_FAILED, "out of memory: some links may have the fault, rmcctl fault list shows which");
	default:
		die(EXIT_FAILED, "the driver refuses '%s': %s", line, strerror(err));
	}
}

static void keep_line(char *text, void *arg)
{
	fprintf((FILE *)arg, "%s\n", text);
}

/* Its lines come in parts; an attribute of one line may be a plain value. */
static FILE *ask_daemon(const char *name)
{
	char path[64], value[LINE];
	FILE *f = tmpfile();

	if (!f)
		return NULL;
	daemon_path(path, sizeof(path), name);
	if (daemon_lines(path, keep_line, f)) {
		if (daemon_read(path, value, sizeof(value)))
			daemon_refuses(name, errno);
		if (*value)
			keep_line(value, f);
	}
	rewind(f);
	return f;
}

FILE *ctl_fault_read(const char *name)
{
	FILE *f = ctl_is_daemon() ? ask_daemon(name) : fdopen(open_file(name, O_RDONLY), "r");

	if (!f)
		die(EXIT_FAILED, "out of memory");
	return f;
}

/* "0.5%" or "0.5": millionths */
static unsigned int percent(const char *what, const char *s)
{
	char *end;
	double v;

	if (!s)
		return 0;
	v = strtod(s, &end);
	if (end == s || (*end && strcmp(end, "%")) || !(v >= 0 && v <= 100))
		die(EXIT_USAGE, "--%s %s: give 0 .. 100, in percent", what, s);
	return (unsigned int)(v * 10000 + 0.5);
}

/* A time of at most 10 s in units of 1/@per_ns ns */
static unsigned long long parse_time(const char *what, const char *s, double per_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e3 }, { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	unsigned int i;
	char *end;
	double v;

	if (!s)
		return 0;
	v = strtod(s, &end);
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != s && !strcmp(end, units[i].unit) && v >= 0 && v * units[i].ns <= 1e10)
			return (unsigned long long)(v * units[i].ns * per_ns + 0.5);
	die(EXIT_USAGE, "--%s %s: give a time like 500ns, 2.5us or 1ms, at most 10s", what, s);
}

unsigned long long ctl_duration(const char *what, const char *s)
{
	return parse_time(what, s, 1);
}

unsigned long long ctl_picoseconds(const char *what, const char *s)
{
	return parse_time(what, s, 1000);
}

/* The number in a file of one line */
static unsigned long long number_in(const char *name)
{
	unsigned long long v = 0;
	FILE *f = ctl_fault_read(name);

	if (fscanf(f, "%llu", &v) != 1)
		v = 0;
	fclose(f);
	return v;
}

/* True if a filter without faults waits for its sender: which one */
static int one_waits(char *from, char *to, size_t len)
{
	FILE *f = ctl_fault_read("links");
	char line[LINE], *word, *next;
	int waits = 0;

	while (!waits && fgets(line, sizeof(line), f)) {
		for (word = strtok_r(line, " \n", &next); word; word = strtok_r(NULL, " \n", &next)) {
			if (!strncmp(word, "from=", 5))
				snprintf(from, len, "%s", word + 5);
			else if (!strncmp(word, "to=", 3))
				snprintf(to, len, "%s", word + 3);
			waits |= !strcmp(word, "waits=1");
		}
	}
	fclose(f);
	return waits;
}

static unsigned long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
}

/* They stay until the senders have noticed, which takes a time-out. */
const char *ctl_fault_settle(const char *report)
{
	char from[16] = "", to[16] = "";
	unsigned long long end;

	if (!one_waits(from, to, sizeof(from)))
		return report;
	for (end = now_ms() + 2 * number_in("timeout_ms") + 500; now_ms() < end;) {
		usleep(20000);
		ctl_fault_write("links", "sweep");
		if (!one_waits(from, to, sizeof(from)))
			return report;
	}
	fprintf(stderr, "rmcctl: the link from node %s to node %s keeps a filter, without faults: node %s has not noticed yet that packets of its ordered queue pairs were lost. A later rmcctl fault clear removes it\n",
		from, to, from);
	return "waits";
}

/* An option was given, and is not 0 */
static int nonzero(const char *s)
{
	return s && strtod(s, NULL) != 0;
}

static int fault_set(int argc, char **argv, int clear)
{
	const char *from = "any", *to = "any", *lane = "both", *loss = NULL, *dup = NULL;
	const char *reorder = NULL, *shuffle = NULL, *delay = NULL, *jitter = NULL, *gap = NULL;
	const char *usage = clear ? "rmcctl fault clear [options]" : "rmcctl fault set [options]";
	int down = 0, seed = 0, off;
	char line[LINE];
	const struct opt opts[] = {
		{ 'f', "from", OPT_STRING, &from, 0, 0, "NID", "node that sends (default any)" },
		{ 't', "to", OPT_STRING, &to, 0, 0, "NID", "local node that receives (default any)" },
		{ 0, "lane", OPT_STRING, &lane, 0, 0, "LANE", "requests, replies or both (default)" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable result" },
		{ 0, "loss", OPT_STRING, &loss, 0, 0, "PERCENT", "packets that are lost" },
		{ 0, "dup", OPT_STRING, &dup, 0, 0, "PERCENT", "replies that are duplicated" },
		{ 0, "reorder", OPT_STRING, &reorder, 0, 0, "PERCENT",
			"packets that others overtake, for --gap" },
		{ 0, "shuffle", OPT_STRING, &shuffle, 0, 0, "PERCENT",
			"runs of packets of one operation that are shuffled" },
		{ 0, "delay", OPT_STRING, &delay, 0, 0, "TIME", "all come later by this" },
		{ 0, "jitter", OPT_STRING, &jitter, 0, 0, "TIME", "and by up to this" },
		{ 0, "gap", OPT_STRING, &gap, 0, 0, "TIME", "see --reorder; also of copies (default 10us)" },
		{ 0, "down", OPT_FLAG, &down, 0, 0, NULL, "the link is cut" },
		{ 0, "seed", OPT_INT, &seed, 0, 1 << 30, "N", "of the random numbers" },
		{ 0 },
	};
	/* clear has the first four options only */
	struct opt few[5] = { opts[0], opts[1], opts[2], opts[3], { 0 } };

	if (opt_parse(argc, argv, clear ? few : opts, usage) != argc)
		die(EXIT_USAGE, "usage: %s", usage);
	snprintf(line, sizeof(line),
		 "from=%s to=%s lane=%s loss=%u dup=%u reorder=%u shuffle=%u down=%d delay_ns=%llu jitter_ns=%llu gap_ns=%llu seed=%d",
		 from, to, lane, percent("loss", loss), percent("dup", dup),
		 percent("reorder", reorder), percent("shuffle", shuffle), down,
		 ctl_duration("delay", delay), ctl_duration("jitter", jitter),
		 reorder || gap ? ctl_duration("gap", gap ? gap : "10us") : 0, seed);
	ctl_fault_write("links", line);
	off = !down && !nonzero(loss) && !nonzero(dup) && !nonzero(reorder) && !nonzero(shuffle) &&
	      !nonzero(delay) && !nonzero(jitter);
	ctl_report("fault", clear ? "clear" : "set", off ? ctl_fault_settle("done") : "done");
	return EXIT_OK;
}

void ctl_fault_print(struct json *j, const char *name, FILE *f)
{
	char line[LINE], *word, *value, *next, *end;

	if (j)
		json_array(j, name);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!j) {
			printf("%s\n", line);
			continue;
		}
		json_object(j, NULL);
		for (word = strtok_r(line, " ", &next); word; word = strtok_r(NULL, " ", &next)) {
			unsigned long long v;

			value = strchr(word, '=');
			if (!value)
				continue;
			*value++ = '\0';
			v = strtoull(value, &end, 10);
			if (*value && !*end)
				json_uint(j, word, v);
			else
				json_string(j, word, value);
		}
		json_end_object(j);
	}
	if (j)
		json_end_array(j);
	fclose(f);
}

int ctl_fault_show(const char *name)
{
	FILE *f = ctl_fault_read(name);
	struct json json, *j;

	json_init(&json, stdout);
	j = ctl_json ? &json : NULL;
	if (j)
		json_object(j, NULL);
	ctl_fault_print(j, name, f);
	if (j)
		json_end_object(j);
	return EXIT_OK;
}

static int fault_list(int argc, char **argv)
{
	const char *usage = "rmcctl fault list [--json]";
	const struct opt opts[] = {
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable" },
		{ 0 },
	};
	struct json json, *j;
	FILE *links, *nodes;

	if (opt_parse(argc, argv, opts, usage) != argc)
		die(EXIT_USAGE, "usage: %s", usage);
	/* read first: print no partial object when the driver fails */
	links = ctl_fault_read("links");
	nodes = ctl_fault_read("nodes");
	json_init(&json, stdout);
	j = ctl_json ? &json : NULL;
	if (j)
		json_object(j, NULL);
	ctl_fault_print(j, "links", links);
	ctl_fault_print(j, "nodes", nodes);
	if (j)
		json_end_object(j);
	return EXIT_OK;
}

static int fault_node(int argc, char **argv)
{
	const char *usage = "rmcctl fault node [--slow TIME] [--stop | --go] NID", *slow = NULL;
	int stop = 0, go = 0, i, n;
	char line[LINE];
	const struct opt opts[] = {
		{ 0, "slow", OPT_STRING, &slow, 0, 0, "TIME", "each request takes this long; 0: as ever" },
		{ 0, "stop", OPT_FLAG, &stop, 0, 0, NULL, "nothing of the node runs" },
		{ 0, "go", OPT_FLAG, &go, 0, 0, NULL, "the node runs again" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable result" },
		{ 0 },
	};

	i = opt_parse(argc, argv, opts, usage);
	if (i != argc - 1 || (stop && go) || (!slow && !stop && !go))
		die(EXIT_USAGE, "usage: %s", usage);
	n = snprintf(line, sizeof(line), "node=%.16s", argv[i]);
	if (slow)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " slow_ns=%llu",
			      ctl_duration("slow", slow));
	if (stop || go)
		snprintf(line + n, sizeof(line) - (size_t)n, " stop=%d", stop);
	ctl_fault_write("nodes", line);
	ctl_report("node", argv[i], go || (slow && !nonzero(slow)) ? ctl_fault_settle("set") : "set");
	return EXIT_OK;
}

static int fault_timeout(int argc, char **argv)
{
	const char *usage = "rmcctl fault timeout [--retries N] MS";
	char line[LINE];
	int retries = -1, i;
	const struct opt opts[] = {
		{ 0, "retries", OPT_INT, &retries, 0, 255, "N",
			"times that a lost read or write is retried" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable result" },
		{ 0 },
	};

	i = opt_parse(argc, argv, opts, usage);
	if (i != argc - 1)
		die(EXIT_USAGE, "usage: %s", usage);
	ctl_fault_write("timeout_ms", argv[i]);
	if (retries >= 0) {
		snprintf(line, sizeof(line), "%d", retries);
		ctl_fault_write("retries", line);
	}
	ctl_report("timeout_ms", argv[i], "set");
	return EXIT_OK;
}

int cmd_fault(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "set") || !strcmp(what, "clear"))
		return fault_set(argc - 1, argv + 1, *what == 'c');
	if (!strcmp(what, "list"))
		return fault_list(argc - 1, argv + 1);
	if (!strcmp(what, "node"))
		return fault_node(argc - 1, argv + 1);
	if (!strcmp(what, "timeout"))
		return fault_timeout(argc - 1, argv + 1);
	if (!strcmp(what, "--help") || !strcmp(what, "-h")) {
		printf("usage: rmcctl fault set | clear | list | node | timeout [options]\n");
		return EXIT_OK;
	}
	die(EXIT_USAGE, "usage: rmcctl fault set | clear | list | node | timeout [options]");
}

int cmd_model(int argc, char **argv)
{
	const char *usage = "rmcctl model [show | off | crossbar | torus2d | torus3d | racks] [options]";
	const char *what = argc > 1 && argv[1][0] != '-' ? argv[1] : "show";
	const char *dims = "1", *hop = NULL, *base = NULL, *local = NULL, *rack = NULL;
	int mbps = 0, rack_mbps = 0, one_way = 0, skip = what == argv[1];
	struct json json, *j;
	char line[LINE];
	FILE *f;
	const struct opt opts[] = {
		{ 0, "dims", OPT_STRING, &dims, 0, 0, "XxYxZ", "nodes per dimension of a torus; of a rack" },
		{ 0, "hop", OPT_STRING, &hop, 0, 0, "TIME", "one hop, one way" },
		{ 0, "base", OPT_STRING, &base, 0, 0, "TIME", "added to each round trip" },
		{ 0, "local", OPT_STRING, &local, 0, 0, "TIME", "subtracted from it" },
		{ 0, "mbps", OPT_INT, &mbps, 0, INT32_MAX, "N",
			"megabits per second of a link; 0: unlimited" },
		{ 0, "rack", OPT_STRING, &rack, 0, 0, "TIME", "between two racks, one way" },
		{ 0, "rack-mbps", OPT_INT, &rack_mbps, 0, INT32_MAX, "N",
			"megabits per second of a rack's link to others; 0: unlimited" },
		{ 0, "one-way", OPT_FLAG, &one_way, 0, 0, NULL,
			"each way for itself, and the servers' ports; all nodes in one kernel" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable" },
		{ 0 },
	};

	if (opt_parse(argc - skip, argv + skip, opts, usage) != argc - skip)
		die(EXIT_USAGE, "usage: %s", usage);
	if (strcmp(what, "show")) {
		snprintf(line, sizeof(line),
			 "topology=%.16s dims=%.32s hop_ns=%llu base_ns=%llu local_ns=%llu mbps=%d rack_ns=%llu rack_mbps=%d%s",
			 strcmp(what, "off") ? what : "none", dims, ctl_duration("hop", hop),
			 ctl_duration("base", base), ctl_duration("local", local), mbps,
			 ctl_duration("rack", rack), rack_mbps, one_way ? " one_way=1" : "");
		ctl_fault_write("model", line);
		ctl_report("model", what, strcmp(what, "off") ? "set" : ctl_fault_settle("set"));
		return EXIT_OK;
	}
	f = ctl_fault_read("model");
	json_init(&json, stdout);
	j = ctl_json ? &json : NULL;
	if (j)
		json_object(j, NULL);
	ctl_fault_print(j, "model", f);
	if (j)
		json_end_object(j);
	return EXIT_OK;
}
