/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A JSON writer. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "json.h"

void json_init(struct json *j, FILE *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
}

static void quote(struct json *j, const char *s)
{
	fputc('"', j->out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(j->out, "\\%c", c);
		else if (c < 0x20)
			fprintf(j->out, "\\u%04x", c);
		else
			fputc(c, j->out);
	}
	fputc('"', j->out);
}

static void begin(struct json *j, const char *name)
{
	if (j->filled[j->depth])
		fputc(',', j->out);
	if (j->depth)
		fprintf(j->out, "\n%*s", 2 * j->depth, "");
	j->filled[j->depth] = 1;
	if (name) {
		quote(j, name);
		fputs(": ", j->out);
	}
}

static void open_level(struct json *j, const char *name, char c)
{
	begin(j, name);
	fputc(c, j->out);
	if (j->depth < JSON_DEPTH - 1)
		j->depth++;
	j->filled[j->depth] = 0;
}

static void close_level(struct json *j, char c)
{
	int filled = j->filled[j->depth];

	j->depth--;
	if (filled)
		fprintf(j->out, "\n%*s", 2 * j->depth, "");
	fputc(c, j->out);
	if (!j->depth)
		fputc('\n', j->out);
}

void json_object(struct json *j, const char *name)
{
	open_level(j, name, '{');
}

void json_array(struct json *j, const char *name)
{
	open_level(j, name, '[');
}

void json_end_object(struct json *j)
{
	close_level(j, '}');
}

void json_end_array(struct json *j)
{
	close_level(j, ']');
}

void json_string(struct json *j, const char *name, const char *value)
{
	begin(j, name);
	if (value)
		quote(j, value);
	else
		fputs("null", j->out);
}

void json_int(struct json *j, const char *name, int64_t value)
{
	begin(j, name);
	fprintf(j->out, "%" PRId64, value);
}

void json_uint(struct json *j, const char *name, uint64_t value)
{
	begin(j, name);
	fprintf(j->out, "%" PRIu64, value);
}

void json_double(struct json *j, const char *name, double value)
{
	begin(j, name);
	if (isfinite(value))
		fprintf(j->out, "%.9g", value);
	else
		fputs("null", j->out);
}

void json_bool(struct json *j, const char *name, int value)
{
	begin(j, name);
	fputs(value ? "true" : "false", j->out);
}

void json_figure_row(struct json *j, const char *const names[2], const char *what, uint32_t bytes,
		     uint32_t count, const char *series, double value, const char *unit)
{
	json_object(j, NULL);
	json_string(j, names[0], what);
	json_uint(j, "bytes", bytes);
	json_uint(j, names[1], count);
	json_string(j, "series", series);
	json_double(j, "value", value);
	json_string(j, "unit", unit);
	json_end_object(j);
}
