/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * HERD-like receive buffers: see <rmc/herd.h>.
 *
 * A slot has as many cells as the largest message needs. Both sides count its uses. The
 * first cell of a message is written in every use and shows the use by its phase; the other
 * cells, which short messages leave out, carry the number of the use.
 *
 * Slots have the same numbers, and offsets, on both sides. A copy of the data for the
 * peer's slot is kept until the write is complete.
 *
 * A client may cancel a request. Its slot stays reserved until the response has arrived,
 * because the server writes the response into the slot whatever the client does, or until
 * a read of the server's slot shows that the request never arrived.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <rmc/herd.h>
#include "internal.h"
#include "cell.h"

#define PROBE_INTERVAL_MS	250
#define POLLS_PER_CLOCK		1024
#define TRIES_MAX		8

struct slot {
	uint32_t use;		/* number of the use in progress; client: or of the next */
	uint8_t taken;		/* client: request in progress; server: being served */
	uint8_t cancelled;	/* client: response will be discarded */
	uint8_t writing;
	uint8_t tries;
	int status;		/* of the last write */
	uint32_t len;		/* length of the message, bytes */
};

/* Belongs to one thread: a core of the server, or all of a client */
struct rmc_herd_core {
	struct rmc_herd *herd;
	struct rmc_qp *qp;
	unsigned int first, count;	/* slots */
	unsigned int next;		/* next to poll */
	unsigned int spins;		/* empty polls, for rmc_relax() */
	uint8_t *message;		/* assembled from cells */
	uint32_t *slot_of;		/* per WQ slot */
	struct rmc_cell *probe;
};

struct rmc_herd {
	struct rmc_team *team;
	struct rmc_herd_options o;
	unsigned int clients, cores;	/* cores: 1 on clients */
	int client;			/* our index among them; -1: the server */
	int lost;			/* client: status for which the server was given up */
	int timeout_ms;			/* client: time limit of waits */
	uint64_t *life;			/* of each member: nonce of its incarnation */
	uint64_t next_probe;		/* client: ms, while it waits */
	size_t slot_cells;
	struct slot *slot;
	struct rmc_cell *copy;		/* registered, followed by a line per core for probes */
	size_t local_len;
	int buf_id;
	struct rmc_herd_core *core;
};

static int member_of(const struct rmc_herd *h, unsigned int slot)
{
	int client = (int)(slot % h->o.slots % h->clients);

	if (h->client >= 0)
		return h->o.server;
	return client < h->o.server ? client : client + 1;
}

static int nid_of(const struct rmc_herd *h, unsigned int slot)
{
	return rmc_team_nid(h->team, member_of(h, slot));
}

static uint64_t slot_at(const struct rmc_herd *h, unsigned int slot)
{
	return h->o.at + slot * h->slot_cells * RMC_MSG_CELL;
}

static struct rmc_cell *copy_of(const struct rmc_herd *h, unsigned int slot)
{
	return h->copy + slot * h->slot_cells;
}

static uint32_t first_head(uint32_t use, size_t len)
{
	return rmc_cell_head(!(use & 1), RMC_CELL_PUSH, 0, len);
}

static uint32_t more_head(uint32_t use)
{
	return rmc_cell_head(!(use & 1), RMC_CELL_MORE, use >> 20 & RMC_CELL_CREDITS_MAX,
			     use & RMC_CELL_LENGTH_MAX);
}

/* --- both sides --- */

static int start_write(struct rmc_herd_core *c, unsigned int slot);

/* True if the slot's other side was restarted. */
static int came_back(const struct rmc_herd *h, unsigned int slot)
{
	int member = member_of(h, slot);

	return h->team->met[member] != h->life[member];
}

static int reap(struct rmc_herd_core *c)
{
	struct rmc_herd *h = c->herd;
	struct rmc_completion done;
	int err = 0;

	while (!err && rmc_qp_in_flight(c->qp) && rmc_cq_next(c->qp, &done)) {
		unsigned int slot = c->slot_of[done.slot];
		struct slot *s = &h->slot[slot];

		s->writing = 0;
		s->status = done.status;
		if (done.status == RMC_S_TIMEOUT && ++s->tries < TRIES_MAX && !came_back(h, slot) &&
		    rmc_node_state(h->team->ctx, nid_of(h, slot)) == RMC_NODE_UP)
			err = start_write(c, slot);
	}
	return err;
}

