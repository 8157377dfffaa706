/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A transport whose nodes share no memory: each kernel of a testbed has tables, doorbells and
 * rings of its own, and whatever another one is to know of them is sent through a socket.
 * It is what a transport over a network adapter would be, see struct rmc_fabric_ops.
 */
#ifndef PACKETS_H
#define PACKETS_H

#include "testbed.h"

struct packets;

/* Memory of all kernels of @w, whose fabrics are to be filled in by packets_attach(). */
struct packets *packets_create(struct testbed *w);
void packets_destroy(struct packets *p);
/* Kernel @k boots on zeroed memory; what was under way to it is lost. */
void packets_attach(struct packets *p, u32 k);
/* What its adapter's interrupt would do: take what has come, and send what had no room. */
u32 packets_pump(struct packets *p, u32 k);
/* Packets sent so far; *@full: how often there was no room for one, or for an entry */
u64 packets_sent(const struct packets *p, u64 *full);

#endif
