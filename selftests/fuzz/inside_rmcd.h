/* SPDX-License-Identifier: GPL-2.0 */
/* rmcd as a thread of a fuzz target, and what it holds. */
#ifndef INSIDE_RMCD_H
#define INSIDE_RMCD_H

#include <stdint.h>

/**
 * struct holdings - what the daemon holds on behalf of clients
 * @exposed: memory of segments
 * @replaceable: mappings of clients' files
 * @watchers: event files
 * @armed: eventfds of clients
 * @contexts: contexts
 * @users: users with connections
 * @connections: of all users
 * @shares: tenants
 * @opens: open contexts
 * @domains: domains of messages, of all nodes
 * @charged: resources, of users and of contexts
 */
struct holdings {
	uint32_t exposed;
	uint32_t replaceable;
	uint32_t watchers;
	uint32_t armed;
	uint32_t contexts;
	uint32_t users;
	uint32_t connections;
	uint32_t shares;
	uint32_t opens;
	uint32_t domains;
	uint64_t charged[2][6];
};

/* Start it with these options. It listens some time later, or has ended */
void inside_start(const char *socket, const char *const *options, int count);
int inside_ended(void);
/* End it: what main() returned */
int inside_stop(void);
/* Only while the daemon waits for messages */
void inside_holdings(struct holdings *h);
/* Slots of the guard that are in use; slow */
uint32_t inside_guarded(void);
int inside_has_context(uint32_t id);

#endif
