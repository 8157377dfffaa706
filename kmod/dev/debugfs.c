// SPDX-License-Identifier: GPL-2.0
/*
 * Configuration of faults, of the link model and of adapters: in debugfs, which rmcctl writes,
 * and by module parameters. link.c applies it; fabric/fault.c, fabric/model.c and fabric/rnic.c
 * implement it. The format may change at any time; rmcctl is the interface.
 *
 *   rmc/links       from=1 to=0 lane=both loss=10000 delay_ns=5000 seed=7
 *                   from=any to=0 clear
 *                   sweep              change nothing, but remove filters that are not needed
 *   rmc/nodes       node=0 slow_ns=1000 stop=1
 *   rmc/rnic        node=0 lines=any gap_ns=50 cas_ns=431 seed=7
 *                   node=any
 *   rmc/model       topology=torus3d dims=8x8x4 hop_ns=35 base_ns=120 mbps=80000 one_way=0
 *                   topology=racks dims=16 hop_ns=50 mbps=80000 rack_ns=2000 rack_mbps=100000
 *   rmc/switch      node=0 do=set context=3 begin=0 bytes=128 stride=128 count=1000 hot=1000
 *                   node=0 do=set context=3 begin=131072 words=64
 *                   node=0 do=unlatch of=2 force=1
 *                   node=0 do=off|promote|demote|crash|recover ...
 *   rmc/timeout_ms  rmc/retries
 *
 * A link is configured where its packets arrive: @to must be a node of this kernel.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include "dev.h"
#include "link.h"
#include "switch.h"

/* Longest accepted line, bytes */
#define LINE_MAX	256
/* Filters that one line may create; each takes some 100 KB with default rings */
#define FILTERS_MAX	1024

static char *topology;
module_param(topology, charp, 0444);
MODULE_PARM_DESC(topology, "link model: none, crossbar, torus2d, torus3d or racks (default none)");

static char *dims;
module_param(dims, charp, 0444);
MODULE_PARM_DESC(dims, "link model: nodes per dimension of a torus, like 8x8x4; of a rack");

static unsigned int hop_ns;
module_param(hop_ns, uint, 0444);
MODULE_PARM_DESC(hop_ns, "link model: nanoseconds per hop, one way");

static unsigned int base_ns;
module_param(base_ns, uint, 0444);
MODULE_PARM_DESC(base_ns, "link model: nanoseconds added to each round trip");

static unsigned int local_ns;
module_param(local_ns, uint, 0444);
MODULE_PARM_DESC(local_ns, "link model: nanoseconds that posting and seeing a completion take, subtracted");

static unsigned int link_mbps;
module_param(link_mbps, uint, 0444);
MODULE_PARM_DESC(link_mbps, "link model: megabits per second of a link in each direction (default 0: unlimited)");

static unsigned int rack_ns;
module_param(rack_ns, uint, 0444);
MODULE_PARM_DESC(rack_ns, "link model: nanoseconds between two racks, one way");

static unsigned int rack_mbps;
module_param(rack_mbps, uint, 0444);
MODULE_PARM_DESC(rack_mbps, "link model: megabits per second of a rack's link to others, each way (default 0: unlimited)");

static bool one_way;
module_param(one_way, bool, 0444);
MODULE_PARM_DESC(one_way, "link model: each way for itself, and the servers' ports, where all nodes are in this kernel (default 0)");

static unsigned int retries;
module_param(retries, uint, 0444);
MODULE_PARM_DESC(retries, "times that a read or write whose packets were lost begins again (default 0)");

static const char *const topology_names[] = {
	[RMC_TOPOLOGY_NONE] = "none",
	[RMC_TOPOLOGY_CROSSBAR] = "crossbar",
	[RMC_TOPOLOGY_TORUS2D] = "torus2d",
	[RMC_TOPOLOGY_TORUS3D] = "torus3d",
	[RMC_TOPOLOGY_RACKS] = "racks",
};

static const char *const lane_names[] = {
	[RMC_LANE_REQ] = "requests",
	[RMC_LANE_REP] = "replies",
};

/* ---- lines of words ---- */

