/* SPDX-License-Identifier: GPL-2.0 */
/* Closes both ends of channels that a transport wants to free. */
#ifndef RMC_RETIRE_H
#define RMC_RETIRE_H

#include "../fabric/transport.h"

void rmc_retire_init(struct rmc_port *port);

#endif
