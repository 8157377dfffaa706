/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Latches by messages (R25 5.2): a processor at the objects' node keeps them, such as one of its
 * network adapter, or the process that stores the objects. RMC_LATCH_NIC_RPC of <rmc/sync.h> asks
 * it; data is read and written by one-sided operations, as with other latches.
 *
 *	client					processor
 *	rmc_sync_write()  --- EXCLUDE --->	rmc_rpc_progress() -> rmc_latch_serve()
 *	 READ, change, WRITE
 *	rmc_sync_commit() --- RELEASE --->
 *
 * Requests are those of an RPC of <rmc/rpc.h>, whose handler passes them on:
 *
 *	if (len >= 4 && !memcmp(request, &magic, 4))
 *		return rmc_latch_serve(server, nid, request, len, response, size);
 *
 * A server has latches of so many objects as are in use. Each node has room for some of its own, so
 * no other one can take it away. Requests may come late and more than once.
 */
#ifndef RMC_LATCH_H
#define RMC_LATCH_H

#include <rmc/abi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rmc_latch_server;

struct rmc_latch_server_options {
	int nodes, first_nid;		/* that may ask: those of the RPC */
	unsigned int holds;		/* of each of them at a time; 0: 128, at most 4096 */
	unsigned int clients;		/* of each: rmc_sync_options.client is below; 0: 256 */
	uint64_t bytes;			/* objects are at lower offsets; 0: at any */
};

#define RMC_LATCH_SERVER_OPTIONS_SIZE_VER1	24
RMC_ABI_SIZE_VER0(rmc_latch_server_options, bytes, RMC_LATCH_SERVER_OPTIONS_SIZE_VER1);

struct rmc_latch_server_stats {
	uint64_t requests;		/* all that were served */
	uint64_t granted, refused;	/* latches, upgrades and take-overs */
	uint64_t full;			/* refused since the node has too many */
	uint64_t late;			/* refused since they came late */
	uint64_t invalid;		/* no requests */
	uint64_t taken_over;
	uint64_t holds, objects;	/* now */
};

#define RMC_LATCH_SERVER_STATS_SIZE_VER1	72
RMC_ABI_SIZE_VER0(rmc_latch_server_stats, objects, RMC_LATCH_SERVER_STATS_SIZE_VER1);

/* NULL with errno set on failure, see rmc_errmsg(). Nobody holds a latch when it is closed. */
struct rmc_latch_server *
rmc_latch_server_open_sized(const struct rmc_latch_server_options *options, size_t size);
RMC_SIZED struct rmc_latch_server *
rmc_latch_server_open(const struct rmc_latch_server_options *options)
{
	return rmc_latch_server_open_sized(options, sizeof(*options));
}

void rmc_latch_server_close(struct rmc_latch_server *s);

/*
 * For the RPC's handler: a request of node nid, of RMC_LATCH_REQUEST bytes, that begins with
 * RMC_LATCH_MAGIC. Returns the bytes of the response, or -EBADMSG or -EINVAL. One thread at a time.
 */
#define RMC_LATCH_MAGIC		0x6874616cU	/* "lath" */
#define RMC_LATCH_REQUEST	32
#define RMC_LATCH_RESPONSE	16
int rmc_latch_serve(struct rmc_latch_server *s, int nid, const void *request, size_t len,
		    void *response, size_t size);

/*
 * Node nid is dead (rmc_rpc_lost(), rmc_watch_read()): the objects that it reads are free. Those
 * that it writes may be half written: they are refused until rmc_sync_take_over() has one of them,
 * which is refused before this call. Their number, or -EINVAL. A node that lives after all may
 * still release what nobody has taken over, and is told RMC_SCHEME_TORN of the rest. Call it before
 * the node is readmitted. From then on the node gets no latch, as requests that it has sent before
 * its end may still arrive: until rmc_latch_server_alive(), when it has been readmitted
 * (rmc_rpc_rejoin()) or lives after all. That returns 0 or -EINVAL.
 */
int rmc_latch_server_dead(struct rmc_latch_server *s, int nid);
int rmc_latch_server_alive(struct rmc_latch_server *s, int nid);

/* The i-th of these objects: 0, or -ENOENT: there are fewer */
int rmc_latch_server_left(const struct rmc_latch_server *s, int nid, unsigned int i,
			  uint64_t *offset);

/* Node of the object's writer: -1: none. *readers: their number, unless NULL */
int rmc_latch_server_holder(const struct rmc_latch_server *s, uint64_t offset,
			    unsigned int *readers);

void rmc_latch_server_stats_sized(const struct rmc_latch_server *s,
				  struct rmc_latch_server_stats *stats, size_t size);
RMC_SIZED void rmc_latch_server_stats(const struct rmc_latch_server *s,
				      struct rmc_latch_server_stats *stats)
{
	rmc_latch_server_stats_sized(s, stats, sizeof(*stats));
}

#ifdef __cplusplus
}
#endif

#endif /* RMC_LATCH_H */
