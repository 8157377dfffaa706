/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every limit of the core, with the reason for its value. RMC_IOC_QUERY returns those that
 * matter to applications.
 */
#ifndef RMC_PARAM_H
#define RMC_PARAM_H

#include "os.h"

enum {
	/* range of the 10-bit nid of a WQ entry; also the limit of all nodes' units
	 * together, each of which has a bit in a doorbell
	 */
	RMC_MAX_NODES		= 1024,
	/* units of one node: the papers' chip has eight rows (T18 section 6.4) */
	RMC_MAX_UNITS		= 8,
	/* frontends per unit: a chip's row has eight cores (T18 section 6.4) */
	RMC_MAX_FRONTENDS	= 8,
	/* consecutive bytes of a segment that one unit serves; a packet of the
	 * default MTU is not cut, and most objects are in one block
	 */
	RMC_INTERLEAVE		= 4096,
	RMC_INTERLEAVE_MIN	= 64,
	RMC_INTERLEAVE_MAX	= 1 << 20,
	RMC_MAX_CONTEXTS	= 256,
	/* per node; bounds the work of a park */
	RMC_MAX_QPS		= 1024,
	/* per file; binary search, so only memory counts */
	RMC_MAX_BUFFERS		= 256,
	/* further ranges of a segment, searched one by one when a request is beyond the
	 * first: enough for a program's heap, stacks and libraries
	 */
	RMC_MAX_RANGES		= 16,
	RMC_MIN_ENTRIES		= 2,
	/* entries of a WQ: the slot field of a CQ entry has 16 bits; 4096
	 * is 64 KiB of WQ, more than any ITT can hold in flight
	 */
	RMC_MAX_ENTRIES		= 4096,

	/* operations in flight per node. T18 sizes its table 120 for 16 GB/s
	 * x 470 ns; software latency is about ten times that.
	 */
	RMC_ITT_ENTRIES		= 1024,
	/* a tenant that is alone leaves 1/16 of them free: enough for a new tenant to start,
	 * too few to reduce throughput
	 */
	RMC_TID_RESERVE		= 16,

	/* packet payload, bytes: 64 is the papers' protocol */
	RMC_MTU_MIN		= 64,
	RMC_MTU_DEFAULT		= 4096,
	RMC_MTU_MAX		= 32768,

	/* descriptors per ring and lane, log2; also the packets in flight per
	 * ordered node pair, because one reply per request is the credit
	 */
	RMC_RING_ORDER		= 8,
	RMC_RING_ORDER_MIN	= 2,
	RMC_RING_ORDER_MAX	= 12,
	/* payload lines per ring, log2: 256 lines are 16 KiB, so that a copy
	 * into the ring and the copy out of it both stay in the L1/L2 caches
	 */
	RMC_PAY_ORDER		= 8,
	RMC_PAY_ORDER_MAX	= 14,

	/* operations or runs handled per poll of a ring or WQ: the depth of prefetch */
	RMC_BATCH		= 16,
	/* descriptors handled per poll of a ring */
	RMC_POLL_BUDGET		= 32,
	/* bytes of a run: few, so that the other side can start early; more where it is
	 * the same worker, as long as the run fits in the L1 cache
	 */
	RMC_RUN			= 4096,
	RMC_RUN_SELF		= 8192,
	/* local path, see local.h. Most packets that an operation would have on the packet
	 * path: few, so that the effect of the MTU can be measured. Lines of their buffer;
	 * where each packet can be moved by itself, only the first lines are used and stay
	 * in the L1 cache. Bytes per poll of a WQ, while other queue pairs wait
	 */
	RMC_LOCAL_PACKETS	= 4,
	RMC_LOCAL_LINES	= 256,
	RMC_LOCAL_BUDGET		= 65536,
	/* tries, each of RMC_LINE_PASSES passes, to read a line that keeps changing, while all
	 * requests behind it in the ring wait: 4 ms at most. Measured: a line that another
	 * core stores to without pause takes 3 passes at most; in an emulated machine up to
	 * 66 tries
	 */
	RMC_AGAIN_TRIES		= 512,
	/* after such a read has failed, others of the same source have one try during this
	 * time (ms): a source of only such reads delays its other requests 1 % of the time
	 */
	RMC_AGAIN_MS		= 512,
	/* where tenants share a worker, the work units of each per visit: one per byte, and
	 * RMC_TENANT_ENTRY more per entry or packet, for the time that as many bytes take.
	 * The quantum is one full packet, since packets are not interrupted: other tenants
	 * wait for less than a microsecond
	 */
	RMC_TENANT_QUANTUM	= 4096,
	RMC_TENANT_ENTRY	= 256,
	/* ... and per queue pair that was polled and empty */
	RMC_TENANT_IDLE		= 16,
	/* ... and per request that ended with RMC_S_BUSY: visits in which other tenants are
	 * served for as long as the request took, some 10 us
	 */
	RMC_TENANT_BUSY		= 128 * 4096,
	/* upper limit of a tenant's debt: some 400 us of visits */
	RMC_TENANT_DEBT		= 1 << 24,
	/* empty polls before a source or queue pair is no longer polled at each visit */
	RMC_IDLE_POLLS		= 4096,
	/* ... at least, where each visit polls many sources: see rmc_idle_polls() */
	RMC_IDLE_POLLS_MIN	= 16,

	/* Active Transfers Table (M16 section 5.1): entries and lines fetched
	 * ahead per entry; both by Little's law on 20 GB/s x 90 ns
	 */
	RMC_ATT_ENTRIES		= 16,
	RMC_ATT_ENTRIES_MAX	= 64,
	RMC_ATT_DEPTH		= 32,
	RMC_ATT_DEPTH_MAX	= 1024,
	/* an active transfer without requests for this long is ended; far
	 * beyond the time slices of an overcommitted host
	 */
	RMC_ATT_STALL_MS	= 100,
	/* announced transfers in flight per channel; both ends respect it. One
	 * record each is a page in total, found by a 64-bit mask
	 */
	RMC_XFERS		= 64,
	/* polls of a source that waits to send all of a transfer at once */
	RMC_ATT_PATIENCE	= 64,
	/* runs of a transfer between two polls of the rings, when it is alone */
	RMC_ATT_RUNS		= 4,

	/* contexts of a unit whose queue pairs may have slots for transactions */
	RMC_TX_ENGINES		= 8,

	RMC_TIMEOUT_MS		= 10000,
	/* interval of ticks: links, time-outs, heartbeats */
	RMC_TICK_NS		= 1000000,
	/* a longer gap between ticks means that this machine was paused; so
	 * does a gap of half of dead_ms
	 */
	RMC_TICK_GAP_MS		= 1000,
	/* a peer whose heartbeat stops for this long is down */
	RMC_DEAD_MS		= 3000,
};

/* largest segment: range of the 40-bit offset of a WQ entry */
#define RMC_MAX_SEGMENT		(RMC_OFFSET_MAX + 1)

#endif
