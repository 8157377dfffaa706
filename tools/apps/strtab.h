/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Names to dense numbers, in order of first appearance. */
#ifndef RMC_STRTAB_H
#define RMC_STRTAB_H

#include <stddef.h>
#include <stdint.h>

struct strtab {
	uint32_t count;
	uint32_t buckets;		/* power of two */
	uint32_t *bucket;		/* number + 1, 0: free */
	char **name;
	uint32_t *hash;
	uint32_t room;
};

#define STRTAB_FULL	UINT32_MAX

/* The number of a name, added when new; STRTAB_FULL: out of memory */
uint32_t strtab_add(struct strtab *t, const char *s, size_t len);
void strtab_free(struct strtab *t);

#endif /* RMC_STRTAB_H */
