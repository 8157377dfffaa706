/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The version word of a tuple that a switch in front of its storage node may serve: the first
 * 8 bytes of the tuple. Documentation/switch.rst has the protocol.
 *
 *   63        62        61        48 47                        0
 *   VERIFIED  SWITCHED  epoch (14)  | version, odd: latched
 *
 * All of it is compared. A storage node's unit has each epoch once, so a word is not current again
 * until the unit ends, or its switch was taken away when no epoch was left. The next one begins
 * with a random epoch: a word that somebody has kept since may then be current again, though it is
 * not likely.
 */
#ifndef _UAPI_LINUX_RMC_SWITCH_H
#define _UAPI_LINUX_RMC_SWITCH_H

#include <linux/types.h>

#define RMC_SWITCH_VERSION	((1ULL << 48) - 1)
#define RMC_SWITCH_LATCHED	1ULL
#define RMC_SWITCH_EPOCH_SHIFT	48
#define RMC_SWITCH_EPOCHS	(1U << 14)
/* The version is at a switch: no atomic on memory may latch the tuple */
#define RMC_SWITCH_SWITCHED	(1ULL << 62)
/* In the reply to a read only, set by the switch: no write has changed the tuple meanwhile */
#define RMC_SWITCH_VERIFIED	(1ULL << 63)
/* In place of the word, in the reply to a read that the switch found inconsistent */
#define RMC_SWITCH_FAILED	(~0ULL)

#endif
