/* SPDX-License-Identifier: GPL-2.0 */
/* The control socket: connections of clients, and their requests. */
#ifndef RMCD_SERVER_H
#define RMCD_SERVER_H

#include "rmcd.h"

int rmcd_serve(struct rmcd *d, int listener, int signals, int stop_fd);

#endif
