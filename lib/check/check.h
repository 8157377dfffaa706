/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Histories of concurrent operations, and whether a sequential order explains them: see
 * Documentation/checking.rst. A program records a history, or reads one as text, and has it
 * checked:
 *
 *	operations on keys		check_linear()	linearizability
 *	transactions over lists		check_serial()	serializability, strict serializability
 *
 * A history is one or the other. One thread at a time uses a history. Not part of librmc.so.
 */
#ifndef RMC_CHECK_H
#define RMC_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Completion time of an operation whose outcome is not known */
#define CHECK_PENDING	UINT64_MAX
#define CHECK_NONE	UINT32_MAX	/* no key, no number */

/* Limits of a history, and of its text */
#define CHECK_KEY_MAX	255		/* bytes of a key */
#define CHECK_OPS_MAX	(1U << 30)	/* operations, transactions, parts, elements of results */
#define CHECK_TEXT_MAX	(1ULL << 34)	/* bytes of a text */

enum check_kind {
	CHECK_READ,	/* result: the value */
	CHECK_WRITE,	/* arg */
	CHECK_CAS,	/* arg is stored if the value is expected */
	CHECK_ADD,	/* arg is added, modulo 2^64; an absent key stays absent */
	CHECK_SWAP,	/* arg is stored; result: the value before */
	CHECK_INSERT,	/* arg is stored if the key is absent */
	CHECK_UPDATE,	/* arg is stored if the key is present */
	CHECK_DELETE,
	CHECK_SCAN,	/* result: keys of a range, with their values */
	CHECK_KINDS
};

/* What is known of an operation's result */
enum check_known {
	CHECK_ANY,	/* nothing */
	CHECK_VALUE,	/* got: the value that it read, or that was there before */
	CHECK_ABSENT,	/* there was none */
	CHECK_DONE,	/* it took effect: not of a read */
	CHECK_REFUSED,	/* the condition of a cas, insert, update or delete did not hold */
};

/**
 * struct check_op - an operation
 * @invoke: when it began
 * @complete: when its result was known, or CHECK_PENDING: it may take effect at any time from
 *	@invoke on, or never
 * @arg: value that it stores, or adds
 * @expected: of CHECK_CAS
 * @got: the value of the result CHECK_VALUE
 * @client: who executed it, one after another: see check_linear()
 * @key: from check_key(); CHECK_NONE for a scan
 * @scan: index of the range of a scan
 * @line: in the text, from 1 on; 0: it was not read from a text
 * @kind: enum check_kind
 * @known: enum check_known
 *
 * Times are of one clock. An operation precedes another only if @complete is less than the other's
 * @invoke.
 */
struct check_op {
	uint64_t invoke, complete;
	uint64_t arg, expected, got;
	uint32_t client, key, scan, line;
	uint8_t kind, known;
};

/* Keys from one to another, both included, in the order of their bytes, and what a scan found */
struct check_scan {
	uint32_t from, to;	/* keys; to may be CHECK_NONE: to the last */
	uint32_t max;		/* it returns at most so many */
	uint32_t found;		/* number of pairs */
	size_t first;		/* of its pairs */
};

struct check_pair {
	uint32_t key;
	uint64_t value;
};

enum check_outcome {
	CHECK_COMMITTED,
	CHECK_ABORTED,		/* it had no effect */
	CHECK_UNKNOWN,		/* it has committed if somebody reads what it appended */
};

/* A transaction; its parts are in order. Complete is CHECK_PENDING if the outcome is not known. */
struct check_txn {
	uint64_t invoke, complete;
	size_t first;		/* of its parts */
	uint32_t parts;
	uint32_t client, line;
	uint8_t outcome;
};

/* Part of a transaction: appends a value to the list of a key, or reads the whole list. */
struct check_part {
	size_t first;		/* of a read's elements */
	uint64_t value;		/* of an append */
	uint32_t key;
	uint32_t length;	/* of the list that was read; CHECK_NONE: not known */
	bool append;
};

struct check_key {
	size_t name;		/* offset */
	uint32_t length;
	bool present;		/* at the beginning, with this value */
	uint64_t initial;
};

