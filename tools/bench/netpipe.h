/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Parts of rmc_netpipe: measurements and output, and the transports of messages.
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
	void (*flush)(struct netpipe_end *end);	/* wait until buffers of sent messages are free */

	/* over RMC messages */
	struct rmc_msg *msg;
	int nid;
	/* over TCP */
	int fd;

	uint8_t *out, *in;
};

/* The other end of a run: receives, and answers the first end */
void netpipe_echo(struct netpipe_end *end, uint64_t size, uint64_t n);
void netpipe_sink(struct netpipe_end *end, uint64_t size, uint64_t n);

/* Two ends over loopback sockets */
void netpipe_tcp(struct netpipe_end *first, struct netpipe_end *second, uint64_t size);
void netpipe_tcp_close(struct netpipe_end *end);

#endif /* RMC_NETPIPE_H */