static int find_name(const char *const *names, u32 count, const char *name)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return i;
	return -EINVAL;
}

static int parse_dims(u32 *dim, char *s)
{
	u32 i;
	int err;

	for (i = 0; i < RMC_DIMENSIONS; i++)
		dim[i] = 1;
	for (i = 0; s; i++) {
		char *word = strsep(&s, "x");

		if (i == RMC_DIMENSIONS)
			return -EINVAL;
		err = kstrtou32(word, 0, &dim[i]);
		if (err)
			return err;
	}
	return 0;
}

/**
 * struct word - a word of a line, and where to store its value
 * @name: what is before "="
 * @flag: it has no value, and is there
 * @u32: it is a number of at most @most; or
 * @u64: the same; or
 * @parse: it is something else
 * @to: for @parse
 * @most: for @parse, too
 */
struct word {
	const char *name;
	bool *flag;
	u32 *u32;
	u64 *u64;
	int (*parse)(const struct word *w, char *value);
	void *to;
	u64 most;
};

static int parse_number(const struct word *w, const char *value)
{
	u64 v;
	int err = kstrtou64(value, 0, &v);

	if (err)
		return err;
	if (v > w->most)
		return -ERANGE;
	if (w->u32)
		*w->u32 = v;
	else
		*w->u64 = v;
	return 0;
}

/* The words of a line, in any order, between white space. The last one of @words has no name. */
static int parse_line(const struct word *words, char *line)
{
	const struct word *w;
	char *value;
	int err;

	while ((value = strsep(&line, " \t\n"))) {
		const char *name = strsep(&value, "=");

		if (!*name)
			continue;
		for (w = words; w->name && strcmp(w->name, name); w++)
			;
		if (w->flag) {
			*w->flag = true;
			continue;
		}
		if (!value)
			return -EINVAL;
		if (!w->name)
			return -ENOENT;
		err = w->parse ? w->parse(w, value) : parse_number(w, value);
		if (err)
			return err;
	}
	return 0;
}

/* A node, less than @most; "any" is -1. */
static int parse_nid(const struct word *w, char *value)
{
	s32 *nid = w->to;
	u32 v;
	int err;

	*nid = -1;
	if (!strcmp(value, "any"))
		return 0;
	err = kstrtou32(value, 0, &v);
	if (!err && v >= w->most)
		err = -ENXIO;
	*nid = v;
	return err;
}

/* A bit per lane */
static int parse_lanes(const struct word *w, char *value)
{
	u32 *lanes = w->to;
	int lane;

	*lanes = (1 << RMC_LANES) - 1;
	if (!strcmp(value, "both"))
		return 0;
	lane = find_name(lane_names, RMC_LANES, value);
	if (lane < 0)
		return lane;
	*lanes = 1 << lane;
	return 0;
}

static int parse_lines(const struct word *w, char *value)
{
	u32 *any = w->to;

	*any = !strcmp(value, "any");
	return *any || !strcmp(value, "ordered") ? 0 : -EINVAL;
}

static int parse_topology(const struct word *w, char *value)
{
	int i = find_name(topology_names, ARRAY_SIZE(topology_names), value);
	u32 *topology = w->to;

	if (i < 0)
		return i;
	*topology = i;
	return 0;
}

static int parse_word_dims(const struct word *w, char *value)
{
	return parse_dims(w->to, value);
}

