/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Private to the files of the driver that is rmcd. */
#ifndef RMC_LIB_DAEMON_H
#define RMC_LIB_DAEMON_H

#include "../internal.h"
#include "share.h"
#include "socket.h"

/* Queue pair ids: more than the module has */
#define RMC_DAEMON_CHUNKS	256U
#define RMC_DAEMON_CHUNK	256U

/**
 * struct rmc_daemon_qp - what of a queue pair the library needs beside its mappings
 * @wake: eventfd that wakes its worker
 * @wq: memory of the WQ until it is mapped; then -1
 * @cq: memory of the CQ and the page of flags until both are mapped; then -1
 * @aq: memory of the arrival queue until it is mapped; -1: none
 * @wq_len: bytes of the first, whole pages
 * @flags_at: offset of the page of flags: bytes of the CQ, whole pages
 * @aq_len: bytes of the arrival queue, whole pages
 * @mapped: bit n: part n is mapped
 */
struct rmc_daemon_qp {
	int wake, wq, cq, aq;
	size_t wq_len, flags_at, aq_len;
	unsigned int mapped;
};

/**
 * struct rmc_daemon_dom - memory of the domain's slots
 * @fd: of the receive slots, the send slots and the answer slots, until they are mapped; then -1
 * @len: bytes of them, whole pages
 * @used: there is a domain
 */
struct rmc_daemon_dom {
	int fd[3];
	size_t len[3];
	int used;
};

/**
 * struct rmc_daemon_tx - range of transactions
 * @share: memory of the owner's filters; without regions: none
 * @fd: of the Locking Buffers, until they are mapped; then -1
 * @used: there was a range, which may have gone with its memory
 */
struct rmc_daemon_tx {
	struct rmc_share share;
	int fd;
	int used;
};

/**
 * struct rmc_daemon_memory - a registration
 * @next: in the list
 * @request: RMC_IOC_SEG_REG, _SEG_ADD or _BUF_REG
 * @id: id of the buffer, offset of the range
 * @share: its memory
 * @alloc: memory of RMC_MEM_ALLOC; NULL: the application's
 * @len: bytes of @alloc
 * @mapped: @alloc is the caller's to unmap
 */
struct rmc_daemon_memory {
	struct rmc_daemon_memory *next;
	unsigned long request;
	uint64_t id;
	struct rmc_share share;
	void *alloc;
	size_t len;
	int mapped;
};

typedef struct rmc_daemon_qp *rmc_daemon_chunk[RMC_DAEMON_CHUNK];

/**
 * struct rmc_daemon - a connection
 * @socket: to rmcd
 * @lock: guards @memory and @qps, and keeps a queue pair while its worker is woken. Who created
 *	one finds it without the lock: other threads create and destroy theirs meanwhile
 * @qps: queue pairs by id
 * @memory: registrations
 * @tx: its range of transactions, likewise
 * @dom: its domain, which only the thread accesses that has the caller's lock
 */
struct rmc_daemon {
	struct rmc_socket socket;
	int own;		/* its user is ours */
	pthread_mutex_t lock;
	rmc_daemon_chunk *qps[RMC_DAEMON_CHUNKS];
	struct rmc_daemon_memory *memory;
	struct rmc_daemon_dom dom;
	struct rmc_daemon_tx tx;
};

/* Offsets for map(): of a queue pair, domain or range if this bit is set, else the address of the memory */
#define RMC_DAEMON_MAP_QP	(1ULL << 63)
#define RMC_DAEMON_MAP_DOM	(1ULL << 62)
#define RMC_DAEMON_MAP_TX	(1ULL << 61)

/* Part of a queue pair: with its id, its offset for map() */
enum rmc_daemon_part {
	RMC_DAEMON_WQ, RMC_DAEMON_CQ, RMC_DAEMON_FLAGS, RMC_DAEMON_AQ, RMC_DAEMON_PARTS
};

/*
 * Send a request and wait for its answer, see rmc_socket_call(): what ioctl() returns, with
 * errno. rmc_daemon_because(): what daemon_why() returns for this thread's failure.
 */
int rmc_daemon_request(struct rmc_daemon *d, struct rmc_message *m, size_t want,
		       unsigned int want_fds);
void rmc_daemon_because(const char *why);

/* The daemon broke the protocol in what came with an answer: the connection ends. -EPROTO */
int rmc_daemon_violated(struct rmc_daemon *d);

/* A message of an ioctl's struct: its size; or 0 with errno */
size_t rmc_daemon_begin(struct rmc_message *m, unsigned long number, const void *arg);

/* A request whose answer is its struct, and nothing else */
int rmc_daemon_plain(struct rmc_daemon *d, unsigned long number, void *arg);

int rmc_daemon_create_qp(struct rmc_daemon *d, struct rmc_qp_create *arg);
int rmc_daemon_wake(struct rmc_daemon *d, const struct rmc_qp_id *arg);
void *rmc_daemon_map_qp(struct rmc_daemon *d, size_t len, int prot, uint64_t offset);
void rmc_daemon_forget_qp(struct rmc_daemon *d, unsigned int id);
void rmc_daemon_forget_qps(struct rmc_daemon *d);
struct rmc_daemon_qp *rmc_daemon_find_qp(const struct rmc_daemon *d, unsigned int id);
uint64_t rmc_daemon_cookie(unsigned int id, enum rmc_daemon_part part);

/* True if a file has that many bytes: an access beyond its end is SIGBUS. */
int rmc_daemon_has(int fd, size_t bytes);

int rmc_daemon_create_dom(struct rmc_daemon *d, struct rmc_dom_create *arg);
int rmc_daemon_open_dom(struct rmc_daemon *d, struct rmc_dom_open *arg);
int rmc_daemon_attach(struct rmc_daemon *d, struct rmc_dom_attach *arg);
void *rmc_daemon_map_dom(struct rmc_daemon *d, size_t len, int prot, uint64_t offset);
void rmc_daemon_forget_aq(struct rmc_daemon *d, unsigned int id);
void rmc_daemon_forget_dom(struct rmc_daemon *d);

int rmc_daemon_tx_reg(struct rmc_daemon *d, struct rmc_tx_reg *arg);
void *rmc_daemon_map_tx(struct rmc_daemon *d, size_t len, int prot);
void rmc_daemon_forget_tx(struct rmc_daemon *d);

int rmc_daemon_register(struct rmc_ctx *ctx, unsigned long number, void *arg);
int rmc_daemon_unregister(struct rmc_daemon *d, unsigned long number, void *arg);
void *rmc_daemon_map_memory(struct rmc_daemon *d, size_t len, uint64_t offset);

/* All registrations end; ask: rmcd is asked first to end them */
void rmc_daemon_forget_memory(struct rmc_daemon *d, int ask);

#endif
