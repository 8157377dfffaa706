/* SPDX-License-Identifier: GPL-2.0 */
/* The input of a fuzz target as a stream of bytes. A broken invariant is named, and traps. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MUST(cond)									\
	do {										\
		if (!(cond)) {								\
			fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #cond);	\
			__builtin_trap();						\
		}									\
	} while (0)

struct input {
	const uint8_t *at;
	size_t left;
};

static inline uint64_t take(struct input *in, uint32_t bytes)
{
	uint64_t v = 0;
	uint32_t n = bytes < in->left ? bytes : (uint32_t)in->left;

	memcpy(&v, in->at, n);
	in->at += n;
	in->left -= n;
	return v;
}

#endif
