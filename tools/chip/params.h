/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The constants of params.def, as an enum and as a table */
#ifndef CHIP_PARAMS_H
#define CHIP_PARAMS_H

enum {
#define PARAM(name, value, kind, source)	P_##name = (value),
#include "params.def"
#undef PARAM
	CORES		= 64,
	ROWS		= 8,
	GHZ		= 2,
};

struct param {
	const char *name, *kind, *source;
	int value;
};

/* Ends with an entry without a name */
extern const struct param params[];

#endif /* CHIP_PARAMS_H */
