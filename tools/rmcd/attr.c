// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes: what the module shows in sysfs, under the same paths, for rmcctl.
 *
 *   class/misc/rmc/NAME
 *   class/misc/rmc/node<n>/{state,epoch,local_path}, node<n>/counters/NAME
 *   class/misc/rmc/worker<n>/NAME
 *   class/rmc_context/rmcctx<n>/NAME
 *   kernel/debug/rmc/NAME, for administrators: files of lines, which a list shows
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "faults.h"
#include "request.h"

#define ROOT		"class/misc/rmc"
#define CONTEXTS	"class/rmc_context"
#define FAULTS		"kernel/debug/rmc/"

/* What a path names below its directory: the object, for the functions of the table. */
struct object {
	struct rmcd *d;
	struct rmc_node *node;
	const struct rmcd_worker *worker;
	const struct rmcd_context *ctx;
	size_t counter;		/* offset in struct rmc_stats */
};

/**
 * struct attr - an attribute of a directory
 * @name: name
 * @show: writes the value
 * @store: changes it: 0 or -errno; NULL: read-only
 * @counter: for @show
 */
struct attr {
	const char *name;
	void (*show)(const struct object *o, char *buf);
	int (*store)(const struct object *o, const char *value);
	size_t counter;
};

static void emit(char *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void emit(char *buf, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, RMCD_VALUE_BYTES, fmt, ap);
	va_end(ap);
}

#define SHOW(name, format, value)						\
	static void show_##name(const struct object *o, char *buf)		\
	{									\
		emit(buf, format, value);					\
	}

static u32 count_up(struct rmcd *d)
{
	u32 i, up = 0;

	for (i = 0; i < d->port->fabric.nodes; i++)
		up += rmcd_node_state(d, i) == RMC_NODE_UP;
	return up;
}

SHOW(fabric, "%s", o->d->port->name)
SHOW(ni, "%s", o->d->cfg.ni->name)
SHOW(units, "%u", rmc_fabric_units(&o->d->port->fabric))
SHOW(rrpps, "%u", rmc_fabric_rrpps(&o->d->port->fabric))
SHOW(interleave, "%u", o->d->port->fabric.interleave)
SHOW(nodes, "%u", o->d->port->fabric.nodes)
SHOW(local_nodes, "%u", o->d->port->locals)
SHOW(nid, "%u", o->d->port->first)
SHOW(mtu, "%u", o->d->port->fabric.mtu)
SHOW(share, "%d", o->d->cfg.share)
SHOW(peers_up, "%u", count_up(o->d))
SHOW(memtype, "%s", "write-back")
SHOW(channel_kib, "%llu", (unsigned long long)(READ_ONCE(o->d->port->channel_bytes) >> 10))

static const struct attr root_attrs[] = {
	{ "fabric", show_fabric }, { "ni", show_ni }, { "units", show_units },
	{ "rrpps", show_rrpps }, { "interleave", show_interleave }, { "nodes", show_nodes },
	{ "local_nodes", show_local_nodes }, { "nid", show_nid }, { "mtu", show_mtu },
	{ "share", show_share }, { "peers_up", show_peers_up }, { "memtype", show_memtype },
	{ "channel_kib", show_channel_kib },
};

/* ---- nodes ---- */

static const char *state_name(u32 state)
{
	static const char * const names[] = {
		[RMC_NODE_FREE]		= "free",
		[RMC_NODE_JOINING]	= "joining",
		[RMC_NODE_UP]		= "up",
		[RMC_NODE_DOWN]		= "down",
	};

	return names[state];
}

SHOW(state, "%s", state_name(rmcd_node_state(o->d, o->node->nid)))
SHOW(epoch, "%u", READ_ONCE(o->d->port->fabric.node[o->node->nid].epoch))
SHOW(local_path, "%d", READ_ONCE(o->node->local))

static int store_state(const struct object *o, const char *value)
{
	if (!strcmp(value, "down"))
		return rmcd_node_down(o->d, o->node);
	return strcmp(value, "up") ? -EINVAL : rmcd_node_up(o->d, o->node);
}

static int store_local_path(const struct object *o, const char *value)
{
	bool local = *value == '1' || *value == 'Y' || *value == 'y';
	u32 i;

	if (!strchr("01YyNn", *value) || !*value || value[1])
		return -EINVAL;
	/* order is kept: the local path waits until all packets are back */
	for (i = 0; i < rmc_fabric_units(o->node->fabric); i++)
		WRITE_ONCE(o->node->unit[i]->local, local);
	return 0;
}

static const struct attr node_attrs[] = {
	{ "state", show_state, store_state },
	{ "epoch", show_epoch },
	{ "local_path", show_local_path, store_local_path },
};

static void show_counter(const struct object *o, char *buf)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < rmc_fabric_units(o->node->fabric); i++)
		sum += READ_ONCE(*(u64 *)((u8 *)&o->node->unit[i]->stats + o->counter));
	emit(buf, "%llu", (unsigned long long)sum);
}

