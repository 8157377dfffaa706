/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Contexts of librmc on nodes of a testbed: the library's domains over the core in this process.
 * The RMC has structs of the same names as the library's, which are rmc_lib_domain and rmc_lib_core
 * here. Include it after testbed.h.
 */
#ifndef BENCH_CONTEXT_H
#define BENCH_CONTEXT_H

#define rmc_domain	rmc_lib_domain
#define rmc_core	rmc_lib_core
#include <rmc/domain.h>
#undef rmc_domain
#undef rmc_core

/*
 * A context of node @nid, while the workers run. Its driver creates buffers, queue pairs and domains,
 * for as long as the process lives: rmc_close(), rmc_domain_close() and rmc_core_close() are not
 * possible, and nothing sleeps.
 */
struct rmc_ctx *bench_context(struct testbed *w, u32 nid, u32 ctx_id);

#endif
