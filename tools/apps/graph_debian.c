/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The dependency graph of the Debian packages that apt knows here: an edge from a
 * package to every package that it depends on, pre-depends on or recommends, alternatives
 * included. A virtual package is a separate vertex. Without apt's lists, or when they are
 * empty, the installed packages of dpkg are used.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "graph.h"
#include "opt.h"

#define DPKG_STATUS	"/var/lib/dpkg/status"
#define APT_HELPER	"/usr/lib/apt/apt-helper"

static const char * const list_suffixes[] = {
	"_Packages", "_Packages.lz4", "_Packages.gz", "_Packages.xz", "_Packages.zst",
	"_Packages.bz2",
};

#define NR_SUFFIXES	(sizeof(list_suffixes) / sizeof(list_suffixes[0]))

static uint32_t package(struct graph *g, const char *s, size_t len)
{
	uint32_t v = strtab_add(&g->names, s, len);

	if (v == STRTAB_FULL)
		die(EXIT_FAILED, "out of memory");
	return v;
}

static int in_name(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '-' || c == '.' || c == '_';
}

/* "a (>= 1) | b:any, c [amd64]": one edge to each of a, b and c */
static void relations(struct graph *g, uint32_t src, const char *s)
{
	const char *start;

	while (*s) {
		while (*s && !in_name(*s))
			s++;
		for (start = s; in_name(*s); s++)
			;
		if (s > start)
			graph_add(g, src, package(g, start, (size_t)(s - start)));
		s += strcspn(s, ",|");
	}
}

static int is_relation(const char *line, const char **value)
{
	static const char * const fields[] = { "Depends:", "Pre-Depends:", "Recommends:" };
	unsigned int i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		size_t len = strlen(fields[i]);

		if (!strncmp(line, fields[i], len)) {
			*value = line + len;
			return 1;
		}
	}
	return 0;
}

static void parse(struct graph *g, FILE *f)
{
	int inside = 0;			/* a relation field that may continue */
	uint32_t current = STRTAB_FULL;
	const char *value;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	while ((len = getline(&line, &room, f)) > 0) {
		if (*line == '\n') {
			current = STRTAB_FULL;
			inside = 0;
		} else if (*line == ' ' || *line == '\t') {
			if (inside && current != STRTAB_FULL)
				relations(g, current, line);
		} else if (!strncmp(line, "Package:", 8)) {
			char *s = line + 8;

			s += strspn(s, " \t");
			current = package(g, s, strcspn(s, " \t\r\n"));
			inside = 0;
		} else {
			inside = is_relation(line, &value);
			if (inside && current != STRTAB_FULL)
				relations(g, current, value);
		}
	}
	free(line);
}

/* The first available one; apt's helper supports all formats of apt. */
static void exec_decompressor(const char *path)
{
	const char *dot = strrchr(path, '.');
	const char *program = NULL;

	if (dot && !strcmp(dot, ".lz4"))
		program = "lz4";
	else if (dot && !strcmp(dot, ".gz"))
		program = "gzip";
	else if (dot && !strcmp(dot, ".xz"))
		program = "xz";
	else if (dot && !strcmp(dot, ".zst"))
		program = "zstd";
	else if (dot && !strcmp(dot, ".bz2"))
		program = "bzip2";
	if (program)
		execlp(program, program, "-dc", path, (char *)NULL);
	execl(APT_HELPER, APT_HELPER, "cat-file", path, (char *)NULL);
}

static int parse_compressed(struct graph *g, const char *path)
{
	int fds[2], status;
	pid_t pid;
	FILE *f;

	if (pipe2(fds, O_CLOEXEC))
		die(EXIT_FAILED, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die(EXIT_FAILED, "fork: %s", strerror(errno));
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		exec_decompressor(path);
		_exit(127);
	}
	close(fds[1]);
	f = fdopen(fds[0], "r");
	if (!f)
		die(EXIT_FAILED, "out of memory");
	parse(g, f);
	fclose(f);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int is_list(const struct dirent *e)
{
	size_t len = strlen(e->d_name), n;
	unsigned int i;

	for (i = 0; i < NR_SUFFIXES; i++) {
		n = strlen(list_suffixes[i]);
		if (len > n && !strcmp(e->d_name + len - n, list_suffixes[i]))
			return 1;
	}
	return 0;
}

static void parse_lists(struct graph *g, const char *dir)
{
	struct dirent **list;
	int n = scandir(dir, &list, is_list, NULL), i, k;
	char path[1024];

	/* Vertex numbers follow file order, which must be the same on every node. */
	for (i = 1; i < n; i++) {
		struct dirent *e = list[i];

		for (k = i; k > 0 && strcmp(list[k - 1]->d_name, e->d_name) > 0; k--)
			list[k] = list[k - 1];
		list[k] = e;
	}
	for (i = 0; i < n; i++) {
		size_t len = strlen(list[i]->d_name);

		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (len > 9 && !strcmp(list[i]->d_name + len - 9, "_Packages")) {
			FILE *f = fopen(path, "re");

			if (!f)
				die(EXIT_USAGE, "%s: %s", path, strerror(errno));
			parse(g, f);
			fclose(f);
		} else if (parse_compressed(g, path)) {
			die(EXIT_USAGE, "%s: cannot decompress it: neither its program nor apt-helper works",
			    path);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

static int by_edge(const void *a, const void *b)
{
	const struct graph_edge *x = (const struct graph_edge *)a;
	const struct graph_edge *y = (const struct graph_edge *)b;

	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return x->dst < y->dst ? -1 : x->dst > y->dst;
}

/* Several suites, versions and fields name the same dependency: keep one edge. */
static void remove_duplicates(struct graph *g)
{
	uint64_t i, n = 0;

	if (!g->edges)
		return;
	qsort(g->list, g->edges, sizeof(*g->list), by_edge);
	for (i = 1; i < g->edges; i++)
		if (by_edge(&g->list[n], &g->list[i]))
			g->list[++n] = g->list[i];
	g->edges = n + 1;
}

void graph_from_debian(struct graph *g, const char *lists)
{
	const char *what = lists;
	FILE *f;

	parse_lists(g, lists);
	if (!g->names.count) {
		what = DPKG_STATUS;
		f = fopen(what, "re");
		if (!f)
			die(EXIT_USAGE, "no package lists in %s and no %s: --debian needs a Debian system (apt-get update)",
			    lists, what);
		fprintf(stderr, "%s: no package lists in %s (apt-get update fetches them): ranking the installed packages\n",
			program_invocation_short_name, lists);
		parse(g, f);
		fclose(f);
	}
	remove_duplicates(g);
	g->vertices = g->names.count;
	graph_finish(g, what);
}
