// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Memory in huge pages, of each size that this machine has. usage: client_limits PATH_OF_RMCD
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../tap.h"
#include "raw.h"

/*
 * Without free pages it cannot be mapped, which is another error than that of a file that
 * is no memory.
 */
static void huge(struct raw *c, uint64_t bytes)
{
	unsigned int shift = (unsigned int)__builtin_ctzll(bytes), id;
	int fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB | shift << MAP_HUGE_SHIFT), err;
	char name[64];
	void *p;

	snprintf(name, sizeof(name), "huge pages of %llu KiB", (unsigned long long)bytes >> 10);
	if (fd < 0 || ftruncate(fd, (off_t)bytes)) {
		tap_skip(name, strerror(errno));
	} else {
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		err = raw_buf(c, p == MAP_FAILED ? (void *)(uintptr_t)bytes : p, bytes, fd, 0, &id);
		CHECK_EQ(err, p == MAP_FAILED ? -ENOMEM : 0);
		tap_result(name);
		if (p != MAP_FAILED)
			munmap(p, bytes);
	}
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	static const char * const options[] = { "--contexts", "0", NULL };
	DIR *dir = opendir("/sys/kernel/mm/hugepages");
	struct dirent *e;
	unsigned long kib;
	struct raw c;

	if (argc != 2)
		return 2;
	if (!dir) {
		tap_skip("huge pages", "this kernel has none");
		return tap_done();
	}
	start_daemon(argv[1], options);
	CHECK_EQ(raw_open(&c, 0), 0);
	while ((e = readdir(dir)))
		if (sscanf(e->d_name, "hugepages-%lukB", &kib) == 1)
			huge(&c, (uint64_t)kib << 10);
	closedir(dir);
	raw_close(&c);
	CHECK(daemon_ended_well());
	tap_result("the daemon ends well");
	return tap_done();
}
