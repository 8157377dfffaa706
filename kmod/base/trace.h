/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints, one per stage: /sys/kernel/tracing/events/rmc. Included by the
 * core through os.h.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rmc

#if !defined(RMC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RMC_TRACE_H

#include <linux/tracepoint.h>

/* The RGP injected packets of one operation. */
TRACE_EVENT(rmc_rgp_inject,
	TP_PROTO(u32 nid, u32 to, u16 tid, u32 packets),
	TP_ARGS(nid, to, tid, packets),
	TP_STRUCT__entry(
		__field(u32, nid)
		__field(u32, to)
		__field(u32, packets)
		__field(u16, tid)
	),
	TP_fast_assign(
		__entry->nid = nid;
		__entry->to = to;
		__entry->packets = packets;
		__entry->tid = tid;
	),
	TP_printk("nid=%u to=%u tid=%u packets=%u", __entry->nid, __entry->to,
		  __entry->tid, __entry->packets)
);

/* The RGP completed a WQ entry with an error and sent nothing. */
TRACE_EVENT(rmc_rgp_refuse,
	TP_PROTO(u32 nid, u16 slot, u8 status),
	TP_ARGS(nid, slot, status),
	TP_STRUCT__entry(
		__field(u32, nid)
		__field(u16, slot)
		__field(u8, status)
	),
	TP_fast_assign(
		__entry->nid = nid;
		__entry->slot = slot;
		__entry->status = status;
	),
	TP_printk("nid=%u slot=%u status=%u", __entry->nid, __entry->slot, __entry->status)
);

/* The RRPP served a batch of requests of one peer. */
TRACE_EVENT(rmc_rrpp_serve,
	TP_PROTO(u32 nid, u32 from, u32 count),
	TP_ARGS(nid, from, count),
	TP_STRUCT__entry(
		__field(u32, nid)
		__field(u32, from)
		__field(u32, count)
	),
	TP_fast_assign(
		__entry->nid = nid;
		__entry->from = from;
		__entry->count = count;
	),
	TP_printk("nid=%u from=%u count=%u", __entry->nid, __entry->from, __entry->count)
);

/* A peer announced an operation of several packets. */
TRACE_EVENT(rmc_att_open,
	TP_PROTO(u32 nid, u32 from, u16 tid, u32 packets),
	TP_ARGS(nid, from, tid, packets),
	TP_STRUCT__entry(
		__field(u32, nid)
		__field(u32, from)
		__field(u32, packets)
		__field(u16, tid)
	),
	TP_fast_assign(
		__entry->nid = nid;
		__entry->from = from;
		__entry->packets = packets;
		__entry->tid = tid;
	),
	TP_printk("nid=%u from=%u tid=%u packets=%u", __entry->nid, __entry->from,
		  __entry->tid, __entry->packets)
);

/* The operation ended; issued: number of data requests answered by then. */
TRACE_EVENT(rmc_att_close,
	TP_PROTO(u32 nid, u32 from, u16 tid, u32 issued, u8 status),
	TP_ARGS(nid, from, tid, issued, status),
	TP_STRUCT__entry(
		__field(u32, nid)
		__field(u32, from)
		__field(u32, issued)
		__field(u16, tid)
		__field(u8, status)
	),
	TP_fast_assign(
		__entry->nid = nid;
		__entry->from = from;
		__entry->issued = issued;
		__entry->tid = tid;
		__entry->status = status;
	),
	TP_printk("nid=%u from=%u tid=%u issued=%u status=%u", __entry->nid, __entry->from,
		  __entry->tid, __entry->issued, __entry->status)
);

/* The RCP completed an operation. */
TRACE_EVENT(rmc_rcp_complete,
	TP_PROTO(u32 nid, u32 from, u16 tid, u16 slot, u8 status),
	TP_ARGS(nid, from, tid, slot, status),
	TP_STRUCT__entry(
		__field(u32, nid)
		__field(u32, from)
		__field(u16, tid)
		__field(u16, slot)
		__field(u8, status)
	),
	TP_fast_assign(
		__entry->nid = nid;
		__entry->from = from;
		__entry->tid = tid;
		__entry->slot = slot;
		__entry->status = status;
	),
	TP_printk("nid=%u from=%u tid=%u slot=%u status=%u", __entry->nid, __entry->from,
		  __entry->tid, __entry->slot, __entry->status)
);

/* A node noticed an event of a peer, of a link, or of itself. */
TRACE_EVENT(rmc_node_event,
	TP_PROTO(u32 nid, u32 type, u32 about, u32 epoch),
	TP_ARGS(nid, type, about, epoch),
	TP_STRUCT__entry(
		__field(u32, nid)
		__field(u32, type)
		__field(u32, about)
		__field(u32, epoch)
	),
	TP_fast_assign(
		__entry->nid = nid;
		__entry->type = type;
		__entry->about = about;
		__entry->epoch = epoch;
	),
	TP_printk("nid=%u type=%u about=%u epoch=%u", __entry->nid, __entry->type,
		  __entry->about, __entry->epoch)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH base
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
