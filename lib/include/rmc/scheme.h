/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Schemes for reading remote objects: SABRes and what software does without them.
 *
 * A scheme says how an object of len bytes lies in its owner's segment (the layout),
 * how the owner writes it, what a reader fetches (the image) and how it makes sure
 * that the image is one state of the object (the check). Readers: <rmc/reader.h>.
 *
 *	name	layout				how a reader knows
 *	sabre	header, data			the destination's RMC checks
 *	farm	a version in every line		compares them all, strips them
 *	crc64	header, CRC64, data		computes the CRC again
 *	lock	header, lock, data		holds the lock: CAS, read, CAS
 *	lease	header, lease, data		has it until a time: CAS, read
 *	strip	as farm				the owner compares and strips, by message
 *	rpc	as sabre			the owner reads, by message
 *	plain	as sabre			it does not
 *
 * Every layout begins with a struct rmc_object, so writers of one object exclude each
 * other, dead ones are known, and the owner's own reads are the same in all schemes.
 * Objects are aligned to lines. What each scheme guarantees and costs is in
 * Documentation/objects.rst.
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
	RMC_SCHEME_LOCKED	= 129,	/* it is being written, or somebody has its lock */
	RMC_SCHEME_LEASE_OVER	= 130,	/* the lease ended before the data had come */
};

#define RMC_SCHEME_ATOMIC	(1U << 0)	/* delivers one state of the object or none */
#define RMC_SCHEME_CLEAN	(1U << 1)	/* data in one piece, at data_at */
#define RMC_SCHEME_MESSAGE	(1U << 2)	/* the owner's CPU serves every read */
#define RMC_SCHEME_WRITES	(1U << 3)	/* readers write into the object */

enum rmc_fetch {
	RMC_FETCH_READ,		/* one remote read */
	RMC_FETCH_SABRE,	/* one SABRe */
	RMC_FETCH_LOCK,		/* compare-and-swap, read, compare-and-swap */
	RMC_FETCH_LEASE,	/* compare-and-swap, read */
	RMC_FETCH_MESSAGE,	/* a message to the owner and its answer */
};

/* Where writers and readers of the same objects must agree; zero: the defaults */
struct rmc_scheme_params {
	uint32_t lease_us;	/* how long a lease lasts; 0: 1000 */
	uint32_t skew_us;	/* most that two nodes' clocks differ; 0: 100 */
	uint32_t wait_us;	/* how long a writer waits for remote readers; 0: 10000 */
};

/* A part of other structs, so it stays as it is. */
RMC_ABI_SIZE(rmc_scheme_params, 12);

/* Of the library: programs find schemes, they do not make them. Grows at its end. */
struct rmc_scheme {
	const char *name;
	const char *title;
	unsigned int flags;		/* RMC_SCHEME_* */
	enum rmc_fetch fetch;
	uint32_t data_at;		/* RMC_SCHEME_CLEAN: offset of the data */

	/* Bytes of the image of an object of len bytes */
	size_t (*image)(size_t len);
	/* Between rmc_object_write_begin() and _end() */
	void (*store)(struct rmc_object *o, const void *data, size_t len);
	/* Keep remote readers off, and let them on again; NULL: no need */
	int (*acquire)(struct rmc_object *o, const struct rmc_scheme_params *p);
	void (*release)(struct rmc_object *o);
	/*
	 * Is the image one state of the object? 0 or enum rmc_scheme_status. Without
	 * RMC_SCHEME_CLEAN its data goes to clean. NULL: nothing to check.
	 */
	int (*check)(const void *image, void *clean, size_t len);
	/* Copy the owner's object out; whoever calls looks at the version. NULL: plain. */
	int (*copy)(const struct rmc_object *o, void *data, size_t len);
};

RMC_ABI_OFFSET(rmc_scheme, name, 0);
RMC_ABI_OFFSET(rmc_scheme, image, 32);

/* By name, or by number from 0; NULL when there is none */
const struct rmc_scheme *rmc_scheme_find(const char *name);
const struct rmc_scheme *rmc_scheme_number(unsigned int i);

/* Bytes that an object of len bytes takes in a segment: whole lines */
RMC_INLINE size_t rmc_scheme_bytes(const struct rmc_scheme *s, size_t len)
{
	return (s->image(len) + RMC_CACHE_LINE - 1) & ~(size_t)(RMC_CACHE_LINE - 1);
}

/* Make memory a whole object of len zero bytes; nobody else may use it yet. */
void rmc_scheme_init(const struct rmc_scheme *s, struct rmc_object *o, size_t len);

/*
 * The owner replaces the object's data, waiting for its other writers. 0, or
 * RMC_SCHEME_LOCKED: a remote reader has had the lock for params->wait_us, or is dead.
 * params NULL: the defaults.
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

/* Node whose reader has the object's lock: -1 nobody, -2 a writer of the owner. */
int rmc_scheme_holder(const struct rmc_scheme *s, const struct rmc_object *o);

/*
 * Repair what the dead left behind. The first takes the lock of reader nid away, which
 * the caller knows to be dead: 0, or -ENOENT when it has no lock. The second makes the
 * object of a dead writer whole with the given data: as rmc_object_repair().
 */
int rmc_scheme_break(const struct rmc_scheme *s, struct rmc_object *o, int nid);
int rmc_scheme_repair(const struct rmc_scheme *s, struct rmc_object *o, const void *data,
		      size_t len);

/* CRC-64/XZ (ECMA-182, reflected); crc is 0 or that of what came before. */
uint64_t rmc_crc64(uint64_t crc, const void *data, size_t len);

#ifdef __cplusplus
}
#endif

#endif /* RMC_SCHEME_H */
