/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Nodes of one process for tests of transactions: see tx_cluster.h. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "fake_lines.h"
#include <linux/rmc_tx.h>
#include "fake_tx.h"

#define MEMORY	(8 << 20)

static void *zeroed(size_t len)
{
	len = (len + 4095) & ~(size_t)4095;
	return memset(aligned_alloc(4096, len), 0, len);
}

static void write_line(uint8_t *to, const uint8_t *from, size_t n, int yields)
{
	uint64_t first;
	size_t i;

	for (i = sizeof(first); i < n; i++)
		__atomic_store_n(to + i, from[i], __ATOMIC_RELAXED);
	if (yields)
		sched_yield();		/* its owner may read now */
	if (n >= sizeof(first)) {
		memcpy(&first, from, sizeof(first));
		__atomic_store_n((uint64_t *)to, first, __ATOMIC_RELEASE);
		return;
	}
	for (i = n; i; i--)
		__atomic_store_n(to + i - 1, from[i - 1], __ATOMIC_RELEASE);
}

static int move_lines(struct cluster_node *n, const struct fake_op *op, struct cluster_node *home)
{
	size_t lines = (op->length + LINE - 1) / LINE, i;
	uint8_t *lbuf = (uint8_t *)(uintptr_t)op->lbuf;
	const struct cluster *c = n->cluster;

	for (i = 0; i < lines; i++) {
		size_t at = (c->backwards ? lines - 1 - i : i) * LINE;
		size_t len = op->length - at < LINE ? op->length - at : LINE;

		int status = op->op == RMC_OP_WRITE_ONCE && c->line ? c->line(n, op) : RMC_S_OK;

		if (status)
			return status;
		pthread_mutex_lock(&home->line);
		if (op->op == RMC_OP_WRITE_ONCE)
			write_line(home->segment + op->offset + at, lbuf + at, len, c->yields);
		else
			read_line(lbuf + at, home->segment + op->offset + at, len);
		pthread_mutex_unlock(&home->line);
		if (c->yields)
			sched_yield();
	}
	return RMC_S_OK;
}

/* If it is refused, it has no effect; an abort is not. */
static int end_transaction(struct cluster_node *n, const struct fake_op *op)
{
	struct cluster *c = n->cluster;
	int status = c->before ? c->before(n, op) : RMC_S_OK;

	if (!status && op->op == RMC_OP_TX_COMMIT)
		return fake_tx_commit(n, op);
	fake_tx_abort(n, op);
	return op->op == RMC_OP_TX_COMMIT ? status : RMC_S_OK;
}

static int is_access(const struct fake_op *op)
{
	return op->op == RMC_OP_TX_READ || op->op == RMC_OP_TX_OWN;
}

