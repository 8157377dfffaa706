// SPDX-License-Identifier: GPL-2.0
/*
 * rmcd's main() is called by a thread. Its files with private tables are included, so that these
 * can be counted: see inside_rmcd.h.
 */
#define main		rmcd_main
#include "tools/rmcd/main.c"
#undef main
#include "tools/rmcd/lost.c"
#include "tools/rmcd/guard.c"
#include "memory.h"
#include "inside_rmcd.h"

#define MOST_OPTIONS	32

static char *arguments[MOST_OPTIONS];
static int argument_count, ended = -1, stop_pipe[2];
static pthread_t thread;

static void *run_main(void *arg)
{
	__atomic_store_n(&ended, rmcd_main(argument_count, arguments), __ATOMIC_RELEASE);
	return arg;
}

static void add_argument(const char *text)
{
	if (argument_count < MOST_OPTIONS)
		arguments[argument_count++] = (char *)(uintptr_t)text;
}

void inside_start(const char *socket, const char *const *options, int count)
{
	static char number[16];
	int i;

	if (pipe2(stop_pipe, O_CLOEXEC))
		abort();
	snprintf(number, sizeof(number), "%d", stop_pipe[0]);
	add_argument("rmcd");
	add_argument("--socket");
	add_argument(socket);
	add_argument("--stop-fd");
	add_argument(number);
	for (i = 0; i < count; i++)
		add_argument(options[i]);
	if (pthread_create(&thread, NULL, run_main, NULL))
		abort();
}

int inside_ended(void)
{
	return __atomic_load_n(&ended, __ATOMIC_ACQUIRE) >= 0;
}

int inside_stop(void)
{
	close(stop_pipe[1]);
	pthread_join(thread, NULL);
	close(stop_pipe[0]);
	return ended;
}

static void count_usage(struct holdings *h, int of, const struct rmcd_usage *u)
{
	int i;

	for (i = 0; i < RMCD_RESOURCES; i++)
		h->charged[of][i] += u->used[i];
}

void inside_holdings(struct holdings *h)
{
	const struct rmcd_share *s;
	const struct rmcd_user *u;
	const struct rmcd_mem *m;
	uint32_t i, id;

	_Static_assert(RMCD_RESOURCES == ARRAY_SIZE(h->charged[0]), "a row per resource");
	memset(h, 0, sizeof(*h));
	for (m = rmcd.exposed; m; m = m->next)
		h->exposed++;
	for (i = 0; i < used; i++)
		h->replaceable += !!table[i].len;
	h->watchers = rmcd.watchers;
	h->armed = rmcd.armed;
	for (i = 0; i < rmcd.port->locals; i++)
		for (id = 0; id < RMC_MAX_CONTEXTS; id++)
			h->domains += !!rmcd.node[i]->domains.dom[id];
	for (i = 0; i < RMC_MAX_CONTEXTS; i++) {
		if (!rmcd.ctx[i])
			continue;
		h->contexts++;
		h->opens += rmcd.ctx[i]->opens;
		count_usage(h, 1, &rmcd.ctx[i]->usage);
	}
	for (u = rmcd.user; u; u = u->next) {
		h->users++;
		h->connections += u->refs;
		count_usage(h, 0, &u->usage);
		for (s = u->shares; s; s = s->next)
			h->shares++;
	}
}

uint32_t inside_guarded(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < SLOTS; i++)
		n += !!guard->flags[i] + !!guard->eventfd[i];
	return n;
}

int inside_has_context(uint32_t id)
{
	return !!rmcd.ctx[id];
}
