/* SPDX-License-Identifier: GPL-2.0 */
/* Messages to rmcd's socket that an input describes. */
#ifndef SOCKET_MESSAGE_H
#define SOCKET_MESSAGE_H

#include "driver/protocol.h"
#include "input.h"

#define PAGE_BYTES	4096UL
#define ARENA_BYTES	(1UL << 20)	/* private memory that hostile clients may name */
#define MOST_FDS	64
#define MODEST_CTX	2		/* context of the neighbour, which is nobody else's */

/* Descriptors that a message can have; the first two are the client's own memory */
enum fd_kind {
	FD_MEMORY, FD_MEMORY2, FD_SEALED, FD_READ_ONLY, FD_EVENTFD, FD_FULL_EVENTFD, FD_PIPE,
	FD_NULL, FD_ZERO, FD_DISK, FD_DIRECTORY, FD_EPOLL, FD_SOCKET, FD_PROC_MEM, FD_EMPTY,
	FD_KINDS = 16,
};

/**
 * struct message - a message
 * @data: head and body
 * @len: bytes of both
 * @fds: descriptors
 * @nfds: number of them
 */
struct message {
	union {
		struct rmcd_head head;
		uint8_t data[sizeof(struct rmcd_head) + RMCD_MESSAGE_BYTES + 256];
	};
	size_t len;
	int fds[MOST_FDS];
	uint32_t nfds;
};

/* Kinds of message_build(): RMCD_OPEN, RMCD_ATTR_*, then the table of requests */
#define MESSAGE_KINDS	30

void message_build(struct message *m, uint32_t kind, struct input *in, const int *files,
		   uint8_t *arena);
void message_mutate(struct message *m, struct input *in, const int *files);
/* What nobody may send, since the client here is also the daemon's own process and user */
void message_restrict(struct message *m, int admin, uint8_t *arena);

#endif
