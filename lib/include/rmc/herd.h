/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Requests and responses through HERD-like receive buffers (T18 figure 3.7).
 *
 * A server exposes cores x slots slots, each for a message of size bytes. Each of its
 * threads polls the slots of one core. A client chooses the slot, and with it the core
 * that will serve; slot s of every core is of client s % clients alone, so that
 * clients need not agree on anything. The response goes back the same way, into
 * the slot of the same number in the client's segment, which frees both.
 *
 * Every member of the team opens the same; all but the server are clients. Each
 * core, and each client, belongs to one thread at a time; opening and closing to one
 * thread of all. Requests that are under way when the server goes end with its status.
 */
#ifndef RMC_HERD_H
#define RMC_HERD_H

#include <rmc/team.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rmc_herd;
struct rmc_herd_core;

struct rmc_herd_options {
	uint64_t at;		/* where in team->seg; divisible by 64 */
	int server;		/* member */
	unsigned int cores;	/* M: polling threads of the server */
	unsigned int slots;	/* S: per core; at least one per client */
	size_t size;		/* K: largest message */
};

/* A request, until it is answered; data is the core's, until its next poll */
struct rmc_herd_request {
	const void *data;
	size_t len;
	int nid;
	unsigned int slot;
};

static inline size_t rmc_herd_slot_bytes(size_t size)
{
	return (size ? (size + 59) / 60 : 1) * 64;
}

/* On every member */
static inline size_t rmc_herd_bytes(const struct rmc_herd_options *o)
{
	return o->cores * (size_t)o->slots * rmc_herd_slot_bytes(o->size);
}

/* NULL with errno set on failure, see rmc_errmsg() */
struct rmc_herd *rmc_herd_open(struct rmc_team *team, const struct rmc_herd_options *options);
void rmc_herd_close(struct rmc_herd *herd);

/* The server's side; NULL for cores that are not, or on clients */
struct rmc_herd_core *rmc_herd_core(struct rmc_herd *herd, unsigned int core);

/* 1: *request is the next one; 0: there is none; or -errno. Does not wait. */
int rmc_herd_poll(struct rmc_herd_core *core, struct rmc_herd_request *request);
int rmc_herd_reply(struct rmc_herd_core *core, const struct rmc_herd_request *request,
		   const void *buf, size_t len);

/*
 * The client's side. Gives a ticket for rmc_herd_wait(); -EAGAIN when all slots that
 * this client has with the core are in use.
 */
int rmc_herd_post(struct rmc_herd *herd, unsigned int core, const void *buf, size_t len,
		  int *ticket);

/* The response: 0, -EMSGSIZE (*len tells, ticket stays good), status or -errno */
int rmc_herd_wait(struct rmc_herd *herd, int ticket, void *buf, size_t size, size_t *len);

/* Both at once */
int rmc_herd_call(struct rmc_herd *herd, unsigned int core, const void *request,
		  size_t request_len, void *response, size_t size, size_t *len);

#ifdef __cplusplus
}
#endif

#endif /* RMC_HERD_H */
