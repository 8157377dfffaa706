// SPDX-License-Identifier: GPL-2.0
/*
 * Messages as librmc sends them, with fields from the input; message_mutate() breaks them. Most
 * fields are small numbers, so that many requests succeed.
 */
#include <stdio.h>
#include "socket_message.h"

#define MOST_SLOT_BYTES	(4UL << 20)	/* of a domain and a peer */

#define BODY(m)	((m)->data + sizeof((m)->head))

/* Mostly a small number, seldom one at an edge */
static uint64_t number(struct input *in)
{
	static const uint64_t edges[] = {
		~0ULL, 0xffffffff, 0x7fffffff, 0x80000000, 255, 256, 4095, 4096, 65535, 65536,
		1ULL << 40, 1ULL << 47, INT64_MAX, 1ULL << 63, 63, 64,
	};
	uint32_t v = (uint32_t)take(in, 1);

	return v < 0xe0 ? v % 8 : edges[v % 16];
}

static uint32_t number32(struct input *in)
{
	return (uint32_t)number(in);
}

static void put(struct message *m, const void *from, size_t len)
{
	memcpy(m->data + m->len, from, len);
	m->len += len;
}

static int add_fd(struct message *m, int fd)
{
	if (fd < 0 || m->nfds == MOST_FDS)
		return 0;
	m->fds[m->nfds] = fd;
	return (int)m->nfds++;
}

/* Pieces that cover the memory, from files or private. */
static void put_memory(struct message *m, struct input *in, const int *files, uint64_t addr,
		       uint64_t length)
{
	uint32_t how = (uint32_t)take(in, 1), i;
	struct rmcd_memory mem = { .count = how & 0x80 ? 1 + how % RMCD_PIECES : 1 };
	uint64_t sum = 0, head = addr % PAGE_BYTES;

	for (i = 0; i < mem.count; i++) {
		struct rmcd_piece *p = &mem.piece[i];
		uint32_t kind = (uint32_t)take(in, 1);

		/* whole pages between the first and the last byte */
		p->length = i + 1 < mem.count ? PAGE_BYTES - (i ? 0 : head) : length - sum;
		p->offset = (addr + sum) % PAGE_BYTES + (kind >> 5) * PAGE_BYTES;
		p->fd = kind % 32 < FD_KINDS ? add_fd(m, files[kind % 32]) : RMCD_PRIVATE;
		sum += p->length;
	}
	put(m, &mem, how & 0x40 ? offsetof(struct rmcd_memory, piece) +
				  mem.count * sizeof(mem.piece[0]) : sizeof(mem));
}

/* Page-aligned, or within the arena at any byte */
static void pick_range(struct input *in, const uint8_t *arena, uint64_t *addr, uint64_t *length)
{
	uint32_t how = (uint32_t)take(in, 1);

	*addr = (uintptr_t)arena + (how & 15) * PAGE_BYTES;
	*length = (1 + (how >> 4 & 3)) * PAGE_BYTES;
	if (how & 0x40)
		*length -= 8 * (uint64_t)take(in, 1);
	if (how & 0x80)
		*addr += 64 * (uint64_t)take(in, 1);
}

static void build_open(struct message *m, struct input *in)
{
	uint32_t how = (uint32_t)take(in, 1);
	struct rmcd_open o = { .version = RMCD_VERSION };

	o.ctx_id = how < 0xf0 ? how % 4 - 1 : (int)take(in, 4);
	put(m, &o, sizeof(o));
}

static void build_attr(struct message *m, uint32_t request, struct input *in)
{
	static const char * const paths[] = {
		"class/misc/rmc", "class/misc/rmc/nodes", "class/misc/rmc/node0/state",
		"class/misc/rmc/node1/state", "class/misc/rmc/node0/counters",
		"class/misc/rmc/node0/counters/served", "class/misc/rmc/worker0",
		"class/misc/rmc/worker0/cpu", "class/rmc_context",
		"class/rmc_context/rmcctx0/open_count", "class/rmc_context/rmcctx9",
		"kernel/debug/rmc/links", "kernel/debug/rmc/model", "kernel/debug/rmc/",
		"class/misc/rmc/node2/state", "", "class/misc/rmc/node0/domains",
		"class/misc/rmc/node0/domains/0", "class/misc/rmc/node0/domains/0/messages",
		"class/misc/rmc/node1/domains/0/policy",
		"class/misc/rmc/node1/domains/0/waited_histogram",
		"class/misc/rmc/node1/domains/0/served_histogram",
		"class/misc/rmc/node1/domains/3",
	};
	const uint32_t count = sizeof(paths) / sizeof(paths[0]);
	static const char * const values[] = { "up", "down", "sideways", "" };
	struct rmcd_attr a = { .offset = 0 };
	uint32_t i;

	snprintf(a.path, sizeof(a.path), "%s", paths[take(in, 1) % count]);
	a.offset = number32(in);
	if (request == RMCD_ATTR_WRITE) {
		i = (uint32_t)take(in, 1);
		snprintf(a.value, sizeof(a.value), "%s", values[i % 4]);
	}
	put(m, &a, sizeof(a));
}

