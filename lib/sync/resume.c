/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Ordered queue pairs stop when one of their operations fails: what was posted behind it ends with
 * RMC_S_ABORTED, so that no release takes effect whose write was lost. Nothing is issued from
 * then on. When all that is in flight has ended, its results are known, and the queue pair is
 * resumed:
 *
 *	STOP_NONE -- an operation fails --> STOPPED -- nothing in flight --> RESUMING
 *	    ^                                                                   |
 *	    '------------------- RMC_OP_RESUME has completed -------------------'
 *
 * Entries that wait meanwhile are READY, releases are queued. What was aborted since another
 * operation has failed is issued again, and that is no failed attempt of its own.
 */
#include "state.h"

/* An operation has failed. SABRes are in no order, and stop nothing. */
void rmc_sync_stop(struct rmc_sync *s, int status)
{
	if (!s->stops)
		return;
	s->stop = STOPPED;
	s->stop_caused |= status != RMC_S_ABORTED;
}

void rmc_sync_resume(struct rmc_sync *s)
{
	int slot = sync_head(s);

	if (rmc_qp_in_flight(s->qp))
		return;
	s->stop = RESUMING;
	s->slot[slot].use = USE_RESUME;
	rmc_issue(s->qp, RMC_OP_RESUME, slot, 0, 0, NULL, 0);
}

/* If it cannot be resumed, operations fail, and each has its number of attempts. */
void rmc_sync_resumed(struct rmc_sync *s, int status)
{
	s->stop = STOP_NONE;
	s->stop_caused = 0;
	if (!status) {
		s->qp->error = 0;	/* as rmc_qp_resume() */
		s->aborts = 1;
	}
	/* the caller takes it for ordered (RMC_SYNC_TRUST_ORDER), but it does not stop */
	if (status == RMC_S_BAD_OP)
		s->stops = 0;
}

/* True: another operation has failed, and this one was aborted since. */
int rmc_sync_innocent(const struct rmc_sync *s, int status)
{
	return status == RMC_S_ABORTED && s->stop_caused;
}
