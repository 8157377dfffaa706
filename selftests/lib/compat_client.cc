// SPDX-License-Identifier: LGPL-2.1 OR MIT
// Reads the pages of compat_server.cc, also when that has returned from main()
#include <unistd.h>
#include "sonuma.h"
int main()
{
	uint8_t *ctx = NULL, *lbuff = NULL;
	rmc_wq_t *wq;
	rmc_cq_t *cq;

	if (kal_reg_lbuff(0, &lbuff, 1) < 0 || kal_reg_ctx(0, &ctx, 64) < 0 ||
	    kal_reg_wq(0, &wq) < 0 || kal_reg_cq(0, &cq) < 0)
		return 1;
	rmc_rread_sync(wq, cq, lbuff, 0, 1, 0, 0, 64);
	usleep(700000);
	for (int i = 0; i < 64; i++) {
		rmc_rread_sync(wq, cq, lbuff, 0, 1, 0, i * PAGE_SIZE, 64);
		if (*(uint32_t *)lbuff != (uint32_t)i + 1)
			return 2;
	}
	printf("the server stayed\n");
	return 0;
}
