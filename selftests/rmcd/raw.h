/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * A client of rmcd without librmc: it can break every rule of the protocol. start_daemon()
 * starts the rmcd of the command line.
 */
#ifndef RAW_H
#define RAW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "driver/protocol.h"

#define PAGE	4096

struct raw {
	int fd;
	int got[RMCD_MESSAGE_FDS];	/* descriptors of the last answer */
	unsigned int gots;
	struct rmcd_head head;		/* of the last answer */
};

/* A queue pair, mapped */
struct raw_qp {
	struct raw *c;
	unsigned int id, entries, head, tail;
	struct rmc_wq_entry *wq;
	const struct rmc_cq_entry *cq;
	const struct rmc_qp_flags *flags;
	int wq_fd, cq_fd, wake;
};

extern pid_t daemon_pid;
extern char daemon_socket[108];

void start_daemon(const char *program, const char *const *options);
/* End it: false if it ended with another status than 0, as after a report of a sanitizer */
bool daemon_ended_well(void);
/* The same; ends the program then */
void stop_daemon(void);
/* 0, or -errno of the connection or of the answer */
int raw_connect(struct raw *c);
int raw_open(struct raw *c, int ctx_id);
void raw_close(struct raw *c);
/* Send bytes and descriptors as they are: 0 or -errno */
int raw_send(struct raw *c, const void *data, size_t len, const int *fds, unsigned int n);
/* Next answer into @data: its length without the head, or -errno; -EPIPE: the connection ended */
int raw_receive(struct raw *c, void *data, size_t len);
/* A request and its answer: what the ioctl returns, or -errno */
int raw_call(struct raw *c, unsigned int request, void *arg, size_t len);
int raw_call_fds(struct raw *c, unsigned int request, void *arg, size_t len, const void *more,
		 size_t more_len, const int *fds, unsigned int n);
/* Register [addr, addr + len) at an offset of a file; -1: private */
int raw_seg(struct raw *c, void *addr, uint64_t len, int fd, uint64_t offset);
int raw_buf(struct raw *c, void *addr, uint64_t len, int fd, uint64_t offset, unsigned int *id);
int raw_qp(struct raw *c, struct raw_qp *q, unsigned int entries);
int raw_qp_with(struct raw *c, struct raw_qp *q, unsigned int entries, unsigned int flags);
void raw_qp_unmap(struct raw_qp *q);
void raw_post(struct raw_qp *q, unsigned int op, unsigned int nid, uint64_t offset, void *lbuf,
	      uint32_t len);
/* Status of the next completion, waiting up to @ms; -1: none */
int raw_wait(struct raw_qp *q, int ms);
/* Has this kernel userfaultfd(2) for everybody, and MADV_POPULATE_WRITE: Linux 5.14? */
bool may_userfault(void);
/* A memfd of this size, mapped */
int shared(size_t len, void **addr);
uint64_t now_ns(void);

#endif
