/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sockets in which clients read what rmcd reports to them: reports of sleepers, and events.
 *
 *	rmcd: send() ---> places for a number of messages ---> read() of the client
 *
 * Not pipes: who reads a pipe holds its lock while the data is copied, which takes as long as
 * the reader likes, and a write or close at the other end waits for that lock. O_NONBLOCK does
 * not change it, and a signal does not end it.
 */
#ifndef RMCD_REPORT_H
#define RMCD_REPORT_H

#include "rmcd.h"

/**
 * struct rmcd_report - our end of such a socket
 * @fd: descriptor; no client has it
 * @unit: bytes that a message takes in the kernel
 * @places: unread messages that it holds, about
 */
struct rmcd_report {
	int fd;
	u32 unit;
	u32 places;
};

int rmcd_report_open(struct rmcd_report *r, size_t len, u32 places, bool nonblock);
bool rmcd_report_send(const struct rmcd_report *r, const void *data, size_t len);
u32 rmcd_report_unread(const struct rmcd_report *r);
bool rmcd_report_hung_up(const struct rmcd_report *r);

#endif
