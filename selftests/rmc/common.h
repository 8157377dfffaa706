/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers that the test programs share. Context CTX exists with mode 0666 while a program
 * runs (suite_missing() creates it); tests use it unless they test contexts.
 */
#ifndef COMMON_H
#define COMMON_H

#include <fcntl.h>
#include <linux/rmc_domain.h>
#include <linux/rmc_tx.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <rmc/rmc.h>
#include "ktap.h"

#define CTX		0
#define CTL_PATH	"/dev/rmc"
#define SYSFS		"/sys/class/misc/rmc"
#define PAGE		4096UL
#define NOBODY		65534

/* A process's use of a node: an open context with its segment, local buffer and queue pair */
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

/* Open a context with a segment, a buffer and a QP of these sizes; size 0: omit that one */
void end_open(struct end *e, unsigned int ctx_id, int nid, size_t seg_len, size_t buf_len,
	      unsigned int entries);
void end_close(struct end *e);

/* Zeroed private memory, with an inaccessible page behind it */
void *memory(size_t len);

/* Raw devices. open_*() return a descriptor, the others 0; on failure -1 and errno. */
int open_ctl(void);
int open_ctx(unsigned int ctx_id);
int ctx_create(unsigned int ctx_id, unsigned int mode, unsigned int uid, unsigned int gid);
int ctx_remove(unsigned int ctx_id);
int seg_reg(int fd, void *addr, uint64_t len, unsigned int flags);
int seg_unreg(int fd);
/*
 * Operations stop finding a withdrawn segment shortly before its node can register the next
 * one. Wait until it can.
 */
void seg_place_settle(int nid);
/* The id, or -1 and errno */
int buf_reg(int fd, void *addr, uint64_t len, unsigned int flags);
int buf_unreg(int fd, unsigned int id);
int qp_create(int fd, unsigned int entries, struct rmc_qp_create *out);
int qp_destroy(int fd, unsigned int id);

/* The number in a file, or in its line that begins with key; -1: none */
long long file_number(const char *path, const char *key);
int file_put(const char *path, const char *text);
/* Memory that this process has pinned, in KiB */
long long pinned_kib(void);
/* Pages pinned and not yet released, in the whole kernel */
#define NOT_COUNTED	(-(1LL << 62))
long long pages_pinned(void);
/* Wait until @want pages are pinned; 0 or -1 */
int pages_settle(long long want);
/*
 * Available memory in KiB: MemAvailable and the pages on the CPUs' own lists. The kernel does
 * not count these as free, and since 6.7 a CPU that frees more pages keeps more of them.
 */
long long memory_there(void);
/* Sum over the workers of a file in worker<k>/ */
long long workers_sum(const char *name);
/* CPU time of the workers so far, nanoseconds; -1: not accounted */
long long workers_ns(void);
/* Wait until an idle QP's need_wakeup is set: its worker parks; 0 or -1 */
int wait_parked(struct rmc_qp *qp, unsigned int ms);

/* Deterministic bytes: functions of seed and position */
uint8_t pattern(unsigned int seed, size_t pos);
void fill(uint8_t *p, size_t len, unsigned int seed);
/* Position of the first byte that differs from the pattern, or -1 */
long differs(const uint8_t *p, size_t len, unsigned int seed);
uint32_t rnd(uint32_t *state);

void sort_u32(uint32_t *v, size_t n);

/* Run on this CPU only; children inherit this and never run elsewhere. */
void run_on(int cpu);
/* A CPU of @all other than @but; -1: there is none */
int other_cpu(const cpu_set_t *all, int but);

/*
 * Whether the host now runs all CPUs of this guest at once; true also if that cannot be told.
 * Only bounds of time that hold for a guest alone on its host need this. host_probe_start()
 * comes first, before the caller has memory that its children must not share.
 */
void host_probe_start(void);
bool host_runs_all_cpus(void);

/* Fork a helper: 0 in the child, which ends with _exit(); its pid in the parent. */
pid_t helper(void);
/* Wait for the helper; true if it exited with status 0 */
int helper_ok(pid_t pid);
/* Become this user and group, without supplementary groups */
void drop_privileges(unsigned int uid);

#endif
