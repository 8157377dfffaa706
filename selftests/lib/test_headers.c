/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The installed headers, as an application in C11 or C++17 includes them. */
#include <rmc/rmc.h>

static inline void callback(int slot, void *arg)
{
	(void)slot;
	++*(int *)arg;
}

#if RMC_VERSION < RMC_VERSION_NUMBER(1, 1, 0)
#error "the version that these calls came with"
#endif

int use_everything(struct rmc_qp *qp, void *buf);
int use_earlier_names(struct rmc_qp *qp, struct rmc_coll *coll, void *buf);
uint64_t use_structs(struct rmc_team *team, const struct rmc_kv *kv);

/* Inlines that pass sizes on, and the accessors */
uint64_t use_structs(struct rmc_team *team, const struct rmc_kv *kv)
{
	struct rmc_sabre_policy policy;
	struct rmc_msg_options mo;
	struct rmc_qp_stats stats;
	struct rmc_kv_stats ks;

	rmc_sabre_policy_init(&policy);
	rmc_msg_defaults(&mo);
	rmc_kv_stats(kv, &ks);
	if (rmc_qp_stats(rmc_team_qp(team), &stats) || !rmc_msg_open_with(team, &mo))
		return 0;
	return stats.issued + ks.objects + rmc_team_offset(team) + rmc_team_len(team) +
	       (uint64_t)(rmc_team_self(team) + rmc_team_size(team) + rmc_version_number());
}

int use_messages(struct rmc_ctx *ctx, void *buf);

int use_messages(struct rmc_ctx *ctx, void *buf)
{
	struct rmc_dom_stats stats = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { 0 }, { 0 } };
	struct rmc_domain_options o;
	struct rmc_domain *domain;
	struct rmc_arrival m;
	struct rmc_core *core;

	rmc_domain_defaults(&o);
	o.policy = (unsigned int)rmc_domain_policy("greedy");
	domain = rmc_domain_open_with(ctx, &o);
	core = rmc_core_open(domain, 0, RMC_CORE_NO_JOIN);
	stats.size = sizeof(stats);
	if (rmc_arrival_next(core, &m) != 1 || rmc_domain_stats(domain, &stats))
		return -1;
	memcpy(buf, rmc_arrival_data(core, &m), m.len);
	return rmc_receive(core, &m) + rmc_send(core, (int)m.nid, buf, m.len, RMC_SEND_DONTWAIT);
}

/* Names of the papers and of version 1.0 */
int use_earlier_names(struct rmc_qp *qp, struct rmc_coll *coll, void *buf)
{
	uint64_t old[MAX_WQ_SIZE];

	return rmc_compare_and_swap(qp, 1, 0, 0, 1, old) + rmc_fetch_and_add(qp, 1, 0, 1, old) +
	       rmc_masked_compare_and_swap(qp, 1, 0, 0, 1, 1, 1, 8, old) +
	       rmc_sabre_sync(qp, 1, 0, buf, 64) + rmc_bcast(coll, 0, buf, 8) +
	       rmc_reduce(coll, 0, buf, old, 1, RMC_U64, RMC_SUM) +
	       rmc_allreduce(coll, buf, old, 1, RMC_U64, RMC_SUM) +
	       rmc_alltoall(coll, buf, old, 8);
}

int use_everything(struct rmc_qp *qp, void *buf)
{
	struct rmc_completion c;
	uint64_t old = 0;
	int calls = 0, slot;

	rmc_qp_set_arg(qp, &calls);
	slot = rmc_wait_for_slot(qp, callback);
	rmc_read_async(qp, slot, 1, 0, buf, 64);
	slot = rmc_wait_for_slot(qp, callback);
	rmc_write_async(qp, slot, 1, 0, buf, 64);
	slot = rmc_wait_for_slot(qp, callback);
	rmc_cas_async(qp, slot, 1, 0, 0, 1);
	slot = rmc_wait_for_slot(qp, callback);
	if (rmc_qp_set_cookie(qp, slot, rmc_qp_cookie(qp, slot) + 1))
		return -1;
	rmc_faa_async(qp, slot, 1, 0, 1);
	if (rmc_fence(qp, 1, callback) || rmc_quiet_node(qp, 1, NULL) || rmc_quiet(qp, callback))
		return -1;
	if (rmc_poll_cq(qp, callback) < 0 || rmc_cq_wait(qp, &c) || rmc_drain_cq(qp, callback))
		return -1;
	return rmc_read(qp, 1, 0, buf, 64) + rmc_write(qp, 1, 0, buf, 64) +
	       rmc_cas(qp, 1, 0, 0, 1, &old) +
	       rmc_faa(qp, 1, 0, 1, &old) + (int)rmc_slot_value(qp, slot) +
	       rmc_slot_status(qp, slot) + calls;
}

int main(void)
{
	struct rmc_ctx *ctx = rmc_open(0, -1);

	if (!ctx)
		return rmc_errmsg()[0] ? 0 : 1;
	rmc_close(ctx);
	return 0;
}
