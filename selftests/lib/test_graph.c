/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tests the graph sources graph_from_*; run.sh tests their error messages. */
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
#include "graph.h"
#include "../tap.h"

static struct graph g;

static const char *file_with(const char *text)
{
	static char path[] = "/tmp/rmc-graph-XXXXXX";
	FILE *f;

	strcpy(path, "/tmp/rmc-graph-XXXXXX");
	f = fdopen(mkstemp(path), "w");
	fputs(text, f);
	fclose(f);
	return path;
}

static void load(const char *text)
{
	const char *path = file_with(text);

	graph_from_text(&g, path);
	unlink(path);
}

static void test_text(void)
{
	char number[16];

	load("# Directed graph\n#\n\n7 1000000007\r\n1000000007\t7\n  42 7\n007 42");
	CHECK_EQ(g.vertices, 3);
	CHECK_EQ(g.edges, 4);
	CHECK(!strcmp(graph_label(&g, 0, number, sizeof(number)), "7"));
	CHECK(!strcmp(graph_label(&g, 1, number, sizeof(number)), "1000000007"));
	CHECK_EQ(g.out_degree[0], 2);
	CHECK_EQ(g.first[1] - g.first[0], 2);
	CHECK_EQ(g.in[g.first[1]], 0);
	graph_free(&g);
}

static void test_rmat(void)
{
	uint64_t sum;

	graph_from_rmat(&g, 10, 16, 1);
	CHECK_EQ(g.vertices, 1024);
	CHECK_EQ(g.edges, 16384);
	CHECK(g.first[1] - g.first[0] > 100);	/* skewed */
	sum = graph_checksum(&g);
	graph_free(&g);
	graph_from_rmat(&g, 10, 16, 1);
	CHECK(graph_checksum(&g) == sum);
	graph_free(&g);
	graph_from_rmat(&g, 10, 16, 2);
	CHECK(graph_checksum(&g) != sum);
	graph_free(&g);
}

static int has_edge(const char *src, const char *dst)
{
	uint32_t s = strtab_add(&g.names, src, strlen(src));
	uint32_t d = strtab_add(&g.names, dst, strlen(dst));
	uint64_t e;

	if (s >= g.vertices || d >= g.vertices)
		return 0;
	for (e = g.first[d]; e < g.first[d + 1]; e++)
		if (g.in[e] == s)
			return 1;
	return 0;
}

/* argv[1] of the program: a directory with lists, one of them compressed */
static const char *lists;

static void test_debian(void)
{
	graph_from_debian(&g, lists);
	CHECK_EQ(g.vertices, 8);
	CHECK_EQ(g.edges, 8);
	CHECK(has_edge("alpha", "libc6"));
	CHECK(has_edge("alpha", "beta"));
	CHECK(has_edge("alpha", "gamma+x"));
	CHECK(has_edge("alpha", "virtual-mta"));
	CHECK(has_edge("alpha", "delta"));
	CHECK(has_edge("beta", "libc6"));
	CHECK(has_edge("beta", "continued"));
	CHECK(has_edge("zeta", "alpha"));
	graph_free(&g);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		{ "edge list with comments, gaps and odd spacing", test_text },
		{ "R-MAT is skewed and repeatable", test_rmat },
		{ "package lists, plain and compressed", test_debian },
	};

	if (argc != 2)
		return 1;
	lists = argv[1];
	return tap_run(tests, 3);
}
