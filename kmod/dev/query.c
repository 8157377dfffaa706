// SPDX-License-Identifier: GPL-2.0
/* Answers queries about this RMC and about nodes: see query.h. */
#include "../core/local.h"
#include "context.h"
#include "query.h"
#include "uring_wait.h"
#include "watch.h"

/* Attached node of a file; NULL: none, or the control device */
static const struct rmc_node *node_of(const struct rmc_file *f)
{
	/* pairs with the release in rmc_file_attach() */
	return f ? smp_load_acquire(&f->node) : NULL;
}

/* Optional features of this kernel */
static u32 features(void)
{
	return RMC_FEATURE_WATCH | RMC_FEATURE_YIELD | RMC_FEATURE_RANGES |
	       RMC_FEATURE_LOCAL_BYTES | RMC_FEATURE_ORDERED |
	       (IS_ENABLED(CONFIG_IO_URING) ? RMC_FEATURE_URING_WAIT | RMC_FEATURE_URING_MSG : 0);
}

static void fill_quotas(const struct rmc_quota *quota, struct rmc_query *q)
{
	q->max_qps_user = READ_ONCE(quota->user[RMC_RES_qps]);
	q->max_qps_context = READ_ONCE(quota->context[RMC_RES_qps]);
	q->max_files_user = READ_ONCE(quota->user[RMC_RES_files]);
	q->max_files_context = READ_ONCE(quota->context[RMC_RES_files]);
	q->max_buffers_user = READ_ONCE(quota->user[RMC_RES_buffers]);
	q->max_buffers_context = READ_ONCE(quota->context[RMC_RES_buffers]);
	q->queue_mib_user = READ_ONCE(quota->user[RMC_RES_queue_mib]);
	q->queue_mib_context = READ_ONCE(quota->context[RMC_RES_queue_mib]);
	q->max_waits_user = READ_ONCE(quota->user[RMC_RES_waits]);
	q->max_waits_context = READ_ONCE(quota->context[RMC_RES_waits]);
}

/**
 * rmc_dev_query() - RMC_IOC_QUERY
 * @rmc: device
 * @f: file, or NULL: asked on the control device
 * @q: out; its size stays
 *
 * Context: any.
 */
void rmc_dev_query(struct rmc_device *rmc, const struct rmc_file *f, struct rmc_query *q)
{
	const struct rmc_config *cfg = &rmc->cfg;
	const struct rmc_port *port = rmc->port;
	const struct rmc_node *node = node_of(f), *asking = node ?: rmc->node[0];

	*q = (struct rmc_query){
		.size = q->size,
		.abi = RMC_ABI_VERSION,
		.fabric = port->transport->kind,
		.ni = cfg->ni->id,
		.nodes = port->fabric.nodes,
		.local_nodes = port->locals,
		.first_local = port->first,
		.nid = node ? node->nid : -1,
		.ctx_id = f ? f->ctx->id : -1,
		.mtu = port->fabric.mtu,
		.max_length = RMC_LENGTH_MAX,
		.max_segment = RMC_MAX_SEGMENT,
		.max_contexts = RMC_MAX_CONTEXTS,
		.max_qps = RMC_MAX_QPS,
		.max_buffers = RMC_MAX_BUFFERS,
		.max_entries = RMC_MAX_ENTRIES,
		.itt_entries = cfg->itt,
		.timeout_ms = READ_ONCE(port->fabric.timeout_ms),
		.op_mask = rmc_op_mask(),
		.shared_cpu = cfg->share,
		.features = features(),
		.att_entries = cfg->att_entries,
		.att_depth = cfg->att_depth,
		.att_stall_ms = cfg->att_stall_ms,
		.sabre_mode = cfg->sabre,
		.max_sabre = RMC_SABRE_MAX,
		.max_waits = RMC_MAX_WAITS,
		.units = rmc_fabric_units(&port->fabric),
		.rrpps = rmc_fabric_rrpps(&port->fabric),
		.interleave = port->fabric.interleave,
		.max_watches = RMC_MAX_WATCHES,
		.max_ranges = RMC_MAX_RANGES,
		.local_path = !!rmc_local_reach(asking, asking->nid),
	};
	fill_quotas(&cfg->quota, q);
}

/**
 * rmc_dev_node_info() - RMC_IOC_NODE_INFO
 * @rmc: device
 * @f: file, or NULL: asked on the control device
 * @i: node id, any value; out: the rest
 *
 * Return: 0, -EINVAL no such node. Context: any.
 */
int rmc_dev_node_info(struct rmc_device *rmc, const struct rmc_file *f, struct rmc_node_info *i)
{
	struct rmc_port *port = rmc->port;

	if (i->nid >= port->fabric.nodes)
		return -EINVAL;
	i->nid = array_index_nospec(i->nid, port->fabric.nodes);
	i->state = rmc_port_state(port, i->nid);
	i->epoch = READ_ONCE(port->fabric.node[i->nid].epoch);
	i->local = !!port->fabric.local[rmc_endpoint(&port->fabric, i->nid)];
	i->local_bytes = rmc_local_reach(node_of(f) ?: rmc->node[0], i->nid);
	return 0;
}
