/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * X x Y queueing systems (T18 section 5.1): X queues, first come first served, with Y servers each.
 * Exact: each message starts when it has arrived and the server of its queue that is free earliest
 * is free. Times are picoseconds.
 */
#ifndef QSIM_QUEUES_H
#define QSIM_QUEUES_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct message - one message, in the order of arrival
 * @arrives: time
 * @service: how long a server works on it
 * @key: a random number: of it, the queue or core that it is bound to
 */
struct message {
	uint64_t arrives, service;
	uint32_t key;
};

#define SERVERS_MAX	1024

/**
 * queues_run() - run messages through a system
 * @queues: number of queues, X; message m is in queue m.key % X
 * @servers: servers of each, Y; X * Y is at most SERVERS_MAX
 * @m: messages
 * @n: number of them
 * @latency: of each message, from its arrival to the end of its service
 */
void queues_run(unsigned int queues, unsigned int servers, const struct message *m, size_t n,
		uint64_t *latency);

/* Percentile of @n values in thousandths, by nearest rank; changes their order. 0 of none */
uint64_t percentile(uint64_t *value, size_t n, unsigned int permille);

#endif /* QSIM_QUEUES_H */
