/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Every node exposes a word and reads its right neighbour's. rmc-run -n 4 build/hello */
#include <stdio.h>
#include <rmc/rmc.h>

int main(void)
{
	struct rmc_team *t = rmc_team_open(0, 4096);
	uint64_t word = 0;

	if (!t || rmc_buf_register(t->ctx, &word, sizeof(word)) < 0)
		return fprintf(stderr, "%s\n", rmc_errmsg()), 1;
	*(uint64_t *)t->seg = 100 + t->self;
	rmc_team_barrier(t);
	int right = rmc_team_nid(t, t->self + 1);
	int err = rmc_read(t->qp, right, t->offset, &word, sizeof(word));
	printf("node %d says %d: %s\n", right, (int)word, rmc_strerror(err));
	rmc_team_barrier(t);
	rmc_team_close(t);
	return err;
}
