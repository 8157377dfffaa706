/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * SABRes: remote reads of whole objects that deliver a snapshot, or fail with a reason.
 *
 *	slot = rmc_wait_for_slot(qp, callback);
 *	rmc_sabre_async(qp, slot, nid, offset, lbuf, len);
 *
 * offset is the start of the object in the remote segment, a multiple of 8; len includes
 * its header and is at most rmc_query()->max_sabre. Statuses besides those of reads:
 *
 *	RMC_S_SABRE_ABORTED	a writer changed it meanwhile: retry
 *	RMC_S_SABRE_LOCKED	it is being written: retry later
 *	RMC_S_SABRE_LOST	the destination received only some of the requests: retry
 *	RMC_S_BUSY		the destination is short of memory: retry
 *	RMC_S_NO_VERSION	no object there
 *
 * After a failure the contents of lbuf are unspecified. The destination never retries;
 * rmc_sabre_retry() retries at the reader.
 */
#ifndef RMC_SABRE_H
#define RMC_SABRE_H

#include <rmc/abi.h>
#include <rmc/qp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Remote object -> local buffer */
RMC_INLINE void rmc_sabre_async(struct rmc_qp *qp, int slot, int nid, uint64_t offset,
				void *lbuf, size_t len)
{
	rmc_issue(qp, RMC_OP_SABRE, slot, nid, offset, lbuf, len);
}

/* One attempt: 0, an enum rmc_status, or -errno; -EBUSY: operations in flight. */
RMC_INLINE int rmc_sabre(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf,
			 size_t len)
{
	return rmc_execute(qp, RMC_OP_SABRE, nid, offset, lbuf, len);
}

/* Its name of version 1.0 */
RMC_INLINE int rmc_sabre_sync(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf,
			      size_t len)
{
	return rmc_sabre(qp, nid, offset, lbuf, len);
}

/* True if a retry of the same SABRe may succeed. */
RMC_INLINE int rmc_sabre_again(int status)
{
	return status == RMC_S_SABRE_ABORTED || status == RMC_S_SABRE_LOCKED ||
	       status == RMC_S_SABRE_LOST || status == RMC_S_BUSY;
}

/* Reads the object in another way, such as by a message to its owner: 0, status or -errno. */
typedef int (*rmc_sabre_fallback)(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf,
				  size_t len, void *arg);

/*
 * Number and back-off of retries. The wait before a retry is random, up to backoff_ns
 * after the first failure; the limit doubles after each one, up to backoff_max_ns.
 * rmc_sabre_retry() counts in the last three fields.
 */
struct rmc_sabre_policy {
	uint32_t attempts;		/* at least 1 */
	uint32_t backoff_ns;		/* 0: at once */
	uint32_t backoff_max_ns;
	uint32_t reserved;
	rmc_sabre_fallback fallback;	/* NULL: none */
	void *arg;
	uint64_t tried;			/* SABRes issued */
	uint64_t failed;		/* of them aborted, locked or lost */
	uint64_t fell_back;		/* times the fallback was called */
};

#define RMC_SABRE_POLICY_SIZE_VER0	56
RMC_ABI_SIZE_VER0(rmc_sabre_policy, fell_back, RMC_SABRE_POLICY_SIZE_VER0);

/* 16 attempts, 200 ns to 100 us, no fallback */
void rmc_sabre_policy_init_sized(struct rmc_sabre_policy *p, size_t size);
RMC_SIZED void rmc_sabre_policy_init(struct rmc_sabre_policy *p)
{
	rmc_sabre_policy_init_sized(p, sizeof(*p));
}

/*
 * Try until the SABRe succeeds, fails for good, or the attempts are used up; then call the
 * fallback, if there is one. 0, the enum rmc_status of the last attempt, or -errno. Yields
 * the CPU between attempts when the RMC shares CPUs with applications.
 */
int rmc_sabre_retry_sized(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf, size_t len,
			  struct rmc_sabre_policy *p, size_t size);
RMC_SIZED int rmc_sabre_retry(struct rmc_qp *qp, int nid, uint64_t offset, void *lbuf,
			      size_t len, struct rmc_sabre_policy *p)
{
	return rmc_sabre_retry_sized(qp, nid, offset, lbuf, len, p, sizeof(*p));
}

#ifdef __cplusplus
}
#endif

#endif /* RMC_SABRE_H */