/* There are as many WQ entries as slots, so there is a free one. */
static int start_write(struct rmc_herd_core *c, unsigned int slot)
{
	struct rmc_herd *h = c->herd;
	unsigned int spins = 0;
	int i, err;

	for (;;) {
		i = (int)(c->qp->head & c->qp->mask);
		if (c->qp->slot[i] != RMC_SLOT_BUSY)
			break;
		err = rmc_relax(c->qp, &spins);
		if (!err)
			err = reap(c);
		if (err)
			return err;
	}
	c->slot_of[i] = slot;
	h->slot[slot].writing = 1;
	rmc_write_async(c->qp, i, nid_of(h, slot), h->team->offset + slot_at(h, slot),
			copy_of(h, slot), h->slot[slot].len);
	return 0;
}

static int send(struct rmc_herd_core *c, unsigned int slot, const void *buf, size_t len)
{
	struct rmc_herd *h = c->herd;
	struct slot *s = &h->slot[slot];
	struct rmc_cell *cell = copy_of(h, slot);
	const uint8_t *p = (const uint8_t *)buf;
	unsigned int spins = 0;
	size_t n, left = len;
	int err = 0;

	if (len > h->o.size)
		return -EMSGSIZE;
	while (!err && s->writing) {
		err = reap(c);
		if (!err && s->writing)
			err = rmc_relax(c->qp, &spins);
	}
	if (err)
		return err;
	s->tries = 0;
	s->status = 0;
	cell->head = first_head(s->use, len);
	for (;;) {
		n = left < RMC_MSG_PAYLOAD ? left : RMC_MSG_PAYLOAD;
		if (n)
			memcpy(cell->payload, p, n);
		left -= n;
		p += n;
		cell++;
		if (!left)
			break;
		cell->head = more_head(s->use);
	}
	s->len = (uint32_t)((uint8_t *)cell - (uint8_t *)copy_of(h, slot));
	return start_write(c, slot);
}

/* Length of the message of this use, or -1 if it has not arrived in full */
static int arrived(const struct rmc_herd *h, unsigned int slot, uint32_t use)
{
	const struct rmc_cell *cell = (const struct rmc_cell *)
		(const void *)((const uint8_t *)h->team->seg + slot_at(h, slot));
	uint32_t head = rmc_cell_load(cell);
	size_t len, i;

	if ((head & RMC_CELL_PHASE) != !(use & 1) || rmc_cell_kind(head) != RMC_CELL_PUSH)
		return -1;
	len = rmc_cell_length(head);
	if (len > h->o.size)
		return -1;		/* not a message of ours */
	for (i = 1; i * RMC_MSG_PAYLOAD < len; i++)
		if (rmc_cell_load(&cell[i]) != more_head(use))
			return -1;
	return (int)len;
}

static void copy_out(const struct rmc_herd *h, unsigned int slot, uint8_t *to, size_t len)
{
	const struct rmc_cell *cell = (const struct rmc_cell *)
		(const void *)((const uint8_t *)h->team->seg + slot_at(h, slot));
	size_t n;

	for (; len; len -= n, to += n, cell++) {
		n = len < RMC_MSG_PAYLOAD ? len : RMC_MSG_PAYLOAD;
		memcpy(to, cell->payload, n);
	}
}

/* --- server --- */

struct rmc_herd_core *rmc_herd_core(struct rmc_herd *h, unsigned int core)
{
	return h->client < 0 && core < h->cores ? &h->core[core] : NULL;
}

int rmc_herd_poll(struct rmc_herd_core *c, struct rmc_herd_request *request)
{
	struct rmc_herd *h = c->herd;
	unsigned int i, slot;
	struct slot *s;
	int len, err;

	err = reap(c);
	if (err)
		return err;
	for (i = 0; i < c->count; i++) {
		slot = c->first + (c->next + i) % c->count;
		s = &h->slot[slot];
		if (s->taken)
			continue;
		len = arrived(h, slot, s->use);
		if (len < 0)
			continue;
		copy_out(h, slot, c->message, (size_t)len);
		s->taken = 1;
		c->next = (slot - c->first + 1) % c->count;
		request->data = c->message;
		request->len = (size_t)len;
		request->nid = nid_of(h, slot);
		request->slot = slot;
		return 1;
	}
	/* counts across calls: every RMC_SPINS_PER_CHECK polls check for a dead queue pair */
	return rmc_relax(c->qp, &c->spins);
}

int rmc_herd_reply(struct rmc_herd_core *c, const struct rmc_herd_request *request,
		   const void *buf, size_t len)
{
	struct rmc_herd *h = c->herd;
	unsigned int slot = request->slot;
	int err;

	if (slot < c->first || slot - c->first >= c->count || !h->slot[slot].taken)
		return -EINVAL;
	err = send(c, slot, buf, len);
	if (err)
		return err;
	h->slot[slot].taken = 0;
	h->slot[slot].use++;
	return 0;
}