struct check_history {
	struct check_op *op;
	struct check_scan *scan;
	struct check_pair *pair;
	struct check_txn *txn;
	struct check_part *part;
	uint64_t *element;
	struct check_key *key;
	char *names;
	uint32_t *table;	/* keys by hash, + 1 */
	size_t ops, scans, pairs, txns, parts, elements, keys, name_bytes;
	bool ended;		/* the text had a line of its end */
	size_t op_room, scan_room, pair_room, txn_room, part_room, element_room, key_room,
	       name_room, table_size;
};

/* ---- recording ---- */

void check_init(struct check_history *h);
void check_free(struct check_history *h);

/* Number of a key, which is new or known; its first value is absent. Or -EINVAL, -ENOMEM. */
int64_t check_key(struct check_history *h, const char *name, size_t length);
int64_t check_key_of(struct check_history *h, const char *name);
const char *check_name(const struct check_history *h, uint32_t key);
void check_initial(struct check_history *h, uint32_t key, uint64_t value);

/*
 * A new operation, pending and without a result: its index in h->op, where the caller fills in the
 * rest, now or later. Or -ENOMEM.
 */
int64_t check_begin(struct check_history *h, uint32_t client, enum check_kind kind, uint32_t key,
		    uint64_t invoke);
/* The same for a scan; to may be CHECK_NONE */
int64_t check_begin_scan(struct check_history *h, uint32_t client, uint32_t from, uint32_t to,
			 uint32_t max, uint64_t invoke);
/* What it found, in order; no pair of another scan comes between: else -EINVAL */
int check_scan_found(struct check_history *h, int64_t op, uint32_t key, uint64_t value);

/* A transaction that has ended. The parts that are added next are its parts. */
int64_t check_txn(struct check_history *h, uint32_t client, uint64_t invoke, uint64_t complete,
		  enum check_outcome outcome);
int check_append(struct check_history *h, uint32_t key, uint64_t value);
/* length CHECK_NONE: its result is not known */
int check_list(struct check_history *h, uint32_t key, const uint64_t *elements, uint32_t length);

/* ---- text ---- */

struct check_error {
	uint64_t line;		/* 0: of the file as a whole */
	char text[160];
};

/* 0; -EINVAL: see e; -ENOMEM; of the file also errors of opening and reading it. "-": stdin */
int check_parse(struct check_history *h, const char *text, size_t bytes, struct check_error *e);
int check_read(struct check_history *h, const char *path, struct check_error *e);

void check_write(const struct check_history *h, FILE *out);
void check_write_op(const struct check_history *h, const struct check_op *op, FILE *out);
void check_write_txn(const struct check_history *h, const struct check_txn *t, FILE *out);

/* ---- checking ---- */

enum check_verdict {
	CHECK_OK,
	CHECK_VIOLATED,
	CHECK_UNDECIDED,	/* the search reached its limit, or there is no operation */
};

enum check_reason {
	/* operations */
	CHECK_NEVER_WRITTEN,	/* a value that nobody wrote was read */
	CHECK_FROM_FUTURE,	/* a value was read before its write began */
	CHECK_OUT_OF_ORDER,	/* neither of two values can be the earlier one */
	CHECK_NO_ORDER,		/* no order of these operations exists */
	CHECK_GAVE_UP,		/* undecided */
	/* transactions: lists that cannot be */
	CHECK_INCOMPATIBLE,	/* of two reads neither is a prefix of the other */
	CHECK_DUPLICATE,	/* an element is twice in a list */
	CHECK_GARBAGE,		/* nobody appended an element */
	CHECK_INTERNAL,		/* a transaction does not see its own appends as it made them */
	CHECK_G1A,		/* aborted read */
	CHECK_G1B,		/* intermediate read */
	/* transactions: cycles */
	CHECK_G0,		/* write cycle */
	CHECK_G1C,		/* circular information flow */
	CHECK_G_SINGLE,		/* one anti-dependency */
	CHECK_G2,		/* several anti-dependencies */
	CHECK_REASONS
};

