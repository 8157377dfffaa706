/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The constants of adapter.def, as a table and as profiles. */
#include <stddef.h>
#include <string.h>
#include "adapter.h"

static const struct rmc_adapter_row rows[] = {
#define PUBLISHED(profile, name, value, source)	\
	{ profile, #name, NULL, value, RMC_ADAPTER_PUBLISHED, source },
#define FITTED(profile, name, value, source)	\
	{ profile, #name, NULL, value, RMC_ADAPTER_FITTED, source },
#define ASSUMED(profile, name, value, source)	\
	{ profile, #name, NULL, value, RMC_ADAPTER_ASSUMED, source },
#include "adapter.def"
};

#define ROWS	(sizeof(rows) / sizeof(rows[0]))

static const struct {
	const char *name, *what;
	size_t at;
} fields[] = {
#define FIELD(name, what) { #name, what, offsetof(struct rmc_adapter, name) },
	RMC_ADAPTER_CONSTANTS(FIELD)
};

#define FIELDS	(sizeof(fields) / sizeof(fields[0]))

const struct rmc_adapter_row *rmc_adapter_row(unsigned int i)
{
	static struct rmc_adapter_row row;
	size_t f;

	if (i >= ROWS)
		return NULL;
	row = rows[i];
	for (f = 0; f < FIELDS; f++)
		if (!strcmp(fields[f].name, row.name))
			row.what = fields[f].what;
	return &row;
}

const char *rmc_adapter_provenance_name(enum rmc_adapter_provenance p)
{
	static const char *const names[] = { "published", "fitted", "assumed" };

	return names[p];
}

static const struct rmc_adapter *fill(const char *profile)
{
	static struct rmc_adapter a;
	size_t i, f;

	memset(&a, 0, sizeof(a));
	a.name = profile;
	for (i = 0; i < ROWS; i++)
		for (f = 0; f < FIELDS && !strcmp(rows[i].profile, profile); f++)
			if (!strcmp(fields[f].name, rows[i].name))
				memcpy((char *)&a + fields[f].at, &rows[i].value,
				       sizeof(rows[i].value));
	return &a;
}

const struct rmc_adapter *rmc_adapter_find(const char *profile)
{
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].profile, profile))
			return fill(rows[i].profile);
	return NULL;
}

/* Rows of a profile follow each other. */
const struct rmc_adapter *rmc_adapter_at(unsigned int n)
{
	size_t i;

	for (i = 0; i < ROWS; i++)
		if ((!i || strcmp(rows[i].profile, rows[i - 1].profile)) && !n--)
			return fill(rows[i].profile);
	return NULL;
}
