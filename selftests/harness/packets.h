/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A transport whose nodes share no memory: each kernel of a testbed has tables, doorbells and
 * rings of its own, and sends changes to the others through sockets. A transport over a network
 * adapter would be the same, see struct rmc_fabric_ops.
 */
#ifndef PACKETS_H
#define PACKETS_H

#include "testbed.h"

struct packets;

/* Memory of all kernels of @w; packets_attach() fills in their fabrics. */
struct packets *packets_create(struct testbed *w);
void packets_destroy(struct packets *p);
/* Kernel @k boots on zeroed memory; packets on their way to it are lost. */
void packets_attach(struct packets *p, u32 k);
/* What an adapter's interrupt would do: receive packets, and send those that had no room. */
u32 packets_pump(struct packets *p, u32 k);
/* Packets sent so far; *@full: times that a packet or an entry had no room */
u64 packets_sent(const struct packets *p, u64 *full);
/* The same, of all testbeds that ended */
extern u64 packets_total;

#endif