static void build_registration(struct message *m, uint32_t request, struct input *in,
			       const int *files, const uint8_t *arena)
{
	struct rmc_seg_reg seg = { .size = sizeof(seg) };
	struct rmc_seg_add more = { .size = sizeof(more) };
	struct rmc_buf_reg buf = { .size = sizeof(buf) };
	uint64_t addr, length;
	uint32_t how;

	pick_range(in, arena, &addr, &length);
	if (request == RMC_IOC_BUF_REG) {
		buf.addr = addr;
		buf.length = length;
		put(m, &buf, sizeof(buf));
	} else if (request == RMC_IOC_SEG_ADD) {
		more.addr = addr;
		more.length = length;
		more.offset = (16 + number(in) * 4) * PAGE_BYTES;
		put(m, &more, sizeof(more));
	} else {
		how = (uint32_t)take(in, 1);
		seg.addr = addr;
		seg.length = length;
		if (how & 1)
			seg.flags = RMC_MEM_READONLY;
		if (how & 2) {
			seg.flags |= RMC_MEM_OBJECTS;
			seg.version_offset = 8 * (how >> 4 & 3);
			seg.readers_offset = 4 * (how >> 6);
			seg.sabre_mode = how >> 2 & 3;
		}
		put(m, &seg, sizeof(seg));
	}
	put_memory(m, in, files, addr, length);
}

/* Requests whose struct is four numbers at most after its size and flags */
static void build_small(struct message *m, uint32_t request, struct input *in, const int *files)
{
	uint32_t word[12] = { _IOC_SIZE(request) }, how;
	static const struct { uint32_t request, size; } sizes[] = {
		{ RMC_IOC_NODE_INFO, sizeof(struct rmc_node_info) },
		{ RMC_IOC_WATCH, sizeof(struct rmc_watch) },
		{ RMC_IOC_ATTACH, sizeof(struct rmc_attach) },
		{ RMC_IOC_SEG_UNREG, sizeof(struct rmc_seg_unreg) },
		{ RMC_IOC_SEG_DEL, sizeof(struct rmc_seg_del) },
		{ RMC_IOC_BUF_UNREG, sizeof(struct rmc_buf_unreg) },
		{ RMC_IOC_QP_CREATE, sizeof(struct rmc_qp_create) },
		{ RMC_IOC_QP_DESTROY, sizeof(struct rmc_qp_id) },
		{ RMC_IOC_WAKE, sizeof(struct rmc_qp_id) },
		{ RMC_IOC_CQ_ARM, sizeof(struct rmc_cq_arm) },
		{ RMC_IOC_SEG_ARM, sizeof(struct rmc_seg_arm) },
		{ RMC_IOC_CTX_CREATE, sizeof(struct rmc_ctx_create) },
		{ RMC_IOC_CTX_REMOVE, sizeof(struct rmc_ctx_remove) },
	};
	uint64_t offset;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].request == request)
			word[0] = sizes[i].size;
	word[2] = number32(in);
	switch (request) {
	case RMC_IOC_WATCH:
		word[1] = RMC_WATCH_NONBLOCK;
		word[3] = (uint32_t)take(in, 1) % 4 - 1;
		break;
	case RMC_IOC_SEG_DEL:
		offset = (16 + (uint64_t)word[2] * 4) * PAGE_BYTES;
		memcpy(&word[2], &offset, sizeof(offset));
		break;
	case RMC_IOC_QP_CREATE:
		how = (uint32_t)take(in, 1);
		word[2] = how < 0xf0 ? 1U << how % 13 : how;
		break;
	case RMC_IOC_CQ_ARM:
	case RMC_IOC_SEG_ARM:
		how = (uint32_t)take(in, 1);
		word[3] = request == RMC_IOC_CQ_ARM ? how >> 6 : -1U;
		word[4] = -1U;
		if (how & 32) {
			add_fd(m, files[how % FD_KINDS]);
			word[request == RMC_IOC_CQ_ARM ? 4 : 3] = 0;
		}
		break;
	case RMC_IOC_CTX_CREATE:
		word[2] += 3;
		word[3] = 0666;
		break;
	case RMC_IOC_CTX_REMOVE:
		word[2] += 3;
		break;
	}
	put(m, word, word[0]);
}

