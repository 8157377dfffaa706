// SPDX-License-Identifier: GPL-2.0
/* Model of a server's network adapter: see rnic.h. */
#include "rnic.h"

/**
 * rmc_rnic_check() - validate an adapter
 * @r: adapter, any values
 * @mtu: of the fabric
 *
 * Return: 0; -ERANGE: a number is too large; -EMSGSIZE: packets are too long for @r->any_lines.
 */
int rmc_rnic_check(const struct rmc_rnic *r, u32 mtu)
{
	if (r->any_lines > 1 || r->gap_ns > RMC_RNIC_NS_MAX)
		return -ERANGE;
	return r->any_lines && mtu > RMC_RNIC_MTU_MAX ? -EMSGSIZE : 0;
}
