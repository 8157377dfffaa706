// SPDX-License-Identifier: GPL-2.0
/*
 * R25 in virtual time: its figures with the rows of rmc/sync.h, behind the model of its adapters,
 * and the same on a chip of soNUMA. Documentation/sync-figures.rst says what the numbers mean.
 *
 *	build/sim-sync [--json] [--quick] [4 5 8 9 10 1b 11 14 15 16 20 22 25 26 table1]
 *	build/sim-sync --costs cx7 17
 *	build/sim-sync --costs bf2 18
 *	build/sim-sync --costs sonuma-r2p2 [4 5 ...]
 *	build/sim-sync --set faa_ns=431 11
 */
#include "sync.h"

int main(int argc, char **argv)
{
	static const struct eval_part parts[] = {
		{ "1b", sync_figure1b }, { "4", sync_figure4 }, { "5", sync_figure5 },
		{ "8", sync_figure8 }, { "9", sync_figure9 }, { "10", sync_figure10 },
		{ "11", sync_figure11 }, { "14", sync_figure14 }, { "15", sync_figure15 },
		{ "16", sync_figure16 }, { "17", sync_figure17 }, { "18", sync_figure18 },
		{ "20", sync_figure20 }, { "22", sync_figure22 }, { "25", sync_figure25 },
		{ "26", sync_figure26 },
		{ "table1", sync_table1 }, { }
	};

	return sync_main(argc, argv, parts);
}
