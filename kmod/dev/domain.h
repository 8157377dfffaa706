/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Domains of messages: one per context and node, of the file that created it. It ends with the
 * file, for others that have opened it as well.
 *
 *   the file's lock: rmc_dom_*()      dispatcher: RRPP worker of the node's first unit
 *                                     cores: queue pairs, each with an arrival queue
 */
#ifndef RMC_DEV_DOMAIN_H
#define RMC_DEV_DOMAIN_H

#include "file.h"

void rmc_dom_query(struct rmc_dom_query *q);
int rmc_dom_begin(struct rmc_file *f, struct rmc_dom_create *c);
int rmc_dom_open(struct rmc_file *f, struct rmc_dom_open *o);
bool rmc_dom_unlist(struct rmc_file *f);
int rmc_dom_missing(const struct rmc_file *f);
int rmc_dom_destroy(struct rmc_file *f);
int rmc_dom_attach(struct rmc_file *f, struct rmc_dom_attach *a);
int rmc_dom_detach(struct rmc_file *f, struct rmc_queues *q);
int rmc_dom_arm(struct rmc_file *f, const struct rmc_aq_arm *a);
int rmc_dom_arm_room(struct rmc_file *f, const struct rmc_room_arm *a);
struct rmc_event *rmc_dom_arrivals(struct rmc_file *f, struct rmc_queues *q);
void rmc_dom_sleeps(struct rmc_file *f, struct rmc_queues *q);
bool rmc_dom_expect_room(struct rmc_file *f, struct rmc_queues *q, u32 *seen);
int rmc_dom_report(struct rmc_file *f, struct rmc_dom_stats *s);
struct rmc_umem *rmc_dom_memory(struct rmc_file *f, enum rmc_map_kind kind, u32 id);

#endif
