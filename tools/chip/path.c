/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Reads of one block, step by step: see path.h */
#include <stddef.h>
#include <string.h>
#include "path.h"

#define WORK(row, cycles, what)	{ row, what, ROLE_CORE, ROLE_CORE, CLASS_NET, cycles }
#define MSG(row, from, to, class, flits, what)	\
	{ row, what, ROLE_##from, ROLE_##to, CLASS_##class, P_##flits }
#define WIRE			WORK("network", P_wire, "between chips")
#define END			{ NULL, NULL, ROLE_CORE, ROLE_CORE, CLASS_NET, 0 }

/* The same in all designs: from the wire to the wire */
#define REMOTE								\
	WIRE,								\
	MSG("RRPP", FAR_NET, RRPP, NET, request_flits, "request"),	\
	WORK("RRPP", P_rrpp, "RRPP"),					\
	MSG("RRPP", RRPP, HOME, REQ, control_flits, "read"),		\
	WORK("RRPP", P_llc, "directory and LLC"),			\
	MSG("RRPP", HOME, MC, DIR, control_flits, "read memory"),	\
	WORK("RRPP", P_memory, "memory"),				\
	MSG("RRPP", MC, HOME, RSP, data_flits, "block"),		\
	MSG("RRPP", HOME, RRPP, DRS, data_flits, "block"),		\
	MSG("RRPP", RRPP, FAR_NET, RSP, reply_flits, "reply"),		\
	WIRE

static const struct step edge[] = {
	WORK("WQ write", P_wq_write, "instructions"),
	MSG("WQ write", CORE, LINE, REQ, control_flits, "GetX"),
	WORK("WQ write", P_llc, "directory"),
	MSG("WQ write", LINE, NI, DIR, control_flits, "invalidate"),
	WORK("WQ write", P_l1, "NI cache"),
	MSG("WQ write", NI, CORE, RSP, control_flits, "InvACK"),
	MSG("WQ read and RGP", NI, LINE, REQ, control_flits, "GetRO"),
	WORK("WQ read and RGP", P_llc, "directory"),
	MSG("WQ read and RGP", LINE, CORE, DIR, control_flits, "forward"),
	WORK("WQ read and RGP", P_l1, "L1"),
	MSG("WQ read and RGP", CORE, NI, RSP, data_flits, "block of the WQ"),
	WORK("WQ read and RGP", P_rgp, "RGP"),
	MSG("to the network", NI, NET, NET, request_flits, "request"),
	REMOTE,
	MSG("from the network", NET, NI, NET, reply_flits, "reply"),
	WORK("RCP and CQ write", P_rcp, "RCP"),
	MSG("RCP and CQ write", NI, LINE, REQ, control_flits, "GetX"),
	WORK("RCP and CQ write", P_llc, "directory"),
	MSG("RCP and CQ write", LINE, CORE, DIR, control_flits, "invalidate"),
	WORK("RCP and CQ write", P_l1, "L1"),
	MSG("RCP and CQ write", CORE, NI, RSP, control_flits, "InvACK"),
	MSG("CQ read", CORE, LINE, REQ, control_flits, "GetRO"),
	WORK("CQ read", P_llc, "directory"),
	MSG("CQ read", LINE, NI, DIR, control_flits, "forward"),
	WORK("CQ read", P_l1, "NI cache"),
	MSG("CQ read", NI, CORE, RSP, data_flits, "block of the CQ"),
	WORK("CQ read", P_cq_read, "instructions"),
	END
};

#define PER_TILE						\
	WORK("WQ write", P_wq_write, "instructions"),			\
	WORK("WQ entry transfer", P_transfer, "core to NI cache"),	\
	WORK("RGP", P_rgp, "RGP"),					\
	MSG("to the network", CORE, NET, NET, request_flits, "request"),	\
	REMOTE,								\
	MSG("from the network", NET, CORE, NET, reply_flits, "reply"),	\
	WORK("RCP", P_rcp, "RCP")

#define SPLIT								\
	WORK("WQ write", P_wq_write, "instructions"),			\
	WORK("WQ entry transfer", P_transfer, "core to NI cache"),	\
	WORK("RGP frontend", P_rgp_front, "RGP frontend"),		\
	MSG("to the backend", CORE, NI, NET, wq_entry_flits, "WQ entry"),	\
	WORK("RGP backend", P_rgp_back, "RGP backend"),			\
	MSG("to the network", NI, NET, NET, request_flits, "request"),	\
	REMOTE,								\
	MSG("from the network", NET, NI, NET, reply_flits, "reply"),	\
	WORK("RCP backend", P_rcp_back, "RCP backend"),			\
	MSG("to the frontend", NI, CORE, NET, control_flits, "CQ entry"),	\
	WORK("RCP frontend", P_rcp_front, "RCP frontend")

/* An NI cache that owns a dirty block gives it to its core */
#define OWNED								\
	WORK("CQ entry transfer", P_transfer, "NI cache to core"),	\
	WORK("CQ read", P_cq_read, "instructions")

/* A MESI cache writes it back first, and the core reads it from the LLC (T18 section 6.2.4) */
#define WRITTEN_BACK							\
	MSG("CQ entry transfer", CORE, LINE, RSP, data_flits, "write back"),	\
	WORK("CQ entry transfer", P_llc, "directory and LLC"),		\
	MSG("CQ entry transfer", LINE, CORE, DRS, data_flits, "block of the CQ"),	\
	WORK("CQ read", P_cq_read, "instructions")

static const struct step per_tile[] = { PER_TILE, OWNED, END };
static const struct step split[] = { SPLIT, OWNED, END };
static const struct step per_tile_mesi[] = { PER_TILE, WRITTEN_BACK, END };
static const struct step split_mesi[] = { SPLIT, WRITTEN_BACK, END };

/* An ideal machine whose loads reach remote memory (T18 section 6.5.1) */
static const struct step numa[] = {
	WORK("load", P_load, "instruction"),
	MSG("to the network", CORE, NET, NET, request_flits, "request"),
	REMOTE,
	MSG("from the network", NET, CORE, NET, reply_flits, "reply"),
	END
};

const struct step *path_steps(enum read read)
{
	static const struct step *const steps[] = {
		edge, per_tile, split, numa, per_tile_mesi, split_mesi,
	};

	return steps[read];
}

const char *read_name(enum read read)
{
	static const char *const names[] = {
		"edge", "per-tile", "split", "NUMA", "per-tile, no O", "split, no O",
	};

	return names[read];
}

const char *role_name(enum role role)
{
	static const char *const names[] = {
		"core", "home of the line", "NI", "network router", "far network router", "RRPP",
		"home of the block", "memory",
	};

	return names[role];
}

const char *class_name(enum class class)
{
	static const char *const names[] = {
		"network", "request", "directory request", "response", "directory response",
	};

	return names[class];
}

/* Where a role is, for a core and a home, which are those of this chip or of the other one */
static unsigned int place(const struct topology *t, enum network network, enum role role,
			  unsigned int core, unsigned int home, unsigned int mc)
{
	switch (role) {
	case ROLE_CORE:
		return t->core[core];
	case ROLE_LINE:
	case ROLE_HOME:
		return t->home[home];
	case ROLE_NI:
		return t->ni[lane_of_core(network, core)];
	case ROLE_NET:
		return t->net[lane_of_core(network, core)];
	case ROLE_FAR_NET:
		return t->net[lane_of_home(network, home)];
	case ROLE_RRPP:
		return t->ni[lane_of_home(network, home)];
	default:
		return t->mc[network == NETWORK_mesh ? mc : lane_of_home(network, home)];
	}
}

static int net_beside(enum role a, enum role b)
{
	return a == ROLE_NET || b == ROLE_NET || a == ROLE_FAR_NET || b == ROLE_FAR_NET;
}

/* Mean over cores, homes and memories of a message's latency or hops */
static double mean(const struct topology *t, enum network network, const struct step *s, int hops)
{
	enum order order = s->class == CLASS_DIR || s->class == CLASS_DRS ? ORDER_YX : ORDER_XY;
	unsigned int core, home, mc;
	uint64_t sum = 0;

	for (core = 0; core < CORES; core++)
		for (home = 0; home < t->homes; home++)
			for (mc = 0; mc < ROWS; mc++) {
				unsigned int a = place(t, network, s->from, core, home, mc);
				unsigned int b = place(t, network, s->to, core, home, mc);

				if (hops)
					sum += hops_between(t, a, b, order);
				else if (a != b || !net_beside(s->from, s->to))
					sum += latency_between(t, a, b, order, s->flits);
			}
	return (double)sum / CORES / t->homes / ROWS;
}

double step_cycles(const struct topology *t, enum network network, const struct step *s)
{
	return s->from == s->to ? s->flits : mean(t, network, s, 0);
}

double step_hops(const struct topology *t, enum network network, const struct step *s)
{
	return s->from == s->to ? 0 : mean(t, network, s, 1);
}

double path_cycles(const struct topology *t, enum network network, enum read read,
		   unsigned int wire_hops)
{
	const struct step *s;
	double sum = 2.0 * P_wire * (wire_hops - 1);

	for (s = path_steps(read); s->row; s++)
		sum += step_cycles(t, network, s);
	return sum;
}
