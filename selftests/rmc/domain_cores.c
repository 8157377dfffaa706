// SPDX-License-Identifier: GPL-2.0
/* Domains of messages and their cores: cores that are ready for more, one queue for all, keys; state. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include "domain_member.h"

#define RACE_S		3
#define RACE_ROUNDS	20000U

static long long in_sysfs(int nid, const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/class/misc/rmc/node%d/domains/%d/%s", nid, CTX, name);
	return file_number(path, "");
}

/* From a domain's creation to its end, also while a second one of the same place is refused */
TEST(state_in_sysfs)
{
	struct rmc_dom_create c = usual;
	struct member a, b, other;
	unsigned int i;

	open_member(&other, 1);
	CHECK_EQ(in_sysfs(1, "messages"), -1);
	two_members(&a, &b);
	CHECK_EQ(create(&other, &c), -EEXIST);
	for (i = 0; i < 20; i++)
		pass(&a, &b, i % SLOTS, i, 100);
	CHECK_EQ(in_sysfs(1, "messages"), 20);
	CHECK_EQ(in_sysfs(1, "dispatched"), 20);
	CHECK_EQ(in_sysfs(1, "cores"), 1);
	CHECK_EQ(in_sysfs(1, "depth"), DEPTH);
	CHECK_EQ(in_sysfs(1, "slots"), SLOTS);
	CHECK_EQ(in_sysfs(1, "waiting"), 0);
	CHECK_EQ(in_sysfs(0, "messages"), 0);
	CHECK_EQ(in_sysfs(0, "freed"), 20);
	CHECK(in_sysfs(1, "waited_p50_ns") > 0);
	CHECK(in_sysfs(1, "waited_p999_ns") >= in_sysfs(1, "waited_p50_ns"));
	CHECK(in_sysfs(1, "served_p99_ns") > 0);
	CHECK(stats(&b).served_ns[2] >= stats(&b).served_ns[0] && stats(&b).served_ns[0] > 0);
	close_member(&b);
	CHECK_EQ(in_sysfs(1, "messages"), -1);
	CHECK_EQ(create(&other, &c), 0);
	CHECK_EQ(in_sysfs(1, "messages"), 0);
}

/* What the threads of the next test share */
struct race {
	struct member *m;
	int over;
	unsigned int entries, values, maps;
};

static bool goes_on(struct race *r)
{
	return !__atomic_load_n(&r->over, __ATOMIC_ACQUIRE);
}

/*
 * List a directory, and read what is in it, into a page that is not there: the kernel has to make one
 * while it lists.
 */
static void read_all(struct race *r, int dir, char *page)
{
	char name[PAGE], value[PAGE];
	long len, at;
	int fd;

	madvise(page, PAGE, MADV_DONTNEED);
	while ((len = syscall(SYS_getdents64, dir, page, PAGE)) > 0) {
		memcpy(name, page, (size_t)len);
		madvise(page, PAGE, MADV_DONTNEED);
		for (at = 0; at < len; r->entries++) {
			const struct dirent64 *e = (const struct dirent64 *)(const void *)(name + at);

			at += e->d_reclen;
			fd = e->d_type == DT_REG ? openat(dir, e->d_name, O_RDONLY) : -1;
			/* it may go while it is open */
			r->values += fd >= 0 && read(fd, value, sizeof(value)) > 0;
			if (fd >= 0)
				close(fd);
		}
	}
}

static void *reads_state(void *arg)
{
	struct race *r = arg;
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[100];
	int dir, i;

	CHECK(page != MAP_FAILED);
	while (page != MAP_FAILED && goes_on(r)) {
		/* the directory of domains, and that of this one, while it is there */
		for (i = 0; i < 2; i++) {
			snprintf(path, sizeof(path), "/sys/class/misc/rmc/node%d/domains", r->m->nid);
			if (i)
				snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%d", CTX);
			dir = open(path, O_RDONLY | O_DIRECTORY);
			if (dir < 0)
				continue;
			read_all(r, dir, page);
			close(dir);
		}
	}
	return NULL;
}

