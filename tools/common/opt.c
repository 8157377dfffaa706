/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Command lines. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rmc/version.h>
#include "opt.h"

#define MAX_OPTS	64
#define NO_LETTER	1	/* result of getopt for --version, which has no letter */

void die(int code, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(code);
}

int opt_size(const char *s, uint64_t *size)
{
	unsigned int shift = 0;
	char *end;

	if (*s < '0' || *s > '9')
		return -1;
	errno = 0;
	*size = strtoull(s, &end, 0);
	if (errno)
		return -1;
	switch (*end) {
	case 'k':
	case 'K':
		shift = 10;
		break;
	case 'm':
	case 'M':
		shift = 20;
		break;
	case 'g':
	case 'G':
		shift = 30;
		break;
	}
	if (shift)
		end++;
	if (*end || (*size << shift) >> shift != *size)
		return -1;
	*size <<= shift;
	return 0;
}

int opt_default_context(void)
{
	return opt_env_int("RMC_CTX", 0, 0);
}

int opt_env_int(const char *name, int min, int absent)
{
	const char *s = getenv(name);
	char *end;
	long v;

	if (!s || !*s)
		return absent;
	errno = 0;
	v = strtol(s, &end, 10);
	if (*s < '0' || *s > '9' || *end || errno || v < min || v > INT_MAX)
		die(EXIT_USAGE, "%s='%s' in the environment is not a number from %d up", name, s,
		    min);
	return (int)v;
}

void opt_version(void)
{
	printf("%s (rmc) %d.%d.%d\n", program_invocation_short_name, RMC_VERSION_MAJOR,
	       RMC_VERSION_MINOR, RMC_VERSION_PATCH);
	exit(EXIT_OK);
}

static void set_int(const struct opt *o, const char *arg, int base)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(arg, &end, base);
	if (errno || end == arg || *end || v < o->min || v > o->max)
		die(EXIT_USAGE, base == 8 ? "--%s: '%s' is not an octal number, %lo .. %lo"
					  : "--%s: '%s' is not a number, %ld .. %ld",
		    o->name, arg, (long)o->min, (long)o->max);
	*(int *)o->value = (int)v;
}

static void set_size(const struct opt *o, const char *arg)
{
	uint64_t size;

	if (opt_size(arg, &size) || size < (uint64_t)o->min || size > (uint64_t)o->max)
		die(EXIT_USAGE, "--%s: '%s' is not a size, %lld .. %lld, with K, M or G",
		    o->name, arg, (long long)o->min, (long long)o->max);
	*(uint64_t *)o->value = size;
}

void opt_help(const struct opt *opts, const char *usage)
{
	const struct opt *o;
	char left[64];

	printf("usage: %s\n\n", usage);
	for (o = opts; o->name; o++) {
		snprintf(left, sizeof(left), "%c%c%s --%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
			 o->arg ? " " : "", o->arg ? o->arg : "");
		printf("  %-26s %s\n", left, o->help);
	}
	printf("  %-26s %s\n", "-h, --help", "this text");
	printf("  %-26s %s\n", "    --version", "version of this program");
}

int opt_parse(int argc, char **argv, const struct opt *opts, const char *usage)
{
	struct option longs[MAX_OPTS + 3];
	char shorts[2 * MAX_OPTS + 4] = "+h";
	size_t len = strlen(shorts);
	const struct opt *o;
	int c, n;

	memset(longs, 0, sizeof(longs));
	for (n = 0; opts[n].name && n < MAX_OPTS; n++) {
		longs[n].name = opts[n].name;
		longs[n].has_arg = opts[n].kind != OPT_FLAG;
		longs[n].val = 256 + n;
		if (!opts[n].letter)
			continue;
		shorts[len++] = opts[n].letter;
		if (opts[n].kind != OPT_FLAG)
			shorts[len++] = ':';
	}
	longs[n].name = "help";
	longs[n++].val = 'h';
	longs[n].name = "version";
	longs[n].val = NO_LETTER;

	optind = 1;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == 'h') {
			opt_help(opts, usage);
			exit(EXIT_OK);
		}
		if (c == NO_LETTER)
			opt_version();
		if (c == '?')
			exit(EXIT_USAGE);
		if (c >= 256) {
			o = &opts[c - 256];
		} else {
			for (o = opts; o->name && o->letter != c; o++)
				;
			if (!o->name)
				exit(EXIT_USAGE);
		}
		switch (o->kind) {
		case OPT_FLAG:
			*(int *)o->value = 1;
			break;
		case OPT_INT:
			set_int(o, optarg, 10);
			break;
		case OPT_OCTAL:
			set_int(o, optarg, 8);
			break;
		case OPT_SIZE:
			set_size(o, optarg);
			break;
		case OPT_STRING:
			*(const char **)o->value = optarg;
			break;
		}
	}
	return optind;
}
