// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A process with contexts of two daemons of its user: both read its private memory, though yama
 * lets it permit that to one process at a time. usage: two_daemons SOCKET SOCKET
 */
#include <rmc/rmc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	/* words on the stack do not move to a file */
	unsigned long word[2] = { 1, 2 };
	struct rmc_ctx *ctx[2];
	int i, err;

	if (argc != 3) {
		fprintf(stderr, "usage: two_daemons SOCKET SOCKET\n");
		return 2;
	}
	for (i = 0; i < 2; i++) {
		setenv("RMC_DEVICE", argv[i + 1], 1);
		ctx[i] = rmc_open(0, -1);
		if (!ctx[i]) {
			fprintf(stderr, "%s: %s\n", argv[i + 1], rmc_errmsg());
			return 1;
		}
	}
	for (i = 0; i < 2; i++) {
		err = rmc_buf_register(ctx[i], &word[i], sizeof(word[i]));
		if (err < 0) {
			fprintf(stderr, "daemon %d: %s\n", i, rmc_errmsg());
			return 1;
		}
	}
	for (i = 0; i < 2; i++)
		rmc_close(ctx[i]);
	return 0;
}
