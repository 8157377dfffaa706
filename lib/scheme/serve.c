/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What the owner of an object answers to the message of a reader. */
#include "reader.h"

#define SERVE_TRIES	64

int rmc_reader_serve(const struct rmc_scheme *s, const void *seg, size_t seg_len,
		     const void *request, size_t len, void *response, size_t size)
{
	struct request q;
	unsigned int i, spins = 0;

	if (len != sizeof(q))
		return -EBADMSG;
	memcpy(&q, request, sizeof(q));
	if (q.magic != RMC_READER_MAGIC || q.offset % RMC_CACHE_LINE || q.len > size ||
	    q.offset > seg_len || s->image(q.len) > seg_len - q.offset)
		return -EINVAL;
	/* writers are local and fast; rmc_object_repair() handles a dead one */
	for (i = 0; i < SERVE_TRIES; i++) {
		if (!rmc_scheme_read(s, (const struct rmc_object *)((const uint8_t *)seg + q.offset),
				     response, q.len))
			return (int)q.len;
		rmc_object_relax(&spins);
	}
	return -EAGAIN;
}
