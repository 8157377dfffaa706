/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The latches of a node's objects, for those who ask by message (<rmc/latch.h>):
 *
 *	bucket[] --> object: offset, readers, writer --.
 *	                 ^                             v
 *	client[] ------> hold: token, object --> hold --> ...
 *	by node and client
 *
 * An object is there while somebody holds it. All memory is there from the beginning, and each
 * node has holds of its own: a node that keeps as many as it can takes no room from others. Buckets
 * depend on a random number, so nobody can choose offsets of one bucket. What a request costs
 * depends on the holds of the same client, and on no other node.
 *
 * Requests that come late, or twice. The holds of a client are found by their tokens, so a request
 * for one that is there has no further effect. A token whose hold has ended, or that was refused, must
 * not begin again, as nobody would end it: of the last LATCH_WINDOW tokens up to the newest one a bit
 * says which have ended, and older ones begin no more. So it is enough to release a token once more when
 * nobody knows what has become of it. Another bit says which hold was ended by somebody else: its
 * holder is told when it releases it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include "../internal.h"
#include "request.h"

#define HOLDS_DEFAULT	128
#define HOLDS_MAX	4096		/* a request looks at those of one client: not for long */
#define CLIENTS_DEFAULT	256
#define NONE		(~0U)		/* no index */

struct hold {
	uint64_t token;
	uint32_t object;
	uint32_t next;			/* of its client, or free */
	uint8_t client;			/* among those of its node */
	uint8_t writes;
	uint8_t left;			/* its node is dead */
};

struct object {
	uint64_t offset;
	uint32_t readers;
	uint32_t writer;		/* its hold, or NONE */
	uint32_t next;			/* in its bucket, or free */
};

struct client {
	uint64_t newest;		/* token */
	uint64_t ended;			/* bit i: token newest - i has */
	uint64_t taken;			/* ... as it was taken for dead, or taken over */
	uint32_t holds;			/* the first one, or NONE */
};

struct rmc_latch_server {
	struct rmc_latch_server_options o;
	uint64_t seed;
	struct hold *hold;		/* of node n from n * o.holds on */
	struct object *object;
	struct client *client;		/* of node n from n * o.clients on */
	uint32_t *free_hold;		/* by node */
	uint8_t *dead;			/* by node: until rmc_latch_server_alive() */
	uint32_t *bucket;
	uint32_t free_object, mask;
	struct rmc_latch_server_stats stats;
};

/* --- objects --- */

static uint32_t *bucket_of(const struct rmc_latch_server *s, uint64_t offset)
{
	uint64_t h = (offset ^ s->seed) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 29 ^ s->seed >> 32) * 0xbf58476d1ce4e5b9ULL;
	return &s->bucket[(h >> 32) & s->mask];
}

static struct object *find_object(const struct rmc_latch_server *s, uint64_t offset)
{
	uint32_t i = *bucket_of(s, offset);

	while (i != NONE && s->object[i].offset != offset)
		i = s->object[i].next;
	return i == NONE ? NULL : &s->object[i];
}

/* There is one for each hold. */
static struct object *new_object(struct rmc_latch_server *s, uint64_t offset)
{
	struct object *o = &s->object[s->free_object];
	uint32_t *bucket = bucket_of(s, offset);

	s->free_object = o->next;
	o->offset = offset;
	o->readers = 0;
	o->writer = NONE;
	o->next = *bucket;
	*bucket = (uint32_t)(o - s->object);
	s->stats.objects++;
	return o;
}

static void free_object(struct rmc_latch_server *s, struct object *o)
{
	uint32_t i = (uint32_t)(o - s->object), *at = bucket_of(s, o->offset);

	while (*at != i)
		at = &s->object[*at].next;
	*at = o->next;
	o->next = s->free_object;
	s->free_object = i;
	s->stats.objects--;
}

/* --- holds --- */

static int node_of(const struct rmc_latch_server *s, uint32_t hold)
{
	return (int)(hold / s->o.holds);
}

static struct client *client_of(const struct rmc_latch_server *s, int node, unsigned int client)
{
	return &s->client[(size_t)node * s->o.clients + client];
}

