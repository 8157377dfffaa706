// SPDX-License-Identifier: GPL-2.0
/* Table of transports. */
#include "transport.h"

/* The first transport that is present is the default. */
static const struct rmc_transport *const transports[] = {
#ifdef CONFIG_PCI
	&rmc_ivshmem,
#endif
#ifdef CONFIG_UML
	&rmc_uml,
#endif
	&rmc_loopback,
};

/**
 * rmc_transport_find() - transport by name
 * @name: name that the user gave
 *
 * Return: transport or NULL.
 */
const struct rmc_transport *rmc_transport_find(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(transports); i++)
		if (!strcmp(transports[i]->name, name))
			return transports[i];
	return NULL;
}

/**
 * rmc_transport_default() - the transport when the user names none
 * @cfg: the rest of the configuration
 *
 * Return: transport. Context: may sleep.
 */
const struct rmc_transport *rmc_transport_default(const struct rmc_fabric_config *cfg)
{
	int i;

	for (i = 0; transports[i]->present; i++)
		if (transports[i]->present(cfg))
			break;
	return transports[i];
}