/* Edges of a cycle of transactions */
enum check_edge { CHECK_WW, CHECK_WR, CHECK_RW, CHECK_RT };

/* To the next transaction of a cycle: which dependency, of which key (none for CHECK_RT) */
struct check_step {
	enum check_edge kind;
	uint32_t key;
};

/**
 * struct check_finding - what is wrong
 * @reason: what
 * @key: of the operations or lists; CHECK_NONE: several
 * @op: operations that cannot be ordered: their results and times contradict each other,
 *	whatever the results of the others are, and whenever these ended
 * @ops: their number
 * @before: pairs of operations, of which the first one ended before the second one began
 * @pairs: their number
 * @txn: transactions, of a cycle in its order
 * @step: from each transaction of a cycle to the next one
 * @txns: their number
 * @value: the element or value in question
 * @realtime: the cycle exists only since a transaction began after another had ended
 * @lost_update: the cycle is two transactions that change one list, one without the other's change
 * @partial: fewer operations may be enough, or a cycle may be of an earlier reason: finding out
 *	would take too long
 */
struct check_finding {
	enum check_reason reason;
	uint32_t key;
	const struct check_op **op;
	size_t ops;
	const struct check_op *before[4];
	unsigned int pairs;
	const struct check_txn **txn;
	struct check_step *step;
	size_t txns;
	uint64_t value;
	bool realtime, lost_update, partial;
};

#define CHECK_STATES_MAX	4000000		/* default of max_states */

#define CHECK_STATE_STEPS	256		/* steps of the search for each of these, at most */

/**
 * struct check_options - how to check; all may be zero
 * @max_states: of the search of one key, or of keys that scans connect; 0: CHECK_STATES_MAX. Its
 *	steps are limited to CHECK_STATE_STEPS for each of these and for each operation.
 * @strict: transactions are ordered in real time, too
 * @search: no fast algorithm, to compare both
 * @found: called for each finding, and for each undecided key (CHECK_GAVE_UP); what it points to is
 *	valid until it returns
 * @progress: called now and then: so many of so many operations or transactions are done
 * @arg: of these functions
 */
struct check_options {
	uint64_t max_states;
	bool strict, search;
	void (*found)(void *arg, const struct check_finding *f);
	void (*progress)(void *arg, uint64_t done, uint64_t all);
	void *arg;
};

struct check_result {
	enum check_verdict verdict;
	uint64_t groups; /* keys, or sets of keys that scans connect; transactions that committed */
	uint64_t searched;	/* of these, by the search; edges between transactions */
	uint64_t states;	/* that the search reached */
	uint64_t findings;	/* violations */
	uint64_t undecided;	/* groups */
	const struct check_txn *same[2];	/* of -EEXIST */
	size_t overlap[2];	/* of -EBUSY: indexes of operations or transactions */
};

/*
 * 0: see r. -ENOMEM; -EEXIST: two appends have the same key and value, so reads cannot distinguish
 * them. -EBUSY: two operations of one client overlap, so the recording is wrong: it begins one when
 * that before has ended, or when it has given up one that has no end. -EINVAL:
 *
 * - the history is of the other sort, or a key of transactions has an initial value;
 * - a kind, outcome or key that does not exist; an end before the begin;
 * - a result that the operation does not have: CHECK_DONE of a read, CHECK_REFUSED where there is no
 *   condition, a value of a write (of a scan, and of what has no end, the result is not looked at);
 * - a transaction has no end if, and only if, its outcome is CHECK_UNKNOWN.
 */
int check_linear(const struct check_history *h, const struct check_options *o,
		 struct check_result *r);
int check_serial(const struct check_history *h, const struct check_options *o,
		 struct check_result *r);

/* "G1a", and a sentence */
const char *check_reason_name(enum check_reason r);
const char *check_reason_text(enum check_reason r);
const char *check_edge_name(enum check_edge e);
const char *check_kind_name(enum check_kind k);
/* Print a finding, each line after prefix. For a found() of tests: prints to stdout after "# " */
void check_print(const struct check_history *h, const struct check_finding *f, const char *prefix,
		 FILE *out);

#endif /* RMC_CHECK_H */
