/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * rmc_netpipe in parts: what is measured and printed, and over what messages go.
 */
#ifndef RMC_NETPIPE_H
#define RMC_NETPIPE_H

#include <stddef.h>
#include <stdint.h>
#include <rmc/rmc.h>

/* One end of a connection. Failures end the program. */
struct netpipe_end {
	void (*send)(struct netpipe_end *end, size_t len);
	void (*recv)(struct netpipe_end *end, size_t len);
	void (*flush)(struct netpipe_end *end);	/* what was sent may still be in use: wait */

	/* over RMC messages */
	struct rmc_msg *msg;
	int nid;
	/* over TCP */
	int fd;

	uint8_t *out, *in;
};

/* The other end of a run: what the first sends and expects */
void netpipe_echo(struct netpipe_end *end, uint64_t size, uint64_t n);
void netpipe_sink(struct netpipe_end *end, uint64_t size, uint64_t n);

/* Two ends over loopback sockets */
void netpipe_tcp(struct netpipe_end *first, struct netpipe_end *second, uint64_t size);
void netpipe_tcp_close(struct netpipe_end *end);

#endif /* RMC_NETPIPE_H */
