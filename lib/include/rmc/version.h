/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Version of the library and of the tree: "make version" writes the numbers of the file
 * VERSION here, and the library does not build while they differ.
 *
 * MAJOR changes when programs must be compiled again (and the name of the shared object
 * with it), MINOR when calls are added (and librmc.map gets a node RMC_MAJOR.MINOR),
 * PATCH otherwise. Rules: Documentation/library-abi.rst.
 */
#ifndef RMC_VERSION_H
#define RMC_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define RMC_VERSION_MAJOR	1
#define RMC_VERSION_MINOR	1
#define RMC_VERSION_PATCH	0

/* Comparable numbers: #if RMC_VERSION >= RMC_VERSION_NUMBER(1, 1, 0) */
#define RMC_VERSION_NUMBER(major, minor, patch)	((major) * 1000000 + (minor) * 1000 + (patch))
#define RMC_VERSION \
	RMC_VERSION_NUMBER(RMC_VERSION_MAJOR, RMC_VERSION_MINOR, RMC_VERSION_PATCH)

/* Version of the running library, "1.1.0"; RMC_VERSION is that of the headers */
const char *rmc_version(void);
int rmc_version_number(void);

#ifdef __cplusplus
}
#endif

#endif /* RMC_VERSION_H */