/* --- client --- */

/* Transient statuses: any other one would also be the next request's */
static int passes(int status)
{
	return status == RMC_S_TIMEOUT || status == RMC_S_ABORTED;
}

/* Read from the server into the probe line; waits until no write is in flight. */
static int read_server(struct rmc_herd *h, uint64_t offset, size_t len)
{
	struct rmc_herd_core *c = h->core;
	unsigned int spins = 0;
	int err = 0;

	while (!err && rmc_qp_in_flight(c->qp)) {
		err = reap(c);
		if (!err)
			err = rmc_relax(c->qp, &spins);
	}
	return err ? err : rmc_read(c->qp, rmc_team_nid(h->team, h->o.server), offset, c->probe,
				    len);
}

/* Check that the server is alive, and is the incarnation that the request was sent to. */
static int probe(struct rmc_herd *h)
{
	uint64_t life;
	int err;

	if (rmc_node_state(h->team->ctx, rmc_team_nid(h->team, h->o.server)) != RMC_NODE_UP)
		return RMC_S_NODE_DOWN;
	err = read_server(h, rmc_team_life_at(h->o.server), sizeof(life));
	if (err == RMC_S_TIMEOUT)
		return 0;
	memcpy(&life, h->core->probe, sizeof(life));
	if (!err && life != h->life[h->o.server])
		err = RMC_S_BAD_CONTEXT;
	return err;
}

static void release(struct slot *s)
{
	s->use++;
	s->taken = 0;
	s->cancelled = 0;
}

/* Free a cancelled request's slot if its response has arrived. 0, status or -errno */
static int reclaim(struct rmc_herd *h, unsigned int slot)
{
	struct slot *s = &h->slot[slot];
	int err = reap(h->core);

	if (err)
		return err;
	if (arrived(h, slot, s->use) >= 0) {
		release(s);
		return 0;
	}
	if (s->writing || rmc_now_ms() < h->next_probe)
		return 0;
	h->next_probe = rmc_now_ms() + PROBE_INTERVAL_MS;
	if (!s->status)
		return probe(h);
	/* the write seems to have failed: read the server's slot to see whether it arrived */
	err = read_server(h, h->team->offset + slot_at(h, slot), sizeof(*h->core->probe));
	if (err)
		return passes(err) ? 0 : err;
	if (h->core->probe->head == copy_of(h, slot)->head) {
		s->status = 0;
	} else {
		/* it did not arrive: the server still waits for this use */
		s->taken = 0;
		s->cancelled = 0;
	}
	return 0;
}

int rmc_herd_post(struct rmc_herd *h, unsigned int core, const void *buf, size_t len,
		  int *ticket)
{
	unsigned int i, slot;
	int err;

	if (h->client < 0 || core >= h->o.cores || (len && !buf))
		return -EINVAL;
	if (len > h->o.size)
		return -EMSGSIZE;
	if (h->lost)
		return h->lost;
	for (i = (unsigned int)h->client; i < h->o.slots; i += h->clients) {
		slot = core * h->o.slots + i;
		if (h->slot[slot].cancelled) {
			err = reclaim(h, slot);
			if (err > 0)
				h->lost = err;
			if (err)
				return err;
		}
		if (h->slot[slot].taken)
			continue;
		err = send(h->core, slot, buf, len);
		if (err)
			return err;
		h->slot[slot].taken = 1;
		*ticket = (int)slot;
		return 0;
	}
	return -EAGAIN;
}

/* The slot of a valid ticket, or NULL */
static struct slot *find(struct rmc_herd *h, int ticket)
{
	struct slot *s;

	if (h->client < 0 || ticket < 0 || (unsigned int)ticket >= h->o.cores * h->o.slots)
		return NULL;
	s = &h->slot[ticket];
	return s->taken && !s->cancelled ? s : NULL;
}

