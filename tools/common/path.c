/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The path of operations, by the driver's answer. */
#include <string.h>
#include <rmc/rmc.h>
#include "../../lib/internal.h"
#include "path.h"

#define LINE	64

const char *path_name(struct rmc_ctx *ctx, int nid, uint64_t bytes)
{
	struct rmc_node_info info = { .size = sizeof(info), .nid = (unsigned int)nid };

	if (!(rmc_query(ctx)->features & RMC_FEATURE_LOCAL_BYTES) ||
	    ctx->driver->call(ctx, RMC_IOC_NODE_INFO, &info))
		return "unknown";
	return (bytes + LINE - 1) / LINE * LINE <= info.local_bytes ? "local" : "packets";
}

const char *path_join(const char *a, const char *b)
{
	if (!a || !b)
		return a ? a : b;
	if (!strcmp(a, b))
		return a;
	return strcmp(a, "unknown") && strcmp(b, "unknown") ? "mixed" : "unknown";
}

const char *path_of_team(const struct rmc_team *team, uint64_t bytes)
{
	const char *path = NULL;
	int i;

	for (i = 0; i < team->nodes; i++)
		if (i != team->self)
			path = path_join(path, path_name(team->ctx, rmc_team_nid(team, i), bytes));
	return path ? path : path_name(team->ctx, rmc_nid(team->ctx), bytes);
}
