/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Segments, ranges and local buffers of rmcd. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "daemon.h"

/* How the structs of RMC_IOC_SEG_REG, _SEG_ADD and _BUF_REG begin */
struct memory_head {
	uint32_t size, flags;
	uint64_t addr, length;
};

#define BEGINS_ALIKE(type)							\
	_Static_assert(offsetof(struct type, flags) == offsetof(struct memory_head, flags) && \
		       offsetof(struct type, addr) == offsetof(struct memory_head, addr) && \
		       offsetof(struct type, length) == offsetof(struct memory_head, length), \
		       "memory begins alike")
BEGINS_ALIKE(rmc_seg_reg);
BEGINS_ALIKE(rmc_seg_add);
BEGINS_ALIKE(rmc_buf_reg);

static void free_memory(struct rmc_daemon_memory *h)
{
	rmc_share_end(&h->share);
	if (h->alloc && !h->mapped)
		munmap(h->alloc, rmc_page_round(h->len));
	free(h);
}

static void link_memory(struct rmc_daemon *d, struct rmc_daemon_memory *h)
{
	pthread_mutex_lock(&d->lock);
	h->next = d->memory;
	d->memory = h;
	pthread_mutex_unlock(&d->lock);
}

/* Does this request end the registration? */
static int ends(const struct rmc_daemon_memory *h, unsigned long number, uint64_t id)
{
	if (number == RMC_IOC_BUF_UNREG)
		return h->request == RMC_IOC_BUF_REG && h->id == id;
	if (number == RMC_IOC_SEG_DEL)
		return h->request == RMC_IOC_SEG_ADD && h->id == id;
	return h->request != RMC_IOC_BUF_REG;
}

/* The registrations that a request ends, as a list of their own */
static struct rmc_daemon_memory *unlink_memory(struct rmc_daemon *d, unsigned long number,
					       uint64_t id)
{
	struct rmc_daemon_memory **link = &d->memory, *h, *taken = NULL;

	pthread_mutex_lock(&d->lock);
	while ((h = *link)) {
		if (!ends(h, number, id)) {
			link = &h->next;
			continue;
		}
		*link = h->next;
		h->next = taken;
		taken = h;
	}
	pthread_mutex_unlock(&d->lock);
	return taken;
}

/* The memory becomes shared. rmcd validates the other fields of the struct. */
static int get_memory(const struct rmc_ctx *ctx, struct rmc_daemon_memory *h,
		      const struct memory_head *head, int numa_node)
{
	int segment = h->request != RMC_IOC_BUF_REG;
	const char *why = NULL;
	int err;

	if (!head->length || head->length > ctx->query.max_segment ||
	    (head->flags & (RMC_MEM_NUMA | RMC_MEM_ALLOC)) == RMC_MEM_NUMA)
		return -EINVAL;
	if (head->flags & RMC_MEM_ALLOC && h->request != RMC_IOC_SEG_ADD) {
		if (head->addr)
			return -EINVAL;
		h->len = head->length;
		h->alloc = rmc_share_alloc(&h->share, h->len, numa_node);
		return h->alloc ? 0 : -errno;
	}
	if (segment && head->addr % RMC_CACHE_LINE)
		return -EINVAL;
	err = rmc_share_begin(&h->share, (void *)(uintptr_t)head->addr, head->length, segment,
			      ((const struct rmc_daemon *)ctx->priv)->own, &why);
	if (why)
		rmc_daemon_because(why);
	return err;
}

static int numa_node_of(unsigned long number, const void *arg, uint32_t flags)
{
	int node;

	if (!(flags & RMC_MEM_NUMA) || number == RMC_IOC_SEG_ADD)
		return -1;
	node = number == RMC_IOC_SEG_REG ? ((const struct rmc_seg_reg *)arg)->numa_node
					 : ((const struct rmc_buf_reg *)arg)->numa_node;
	return node < 0 ? (int)(~0U >> 1) : node;	/* there is none: EINVAL */
}

/* The struct as rmcd gets it: memory of the library is like any other. */
static void hide_alloc(unsigned long number, unsigned char *body,
		       const struct rmc_daemon_memory *h)
{
	struct memory_head head;
	int none = 0;

	if (!h->alloc)
		return;
	memcpy(&head, body, sizeof(head));
	head.flags &= ~(uint32_t)(RMC_MEM_ALLOC | RMC_MEM_NUMA);
	head.addr = (uintptr_t)h->alloc;
	memcpy(body, &head, sizeof(head));
	memcpy(body + (number == RMC_IOC_SEG_REG ? offsetof(struct rmc_seg_reg, numa_node)
						 : offsetof(struct rmc_buf_reg, numa_node)),
	       &none, sizeof(none));
}

