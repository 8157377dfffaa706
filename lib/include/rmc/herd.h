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

#include <rmc/abi.h>
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

#define RMC_HERD_OPTIONS_SIZE_VER0	32
RMC_ABI_SIZE_VER0(rmc_herd_options, size, RMC_HERD_OPTIONS_SIZE_VER0);

/* A request, until it is answered; data is the core's, until its next poll */
struct rmc_herd_request {
	const void *data;
	size_t len;
	int nid;
	unsigned int slot;
};

RMC_ABI_SIZE(rmc_herd_request, 24);

RMC_INLINE size_t rmc_herd_slot_bytes(size_t size)
{
	return (size ? (size + 59) / 60 : 1) * 64;
}

/* On every member */
RMC_INLINE size_t rmc_herd_bytes(const struct rmc_herd_options *o)
{
	return o->cores * (size_t)o->slots * rmc_herd_slot_bytes(o->size);
}

/* NULL with errno set on failure, see rmc_errmsg() */
struct rmc_herd *rmc_herd_open_sized(struct rmc_team *team,
				     const struct rmc_herd_options *options, size_t size);
RMC_SIZED struct rmc_herd *rmc_herd_open(struct rmc_team *team,
					 const struct rmc_herd_options *options)
{
	return rmc_herd_open_sized(team, options, sizeof(*options));
}

void rmc_herd_close(struct rmc_herd *herd);

/* The server's side; NULL for cores that are not, or on clients */
struct rmc_herd_core *rmc_herd_core(struct rmc_herd *herd, unsigned int core);

/* 1: *request is the next one; 0: there is none; or -errno. Does not wait. */
int rmc_herd_poll(struct rmc_herd_core *core, struct rmc_herd_request *request);
int rmc_herd_reply(struct rmc_herd_core *core, const struct rmc_herd_request *request,
		   const void *buf, size_t len);

/*
 * The client's side. Gives a ticket for rmc_herd_wait(); -EAGAIN when all slots that
 * this client has with the core are in use; the status for which the server was given up.
 */
int rmc_herd_post(struct rmc_herd *herd, unsigned int core, const void *buf, size_t len,
		  int *ticket);

/*
 * The response: 0; -EMSGSIZE: *len tells for what buf is too small, and the ticket stays
 * good; -ETIMEDOUT: so does it; another status or -errno: the ticket is used up.
 */
int rmc_herd_wait(struct rmc_herd *herd, int ticket, void *buf, size_t size, size_t *len);

/*
 * Give a ticket up: its response will be discarded. The slot is free again when that has
 * come. 0 or -EINVAL.
 */
int rmc_herd_cancel(struct rmc_herd *herd, int ticket);

/*
 * A client's time limit of each wait from now on, in milliseconds; negative, as at first:
 * none. rmc_herd_wait() gives -ETIMEDOUT then and the ticket stays good; rmc_herd_call()
 * gives it up.
 */
void rmc_herd_set_timeout(struct rmc_herd *herd, int timeout_ms);

/*
 * Members died and are back: they are in rmc_herd_open() now, and the team has met them,
 * rmc_team_rejoin(). Every survivor calls this while no thread uses the object otherwise;
 * all, newcomers too, call rmc_team_barrier() before the next request. Requests from and
 * to former lives are forgotten, tickets with a former server end. 0, enum rmc_status of a member that died
 * again, or -errno.
 */
int rmc_herd_rejoin(struct rmc_herd *herd);

/* Both at once; a response larger than size is lost, *len tells how large it was */
int rmc_herd_call(struct rmc_herd *herd, unsigned int core, const void *request,
		  size_t request_len, void *response, size_t size, size_t *len);

#ifdef __cplusplus
}
#endif

#endif /* RMC_HERD_H */
