/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Profiles of network adapters, for the model of kmod/fabric/rnic.h. The values: adapter.def. */
#ifndef RMC_ADAPTERS_H
#define RMC_ADAPTERS_H

#include <stdint.h>

/* One constant per line, named as in debugfs: name, description */
#define RMC_ADAPTER_CONSTANTS(X)						\
	X(msg_ps, "time that a request takes in the server's adapter, ps")	\
	X(mbps, "port of the server, Mb/s in each direction")			\
	X(cas_ns, "time that a compare-and-swap holds its lock slot, ns")	\
	X(faa_ns, "the same of a fetch-and-add, ns")				\
	X(buffer_ns, "time for which atomics do not see other writes, ns")	\
	X(qp_cache, "queue pairs whose state fits the requester's adapter")	\
	X(qp_miss_ns, "time to load the state of another one, ns")

enum rmc_adapter_provenance {
	RMC_ADAPTER_PUBLISHED,	/* the paper says so */
	RMC_ADAPTER_FITTED,	/* to a figure of the paper */
	RMC_ADAPTER_ASSUMED,	/* neither */
};

struct rmc_adapter {
	const char *name;
#define RMC_ADAPTER_FIELD(name, what) uint32_t name;
	RMC_ADAPTER_CONSTANTS(RMC_ADAPTER_FIELD)
#undef RMC_ADAPTER_FIELD
};

struct rmc_adapter_row {
	const char *profile, *name, *what;
	uint32_t value;
	enum rmc_adapter_provenance provenance;
	const char *source;
};

/* NULL: unknown profile */
const struct rmc_adapter *rmc_adapter_find(const char *profile);

/* The i-th profile; NULL after the last one */
const struct rmc_adapter *rmc_adapter_at(unsigned int i);

/* The whole table; NULL after the last row */
const struct rmc_adapter_row *rmc_adapter_row(unsigned int i);
const char *rmc_adapter_provenance_name(enum rmc_adapter_provenance p);

#endif