static struct hold *find_hold(const struct rmc_latch_server *s, const struct client *c,
			      uint64_t token)
{
	uint32_t i = c->holds;

	while (i != NONE && s->hold[i].token != token)
		i = s->hold[i].next;
	return i == NONE ? NULL : &s->hold[i];
}

/* o NULL: of an object that nobody holds */
static struct hold *begin_hold(struct rmc_latch_server *s, int node,
			       const struct latch_request *q, struct object *o)
{
	struct client *c = client_of(s, node, q->client);
	uint32_t i = s->free_hold[node];
	struct hold *h = &s->hold[i];

	if (!o)
		o = new_object(s, q->offset);
	s->free_hold[node] = h->next;
	h->token = q->token;
	h->object = (uint32_t)(o - s->object);
	h->client = (uint8_t)q->client;
	h->left = 0;
	h->writes = q->call != LATCH_SHARE;
	if (h->writes)
		o->writer = i;
	else
		o->readers++;
	h->next = c->holds;
	c->holds = i;
	s->stats.holds++;
	return h;
}

static void end_hold(struct rmc_latch_server *s, struct hold *h)
{
	uint32_t i = (uint32_t)(h - s->hold);
	int node = node_of(s, i);
	struct object *o = &s->object[h->object];
	uint32_t *at = &client_of(s, node, h->client)->holds;

	while (*at != i)
		at = &s->hold[*at].next;
	*at = h->next;
	h->next = s->free_hold[node];
	s->free_hold[node] = i;
	if (h->writes)
		o->writer = NONE;
	else
		o->readers--;
	if (!o->readers && o->writer == NONE)
		free_object(s, o);
	s->stats.holds--;
}

/* --- tokens --- */

static void note_token(struct client *c, uint64_t token)
{
	uint64_t ahead;

	if (token <= c->newest)
		return;
	ahead = token - c->newest;
	c->ended = ahead < LATCH_WINDOW ? c->ended << ahead : 0;
	c->taken = ahead < LATCH_WINDOW ? c->taken << ahead : 0;
	c->newest = token;
}

static int is_late(const struct client *c, uint64_t token)
{
	uint64_t behind = c->newest - token;

	return token <= c->newest && (behind >= LATCH_WINDOW || (c->ended >> behind & 1));
}

static void end_token(struct client *c, uint64_t token)
{
	note_token(c, token);
	if (c->newest - token < LATCH_WINDOW)
		c->ended |= 1ULL << (c->newest - token);
}

/* Somebody else ends the hold: its holder is told when it releases it. */
static void take_away(struct rmc_latch_server *s, struct client *c, struct hold *h)
{
	end_token(c, h->token);
	if (c->newest - h->token < LATCH_WINDOW)
		c->taken |= 1ULL << (c->newest - h->token);
	end_hold(s, h);
}

/* --- requests --- */

/* Others hold the object. */
static enum latch_result refuse(struct rmc_latch_server *s, const struct object *o)
{
	s->stats.refused++;
	return o->writer != NONE && s->hold[o->writer].left ? LATCH_LEFT : LATCH_REFUSED;
}

static enum latch_result grant(struct rmc_latch_server *s, int node, const struct latch_request *q,
			       struct object *o)
{
	if (s->free_hold[node] == NONE) {
		s->stats.full++;
		return LATCH_FULL;
	}
	begin_hold(s, node, q, o);
	s->stats.granted++;
	return LATCH_DONE;
}

static enum latch_result latch(struct rmc_latch_server *s, int node, const struct latch_request *q)
{
	struct object *o = find_object(s, q->offset);

	if (o && (o->writer != NONE || q->call == LATCH_EXCLUDE))
		return refuse(s, o);
	return grant(s, node, q, o);
}

static enum latch_result upgrade(struct rmc_latch_server *s, struct hold *h)
{
	struct object *o = &s->object[h->object];

	if (h->writes)
		return LATCH_DONE;
	if (o->readers > 1)
		return refuse(s, o);
	o->readers = 0;
	o->writer = (uint32_t)(h - s->hold);
	h->writes = 1;
	s->stats.granted++;
	return LATCH_DONE;
}

