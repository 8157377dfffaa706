/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Binary compatibility of programs and libraries of different versions. The rules are in
 * Documentation/library-abi.rst; in short:
 *
 *  - Structs that inlines read (struct rmc_qp, struct rmc_team) grow at their end, and
 *    the offset of every field that an inline uses is asserted below the struct.
 *  - Structs that the caller or the library fills in (options, statistics) grow at their
 *    end, too. Their size travels with the call: rmc_X() is an inline that passes the
 *    size of the struct in its program to the function rmc_X_sized(). The library takes
 *    missing fields for zero, and refuses (E2BIG) unknown fields unless they are zero.
 *    The symbol rmc_X() takes the size of version 1.0, _SIZE_VER0.
 *  - All other structs never change; their sizes are asserted.
 */
#ifndef RMC_ABI_H
#define RMC_ABI_H

#include <stddef.h>

#if defined(__cplusplus)
#define RMC_ABI_ASSERT(condition, text)	static_assert(condition, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define RMC_ABI_ASSERT(condition, text)	_Static_assert(condition, text)
#else
#define RMC_ABI_ASSERT(condition, text)	extern int rmc_abi_assert_needs_c11
#endif

/* Layouts are those of 64-bit machines, the only ones that the module runs on. */
#define RMC_ABI_OFFSET(type, field, at) \
	RMC_ABI_ASSERT(sizeof(void *) != 8 || offsetof(struct type, field) == (at), \
		       "struct " #type ": " #field " has moved")
#define RMC_ABI_SIZE(type, size) \
	RMC_ABI_ASSERT(sizeof(void *) != 8 || sizeof(struct type) == (size), \
		       "struct " #type " has another size")
/* last: the last field of version 1.0, which leaves no padding behind it */
#define RMC_ABI_SIZE_VER0(type, last, size) \
	RMC_ABI_ASSERT(sizeof(void *) != 8 || \
		       offsetof(struct type, last) + sizeof(((struct type *)0)->last) == (size), \
		       "struct " #type " is not what it was in version 1.0")

/* Inlines that pass the size of a struct; lib/ffi.c does not emit them. */
#ifndef RMC_SIZED
#define RMC_SIZED static inline __attribute__((always_inline, unused))
#endif

#endif /* RMC_ABI_H */
