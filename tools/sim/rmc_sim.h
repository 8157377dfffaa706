/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Nodes, links and threads in virtual time, in one process: Documentation/simulation.rst.
 *
 *	struct rmc_sim_options o = { .nodes = 2, .seed = 1, .one_way_ns = 500 };
 *
 *	rmc_sim_init(&o);
 *	rmc_sim_spawn(0, client, NULL);		ordinary functions that use librmc
 *	rmc_sim_spawn(1, server, NULL);
 *	rmc_sim_run();				until all have returned
 *	rmc_sim_fini();
 *
 * A program with its own main() does not use this header: linked with rmcsim.args it runs as
 * one thread per node, and the environment configures the simulation.
 */
#ifndef RMC_SIM_H
#define RMC_SIM_H

#include <stdint.h>

struct rmc_sim_costs;

/* The model of a network adapter: struct rmc_rnic of kmod/fabric/rnic.h. 0: not modelled */
struct rmc_sim_adapter {
	uint32_t any_lines, gap_ns, msg_ps, mbps, cas_ns, faa_ns, buffer_ns, qp_cache, qp_miss_ns;
};

/* Probabilities are in millionths. 0: the default, or no such fault. */
struct rmc_sim_options {
	uint32_t nodes;		/* default 2 */
	uint32_t cores;		/* per node, which threads share; default: one per thread */
	uint64_t seed;		/* of all random numbers */
	int shuffle;		/* simultaneous events come in random order */
	const char *ni;		/* NI organisation: fused (default) or pair */
	uint32_t mtu, ring_order, pay_order, itt;	/* as the module's parameters */
	uint32_t timeout_ms, dead_ms, retries;
	uint32_t tick_us;	/* default 1000 */
	uint64_t start_ns;	/* clock at the beginning; default: 8 ms before it wraps */
	uint32_t epoch;		/* that the nodes begin with; default 1 */
	/* per packet and direction */
	uint64_t one_way_ns, jitter_ns;
	uint32_t loss, dup, reorder;
	uint64_t gap_ns;	/* delay of reordered packets */
	/* or the module's link model, which holds replies back: kmod/fabric/model.h */
	uint32_t topology, dim[3], hop_ns, base_ns, mbps, rack_ns, rack_mbps;
	int one_way;		/* each way for itself, and the servers' ports */
	struct rmc_sim_adapter adapter;		/* of all nodes; qp_cache needs a topology */
	const struct rmc_sim_costs *costs;	/* default: all 0 */
	int memory;		/* lines of segments take their time: costs memory and line */
	uint32_t att_entries, att_depth;	/* as the module's parameters */
	uint64_t limit_ns;	/* run no longer than this; default 1000 s */
	const char *trace;	/* file to which each event is written */
};

/* Counters since rmc_sim_init() */
struct rmc_sim_stats {
	uint64_t events;	/* taken from the heap */
	uint64_t visits;	/* of workers */
	uint64_t switches;	/* to threads */
	uint64_t completions;	/* of operations */
	uint64_t requests;	/* served */
	uint64_t lost, doubled, reordered;	/* packets, by nodes that have not crashed */
	uint64_t restarts;	/* retries of operations */
	uint64_t digest;	/* of all events, in order */
};

/* 0, or -errno: an invalid option, or no memory. One simulation at a time. */
int rmc_sim_init(const struct rmc_sim_options *o);
void rmc_sim_fini(void);

/* Start a thread on a node; from anywhere. Its number, or -errno */
int rmc_sim_spawn(uint32_t nid, void (*fn)(void *arg), void *arg);

/* Run until all threads have returned: 0, or the number of others at the limit */
int rmc_sim_run(void);

void rmc_sim_stats(struct rmc_sim_stats *s);
uint64_t rmc_sim_served(uint32_t nid);	/* requests that the RRPP of a node has served; 0: no such */

/* Tuples of a segment, or words: see kmod/fabric/switch.h */
struct rmc_sim_range {
	uint64_t begin;
	uint32_t stride, bytes, count;
	int words;
};

/*
 * Give them to a switch before the node, in context 0, whose segment is registered. 0, or -errno of
 * rmc_switch_check(), rmc_switched_add() and rmc_switched_promote().
 */
int rmc_sim_switch(uint32_t nid, const struct rmc_sim_range *range);

/* Of the calling thread */
uint64_t rmc_sim_now(void);		/* ns since the start */
uint32_t rmc_sim_nid(void);
void rmc_sim_compute(uint64_t ns);	/* keep the core busy */
void rmc_sim_sleep_until(uint64_t ns);
int rmc_sim_wait_until(uint64_t ns);	/* 1: a completion or request came before that */
uint64_t rmc_sim_random(void);		/* the same in each run of a seed */

/* Call fn at a given time, outside of all threads: it must not wait, and may call these. */
int rmc_sim_at(uint64_t ns, void (*fn)(void *arg), void *arg);
void rmc_sim_pause(uint32_t nid, uint64_t ns);	/* pause its kernel */
void rmc_sim_crash(uint32_t nid);	/* crash it, with all its threads */
int rmc_sim_restart(uint32_t nid);	/* boot it again, under a new epoch */
int rmc_sim_cut(uint32_t from, uint32_t to, int down);	/* cut a link, both directions */

#endif
