/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Messages with descriptors, over the socket of rmcd: see protocol.h. */
#ifndef RMC_LIB_SOCKET_H
#define RMC_LIB_SOCKET_H

#include <pthread.h>
#include <stddef.h>
#include "protocol.h"

/**
 * struct rmc_socket - a connection
 * @fd: the socket; a thread may poll it for its hang-up at any time
 * @dead: the daemon is gone, or broke the protocol; never reset
 * @lock: held from a request to its answer
 */
struct rmc_socket {
	int fd;
	int dead;
	pthread_mutex_t lock;
};

/**
 * struct rmc_message - a request, and then its answer
 * @head: head.request is the caller's; all else is set by rmc_socket_call()
 * @body: what follows the head
 * @len: bytes of @body
 * @fd: descriptors: of a request the caller's, of an answer close-on-exec and the caller's
 *	to close
 * @fds: number of them
 */
struct rmc_message {
	struct rmcd_head head;
	unsigned char body[RMCD_MESSAGE_BYTES - sizeof(struct rmcd_head)];
	size_t len;
	int fd[RMCD_MESSAGE_FDS];
	unsigned int fds;
};

/*
 * Connect: a descriptor, or -errno. -EPERM: the server runs neither as root nor as this
 * process's user; *uid is its user.
 */
int rmc_socket_connect(const char *path, unsigned int *uid);

/*
 * Send a request, and wait for the answer, which must have @want bytes and @want_fds
 * descriptors, or with RMC_OR_ONE_LESS one less; one that refuses has no descriptors, and @want bytes or none. 0, or -errno:
 * -ESHUTDOWN: the daemon is gone; -EPROTO: it broke the protocol, and is gone for us;
 * -EMFILE: the request was carried out (m->head.ret is not negative), but this process cannot
 * have the descriptors of the answer, which is in @m: the caller undoes the request. On
 * failure no descriptor is left.
 */
#define RMC_OR_ONE_LESS	(1U << 8)

int rmc_socket_call(struct rmc_socket *s, struct rmc_message *m, size_t want,
		    unsigned int want_fds);

/* Hang up, for a violation that only the caller can see: -EPROTO */
int rmc_socket_violated(struct rmc_socket *s);

int rmc_socket_alive(const struct rmc_socket *s);
void rmc_message_close_fds(struct rmc_message *m);

#endif