/* Takes the lock of the address space, and then that of the file. */
static void *maps_file(void *arg)
{
	struct race *r = arg;
	int fd = rmc_fd(r->m->e.ctx);
	void *p;

	while (goes_on(r)) {
		p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)r->m->dom.send_offset);
		r->maps += p != MAP_FAILED;
		if (p != MAP_FAILED)
			munmap(p, PAGE);
	}
	return NULL;
}

/*
 * A domain comes and goes while other threads of the process list and read its directory, and map the
 * file: none of them waits for another that waits for it.
 */
TEST(directory_goes_while_it_is_read)
{
	struct rmc_dom_destroy d = { .size = sizeof(d) };
	struct rmc_dom_create c = usual;
	struct member m;
	struct race r = { .m = &m };
	pthread_t reader, mapper;
	time_t end = time(NULL) + RACE_S;
	unsigned int i;

	open_member(&m, 1);
	/* the offset that is mapped */
	REQUIRE_EQ(create(&m, &c), 0);
	munmap(m.recv, m.recv_len);
	munmap(m.send, PAGE);
	REQUIRE_EQ(ioctl(rmc_fd(m.e.ctx), RMC_IOC_DOM_DESTROY, &d), 0);
	REQUIRE(!pthread_create(&reader, NULL, reads_state, &r));
	REQUIRE(!pthread_create(&mapper, NULL, maps_file, &r));
	for (i = 0; i < RACE_ROUNDS && time(NULL) <= end; i++) {
		c = usual;
		c.size = sizeof(c);
		REQUIRE_EQ(ioctl(rmc_fd(m.e.ctx), RMC_IOC_DOM_CREATE, &c), 0);
		REQUIRE_EQ(ioctl(rmc_fd(m.e.ctx), RMC_IOC_DOM_DESTROY, &d), 0);
	}
	__atomic_store_n(&r.over, 1, __ATOMIC_RELEASE);
	REQUIRE(!pthread_join(reader, NULL));
	REQUIRE(!pthread_join(mapper, NULL));
	CHECK(i > 1);
	ktap_say("%u domains, %u entries, %u values, %u mappings", i, r.entries, r.values, r.maps);
	CHECK(r.entries > 0);
	CHECK_EQ(in_sysfs(1, "messages"), -1);
}

static int ready(struct rmc_qp *qp, const struct arrival *a)
{
	return rmc_execute(qp, RMC_OP_READY, a->nid, rmc_slot_offset(a->slot, a->turn), NULL, 0);
}

/* READY, and not twice; what the core keeps does not change, and it ends it later. */
TEST(a_core_that_is_ready_gets_one_more)
{
	struct arrival m[SLOTS], more;
	struct member a, b;
	unsigned int i;

	two_members(&a, &b);
	for (i = 0; i < SLOTS; i++)
		REQUIRE_EQ(send_message(&a, 1, i, i, 60), RMC_S_OK);
	for (i = 0; i < SLOTS; i++) {
		REQUIRE(wait_arrival(&b, &m[i]));
		CHECK_EQ(m[i].slot, i);
		if (i + DEPTH < SLOTS)
			CHECK_EQ(ready(b.e.qp, &m[i]), RMC_S_OK);
	}
	CHECK_EQ(ready(b.e.qp, &m[0]), RMC_S_BAD_SLOT);
	CHECK_EQ(stats(&b).waiting, 0);
	for (i = 0; i < SLOTS; i++) {
		CHECK_EQ(differs(b.recv + (size_t)m[i].slot * b.dom.stride + 64, 60, i), -1);
		CHECK_EQ(receive(b.e.qp, &m[i]), RMC_S_OK);
		CHECK(wait_free(&a, 1, i));
		CHECK_EQ(ready(b.e.qp, &m[i]), RMC_S_BAD_SLOT);
	}
	CHECK(!next_arrival(&b, &more));
	/* its room is as before */
	for (i = 0; i < DEPTH + 1; i++)
		REQUIRE_EQ(send_message(&a, 1, i, i, 60), RMC_S_OK);
	for (i = 0; i < DEPTH; i++)
		REQUIRE(wait_arrival(&b, &m[i]));
	usleep(10000);
	CHECK(!next_arrival(&b, &more));
}

