# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Other systems on this machine, in the same run, and ratios to ours.

ucx       UCX's tagged and active messages over shared memory, natively: peers of our messages.
          Its get and put map the peer's memory into the caller: a bound, not a peer.
mpi       MPI's messages over shared memory. Its windows are a bound as well: memory that MPI
          allocates is mapped, an application's own is copied from its address space.
pipe      messages through a pair of pipes; io_uring: the same, sent and awaited by io_uring
tcp       TCP within this host's kernel
soft-roce rdma_rxe and perftest in guests of QEMU, beside our reads in the same guests.
          Without KVM both are emulated: then only the ratio means something.

All but the last run between two processes of this host: processes.py.
"""

import os
import shutil

from figures import sources
from figures.base import Missing
from figures.jobs import Job
from . import beside, plan as p, processes, rows as r

HERE = os.path.dirname(os.path.realpath(__file__))
SYSTEMS = (*processes.SYSTEMS, "soft-roce")
ROCE_SIZES = (64, 8192)
ROCE_DRIVERS = "rdma_rxe,crc32_generic,dummy"   # crc32 is not among rxe's dependencies
ASKED = {"between": (">=", 40), "within": (">=", 10)}


# ---- guests ----

def _tools_there():
    for program, package in (("ib_read_lat", "perftest"), ("rdma", "iproute2")):
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            raise Missing(f"no {program} (package {package}): run vm-setup/rmc-deps peers")


class RoceCluster(sources.Cluster):
    """Two guests, each with our module and Soft-RoCE; emulated if there is no KVM."""
    key = "roce-between"
    title = "two guests"
    options = (*sources.Cluster.options, "--cable", "--drivers", ROCE_DRIVERS)

    def __init__(self):
        super().__init__()
        self.name = f"bench-roce-{os.getpid()}"

    def probe(self):
        _tools_there()
        super().probe()


class RoceWithin(sources.Loopback):
    key = "roce-within"
    title = "one guest"
    options = (*sources.Loopback.options, "--drivers", ROCE_DRIVERS)

    def __init__(self):
        super().__init__()
        self.name = f"bench-roce1-{os.getpid()}"

    def probe(self):
        _tools_there()
        super().probe()


MACHINES = {m.key: m for m in (processes.Native, RoceCluster, RoceWithin)}
WHERE = {"between": "roce-between", "within": "roce-within"}


def machines(systems):
    """Keys of those that these systems need."""
    return processes.machines(systems) + (list(WHERE.values()) if "soft-roce" in systems else [])


# ---- runs ----

def _roce_iterations(run, how):
    n = 200 if run.quick else 1000
    return n if not run.plans[WHERE[how]].native else 10 * n


def roce(run, how, k):
    return Job(WHERE[how], f"rxe.{k}",
               (os.path.join(HERE, "roce.sh"), how, str(_roce_iterations(run, how)),
                *map(str, ROCE_SIZES)), 10, nodes=2)


def roce_ours(run, how, k):
    return Job(WHERE[how], f"rmc_read_lat.{k}",
               ("rmc_read_lat", "-a", "-s", "8K", "-n", str(_roce_iterations(run, how)), "--json"),
               3, nodes=2)


def roce_rounds(run):
    return range(p.ROUNDS or (1 if run.quick else 3))


def jobs(run, systems):
    yield from processes.jobs(run, systems)
    for how, key in WHERE.items():
        if "soft-roce" in systems and run.has(key):
            for k in roce_rounds(run):
                yield roce(run, how, k)
                yield roce_ours(run, how, k)


# ---- results ----

def of_roce(run, results, others, how):
    plan = run.plans[WHERE[how]]
    if plan.missing:
        raise r.Cannot(plan.missing)
    # between two guests node 1 reads from node 0, as perftest's client does
    theirs = beside.runs(results, {k: (roce(run, how, k), 1 if how == "between" else 0)
                                   for k in roce_rounds(run)})
    ours = beside.runs(results, {k: (roce_ours(run, how, k), 0) for k in roce_rounds(run)})
    where = {"between": "between two guests", "within": "within one guest"}[how]
    for size in ROCE_SIZES:
        for system, found in (("Soft-RoCE", theirs), ("rmc", ours)):
            others.peer(system, f"read {where} ({plan.accel})", "us",
                        [r.row_of(d, bytes=size)["t_typical_usec"] for d in found.values()], size,
                        performance=plan.native)
        others.ratio(f"read of {size} B {where}: Soft-RoCE / ours", f"rmc_read_lat, {plan.accel}",
                     f"ib_read_lat over rdma_rxe, {plan.accel}",
                     [(r.row_of(theirs[k], bytes=size)["t_typical_usec"],
                       r.row_of(ours[k], bytes=size)["t_typical_usec"])
                      for k in sorted(set(theirs) & set(ours))],
                     ASKED[how] if size == 64 else None, plan.native)


def table(run, results, systems):
    others = beside.Others()
    parts = processes.parts(run, results, others, systems)
    if "soft-roce" in systems:
        parts += [(f"Soft-RoCE {how}", lambda how=how: of_roce(run, results, others, how))
                  for how in WHERE]
    for what, part in parts:
        try:
            if not what.startswith("Soft-RoCE") and run.plans["peers"].missing:
                raise r.Cannot(run.plans["peers"].missing)
            part()
        except (Missing, KeyError, TypeError, ZeroDivisionError) as e:
            others.gaps.append(r.gap(what, e))
    return others
