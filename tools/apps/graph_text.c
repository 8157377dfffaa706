/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Edge lists as the SNAP collection publishes them: "# comment" lines, and one
 * "source destination" pair of non-negative numbers per line. Ids need not be dense.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph.h"
#include "opt.h"

#define LINE_SHOWN	40	/* characters of a bad line in the message */

static char *skip_blanks(char *s)
{
	while (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n')
		s++;
	return s;
}

/* The next id of a line as a vertex; NULL when there is none */
static char *vertex(struct graph *g, char *s, uint32_t *v)
{
	char *start = skip_blanks(s), *end = start;

	while (isdigit((unsigned char)*end))
		end++;
	/* Leading zeros would make two names of one id. */
	while (end - start > 1 && *start == '0')
		start++;
	if (end == start || end - start > 20 || (*end && !isspace((unsigned char)*end)))
		return NULL;
	*v = strtab_add(&g->names, start, (size_t)(end - start));
	if (*v == STRTAB_FULL)
		die(EXIT_FAILED, "out of memory");
	return end;
}

void graph_from_text(struct graph *g, const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char *line = NULL, *s, *end;
	unsigned long number = 0;
	uint32_t src, dst;
	size_t room = 0;
	ssize_t len;

	if (!f)
		die(EXIT_USAGE, "%s: %s", path, strerror(errno));
	errno = 0;
	while ((len = getline(&line, &room, f)) >= 0) {
		number++;
		s = skip_blanks(line);
		/* A NUL inside of a line: such a file is no text. */
		if (strlen(line) == (size_t)len && (!*s || *s == '#'))
			continue;
		end = strlen(line) == (size_t)len ? vertex(g, s, &src) : NULL;
		if (end)
			end = vertex(g, end, &dst);
		if (!end || *skip_blanks(end)) {
			s[strcspn(s, "\r\n")] = '\0';
			die(EXIT_USAGE, "%s:%lu: not an edge: '%.*s' (expected two vertex numbers)",
			    path, number, LINE_SHOWN, s);
		}
		graph_add(g, src, dst);
	}
	if (ferror(f))
		die(EXIT_USAGE, "%s: %s", path, strerror(errno));
	free(line);
	if (f != stdin)
		fclose(f);
	g->vertices = g->names.count;
	graph_finish(g, path);
}