static int write_links(struct rmc_device *rmc, char *line)
{
	const struct rmc_fabric *f = &rmc->port->fabric;
	u32 i, made = 0, down = 0, lanes = 3;
	s32 from = -1, to = -1;
	struct rmc_fault fault = { };
	enum rmc_lane lane;
	u64 seed = 0;
	bool clear, sweep = false;
	int err;
	const struct word words[] = {
		{ .name = "from", .parse = parse_nid, .to = &from, .most = f->nodes },
		{ .name = "to", .parse = parse_nid, .to = &to, .most = f->nodes },
		{ .name = "lane", .parse = parse_lanes, .to = &lanes },
		{ .name = "clear", .flag = &clear },
		{ .name = "sweep", .flag = &sweep },
		{ .name = "loss", .u32 = &fault.loss, .most = RMC_ALWAYS },
		{ .name = "dup", .u32 = &fault.dup, .most = RMC_ALWAYS },
		{ .name = "reorder", .u32 = &fault.reorder, .most = RMC_ALWAYS },
		{ .name = "shuffle", .u32 = &fault.shuffle, .most = RMC_ALWAYS },
		{ .name = "down", .u32 = &down, .most = 1 },
		{ .name = "delay_ns", .u64 = &fault.delay_ns, .most = RMC_HOLD_NS_MAX },
		{ .name = "jitter_ns", .u64 = &fault.jitter_ns, .most = RMC_HOLD_NS_MAX },
		{ .name = "gap_ns", .u64 = &fault.gap_ns, .most = RMC_HOLD_NS_MAX },
		{ .name = "seed", .u64 = &seed, .most = U64_MAX },
		{ }
	};

	/* "clear" is what a line without faults does anyway */
	err = parse_line(words, line);
	if (err)
		return err;
	fault.down = down;
	if (to >= 0 && !rmc_device_node(rmc, to))
		return -EXDEV;
	if (sweep) {
		rmc_link_sweep(rmc);
		return 0;
	}
	WRITE_ONCE(rmc_filters, true);
	for (i = 0; i < rmc_link_count(rmc) && !err; i++) {
		struct rmc_node *node = rmc_link_unit(rmc, i);
		u32 peer = i % f->endpoints;

		if ((to >= 0 && node->nid != to) ||
		    (from >= 0 && rmc_endpoint_nid(f, peer) != from))
			continue;
		for (lane = 0; lane < RMC_LANES && !err; lane++) {
			if (!(lanes & 1 << lane))
				continue;
			/* no faults: only existing filters have to change */
			if (!READ_ONCE(node->links.filter[lane][peer]) &&
			    !memchr_inv(&fault, 0, sizeof(fault)))
				continue;
			err = ++made > FILTERS_MAX ? -E2BIG :
			      rmc_link_set(node, peer, lane, &fault, seed ? seed + i : 0);
		}
	}
	rmc_link_sweep(rmc);
	return err;
}

static int write_nodes(struct rmc_device *rmc, char *line)
{
	struct rmc_node *node;
	s32 nid = -1;
	u32 slow_ns = ~0U, stop = ~0U, u;
	enum rmc_lane lane;
	int err;
	const struct word words[] = {
		{ .name = "node", .parse = parse_nid, .to = &nid, .most = rmc->port->fabric.nodes },
		{ .name = "slow_ns", .u32 = &slow_ns, .most = RMC_MODEL_NS_MAX },
		{ .name = "stop", .u32 = &stop, .most = 1 },
		{ }
	};

	err = parse_line(words, line);
	if (err)
		return err;
	if (nid < 0)
		return -EINVAL;
	node = rmc_device_node(rmc, nid);
	if (!node)
		return -EXDEV;
	WRITE_ONCE(rmc_filters, true);
	for (u = 0; u < rmc_fabric_units(node->fabric); u++) {
		for (lane = 0; stop != ~0U && lane < RMC_LANES; lane++)
			rmc_link_stop(node->unit[u], lane, stop);
		if (slow_ns != ~0U)
			err = rmc_link_slow(node->unit[u], slow_ns) ?: err;
	}
	rmc_link_sweep(rmc);
	return err;
}

static int write_rnic(struct rmc_device *rmc, char *line)
{
	const struct rmc_fabric *f = &rmc->port->fabric;
	struct rmc_rnic r = { };
	s32 nid = -1;
	u64 seed = 0;
	int err;
	u32 i, u;
	const struct word words[] = {
		{ .name = "node", .parse = parse_nid, .to = &nid, .most = f->nodes },
		{ .name = "lines", .parse = parse_lines, .to = &r.any_lines },
#define RNIC_NUMBER(field) { .name = #field, .u32 = &r.field, .most = U32_MAX },
		RMC_RNIC_NUMBERS(RNIC_NUMBER)
#undef RNIC_NUMBER
		{ .name = "seed", .u64 = &seed, .most = U64_MAX },
		{ }
	};

	err = parse_line(words, line);
	if (err)
		return err;
	err = rmc_rnic_check(&r, f->mtu);
	if (err)
		return err;
	if (nid >= 0 && !rmc_device_node(rmc, nid))
		return -EXDEV;
	WRITE_ONCE(rmc_filters, true);
	for (i = 0; i < rmc->port->locals; i++)
		for (u = 0; u < rmc_fabric_units(f) && (nid < 0 || rmc->node[i]->nid == nid); u++)
			err = rmc_link_rnic(rmc->node[i]->unit[u], &r, seed ? seed + u : 0) ?: err;
	rmc_link_sweep(rmc);
	return err;
}

