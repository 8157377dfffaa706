/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Command lines: a table of options that is parsed and printed as help. Errors
 * print one line on stderr and end the program with EXIT_USAGE.
 */
#ifndef RMC_TOOLS_OPT_H
#define RMC_TOOLS_OPT_H

#include <stddef.h>
#include <stdint.h>

/* Exit codes of all tools */
enum {
	EXIT_OK		= 0,
	EXIT_FAILED	= 1,	/* the work failed */
	EXIT_USAGE	= 2,	/* command line or input file is wrong */
};

enum opt_kind {
	OPT_FLAG,		/* int set to 1 */
	OPT_INT,		/* int, min .. max */
	OPT_SIZE,		/* uint64_t, suffixes K M G */
	OPT_OCTAL,		/* int */
	OPT_STRING,		/* const char * */
};

struct opt {
	char letter;		/* 0: none */
	const char *name;
	enum opt_kind kind;
	void *value;
	int64_t min, max;
	const char *arg;	/* name in the help */
	const char *help;
};

/* The table ends at an entry without a name. Returns the index of the first non-option. */
int opt_parse(int argc, char **argv, const struct opt *opts, const char *usage);
void opt_help(const struct opt *opts, const char *usage);

/* "64", "8K", "1M": 0 or -1 */
int opt_size(const char *s, uint64_t *size);

/* Print "program: message" and exit. */
void die(int code, const char *fmt, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Print the program's name and version, and exit; --version of every program does. */
void opt_version(void) __attribute__((noreturn));

/* Default context: $RMC_CTX, then 0. Ends the program if that is no number. */
int opt_default_context(void);

/* A number in the environment; absent if it is not set. Ends the program if it is invalid. */
int opt_env_int(const char *name, int min, int absent);

#endif /* RMC_TOOLS_OPT_H */
