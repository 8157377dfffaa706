/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* FaRM's layout, lines.h: how its owner writes and reads it, and how a reader checks an image. */
#include "lines.h"
#include "scheme.h"

size_t rmc_farm_image(size_t len)
{
	return lines_bytes(len);
}

void rmc_farm_store(struct rmc_object *o, const void *data, size_t len)
{
	lines_store((uint8_t *)o, data, len, (uint16_t)rmc_load_relaxed(&o->version));
}

int rmc_farm_check(const void *image, void *clean, size_t len)
{
	uint64_t version;

	memcpy(&version, image, sizeof(version));
	if (rmc_unlikely(version & 1))
		return RMC_SCHEME_LOCKED;
	return lines_strip_image((const uint8_t *)image, (uint8_t *)clean, len, (uint16_t)version);
}

int rmc_farm_copy(const struct rmc_object *o, void *data, size_t len)
{
	return lines_strip_object((const uint8_t *)o, (uint8_t *)data, len,
				  (uint16_t)rmc_load_acquire(&o->version));
}
