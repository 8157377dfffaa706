/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Layouts with latch and version in one line, the first one or the last:
 *
 *	header	| latch | version | data |
 *		| latch | version | CRC64 | 0 | data |
 *		| latch | version | 48 B |, then | version, 16 b | 62 B |
 *	footer	| data |, then | latch | version | the last 48 B |
 *		| data |, then | latch | version | CRC64 | 0 | the last 32 B |
 *		| version, 16 b | 62 B |, then | latch | version | the last 48 B |
 *
 * A footer begins with a line, since lines move atomically, and the first word of a line is
 * stored last (rmc_line_store()). One loop over the pieces of the data serves all of them.
 */
#include "row.h"
#include "scheme.h"
#include "lines.h"
#include "words.h"

/* A run of data: where it is in the image and in the data; a line's version before it */
struct piece {
	size_t image, data, bytes;
	int line;
};

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Bytes of a footer's image before its last line */
static size_t before_foot(const struct layout *l, size_t len)
{
	size_t room = LINE - l->words, rest = len > room ? len - room : 0;

	if (l->flags & LAYOUT_LINES)
		return (rest + LINE_DATA - 1) / LINE_DATA * LINE;
	return (rest + LINE - 1) / LINE * LINE;
}

size_t rmc_words_image(const struct layout *l, size_t len)
{
	if (l->flags & LAYOUT_FOOT)
		return before_foot(l, len) + LINE;
	if (l->flags & LAYOUT_LINES)
		return lines_bytes(len);
	if (l->flags & LAYOUT_ENDS)
		return ((l->words + len + 7) & ~(size_t)7) + sizeof(uint64_t);
	return l->words + len;
}

/* Set the piece behind *p, or the first one if its bytes are 0: true until all is done. */
static int next_piece(const struct layout *l, size_t len, struct piece *p)
{
	size_t foot = l->flags & LAYOUT_FOOT ? before_foot(l, len) : 0, at = p->data + p->bytes;
	int first = !p->bytes;

	if (at == len)
		return 0;
	p->data = at;
	p->line = 0;
	if (l->flags & LAYOUT_LINES) {
		size_t line = first ? 0 : p->image / LINE * LINE + LINE;

		p->line = l->flags & LAYOUT_FOOT ? line != foot : !first;
		p->image = line + (p->line ? sizeof(uint16_t) : l->words);
		p->bytes = smaller(len - at, p->line ? LINE_DATA : LINE - l->words);
	} else if (first && foot) {
		p->image = 0;
		p->bytes = smaller(len, foot);
	} else {
		p->image = foot + l->words;
		p->bytes = len - at;
	}
	return 1;
}

static uint8_t *words_of(const struct layout *l, const void *image, size_t len)
{
	return (uint8_t *)(uintptr_t)image + (l->flags & LAYOUT_FOOT ? before_foot(l, len) : 0);
}

static uint64_t load(const uint8_t *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return word;
}

/* The version behind the data of LAYOUT_ENDS */
static uint8_t *end_of(const struct layout *l, const void *image, size_t len)
{
	return (uint8_t *)(uintptr_t)image + rmc_words_image(l, len) - sizeof(uint64_t);
}

/*
 * The owner stores while the object's version is odd; it ends one higher, and so do the
 * versions of lines. Order of the stores within a line: lines.h.
 */
void rmc_words_store(const struct layout *l, struct rmc_object *o, const void *data, size_t len)
{
	uint8_t *object = (uint8_t *)o, *words = words_of(l, o, len);
	uint64_t odd = rmc_load_relaxed((uint64_t *)(void *)words + WORD_VERSION);
	struct piece p = { 0 };

	if (l->sum_at)
		rmc_store_relaxed((uint64_t *)(void *)(words + l->sum_at), l->sum(data, len));
	if (l->flags & LAYOUT_ENDS)
		rmc_store_relaxed((uint64_t *)(void *)end_of(l, o, len), odd + 1);
	while (next_piece(l, len, &p)) {
		if (p.line)
			rmc_store_relaxed(line_version(object + p.image - sizeof(uint16_t)),
					  (uint16_t)odd);
		/* odd before data, data before even; pairs with the line's atomicity */
		__atomic_thread_fence(__ATOMIC_RELEASE);
		copy_in(object + p.image, (const uint8_t *)data + p.data, p.bytes);
		if (p.line)
			rmc_store_release(line_version(object + p.image - sizeof(uint16_t)),
					  (uint16_t)(odd + 1));
	}
}

