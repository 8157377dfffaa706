/* SPDX-License-Identifier: GPL-2.0 */
/* Objects of an open context: driver.c and file.c. */
#ifndef RMC_SIM_DRIVER_H
#define RMC_SIM_DRIVER_H

#include <linux/rmc_tx.h>
#include "node.h"
#include "kmod/core/tx_homes.h"

#define SIM_FILE_QPS	256

/**
 * struct sim_alarm - waiter of an event of the core
 * @qp: queue pair of completions; NULL: notifications of a segment
 * @eventfd: armed, or -1
 */
struct sim_alarm {
	struct sim_qp *qp;
	int eventfd;
};

/**
 * struct sim_qp - a queue pair
 * @qp: the core's
 * @id: in the file
 * @node: where
 * @thread: thread that used it last
 * @alarm: owner of @qp.done
 */
struct sim_qp {
	struct rmc_qpair qp;
	u32 id;
	struct sim_node *node;
	struct sim_thread *thread;
	struct sim_alarm alarm;
};

/* Memory that a thread maps and unmaps; after a crash it is unmapped here */
struct sim_map {
	struct sim_map *next;
	void *addr;
	size_t len;
	u64 offset;
	u32 owner;		/* SIM_MAP_* and the number of a queue pair or buffer */
};

#define SIM_MAP_QP	(1U << 16)
#define SIM_MAP_BUF	(2U << 16)
#define SIM_MAP_SEG	(3U << 16)

/**
 * struct sim_file - an open context
 * @node: attached node
 * @ctx_id: context
 * @bufs: local buffers, for the core
 * @buf: by id
 * @seg: segment or NULL
 * @seg_alarm: owner of its notifications
 * @tx: range of @seg that has transactions, or NULL
 * @qp: by id
 * @maps: memory
 * @map_offset: offset of the last mapping
 */
struct sim_file {
	struct sim_node *node;
	u32 ctx_id;
	struct rmc_bufs bufs;
	struct rmc_mem *buf[RMC_MAX_BUFFERS];
	struct rmc_mem *seg;
	struct sim_alarm seg_alarm;
	struct rmc_tx_home *tx;
	struct sim_qp *qp[SIM_FILE_QPS];
	struct sim_map *maps;
	u64 map_offset;
};

struct sim_qp *sim_file_qp(struct sim_file *f, u32 id);
long sim_file_seg_reg(struct sim_file *f, struct rmc_seg_reg *arg);
long sim_file_seg_unreg(struct sim_file *f);
long sim_file_buf_reg(struct sim_file *f, struct rmc_buf_reg *arg);
long sim_file_buf_unreg(struct sim_file *f, u32 id);
long sim_file_qp_create(struct sim_file *f, struct rmc_qp_create *arg);
long sim_file_qp_destroy(struct sim_file *f, u32 id);
long sim_file_tx_reg(struct sim_file *f, struct rmc_tx_reg *arg);
void sim_file_tx_withdraw(struct sim_file *f);
long sim_file_tx_open(struct sim_file *f, struct rmc_tx_open *arg);
void sim_tx_end(struct sim_node *n);
void sim_file_release(struct sim_file *f, bool crashed);

#endif
