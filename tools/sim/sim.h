/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations of the simulator. Files that include node.h as well use the core; the
 * others use threads only. All code runs on one thread.
 *
 *	clock.c		the loop: next event, the clock jumps to it
 *	thread.c	threads of applications: fibers that are charged for their work
 *	cluster.c	nodes with a kernel each, crash and pause
 *	memory.c	memory of the nodes and links
 *	lines.c		lines that come from memory, if that is simulated
 *	prefetch.c	prefetches for visits that are near
 *	links.c		filters between them: delay, loss, cut
 *	worker.c	visits of NI workers that have work
 *	driver.c	ioctl() and mmap() of the module
 *	eventfd.c, wrap.c	system calls of librmc
 */
#ifndef RMC_SIM_SIM_H
#define RMC_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "costs.h"
#include "fiber.h"
#include "heap.h"
#include "rmc_sim.h"

/* A thread that runs longer than this without waiting lets the others catch up. */
#define SIM_QUANTUM_NS		1000
/* A wait without a known event polls after this time, which doubles at each poll. */
#define SIM_RELAX_NS		1000
#define SIM_RELAX_MAX_NS	256000
#define SIM_STACK_BYTES		(256 * 1024)

struct sim_node;

enum sim_thread_state {
	SIM_READY,	/* runs, or will at its event */
	SIM_WAITING,	/* for its event, or for an earlier one */
	SIM_DONE,
};

/**
 * struct sim_thread - a thread of an application
 * @event: when it resumes
 * @fiber: its stack
 * @node: where it runs
 * @core: of the node
 * @number: number of the thread
 * @state: enum sim_thread_state
 * @debt: how far it is ahead of the clock, ns
 * @not_before: it does not resume earlier
 * @relax_ns: interval until its next poll
 * @woken_up: an event has ended its last wait, and it has not relaxed since
 * @pending: an event came while it did not wait
 * @woken: an event resumed it
 * @fn: what it runs
 * @arg: of @fn
 * @next: next thread of the node
 */
struct sim_thread {
	struct sim_event event;
	struct fiber *fiber;
	struct sim_node *node;
	uint32_t core;
	int number;
	enum sim_thread_state state;
	uint64_t debt;
	uint64_t not_before;
	uint64_t relax_ns;
	bool woken_up;
	uint64_t done_at;	/* a completion can be seen then; 0: there is none to see */
	bool pending;
	bool woken;
	void (*fn)(void *arg);
	void *arg;
	struct sim_thread *next;
};

/**
 * struct sim - the one simulation
 * @o: options, defaults filled in
 * @cost: costs
 * @heap: events
 * @now: clock, ns
 * @threads: threads that have not returned
 * @self: the running thread
 * @random: state of random numbers
 * @stats: counters
 * @trace: file of the events, or NULL
 * @node: nodes
 */
struct sim {
	struct rmc_sim_options o;
	struct rmc_sim_costs cost;
	struct sim_heap heap;
	uint64_t now;
	int threads;
	int spawned;
	struct sim_thread *self;
	uint64_t random;
	struct rmc_sim_stats stats;
	void *trace;
	struct sim_node **node;
	bool running;
};

extern struct sim sim;

/* clock.c */
void sim_note(const char *what, uint32_t nid, uint64_t a, uint64_t b);

/* thread.c: of the calling thread */
uint64_t sim_local_now(void);		/* its clock, absolute */
void sim_charge(uint64_t ns);
void sim_sleep_until(uint64_t at);
bool sim_wait_until(uint64_t at);
void sim_relax(void);
void sim_exit(void);
/* of others */
void sim_wake(struct sim_thread *t, uint64_t at);
void sim_thread_destroy(struct sim_thread *t);
void sim_thread_run_at(struct sim_thread *t, uint64_t at);

/* cluster.c */
int sim_cluster_boot(void);
void sim_cluster_free(void);
struct sim_thread **sim_node_threads(struct sim_node *n);
uint64_t *sim_node_core(struct sim_node *n, uint32_t core);
uint32_t sim_node_nid(const struct sim_node *n);
bool sim_node_stopped(const struct sim_node *n);	/* paused or crashed */
bool sim_node_is_down(uint32_t nid);

/* memory.c */
void sim_memory_reset(void);

/* links.c */
void sim_cluster_count(struct rmc_sim_stats *s);

/* driver.c: 0 or more, or -errno */
int sim_driver_open(struct sim_node *n, const char *path);
long sim_driver_ioctl(int fd, unsigned long request, void *arg);
void *sim_driver_map(int fd, size_t len, uint64_t offset);
void sim_driver_close(int fd);
void sim_driver_forget(struct sim_node *n);

/* eventfd.c: file descriptors of the simulation */
#define SIM_FD_FIRST		(1 << 20)
#define SIM_EVENTFD_FIRST	(SIM_FD_FIRST + (1 << 18))

int sim_eventfd_make(uint64_t count);
bool sim_eventfd_is(int fd);
void sim_eventfd_signal(int fd, uint64_t at);
long sim_eventfd_read(int fd, void *to, size_t len);
long sim_eventfd_write(int fd, const void *from, size_t len);
void sim_eventfd_close(int fd);
bool sim_eventfd_ready(int fd);
void sim_eventfd_watch(int fd, struct sim_thread *t);
void sim_eventfd_reset(void);

#endif
