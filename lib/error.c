/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Statuses and errors in words. */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <linux/rmc_domain.h>
#include <linux/rmc_tx.h>
#include "internal.h"
#include "rmc/scheme.h"

static const struct {
	const char *name;
	const char *help;
} statuses[RMC_S_TX_MAX] = {
	[RMC_S_OK]		= { "ok", "success" },
	[RMC_S_BAD_OP]		= { "bad_op", "unknown operation: this kernel does not have it" },
	[RMC_S_BAD_LENGTH]	= { "bad_length",
		"bad length: zero, beyond the largest operation, or not 8 for an atomic" },
	[RMC_S_BAD_ALIGN]	= { "bad_align",
		"bad alignment: offsets of atomics and of objects must be divisible by 8" },
	[RMC_S_BAD_LBUF]	= { "bad_lbuf",
		"local buffer not registered as a whole: call rmc_buf_register() first" },
	[RMC_S_BAD_NODE]	= { "bad_node", "no such node in this fabric" },
	[RMC_S_BAD_CONTEXT]	= { "bad_context",
		"destination has no segment under this context (not started yet, or gone)" },
	[RMC_S_OUT_OF_RANGE]	= { "out_of_range",
		"offset + length is beyond the end of the destination's segment" },
	[RMC_S_READ_ONLY]	= { "read_only",
		"destination's segment refuses remote writes and atomics" },
	[RMC_S_NODE_DOWN]	= { "node_down", "destination node is not up, or died meanwhile" },
	[RMC_S_TIMEOUT]		= { "timeout", "no reply in time: request or reply was lost" },
	[RMC_S_ABORTED]		= { "aborted",
		"torn down with its queue pair or buffer, or an ordered one stopped: rmc_qp_resume()" },
	[RMC_S_PROTOCOL]	= { "protocol",
		"peer broke the protocol: same version everywhere?" },
	[RMC_S_SABRE_ABORTED]	= { "sabre_aborted",
		"object was written while it was read: try again" },
	[RMC_S_SABRE_LOCKED]	= { "sabre_locked",
		"object is being written: try later; if its writer died, its owner must call "
		"rmc_object_repair()" },
	[RMC_S_SABRE_LOST]	= { "sabre_lost",
		"destination gave the SABRe up because requests came too late: try again" },
	[RMC_S_NO_VERSION]	= { "no_version",
		"no object there: the segment was not registered with rmc_seg_register_objects(), "
		"or the length does not cover the object's header" },
	[RMC_S_BUSY]		= { "busy",
		"destination's memory changed too fast to be read, or it is short of memory: "
		"try again" },
	[RMC_S_NO_DOMAIN]	= { "no_domain",
		"no domain for messages: the destination has not opened it yet, or has closed it" },
	[RMC_S_DOMAIN_MISMATCH]	= { "domain_mismatch",
		"the destination's domain has other parameters, or began anew: rmc_core_join()" },
	[RMC_S_BAD_SLOT]	= { "bad_slot",
		"no such slot, not its next message, or not a message that this core has" },
	[RMC_S_SLOT_BUSY]	= { "slot_busy", "the message before is still in the slot" },
	[RMC_S_TX_SQUASHED]	= { "tx_squashed",
		"the transaction conflicts with another one: run it again from its start" },
	[RMC_S_TX_LOCKED]	= { "tx_locked",
		"another transaction commits on these lines: try again" },
	[RMC_S_TX_FULL]		= { "tx_full",
		"no room for the transaction at the destination: try again later" },
	[RMC_S_TX_STALE]	= { "tx_stale",
		"the destination knows nothing of the transaction, or no longer: run it again" },
	[RMC_S_TX_PART_LOST]	= { "tx_part_lost",
		"committed, but a node was lost with its part of it" },
};

static_assert((int)RMC_S_MAX == (int)RMC_S_NO_DOMAIN, "statuses of messages follow the others");
static_assert((int)RMC_S_DOMAIN_MAX == (int)RMC_S_TX_SQUASHED, "and those of transactions these");

static const struct {
	const char *name;
	const char *help;
} scheme_statuses[] = {
	[RMC_SCHEME_TORN - RMC_SCHEME_TORN] = { "torn",
		"the object was written while it was read: read it again" },
	[RMC_SCHEME_LOCKED - RMC_SCHEME_TORN] = { "locked",
		"the object is being written, or its lock is taken; if for long: is the holder dead?" },
	[RMC_SCHEME_LEASE_OVER - RMC_SCHEME_TORN] = { "lease_over",
		"the lease ended before the data had come: longer leases, or read it again" },
};

#define SCHEME_STATUSES	((int)(sizeof(scheme_statuses) / sizeof(scheme_statuses[0])))

static int scheme_status(int status)
{
	return status >= RMC_SCHEME_TORN && status < RMC_SCHEME_TORN + SCHEME_STATUSES;
}

static __thread char errmsg[512];
static __thread char unknown[128];

const char *rmc_status_name(int status)
{
	if (scheme_status(status))
		return scheme_statuses[status - RMC_SCHEME_TORN].name;
	if (status == RMC_TX_SQUASHED)
		return "tx_squashed";
	if (status == RMC_TX_IN_DOUBT)
		return "tx_in_doubt";
	if (status < 0 || status >= RMC_S_TX_MAX)
		return "unknown";
	return statuses[status].name;
}

const char *rmc_strerror(int result)
{
	if (result >= 0 && result < RMC_S_TX_MAX)
		return statuses[result].help;
	if (scheme_status(result))
		return scheme_statuses[result - RMC_SCHEME_TORN].help;
	if (result == RMC_TX_SQUASHED)
		return "in conflict with other transactions: run it again from its start";
	if (result == RMC_TX_IN_DOUBT)
		return "committed, but the queue pair died before all writes were posted";
	if (result == -ESHUTDOWN)
		return "queue pair was torn down: nothing will complete any more";
	if (result == -EBUSY)
		return "operations in flight: drain the completion queue first";
	if (result == -ECONNABORTED)
		return "a member has revoked the team: rmc_team_rejoin(), or end";
	if (result < 0)
		return strerror_r(-result, unknown, sizeof(unknown));
	snprintf(unknown, sizeof(unknown), "unknown status %d: library older than the kernel?",
		 result);
	return unknown;
}

const char *rmc_errmsg(void)
{
	return errmsg;
}

void rmc_set_errmsg(const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(errmsg, sizeof(errmsg), fmt, ap);
	va_end(ap);
	rmc_log(ERROR, "%s", errmsg);
	errno = saved;
}

int rmc_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(errmsg, sizeof(errmsg), fmt, ap);
	va_end(ap);
	rmc_log(ERROR, "%s", errmsg);
	errno = err;
	return -err;
}
