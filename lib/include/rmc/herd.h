/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Requests and responses through HERD-like receive buffers (T18 figure 3.7).
 *
 * A server exposes cores x slots slots, each for a message of size bytes. Each of its
 * threads polls the slots of one core. A client chooses the slot, and with it the core
 * that will serve. Slot s of every core belongs to client s % clients, so clients need
 * no agreement. The server writes the response into the slot of the same number in the
 * client's segment, which frees both slots.
 *
 * Every member of the team opens with the same options; all but the server are clients.
 * One thread at a time uses a core or a client; one thread of the process opens and
 * closes. Requests in progress when the server dies end with its status.
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
	uint64_t at;		/* offset in team->seg; divisible by 64 */
	int server;		/* member that serves */
	unsigned int cores;	/* M: polling threads of the server */
	unsigned int slots;	/* S: per core; at least one per client */
	size_t size;		/* K: largest message */
};

#define RMC_HERD_OPTIONS_SIZE_VER0	32
RMC_ABI_SIZE_VER0(rmc_herd_options, size, RMC_HERD_OPTIONS_SIZE_VER0);

/* A request, valid until the reply; data is valid until the core's next poll */
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

/* Bytes that it takes on every member */
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

/* A core of the server; NULL for a number beyond options->cores, or on clients */
struct rmc_herd_core *rmc_herd_core(struct rmc_herd *herd, unsigned int core);

/* 1: *request is the next one; 0: none; or -errno. Does not wait. */
int rmc_herd_poll(struct rmc_herd_core *core, struct rmc_herd_request *request);
int rmc_herd_reply(struct rmc_herd_core *core, const struct rmc_herd_request *request,
		   const void *buf, size_t len);

/*
 * Posts a request of a client. Sets a ticket for rmc_herd_wait(). -EAGAIN: all slots of
 * this client at the core are in use; a status: the one for which the server was given up.
 */
int rmc_herd_post(struct rmc_herd *herd, unsigned int core, const void *buf, size_t len,
		  int *ticket);

/*
 * Waits for the response. 0: received. -EMSGSIZE: buf is too small for *len bytes, and
 * the ticket stays valid. -ETIMEDOUT: the ticket stays valid. Another status or -errno: the
 * ticket is used up.
 */
int rmc_herd_wait(struct rmc_herd *herd, int ticket, void *buf, size_t size, size_t *len);

/*
 * Give a ticket up. The response is discarded when it arrives, which frees the slot.
 * 0 or -EINVAL.
 */
int rmc_herd_cancel(struct rmc_herd *herd, int ticket);

/*
 * Time limit of each wait of a client from now on, in milliseconds; negative, the default:
 * none. rmc_herd_wait() then returns -ETIMEDOUT and the ticket stays valid; rmc_herd_call()
 * gives the ticket up.
 */
void rmc_herd_set_timeout(struct rmc_herd *herd, int timeout_ms);

/*
 * Readmit members that died and were restarted: they are in rmc_herd_open(), and
 * rmc_team_rejoin() has met them. Every survivor calls this while no other thread uses the
 * object. Then all members, including the restarted ones, call rmc_team_barrier() before
 * the next request. Requests from and to earlier incarnations of these members are dropped;
 * tickets of an earlier server end. 0, enum rmc_status of a member that died again, or
 * -errno.
 */
int rmc_herd_rejoin(struct rmc_herd *herd);

/* Post and wait; a response larger than size is lost, and *len is its length */
int rmc_herd_call(struct rmc_herd *herd, unsigned int core, const void *request,
		  size_t request_len, void *response, size_t size, size_t *len);

#ifdef __cplusplus
}
#endif

#endif /* RMC_HERD_H */
