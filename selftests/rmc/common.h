/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the themes share. Context CTX exists with mode 0666 while a program
 * runs (suite_missing() makes it); tests use it unless contexts are the point.
 */
#ifndef COMMON_H
#define COMMON_H

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <rmc/rmc.h>
#include "ktap.h"

#define CTX		0
#define CTL_PATH	"/dev/rmc"
#define SYSFS		"/sys/class/misc/rmc"
#define PAGE		4096UL
#define NOBODY		65534

/* A node as one process uses it: one open context with all that hangs on it */
struct end {
	struct rmc_ctx *ctx;
	struct rmc_qp *qp;
	uint8_t *seg;
	size_t seg_len;
	uint8_t *buf;
	size_t buf_len;
	int buf_id;
	int nid;
};

/* For KTAP_MAIN(): why nothing can be tested, or NULL */
const char *suite_missing(void);
/* The same for programs that load the module themselves */
const char *module_missing(void);

/* Open a context, with a QP of that many entries; lengths 0: none of it */
void end_open(struct end *e, unsigned int ctx_id, int nid, size_t seg_len, size_t buf_len,
	      unsigned int entries);
void end_close(struct end *e);

/* Zeroed private memory, with an inaccessible page behind it */
void *memory(size_t len);

/* Raw devices: an open file; context with this mode and owner, 0 or -1 and errno */
int open_ctl(void);
int open_ctx(unsigned int ctx_id);
int ctx_create(unsigned int ctx_id, unsigned int mode, unsigned int uid, unsigned int gid);
int ctx_remove(unsigned int ctx_id);
int seg_reg(int fd, void *addr, uint64_t len, unsigned int flags);
int seg_unreg(int fd);
/*
 * Operations find no segment of a node any more a moment before the next owner can have its
 * place: wait for that.
 */
void seg_place_settle(int nid);
/* The id, or -1 and errno */
int buf_reg(int fd, void *addr, uint64_t len, unsigned int flags);
int buf_unreg(int fd, unsigned int id);
int qp_create(int fd, unsigned int entries, struct rmc_qp_create *out);
int qp_destroy(int fd, unsigned int id);

/* A number from a file, or from a line of it that begins with key; -1: none */
long long file_number(const char *path, const char *key);
int file_put(const char *path, const char *text);
/* Pages that this process has registered, in KiB */
long long pinned_kib(void);
/* Pages pinned and not yet released, in the whole kernel */
#define NOT_COUNTED	(-(1LL << 62))
long long pages_pinned(void);
/* Wait until they are so many again; 0 or -1 */
int pages_settle(long long want);
/*
 * Memory that can be had, KiB: what the kernel tells, and pages that a CPU keeps at hand.
 * These do not count as free, and since 6.7 a CPU keeps the more the more it frees.
 */
long long memory_there(void);
/* Sum over the workers of a file in worker<k>/ */
long long workers_sum(const char *name);
/* CPU time of the workers so far, nanoseconds; -1: not accounted */
long long workers_ns(void);
/* Wait until all workers are parked, as an idle QP shows; 0 or -1 */
int wait_parked(struct rmc_qp *qp, unsigned int ms);

/* Deterministic bytes: of a seed, from a position on */
uint8_t pattern(unsigned int seed, size_t pos);
void fill(uint8_t *p, size_t len, unsigned int seed);
/* Position of the first byte that differs from the pattern, or -1 */
long differs(const uint8_t *p, size_t len, unsigned int seed);
uint32_t rnd(uint32_t *state);

/* Be on this CPU only; children inherit it, and were never anywhere else. */
void run_on(int cpu);
/* A CPU of these that is not this one; -1: there is none */
int other_cpu(const cpu_set_t *all, int but);

/* Fork a helper: true in the child, which ends with _exit(). */
pid_t helper(void);
/* The helper ended well */
int helper_ok(pid_t pid);
/* Become nobody in particular */
void drop_privileges(unsigned int uid);

#endif
