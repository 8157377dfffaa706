/* SPDX-License-Identifier: GPL-2.0 */
/* Start and stop functions of kmod/dev, in the order of main.c. */
#ifndef RMC_DEV_H
#define RMC_DEV_H

#include "../run/device.h"

int rmc_cdev_register(struct rmc_device *rmc);
void rmc_cdev_unregister(struct rmc_device *rmc);
int rmc_fault_parse(struct rmc_config *cfg);
int rmc_fault_init(struct rmc_device *rmc);
void rmc_fault_exit(struct rmc_device *rmc);
int rmc_sysfs_create(struct rmc_device *rmc);
void rmc_sysfs_remove(struct rmc_device *rmc);
extern const struct attribute_group *rmc_sysfs_groups[];

#endif
