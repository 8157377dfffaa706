/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Collectives: see <rmc/coll.h>.
 *
 * Every member's segment has two halves of one chunk per member; member m writes chunk m.
 * Rounds alternate between the halves: a member that writes for round r + 2 has passed the
 * barrier of round r + 1, which every member enters only after it has read its half
 * of round r. Writes are complete, and so visible, before their writer enters the
 * barrier.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <rmc/coll.h>
#include "internal.h"

#define TRIES_MAX	8	/* of writes without reply; a down node is detected earlier */
#define ALL		(-1)	/* destination */

struct rmc_coll {
	struct rmc_team *team;
	uint64_t at;		/* of the halves in team->seg */
	size_t chunk;
	uint64_t round;
	uint8_t *out;		/* registered: source of the writes, a chunk per member */
	size_t out_len;
	int buf_id;
	int status;		/* not 0: reason why all further calls fail */
	int timeout_ms;
	uint64_t deadline;	/* of the operation in progress */
};

struct rmc_coll *rmc_coll_open(struct rmc_team *team, uint64_t at, size_t chunk)
{
	size_t need = rmc_coll_bytes(team->nodes, chunk);
	struct rmc_coll *c;
	void *p;

	if (!chunk || chunk % RMC_CACHE_LINE || at % RMC_CACHE_LINE ||
	    chunk > RMC_LENGTH_MAX || at > team->len || need > team->len - at) {
		rmc_fail(EINVAL, "chunks of %zu bytes at %llu: multiples of %d are needed, and %zu bytes of %zu",
			 chunk, (unsigned long long)at, RMC_CACHE_LINE, need, team->len);
		return NULL;
	}
	c = (struct rmc_coll *)calloc(1, sizeof(*c));
	if (!c) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	c->team = team;
	c->at = at;
	c->chunk = chunk;
	c->timeout_ms = -1;
	c->out_len = rmc_page_round((size_t)team->nodes * chunk);
	p = mmap(NULL, c->out_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		rmc_fail(ENOMEM, "out of memory");
		goto err_free;
	}
	madvise(p, c->out_len, MADV_DONTFORK);
	c->out = (uint8_t *)p;
	c->buf_id = rmc_buf_register(team->ctx, p, c->out_len);
	if (c->buf_id < 0) {
		errno = -c->buf_id;
		goto err_unmap;
	}
	return c;

err_unmap:
	munmap(p, c->out_len);
err_free:
	free(c);
	return NULL;
}

void rmc_coll_close(struct rmc_coll *c)
{
	if (!c)
		return;
	rmc_buf_unregister(c->team->ctx, c->buf_id);
	rmc_unmap(c->team->ctx, c->out, c->out_len);
	free(c);
}

void rmc_coll_set_timeout(struct rmc_coll *c, int timeout_ms)
{
	c->timeout_ms = timeout_ms;
}

/* Chunk of a member in this round's half, from the beginning of team->seg */
static uint64_t chunk_at(const struct rmc_coll *c, int member)
{
	return c->at + ((c->round & 1) * (uint64_t)c->team->nodes + (uint64_t)member) * c->chunk;
}

static const uint8_t *from(const struct rmc_coll *c, int member)
{
	return (const uint8_t *)c->team->seg + chunk_at(c, member);
}

/* Write len bytes to one peer or to all; source: a chunk per peer, or always the first. */
static int write_out(struct rmc_coll *c, int to, size_t len, int chunk_each)
{
	struct rmc_team *t = c->team;
	int peer, slot, err, tries = 0;

	do {
		for (peer = 0; peer < t->nodes; peer++) {
			const uint8_t *data = c->out + (chunk_each ? peer * c->chunk : 0);

			if (to != ALL && to != peer)
				continue;
			if (peer == t->self) {
				memcpy((uint8_t *)t->seg + chunk_at(c, peer), data, len);
				continue;
			}
			slot = rmc_wait_for_slot(t->qp, NULL);
			if (slot < 0)
				return slot;
			rmc_write_async(t->qp, slot, rmc_team_nid(t, peer),
					t->offset + chunk_at(c, t->self), data, len);
		}
		err = rmc_drain_cq(t->qp, NULL);
	} while (err == RMC_S_TIMEOUT && ++tries < TRIES_MAX);
	return err;
}