/* A hold of this client that its program has given up, perhaps in an earlier life, ends first. */
static enum latch_result take_own(struct rmc_latch_server *s, int node,
				  const struct latch_request *q)
{
	struct client *c = client_of(s, node, q->client);
	struct object *o = find_object(s, q->offset);
	uint32_t i, next;
	int wrote = 0, found = 0;

	for (i = c->holds; i != NONE && o; i = next) {
		struct hold *h = &s->hold[i];

		next = h->next;
		if (&s->object[h->object] != o)
			continue;
		found = 1;
		wrote |= h->writes;
		take_away(s, c, h);
	}
	if (!found)
		return LATCH_ABSENT;
	o = find_object(s, q->offset);
	if (o)				/* other readers */
		return refuse(s, o);
	s->stats.taken_over++;
	grant(s, node, q, NULL);	/* there is room: one has ended */
	return wrote ? LATCH_DONE : LATCH_DONE_CLEAN;
}

static enum latch_result take(struct rmc_latch_server *s, int node, const struct latch_request *q)
{
	struct object *o = find_object(s, q->offset);
	int dead = q->nid - s->o.first_nid;
	struct hold *h;

	if (dead == node)
		return take_own(s, node, q);
	if (!o || o->writer == NONE || node_of(s, o->writer) != dead)
		return LATCH_ABSENT;
	h = &s->hold[o->writer];
	if (!h->left)
		return refuse(s, o);
	if (s->free_hold[node] == NONE) {
		s->stats.full++;
		return LATCH_FULL;
	}
	take_away(s, client_of(s, dead, h->client), h);
	s->stats.taken_over++;
	return grant(s, node, q, NULL);
}

static enum latch_result release(struct rmc_latch_server *s, struct client *c, struct hold *h,
				 uint64_t token)
{
	enum latch_result result = LATCH_DONE;
	uint64_t behind = c->newest - token;

	if (h)
		end_hold(s, h);
	else if (token <= c->newest && behind >= LATCH_WINDOW)
		result = LATCH_LATE;
	else if (token <= c->newest && c->taken >> behind & 1)
		result = LATCH_ABSENT;
	end_token(c, token);
	return result;
}

/* True: a hold that is there has been asked for once more. */
static int repeats(const struct latch_request *q, const struct hold *h)
{
	return h && q->call != LATCH_UPGRADE && q->call != LATCH_RELEASE;
}

static enum latch_result execute(struct rmc_latch_server *s, int node,
				 const struct latch_request *q, struct hold *h)
{
	struct client *c = client_of(s, node, q->client);
	enum latch_result result;

	if (q->call == LATCH_RELEASE)
		return release(s, c, h, q->token);
	if (repeats(q, h))
		return LATCH_DONE;
	if (q->call == LATCH_UPGRADE)
		return h ? upgrade(s, h) : LATCH_ABSENT;
	if (is_late(c, q->token)) {
		s->stats.late++;
		return LATCH_LATE;
	}
	note_token(c, q->token);
	/* it may have sent this before its end */
	if (s->dead[node])
		result = LATCH_DEAD;
	else
		result = q->call == LATCH_TAKE ? take(s, node, q) : latch(s, node, q);
	/* who is refused asks with another token: a second copy of this request is not granted */
	if (result > LATCH_DONE_CLEAN)
		end_token(c, q->token);
	return result;
}

/* 0, or -errno: what correct clients do not send */
static int check(const struct rmc_latch_server *s, const struct latch_request *q,
		 const struct hold *h)
{
	if (q->magic != RMC_LATCH_MAGIC || q->call >= LATCH_CALLS || q->reserved || !q->token ||
	    q->offset % RMC_CACHE_LINE || q->offset > RMC_OFFSET_MAX ||
	    (s->o.bytes && q->offset >= s->o.bytes))
		return -EINVAL;
	if (q->call == LATCH_TAKE ? q->nid < s->o.first_nid || q->nid - s->o.first_nid >= s->o.nodes :
	    !!q->nid)
		return -EINVAL;
	/* a token is of one object */
	return h && s->object[h->object].offset != q->offset ? -EINVAL : 0;
}