int rmc_herd_wait(struct rmc_herd *h, int ticket, void *buf, size_t size, size_t *len)
{
	uint64_t now, deadline = rmc_deadline(h->timeout_ms);
	unsigned int slot = (unsigned int)ticket, spins = 0, polls = 0;
	struct slot *s = find(h, ticket);
	int n, err = 0;

	if (!s)
		return -EINVAL;
	while ((n = arrived(h, slot, s->use)) < 0) {
		err = reap(h->core);
		if (!err && !s->writing && s->status)
			err = s->status;
		if (!err)
			err = rmc_relax(h->core->qp, &spins);
		if (!err && !(++polls % POLLS_PER_CLOCK)) {
			now = rmc_now_ms();
			/* kept across calls, which may be short */
			if (now >= h->next_probe) {
				err = probe(h);
				h->next_probe = now + PROBE_INTERVAL_MS;
			}
			if (!err && rmc_team_revoked(h->team))
				err = -ECONNABORTED;
			if (!err && deadline && now >= deadline)
				return -ETIMEDOUT;
		}
		if (err) {
			s->cancelled = 1;
			if (err > 0 && !passes(err))
				h->lost = err;
			return err;
		}
	}
	if (len)
		*len = (size_t)n;
	if ((size_t)n > size)
		return -EMSGSIZE;
	copy_out(h, slot, (uint8_t *)buf, (size_t)n);
	release(s);
	return 0;
}

int rmc_herd_cancel(struct rmc_herd *h, int ticket)
{
	struct slot *s = find(h, ticket);

	if (!s)
		return -EINVAL;
	s->cancelled = 1;
	return 0;
}

int rmc_herd_call(struct rmc_herd *h, unsigned int core, const void *request,
		  size_t request_len, void *response, size_t size, size_t *len)
{
	int ticket, err;

	err = rmc_herd_post(h, core, request, request_len, &ticket);
	if (err)
		return err;
	err = rmc_herd_wait(h, ticket, response, size, len);
	/* the caller has no ticket to fetch the response later */
	if (err == -EMSGSIZE)
		release(&h->slot[ticket]);
	if (err == -ETIMEDOUT)
		rmc_herd_cancel(h, ticket);
	return err;
}

void rmc_herd_set_timeout(struct rmc_herd *h, int timeout_ms)
{
	h->timeout_ms = timeout_ms;
}

/* --- restarted members --- */

/* Wait for writes in flight; reap() does not repeat those to earlier incarnations. */
static int settle(struct rmc_herd_core *c)
{
	unsigned int spins = 0;
	int err = 0;

	while (!err && rmc_qp_in_flight(c->qp)) {
		err = reap(c);
		if (!err)
			err = rmc_relax(c->qp, &spins);
	}
	return err;
}

/* True if this core may write the slot: the server any, a client its own. */
static int writes(const struct rmc_herd *h, unsigned int slot)
{
	return h->client < 0 || slot % h->o.slots % h->clients == (unsigned int)h->client;
}

/*
 * Slots shared with restarted members restart at use 0, on both sides. Both sides zero
 * their memory before the barrier that the restarted members wait for: a request or
 * response for an earlier incarnation may have arrived in the new one's memory.
 */
int rmc_herd_rejoin(struct rmc_herd *h)
{
	size_t len = h->slot_cells * RMC_MSG_CELL;
	unsigned int slot, i;
	int err, status = 0;

	for (i = 0; i < h->cores; i++) {
		struct rmc_herd_core *c = &h->core[i];

		err = settle(c);
		for (slot = c->first; !err && slot < c->first + c->count; slot++) {
			if (!writes(h, slot) || !came_back(h, slot))
				continue;
			memset(&h->slot[slot], 0, sizeof(h->slot[slot]));
			memset((uint8_t *)h->team->seg + slot_at(h, slot), 0, len);
			memset(copy_of(h, slot), 0, len);
			h->slot[slot].len = (uint32_t)len;
			err = start_write(c, slot);
		}
		if (!err)
			err = settle(c);
		if (err)
			return err;
	}
	for (slot = 0; slot < h->o.cores * h->o.slots; slot++) {
		if (came_back(h, slot) && h->slot[slot].status && !status)
			status = h->slot[slot].status;
		h->slot[slot].status = 0;
	}
	if (status)
		return status;
	memcpy(h->life, h->team->met, (size_t)h->team->nodes * sizeof(*h->life));
	h->lost = 0;
	return 0;
}

/* --- opening and closing --- */

static int bad_options(const struct rmc_team *t, const struct rmc_herd_options *o)
{
	if (!o->cores || o->cores > 1024 || o->slots < (unsigned int)t->nodes - 1 || !o->slots ||
	    o->slots > 32768 || o->size > RMC_CELL_LENGTH_MAX)
		return rmc_fail(EINVAL, "%u cores, %u slots, %zu bytes: a slot per client, and 1 MiB at most, are needed",
				o->cores, o->slots, o->size);
	if (o->server < 0 || o->server >= t->nodes || t->nodes < 2)
		return rmc_fail(EINVAL, "member %d cannot serve a team of %d", o->server,
				t->nodes);
	if (o->at % RMC_MSG_CELL || o->at > t->len || rmc_herd_bytes(o) > t->len - o->at)
		return rmc_fail(EINVAL, "receive buffers take %zu bytes at %llu, but the segment has %zu",
				rmc_herd_bytes(o), (unsigned long long)o->at, t->len);
	return 0;
}

