/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Opens and closes messages. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include "state.h"

size_t rmc_msg_local_bytes(int nodes, unsigned int cells)
{
	return (size_t)nodes * (sizeof(struct local) + (size_t)cells * RMC_MSG_CELL) +
	       (size_t)BOUNCES * BOUNCE_BYTES;
}

static void free_msg(struct rmc_msg *m)
{
	int i;

	for (i = 0; m->peer && i < m->raw.nodes; i++)
		free(m->peer[i].busy);
	free(m->peer);
	free(m->op);
	free(m->retry);
	free(m);
}

static int make_peers(struct rmc_msg *m)
{
	uint8_t *local = (uint8_t *)m->raw.local, *seg = (uint8_t *)m->raw.seg;
	int i;

	for (i = 0; i < m->raw.nodes; i++) {
		struct peer *p = &m->peer[i];
		uint8_t *at = seg + (line_offset(m, i) - m->raw.offset);

		p->nid = m->raw.first_nid + i;
		p->busy = (uint8_t *)calloc(m->cells, 1);
		if (!p->busy)
			return rmc_fail(ENOMEM, "out of memory");
		p->line = (const struct line *)(void *)at;
		p->ring = (const struct rmc_cell *)(void *)(at + RMC_MSG_CELL);
		p->local = (struct local *)(void *)local;
		p->copy = (struct rmc_cell *)(void *)(local + sizeof(struct local));
		local += sizeof(struct local) + (size_t)m->cells * RMC_MSG_CELL;
	}
	m->bounce = local;
	return 0;
}

/* Write our nonce into our line at each peer, so that a probe recognizes the line. */
static int sign_all(struct rmc_msg *m)
{
	int i, err;

	for (i = 0; i < m->raw.nodes; i++) {
		err = rmc_msg_sign(m, &m->peer[i]);
		if (err)
			return err;
	}
	return rmc_msg_drain(m);
}

/* In a team that continues: the others know an earlier incarnation of us. */
static int admit_all(struct rmc_msg *m)
{
	int i, err;

	for (i = 0; i < m->raw.nodes; i++) {
		if (i == m->raw.self)
			continue;
		err = rmc_msg_admit(m, &m->peer[i], 0, 0);
		if (err)
			return err;
	}
	return 0;
}

static int bad_options(const struct rmc_msg_raw *raw, const struct rmc_msg_options *o)
{
	size_t need = rmc_msg_bytes(raw->nodes, o->cells);

	if (o->cells < RMC_MSG_CELLS_MIN || o->cells > RMC_MSG_CELLS_MAX ||
	    o->cells & (o->cells - 1))
		return rmc_fail(EINVAL, "%u cells: a power of two, %d .. %d, is needed", o->cells,
				RMC_MSG_CELLS_MIN, RMC_MSG_CELLS_MAX);
	if (o->at % RMC_MSG_CELL || (raw->offset + o->at) % RMC_MSG_CELL)
		return rmc_fail(EINVAL, "message buffers must begin at a multiple of %d",
				RMC_MSG_CELL);
	if (o->at > raw->seg_len || need > raw->seg_len - o->at)
		return rmc_fail(EINVAL, "message buffers of %d nodes take %zu bytes at %llu, but the segment has %zu",
				raw->nodes, need, (unsigned long long)o->at, raw->seg_len);
	return 0;
}

static struct rmc_msg *open_raw(const struct rmc_msg_raw *raw, const struct rmc_msg_options *o)
{
	struct rmc_msg *m;
	int err = bad_options(raw, o);

	if (err) {
		errno = -err;
		return NULL;
	}
	m = (struct rmc_msg *)calloc(1, sizeof(*m));
	if (!m) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	m->raw = *raw;
	m->qp = raw->qp;
	m->region = raw->offset + o->at;
	m->cells = o->cells;
	m->mask = o->cells - 1;
	m->threshold = o->threshold;
	m->buf_id = -1;
	m->next_probe = rmc_msg_now_ms() + PROBE_INTERVAL_MS;
	while (!m->nonce)
		if (getrandom(&m->nonce, sizeof(m->nonce), 0) < 0)
			m->nonce = rmc_msg_now_ms() << 20 | (uintptr_t)m;
	m->peer = (struct peer *)calloc((size_t)raw->nodes, sizeof(*m->peer));
	m->op = (struct op *)calloc(m->qp->entries, sizeof(*m->op));
	m->retry = (struct op *)calloc(m->qp->entries, sizeof(*m->retry));
	err = m->peer && m->op && m->retry ? make_peers(m) : rmc_fail(ENOMEM, "out of memory");
	if (!err)
		err = sign_all(m);
	if (!err && raw->rejoin)
		err = admit_all(m);
	if (err) {
		rmc_fail(-err, "cannot open message buffers: %s", rmc_strerror(err));
		free_msg(m);
		return NULL;
	}
	return m;
}

