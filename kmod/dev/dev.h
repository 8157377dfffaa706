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

struct rmc_domain;
struct rmc_domain_dir;
struct kobject *rmc_sysfs_domains(struct rmc_device *rmc, const struct rmc_node *node);
struct rmc_domain_dir *rmc_sysfs_domain_add(struct rmc_device *rmc, const struct rmc_domain *d,
					    u32 policy, u32 depth, const u32 *cores);
void rmc_sysfs_domain_del(struct rmc_domain_dir *dir);

#endif
