/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Schemes for reading remote objects: SABRes and the software alternatives to them.
 *
 * A scheme defines the layout of an object of len bytes in its owner's segment, how the
 * owner writes it, what a reader fetches (the image) and how the reader checks that the
 * image is one state of the object. Readers: <rmc/reader.h>.
 *
 *	name	layout				how a reader detects a writer
 *	sabre	header, data			the destination's RMC checks
 *	farm	a version in every line		compares them all, strips them
 *	crc64	header, CRC64, data		computes the CRC again
 *	lock	header, lock, data		holds the lock: CAS, read, CAS
 *	lease	header, lease, data		holds it until a deadline: CAS, read
 *	strip	as farm				the owner compares and strips, by message
 *	rpc	as sabre			the owner reads, by message
 *	plain	as sabre			it does not
 *
 * Every layout begins with a struct rmc_object. So writers of one object exclude each
 * other, dead writers are known, and the owner's own reads are the same in all schemes.
 * Objects are aligned to lines. Documentation/objects.rst lists the guarantees and costs
 * of each scheme.
 */
#ifndef RMC_SCHEME_H
#define RMC_SCHEME_H

#include <rmc/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Besides enum rmc_status; rmc_strerror() knows them. */
enum rmc_scheme_status {
	RMC_SCHEME_TORN		= 128,	/* it was written while it was read */
	RMC_SCHEME_LOCKED	= 129,	/* it is being written, or its lock is held */
	RMC_SCHEME_LEASE_OVER	= 130,	/* the lease ended before the data arrived */
};

#define RMC_SCHEME_ATOMIC	(1U << 0)	/* delivers one state of the object or none */
#define RMC_SCHEME_CLEAN	(1U << 1)	/* data is contiguous, at data_at */
#define RMC_SCHEME_MESSAGE	(1U << 2)	/* the owner's CPU serves every read */
#define RMC_SCHEME_WRITES	(1U << 3)	/* readers write into the object */

enum rmc_fetch {
	RMC_FETCH_READ,		/* one remote read */
	RMC_FETCH_SABRE,	/* one SABRe */
	RMC_FETCH_LOCK,		/* compare-and-swap, read, compare-and-swap */
	RMC_FETCH_LEASE,	/* compare-and-swap, read */
	RMC_FETCH_MESSAGE,	/* a message to the owner and its answer */
};

/* What a caller gets if a call succeeds */
enum rmc_guarantee {
	RMC_GUARANTEE_ATOMIC,	/* one state of the object */
	RMC_GUARANTEE_PROBABLE,	/* the same, with an error probability of 2^-64 */
	RMC_GUARANTEE_BROKEN,	/* a mixture of states is possible: for comparison */
};

/* What a scheme needs from the fabric and the caller, beyond atomic lines and atomics */
#define RMC_NEEDS_ORDERED	(1U << 0)	/* an ordered queue pair */
#define RMC_NEEDS_ADDRESSES	(1U << 1)	/* ... that writes lines in order of addresses */
#define RMC_NEEDS_RPC		(1U << 2)	/* messages to the owner */
#define RMC_NEEDS_POOL		(1U << 3)	/* memory for copies: <rmc/sync.h> */
#define RMC_NEEDS_OWNER		(1U << 4)	/* the owner's CPU, for writes */

/* Parameters that writers and readers of the same objects share; zero: the defaults */
struct rmc_scheme_params {
	uint32_t lease_us;	/* duration of a lease; 0: 1000 */
	uint32_t skew_us;	/* largest difference of two nodes' clocks; 0: 100 */
	uint32_t wait_us;	/* time that a writer waits for remote readers; 0: 10000 */
};

/* Embedded in other structs, so it never changes. */
RMC_ABI_SIZE(rmc_scheme_params, 12);

/* Defined by the library: programs find schemes, they do not define them. Grows at its end. */
struct rmc_scheme {
	const char *name;
	const char *title;
	unsigned int flags;		/* RMC_SCHEME_* */
	enum rmc_fetch fetch;
	uint32_t data_at;		/* RMC_SCHEME_CLEAN: offset of the data */

