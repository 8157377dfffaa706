// SPDX-License-Identifier: GPL-2.0
/*
 * Any text as a history: it is refused with a message, or it is written as what was read, and its
 * checkers agree.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond) do {								\
	if (!(cond)) {								\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);	\
		abort();							\
	}									\
} while (0)

struct printed {
	const struct check_history *h;
	FILE *out;
	unsigned int findings;
};

static void found(void *arg, const struct check_finding *f)
{
	struct printed *p = arg;

	p->findings++;
	check_print(p->h, f, "# ", p->out);
}

static enum check_verdict verdict_of(const struct check_history *h, bool other, bool *refused)
{
	struct printed p = { .h = h };
	struct check_options o = {
		.max_states = 2000, .strict = other, .search = other, .found = found, .arg = &p,
	};
	struct check_result r;
	size_t bytes;
	char *text;
	int err;

	p.out = open_memstream(&text, &bytes);
	err = h->txns ? check_serial(h, &o, &r) : check_linear(h, &o, &r);
	fclose(p.out);
	free(text);
	*refused = err;
	MUST(err == 0 || err == -EEXIST || err == -EBUSY);
	MUST(err != -EEXIST || (h->txns && r.same[0] && r.same[1]));
	MUST(err != -EBUSY || r.overlap[0] != r.overlap[1]);
	MUST(err || r.findings + r.undecided == p.findings);
	MUST(err || (r.verdict == CHECK_VIOLATED) == (r.findings > 0));
	MUST(err || (r.verdict == CHECK_OK) == (!p.findings && h->ops + h->txns > 0));
	return r.verdict;
}

static void check_both(struct check_history *h)
{
	enum check_verdict a, b;
	bool refused;
	size_t i;

	a = verdict_of(h, false, &refused);
	/* perhaps since clients overlap: now they do not */
	for (i = 0; i < h->ops && refused; i++)
		h->op[i].client = (uint32_t)i;
	for (i = 0; i < h->txns && refused; i++)
		h->txn[i].client = (uint32_t)i;
	if (refused)
		a = verdict_of(h, false, &refused);
	if (refused)
		return;
	b = verdict_of(h, true, &refused);
	MUST(!refused);
	if (h->txns)	/* strict: what is not serializable is not strictly so either */
		MUST(a == b || (a == CHECK_OK && b == CHECK_VIOLATED));
	else
		MUST(a == b || a == CHECK_UNDECIDED || b == CHECK_UNDECIDED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct check_history h, again;
	struct check_error e;
	char *text, *second;
	size_t bytes, same;
	FILE *f;
	int err;

	check_init(&h);
	err = check_parse(&h, (const char *)data, size, &e);
	if (err) {
		MUST(e.text[0]);
		check_free(&h);
		return 0;
	}
	MUST(!h.ops || !h.txns);
	f = open_memstream(&text, &bytes);
	check_write(&h, f);
	fclose(f);
	check_init(&again);
	MUST(!check_parse(&again, text, bytes, &e));
	MUST(again.ops == h.ops && again.txns == h.txns && again.parts == h.parts);
	f = open_memstream(&second, &same);
	check_write(&again, f);
	fclose(f);
	MUST(same == bytes && !memcmp(text, second, bytes));
	free(text);
	free(second);
	check_free(&again);
	check_both(&h);
	check_free(&h);
	return 0;
}