static int write_model(struct rmc_device *rmc, char *line)
{
	struct rmc_model m = { };
	u32 each_way = 0;
	int err;
	const struct word words[] = {
		{ .name = "topology", .parse = parse_topology, .to = &m.topology },
		{ .name = "dims", .parse = parse_word_dims, .to = m.dim },
		{ .name = "hop_ns", .u32 = &m.hop_ns, .most = RMC_MODEL_NS_MAX },
		{ .name = "base_ns", .u32 = &m.base_ns, .most = RMC_MODEL_NS_MAX },
		{ .name = "local_ns", .u32 = &m.local_ns, .most = RMC_MODEL_NS_MAX },
		{ .name = "mbps", .u32 = &m.mbps, .most = U32_MAX },
		{ .name = "rack_ns", .u32 = &m.rack_ns, .most = RMC_MODEL_NS_MAX },
		{ .name = "rack_mbps", .u32 = &m.rack_mbps, .most = U32_MAX },
		{ .name = "one_way", .u32 = &each_way, .most = 1 },
		{ }
	};

	err = parse_line(words, line);
	if (err)
		return err;
	m.one_way = each_way;
	return rmc_link_model(rmc, &m);
}

static const char *const switch_names[] = {
	[RMC_SWITCH_SET] = "set",
	[RMC_SWITCH_OFF] = "off",
	[RMC_SWITCH_PROMOTE] = "promote",
	[RMC_SWITCH_DEMOTE] = "demote",
	[RMC_SWITCH_CRASH] = "crash",
	[RMC_SWITCH_RECOVER] = "recover",
	[RMC_SWITCH_UNLATCH] = "unlatch",
};

static int parse_action(const struct word *w, char *value)
{
	int *action = w->to;

	*action = find_name(switch_names, ARRAY_SIZE(switch_names), value);
	return min(*action, 0);
}

/* The words of a line: the command, and the node whose units get it */
static int parse_switch(const struct rmc_fabric *f, char *line, struct rmc_switch_command *c,
			s32 *nid)
{
	struct rmc_switch_range *r = &c->range;
	u32 ctx_id = RMC_MAX_CONTEXTS, words = 0;
	s32 dead = -1;
	int err, action = -EINVAL;
	const struct word known[] = {
		{ .name = "node", .parse = parse_nid, .to = nid, .most = f->nodes },
		{ .name = "of", .parse = parse_nid, .to = &dead, .most = f->nodes },
		{ .name = "do", .parse = parse_action, .to = &action },
		{ .name = "context", .u32 = &ctx_id, .most = RMC_MAX_CONTEXTS - 1 },
		{ .name = "begin", .u64 = &r->begin, .most = RMC_OFFSET_MAX },
		{ .name = "bytes", .u32 = &r->bytes, .most = RMC_MTU_MAX },
		{ .name = "stride", .u32 = &r->stride, .most = U32_MAX },
		{ .name = "count", .u32 = &r->count, .most = RMC_SWITCH_TUPLES },
		{ .name = "words", .u32 = &words, .most = RMC_SWITCH_TUPLES },
		{ .name = "hot", .u32 = &c->hot, .most = RMC_SWITCH_TUPLES },
		{ .name = "registers", .u32 = &c->registers, .most = RMC_SWITCH_REGISTERS },
		{ .name = "force", .u32 = &c->force, .most = 1 },
		{ }
	};

	*nid = -1;
	c->hot = U32_MAX;
	c->registers = RMC_SWITCH_REGISTERS / 4;
	err = parse_line(known, line);
	if (err)
		return err;
	if (action < 0 || *nid < 0 || !c->registers || (action == RMC_SWITCH_UNLATCH && dead < 0))
		return -EINVAL;
	if (words) {
		r->words = true;
		r->count = words;
		r->bytes = 8;
		r->stride = 8;
	}
	c->action = action;
	c->nid = dead;
	r->ctx_id = ctx_id;
	r->stride = r->stride ?: r->bytes;
	if (c->hot == U32_MAX)
		c->hot = r->count;
	return 0;
}