/* One round: write (nothing if len is 0), then the barrier. */
static int exchange(struct rmc_coll *c, int to, size_t len, int chunk_each)
{
	int err = c->status;

	if (err)
		return err;
	if (rmc_qp_in_flight(c->team->qp))
		return -EBUSY;
	if (len)
		err = write_out(c, to, len, chunk_each);
	if (!err)
		err = rmc_team_barrier_for(c->team, c->team->flags,
					   rmc_deadline_left(c->deadline));
	c->status = err;
	if (err == -ETIMEDOUT) {
		/* a member that cannot be notified is not waiting for us */
		rmc_team_revoke(c->team);
		c->status = -ECONNABORTED;
	}
	return err;
}

static void begin(struct rmc_coll *c)
{
	c->deadline = rmc_deadline(c->timeout_ms);
}

static int bad_member(const struct rmc_coll *c, int member)
{
	return member < 0 || member >= c->team->nodes;
}

int rmc_coll_bcast(struct rmc_coll *c, int root, void *buf, size_t len)
{
	uint8_t *p = (uint8_t *)buf;
	size_t n;
	int err;

	if (bad_member(c, root))
		return -EINVAL;
	begin(c);
	do {
		n = len < c->chunk ? len : c->chunk;
		if (c->team->self == root && n)
			memcpy(c->out, p, n);
		err = exchange(c, ALL, c->team->self == root ? n : 0, 0);
		if (err)
			return err;
		if (c->team->self != root && n)
			memcpy(p, from(c, root), n);
		c->round++;
		p += n;
		len -= n;
	} while (len);
	return 0;
}

#define COMBINE(type)						\
static type combine_##type(type a, type b, enum rmc_coll_op op)	\
{								\
	switch (op) {						\
	case RMC_MIN:						\
		return b < a ? b : a;				\
	case RMC_MAX:						\
		return b > a ? b : a;				\
	default:						\
		return a + b;					\
	}							\
}

COMBINE(uint64_t)
COMBINE(double)

/* Element i of out combines element i of all members' chunks, in their order. */
static void combine(const struct rmc_coll *c, uint8_t *out, size_t count,
		    enum rmc_coll_type type, enum rmc_coll_op op)
{
	size_t i;
	int m;

	for (i = 0; i < count; i++, out += 8) {
		union { uint64_t u; double d; } a, b;

		memcpy(&a, from(c, 0) + 8 * i, 8);
		for (m = 1; m < c->team->nodes; m++) {
			memcpy(&b, from(c, m) + 8 * i, 8);
			if (type == RMC_DOUBLE)
				a.d = combine_double(a.d, b.d, op);
			else
				a.u = combine_uint64_t(a.u, b.u, op);
		}
		memcpy(out, &a, 8);
	}
}

static int reduce(struct rmc_coll *c, int to, const void *in, void *out, size_t count,
		  enum rmc_coll_type type, enum rmc_coll_op op)
{
	const uint8_t *p = (const uint8_t *)in;
	uint8_t *q = (uint8_t *)out;
	size_t n;
	int err;

	if ((unsigned int)type > RMC_DOUBLE || (unsigned int)op > RMC_MAX)
		return -EINVAL;
	begin(c);
	do {
		n = count < c->chunk / 8 ? count : c->chunk / 8;
		if (n)
			memcpy(c->out, p, 8 * n);
		err = exchange(c, to, 8 * n, 0);
		if (err)
			return err;
		if (to == ALL || to == c->team->self) {
			combine(c, q, n, type, op);
			q += 8 * n;
		}
		c->round++;
		p += 8 * n;
		count -= n;
	} while (count);
	return 0;
}

int rmc_coll_reduce(struct rmc_coll *c, int root, const void *in, void *out, size_t count,
		    enum rmc_coll_type type, enum rmc_coll_op op)
{
	return bad_member(c, root) ? -EINVAL : reduce(c, root, in, out, count, type, op);
}

int rmc_coll_allreduce(struct rmc_coll *c, const void *in, void *out, size_t count,
		       enum rmc_coll_type type, enum rmc_coll_op op)
{
	return reduce(c, ALL, in, out, count, type, op);
}

int rmc_coll_alltoall(struct rmc_coll *c, const void *in, void *out, size_t len)
{
	size_t done = 0, n;
	int m, err;

	begin(c);
	do {
		n = len - done < c->chunk ? len - done : c->chunk;
		for (m = 0; n && m < c->team->nodes; m++)
			memcpy(c->out + m * c->chunk,
			       (const uint8_t *)in + m * len + done, n);
		err = exchange(c, ALL, n, 1);
		if (err)
			return err;
		for (m = 0; n && m < c->team->nodes; m++)
			memcpy((uint8_t *)out + m * len + done, from(c, m), n);
		c->round++;
		done += n;
	} while (done < len);
	return 0;
}
