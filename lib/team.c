/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Teams: meeting, and barriers.
 *
 * Every member's segment begins with one cache line per member. Member m writes line m of
 * member n, remotely; n itself writes line n, which publishes its nonce. The member's own
 * bytes follow.
 *
 * Meeting. A segment found at a peer may belong to a process of an earlier run that is
 * about to exit, so a successful write to it proves nothing. Each process draws a nonce;
 * member m reads the nonce of n, then writes {m's nonce, n's nonce} to n. m has met n when
 * its line n shows {n's nonce, m's nonce} and n's nonce is the one of m's last successful
 * write: both then know that the other's current incarnation has met them.
 *
 * View. Before a team is used, and again when a restarted member joins it, all members
 * agree on the members and on the round. Each publishes in its own line a hash of all the
 * nonces that it has met, and its last round. A member that sees the same hash in all lines
 * continues from the latest of the rounds. A survivor's round is at least 1, a restarted
 * member's 0, so a restarted member learns that there are survivors.
 *
 * Revocation. A member that gives up writes the current view into its line at every peer.
 * A member that finds the current view revoked does the same before it returns, so the
 * revocation spreads even if the first member dies. A rejoin after it begins another era,
 * which is part of the view, so the old revocation does not apply to the next view.
 * Members of an earlier era, and restarted members, adopt the later era.
 *
 * Barrier. Each member writes its round number to its line at every peer, then
 * waits until all its own lines show that round. The write is one aligned word;
 * it pairs with the acquire load in the waiting loop through the ordering that
 * WQ publication, the fabric and the RRPP give.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include "internal.h"

#define MEET_TIMEOUT_MS		30000
#define MEET_INTERVAL_US	1000
#define SLEEP_INTERVAL_US	1000
#define PROBE_INTERVAL_MS	250	/* between probes of missing members, */
#define PROBE_ASLEEP_MS		1000	/* less often while asleep, to leave the CPU to others */
#define SPINS_PER_CLOCK		1024
#define ANNOUNCE_TRIES		8	/* a node that is down is detected long before */

/* Round first: it becomes visible after the rest of a remotely written line. */
struct rmc_team_line {
	uint64_t round;
	uint64_t nonce;
	uint64_t echo;
	uint64_t view;		/* of the line's own member: see above, View */
	uint64_t from;		/* last round of that member; stored before view */
	uint64_t revoked;	/* view that the writer of the line has revoked */
	uint64_t era;		/* of the line's own member; stored before view */
	uint64_t pad;
};

static uint64_t line_offset(int member)
{
	return (uint64_t)member * sizeof(struct rmc_team_line);
}

uint64_t rmc_team_life_at(int member)
{
	return line_offset(member) + offsetof(struct rmc_team_line, nonce);
}

static int number_from_environment(const char *name, int absent)
{
	const char *s = getenv(name);
	char *end;
	long n;

	if (!s || !*s)
		return absent;
	n = strtol(s, &end, 10);
	if (*end || n < 0 || n > RMC_NID_MAX + 1)
		return rmc_fail(EINVAL, "%s is '%s', not a number of nodes or a node id", name,
				s);
	return (int)n;
}

static int find_members(struct rmc_team *t)
{
	int node;

	t->nodes = number_from_environment("RMC_NODES", 0);
	if (t->nodes < 0)
		return t->nodes;
	if (!t->nodes) {
		t->nodes = 1;
		t->first_nid = rmc_nid(t->ctx);
		return 0;
	}
	node = number_from_environment("RMC_NODE", -1);
	if (node < 0 || node >= t->nodes)
		return rmc_fail(EINVAL, "RMC_NODES is %d but RMC_NODE is not 0 .. %d: start the program with rmc-run",
				t->nodes, t->nodes - 1);
	if (t->nodes > rmc_nodes(t->ctx))
		return rmc_fail(EINVAL, "%d nodes asked for, but the fabric has %d", t->nodes,
				rmc_nodes(t->ctx));
	t->self = node;
	return 0;
}