static int write_switch(struct rmc_device *rmc, char *line)
{
	const struct rmc_fabric *f = &rmc->port->fabric;
	struct rmc_switch_command c = { };
	struct rmc_node *node;
	s32 nid;
	u32 u;
	int err = parse_switch(f, line, &c, &nid);

	if (err)
		return err;
	node = rmc_device_node(rmc, nid);
	if (!node)
		return -EXDEV;
	WRITE_ONCE(rmc_filters, true);
	for (u = 0; u < rmc_fabric_rrpps(f) && !err; u++)
		err = rmc_dev_switch(node->unit[u], &c);
	/* the last one has failed */
	for (u--; err && c.action == RMC_SWITCH_SET && u--;)
		rmc_dev_switch_undo(node->unit[u], &c);
	rmc_link_sweep(rmc);
	return err;
}

/* ---- what is set ---- */

static void show_links(struct rmc_device *rmc, struct seq_file *m)
{
	const struct rmc_fabric *fabric = &rmc->port->fabric;
	enum rmc_lane lane;
	u32 i;

	for (i = 0; i < rmc_link_count(rmc); i++) {
		struct rmc_node *node = rmc_link_unit(rmc, i);
		u32 peer = i % fabric->endpoints;

		for (lane = 0; lane < RMC_LANES; lane++) {
			/* workers may add filters; only we, under the lock, remove them */
			const struct rmc_filter *flt = READ_ONCE(node->links.filter[lane][peer]);
			const struct rmc_fault *f;
			u32 lost;

			if (!flt)
				continue;
			f = &flt->fault;
			lost = READ_ONCE(flt->order.broken);
			seq_printf(m, "from=%u to=%u lane=%s loss=%u dup=%u reorder=%u shuffle=%u down=%u delay_ns=%llu jitter_ns=%llu gap_ns=%llu rtt_ns=%llu",
				   rmc_endpoint_nid(fabric, peer), node->nid, lane_names[lane],
				   f->loss, f->dup, f->reorder, f->shuffle, f->down, f->delay_ns,
				   f->jitter_ns, f->gap_ns, READ_ONCE(flt->rtt_ns));
#define SHOW(name) seq_printf(m, " " #name "=%llu", READ_ONCE(flt->stats.name));
			RMC_FILTER_STATS(SHOW)
#undef SHOW
			seq_printf(m, " lost_groups=%u waits=%u\n", (u32)hweight64((u64)lost),
				   lost && rmc_filter_idle(&node->links, flt));
		}
	}
}

static void show_nodes(struct rmc_device *rmc, struct seq_file *m)
{
	u32 i;

	for (i = 0; i < rmc->port->locals; i++)
		seq_printf(m, "node=%u slow_ns=%u stop=%u\n", rmc->node[i]->nid,
			   rmc->node[i]->links.slow_ns, rmc->node[i]->req_stopped);
}

static void show_rnic(struct rmc_device *rmc, struct seq_file *m)
{
	u32 units = rmc_fabric_units(&rmc->port->fabric), i;

	for (i = 0; i < rmc->port->locals * units; i++) {
		struct rmc_node *node = rmc->node[i / units]->unit[i % units];
		const struct rmc_rnic_client *client = node->links.rnic_client;
		struct rmc_rnic r = node->links.rnic;

		/* what acts: each half is set by its worker, and only under the lock */
		r.qp_cache = client ? client->most : 0;
		r.qp_miss_ns = client ? client->miss_ns : 0;
		seq_printf(m, "node=%u lines=%s", node->nid, r.any_lines ? "any" : "ordered");
#define RNIC_NUMBER(name) seq_printf(m, " " #name "=%u", r.name);
		RMC_RNIC_NUMBERS(RNIC_NUMBER)
#undef RNIC_NUMBER
		seq_printf(m, " unit=%u\n", i % units);
	}
}