static int writer_nid(const struct rmc_latch_server *s, const struct object *o)
{
	return o && o->writer != NONE ? node_of(s, o->writer) + s->o.first_nid : -1;
}

int rmc_latch_serve(struct rmc_latch_server *s, int nid, const void *request, size_t len,
		    void *response, size_t size)
{
	struct latch_response a = { 0 };
	int node = nid - s->o.first_nid;
	struct latch_request q;
	struct hold *h = NULL;

	if (len != sizeof(q) || size < sizeof(a) || node < 0 || node >= s->o.nodes) {
		s->stats.invalid++;
		return -EBADMSG;
	}
	memcpy(&q, request, sizeof(q));
	if (q.client < s->o.clients)
		h = find_hold(s, client_of(s, node, q.client), q.token);
	if (q.client >= s->o.clients || check(s, &q, h)) {
		s->stats.invalid++;
		return -EINVAL;
	}
	s->stats.requests++;
	a.result = execute(s, node, &q, h);
	a.holder = writer_nid(s, find_object(s, q.offset));
	a.newest = client_of(s, node, q.client)->newest;
	memcpy(response, &a, sizeof(a));
	return sizeof(a);
}

/* --- dead nodes --- */

static int leave(struct rmc_latch_server *s, struct client *c)
{
	int left = 0;
	uint32_t i, next;

	for (i = c->holds; i != NONE; i = next) {
		struct hold *h = &s->hold[i];

		next = h->next;
		if (h->writes) {
			h->left = 1;
			left++;
			continue;
		}
		take_away(s, c, h);
	}
	return left;
}

int rmc_latch_server_dead(struct rmc_latch_server *s, int nid)
{
	int node = nid - s->o.first_nid, left = 0;
	unsigned int i;

	if (node < 0 || node >= s->o.nodes)
		return -EINVAL;
	s->dead[node] = 1;
	for (i = 0; i < s->o.clients; i++)
		left += leave(s, client_of(s, node, i));
	return left;
}

int rmc_latch_server_alive(struct rmc_latch_server *s, int nid)
{
	int node = nid - s->o.first_nid;

	if (node < 0 || node >= s->o.nodes)
		return -EINVAL;
	s->dead[node] = 0;
	return 0;
}

int rmc_latch_server_left(const struct rmc_latch_server *s, int nid, unsigned int i,
			  uint64_t *offset)
{
	int node = nid - s->o.first_nid;
	unsigned int c;
	uint32_t at;

	if (node < 0 || node >= s->o.nodes)
		return -EINVAL;
	for (c = 0; c < s->o.clients; c++) {
		for (at = client_of(s, node, c)->holds; at != NONE; at = s->hold[at].next) {
			if (!s->hold[at].left || i--)
				continue;
			*offset = s->object[s->hold[at].object].offset;
			return 0;
		}
	}
	return -ENOENT;
}

int rmc_latch_server_holder(const struct rmc_latch_server *s, uint64_t offset,
			    unsigned int *readers)
{
	const struct object *o = find_object(s, offset);

	if (readers)
		*readers = o ? o->readers : 0;
	return writer_nid(s, o);
}

/* --- open and close --- */

