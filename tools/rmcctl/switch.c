/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* rmcctl switch: the model of a programmable switch before a storage node. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "fault.h"

static const char *const usage =
	"rmcctl switch [show | set | off | promote | demote | crash | recover | unlatch] [options]";

/* The numbers of the options; -1: not given */
struct values {
	int context, bytes, stride, count, words, hot, registers, of, force;
	const char *begin;
};

/* Which words each action takes, and which of them it needs */
static const struct {
	const char *name;
	int range;	/* --context and --begin; 2: and --count */
	int size;	/* --bytes and --count, or --words */
	int of;
} actions[] = {
	{ "set", 1, 1, 0 },
	{ "off", 0, 0, 0 },
	{ "promote", 2, 0, 0 },
	{ "demote", 2, 0, 0 },
	{ "crash", 0, 0, 0 },
	{ "recover", 0, 0, 0 },
	{ "unlatch", 0, 0, 1 },
};

#define NR_ACTIONS	(sizeof(actions) / sizeof(actions[0]))

static void add(char *line, size_t size, const char *name, int value)
{
	size_t n = strlen(line);

	if (value >= 0)
		snprintf(line + n, size - n, " %s=%d", name, value);
}

static void require(int condition, const char *what, const char *action)
{
	if (!condition)
		die(EXIT_USAGE, "rmcctl switch %s needs %s", action, what);
}

static const struct {
	int err;
	const char *text;
} reasons[] = {
	{ EXDEV, "that node is not on this machine: rmcctl status shows which nodes are here" },
	{ ENXIO, "there is no such node in this fabric" },
	{ ENODEV, "there is no switch before this node, or it has no such tuples: see rmcctl switch show" },
	{ EBUSY, "a tuple is latched or being read, the switch has crashed, or the node with the latches is alive (unlatch --force takes them all the same): see rmcctl switch show" },
	{ EEXIST, "the range overlaps another one: see rmcctl switch show" },
	{ ENOBUFS, "no range or no register of the switch is left: see rmcctl switch show" },
	{ EMSGSIZE, "a tuple has to fit into one packet: rmcctl status shows the mtu" },
	{ EFAULT, "the tuples are not in a segment that peers may write: register it first" },
	{ EINVAL, "tuples have a word and more, begin with a line of 64 bytes and do not overlap; with several RRPPs --stride and --begin fit the interleaving" },
	{ ERANGE, "too many tuples, words or registers, or beyond the largest segment" },
	{ EOVERFLOW, "no epoch is left: take the switch away with rmcctl switch off, and set it up anew" },
	{ ENOMEM, "out of memory" },
};

static void apply(const char *line)
{
	int err = ctl_fault_try("switch", line);
	unsigned int i;

	for (i = 0; err && i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (err == reasons[i].err)
			die(EXIT_FAILED, "%s", reasons[i].text);
	if (err)
		die(EXIT_FAILED, "the driver refuses '%s': %s", line, strerror(err));
}

static void run(unsigned int i, const char *to, const struct values *v)
{
	const char *action = actions[i].name;
	char line[256];

	require(!!to, "--to", action);
	if (actions[i].range)
		require(v->context >= 0, "--context", action);
	if (actions[i].size)
		require(v->words > 0 || (v->bytes > 0 && v->count > 0),
			"--bytes and --count, or --words", action);
	if (actions[i].range > 1)
		require(v->count > 0, "--count", action);
	if (actions[i].of)
		require(v->of >= 0, "--of", action);
	snprintf(line, sizeof(line), "node=%.16s do=%s begin=%.24s", to, action, v->begin);
	add(line, sizeof(line), "context", v->context);
	add(line, sizeof(line), "bytes", v->bytes);
	add(line, sizeof(line), "stride", v->stride);
	add(line, sizeof(line), "count", v->count);
	add(line, sizeof(line), "words", v->words);
	add(line, sizeof(line), "hot", v->hot);
	add(line, sizeof(line), "registers", v->registers);
	add(line, sizeof(line), "of", v->of);
	if (v->force)
		add(line, sizeof(line), "force", 1);
	apply(line);
	ctl_report("switch", action, strcmp(action, "off") ? "done" : ctl_fault_settle("done"));
}

int cmd_switch(int argc, char **argv)
{
	const char *what = argc > 1 && argv[1][0] != '-' ? argv[1] : "show", *to = NULL;
	struct values v = {
		.context = -1, .bytes = -1, .stride = -1, .count = -1, .words = -1, .hot = -1,
		.registers = -1, .of = -1, .begin = "0",
	};
	int skip = what == argv[1];
	unsigned int i;
	const struct opt opts[] = {
		{ 't', "to", OPT_STRING, &to, 0, 0, "NID", "local node that the switch is before" },
		{ 0, "context", OPT_INT, &v.context, 0, 255, "ID", "of the segment that has the tuples" },
		{ 0, "begin", OPT_STRING, &v.begin, 0, 0, "OFFSET", "of the first one (default 0)" },
		{ 0, "bytes", OPT_INT, &v.bytes, 1, INT32_MAX, "N", "of a tuple, one packet at most" },
		{ 0, "stride", OPT_INT, &v.stride, 1, INT32_MAX, "N", "from one to the next (default: --bytes)" },
		{ 0, "count", OPT_INT, &v.count, 1, INT32_MAX, "N", "tuples" },
		{ 0, "words", OPT_INT, &v.words, 1, INT32_MAX, "N",
			"8-byte words in place of tuples: atomics in the switch" },
		{ 0, "hot", OPT_INT, &v.hot, 0, INT32_MAX, "N",
			"of these, how many get a register (default all)" },
		{ 0, "registers", OPT_INT, &v.registers, 1, INT32_MAX, "N",
			"of the switch, which the first set makes" },
		{ 0, "of", OPT_INT, &v.of, 0, INT32_MAX, "NID", "node that has latched tuples: all of them if it is dead, those of before if it came back" },
		{ 0, "force", OPT_FLAG, &v.force, 0, 0, NULL,
			"with unlatch: all of them, although the node is alive" },
		{ 0, "json", OPT_FLAG, &ctl_json, 0, 0, NULL, "machine-readable" },
		{ 0 },
	};

	if (opt_parse(argc - skip, argv + skip, opts, usage) != argc - skip)
		die(EXIT_USAGE, "usage: %s", usage);
	if (!strcmp(what, "show"))
		return ctl_fault_show("switch");
	for (i = 0; i < NR_ACTIONS && strcmp(what, actions[i].name); i++)
		;
	if (i == NR_ACTIONS)
		die(EXIT_USAGE, "usage: %s", usage);
	run(i, to, &v);
	return EXIT_OK;
}