static void show_model(struct rmc_device *rmc, struct seq_file *m)
{
	const struct rmc_model *model = &rmc->port->fabric.model;

	seq_printf(m, "topology=%s dims=%ux%ux%u hop_ns=%u base_ns=%u local_ns=%u mbps=%u rack_ns=%u rack_mbps=%u one_way=%u\n",
		   topology_names[model->topology], model->dim[0], model->dim[1], model->dim[2],
		   model->hop_ns, model->base_ns, model->local_ns, model->mbps, model->rack_ns,
		   model->rack_mbps, model->one_way);
}

static void show_switch_unit(struct rmc_node *unit, u32 number, struct rmc_switch_state *state,
			     struct seq_file *m)
{
	u32 i;

	if (!rmc_dev_switch_state(unit, state))
		return;
	seq_printf(m, "node=%u unit=%u epoch=%u crashed=%u registers=%u free=%u latched=%u clients=%u",
		   unit->nid, number, state->epoch, state->crashed, state->registers, state->frees,
		   state->latched, state->clients);
#define SHOW(name) seq_printf(m, " " #name "=%llu", state->stats.name);
	RMC_SWITCH_STATS(SHOW)
#undef SHOW
	seq_putc(m, '\n');
	for (i = 0; i < RMC_SWITCH_RANGES; i++) {
		const struct rmc_switch_range *r = &state->range[i];

		if (r->count)
			seq_printf(m, "node=%u unit=%u context=%u begin=%llu stride=%u bytes=%u count=%u words=%u hot=%u\n",
				   unit->nid, number, r->ctx_id, r->begin, r->stride, r->bytes,
				   r->count, r->words, r->hot);
	}
}

static void show_switch(struct rmc_device *rmc, struct seq_file *m)
{
	struct rmc_switch_state *state = rmc_os_zalloc(sizeof(*state));
	u32 i, u;

	for (i = 0; state && i < rmc->port->locals; i++)
		for (u = 0; u < rmc_fabric_rrpps(&rmc->port->fabric); u++)
			show_switch_unit(rmc->node[i]->unit[u], u, state, m);
	rmc_os_free(state);
}

/* ---- files ---- */

struct fault_file {
	const char *name;
	struct rmc_device *rmc;
	int (*write)(struct rmc_device *rmc, char *line);
	void (*show)(struct rmc_device *rmc, struct seq_file *m);
};

static struct fault_file files[] = {
	{ "links", NULL, write_links, show_links },
	{ "nodes", NULL, write_nodes, show_nodes },
	{ "rnic", NULL, write_rnic, show_rnic },
	{ "model", NULL, write_model, show_model },
	{ "switch", NULL, write_switch, show_switch },
};

static int fault_show(struct seq_file *m, void *unused)
{
	const struct fault_file *file = m->private;

	mutex_lock(&file->rmc->fault_lock);
	file->show(file->rmc, m);
	mutex_unlock(&file->rmc->fault_lock);
	return 0;
}

static int fault_open(struct inode *inode, struct file *filp)
{
	return single_open(filp, fault_show, inode->i_private);
}

static ssize_t fault_write(struct file *filp, const char __user *data, size_t count, loff_t *pos)
{
	const struct fault_file *file = ((struct seq_file *)filp->private_data)->private;
	char line[LINE_MAX];
	int err;

	if (count >= sizeof(line))
		return -E2BIG;
	if (copy_from_user(line, data, count))
		return -EFAULT;
	line[count] = '\0';
	mutex_lock(&file->rmc->fault_lock);
	err = file->write(file->rmc, line);
	mutex_unlock(&file->rmc->fault_lock);
	return err ?: count;
}