static void build_domain_create(struct message *m, struct input *in)
{
	uint32_t how = (uint32_t)take(in, 1), policy = (uint32_t)take(in, 1), word;
	struct rmc_dom_create c = {
		.size = sizeof(c),
		.nodes = 2,
		.slots = 1 + (how & 3),
		.max_message = how & 4 ? 2 * PAGE_BYTES : 256,
		.max_answer = how & 8 ? 128 : 0,
		.depth = 1 + (how >> 4 & 3),
		.cores = 2,
		.groups = 1,
		.policy = policy % 16,
		.members = policy & 0x80 ? 2 : 0,
	};

	if (c.policy == RMC_DOM_GROUPS || c.policy == RMC_DOM_HIER)
		c.groups = 2;
	if (policy & 0x10)
		c.flags |= RMC_DOM_REQUEUE;
	if (policy & 0x20 || c.policy == RMC_DOM_CLASS)
		c.flags |= RMC_DOM_KEY;
	if (c.policy == RMC_DOM_CLASS)
		c.classes = 3;
	if (policy & 0x40)
		c.age_us = 100;
	if (policy & 0x80)
		c.wake_us = 50;
	if (how & 0x80) {
		word = (uint32_t)take(in, 1) % (sizeof(c) / sizeof(word));
		((uint32_t *)(void *)&c)[word] = number32(in);
	}
	put(m, &c, sizeof(c));
}

/* Requests of a queue pair of a domain, and of the domain itself */
static void build_domain_call(struct message *m, uint32_t request, struct input *in,
			       const int *files)
{
	struct rmc_dom_query query = { .size = sizeof(query) };
	struct rmc_dom_destroy destroy = { .size = sizeof(destroy) };
	struct rmc_dom_open open = { .size = sizeof(open), .member = RMC_DOM_ANY_MEMBER };
	struct rmc_dom_attach attach = { .size = sizeof(attach) };
	struct rmc_dom_detach detach = { .size = sizeof(detach) };
	struct rmc_aq_arm arrival = { .size = sizeof(arrival), .eventfd = -1 };
	struct rmc_room_arm room = { .size = sizeof(room), .eventfd = -1 };
	struct rmc_dom_stats stats = { .size = sizeof(stats) };
	uint32_t qp_id, how;

	switch (request) {
	case RMC_IOC_DOM_QUERY:
		put(m, &query, sizeof(query));
		return;
	case RMC_IOC_DOM_DESTROY:
		put(m, &destroy, sizeof(destroy));
		return;
	case RMC_IOC_DOM_STATS:
		put(m, &stats, sizeof(stats));
		return;
	case RMC_IOC_DOM_OPEN:
		how = (uint32_t)take(in, 1);
		if (how & 1)
			open.member = how & 2 ? number32(in) : 1;
		put(m, &open, sizeof(open));
		return;
	}
	qp_id = number32(in);
	if (request == RMC_IOC_DOM_DETACH) {
		detach.qp_id = qp_id;
		put(m, &detach, sizeof(detach));
		return;
	}
	how = (uint32_t)take(in, 1);
	if (request == RMC_IOC_DOM_ATTACH) {
		attach.qp_id = qp_id;
		attach.flags = how & 1 ? RMC_DOM_SEND_ONLY : 0;
		attach.group = how & 2 ? number32(in) : 0;
		attach.classes = how & 4 ? number32(in) : 0;
		put(m, &attach, sizeof(attach));
		return;
	}
	if (how & 32)
		room.eventfd = add_fd(m, files[how % FD_KINDS]);
	arrival.qp_id = qp_id;
	arrival.seen = how >> 6;
	arrival.eventfd = room.eventfd;
	room.qp_id = qp_id;
	if (request == RMC_IOC_AQ_ARM)
		put(m, &arrival, sizeof(arrival));
	else
		put(m, &room, sizeof(room));
}

