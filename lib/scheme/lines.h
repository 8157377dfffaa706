/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * FaRM's versions in every cache line (M16 section 2.1):
 *
 *	line 0	| version, 64 b | readers, writer | 48 B of data |
 *	line i	| version, low 16 b | 62 B of data                |
 *
 * A writer makes the object's version odd; then, for each line, it makes the line's version
 * odd, stores the data, and makes the line's version even; last, the object's. Lines move
 * atomically between remote operations, and a line with an even version is not being
 * written, so a line in an image holds data of its version. If all lines have the same even
 * version, the image is that version of the object, whatever the order of the lines.
 *
 * 16 bits are FaRM's choice: 32768 writes during one read would go unnoticed. With them an
 * object of 1 KiB takes as many lines as in the clean layout.
 */
#ifndef RMC_LIB_SCHEME_LINES_H
#define RMC_LIB_SCHEME_LINES_H

#include <rmc/barrier.h>
#include <rmc/scheme.h>
#include "copy.h"

#define LINE		RMC_CACHE_LINE
#define FIRST_DATA	(LINE - sizeof(struct rmc_object))
#define LINE_DATA	(LINE - sizeof(uint16_t))
#define CHUNK_LINES	16	/* 1 KiB: between two checks for a mismatch */

_Static_assert(FIRST_DATA == 48 && LINE_DATA == 62, "layout of lines");
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "line 0 shows the version's low 16 bits in its first two bytes"
#endif

/* Bytes of the lines of len bytes of data */
static inline size_t lines_bytes(size_t len)
{
	size_t rest = len > FIRST_DATA ? len - FIRST_DATA : 0;

	if (!rest)
		return sizeof(struct rmc_object) + len;
	/* whole lines, then what the last one holds */
	return LINE + rest / LINE_DATA * LINE +
	       (rest % LINE_DATA ? sizeof(uint16_t) + rest % LINE_DATA : 0);
}

static inline uint16_t *line_version(void *line)
{
	return (uint16_t *)line;
}

/*
 * Store data while the object's version is odd: that of its lines ends one higher. The
 * header in line 0 is the caller's.
 */
static inline void lines_store(uint8_t *line, const void *data, size_t len, uint16_t odd)
{
	size_t n = len < FIRST_DATA ? len : FIRST_DATA;
	const uint8_t *from = (const uint8_t *)data;

	copy_in(line + sizeof(struct rmc_object), from, n);
	for (len -= n; len; len -= n) {
		from += n;
		line += LINE;
		n = len < LINE_DATA ? len : LINE_DATA;
		rmc_store_relaxed(line_version(line), odd);
		/* odd before data, data before even; pairs with the line's atomicity */
		__atomic_thread_fence(__ATOMIC_RELEASE);
		copy_in(line + sizeof(uint16_t), from, n);
		rmc_store_release(line_version(line), (uint16_t)(odd + 1));
	}
}

/*
 * The stripping kernel, tuned like the papers': no branch per line, constant sizes that
 * become four overlapping moves of 16 bytes, one check of the versions per KiB. It has two
 * expansions: remote images are private, the owner's objects are not.
 */
#define STRIP(NAME, COPY)							\
static inline int NAME(const uint8_t *line, uint8_t *to, size_t len, uint16_t version)	\
{										\
	size_t n = len < FIRST_DATA ? len : FIRST_DATA, chunk;			\
	unsigned int differ = 0;						\
										\
	if (n == FIRST_DATA)							\
		COPY(to, line + sizeof(struct rmc_object), FIRST_DATA);		\
	else									\
		COPY(to, line + sizeof(struct rmc_object), n);			\
	to += n;								\
	len -= n;								\
	while (len >= LINE_DATA) {						\
		for (chunk = CHUNK_LINES; chunk && len >= LINE_DATA; chunk--) {	\
			line += LINE;						\
			differ |= version ^ rmc_load_acquire((const uint16_t *)line); \
			COPY(to, line + sizeof(uint16_t), LINE_DATA);		\
			to += LINE_DATA;					\
			len -= LINE_DATA;					\
		}								\
		if (rmc_unlikely(differ))					\
			return RMC_SCHEME_TORN;					\
	}									\
	if (len) {								\
		line += LINE;							\
		differ |= version ^ rmc_load_acquire((const uint16_t *)line);	\
		COPY(to, line + sizeof(uint16_t), len);				\
	}									\
	return differ ? RMC_SCHEME_TORN : 0;					\
}

#define private_copy(to, from, n)	((void)memcpy((to), (from), (n)))

STRIP(lines_strip_image, private_copy)
STRIP(lines_strip_object, copy_out)

#endif /* RMC_LIB_SCHEME_LINES_H */
