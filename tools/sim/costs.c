// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The constants of costs.def, as a table and as profiles. */
#include <stddef.h>
#include <string.h>
#include "costs.h"

struct value {
	const char *profile, *name;
	uint32_t value;
	enum rmc_sim_provenance provenance;
	const char *source;
};

static const struct value values[] = {
#define PUBLISHED(profile, name, value, source)	\
	{ profile, #name, value, RMC_SIM_PUBLISHED, source },
#define MEASURED(profile, name, value, source)	\
	{ profile, #name, value, RMC_SIM_MEASURED, source },
#define ASSUMED(profile, name, value, source)	\
	{ profile, #name, value, RMC_SIM_ASSUMED, source },
#define FITTED(profile, name, value, source)	\
	{ profile, #name, value, RMC_SIM_FITTED, source },
#include "costs.def"
};

#define VALUES	(sizeof(values) / sizeof(values[0]))

static const struct {
	const char *name, *unit, *what;
	size_t at;
} fields[] = {
#define FIELD(name, unit, what) { #name, unit, what, offsetof(struct rmc_sim_costs, name) },
	RMC_SIM_COSTS(FIELD)
};

#define FIELDS	(sizeof(fields) / sizeof(fields[0]))

/**
 * rmc_sim_cost_row() - a constant of the table
 * @i: its number
 *
 * Return: row, until the next call; NULL after the last one.
 */
const struct rmc_sim_cost_row *rmc_sim_cost_row(unsigned int i)
{
	static struct rmc_sim_cost_row row;
	size_t f;

	if (i >= VALUES)
		return NULL;
	memset(&row, 0, sizeof(row));
	row.profile = values[i].profile;
	row.name = values[i].name;
	row.value = values[i].value;
	row.provenance = values[i].provenance;
	row.source = values[i].source;
	for (f = 0; f < FIELDS; f++) {
		if (strcmp(fields[f].name, row.name))
			continue;
		row.unit = fields[f].unit;
		row.what = fields[f].what;
	}
	return &row;
}

/**
 * rmc_sim_costs_find() - costs by the name of their profile
 * @profile: name
 *
 * Return: costs, until the next call; NULL: unknown profile.
 */
const struct rmc_sim_costs *rmc_sim_costs_find(const char *profile)
{
	static struct rmc_sim_costs costs;
	size_t i;

	memset(&costs, 0, sizeof(costs));
	for (i = 0; i < VALUES; i++) {
		if (strcmp(values[i].profile, profile))
			continue;
		costs.name = values[i].profile;
		rmc_sim_costs_set(&costs, values[i].name, values[i].value);
	}
	return costs.name ? &costs : NULL;
}

/**
 * rmc_sim_costs_set() - change a cost
 * @costs: which
 * @name: of the cost
 * @value: in its unit
 *
 * Return: false if there is no such cost.
 */
bool rmc_sim_costs_set(struct rmc_sim_costs *costs, const char *name, uint32_t value)
{
	size_t f;

	for (f = 0; f < FIELDS; f++) {
		if (strcmp(fields[f].name, name))
			continue;
		*(uint32_t *)((char *)costs + fields[f].at) = value;
		return true;
	}
	return false;
}

/**
 * rmc_sim_provenance_name() - name of the origin of a constant
 * @p: enum rmc_sim_provenance
 *
 * Return: word.
 */
const char *rmc_sim_provenance_name(enum rmc_sim_provenance p)
{
	static const char * const names[] = { "published", "measured", "assumed", "fitted" };

	return names[p];
}
