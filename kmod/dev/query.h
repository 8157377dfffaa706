/* SPDX-License-Identifier: GPL-2.0 */
/* What an RMC is and what it can do: RMC_IOC_QUERY, RMC_IOC_NODE_INFO. */
#ifndef RMC_DEV_QUERY_H
#define RMC_DEV_QUERY_H

#include "file.h"

void rmc_dev_query(struct rmc_device *rmc, const struct rmc_file *f, struct rmc_query *q);
int rmc_dev_node_info(struct rmc_device *rmc, const struct rmc_file *f, struct rmc_node_info *i);

#endif
