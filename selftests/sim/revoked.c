// SPDX-License-Identifier: GPL-2.0
/*
 * A member pulls a large message while the link to its sender is down, and a third member
 * revokes the team: the receiver must not treat the message as received.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rmc/rmc.h>
#include "../tap.h"
#include "rmc_sim.h"

#define BYTES	3000
#define CUT_NS	20000000
#define REVOKE_NS 40000000

static int got, received;

static void cut(void *arg)
{
	(void)arg;
	rmc_sim_cut(0, 1, 1);
}

static void member(void *arg)
{
	struct rmc_team *t = rmc_team_open(0, 64 * 1024);
	struct rmc_msg *m = t ? rmc_msg_open(t, 0) : NULL;
	unsigned char *out = t ? (unsigned char *)t->seg + 48 * 1024 : NULL;
	static unsigned char in[BYTES];
	size_t len;

	(void)arg;
	CHECK(m && !rmc_team_barrier(t));
	if (t->self == 0) {
		memset(out, 0x5a, BYTES);
		CHECK_EQ(rmc_msg_send(m, 1, out, BYTES, RMC_MSG_ASYNC), 0);
	} else if (t->self == 1) {
		rmc_sim_sleep_until(CUT_NS + 1000000);
		got = rmc_msg_recv(m, 0, in, sizeof(in), &len, NULL, 0);
		received = in[0] == 0x5a && in[BYTES - 1] == 0x5a;
	} else {
		rmc_sim_sleep_until(REVOKE_NS);
		CHECK_EQ(rmc_team_revoke(t), 0);
	}
	/* the simulation ends before the operations on the cut link time out */
}

int main(void)
{
	struct rmc_sim_options o = { .nodes = 3, .seed = 1, .one_way_ns = 500 };

	CHECK_EQ(rmc_sim_init(&o), 0);
	rmc_sim_spawn(0, member, NULL);
	rmc_sim_spawn(1, member, NULL);
	rmc_sim_spawn(2, member, NULL);
	rmc_sim_at(CUT_NS, cut, NULL);
	CHECK_EQ(rmc_sim_run(), 0);
	rmc_sim_fini();
	CHECK_EQ(received, 0);
	CHECK_EQ(got, -ECONNABORTED);
	tap_result("a message that was not pulled when the team was revoked is not received");
	return tap_done();
}
