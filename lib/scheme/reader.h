/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Readers: an rmc_sync (lib/sync) whose programs end when the data is the caller's.
 *
 *	reader_open.c	options
 *	reader.c	the calls: start, poll, release, read
 *	serve.c		the owner's answer to a message
 */
#ifndef RMC_LIB_SCHEME_READER_H
#define RMC_LIB_SCHEME_READER_H

#include "../sync/state.h"

struct rmc_reader {
	struct rmc_sync s;
};

#endif /* RMC_LIB_SCHEME_READER_H */
