/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * librmc: access library of the Remote Memory Controller.
 *
 * Results: every function that returns int returns 0 or a useful positive number
 * (a slot, a count, an id) for success and -errno when the call itself failed.
 * Blocking operations and rmc_drain_cq() also return a positive enum rmc_status
 * when the operation was refused or failed. rmc_strerror() takes both kinds.
 */
#ifndef RMC_RMC_H
#define RMC_RMC_H

#include <rmc/version.h>
#include <rmc/barrier.h>
#include <rmc/error.h>
#include <rmc/ctx.h>
#include <rmc/mem.h>
#include <rmc/qp.h>
#include <rmc/atomic.h>
#include <rmc/object.h>
#include <rmc/sabre.h>
#include <rmc/wait.h>
#include <rmc/watch.h>
#include <rmc/team.h>
#include <rmc/msg.h>
#include <rmc/herd.h>
#include <rmc/coll.h>
#include <rmc/rpc.h>
#include <rmc/scheme.h>
#include <rmc/latch.h>
#include <rmc/reader.h>
#include <rmc/sync.h>
#include <rmc/kv.h>
#include <rmc/ds.h>
#include <rmc/domain.h>
#include <rmc/tx.h>

#endif /* RMC_RMC_H */
