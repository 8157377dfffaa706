/* SPDX-License-Identifier: GPL-2.0 */
/* Faults and the link model: kmod/dev/link.c and kmod/dev/debugfs.c, which rmcd compiles. */
#ifndef RMCD_FAULTS_H
#define RMCD_FAULTS_H

#include "rmcd.h"

/* parameters of the module there; config.c sets them */
extern char **const rmcd_param_topology;
extern char **const rmcd_param_dims;
extern unsigned int *const rmcd_param_hop_ns;
extern unsigned int *const rmcd_param_base_ns;
extern unsigned int *const rmcd_param_local_ns;
extern unsigned int *const rmcd_param_link_mbps;
extern unsigned int *const rmcd_param_rack_ns;
extern unsigned int *const rmcd_param_rack_mbps;
extern bool *const rmcd_param_one_way;
extern unsigned int *const rmcd_param_retries;

/* kmod/dev/debugfs.c, which calls the daemon a device */
int rmc_fault_parse(struct rmcd_config *cfg);
int rmc_fault_init(struct rmcd *d);
void rmc_fault_exit(struct rmcd *d);

int rmcd_fault_read(const char *name, char **text);
int rmcd_fault_write(const char *name, const char *line);

#endif
