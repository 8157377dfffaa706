/* SPDX-License-Identifier: GPL-2.0 */
/* Workloads of tools/tx, compiled with this file before all others, call the model: hades.h */
#ifndef HADES_NAMES_H
#define HADES_NAMES_H

#define rmc_tx_run		hd_run
#define rmc_tx_get		hd_get
#define rmc_tx_fetch		hd_fetch
#define rmc_tx_put		hd_put
#define rmc_tx_insert		hd_insert
#define rmc_tx_delete		hd_delete
#define rmc_tx_check		hd_check
#define rmc_tx_home		hd_home
#define rmc_tx_load		hd_load
#define rmc_tx_blocks_open	hd_blocks_open
#define rmc_tx_blocks_use	hd_blocks_use

#endif
