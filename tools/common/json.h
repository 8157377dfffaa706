/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A JSON writer: prints values immediately, and adds commas and quotes. name is NULL
 * inside arrays and for the outermost value.
 */
#ifndef RMC_TOOLS_JSON_H
#define RMC_TOOLS_JSON_H

#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH	16

struct json {
	FILE *out;
	int depth;
	unsigned char filled[JSON_DEPTH];	/* level has a value already */
};

void json_init(struct json *j, FILE *out);
void json_object(struct json *j, const char *name);
void json_array(struct json *j, const char *name);
void json_end_object(struct json *j);
void json_end_array(struct json *j);
void json_string(struct json *j, const char *name, const char *value);
void json_int(struct json *j, const char *name, int64_t value);
void json_uint(struct json *j, const char *name, uint64_t value);
void json_double(struct json *j, const char *name, double value);
void json_bool(struct json *j, const char *name, int value);

/*
 * A value of a figure, as an object of an array. names: of the fields for @what and @count, as they
 * differ between programs.
 */
void json_figure_row(struct json *j, const char *const names[2], const char *what, uint32_t bytes,
		     uint32_t count, const char *series, double value, const char *unit);

#endif /* RMC_TOOLS_JSON_H */