/* The owner's own copy; its caller compares latch and version. */
int rmc_words_copy(const struct layout *l, const struct rmc_object *o, void *data, size_t len)
{
	struct piece p = { 0 };

	while (next_piece(l, len, &p))
		copy_out((uint8_t *)data + p.data, (const uint8_t *)o + p.image, p.bytes);
	return 0;
}

int rmc_words_check(const struct layout *l, const void *image, void *clean, size_t len)
{
	const uint8_t *from = (const uint8_t *)image, *words = words_of(l, image, len);
	uint64_t version = load(words + WORD_VERSION * sizeof(uint64_t));
	const uint8_t *data = from + l->words;
	struct piece p = { 0 };
	unsigned int differ = 0;

	if (l->flags & LAYOUT_LINES && !(l->flags & LAYOUT_FOOT))
		return lines_strip_image(from, (uint8_t *)clean, len, (uint16_t)version);
	if (l->flags & LAYOUT_ENDS)
		return load(end_of(l, image, len)) == version ? 0 : RMC_SCHEME_TORN;
	if (l->flags & LAYOUT_FOOT) {
		while (next_piece(l, len, &p)) {
			if (p.line)
				differ |= (uint16_t)version ^
					  *line_version((void *)(uintptr_t)(from + p.image -
									    sizeof(uint16_t)));
			memcpy((uint8_t *)clean + p.data, from + p.image, p.bytes);
		}
		data = (const uint8_t *)clean;
	}
	if (l->sum_at)
		differ |= l->sum(data, len) != load(words + l->sum_at);
	return differ ? RMC_SCHEME_TORN : 0;
}

/* --- images of remote writers --- */

uint64_t rmc_words_ahead(const struct layout *l, const uint8_t *image, size_t len)
{
	uint16_t version, line;
	struct piece p = { 0 };
	int16_t most = 0;

	if (!(l->flags & LAYOUT_WORDS) || !(l->flags & LAYOUT_LINES))
		return 0;
	version = (uint16_t)load(words_of(l, image, len) + WORD_VERSION * sizeof(uint64_t));
	while (next_piece(l, len, &p)) {
		if (!p.line)
			continue;
		memcpy(&line, image + p.image - sizeof(line), sizeof(line));
		if ((int16_t)(line - version) > most)
			most = (int16_t)(line - version);
	}
	return ((uint64_t)most + 1) & ~1ULL;
}

void rmc_words_gather(const struct layout *l, const void *image, void *data, size_t len)
{
	struct layout lines = *l;

	/* a struct rmc_object has as many bytes */
	lines.flags |= LAYOUT_WORDS;
	lines.words = WORDS_BYTES;
	rmc_words_copy(&lines, (const struct rmc_object *)image, data, len);
}

_Static_assert(sizeof(struct rmc_object) == WORDS_BYTES, "rmc_words_gather() relies on it");

static void encode_object(const struct scheme *s, uint8_t *image, const void *data, size_t len,
			  uint64_t version)
{
	const struct layout *l = s->layout;

	if (l->flags & LAYOUT_LINES)
		lines_store(image, data, len, (uint16_t)(version - 1));
	else if (l->sum_at)
		rmc_crc_store((struct rmc_object *)(void *)image, image + s->pub.data_at, len);
}

void rmc_encode(const struct scheme *s, uint8_t *image, const void *data, size_t len,
		const uint64_t *words)
{
	const struct layout *l = s->layout;
	uint16_t version = (uint16_t)words[WORD_VERSION];
	struct piece p = { 0 };
	uint64_t sum;

	if (!(l->flags & LAYOUT_WORDS)) {
		encode_object(s, image, data, len, words[WORD_VERSION]);
		return;
	}
	while (!(s->pub.flags & RMC_SCHEME_CLEAN) && next_piece(l, len, &p)) {
		if (p.line)
			memcpy(image + p.image - sizeof(version), &version, sizeof(version));
		memcpy(image + p.image, (const uint8_t *)data + p.data, p.bytes);
	}
	memcpy(words_of(l, image, len), words, WORDS_BYTES);
	if (l->flags & LAYOUT_ENDS)
		memcpy(end_of(l, image, len), &words[WORD_VERSION], sizeof(uint64_t));
	if (l->sum_at) {
		sum = l->sum(data, len);
		memcpy(words_of(l, image, len) + l->sum_at, &sum, sizeof(sum));
	}
}
