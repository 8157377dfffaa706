// SPDX-License-Identifier: GPL-2.0
/* Memory that the daemon shares with a client. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "sealed.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE	0x0010
#endif

/**
 * rmcd_sealed() - memory for a client
 * @name: for /proc
 * @len: bytes, whole pages
 * @read_only: only we can write it, since we map it first
 * @addr: out, our mapping, zeroed; NULL on failure
 *
 * Its size is sealed. Populated now: a lack of memory is an error of this request.
 *
 * Return: descriptor, or -errno.
 */
int rmcd_sealed(const char *name, size_t len, bool read_only, void **addr)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | (read_only ? F_SEAL_FUTURE_WRITE : 0);
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	*addr = NULL;
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, len))
		goto err;
	*addr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (*addr == MAP_FAILED)
		goto err;
	if (fcntl(fd, F_ADD_SEALS, seals | F_SEAL_SEAL)) {
		err = errno;
		munmap(*addr, len);
		errno = err;
		goto err;
	}
	return fd;
err:
	err = -errno;
	*addr = NULL;
	close(fd);
	return err;
}

/**
 * rmcd_sealed_free() - mirror of rmcd_sealed(), also after it failed
 * @fd: what it returned
 * @addr: our mapping; NULL: none
 * @len: bytes
 *
 * The client may still have it mapped.
 */
void rmcd_sealed_free(int fd, void *addr, size_t len)
{
	if (addr)
		munmap(addr, len);
	if (fd >= 0)
		close(fd);
}
