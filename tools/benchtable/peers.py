# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Other systems on this machine, in the same run, and ratios to ours.

ucx       UCX's tagged messages over shared memory, natively: the peer of our messages.
          Its get and put map the peer's memory into the caller: a bound, not a peer.
tcp       TCP within this host's kernel
soft-roce rdma_rxe and perftest in guests of QEMU, beside our reads in the same guests.
          Without KVM both are emulated: then only the ratio means something.
"""

import dataclasses
import os
import shutil

from figures import sources
from figures.base import Missing
from figures.jobs import Job
from . import plan as p, rows as r

HERE = os.path.dirname(os.path.realpath(__file__))
SYSTEMS = ("ucx", "tcp", "soft-roce")
ROCE_SIZES = (64, 8192)
ROCE_DRIVERS = "rdma_rxe,crc32_generic,dummy"   # crc32 is not among rxe's dependencies
ASKED = {"messages": ("<=", 1.5), "between": (">=", 40), "within": (">=", 10)}


@dataclasses.dataclass
class Peer:
    system: str
    what: str
    unit: str
    value: float                # median of runs
    bytes: int
    runs: int
    role: str                   # "peer" or "bound"
    performance: bool = True


@dataclasses.dataclass
class Ratio:
    name: str
    ours: str
    theirs: str
    ratio: float                # median over runs
    performance: bool = True
    low: float = None
    high: float = None
    asked: str = None
    met: bool = None


# ---- their machines ----

class Native(sources.Machine):
    """Programs of other systems on this host."""
    key = "peers"
    title = "host"
    what = "Programs of this host."

    def probe(self):
        if len(os.sched_getaffinity(0)) < 2:
            raise Missing("two processes that spin need two CPUs")

    def command(self, nodes, argv):
        return argv


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


MACHINES = {m.key: m for m in (Native, RoceCluster, RoceWithin)}
WHERE = {"between": "roce-between", "within": "roce-within"}


def machines(systems):
    """Keys of those that these systems need."""
    found = ["peers"] if {"ucx", "tcp"} & set(systems) else []
    return found + (list(WHERE.values()) if "soft-roce" in systems else [])


# ---- runs ----

def ucx(k):
    return Job("peers", f"ucx.{k}", (os.path.join(HERE, "ucx.py"),), 4)


def tcp(run, k):
    return Job("peers", f"tcp.{k}", ("rmc_netpipe", "--tcp", "-a", "-s", "8K", "-n",
                                     "1000" if run.quick else "5000", "--json"), 4)


def ours_beside(run, k):
    """Our messages again, next to UCX's: CPUs of a VM move between rounds."""
    return Job("peers", f"messages.{k}", ("host/messages", "--quick"), 2)


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


def rounds(run):
    return range(p.ROUNDS or (3 if run.quick else 9))


def roce_rounds(run):
    return range(p.ROUNDS or (1 if run.quick else 3))


def jobs(run, systems):
    for k in rounds(run) if run.has("peers") else ():
        if "ucx" in systems and shutil.which("ucx_perftest"):
            yield ucx(k)
        if run.has("host") and {"ucx", "tcp"} & set(systems):
            yield ours_beside(run, k)
        if "tcp" in systems and k < 3:
            yield tcp(run, k)
    for how, key in WHERE.items():
        if "soft-roce" in systems and run.has(key):
            for k in roce_rounds(run):
                yield roce(run, how, k)
                yield roce_ours(run, how, k)


# ---- results ----

class Others:
    def __init__(self):
        self.rows, self.ratios, self.gaps = [], [], []

    def peer(self, system, what, unit, values, size, role="peer", performance=True):
        self.rows.append(Peer(system, what, unit, r.median(values), size, len(values), role,
                              performance))

    def ratio(self, name, ours, theirs, pairs, asked=None, performance=True):
        """pairs: dividend and divisor of each run"""
        found = [a / b for a, b in pairs]
        one = Ratio(name, ours, theirs, r.median(found), performance, min(found), max(found))
        if asked:
            op, bound = asked
            one.asked = f"{op} {bound:g}"
            one.met = one.ratio <= bound if op == "<=" else one.ratio >= bound
        self.ratios.append(one)


def _best_message(document, size, field="t_typical_usec", better=min):
    """The better of pushed and pulled"""
    found = [x[field] for x in document["results"] if x["bytes"] == size]
    if not found:
        raise Missing(f"there is no message of {size} B")
    return better(found)