static void accepted(struct rmc_daemon_memory *h, void *arg, const unsigned char *body)
{
	struct rmc_buf_reg got;

	switch (h->request) {
	case RMC_IOC_BUF_REG:
		memcpy(&got, body, sizeof(got));
		h->id = got.buf_id;
		((struct rmc_buf_reg *)arg)->buf_id = got.buf_id;
		((struct rmc_buf_reg *)arg)->mmap_offset = (uintptr_t)h->alloc;
		break;
	case RMC_IOC_SEG_REG:
		((struct rmc_seg_reg *)arg)->mmap_offset = (uintptr_t)h->alloc;
		break;
	default:
		h->id = ((const struct rmc_seg_add *)arg)->offset;
	}
}

static size_t struct_bytes(unsigned long number)
{
	return number == RMC_IOC_SEG_REG ? sizeof(struct rmc_seg_reg) :
	       number == RMC_IOC_SEG_ADD ? sizeof(struct rmc_seg_add) : sizeof(struct rmc_buf_reg);
}

static const char why_fault[] =
	"rmcd cannot map this memory: its file is too short, not open for writing, or has holes; fill them with fallocate(), or take rmc_seg_alloc()";

static int ask(struct rmc_daemon *d, struct rmc_daemon_memory *h, void *arg)
{
	size_t size = struct_bytes(h->request);
	struct rmc_message m;

	rmc_daemon_begin(&m, h->request, arg);
	hide_alloc(h->request, m.body, h);
	memcpy(m.body + size, &h->share.memory, sizeof(h->share.memory));
	m.len = size + sizeof(h->share.memory);
	m.fds = h->share.regions;
	rmc_share_fds(&h->share, m.fd);
	if (rmc_daemon_request(d, &m, size, 0) < 0) {
		if (errno == EFAULT)
			rmc_daemon_because(why_fault);
		return -errno;
	}
	accepted(h, arg, m.body);
	return 0;
}

int rmc_daemon_register(struct rmc_ctx *ctx, unsigned long number, void *arg)
{
	struct rmc_daemon *d = (struct rmc_daemon *)ctx->priv;
	struct rmc_daemon_memory *h;
	struct memory_head head;
	int err;

	memcpy(&head, arg, sizeof(head));
	h = (struct rmc_daemon_memory *)calloc(1, sizeof(*h));
	if (!h) {
		errno = ENOMEM;
		return -1;
	}
	h->request = number;
	err = head.size == struct_bytes(number) ? 0 : -EINVAL;
	if (!err)
		err = get_memory(ctx, h, &head, numa_node_of(number, arg, head.flags));
	if (!err)
		err = ask(d, h, arg);
	if (!err) {
		link_memory(d, h);
		return 0;
	}
	free_memory(h);
	errno = -err;
	return -1;
}

int rmc_daemon_unregister(struct rmc_daemon *d, unsigned long number, void *arg)
{
	struct rmc_daemon_memory *h, *taken;
	uint64_t id = 0;
	int ret, err;

	if (number == RMC_IOC_BUF_UNREG)
		id = ((const struct rmc_buf_unreg *)arg)->buf_id;
	if (number == RMC_IOC_SEG_DEL)
		id = ((const struct rmc_seg_del *)arg)->offset;
	/* first: another thread's new buffer may get the id */
	taken = unlink_memory(d, number, id);
	ret = rmc_daemon_plain(d, number, arg);
	err = errno;
	while ((h = taken)) {
		taken = h->next;
		if (ret < 0 && err != ESHUTDOWN && err != EPROTO)
			link_memory(d, h);
		else
			free_memory(h);
	}
	errno = err;
	return ret;
}

void *rmc_daemon_map_memory(struct rmc_daemon *d, size_t len, uint64_t offset)
{
	struct rmc_daemon_memory *h;

	pthread_mutex_lock(&d->lock);
	for (h = d->memory; h; h = h->next)
		if (h->alloc && (uintptr_t)h->alloc == offset && !h->mapped)
			break;
	if (h && len == rmc_page_round(h->len))
		h->mapped = 1;
	else
		h = NULL;
	pthread_mutex_unlock(&d->lock);
	if (h)
		return (void *)(uintptr_t)offset;
	errno = EINVAL;
	return MAP_FAILED;
}

void rmc_daemon_forget_memory(struct rmc_daemon *d, int asking)
{
	struct rmc_buf_unreg arg = { .size = sizeof(arg) };
	struct rmc_daemon_memory *h;

	while ((h = d->memory)) {
		d->memory = h->next;
		/* on return rmcd does not write to what moves back */
		if (asking && h->request == RMC_IOC_BUF_REG) {
			arg.buf_id = (unsigned int)h->id;
			rmc_daemon_plain(d, RMC_IOC_BUF_UNREG, &arg);
		}
		if (!asking)
			h->mapped = 1;	/* a child has no such mapping */
		free_memory(h);
	}
}
