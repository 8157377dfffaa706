/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What the files of librmc share and applications do not see. */
#ifndef RMC_LIB_INTERNAL_H
#define RMC_LIB_INTERNAL_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <time.h>
#include <rmc/rmc.h>

/* Driver memory mapped by this context: the segment or a local buffer */
struct rmc_mapping {
	struct rmc_mapping *next;
	int id;				/* buf_id, or RMC_MAPPING_SEG */
	void *addr;
	size_t len;
};

#define RMC_MAPPING_SEG		(-1)

/*
 * Threads that sleep in the library on an object which another thread may destroy. Who
 * destroys it ends the sleep and waits until they have left.
 */
struct rmc_sleepers {
	uint32_t inside;	/* threads */
	uint32_t ended;		/* how often what they wait for was destroyed */
	int eventfd;		/* what they sleep on; -1: none yet */
};

struct rmc_ctx {
	int fd;
	int pid;			/* of the process that opened it */
	unsigned int id;
	struct rmc_query query;
	struct rmc_mapping *mappings;
	struct rmc_qp *qps;		/* linked by rmc_qp.priv */
	struct rmc_sleepers seg_sleepers;
};

size_t rmc_page_round(size_t len);

/*
 * After fork() parent and child share the open file. What was made from it stays the
 * parent's: the child may only release its own memory and descriptors, and none of the
 * parent's mappings are in its address space.
 */
int rmc_ctx_inherited(const struct rmc_ctx *ctx);
int rmc_qp_inherited(const struct rmc_qp *qp);

/* For what makes something from a context: 0, or -EPERM in a child */
int rmc_ctx_usable(const struct rmc_ctx *ctx);

/* Memory that is MADV_DONTFORK: in a child, whatever is there by now is not ours. */
void rmc_unmap(const struct rmc_ctx *ctx, void *addr, size_t len);

/*
 * Entering comes before the load of ended, ending before the load of inside, both
 * sequentially consistent: the sleeper sees the end, or who destroys sees the sleeper.
 */
uint32_t rmc_sleepers_enter(struct rmc_sleepers *s);
void rmc_sleepers_leave(struct rmc_sleepers *s);
int rmc_sleepers_ended(const struct rmc_sleepers *s, uint32_t since);

/* What they sleep on, made at the first call; or -errno */
int rmc_sleepers_eventfd(struct rmc_sleepers *s);
void rmc_sleepers_init(struct rmc_sleepers *s);

/* rmc_sleepers_end() says so; rmc_sleepers_wait() wakes them and waits. */
void rmc_sleepers_end(struct rmc_sleepers *s);
void rmc_sleepers_wait(struct rmc_sleepers *s);

/* Of a queue pair that the driver made */
struct rmc_sleepers *rmc_qp_sleepers(struct rmc_qp *qp);

/* mmap of driver memory, not inherited by children; MAP_FAILED and errno */
void *rmc_map(int fd, size_t len, int prot, uint64_t offset);

static inline uint64_t rmc_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Deadlines are times of rmc_now_ms(); 0: never, as a negative time limit is. */
static inline uint64_t rmc_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? 0 : rmc_now_ms() + (uint64_t)timeout_ms;
}

static inline int rmc_deadline_over(uint64_t deadline)
{
	return deadline && rmc_now_ms() >= deadline;
}

/* What is left of it, as a time limit */
static inline int rmc_deadline_left(uint64_t deadline)
{
	uint64_t now;

	if (!deadline)
		return -1;
	now = rmc_now_ms();
	return now >= deadline ? 0 : (int)(deadline - now);
}

/* Offset in a member's segment of the nonce of its life, rmc_team.met of the others */
uint64_t rmc_team_life_at(int member);

/* A call of which the response must come before a deadline */
int rmc_rpc_call_by(struct rmc_rpc *r, int nid, const void *request, size_t len,
		    void *response, size_t size, size_t *got, uint64_t deadline);

/* Set rmc_errmsg(); keeps errno. The second form gives -err as well. */
void rmc_set_errmsg(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int rmc_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * A caller's struct, whatever its version's size: copied in, what it lacks is zero;
 * -EINVAL: less than the least, -E2BIG: something beyond ours is not zero. And copied
 * out, as much as the caller's has room for; what it has more is zeroed.
 */
int rmc_struct_in(void *to, size_t size, const void *from, size_t from_size, size_t least,
		  const char *what);
void rmc_struct_out(void *to, size_t to_size, const void *from, size_t size);

/*
 * The C name of a function whose symbol is rmc_X, the one that takes the struct of
 * version 1.0; in C that name is the inline which passes the size.
 */
#define RMC_VER0(symbol) __asm__(#symbol)

/* rmc_cq_sleep() is about to sleep. */
void rmc_qp_count_sleep(struct rmc_qp *qp);

/* RMC_LOG: messages up to this level go to stderr, 0: none. Set before main(). */
enum { RMC_LOG_ERROR = 1, RMC_LOG_WARN, RMC_LOG_INFO, RMC_LOG_DEBUG };
extern int rmc_log_level;

void rmc_log_line(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rmc_vlog(int level, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#define rmc_log(level, ...) do {					\
	if (rmc_unlikely(rmc_log_level >= RMC_LOG_##level))		\
		rmc_log_line(RMC_LOG_##level, __VA_ARGS__);		\
} while (0)

#endif /* RMC_LIB_INTERNAL_H */
