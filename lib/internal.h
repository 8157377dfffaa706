/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Private declarations that the files of librmc share. */
#ifndef RMC_LIB_INTERNAL_H
#define RMC_LIB_INTERNAL_H

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <time.h>
#include <rmc/rmc.h>
#include "driver/driver.h"

/* Driver memory mapped by this context: the segment or a local buffer */
struct rmc_mapping {
	struct rmc_mapping *next;
	int id;				/* buf_id, or RMC_MAPPING_SEG */
	void *addr;
	size_t len;
};

#define RMC_MAPPING_SEG		(-1)

/*
 * Threads that sleep in the library on an object that another thread may destroy. The
 * destroying thread wakes the sleepers and waits until they have left.
 */
struct rmc_sleepers {
	uint32_t inside;	/* number of threads */
	uint32_t ended;		/* number of times the object was destroyed */
	int eventfd;		/* the threads sleep on it; -1: none yet */
};

/* Bytes of a path of a device or a socket, with its NUL: as of struct sockaddr_un */
#define RMC_PATH_BYTES		108

struct rmc_ctx {
	int fd;				/* rmc_fd() */
	const struct rmc_driver *driver;
	void *priv;			/* of the driver */
	int socket;			/* of a driver that can end: hangs up then */
	int control;			/* control device: see rmc_driver_control() */
	char path[RMC_PATH_BYTES];	/* of device or socket, for messages */
	int pid;			/* of the process that opened it */
	unsigned int id;
	struct rmc_query query;
	struct rmc_mapping *mappings;
	struct rmc_qp *qps;		/* linked by rmc_qp.priv */
	struct rmc_sleepers seg_sleepers;
};

/* What ioctl() returns, with errno */
static inline int rmc_call(struct rmc_ctx *ctx, unsigned long request, void *arg)
{
	return ctx->driver->call(ctx, request, arg);
}

/* What rmc_errmsg() is to say of this thread's failed rmc_call(), or NULL */
static inline const char *rmc_why(const struct rmc_ctx *ctx)
{
	return ctx->driver->why ? ctx->driver->why() : NULL;
}

/* 0 once the RMC is gone */
static inline int rmc_alive(const struct rmc_ctx *ctx)
{
	return !ctx->driver->alive || ctx->driver->alive(ctx);
}

size_t rmc_page_round(size_t len);

/*
 * After fork() parent and child share the open file. Its resources stay the parent's: the
 * child may only release its own memory and descriptors. It has none of the parent's
 * mappings in its address space.
 */
int rmc_ctx_inherited(const struct rmc_ctx *ctx);
int rmc_qp_inherited(const struct rmc_qp *qp);

/* Check before creating a resource of a context: 0, or -EPERM in a child */
int rmc_ctx_usable(const struct rmc_ctx *ctx);

/* Unmap MADV_DONTFORK memory; nothing in a child, which may have other memory there. */
void rmc_unmap(const struct rmc_ctx *ctx, void *addr, size_t len);

/*
 * The increment of inside comes before the load of ended, and the increment of ended before
 * the load of inside, all sequentially consistent: the sleeper sees the end, or the
 * destroying thread sees the sleeper.
 */
uint32_t rmc_sleepers_enter(struct rmc_sleepers *s);
void rmc_sleepers_leave(struct rmc_sleepers *s);
int rmc_sleepers_ended(const struct rmc_sleepers *s, uint32_t since);

/* The eventfd that they sleep on, created by the first call; or -errno */
int rmc_sleepers_eventfd(struct rmc_sleepers *s);
void rmc_sleepers_init(struct rmc_sleepers *s);

/* rmc_sleepers_end() marks the end; rmc_sleepers_wait() wakes the sleepers and waits. */
void rmc_sleepers_end(struct rmc_sleepers *s);
void rmc_sleepers_wait(struct rmc_sleepers *s);

/* The sleepers of a queue pair that the driver created */
struct rmc_sleepers *rmc_qp_sleepers(struct rmc_qp *qp);

/* Map driver memory, not inherited by children; MAP_FAILED with errno on failure */
void *rmc_map(struct rmc_ctx *ctx, size_t len, int prot, uint64_t offset);

static inline uint64_t rmc_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline uint64_t rmc_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Deadlines are times of rmc_now_ms(); 0, from a negative time limit: never. */
static inline uint64_t rmc_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? 0 : rmc_now_ms() + (uint64_t)timeout_ms;
}

static inline int rmc_deadline_over(uint64_t deadline)
{
	return deadline && rmc_now_ms() >= deadline;
}

/* Time left until a deadline, as a time limit */
static inline int rmc_deadline_left(uint64_t deadline)
{
	uint64_t now;

	if (!deadline)
		return -1;
	now = rmc_now_ms();
	return now >= deadline ? 0 : (int)(deadline - now);
}

/* Offset of the nonce of a member's incarnation in its segment, see rmc_team.met */
uint64_t rmc_team_life_at(int member);

/* A call with a deadline for the response */
int rmc_rpc_call_by(struct rmc_rpc *r, int nid, const void *request, size_t len,
		    void *response, size_t size, size_t *got, uint64_t deadline);

/* Set rmc_errmsg(); keeps errno. The second form also returns -err. */
void rmc_set_errmsg(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int rmc_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Copy a caller's struct of any version's size. In: missing fields become zero; -EINVAL:
 * smaller than least, -E2BIG: fields beyond ours are not zero. Out: as many bytes as the
 * caller's struct has; fields beyond ours are zeroed.
 */
int rmc_struct_in(void *to, size_t size, const void *from, size_t from_size, size_t least,
		  const char *what);
void rmc_struct_out(void *to, size_t to_size, const void *from, size_t size);

/*
 * Declares the function of the symbol rmc_X, which takes the struct of version 1.0; in C
 * the name rmc_X is the inline that passes the size.
 */
#define RMC_VER0(symbol) __asm__(#symbol)

/* rmc_cq_sleep() is about to sleep. */
void rmc_qp_count_sleep(struct rmc_qp *qp);

/*
 * Sleep until the eventfd is signalled or the RMC is gone: what poll() returns. After the
 * latter, the next arming fails with ESHUTDOWN.
 */
int rmc_sleep_on(const struct rmc_ctx *ctx, int fd, int timeout_ms);

/* -errno of a call that arms, with rmc_errmsg() */
int rmc_arm_failed(const struct rmc_ctx *ctx, const char *what);

/* RMC_LOG: messages up to this level go to stderr, 0: none. Set before main(). */
enum { RMC_LOG_ERROR = 1, RMC_LOG_WARN, RMC_LOG_INFO, RMC_LOG_DEBUG };
extern int rmc_log_level;

void rmc_log_line(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rmc_vlog(int level, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#define rmc_log(level, ...) do {					\
	if (rmc_unlikely(rmc_log_level >= RMC_LOG_##level))		\
		rmc_log_line(RMC_LOG_##level, __VA_ARGS__);		\
} while (0)

/* sabre.c: true if this PID namespace has a thread of this id */
int rmc_thread_alive(uint32_t tid);

#endif /* RMC_LIB_INTERNAL_H */