static const struct attr counter_attrs[] = {
#define COUNTER(name) { #name, show_counter, NULL, offsetof(struct rmc_stats, name) },
	RMC_STATS(COUNTER)
#undef COUNTER
};

/* ---- workers ---- */

static const char *stage_names(u32 stages)
{
	if (stages == RMC_STAGE_FRONT)
		return "frontend";
	if (stages == RMC_STAGE_REQ)
		return "rgp rcp";
	return stages == RMC_STAGE_SRV ? "rrpp" : "rgp rrpp rcp";
}

SHOW(cpu, "%d", READ_ONCE(o->worker->cpu))
SHOW(stages, "%s", stage_names(o->worker->ni.stages))
SHOW(visits, "%llu", (unsigned long long)READ_ONCE(o->worker->ni.visits))
SHOW(worked, "%llu", (unsigned long long)READ_ONCE(o->worker->ni.worked))
SHOW(parks, "%llu", (unsigned long long)READ_ONCE(o->worker->ni.parks))
SHOW(wakeups, "%llu", (unsigned long long)READ_ONCE(o->worker->ni.wakeups))

static const struct attr worker_attrs[] = {
	{ "cpu", show_cpu }, { "stages", show_stages }, { "visits", show_visits },
	{ "worked", show_worked }, { "parks", show_parks }, { "wakeups", show_wakeups },
};

/* ---- contexts ---- */

SHOW(ctx_id, "%u", o->ctx->id)
SHOW(open_count, "%u", o->ctx->opens)
SHOW(qps, "%llu", (unsigned long long)o->ctx->usage.used[RMCD_RES_qps])
SHOW(buffers, "%llu", (unsigned long long)o->ctx->usage.used[RMCD_RES_buffers])
SHOW(queue_kib, "%llu", (unsigned long long)o->ctx->usage.used[RMCD_RES_queue_mib])
SHOW(worker_ns, "%llu", (unsigned long long)rmcd_context_worker_ns(o->d, o->ctx))
SHOW(mode, "%o", o->ctx->mode)
SHOW(uid, "%u", o->ctx->uid)
SHOW(gid, "%u", o->ctx->gid)

static const struct attr context_attrs[] = {
	{ "ctx_id", show_ctx_id }, { "open_count", show_open_count }, { "qps", show_qps },
	{ "buffers", show_buffers }, { "queue_kib", show_queue_kib },
	{ "worker_ns", show_worker_ns }, { "mode", show_mode }, { "uid", show_uid },
	{ "gid", show_gid },
};

/* ---- paths ---- */

/* A directory, after its path was parsed: its attributes and its subdirectories. */
struct dir {
	struct object object;
	const struct attr *attrs;
	u32 count;
	bool root;
	bool contexts;
	bool counters;		/* has the subdirectory "counters" */
};

#define ATTRS(dir, table) ((dir)->attrs = (table), (dir)->count = ARRAY_SIZE(table))

static struct rmcd_context *context_of(struct rmcd *d, u32 id)
{
	return id < RMC_MAX_CONTEXTS ? d->ctx[id] : NULL;
}

/* "node7": 7 */
static bool numbered(const char *name, const char *prefix, u32 *number)
{
	size_t len = strlen(prefix);
	int used = 0;

	return !strncmp(name, prefix, len) && name[len] >= '0' && name[len] <= '9' &&
	       sscanf(name + len, "%u%n", number, &used) == 1 && !name[len + used];
}

/* Directory below the root or below the contexts; @name has no slash. */
static bool find_sub(struct dir *dir, const char *name, const char *sub)
{
	struct object *o = &dir->object;
	u32 n;

	if (dir->contexts) {
		o->ctx = numbered(name, "rmcctx", &n) ? context_of(o->d, n) : NULL;
		ATTRS(dir, context_attrs);
		dir->contexts = false;
		return o->ctx && !*sub;
	}
	dir->root = false;
	if (numbered(name, "worker", &n)) {
		o->worker = n < o->d->workers ? &o->d->worker[n] : NULL;
		ATTRS(dir, worker_attrs);
		return o->worker && !*sub;
	}
	o->node = numbered(name, "node", &n) ? rmcd_node(o->d, n) : NULL;
	if (*sub) {
		ATTRS(dir, counter_attrs);
		return o->node && !strcmp(sub, "counters");
	}
	ATTRS(dir, node_attrs);
	dir->counters = true;
	return o->node;
}

/* The path of a directory, without a slash at its end. */
static bool find_dir(struct rmcd *d, struct dir *dir, const char *path)
{
	char name[64], *slash;

	memset(dir, 0, sizeof(*dir));
	dir->object.d = d;
	if (!strncmp(path, ROOT, strlen(ROOT))) {
		dir->root = true;
		ATTRS(dir, root_attrs);
		path += strlen(ROOT);
	} else if (!strncmp(path, CONTEXTS, strlen(CONTEXTS))) {
		dir->contexts = true;
		path += strlen(CONTEXTS);
	} else {
		return false;
	}
	if (!*path)
		return true;
	if (*path++ != '/' || strlen(path) >= sizeof(name))
		return false;
	strcpy(name, path);
	slash = strchr(name, '/');
	if (slash)
		*slash++ = '\0';
	return find_sub(dir, name, slash ? slash : "");
}