/* The segment: lines, rounded to a page, then the member's own bytes. */
static int make_segment(struct rmc_team *t, int numa_node)
{
	static const struct rmc_object_layout layout;	/* objects begin with their header */
	int objects = t->flags & RMC_TEAM_OBJECTS, err;

	t->offset = rmc_page_round(line_offset(t->nodes));
	t->total = t->offset + rmc_page_round(t->len);
	t->driver_memory = numa_node >= 0;
	if (t->driver_memory) {
		err = objects ? rmc_seg_alloc_objects(t->ctx, t->total, 0, numa_node, &layout,
						      &t->base)
			      : rmc_seg_alloc(t->ctx, t->total, 0, numa_node, &t->base);
		if (err)
			return err;
	} else {
		t->base = mmap(NULL, t->total, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (t->base == MAP_FAILED) {
			t->base = NULL;
			return rmc_fail(ENOMEM, "no memory for a segment of %zu bytes", t->total);
		}
		madvise(t->base, t->total, MADV_DONTFORK);
		madvise(t->base, t->total, MADV_HUGEPAGE);
	}
	t->line = (struct rmc_team_line *)t->base;
	t->seg = (char *)t->base + t->offset;
	t->line[t->self].nonce = t->nonce;
	if (t->driver_memory)
		return 0;
	return objects ? rmc_seg_register_objects(t->ctx, t->base, t->total, 0, &layout)
		       : rmc_seg_register(t->ctx, t->base, t->total, 0);
}

static int make_out(struct rmc_team *t)
{
	size_t len = rmc_page_round(2 * sizeof(*t->out));
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int id;

	if (p == MAP_FAILED)
		return rmc_fail(ENOMEM, "out of memory");
	madvise(p, len, MADV_DONTFORK);
	t->out = (struct rmc_team_line *)p;
	id = rmc_buf_register(t->ctx, p, len);
	return id < 0 ? id : 0;
}

/* One round with one peer: 1 when we have met, 0 not yet, or -errno */
static int meet(struct rmc_team *t, int peer, int *status)
{
	struct rmc_team_line *out = &t->out[0], *in = &t->out[1];
	struct rmc_team_line *mine = &t->line[peer];
	int nid = rmc_team_nid(t, peer);

	*status = rmc_read(t->qp, nid, line_offset(peer), in, sizeof(*in));
	if (*status)
		return *status < 0 ? *status : 0;
	out->round = 1;
	out->nonce = t->nonce;
	out->echo = in->nonce;
	*status = rmc_write(t->qp, nid, line_offset(t->self), out,
			    offsetof(struct rmc_team_line, view));
	if (*status)
		return *status < 0 ? *status : 0;

	if (rmc_load_acquire(&mine->round) < 1 || !out->echo ||
	    rmc_load_relaxed(&mine->nonce) != out->echo ||
	    rmc_load_relaxed(&mine->echo) != t->nonce)
		return 0;
	t->met[peer] = out->echo;
	return 1;
}

/* The peer is the incarnation that we have met: no write is needed. */
static int met_before(struct rmc_team *t, int peer)
{
	return t->met[peer] &&
	       !rmc_read(t->qp, rmc_team_nid(t, peer), line_offset(peer), &t->out[1],
			 sizeof(t->out[1])) &&
	       t->out[1].nonce == t->met[peer];
}

static int meet_all(struct rmc_team *t, unsigned int timeout_ms, uint64_t deadline)
{
	int met = 0, peer, status = 0, err;
	unsigned char *known;

	known = (unsigned char *)calloc((size_t)t->nodes, 1);
	if (!known)
		return rmc_fail(ENOMEM, "out of memory");
	known[t->self] = 1;
	for (peer = 0; peer < t->nodes; peer++)
		known[peer] |= met_before(t, peer);
	for (peer = 0; peer < t->nodes; peer++)
		met += known[peer];
	while (met < t->nodes) {
		int last = -1, last_status = 0;

		for (peer = 0; peer < t->nodes; peer++) {
			if (known[peer])
				continue;
			err = meet(t, peer, &status);
			if (err < 0) {
				rmc_fail(-err, "meeting node %d: %s", rmc_team_nid(t, peer),
					 rmc_strerror(err));
				goto out;
			}
			if (err > 0) {
				known[peer] = 1;
				met++;
			} else {
				last = peer;
				last_status = status;
			}
		}
		if (last < 0)
			break;
		if (rmc_now_ms() > deadline) {
			int nid = rmc_team_nid(t, last);

			err = rmc_fail(ETIMEDOUT, "node %d did not come within %u s "
				       "(node is %s%s%s): does the program run there?",
				       nid, timeout_ms / 1000,
				       rmc_node_state_name(rmc_node_state(t->ctx, nid)),
				       last_status ? "; " : "",
				       last_status ? rmc_strerror(last_status) : "");
			goto out;
		}
		usleep(MEET_INTERVAL_US);
	}
	err = 0;
out:
	free(known);
	return err;
}

static uint64_t view_of(const struct rmc_team *t)
{
	uint64_t view = 0xcbf29ce484222325 + t->era;
	int i;

	for (i = 0; i < t->nodes; i++)
		view = (view ^ (i == t->self ? t->nonce : t->met[i])) * 0x100000001b3;
	return view ? view : 1;
}

/* Agree on the latest round of all; -EAGAIN: a member was restarted meanwhile */
static int agree(struct rmc_team *t, uint64_t deadline)
{
	struct rmc_team_line *in = &t->out[1], *own = &t->line[t->self];
	uint64_t view = view_of(t), latest = t->round;
	int peer, err;

	own->from = t->round;
	own->era = t->era;
	rmc_store_release(&own->view, view);
	for (peer = 0; peer < t->nodes; peer++) {
		if (peer == t->self)
			continue;
		for (;;) {
			err = rmc_read(t->qp, rmc_team_nid(t, peer), line_offset(peer), in,
				       sizeof(*in));
			if (err < 0)
				return err;
			if (!err && in->view == view)
				break;
			if (err || in->nonce != t->met[peer])
				return -EAGAIN;
			if (in->era > t->era) {
				t->era = in->era;
				return -EAGAIN;
			}
			if (rmc_now_ms() > deadline)
				return rmc_fail(ETIMEDOUT, "node %d does not go on with this team",
						rmc_team_nid(t, peer));
			usleep(MEET_INTERVAL_US);
		}
		if (in->from > latest)
			latest = in->from;
	}
	t->rejoined |= !t->round && latest;
	t->round = latest ? latest : 1;
	t->view = view;
	t->pending = 0;
	return 0;
}

static int join(struct rmc_team *t, unsigned int timeout_ms)
{
	uint64_t deadline;
	int err;

	if (!timeout_ms)
		timeout_ms = MEET_TIMEOUT_MS;
	deadline = rmc_now_ms() + timeout_ms;
	do {
		err = meet_all(t, timeout_ms, deadline);
		if (!err)
			err = agree(t, deadline);
	} while (err == -EAGAIN);
	return err;
}

static struct rmc_team *open_with(const struct rmc_team_options *options, size_t len)
{
	struct rmc_team *t = (struct rmc_team *)calloc(1, sizeof(*t));
	int err;

	if (!t) {
		rmc_set_errmsg("out of memory");
		return NULL;
	}
	t->len = len;
	t->flags = options->flags;
	while (!t->nonce) {
		if (getrandom(&t->nonce, sizeof(t->nonce), 0) < 0)
			t->nonce = (uint64_t)getpid() ^ rmc_now_ms() << 32;
	}

	t->ctx = rmc_open(options->ctx_id, -1);
	if (!t->ctx) {
		err = -errno;
		goto err;
	}
	err = find_members(t);
	if (err)
		goto err;
	t->qp = rmc_qp_create(t->ctx, options->entries);
	if (!t->qp) {
		err = -errno;
		goto err;
	}
	err = make_out(t);
	if (err)
		goto err;
	err = make_segment(t, options->numa_node);
	if (err)
		goto err;
	t->met = (uint64_t *)calloc((size_t)t->nodes, sizeof(*t->met));
	err = t->met ? join(t, options->timeout_ms) : rmc_fail(ENOMEM, "out of memory");
	if (err)
		goto err;
	rmc_log(INFO, "team of %d: member %d, %zu bytes each%s", t->nodes, t->self, len,
		t->rejoined ? ", rejoined" : "");
	return t;
err:
	rmc_team_close(t);
	errno = -err;
	return NULL;
}

struct rmc_team *rmc_team_open_sized(const struct rmc_team_options *options, size_t size,
				     size_t len)
{
	struct rmc_team_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_TEAM_OPTIONS_SIZE_VER0,
			     "team options") ? NULL : open_with(&o, len);
}