	/* Bytes of the image of an object of len bytes */
	size_t (*image)(size_t len);
	/* Stores the data, between rmc_object_write_begin() and _end() */
	void (*store)(struct rmc_object *o, const void *data, size_t len);
	/* Exclude remote readers, and admit them again; NULL: not needed */
	int (*acquire)(struct rmc_object *o, const struct rmc_scheme_params *p);
	void (*release)(struct rmc_object *o);
	/*
	 * Check that the image is one state of the object: 0 or enum rmc_scheme_status.
	 * Without RMC_SCHEME_CLEAN the data is copied to clean. NULL: nothing to check.
	 */
	int (*check)(const void *image, void *clean, size_t len);
	/* Copy the owner's object; the caller checks the version. NULL: plain copy. */
	int (*copy)(const struct rmc_object *o, void *data, size_t len);
	/* of version 1.1 */
	enum rmc_guarantee guarantee;
	unsigned int needs;		/* RMC_NEEDS_* */
	const char *papers;		/* where it is from */
	const char *systems;		/* that use it, or NULL */
	const char *latch;		/* name of the one that writers take, or NULL */
};

RMC_ABI_OFFSET(rmc_scheme, name, 0);
RMC_ABI_OFFSET(rmc_scheme, image, 32);

/*
 * Find a scheme by name, or by number from 0; NULL: none. Only those whose objects begin
 * with a struct rmc_object; <rmc/sync.h> has all.
 */
const struct rmc_scheme *rmc_scheme_find(const char *name);
const struct rmc_scheme *rmc_scheme_number(unsigned int i);

/* Bytes that an object of len bytes takes in a segment: whole lines */
RMC_INLINE size_t rmc_scheme_bytes(const struct rmc_scheme *s, size_t len)
{
	return (s->image(len) + RMC_CACHE_LINE - 1) & ~(size_t)(RMC_CACHE_LINE - 1);
}

/* Make memory a consistent object of len zero bytes, before any other use of it. */
void rmc_scheme_init(const struct rmc_scheme *s, struct rmc_object *o, size_t len);

/*
 * The owner replaces the object's data; waits for other writers. 0, or
 * RMC_SCHEME_LOCKED: a remote reader or writer has held it for params->wait_us, or is dead, see
 * rmc_scheme_holder();
 * or -EOPNOTSUPP: the scheme's latch or copies are not in the object, or a switch may have its
 * version, so its owner uses <rmc/sync.h> as all nodes do. params NULL: the defaults.
 */
int rmc_scheme_write(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
		     size_t len, const struct rmc_scheme_params *params);

/* The owner reads its object, one attempt: 0 or enum rmc_scheme_status. */
int rmc_scheme_read(const struct rmc_scheme *s, const struct rmc_object *o, void *data,
		    size_t len);

/*
 * After the image was fetched: *data points to the object's data, in the image or in
 * clean (len bytes, or NULL for RMC_SCHEME_CLEAN). 0 or enum rmc_scheme_status.
 */
int rmc_scheme_check(const struct rmc_scheme *s, const void *image, void *clean, size_t len,
		     const void **data);

/* Node of the reader or writer that holds the object: -1: none, -2: a writer of the owner. */
int rmc_scheme_holder(const struct rmc_scheme *s, const struct rmc_object *o);

/*
 * Recovery after a crash. rmc_scheme_break() breaks the lock of node nid, which the caller
 * knows to be dead: 0, or -ENOENT when it holds no lock, or -EOPNOTSUPP: its versions are in
 * lines, so rmc_sync_take_over() does. Data that it was writing is to be replaced.
 * rmc_scheme_repair() makes the object of a dead writer consistent with the given data: results
 * as rmc_object_repair().
 */
int rmc_scheme_break(const struct rmc_scheme *s, struct rmc_object *o, int nid);
int rmc_scheme_repair(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
		      size_t len);

/* CRC-64/XZ (ECMA-182, reflected); crc: 0, or the CRC of the preceding bytes. */
uint64_t rmc_crc64(uint64_t crc, const void *data, size_t len);

#ifdef __cplusplus
}
#endif

#endif /* RMC_SCHEME_H */
