// SPDX-License-Identifier: GPL-2.0
/* In-flight Transaction Table: set-up and take-down. */
#include "itt.h"

/**
 * rmc_itt_init() - allocate a table
 * @itt: table
 * @size: operations in flight, 1 .. RMC_TID_NONE
 *
 * Return: 0, -EINVAL, -ENOMEM.
 * Context: may sleep.
 */
int rmc_itt_init(struct rmc_itt *itt, u32 size)
{
	u32 i;

	if (!size || size > RMC_TID_NONE)
		return -EINVAL;
	itt->entry = rmc_os_zalloc(size * sizeof(*itt->entry));
	itt->track = rmc_os_zalloc(size * sizeof(*itt->track));
	if (!itt->entry || !itt->track) {
		rmc_itt_destroy(itt);
		return -ENOMEM;
	}
	for (i = 0; i < size; i++)
		itt->entry[i].next = i + 1 < size ? i + 1 : RMC_TID_NONE;
	itt->free = 0;
	itt->size = size;
	itt->used = 0;
	itt->restarts = 0;
	itt->announced = 0;
	return 0;
}

/**
 * rmc_itt_destroy() - free a table; the pipelines no longer run
 * @itt: table
 *
 * Context: may sleep.
 */
void rmc_itt_destroy(struct rmc_itt *itt)
{
	rmc_os_free(itt->track);
	rmc_os_free(itt->entry);
	itt->track = NULL;
	itt->entry = NULL;
}
