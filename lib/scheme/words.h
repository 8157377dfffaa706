/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * words.c, by layout, and the functions of struct rmc_scheme for one layout: those have no
 * argument that names it.
 */
#ifndef RMC_LIB_SCHEME_WORDS_H
#define RMC_LIB_SCHEME_WORDS_H

#include "row.h"

size_t rmc_words_image(const struct layout *l, size_t len);
void rmc_words_store(const struct layout *l, struct rmc_object *o, const void *data, size_t len);
int rmc_words_copy(const struct layout *l, const struct rmc_object *o, void *data, size_t len);
int rmc_words_check(const struct layout *l, const void *image, void *clean, size_t len);

#define WORDS_FUNCTIONS(NAME)							\
static size_t NAME##_image(size_t len)						\
{										\
	return rmc_words_image(&NAME, len);					\
}										\
static void NAME##_store(struct rmc_object *o, const void *data, size_t len)	\
{										\
	rmc_words_store(&NAME, o, data, len);					\
}										\
static int NAME##_check(const void *image, void *clean, size_t len)		\
{										\
	return rmc_words_check(&NAME, image, clean, len);			\
}										\
static int NAME##_copy(const struct rmc_object *o, void *data, size_t len)	\
{										\
	return rmc_words_copy(&NAME, o, data, len);				\
}

#define WORDS_ROW(NAME)								\
		.layout	= &NAME,						\
		.pub.image = NAME##_image,					\
		.pub.store = NAME##_store,					\
		.pub.check = NAME##_check,					\
		.pub.copy = NAME##_copy

#endif /* RMC_LIB_SCHEME_WORDS_H */