struct rmc_team *team_open_ver0(const struct rmc_team_options *options, size_t len)
	RMC_VER0(rmc_team_open_with);
struct rmc_team *team_open_ver0(const struct rmc_team_options *options, size_t len)
{
	return rmc_team_open_sized(options, RMC_TEAM_OPTIONS_SIZE_VER0, len);
}

struct rmc_team *rmc_team_open(unsigned int ctx_id, size_t len)
{
	struct rmc_team_options options = { .ctx_id = ctx_id, .numa_node = -1 };

	return rmc_team_open_with(&options, len);
}

void rmc_team_close(struct rmc_team *t)
{
	int inherited;

	if (!t)
		return;
	inherited = t->ctx && rmc_ctx_inherited(t->ctx);
	rmc_close(t->ctx);
	if (t->base && !t->driver_memory && !inherited)
		munmap(t->base, t->total);
	if (t->out && !inherited)
		munmap(t->out, rmc_page_round(2 * sizeof(*t->out)));
	free(t->met);
	free(t);
}

/*
 * Write a word of our line to all peers. The write is idempotent, so it is repeated for a
 * peer that did not answer in time, as long as its node is up.
 */
static int write_all(struct rmc_team *t, const uint64_t *word, size_t at)
{
	int peer, slot, err, tries = 0;

	do {
		for (peer = 0; peer < t->nodes; peer++) {
			if (peer == t->self)
				continue;
			slot = rmc_wait_for_slot(t->qp, NULL);
			if (slot < 0)
				return slot;
			rmc_write_async(t->qp, slot, rmc_team_nid(t, peer),
					line_offset(t->self) + at, word, sizeof(*word));
		}
		err = rmc_drain_cq(t->qp, NULL);
	} while (err == RMC_S_TIMEOUT && ++tries < ANNOUNCE_TRIES);
	return err;
}