/* One queue for all cores: each of them takes from it, and may end what any has taken. */
TEST(one_queue_for_all_cores)
{
	struct rmc_dom_create shared = usual;
	struct rmc_aq_arm arm = { .size = sizeof(arm), .eventfd = -1 };
	struct member a, b, second;
	unsigned int i, lap;
	struct arrival m;
	struct rmc_qp *qp;
	uint32_t life;

	shared.policy = RMC_DOM_SHARED;
	open_member(&a, 0);
	open_member(&b, 1);
	REQUIRE_EQ(create(&a, &shared), 0);
	REQUIRE_EQ(create(&b, &shared), 0);
	REQUIRE_EQ(attach(&a, a.e.qp), 0);
	REQUIRE_EQ(attach(&b, b.e.qp), 0);
	second = b;
	qp = rmc_qp_create(b.e.ctx, 16);
	REQUIRE(qp);
	REQUIRE_EQ(attach(&second, qp), 0);
	second.e.qp = qp;
	CHECK(b.core.core != second.core.core);
	CHECK(b.core.aq_entries >= 4 * SLOTS && b.core.aq_entries == second.core.aq_entries);
	REQUIRE_EQ(join(&a, a.e.qp, 1, &life), RMC_S_OK);
	REQUIRE_EQ(join(&b, b.e.qp, 0, &life), RMC_S_OK);
	REQUIRE_EQ(join(&second, qp, 0, &life), RMC_S_OK);
	for (lap = 0; lap < 10; lap++) {
		/* all of them, more than the depth */
		for (i = 0; i < SLOTS; i++)
			REQUIRE_EQ(send_message(&a, 1, i, i + lap, 300), RMC_S_OK);
		for (i = 0; i < SLOTS; i++) {
			struct member *who = (i + lap) % 2 ? &b : &second;

			REQUIRE(wait_arrival(&b, &m));
			CHECK_EQ(m.slot, i);
			CHECK_EQ(differs(b.recv + (size_t)m.slot * b.dom.stride + 64, 300, i + lap), -1);
			CHECK_EQ(receive(who->e.qp, &m), RMC_S_OK);
			CHECK_EQ(receive(who->e.qp, &m), RMC_S_BAD_SLOT);
			CHECK(wait_free(&a, 1, i));
		}
	}
	/* the other one's mapping is of the same queue */
	second.seen = b.seen;
	CHECK(!next_arrival(&second, &m));
	REQUIRE_EQ(send_message(&a, 1, 2, 1, 300), RMC_S_OK);
	REQUIRE(wait_arrival(&second, &m));
	CHECK_EQ(m.slot, 2);
	REQUIRE(wait_arrival(&b, &m));
	CHECK_EQ(m.slot, 2);
	CHECK_EQ(receive(second.e.qp, &m), RMC_S_OK);
	CHECK(wait_free(&a, 1, 2));
	/* nobody is woken for it */
	arm.qp_id = qp->id;
	CHECK_ERRNO(ioctl(rmc_fd(b.e.ctx), RMC_IOC_AQ_ARM, &arm), EOPNOTSUPP);
	rmc_qp_destroy(qp);
	pass(&a, &b, 0, 1, 100);
	close_member(&a);
	close_member(&b);
}