void message_build(struct message *m, uint32_t kind, struct input *in, const int *files,
		   uint8_t *arena)
{
	static const uint32_t requests[MESSAGE_KINDS] = {
		RMCD_OPEN, RMCD_ATTR_READ, RMCD_ATTR_LIST, RMCD_ATTR_WRITE, RMC_IOC_QUERY,
		RMC_IOC_NODE_INFO, RMC_IOC_WATCH, RMC_IOC_ATTACH, RMC_IOC_SEG_REG,
		RMC_IOC_SEG_UNREG, RMC_IOC_SEG_ADD, RMC_IOC_SEG_DEL, RMC_IOC_BUF_REG,
		RMC_IOC_BUF_UNREG, RMC_IOC_QP_CREATE, RMC_IOC_QP_DESTROY, RMC_IOC_WAKE,
		RMC_IOC_CQ_ARM, RMC_IOC_SEG_ARM, RMC_IOC_CTX_CREATE, RMC_IOC_CTX_REMOVE,
		RMC_IOC_DOM_QUERY, RMC_IOC_DOM_CREATE, RMC_IOC_DOM_DESTROY, RMC_IOC_DOM_ATTACH,
		RMC_IOC_DOM_DETACH, RMC_IOC_AQ_ARM, RMC_IOC_ROOM_ARM, RMC_IOC_DOM_STATS,
		RMC_IOC_DOM_OPEN,
	};
	struct rmc_query query = { .size = sizeof(query) };

	memset(m, 0, sizeof(*m));
	m->head.request = requests[kind % MESSAGE_KINDS];
	m->len = sizeof(m->head);
	switch (m->head.request) {
	case RMCD_OPEN:
		build_open(m, in);
		break;
	case RMCD_ATTR_READ:
	case RMCD_ATTR_LIST:
	case RMCD_ATTR_WRITE:
		build_attr(m, m->head.request, in);
		break;
	case RMC_IOC_QUERY:
		put(m, &query, sizeof(query));
		break;
	case RMC_IOC_SEG_REG:
	case RMC_IOC_SEG_ADD:
	case RMC_IOC_BUF_REG:
		build_registration(m, m->head.request, in, files, arena);
		break;
	case RMC_IOC_DOM_CREATE:
		build_domain_create(m, in);
		break;
	case RMC_IOC_DOM_QUERY:
	case RMC_IOC_DOM_OPEN:
	case RMC_IOC_DOM_DESTROY:
	case RMC_IOC_DOM_STATS:
	case RMC_IOC_DOM_ATTACH:
	case RMC_IOC_DOM_DETACH:
	case RMC_IOC_AQ_ARM:
	case RMC_IOC_ROOM_ARM:
		build_domain_call(m, m->head.request, in, files);
		break;
	default:
		build_small(m, m->head.request, in, files);
		break;
	}
	m->head.fds = m->nfds;
}

/* Bytes, words, the length or the descriptors are others. */
void message_mutate(struct message *m, struct input *in, const int *files)
{
	uint32_t how = (uint32_t)take(in, 1), n, at;
	uint64_t v;

	for (n = how & 3; n; n--) {
		at = (uint32_t)take(in, 2) % (uint32_t)sizeof(m->data);
		m->data[at] ^= (uint8_t)take(in, 1);
	}
	if (how & 4) {
		at = (uint32_t)take(in, 1) * 4 % (uint32_t)(sizeof(m->data) - 8);
		v = number(in);
		memcpy(m->data + at, &v, how & 8 ? 8 : 4);
	}
	if (how & 16)
		m->len = (uint32_t)take(in, 2) % (sizeof(m->data) + 1);
	if (how & 32) {
		for (n = (uint32_t)take(in, 1) % MOST_FDS; n; n--)
			add_fd(m, files[take(in, 1) % FD_KINDS]);
		if (how & 64)
			m->head.fds = m->nfds;
	}
}

static int has_private(const struct message *m, uint32_t size)
{
	struct rmcd_piece p;
	size_t at = sizeof(m->head) + size + offsetof(struct rmcd_memory, piece);
	int i;

	for (i = 0; i < RMCD_PIECES && at + sizeof(p) <= sizeof(m->data); i++, at += sizeof(p)) {
		memcpy(&p, m->data + at, sizeof(p));
		if (p.fd == RMCD_PRIVATE)
			return 1;
	}
	return 0;
}

void message_restrict(struct message *m, int admin, uint8_t *arena)
{
	struct rmc_buf_reg *b = (void *)BODY(m);
	struct rmcd_open *o = (void *)BODY(m);
	struct rmcd_attr *a = (void *)BODY(m);
	struct rmc_dom_create *d = (void *)BODY(m);

	/* the neighbour's context, which its owner may use */
	if (m->head.request == RMCD_OPEN && admin && o->ctx_id == MODEST_CTX)
		o->ctx_id = 0;
	/* faults, and the end of the neighbour's node, are what an administrator may order */
	if (m->head.request == RMCD_ATTR_WRITE && admin)
		strcpy(a->path, "class/misc/rmc/node1/state");
	/* half a GiB, since no quota is an administrator's */
	if (m->head.request == RMC_IOC_DOM_CREATE && admin &&
	    (uint64_t)d->slots * ((uint64_t)d->max_message + d->max_answer) > MOST_SLOT_BYTES)
		d->slots = 1;
	/* rmcd writes to private memory of the process that sends: here that is its own */
	if (m->head.request == RMC_IOC_BUF_REG && b->size < RMCD_MESSAGE_BYTES &&
	    has_private(m, b->size) &&
	    (b->addr < (uintptr_t)arena || b->length > ARENA_BYTES ||
	     b->addr - (uintptr_t)arena > ARENA_BYTES - b->length)) {
		b->addr = (uintptr_t)arena + b->addr % PAGE_BYTES;
		if (b->length > ARENA_BYTES / 2)
			b->length = ARENA_BYTES / 2;
	}
}