static int allocate(struct rmc_latch_server *s)
{
	size_t nodes = (size_t)s->o.nodes, holds = nodes * s->o.holds, clients = nodes * s->o.clients;
	size_t i;

	while (s->mask + 1 < holds)
		s->mask = 2 * s->mask + 1;
	s->hold = (struct hold *)calloc(holds, sizeof(*s->hold));
	s->object = (struct object *)calloc(holds, sizeof(*s->object));
	s->client = (struct client *)calloc(clients, sizeof(*s->client));
	s->free_hold = (uint32_t *)calloc(nodes, sizeof(*s->free_hold));
	s->dead = (uint8_t *)calloc(nodes, sizeof(*s->dead));
	s->bucket = (uint32_t *)malloc((s->mask + 1) * sizeof(*s->bucket));
	if (!s->hold || !s->object || !s->client || !s->free_hold || !s->dead || !s->bucket)
		return rmc_fail(ENOMEM, "latches: no memory for %d nodes, %u holds of each", s->o.nodes,
				s->o.holds);
	for (i = 0; i < holds; i++) {
		s->hold[i].next = (i + 1) % s->o.holds ? (uint32_t)i + 1 : NONE;
		s->object[i].next = i + 1 < holds ? (uint32_t)i + 1 : NONE;
	}
	for (i = 0; i < nodes; i++)
		s->free_hold[i] = (uint32_t)(i * s->o.holds);
	for (i = 0; i < clients; i++)
		s->client[i].holds = NONE;
	for (i = 0; i <= s->mask; i++)
		s->bucket[i] = NONE;
	return 0;
}

static int check_options(const struct rmc_latch_server_options *o)
{
	if (o->nodes < 1 || o->nodes > RMC_NID_MAX + 1 || o->first_nid < 0 ||
	    o->first_nid > RMC_NID_MAX + 1 - o->nodes)
		return rmc_fail(EINVAL, "latches: %d nodes from %d on", o->nodes, o->first_nid);
	if (o->holds > HOLDS_MAX || o->clients > CLIENTS_DEFAULT)
		return rmc_fail(EINVAL, "latches: %u holds, %u clients of a node; at most %u, %u", o->holds,
				o->clients, HOLDS_MAX, CLIENTS_DEFAULT);
	return 0;
}

static struct rmc_latch_server *server_open(const struct rmc_latch_server_options *o)
{
	struct rmc_latch_server *s;
	int err = check_options(o);

	if (err)
		return NULL;
	s = (struct rmc_latch_server *)calloc(1, sizeof(*s));
	if (!s) {
		rmc_fail(ENOMEM, "out of memory");
		return NULL;
	}
	s->o = *o;
	s->o.holds = o->holds ? o->holds : HOLDS_DEFAULT;
	s->o.clients = o->clients ? o->clients : CLIENTS_DEFAULT;
	if (getrandom(&s->seed, sizeof(s->seed), 0) != sizeof(s->seed))
		s->seed = rmc_now_ns();
	err = allocate(s);
	if (!err)
		return s;
	rmc_latch_server_close(s);
	errno = -err;
	return NULL;
}

struct rmc_latch_server *
rmc_latch_server_open_sized(const struct rmc_latch_server_options *options, size_t size)
{
	struct rmc_latch_server_options o;

	return rmc_struct_in(&o, sizeof(o), options, size, RMC_LATCH_SERVER_OPTIONS_SIZE_VER1,
			     "latch server options") ? NULL : server_open(&o);
}

void rmc_latch_server_close(struct rmc_latch_server *s)
{
	if (!s)
		return;
	free(s->bucket);
	free(s->dead);
	free(s->free_hold);
	free(s->client);
	free(s->object);
	free(s->hold);
	free(s);
}

void rmc_latch_server_stats_sized(const struct rmc_latch_server *s,
				  struct rmc_latch_server_stats *stats, size_t size)
{
	rmc_struct_out(stats, size, &s->stats, sizeof(s->stats));
}

/* --- symbols without a size: structs of version 1.1, which was their first --- */

struct rmc_latch_server *latch_server_open_ver1(const struct rmc_latch_server_options *options)
	RMC_VER0(rmc_latch_server_open);
struct rmc_latch_server *latch_server_open_ver1(const struct rmc_latch_server_options *options)
{
	return rmc_latch_server_open_sized(options, RMC_LATCH_SERVER_OPTIONS_SIZE_VER1);
}

void latch_server_stats_ver1(const struct rmc_latch_server *s, struct rmc_latch_server_stats *stats)
	RMC_VER0(rmc_latch_server_stats);
void latch_server_stats_ver1(const struct rmc_latch_server *s, struct rmc_latch_server_stats *stats)
{
	rmc_latch_server_stats_sized(s, stats, RMC_LATCH_SERVER_STATS_SIZE_VER1);
}