static int make_core(struct rmc_herd *h, unsigned int i)
{
	unsigned int entries = 2, max = rmc_query(h->team->ctx)->max_entries;
	struct rmc_herd_core *c = &h->core[i];

	c->herd = h;
	c->count = h->client < 0 ? h->o.slots : h->o.slots * h->o.cores;
	c->first = i * c->count;
	c->probe = copy_of(h, h->o.slots * h->o.cores) + i;
	while (entries < c->count && 2 * entries <= max)
		entries *= 2;
	c->message = (uint8_t *)malloc(h->o.size + 1);
	c->slot_of = (uint32_t *)calloc(entries, sizeof(*c->slot_of));
	if (!c->message || !c->slot_of)
		return rmc_fail(ENOMEM, "out of memory");
	c->qp = rmc_qp_create(h->team->ctx, entries);
	return c->qp ? 0 : -errno;
}

static struct rmc_herd *herd_open(struct rmc_team *t, const struct rmc_herd_options *o)
{
	struct rmc_herd *h;
	unsigned int i;
	int err;
	void *p;

	err = bad_options(t, o);
	if (err)
		goto err;
	h = (struct rmc_herd *)calloc(1, sizeof(*h));
	if (!h) {
		err = rmc_fail(ENOMEM, "out of memory");
		goto err;
	}
	h->team = t;
	h->o = *o;
	h->buf_id = -1;
	h->clients = (unsigned int)t->nodes - 1;
	h->timeout_ms = -1;
	h->client = t->self == o->server ? -1 : t->self - (t->self > o->server);
	h->cores = h->client < 0 ? o->cores : 1;
	h->slot_cells = rmc_herd_slot_bytes(o->size) / RMC_MSG_CELL;
	h->local_len = rmc_page_round(rmc_herd_bytes(o) + h->cores * RMC_MSG_CELL);
	h->slot = (struct slot *)calloc((size_t)o->cores * o->slots, sizeof(*h->slot));
	h->life = (uint64_t *)calloc((size_t)t->nodes, sizeof(*h->life));
	h->core = (struct rmc_herd_core *)calloc(h->cores, sizeof(*h->core));
	p = mmap(NULL, h->local_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!h->slot || !h->core || !h->life || p == MAP_FAILED) {
		err = rmc_fail(ENOMEM, "out of memory");
		goto err_close;
	}
	madvise(p, h->local_len, MADV_DONTFORK);
	h->copy = (struct rmc_cell *)p;
	memcpy(h->life, t->met, (size_t)t->nodes * sizeof(*h->life));
	h->buf_id = rmc_buf_register(t->ctx, p, h->local_len);
	err = h->buf_id < 0 ? h->buf_id : 0;
	for (i = 0; !err && i < h->cores; i++)
		err = make_core(h, i);
	if (!err)
		return h;
err_close:
	rmc_herd_close(h);
err:
	errno = -err;
	return NULL;
}

struct rmc_herd *rmc_herd_open_sized(struct rmc_team *team,
				     const struct rmc_herd_options *options, size_t size)
{
	struct rmc_herd_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_HERD_OPTIONS_SIZE_VER0,
			     "herd options") ? NULL : herd_open(team, &o);
}

struct rmc_herd *herd_open_ver0(struct rmc_team *team, const struct rmc_herd_options *options)
	RMC_VER0(rmc_herd_open);
struct rmc_herd *herd_open_ver0(struct rmc_team *team, const struct rmc_herd_options *options)
{
	return rmc_herd_open_sized(team, options, RMC_HERD_OPTIONS_SIZE_VER0);
}

void rmc_herd_close(struct rmc_herd *h)
{
	unsigned int i, spins;

	if (!h)
		return;
	for (i = 0; h->core && i < h->cores; i++) {
		struct rmc_herd_core *c = &h->core[i];

		/* Let the last responses arrive. */
		for (spins = 0; c->qp && !rmc_qp_inherited(c->qp) && rmc_qp_in_flight(c->qp); )
			if (reap(c) || rmc_relax(c->qp, &spins))
				break;
		rmc_qp_destroy(c->qp);
		free(c->message);
		free(c->slot_of);
	}
	if (h->buf_id >= 0)
		rmc_buf_unregister(h->team->ctx, h->buf_id);
	if (h->copy)
		rmc_unmap(h->team->ctx, h->copy, h->local_len);
	free(h->core);
	free(h->slot);
	free(h->life);
	free(h);
}