static int announce(struct rmc_team *t)
{
	t->out[0].round = t->round;
	return write_all(t, &t->out[0].round, offsetof(struct rmc_team_line, round));
}

int rmc_team_revoked(const struct rmc_team *t)
{
	int member;

	if (!t->view)
		return 1;
	for (member = 0; member < t->nodes; member++)
		if (rmc_load_acquire(&t->line[member].revoked) == t->view)
			return 1;
	return 0;
}

int rmc_team_revoke(struct rmc_team *t)
{
	if (rmc_qp_in_flight(t->qp))
		return -EBUSY;
	rmc_store_release(&t->line[t->self].revoked, t->view);
	t->out[0].revoked = t->view;
	return write_all(t, &t->out[0].revoked, offsetof(struct rmc_team_line, revoked));
}

/* Pass the revocation on, once; errors of members that are gone are ignored. */
static int aborted(struct rmc_team *t)
{
	if (t->view && t->line[t->self].revoked != t->view)
		rmc_team_revoke(t);
	return rmc_fail(ECONNABORTED, "a member has revoked the team");
}

static int first_missing(const struct rmc_team *t, int from)
{
	int peer;

	for (peer = from; peer < t->nodes; peer++)
		if (peer != t->self && rmc_load_acquire(&t->line[peer].round) < t->round)
			break;
	return peer;
}

