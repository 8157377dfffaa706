/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Statuses and errors in words. */
#ifndef RMC_ERROR_H
#define RMC_ERROR_H

#include <linux/rmc_queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One line about a result of this library: a positive enum rmc_status, 0, or a
 * negative errno. Never NULL; the string is valid until the thread's next call.
 */
const char *rmc_strerror(int result);

/* "out_of_range" and so on; "unknown" for numbers outside enum rmc_status. */
const char *rmc_status_name(int status);

/*
 * Cause of this thread's last failed rmc_open(), registration, rmc_qp_create() or
 * rmc_team call, and what to do about it: one line without a newline. "" before the
 * first failure.
 */
const char *rmc_errmsg(void);

#ifdef __cplusplus
}
#endif

#endif /* RMC_ERROR_H */
