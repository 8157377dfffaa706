// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes: what the module shows in sysfs, under the same paths, for rmcctl.
 *
 *   class/misc/rmc/NAME
 *   class/misc/rmc/node<n>/{state,epoch,local_path}, node<n>/counters/NAME
 *   class/misc/rmc/node<n>/domains/<context>/NAME
 *   class/misc/rmc/worker<n>/NAME
 *   class/rmc_context/rmcctx<n>/NAME
 *   kernel/debug/rmc/NAME, for administrators: files of lines, which a list shows
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "domain.h"
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
	const struct rmcd_domain *dom;
	size_t counter;		/* offset in struct rmc_stats */
};

/**
 * struct attr - an attribute of a directory
 * @name: name
 * @show: writes the value
 * @store: changes it: 0 or -errno; NULL: read-only
 * @counter: for @show
 * @lines: of a file of lines, in place of @show: all of it, to be freed; NULL: no memory
 */
struct attr {
	const char *name;
	void (*show)(const struct object *o, char *buf);
	int (*store)(const struct object *o, const char *value);
	size_t counter;
	char *(*lines)(const struct object *o);
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

/* ---- domains of messages ---- */

static struct rmc_dom_stats stats_of(const struct object *o)
{
	struct rmc_dom_stats s = { 0 };

	rmc_domain_report(&o->dom->d, &s);
	return s;
}

static char *histogram(const struct rmc_times *t)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	u64 count;
	u32 i;

	if (!f)
		return NULL;
	for (i = 0; i < RMC_TIMES_BUCKETS; i++) {
		count = READ_ONCE(t->bucket[i]);
		if (count)
			fprintf(f, "%llu %llu\n", (unsigned long long)rmc_times_from(i),
				(unsigned long long)count);
	}
	fclose(f);
	return text;
}

static char *waited_lines(const struct object *o)
{
	return histogram(&o->dom->d.times->waited);
}

static char *served_lines(const struct object *o)
{
	return histogram(&o->dom->d.times->served);
}

#define STAT(name, field) SHOW(dom_##name, "%llu", (unsigned long long)stats_of(o).field)

SHOW(dom_policy, "%s", rmc_dispatch_name(o->dom->policy))
SHOW(dom_depth, "%u", o->dom->depth)
SHOW(dom_slots, "%u", o->dom->d.p.slots)
SHOW(dom_cores, "%u", o->dom->cores)
SHOW(dom_wake_us, "%llu", (unsigned long long)o->dom->d.wake_ns / 1000)
STAT(waiting, waiting)
#define X(name, ...) STAT(name, name)
RMC_DOMAIN_STATS(X)
X(dispatched)
#undef X
STAT(waited_p50_ns, waited_ns[0])
STAT(waited_p99_ns, waited_ns[1])
STAT(waited_p999_ns, waited_ns[2])
STAT(served_p50_ns, served_ns[0])
STAT(served_p99_ns, served_ns[1])
STAT(served_p999_ns, served_ns[2])

#define ROW(name) { #name, show_dom_##name }
static const struct attr domain_attrs[] = {
	ROW(policy), ROW(depth), ROW(slots), ROW(cores), ROW(wake_us), ROW(waiting),
#define X(name, ...) ROW(name),
	RMC_DOMAIN_STATS(X)
#undef X
	ROW(dispatched), ROW(waited_p50_ns), ROW(waited_p99_ns), ROW(waited_p999_ns),
	ROW(served_p50_ns), ROW(served_p99_ns), ROW(served_p999_ns),
	{ .name = "waited_histogram", .lines = waited_lines },
	{ .name = "served_histogram", .lines = served_lines },
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
SHOW(tx_slots, "%llu", (unsigned long long)o->ctx->usage.used[RMCD_RES_tx_slots])
SHOW(worker_ns, "%llu", (unsigned long long)rmcd_context_worker_ns(o->d, o->ctx))
SHOW(mode, "%o", o->ctx->mode)
SHOW(uid, "%u", o->ctx->uid)
SHOW(gid, "%u", o->ctx->gid)

static const struct attr context_attrs[] = {
	{ "ctx_id", show_ctx_id }, { "open_count", show_open_count }, { "qps", show_qps },
	{ "buffers", show_buffers }, { "queue_kib", show_queue_kib },
	{ "tx_slots", show_tx_slots },
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
	bool node;		/* has the subdirectories "counters" and "domains" */
	bool domains;
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
	       sscanf(name + len, "%9u%n", number, &used) == 1 && !name[len + used];
}

/* Domain of a context on a node, or NULL */
static const struct rmc_domain *domain_of(const struct object *o, u32 id)
{
	return id < RMC_MAX_CONTEXTS ? o->node->domains.dom[id] : NULL;
}

/* A node's directory of domains, or "/3" in it */
static bool find_domain(struct dir *dir, const char *sub)
{
	struct object *o = &dir->object;
	const struct rmc_domain *d;
	u32 id;

	if (!*sub) {
		dir->count = 0;
		dir->domains = true;
		return true;
	}
	d = numbered(sub, "/", &id) ? domain_of(o, id) : NULL;
	o->dom = d ? rmcd_domain_of(d) : NULL;
	ATTRS(dir, domain_attrs);
	return d;
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
	if (!strncmp(sub, "domains", strlen("domains")))
		return o->node && find_domain(dir, sub + strlen("domains"));
	if (*sub) {
		ATTRS(dir, counter_attrs);
		return o->node && !strcmp(sub, "counters");
	}
	ATTRS(dir, node_attrs);
	dir->node = true;
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
	if (dir->node && i < 2) {
		snprintf(name, len, i ? "domains" : "counters");
		return true;
	}
	for (id = 0; dir->domains && id < RMC_MAX_CONTEXTS; id++) {
		if (!domain_of(&dir->object, id) || i--)
			continue;
		snprintf(name, len, "%u", id);
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

static int lines_of(const struct attr *attr, const struct object *o, struct rmcd_attr *a)
{
	char *text = attr->lines(o);
	int err = text ? lines(text, a) : -ENOMEM;

	free(text);
	return err;
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
		strcpy(path, a.path);
		attr = find_attr(r->d, &dir, path);
		err = attr && attr->lines ? lines_of(attr, &dir.object, &a) : list(r->d, &a);
	} else {
		strcpy(path, a.path);
		attr = find_attr(r->d, &dir, path);
		if (!attr)
			return -ENOENT;
		if (request == RMCD_ATTR_READ && attr->lines)
			err = -EOVERFLOW;
		else if (request == RMCD_ATTR_READ)
			attr->show(&dir.object, a.value);
		else if (!rmcd_is_admin(r->peer))
			err = -EPERM;
		else
			err = attr->store ? attr->store(&dir.object, a.value) : -EACCES;
	}
	memcpy(r->arg, &a, sizeof(a));
	return err;
}
