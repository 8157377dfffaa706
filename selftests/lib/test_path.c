/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tests tools/common/path.c over a stub of the library: what a driver reports, and what not. */
#include <errno.h>
#include <string.h>
#include <rmc/rmc.h>
#include "path.h"
#include "../tap.h"

static struct rmc_query query;
static unsigned int local_bytes[4];	/* of each node */
static int refuses;			/* RMC_IOC_NODE_INFO fails */

const struct rmc_query *rmc_query(const struct rmc_ctx *ctx)
{
	(void)ctx;
	return &query;
}

int rmc_nid(const struct rmc_ctx *ctx)
{
	(void)ctx;
	return 0;
}

int rmc_node_info(struct rmc_ctx *ctx, struct rmc_node_info *info)
{
	(void)ctx;
	if (refuses)
		return -ENOENT;
	info->local_bytes = local_bytes[info->nid];
	return 0;
}

#define CHECK_PATH(call, path)	CHECK(!strcmp(call, path))

static void of_one_node(void)
{
	memset(&query, 0, sizeof(query));
	local_bytes[1] = 128;
	CHECK_PATH(path_name(NULL, 1, 64), "unknown");
	query.features = RMC_FEATURE_LOCAL_BYTES;
	CHECK_PATH(path_name(NULL, 1, 64), "local");
	CHECK_PATH(path_name(NULL, 1, 128), "local");
	/* whole lines count */
	CHECK_PATH(path_name(NULL, 1, 129), "packets");
	CHECK_PATH(path_name(NULL, 2, 1), "packets");
	refuses = 1;
	CHECK_PATH(path_name(NULL, 1, 64), "unknown");
	refuses = 0;
}

static void of_several(void)
{
	CHECK(!path_join(NULL, NULL));
	CHECK_PATH(path_join(NULL, "local"), "local");
	CHECK_PATH(path_join("packets", NULL), "packets");
	CHECK_PATH(path_join("local", "local"), "local");
	CHECK_PATH(path_join("local", "packets"), "mixed");
	CHECK_PATH(path_join("mixed", "packets"), "mixed");
	CHECK_PATH(path_join("local", "unknown"), "unknown");
	CHECK_PATH(path_join("unknown", "packets"), "unknown");
}

int main(void)
{
	static const struct tap_test tests[] = {
		{ "the path to a node, also of a driver that does not report it", of_one_node },
		{ "the path to several", of_several },
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