/* By its key a message goes to one of two classes, of which each core takes one. */
TEST(each_core_takes_its_class)
{
	struct rmc_dom_attach at = { .size = sizeof(at), .classes = 1 };
	struct rmc_dom_create classes = usual;
	struct member a, b, second;
	struct arrival m;
	unsigned int i;
	uint32_t life;
	struct rmc_qp *qp;

	classes.policy = RMC_DOM_CLASS;
	classes.classes = 2;
	classes.flags = RMC_DOM_KEY;
	classes.key_offset = 8;
	open_member(&a, 0);
	open_member(&b, 1);
	REQUIRE_EQ(create(&a, &classes), 0);
	REQUIRE_EQ(create(&b, &classes), 0);
	REQUIRE_EQ(attach(&a, a.e.qp), 0);
	at.qp_id = b.e.qp->id;
	at.classes = 4;
	CHECK_ERRNO(ioctl(rmc_fd(b.e.ctx), RMC_IOC_DOM_ATTACH, &at), EINVAL);
	at.classes = 1;
	at.reserved = 1;
	CHECK_ERRNO(ioctl(rmc_fd(b.e.ctx), RMC_IOC_DOM_ATTACH, &at), EOPNOTSUPP);
	REQUIRE_EQ(attach_classes(&b, b.e.qp, 1), 0);
	second = b;
	qp = rmc_qp_create(b.e.ctx, 16);
	REQUIRE(qp);
	REQUIRE_EQ(attach_classes(&second, qp, 2), 0);
	second.e.qp = qp;
	REQUIRE_EQ(join(&a, a.e.qp, 1, &life), RMC_S_OK);
	REQUIRE_EQ(join(&b, b.e.qp, 0, &life), RMC_S_OK);
	REQUIRE_EQ(join(&second, qp, 0, &life), RMC_S_OK);
	for (i = 0; i < 40; i++) {
		struct rmc_send_slot *s = slot_of(&a, 1, i % SLOTS);
		struct member *who = i % 3 ? &second : &b;
		uint64_t class = i % 3;

		memset(a.e.buf, 0, 64);
		memcpy(a.e.buf + 8, &class, sizeof(class));
		s->turn++;
		__atomic_store_n(&s->valid, 1, __ATOMIC_RELEASE);
		REQUIRE_EQ(rmc_execute(a.e.qp, RMC_OP_SEND, 1,
				       rmc_slot_offset(i % SLOTS, (uint8_t)s->turn), a.e.buf, 64),
			   RMC_S_OK);
		REQUIRE(wait_arrival(who, &m));
		CHECK_EQ(m.slot, i % SLOTS);
		REQUIRE_EQ(receive(who->e.qp, &m), RMC_S_OK);
		REQUIRE(wait_free(&a, 1, i % SLOTS));
	}
	CHECK(!next_arrival(&b, &m) && !next_arrival(&second, &m));
}

/*
 * While all cores sleep, a message waits for one that polls; then it wakes one of them, although
 * nothing else happens in the RMC. Who polls has it at once.
 */
TEST(a_message_waits_for_a_core_that_polls)
{
	struct rmc_aq_arm arm = { .size = sizeof(arm) };
	struct rmc_dom_create patient = usual;
	struct pollfd p = { .events = POLLIN };
	struct member a, b;
	unsigned int i;
	uint64_t n;
	struct arrival m;

	patient.wake_us = 1000;
	two_members_with(&a, &b, &patient);
	p.fd = eventfd(0, EFD_NONBLOCK);
	arm.qp_id = b.e.qp->id;
	arm.eventfd = p.fd;
	for (i = 0; i < SLOTS; i++) {
		arm.seen = b.seen;
		REQUIRE_EQ(ioctl(rmc_fd(b.e.ctx), RMC_IOC_AQ_ARM, &arm), 0);
		REQUIRE_EQ(send_message(&a, 1, i, i, 8), RMC_S_OK);
		CHECK_EQ(poll(&p, 1, WAIT_S * 1000), 1);
		CHECK_EQ(read(p.fd, &n, sizeof(n)), sizeof(n));
		REQUIRE(next_arrival(&b, &m));
		CHECK_EQ(m.slot, i);
		REQUIRE_EQ(receive(b.e.qp, &m), RMC_S_OK);
		REQUIRE(wait_free(&a, 1, i));
	}
	/* each of them; a percentile is not less than what it is of */
	CHECK(stats(&b).waited_ns[0] >= 1000000);
	CHECK_EQ(in_sysfs(1, "wake_us"), 1000);
	close_member(&a);
	close_member(&b);
	two_members_with(&a, &b, &usual);
	CHECK_EQ(in_sysfs(1, "wake_us"), 0);
	close_member(&a);
	close_member(&b);
}

KTAP_MAIN(suite_missing)
