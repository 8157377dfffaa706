/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Messages between librmc and rmcd, on a Unix socket of type SOCK_SEQPACKET.
 *
 *	library                                       rmcd
 *	  RMCD_OPEN {version, context}  ------------>   checks SO_PEERCRED
 *	  <------------  {version, pid}, report socket
 *	  RMC_IOC_* {the ioctl's struct}  ---------->
 *	  <------------  {ret, the struct}, descriptors
 *	  ...
 *	  close  ----------------------------------->   releases all resources
 *
 * One connection is one open context, and one request at a time is under way on it: the
 * library sends, then waits for the answer. Each message is a struct rmcd_head and what belongs
 * to it. rmcd checks each message as the kernel checks an ioctl, and closes the connection of a
 * peer that breaks these rules.
 *
 * Offsets of memory in the structs of answers mean nothing: the memory is what comes with them.
 *
 * Descriptors travel with the message (SCM_RIGHTS):
 *
 *	answer to RMCD_OPEN		report socket, a stream that is only read: readable while
 *					poll() of the module's file would report; the library
 *					empties it before it arms
 *	answer to RMC_IOC_QP_CREATE	memory of the WQ; memory of the CQ, followed by the page
 *					of the flags; eventfd that wakes the worker. rmcd seals
 *					both memories: their size, and writing to the second
 *	RMC_IOC_CQ_ARM, RMC_IOC_SEG_ARM,	the eventfd, if there is one
 *	RMC_IOC_AQ_ARM, RMC_IOC_ROOM_ARM
 *	answer to RMC_IOC_DOM_CREATE,	memory of the receive slots, sealed in its size and against
 *	RMC_IOC_DOM_OPEN		writing; memory of the send slots, sealed in its size; with
 *					max_answer that of the answer slots, as the first
 *	answer to RMC_IOC_DOM_ATTACH	memory of the arrival queue, sealed in both ways; none with
 *					RMC_DOM_SEND_ONLY
 *	answer to RMC_IOC_TX_REG	memory of the Locking Buffers, sealed in both ways; none when
 *					the range is withdrawn
 *	answer to RMC_IOC_WATCH		the same, a stream of struct rmc_node_event
 *	RMC_IOC_SEG_REG, _SEG_ADD,	the files that struct rmcd_piece names
 *	RMC_IOC_BUF_REG, RMC_IOC_TX_REG
 */
#ifndef RMC_DRIVER_PROTOCOL_H
#define RMC_DRIVER_PROTOCOL_H

#include <linux/rmc.h>
#include <linux/rmc_domain.h>
#include <linux/rmc_tx.h>

#define RMCD_VERSION		1
#define RMCD_MESSAGE_BYTES	1024	/* longest message */
#define RMCD_MESSAGE_FDS	8	/* most descriptors of one message */
#define RMCD_VALUE_BYTES	512	/* longest value of an attribute, or part of a list */

/* Requests beside RMC_IOC_*, whose numbers are above these */
enum rmcd_request {
	RMCD_OPEN	= 1,	/* struct rmcd_open; the first message of a connection */
	RMCD_ATTR_READ	= 2,	/* struct rmcd_attr: value of an attribute */
	RMCD_ATTR_LIST	= 3,	/* struct rmcd_attr: names in a directory, or lines of a value */
	RMCD_ATTR_WRITE	= 4,	/* struct rmcd_attr: change an attribute */
};

/**
 * struct rmcd_head - begin of each message
 * @request: enum rmcd_request or RMC_IOC_*; the answer repeats it
 * @ret: answer: what the ioctl returns, or -errno; request: 0
 * @fds: number of descriptors that come with it
 * @reserved: 0
 */
struct rmcd_head {
	__u32 request;
	__s32 ret;
	__u32 fds;
	__u32 reserved;
};

/**
 * struct rmcd_open - RMCD_OPEN
 * @version: RMCD_VERSION of the sender. EPROTO: another one
 * @ctx_id: context, or -1: as /dev/rmc, for RMC_IOC_QUERY, _NODE_INFO, _WATCH, _CTX_CREATE,
 *	_CTX_REMOVE and attributes. ENOENT: no such context
 * @pid: answer: process that reads and writes memory of the caller, as it sees itself. The
 *	library uses the one of SO_PEERCRED (PR_SET_PTRACER)
 * @flags: must be 0
 */
struct rmcd_open {
	__u32 version;
	__s32 ctx_id;
	__s32 pid;
	__u32 flags;
};

/**
 * struct rmcd_piece - a part of registered memory
 * @length: bytes; a piece begins where the one before it ends
 * @offset: where it begins in the file; a multiple of the page size plus the offset of its
 *	address within the page
 * @fd: which of the message's descriptors is the file; RMCD_PRIVATE: memory that only the
 *	caller has mapped. rmcd reads and writes it through /proc/PID/mem, so it can be part
 *	of a local buffer only
 * @reserved: must be 0
 */
struct rmcd_piece {
	__u64 length;
	__u64 offset;
	__s32 fd;
	__u32 reserved;
};

#define RMCD_PRIVATE		(-1)
#define RMCD_PIECES		8	/* most of one registration */

/**
 * struct rmcd_memory - follows the struct of RMC_IOC_SEG_REG, _SEG_ADD, _BUF_REG and _TX_REG
 * @count: number of pieces; together they are as long as the memory. RMC_IOC_TX_REG: 0 where there
 *	are no filters
 * @reserved: must be 0
 * @piece: pieces, in the order of their addresses
 *
 * The library allocates the memory of RMC_MEM_ALLOC itself: the flag does not get here.
 */
struct rmcd_memory {
	__u32 count;
	__u32 reserved;
	struct rmcd_piece piece[RMCD_PIECES];
};

/**
 * struct rmcd_attr - RMCD_ATTR_*: what the module has in sysfs and debugfs
 * @path: path below the mount point, such as class/misc/rmc/nodes
 * @offset: RMCD_ATTR_LIST: names or lines to leave out, since earlier answers had them
 * @count: RMCD_ATTR_LIST, answer: names or lines in this one; 0: there are no more
 * @value: text, ended by NUL
 */
struct rmcd_attr {
	char path[128];
	__u32 offset;
	__u32 count;
	char value[RMCD_VALUE_BYTES];
};

#endif