static const struct attr *find_attr(struct rmcd *d, struct dir *dir, char *path)
{
	char *name = strrchr(path, '/');
	u32 i;

	if (!name)
		return NULL;
	*name++ = '\0';
	if (!find_dir(d, dir, path))
		return NULL;
	for (i = 0; i < dir->count; i++) {
		if (strcmp(dir->attrs[i].name, name))
			continue;
		dir->object.counter = dir->attrs[i].counter;
		return &dir->attrs[i];
	}
	return NULL;
}

/* The i-th name in a directory: false: there are fewer. */
static bool name_at(const struct dir *dir, u32 i, char *name, size_t len)
{
	const struct rmcd *d = dir->object.d;
	u32 id;

	if (i < dir->count) {
		snprintf(name, len, "%s", dir->attrs[i].name);
		return true;
	}
	i -= dir->count;
	if (dir->counters && !i) {
		snprintf(name, len, "counters");
		return true;
	}
	if (dir->root && i < d->port->locals) {
		snprintf(name, len, "node%u", d->port->first + i);
		return true;
	}
	if (dir->root && i - d->port->locals < d->workers) {
		snprintf(name, len, "worker%u", i - d->port->locals);
		return true;
	}
	for (id = 0; dir->contexts && id < RMC_MAX_CONTEXTS; id++) {
		if (!d->ctx[id] || i--)
			continue;
		snprintf(name, len, "rmcctx%u", id);
		return true;
	}
	return false;
}

static int list(struct rmcd *d, struct rmcd_attr *a)
{
	char name[64];
	size_t used = 0;
	struct dir dir;

	if (!find_dir(d, &dir, a->path))
		return -ENOENT;
	for (a->count = 0; name_at(&dir, a->offset + a->count, name, sizeof(name)); a->count++) {
		size_t len = strlen(name);

		if (used + len + 2 > sizeof(a->value))
			break;
		memcpy(a->value + used, name, len);
		used += len;
		a->value[used++] = '\n';
	}
	a->value[used] = '\0';
	return 0;
}

/* Lines of @text from the one at @a->offset on, as many as there is room for */
static int lines(const char *text, struct rmcd_attr *a)
{
	u32 skip = a->offset;
	size_t used = 0;

	for (a->count = 0; *text; text += strcspn(text, "\n") + 1) {
		size_t len = strcspn(text, "\n");

		if (skip) {
			skip--;
			continue;
		}
		if (used + len + 2 > sizeof(a->value))
			break;
		memcpy(a->value + used, text, len);
		used += len;
		a->value[used++] = '\n';
		a->count++;
	}
	a->value[used] = '\0';
	return *text && !a->count ? -EOVERFLOW : 0;
}

/* A file of faults; @name is the part of the path behind FAULTS */
static int fault_file(const struct rmcd_req *r, u32 request, const char *name,
		      struct rmcd_attr *a)
{
	char *text;
	int err;

	if (!rmcd_is_admin(r->peer))
		return -EPERM;
	if (request == RMCD_ATTR_WRITE)
		return rmcd_fault_write(name, a->value);
	err = rmcd_fault_read(name, &text);
	if (err)
		return err;
	if (request == RMCD_ATTR_LIST) {
		err = lines(text, a);
	} else if (strlen(text) >= sizeof(a->value)) {
		err = -EOVERFLOW;
	} else {
		strcpy(a->value, text);
		a->value[strcspn(a->value, "\n")] = '\0';
	}
	free(text);
	return err;
}

/**
 * rmcd_attr() - RMCD_ATTR_*
 * @r: request
 * @request: which
 *
 * Return: 0; -ENOENT no such attribute, -EPERM, -EACCES it cannot be changed, -EINVAL,
 * -EOVERFLOW longer than an answer, or what the change returned.
 */
int rmcd_attr(struct rmcd_req *r, u32 request)
{
	const struct attr *attr;
	char path[sizeof(((struct rmcd_attr *)0)->path)];
	struct rmcd_attr a;
	struct dir dir;
	int err = 0;

	if (r->len != sizeof(a) || r->nfds)
		return -EINVAL;
	memcpy(&a, r->arg, sizeof(a));
	a.path[sizeof(a.path) - 1] = '\0';
	a.value[sizeof(a.value) - 1] = '\0';
	if (!strncmp(a.path, FAULTS, strlen(FAULTS))) {
		err = fault_file(r, request, a.path + strlen(FAULTS), &a);
	} else if (request == RMCD_ATTR_LIST) {
		err = list(r->d, &a);
	} else {
		strcpy(path, a.path);
		attr = find_attr(r->d, &dir, path);
		if (!attr)
			return -ENOENT;
		if (request == RMCD_ATTR_READ)
			attr->show(&dir.object, a.value);
		else if (!rmcd_is_admin(r->peer))
			err = -EPERM;
		else
			err = attr->store ? attr->store(&dir.object, a.value) : -EACCES;
	}
	memcpy(r->arg, &a, sizeof(a));
	return err;
}