def _runs(results, jobs):
    """Of those that worked; Missing if none did."""
    found, reason = {}, None
    for k, (job, node) in jobs.items():
        try:
            found[k] = results.get(job, node)
        except Missing as e:
            reason = e
    if not found:
        raise reason
    return found


def of_ucx(run, results, others):
    if not shutil.which("ucx_perftest"):
        raise r.Cannot("no ucx_perftest (package ucx-utils): run vm-setup/rmc-deps peers")
    theirs = _runs(results, {k: (ucx(k), 0) for k in rounds(run)})

    def get(k, test, size, field="t_typical_usec"):
        return r.row_of(theirs[k], test=test, bytes=size)[field]

    for size in (8, 64, 8192):
        others.peer("UCX", "tagged message, one way", "us",
                    [get(k, "tag_lat", size) for k in theirs], size)
    others.peer("UCX", "tagged messages, streaming", "GB/s",
                [get(k, "tag_bw", 8192, "bw_typical_bytes_per_sec") / 1e9 for k in theirs], 8192)
    for test, what in (("get", "get"), ("put_bw", "put, streaming")):
        for size in (64, 8192):
            others.peer("UCX", what, "us", [get(k, test, size) for k in theirs], size, role="bound")
    if not run.has("host"):
        raise r.Cannot(f"no messages of ours: {run.plans['host'].missing}")
    ours = _runs(results, {k: (ours_beside(run, k), 0) for k in rounds(run)})
    both = sorted(set(ours) & set(theirs))
    for size in (8, 64, 8192):
        others.ratio(f"message of {size} B, one way: ours / UCX tagged", "core, the better way",
                     "UCX tag_lat", [(_best_message(ours[k], size), get(k, "tag_lat", size))
                                     for k in both], ASKED["messages"])
    others.ratio("messages of 8192 B, streaming: ours / UCX tagged", "core, the better way",
                 "UCX tag_bw",
                 [(_best_message(ours[k], 8192, "bw_typical_bytes_per_sec", max),
                   get(k, "tag_bw", 8192, "bw_typical_bytes_per_sec")) for k in both])


def of_tcp(run, results, others):
    theirs = _runs(results, {k: (tcp(run, k), 0) for k in rounds(run) if k < 3})
    for size in (64, 8192):
        others.peer("TCP", "message, one way", "us",
                    [r.row_of(d, bytes=size)["t_typical_usec"] for d in theirs.values()], size)
    others.peer("TCP", "streaming", "GB/s",
                [r.row_of(d, bytes=8192)["bw_average_bytes_per_sec"] / 1e9
                 for d in theirs.values()], 8192)
    if not run.has("host"):
        raise r.Cannot(f"no messages of ours: {run.plans['host'].missing}")
    ours = _runs(results, {k: (ours_beside(run, k), 0) for k in theirs})
    for size in (64, 8192):
        others.ratio(f"message of {size} B, one way: TCP / ours", "core, the better way", "TCP",
                     [(r.row_of(theirs[k], bytes=size)["t_typical_usec"],
                       _best_message(ours[k], size)) for k in sorted(set(ours) & set(theirs))])


def of_roce(run, results, others, how):
    plan = run.plans[WHERE[how]]
    if plan.missing:
        raise r.Cannot(plan.missing)
    # between two guests node 1 reads from node 0, as perftest's client does
    theirs = _runs(results, {k: (roce(run, how, k), 1 if how == "between" else 0)
                             for k in roce_rounds(run)})
    ours = _runs(results, {k: (roce_ours(run, how, k), 0) for k in roce_rounds(run)})
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
    others = Others()
    parts = []
    if "ucx" in systems:
        parts.append(("UCX over shared memory", lambda: of_ucx(run, results, others)))
    if "tcp" in systems:
        parts.append(("TCP", lambda: of_tcp(run, results, others)))
    if "soft-roce" in systems:
        parts += [(f"Soft-RoCE {how}", lambda how=how: of_roce(run, results, others, how))
                  for how in WHERE]
    for what, part in parts:
        try:
            if what in ("TCP", "UCX over shared memory") and run.plans["peers"].missing:
                raise r.Cannot(run.plans["peers"].missing)
            part()
        except (Missing, KeyError, TypeError, ZeroDivisionError) as e:
            others.gaps.append(r.gap(what, e))
    return others
