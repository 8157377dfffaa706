/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Ranges of transactions of rmcd: filters of the owner, Locking Buffers until they are mapped. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "daemon.h"

static size_t locks_len(void)
{
	return rmc_page_round(sizeof(struct rmc_tx_locks));
}

void rmc_daemon_forget_tx(struct rmc_daemon *d)
{
	if (!d->tx.used)
		return;
	if (d->tx.fd >= 0)
		close(d->tx.fd);
	rmc_share_end(&d->tx.share);
	d->tx.used = 0;
}

/* End what this process cannot have the memory of; keeps errno. */
static void give_back(struct rmc_daemon *d)
{
	struct rmc_tx_reg none = { .size = sizeof(none) };
	int err = errno;

	rmc_daemon_plain(d, RMC_IOC_TX_REG, &none);
	errno = err;
}

/* The filters become shared; rmcd validates the other fields. */
static int get_local(const struct rmc_daemon *d, struct rmc_share *s, const struct rmc_tx_reg *arg)
{
	const char *why = NULL;
	int err;

	if (!arg->length || !arg->local)
		return 0;
	if (arg->local % RMC_CACHE_LINE)
		return -EINVAL;
	err = rmc_share_begin(s, (void *)(uintptr_t)arg->local, sizeof(struct rmc_tx_local), 1,
			      d->own, &why);
	if (why)
		rmc_daemon_because(why);
	return err;
}

static int ask(struct rmc_daemon *d, struct rmc_tx_reg *arg, struct rmc_share *s)
{
	struct rmc_message m;
	struct rmc_tx_reg got;
	unsigned int fds = !!arg->length;

	rmc_daemon_begin(&m, RMC_IOC_TX_REG, arg);
	memcpy(m.body + sizeof(*arg), &s->memory, sizeof(s->memory));
	m.len = sizeof(*arg) + sizeof(s->memory);
	m.fds = s->regions;
	rmc_share_fds(s, m.fd);
	if (rmc_daemon_request(d, &m, sizeof(*arg), fds) < 0) {
		/* not a refusal: its descriptor is what is missing */
		if (errno == EMFILE && m.head.ret >= 0 && fds)
			give_back(d);
		return -errno;
	}
	/* what there was has ended: with its memory, or now */
	rmc_daemon_forget_tx(d);
	if (!fds)
		return 0;
	if (!rmc_daemon_has(m.fd[0], locks_len())) {
		rmc_message_close_fds(&m);
		return rmc_daemon_violated(d);
	}
	memcpy(&got, m.body, sizeof(got));
	*arg = got;
	arg->locks_offset = RMC_DAEMON_MAP_TX;
	d->tx.share = *s;
	d->tx.fd = m.fd[0];
	d->tx.used = 1;
	return 0;
}

int rmc_daemon_tx_reg(struct rmc_daemon *d, struct rmc_tx_reg *arg)
{
	struct rmc_share s = { .regions = 0 };
	int err;

	if (arg->size != sizeof(*arg)) {
		errno = EINVAL;
		return -1;
	}
	err = get_local(d, &s, arg);
	if (!err) {
		err = ask(d, arg, &s);
		if (err)
			rmc_share_end(&s);
	}
	errno = -err;
	return err ? -1 : 0;
}

void *rmc_daemon_map_tx(struct rmc_daemon *d, size_t len, int prot)
{
	void *p;

	if (!d->tx.used || d->tx.fd < 0 || rmc_page_round(len) != locks_len()) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	/* it may have been made shorter since it came */
	if (!rmc_daemon_has(d->tx.fd, locks_len())) {
		errno = -rmc_daemon_violated(d);
		return MAP_FAILED;
	}
	p = mmap(NULL, len, prot, MAP_SHARED, d->tx.fd, 0);
	if (p == MAP_FAILED) {
		/* as from the module: sealed against writing */
		if (errno == EPERM)
			errno = EACCES;
		return p;
	}
	close(d->tx.fd);
	d->tx.fd = -1;
	return p;
}
