/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What the files of librmc share and applications do not see. */
#ifndef RMC_LIB_INTERNAL_H
#define RMC_LIB_INTERNAL_H

#include <stdint.h>
#include <stddef.h>
#include <rmc/rmc.h>

/* Driver memory mapped by this context: the segment or a local buffer */
struct rmc_mapping {
	struct rmc_mapping *next;
	int id;				/* buf_id, or RMC_MAPPING_SEG */
	void *addr;
	size_t len;
};

#define RMC_MAPPING_SEG		(-1)

struct rmc_ctx {
	int fd;
	unsigned int id;
	struct rmc_query query;
	struct rmc_mapping *mappings;
	struct rmc_qp *qps;		/* linked by rmc_qp.priv */
};

size_t rmc_page_round(size_t len);

/* mmap of driver memory, not inherited by children; MAP_FAILED and errno */
void *rmc_map(int fd, size_t len, int prot, uint64_t offset);

/* Set rmc_errmsg(); keeps errno. The second form gives -err as well. */
void rmc_set_errmsg(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int rmc_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* RMC_LIB_INTERNAL_H */
