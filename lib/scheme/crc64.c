/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Pilaf's checksum (M16 section 2.1): | struct rmc_object | CRC64 | 0 | data |.
 * A writer stores data and checksum in any order. A reader that sees lines of two
 * states computes another checksum, with an error probability of 2^-64.
 *
 * The CRC is CRC-64/XZ (ECMA-182, reflected), eight bytes per step with tables, or
 * 64 bytes per step where the CPU has carry-less multiplication. liblzma has only the
 * table version; it would be librmc's only dependency, and too slow for a fair baseline.
 */
#include "scheme.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define POLY		0xc96c5795d7870f42ULL	/* reflected */
#define SLICES		8

static uint64_t table[SLICES][256];

__attribute__((constructor)) static void make_tables(void)
{
	unsigned int i, j;
	uint64_t c;

	for (i = 0; i < 256; i++) {
		for (c = i, j = 0; j < 8; j++)
			c = c & 1 ? c >> 1 ^ POLY : c >> 1;
		table[0][i] = c;
	}
	for (j = 1; j < SLICES; j++)
		for (i = 0; i < 256; i++)
			table[j][i] = table[j - 1][i] >> 8 ^ table[0][table[j - 1][i] & 0xff];
}

static uint64_t by_tables(uint64_t c, const uint8_t *p, size_t n)
{
	uint64_t w;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&w, p, 8);
		c ^= w;
		c = table[7][c & 0xff] ^ table[6][c >> 8 & 0xff] ^
		    table[5][c >> 16 & 0xff] ^ table[4][c >> 24 & 0xff] ^
		    table[3][c >> 32 & 0xff] ^ table[2][c >> 40 & 0xff] ^
		    table[1][c >> 48 & 0xff] ^ table[0][c >> 56];
	}
	for (; n; n--, p++)
		c = c >> 8 ^ table[0][(c ^ *p) & 0xff];
	return c;
}

#if defined(__x86_64__)
/* x^(D + 63) and x^(D - 1) modulo the polynomial, reflected: moves D bits ahead */
#define FOLD_512	_mm_set_epi64x(0x081f6054a7842df4LL, 0x6ae3efbb9dd441f3LL)
#define FOLD_128	_mm_set_epi64x((long long)0xdabe95afc7875f40ULL, \
				       (long long)0xe05dd497ca393ae4ULL)

__attribute__((target("pclmul,sse2")))
static inline __m128i fold(__m128i x, __m128i k, __m128i next)
{
	return _mm_xor_si128(next, _mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00),
						 _mm_clmulepi64_si128(x, k, 0x11)));
}

static inline __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

/* n >= 64. Four accumulators, folded into one, which the tables reduce. */
__attribute__((target("pclmul,sse2")))
static uint64_t by_multiplication(uint64_t c, const uint8_t *p, size_t n)
{
	__m128i x[4], k = FOLD_512;
	uint8_t last[16];
	int i;

	for (i = 0; i < 4; i++)
		x[i] = load(p + 16 * i);
	x[0] = _mm_xor_si128(x[0], _mm_set_epi64x(0, (long long)c));
	for (p += 64, n -= 64; n >= 64; p += 64, n -= 64)
		for (i = 0; i < 4; i++)
			x[i] = fold(x[i], k, load(p + 16 * i));
	k = FOLD_128;
	for (i = 1; i < 4; i++)
		x[i] = fold(x[i - 1], k, x[i]);
	for (; n >= 16; p += 16, n -= 16)
		x[3] = fold(x[3], k, load(p));
	_mm_storeu_si128((__m128i *)last, x[3]);
	return by_tables(by_tables(0, last, sizeof(last)), p, n);
}
#endif

uint64_t rmc_crc64(uint64_t crc, const void *data, size_t len)
{
	const uint8_t *p = (const uint8_t *)data;

#if defined(__x86_64__)
	if (len >= 64 && __builtin_cpu_supports("pclmul"))
		return ~by_multiplication(~crc, p, len);
#endif
	return ~by_tables(~crc, p, len);
}

uint64_t rmc_crc_sum(const void *data, size_t len)
{
	return rmc_crc64(0, data, len);
}

uint64_t rmc_crc_sum_by_tables(const void *data, size_t len)
{
	return ~by_tables(~0ULL, (const uint8_t *)data, len);
}

void rmc_crc_store(struct rmc_object *o, const void *data, size_t len)
{
	struct object_word *w = (struct object_word *)o;

	rmc_store_relaxed(&w->word, rmc_crc64(0, data, len));
	copy_in(w + 1, data, len);
}

int rmc_crc_check(const void *image, void *clean, size_t len)
{
	const struct object_word *w = (const struct object_word *)image;

	(void)clean;
	return rmc_crc64(0, w + 1, len) == w->word ? 0 : RMC_SCHEME_TORN;
}
