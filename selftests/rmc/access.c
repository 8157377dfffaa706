// SPDX-License-Identifier: GPL-2.0
/* The device file's mode, owner and group control access to a context. */
#include <sys/stat.h>
#include "common.h"

#define OTHER	1234

/* errno of opening the context as this user and group, 0 if it opens */
static int open_as(unsigned int ctx_id, unsigned int uid, unsigned int gid)
{
	pid_t pid = helper();
	int status;

	if (!pid) {
		if (setgid(gid) || setuid(uid))
			_exit(255);
		_exit(open_ctx(ctx_id) < 0 ? errno : 0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	REQUIRE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(mode_0600_is_for_its_owner)
{
	REQUIRE(!ctx_create(6, 0600, 0, 0));
	CHECK_EQ(open_as(6, NOBODY, NOBODY), EACCES);
	CHECK_EQ(open_as(6, 0, 0), 0);
	CHECK(!ctx_remove(6));
	REQUIRE(!ctx_create(6, 0600, NOBODY, 0));
	CHECK_EQ(open_as(6, NOBODY, NOBODY), 0);
	CHECK_EQ(open_as(6, OTHER, NOBODY), EACCES);
	CHECK(!ctx_remove(6));
}

TEST(mode_0660_is_for_its_group)
{
	REQUIRE(!ctx_create(6, 0660, 0, OTHER));
	CHECK_EQ(open_as(6, NOBODY, OTHER), 0);
	CHECK_EQ(open_as(6, NOBODY, NOBODY), EACCES);
	CHECK(!ctx_remove(6));
}

TEST(mode_and_owner_are_as_requested)
{
	struct stat st;

	REQUIRE(!ctx_create(6, 0640, 7, 8));
	REQUIRE(!stat(RMC_CTX_DIR "/6", &st));
	CHECK_EQ(st.st_mode & 07777, 0640);
	CHECK_EQ(st.st_uid, 7);
	CHECK_EQ(st.st_gid, 8);
	CHECK(S_ISCHR(st.st_mode));
	CHECK(!ctx_remove(6));
}

TEST(chmod_changes_who_may)
{
	REQUIRE(!ctx_create(6, 0600, 0, 0));
	CHECK_EQ(open_as(6, NOBODY, NOBODY), EACCES);
	REQUIRE(!chmod(RMC_CTX_DIR "/6", 0666));
	CHECK_EQ(open_as(6, NOBODY, NOBODY), 0);
	CHECK(!ctx_remove(6));
}

/* Mode 0666: an unprivileged user can do all that an application does. */
TEST(mode_0666_is_for_everybody)
{
	struct end a, b;
	uint64_t old;

	drop_privileges(NOBODY);
	end_open(&a, CTX, 0, PAGE, 0, 0);
	end_open(&b, CTX, 1, 0, PAGE, 8);
	fill(a.seg, PAGE, 1);
	CHECK_EQ(rmc_read(b.qp, 0, 0, b.buf, PAGE), RMC_S_OK);
	CHECK_EQ(differs(b.buf, PAGE, 1), -1);
	CHECK_EQ(rmc_write(b.qp, 0, 8, b.buf, 100), RMC_S_OK);
	CHECK_EQ(rmc_faa(b.qp, 0, 0, 1, &old), RMC_S_OK);
}

TEST(control_device_is_the_administrators)
{
	struct rmc_ctx_create c = { .size = sizeof(c), .ctx_id = 6, .mode = 0666 };
	struct rmc_ctx_remove r = { .size = sizeof(r), .ctx_id = CTX };
	int fd;

	drop_privileges(NOBODY);
	fd = open(CTL_PATH, O_RDWR);
	if (fd < 0) {
		CHECK_EQ(errno, EACCES);
		fd = open(CTL_PATH, O_RDONLY);
	}
	if (fd < 0)
		return;
	/* an unprivileged user may query, but not create or remove contexts */
	CHECK(ioctl(fd, RMC_IOC_CTX_CREATE, &c) == -1 && (errno == EPERM || errno == EACCES));
	CHECK(ioctl(fd, RMC_IOC_CTX_REMOVE, &r) == -1 && (errno == EPERM || errno == EACCES));
	CHECK_ERRNO(access(RMC_CTX_DIR "/6", F_OK), ENOENT);
}

TEST(application_cannot_change_contexts)
{
	struct rmc_ctx_create c = { .size = sizeof(c), .ctx_id = 6, .mode = 0666 };
	int fd = open_ctx(CTX);

	CHECK_ERRNO(ioctl(fd, RMC_IOC_CTX_CREATE, &c), ENOTTY);
	CHECK_ERRNO(access(RMC_CTX_DIR "/6", F_OK), ENOENT);
}

/* A user of one context cannot reach a segment of another user's context. */
TEST(no_way_around_by_node_or_context)
{
	struct end secret, spy;

	REQUIRE(!ctx_create(6, 0600, 0, 0));
	end_open(&secret, 6, 0, PAGE, 0, 0);
	drop_privileges(NOBODY);
	end_open(&spy, CTX, 1, 0, PAGE, 8);
	CHECK_EQ(rmc_read(spy.qp, 0, 0, spy.buf, 8), RMC_S_BAD_CONTEXT);
	CHECK_ERRNO(open_ctx(6), EACCES);
	end_close(&secret);
}

/* The test above dropped its privileges, so this one removes its context. */
TEST(removed_context_is_gone)
{
	CHECK(!ctx_remove(6));
	CHECK_ERRNO(open_ctx(6), ENOENT);
}

/* A descriptor opened read-only permits queries only; it takes no resources of the context. */
TEST(reading_does_not_suffice)
{
	struct rmc_node_info info = { .size = sizeof(info) };
	struct rmc_query query = { .size = sizeof(query) };
	struct rmc_attach attach = { .size = sizeof(attach) };
	struct rmc_qp_create qp;
	int fd, other;
	void *p = memory(PAGE);

	fd = open(RMC_CTX_DIR "/0", O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	CHECK(!ioctl(fd, RMC_IOC_QUERY, &query));
	CHECK(!ioctl(fd, RMC_IOC_NODE_INFO, &info));
	CHECK_ERRNO(ioctl(fd, RMC_IOC_ATTACH, &attach), EBADF);
	CHECK_ERRNO(seg_reg(fd, p, PAGE, 0), EBADF);
	CHECK_ERRNO(seg_unreg(fd), EBADF);
	CHECK_ERRNO(buf_reg(fd, p, PAGE, 0), EBADF);
	CHECK_ERRNO(buf_unreg(fd, 0), EBADF);
	CHECK_ERRNO(qp_create(fd, 8, &qp), EBADF);
	CHECK_ERRNO(qp_destroy(fd, 0), EBADF);
	/* the node's one segment is still free for a writable descriptor */
	other = open_ctx(CTX);
	REQUIRE(other >= 0);
	CHECK(!seg_reg(other, p, PAGE, 0));
	close(other);
	close(fd);
}

KTAP_MAIN(suite_missing)