static int team_node_state(void *arg, int nid)
{
	return rmc_node_state(((struct rmc_team *)arg)->ctx, nid);
}

static struct rmc_msg *open_with(struct rmc_team *team, const struct rmc_msg_options *o)
{
	size_t len = rmc_page_round(rmc_msg_local_bytes(team->nodes, o->cells));
	struct rmc_msg_raw raw = {
		.nodes = team->nodes,
		.self = team->self,
		.first_nid = rmc_team_nid(team, 0),
		.seg = team->seg,
		.seg_len = team->len,
		.offset = team->offset,
		.max_length = rmc_query(team->ctx)->max_length,
		.node_state = team_node_state,
		.arg = team,
		.rejoin = team->rejoined,
	};
	struct rmc_msg *m;
	int id, err;

	err = bad_options(&raw, o);
	if (err)
		goto err;
	raw.qp = rmc_qp_create(team->ctx, o->entries);
	if (!raw.qp) {
		err = -errno;
		goto err;
	}
	raw.local = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (raw.local == MAP_FAILED) {
		err = rmc_fail(ENOMEM, "out of memory");
		goto err_qp;
	}
	madvise(raw.local, len, MADV_DONTFORK);
	id = rmc_buf_register(team->ctx, raw.local, len);
	if (id < 0) {
		err = id;
		goto err_unmap;
	}
	m = open_raw(&raw, o);
	if (!m) {
		err = -errno;
		goto err_unregister;
	}
	m->team = team;
	m->buf_id = id;
	m->local_len = len;
	return m;

err_unregister:
	rmc_qp_destroy(raw.qp);
	raw.qp = NULL;
	rmc_buf_unregister(team->ctx, id);
err_unmap:
	munmap(raw.local, len);
err_qp:
	rmc_qp_destroy(raw.qp);
err:
	errno = -err;
	return NULL;
}

/* --- callers of any version, see <rmc/abi.h> --- */

struct rmc_msg *rmc_msg_open_raw_sized(const struct rmc_msg_raw *raw, size_t raw_size,
				       const struct rmc_msg_options *options, size_t size)
{
	struct rmc_msg_options o;
	struct rmc_msg_raw r;

	if (rmc_struct_in(&r, sizeof(r), raw, raw_size, RMC_MSG_RAW_SIZE_VER0, "raw messages") ||
	    rmc_struct_in(&o, sizeof(o), options, size, RMC_MSG_OPTIONS_SIZE_VER0,
			  "message options"))
		return NULL;
	return open_raw(&r, &o);
}

struct rmc_msg *rmc_msg_open_sized(struct rmc_team *team, const struct rmc_msg_options *options,
				   size_t size)
{
	struct rmc_msg_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_MSG_OPTIONS_SIZE_VER0,
			     "message options") ? NULL : open_with(team, &o);
}

void rmc_msg_defaults_sized(struct rmc_msg_options *o, size_t size)
{
	struct rmc_msg_options defaults = {
		.cells = RMC_MSG_CELLS,
		.threshold = RMC_MSG_THRESHOLD,
	};

	rmc_struct_out(o, size, &defaults, sizeof(defaults));
}

struct rmc_msg *msg_open_raw_ver0(const struct rmc_msg_raw *raw,
				  const struct rmc_msg_options *options)
	RMC_VER0(rmc_msg_open_raw);
struct rmc_msg *msg_open_raw_ver0(const struct rmc_msg_raw *raw,
				  const struct rmc_msg_options *options)
{
	return rmc_msg_open_raw_sized(raw, RMC_MSG_RAW_SIZE_VER0, options,
				      RMC_MSG_OPTIONS_SIZE_VER0);
}

struct rmc_msg *msg_open_ver0(struct rmc_team *team, const struct rmc_msg_options *options)
	RMC_VER0(rmc_msg_open_with);
struct rmc_msg *msg_open_ver0(struct rmc_team *team, const struct rmc_msg_options *options)
{
	return rmc_msg_open_sized(team, options, RMC_MSG_OPTIONS_SIZE_VER0);
}

void msg_defaults_ver0(struct rmc_msg_options *o) RMC_VER0(rmc_msg_defaults);
void msg_defaults_ver0(struct rmc_msg_options *o)
{
	rmc_msg_defaults_sized(o, RMC_MSG_OPTIONS_SIZE_VER0);
}

void rmc_msg_close(struct rmc_msg *m)
{
	if (!m)
		return;
	if (!rmc_qp_inherited(m->qp))
		rmc_msg_drain(m);
	if (m->team) {
		rmc_qp_destroy(m->qp);
		rmc_buf_unregister(m->team->ctx, m->buf_id);
		rmc_unmap(m->team->ctx, m->raw.local, m->local_len);
	}
	free_msg(m);
}

void rmc_msg_set_threshold(struct rmc_msg *m, size_t threshold)
{
	m->threshold = threshold;
}
