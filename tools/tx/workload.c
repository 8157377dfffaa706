/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What all workloads share. */
#include <errno.h>
#include <string.h>
#include "workload.h"

const struct workload *workload_find(const char *name)
{
	static const struct workload *const all[] = { &smallbank, &tatp, &tpcc, &ycsb_a, &ycsb_b };
	unsigned int i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

const char *workload_judge(const struct workload *w, const struct tx_scale *s, const int64_t *sums,
			   uint64_t violated, int64_t *is, int64_t *expected)
{
	const char *wrong = w->judge(s, sums, is, expected);

	if (wrong || !violated)
		return wrong;
	*is = (int64_t)violated;
	*expected = 0;
	return "conditions violated during the run";
}

int tx_execute(struct tx_client *c, unsigned int kind, int (*fn)(struct rmc_tx *t, void *arg),
	       void *arg)
{
	int err = rmc_tx_run(c->db, fn, arg);

	c->done[kind] += !err;
	c->ended[kind] += err == RMC_TX_ABORT || err == -ENOENT || err == -EEXIST;
	return err == RMC_TX_ABORT || err == -ENOENT || err == -EEXIST ? 0 : err;
}

struct peek {
	struct rmc_tx_addr at;
	void *data;
	size_t len;
};

static int peek(struct rmc_tx *t, void *arg)
{
	const struct peek *p = (const struct peek *)arg;
	const void *data;
	int err = rmc_tx_get(t, p->at, p->len, &data);

	if (!err)
		memcpy(p->data, data, p->len);
	return err;
}

int tx_peek(struct tx_client *c, uint32_t table, uint64_t rid, void *data, size_t len)
{
	struct peek p = { rmc_tx_record(table, rid), data, len };

	return rmc_tx_run(c->db, peek, &p);
}