static const struct file_operations fault_fops = {
	.owner = THIS_MODULE,
	.open = fault_open,
	.read = seq_read,
	.write = fault_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* A time-out shorter than some ticks would hit healthy operations. */
static int timeout_set(void *data, u64 value)
{
	struct rmc_device *rmc = data;

	if (value < 16 || value > INT_MAX)
		return -ERANGE;
	WRITE_ONCE(rmc->port->fabric.timeout_ms, value);
	return 0;
}

static int timeout_get(void *data, u64 *value)
{
	*value = READ_ONCE(((struct rmc_device *)data)->port->fabric.timeout_ms);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(timeout_fops, timeout_get, timeout_set, "%llu\n");

static int retries_set(void *data, u64 value)
{
	struct rmc_device *rmc = data;

	if (value > U8_MAX)
		return -ERANGE;
	WRITE_ONCE(rmc->port->fabric.retries, value);
	return 0;
}

static int retries_get(void *data, u64 *value)
{
	*value = READ_ONCE(((struct rmc_device *)data)->port->fabric.retries);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(retries_fops, retries_get, retries_set, "%llu\n");

/* Logs the errors that have no message of their own: dimensions, and too long times. */
static int log_bad_model(int err)
{
	if (err == -ENOMEM)
		pr_err("no memory for the link model\n");
	else if (err && err != -EXDEV)
		pr_err("invalid link model: give dims= like 8x8x4 that hold all nodes, and times below %u ns\n",
		       RMC_MODEL_NS_MAX);
	return err;
}

/**
 * rmc_fault_parse() - validate the parameters of the link model
 * @cfg: settled configuration; the model is filled in
 *
 * Return: 0, or a negative errno after logging the reason. Context: may sleep.
 */
int rmc_fault_parse(struct rmc_config *cfg)
{
	struct rmc_model *m = &cfg->fabric.model;
	char *copy;
	int err;

	if (!topology)
		return 0;
	*m = (struct rmc_model){
		.hop_ns = hop_ns, .base_ns = base_ns, .local_ns = local_ns, .mbps = link_mbps,
		.rack_ns = rack_ns, .rack_mbps = rack_mbps, .one_way = one_way,
	};
	err = find_name(topology_names, ARRAY_SIZE(topology_names), topology);
	if (err < 0) {
		pr_err("topology=%s is unknown: give none, crossbar, torus2d, torus3d or racks\n",
		       topology);
		return err;
	}
	m->topology = err;
	copy = kstrdup(dims ?: "1", GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	err = parse_dims(m->dim, copy);
	kfree(copy);
	/* the final number of nodes may come from the fabric; rmc_link_model() checks again */
	return log_bad_model(err ?: rmc_model_check(m, cfg->fabric.nodes));
}

/**
 * rmc_fault_init() - apply the parameters, create the debugfs files
 * @rmc: running device; rmc_fault_parse() has accepted its parameters
 *
 * Return: 0, or a negative errno after logging the reason. Context: may sleep.
 */
int rmc_fault_init(struct rmc_device *rmc)
{
	int err = 0;
	u32 i;

	mutex_init(&rmc->fault_lock);
	rmc->port->fabric.retries = min_t(unsigned int, retries, U8_MAX);
	mutex_lock(&rmc->fault_lock);
	if (topology)
		err = log_bad_model(rmc_link_model(rmc, &rmc->cfg.fabric.model));
	mutex_unlock(&rmc->fault_lock);
	if (err)
		return err;
	/* no error without debugfs: the files are then missing */
	rmc->debugfs = debugfs_create_dir(KBUILD_MODNAME, NULL);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		files[i].rmc = rmc;
		debugfs_create_file(files[i].name, 0600, rmc->debugfs, &files[i], &fault_fops);
	}
	debugfs_create_file_unsafe("timeout_ms", 0600, rmc->debugfs, rmc, &timeout_fops);
	debugfs_create_file_unsafe("retries", 0600, rmc->debugfs, rmc, &retries_fops);
	return 0;
}

/**
 * rmc_fault_exit() - mirror of rmc_fault_init(); faults stay until the nodes go
 * @rmc: device
 *
 * Context: may sleep.
 */
void rmc_fault_exit(struct rmc_device *rmc)
{
	debugfs_remove_recursive(rmc->debugfs);
}
