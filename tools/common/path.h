/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Which path operations take: see "The local path" in Documentation/architecture.rst. */
#ifndef RMC_TOOLS_PATH_H
#define RMC_TOOLS_PATH_H

#include <stdint.h>

struct rmc_ctx;
struct rmc_team;

/*
 * Path of reads, writes and SABRes of so many bytes, from the start of a line, of the context's
 * node on node nid, as the driver reports it now: "local", "packets", or "unknown" where the
 * driver does not report it. Atomics are of 8 bytes. While tenants share a worker, operations above
 * one MTU take packets: the driver does not report that, so "local" is wrong for these.
 */
const char *path_name(struct rmc_ctx *ctx, int nid, uint64_t bytes);

/* The same on all other members, or on ourselves if there are none: also "mixed" */
const char *path_of_team(const struct rmc_team *team, uint64_t bytes);

/* What several are together: NULL and the same are the same, else "mixed" or "unknown" */
const char *path_join(const char *a, const char *b);

#endif /* RMC_TOOLS_PATH_H */