static int execute(void *arg, const struct fake_op *op)
{
	struct cluster_node *n = (struct cluster_node *)arg, *home;
	struct cluster *c = n->cluster;
	uint64_t *operand = (uint64_t *)(uintptr_t)op->lbuf, v;
	int status;

	if (op->op == RMC_OP_TX_COMMIT || op->op == RMC_OP_TX_ABORT)
		return end_transaction(n, op);
	if ((int)op->nid >= c->nodes)
		return RMC_S_BAD_NODE;
	home = &c->node[op->nid];
	if (!is_access(op) &&
	    (op->offset > home->team.len || op->length > home->team.len - op->offset))
		return RMC_S_OUT_OF_RANGE;
	status = c->before ? c->before(n, op) : RMC_S_OK;
	if (status)
		return status;
	switch (op->op) {
	case RMC_OP_READ:
	case RMC_OP_WRITE_ONCE:
		status = move_lines(n, op, home);
		break;
	case RMC_OP_CAS:
		v = operand[0];
		pthread_mutex_lock(&home->line);
		__atomic_compare_exchange_n((uint64_t *)(home->segment + op->offset), &v,
					    operand[1], 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		pthread_mutex_unlock(&home->line);
		operand[0] = v;
		break;
	case RMC_OP_TX_READ:
	case RMC_OP_TX_OWN:
		status = fake_tx_access(n, op);
		break;
	default:
		return RMC_S_BAD_OP;
	}
	return status || !c->after ? status : c->after(n, op);
}

static void open_node(struct cluster *c, int nid, const struct rmc_tx_options *o, size_t bytes)
{
	struct cluster_node *n = &c->node[nid];
	unsigned int entries = c->entries ? c->entries : CLUSTER_ENTRIES;
	struct rmc_operands *operands;
	struct fake_rmc *f = &n->rmc;

	n->cluster = c;
	n->nid = nid;
	n->segment = (uint8_t *)zeroed(bytes);
	pthread_mutex_init(&n->line, NULL);
	n->tx = (struct fake_tx *)calloc(RMC_TX_MAX_SLOTS, sizeof(*n->tx));
	n->team.nodes = c->nodes;
	n->team.self = nid;
	n->team.seg = n->segment;
	n->team.len = bytes;
	f->entries = entries;
	f->wq = (struct rmc_wq_entry *)zeroed(entries * RMC_WQE_SIZE);
	f->cq = (struct rmc_cq_entry *)zeroed(entries * RMC_CQE_SIZE);
	f->flags = (struct rmc_qp_flags *)zeroed(sizeof(struct rmc_qp_flags));
	f->flags->shared_cpu = 1;
	f->execute = execute;
	f->reorder = c->reorder;
	f->arg = n;
	pthread_mutex_init(&f->lock, NULL);
	operands = (struct rmc_operands *)zeroed(entries * sizeof(*operands));
	rmc_qp_init_raw(&n->qp, f->wq, f->cq, f->flags, (uint8_t *)zeroed(entries),
			operands, entries);
	/* most of it is never touched */
	n->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (n->memory == MAP_FAILED)
		abort();
	n->db = rmc_tx_open_on(&n->team, o, &n->qp, n->memory);
	if (!n->db || rmc_tx_memory(n->db) > MEMORY) {
		printf("Bail out! %s\n", rmc_errmsg());
		exit(1);
	}
	fake_rmc_start(f);
}

const char *cluster_system(const char *otherwise)
{
	const char *name = getenv("RMC_TEST_SYSTEM");

	return name && *name ? name : otherwise;
}

int cluster_is_sw(void)
{
	return !strcmp(cluster_system("sw"), "sw");
}

int cluster_present(const struct cluster *c, struct rmc_tx_addr record)
{
	const uint8_t *r;
	uint64_t at;
	int member;

	rmc_tx_locate(c->node[0].db, record, &member, &at);
	r = c->node[member].segment + at;
	return record_present(cluster_is_sw() ? ((const struct record *)r)->incarnation :
			      *(const uint32_t *)r);
}

void cluster_open(struct cluster *c, int nodes, const struct rmc_tx_options *options)
{
	struct rmc_tx_options o = *options;
	size_t bytes;
	int i;

	o.system = cluster_system(o.system);
	bytes = rmc_tx_bytes(nodes, &o);
	c->nodes = nodes;
	for (i = 0; i < nodes; i++)
		open_node(c, i, &o, bytes);
}

void cluster_close(struct cluster *c)
{
	int i;

	for (i = 0; i < c->nodes; i++)
		rmc_tx_close(c->node[i].db);
	for (i = 0; i < c->nodes; i++) {
		struct cluster_node *n = &c->node[i];

		fake_rmc_stop(&n->rmc);
		free(n->rmc.wq);
		free(n->rmc.cq);
		free(n->rmc.flags);
		free(n->qp.slot);
		free(n->qp.operands);
		free(n->segment);
		munmap(n->memory, MEMORY);
		fake_tx_free(n);
		pthread_mutex_destroy(&n->line);
	}
}