/*
 * A member that has not arrived cannot have left regularly: if it is gone, it died. One that
 * does not answer in time may be slow; its node's heartbeat decides.
 */
static int probe(struct rmc_team *t, int peer)
{
	int nid = rmc_team_nid(t, peer);
	int err;

	if (rmc_node_state(t->ctx, nid) != RMC_NODE_UP) {
		err = RMC_S_NODE_DOWN;
	} else {
		err = rmc_read(t->qp, nid, line_offset(peer), &t->out[1], sizeof(t->out[1]));
		if (!err && t->out[1].nonce != t->met[peer])
			err = RMC_S_BAD_CONTEXT;
	}
	if (err && err != RMC_S_TIMEOUT && first_missing(t, peer) == peer)
		return err;
	return 0;
}

static int timed_out(struct rmc_team *t, int missing)
{
	t->pending = 1;
	return rmc_fail(ETIMEDOUT, "node %d did not come to the barrier in time",
			rmc_team_nid(t, missing));
}

int rmc_team_barrier_for(struct rmc_team *t, unsigned int flags, int timeout_ms)
{
	uint64_t deadline = rmc_deadline(timeout_ms);
	unsigned int interval = flags & RMC_TEAM_SLEEP ? PROBE_ASLEEP_MS : PROBE_INTERVAL_MS;
	unsigned int spins = 0;
	uint64_t now;
	int missing, peer, err;

	if (rmc_qp_in_flight(t->qp))
		return -EBUSY;
	if (rmc_team_revoked(t))
		return aborted(t);
	if (!t->pending) {
		t->round++;
		t->next_probe = rmc_now_ms() + interval;
	}
	t->pending = 0;
	err = announce(t);
	if (err)
		return err;

	for (missing = first_missing(t, 0); missing < t->nodes;
	     missing = first_missing(t, missing)) {
		if (flags & RMC_TEAM_SLEEP) {
			usleep(SLEEP_INTERVAL_US);
		} else {
			err = rmc_relax(t->qp, &spins);
			if (err)
				return err;
			if (spins % SPINS_PER_CLOCK)
				continue;
		}
		/* if all have arrived, the barrier succeeds despite the revocation */
		if (rmc_team_revoked(t) && first_missing(t, missing) < t->nodes)
			return aborted(t);
		now = rmc_now_ms();
		if (now < t->next_probe) {
			if (deadline && now >= deadline)
				return timed_out(t, missing);
			continue;
		}
		for (peer = missing; peer < t->nodes; peer = first_missing(t, peer + 1)) {
			err = probe(t, peer);
			if (err)
				return err;
		}
		t->next_probe = rmc_now_ms() + interval;
	}
	return 0;
}

int rmc_team_barrier_with(struct rmc_team *t, unsigned int flags)
{
	return rmc_team_barrier_for(t, flags, -1);
}

int rmc_team_barrier(struct rmc_team *t)
{
	return rmc_team_barrier_with(t, t->flags);
}

int rmc_team_rejoin(struct rmc_team *t, unsigned int timeout_ms)
{
	if (rmc_qp_in_flight(t->qp))
		return -EBUSY;
	if (t->view && rmc_team_revoked(t)) {
		if (t->line[t->self].revoked != t->view)
			rmc_team_revoke(t);
		/* once: a second attempt continues where the first one ended */
		t->view = 0;
		t->era++;
	}
	return join(t, timeout_ms);
}
