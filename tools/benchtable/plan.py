# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The machine, and the runs.

A program of the host measures limits, also beside guests: it runs while they are idle, on
the same CPUs, before and after the runs that are compared with it.
"""

import dataclasses
import os

from figures import sources
from figures.base import BUILD, Missing
from figures.jobs import Job

SIZES = (64, 256, 1024, 4096, 8192)
FLIGHTS = (1, 4, 16, 32, 64, 128)
QPS = (1, 2, 4)
MTUS = (64, 512, 1024)          # beside the usual one
USUAL_MTU = 4096
HOST_PROGRAMS = ("sweep", "stages", "lines", "messages", "native_bench", "ni_bench")


class Host(sources.Host):
    def probe(self):
        if len(os.sched_getaffinity(0)) < 2:
            raise Missing("application and worker need two CPUs, this host has one")
        for program in HOST_PROGRAMS:
            if not os.access(os.path.join(BUILD, "host", program), os.X_OK):
                raise Missing(f"build/host/{program} is not built: run make bench")


IDLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "idle.py")


class Daemon(sources.Daemon):
    """One worker has both nodes, on any host; the host's own programs run beside it."""
    workers = ("--workers", "1")

    def command(self, nodes, argv):
        if argv[0].startswith(os.path.join(BUILD, "host", "")):
            return argv
        return [IDLE, "--daemon"] if argv[0] == IDLE else super().command(nodes, argv)


class Apart(Daemon):
    """A node is at home with a worker of its own: packets only, and more hand-offs."""
    key = "apart"
    title = "rmcd, a worker each"
    cpus = 4
    workers = ("--workers", "2")


class Each(Daemon):
    """A daemon for each node: no memory, and no thread, is shared but the fabric's file."""
    key = "each"
    title = "two rmcd"
    what = ("Processes of this host, one per node, each over an rmcd of its own; the daemons map one file, "
            "as two kernels would. Packets only.")
    cpus = 2
    workers = ()

    def command(self, nodes, argv):
        found = super().command(nodes, argv)
        return [a if a != "--daemon" else "--daemon-each" for a in found]


class Beside:
    """A kind of guests: the host's own programs run beside them."""

    def __init__(self):
        super().__init__()
        self.name = f"bench-{os.getpid()}"

    def command(self, nodes, argv):
        if argv[0].startswith(os.path.join(BUILD, "host", "")):
            return argv
        return [IDLE, self.name] if argv[0] == IDLE else super().command(nodes, argv)


class Uml(Beside, sources.Uml):
    options = ("--machine", "uml", "--fabric", "loopback")
    solo = (*sources.Uml.solo, "--mem", "512")

    def probe(self):
        super().probe()
        if not os.path.exists(os.path.join(BUILD, "uml", "rmc.ko")):
            raise Missing("build/uml/rmc.ko is not built: run make uml")


class Native:
    """QEMU's guests as long as they are not emulated."""

    def probe(self):
        super().probe()
        if not self.native:
            raise Missing(f"no KVM: {self._why}; emulated guests have no performance to measure")


class KvmCluster(Beside, Native, sources.Cluster):
    pass


class KvmLoopback(Beside, Native, sources.Loopback):
    options = ("--fabric", "loopback")


class UmlPair(Beside, sources.UmlCluster):
    """Two kernels at native speed, on as many CPUs as there are."""
    title = "two UML kernels"
    cpus = 2

    def probe(self):
        super().probe()
        if not os.path.exists(os.path.join(BUILD, "uml", "rmc.ko")):
            raise Missing("build/uml/rmc.ko is not built: run make uml")


MACHINES = {"vm": KvmCluster, "loopback": KvmLoopback, "daemon": Daemon, "apart": Apart, "each": Each,
            "uml": Uml, "uml-cluster": UmlPair, "host": Host}
# Two nodes that have a worker each. Application and workers spin, the other application sleeps.
PAIRS = ("each", "vm", "uml-cluster")
PAIR_THREADS = 3
CLUSTER_CPUS = 4                # two guests, each with an application and a worker
CHOICES = {"kvm": ("vm", "loopback"), "daemon": ("daemon",), "uml": ("uml",), "host": ("host",)}
BEST = ("kvm", "daemon", "uml", "host")


def candidates(choice, cpus):
    """Keys of machines in the order in which they are taken."""
    kinds = BEST if choice == "auto" else (choice,)
    keys = [k for kind in kinds for k in CHOICES[kind]]
    return [k for k in keys if k != "vm" or cpus >= CLUSTER_CPUS]


def choose(run, choice):
    """The best available machine, or Missing with all reasons."""
    keys = candidates(choice, run.cpus)
    for key in keys:
        if run.has(key):
            return run.plans[key]
    raise Missing("; ".join(f"{run.plans[k].title}: {run.plans[k].missing}" for k in keys))


# ---- runs; each of several rounds, of which the table has medians ----

PACKETS = "packets"


def in_packets(plan):
    """The same machine with the local path off: its runs are the second column of the table."""
    other = dataclasses.replace(plan)
    other.path = PACKETS
    return other


def is_packets(plan):
    return getattr(plan, "path", None) == PACKETS


def some_in_packets(results):
    """Folders from before there was a second column have no such run."""
    return any(f"-{PACKETS}." in key for key in results.keys())


def has_local(plan):
    """Nodes of several workers or kernels have no local path, and so no second column."""
    return plan.key not in ("apart", *PAIRS)


def solo(plan):
    return (*plan.solo, *sources.PACKETS) if is_packets(plan) else plan.solo


def _path(plan):
    return ("--path", PACKETS) if is_packets(plan) else ()


ROUNDS = 0                      # 0: as many as are usual


def rounds(plan):
    if plan.key == "host":
        return range(ROUNDS or (3 if plan.quick else 9))
    return range(ROUNDS or (1 if plan.quick else 5))


def _job(plan, name, k, argv, seconds, **more):
    if is_packets(plan):
        name += f"-{PACKETS}"
    return Job(plan.key, f"{name}.{k}", tuple(map(str, argv)), seconds, **more)


def sweep(plan, k):
    return _job(plan, "sweep", k, ("host/sweep", "--quick", *_path(plan)), 3)


def sweep_mtu(plan, mtu, k):
    return _job(plan, f"sweep-mtu{mtu}", k,
                ("host/sweep", "--quick", *_path(plan), "--mtu", mtu, "read-latency", "read-bandwidth"), 1)


def sweep_large(plan, k):
    return _job(plan, "sweep-1gib", k, ("host/sweep", "--quick", *_path(plan), "--segment", 1024,
                                        "--huge", "read-outstanding"), 2)


def stages(plan, k):
    return _job(plan, "stages", k, ("host/stages", "--quick"), 1)


def lines(plan):
    return _job(plan, "lines", 0, ("host/lines",), 3)


def between(plan, k):
    """Two nodes with a worker each, computed: as PAIRS with a CPU for each thread"""
    return _job(plan, "between", k, ("host/ni_bench", *(("--quick",) if plan.quick else ()), "--json",
                                     "between"), 10)


def messages(plan, k):
    return _job(plan, "messages", k, ("host/messages", "--quick", *_path(plan)), 2)


def native(plan, k):
    return _job(plan, "native", k, ("host/native_bench", "--quick", "--json", *_path(plan), "latency"), 8)


def of_host(plan):
    """The core alone; also runs that need the host, for any machine."""
    for k in rounds(plan):
        for one in (plan, in_packets(plan)):
            yield sweep(one, k)
            for mtu in MTUS:
                yield sweep_mtu(one, mtu, k)
            yield sweep_large(one, k)
            yield messages(one, k)
            yield native(one, k)
        yield stages(plan, k)
        yield between(plan, k)
    yield lines(plan)


def limits(plan, k, when):
    return _job(plan, f"limits-{when}", k, ("host/sweep", "--quick", "limits"), 1,
                boot=solo(plan))


def guest(plan, k, name, tool, *options, quick=2000, full=20000, boot=None):
    n = quick if plan.quick else full
    return _job(plan, name, k, (tool, "-n", n, "--json", *options), 2, nodes=2,
                boot=solo(plan) if boot is None else boot)


def of_size(plan, k, tool):
    return guest(plan, k, tool, tool, "-a", "-s", "8K", *(("-t", 32) if "_bw" in tool else ()),
                 quick=20000 if "_bw" in tool else 2000, full=50000 if "_bw" in tool else 10000)


def atomic(plan, k, op):
    return guest(plan, k, f"rmc_atomic_lat-{op}", "rmc_atomic_lat", "-A", op)


def hot(plan, k, tool):
    return guest(plan, k, f"{tool}-hot", tool, "--hot", *(("-t", 32) if "_bw" in tool else ()),
                 quick=20000, full=100000)


def in_flight(plan, k, n):
    return guest(plan, k, f"rmc_read_bw-t{n}", "rmc_read_bw", "-t", n, quick=20000, full=200000)


def queues(plan, k, n):
    return guest(plan, k, f"rmc_read_bw-q{n}", "rmc_read_bw", "-t", 32, "--qps", n, quick=20000,
                 full=200000)


def parked(plan, k):
    return guest(plan, k, "rmc_read_lat-parked", "rmc_read_lat", "-p", 2000, quick=50, full=200)


def idle(plan, k):
    return _job(plan, "idle", k, (IDLE,), 4, boot=plan.solo)


def _shared(plan):
    """Machines of two busy applications."""
    return sources.PACKETS if is_packets(plan) else ()


def both_sides(plan, k, tool):
    return guest(plan, k, f"{tool}-double", tool, "-a", "-s", "8K", "-b", boot=_shared(plan))


def at_mtu(plan, k, mtu):
    return guest(plan, k, f"rmc_read_bw-mtu{mtu}", "rmc_read_bw", "-a", "-s", "8K", "-t", 32,
                 quick=20000, full=50000, boot=(*solo(plan), "--mtu", str(mtu)))


def netpipe(plan, k):
    return guest(plan, k, "rmc_netpipe", "rmc_netpipe", "-B", "-a", "-s", "8K", quick=500,
                 full=2000, boot=_shared(plan))


SIZED = ("rmc_read_lat", "rmc_write_lat", "rmc_sabre_lat", "rmc_read_bw", "rmc_write_bw")
TWO_APPLICATIONS = 3            # CPUs for both and a worker


def of_guests(plan, cpus):
    for k in rounds(plan):
        yield limits(plan, k, "before")
        for tool in SIZED:
            yield of_size(plan, k, tool)
        yield atomic(plan, k, "faa")
        yield atomic(plan, k, "cas")
        yield hot(plan, k, "rmc_read_lat")
        yield hot(plan, k, "rmc_read_bw")
        for n in FLIGHTS:
            yield in_flight(plan, k, n)
        for n in QPS[1:]:
            yield queues(plan, k, n)
        yield limits(plan, k, "after")
        for mtu in MTUS[:1] if plan.quick else MTUS:
            yield at_mtu(plan, k, mtu)
    yield parked(plan, 0)
    if not is_packets(plan):
        yield idle(plan, 0)
    if cpus >= TWO_APPLICATIONS:
        for k in rounds(plan):
            yield both_sides(plan, k, "rmc_read_lat")
            yield both_sides(plan, k, "rmc_read_bw")
            yield netpipe(plan, k)


PAIR_TOOLS = ("rmc_read_lat", "rmc_write_lat", "rmc_read_bw", "rmc_write_bw")


def pairs(run, chosen):
    """Plans of two nodes with a worker each, besides the chosen machine; none beside the core alone"""
    return [run.plans[key] for key in PAIRS if chosen.rmc and key in run.plans and key != chosen.key]


def pair_flights(plan):
    return (32,) if plan.quick else FLIGHTS


def of_pair(plan):
    """Latency, rate and bandwidth"""
    for k in rounds(plan):
        yield limits(plan, k, "before")
        for tool in PAIR_TOOLS:
            yield of_size(plan, k, tool)
        for n in pair_flights(plan):
            yield in_flight(plan, k, n)
        yield limits(plan, k, "after")


def jobs(run, plan):
    if plan.rmc:
        yield from of_guests(plan, run.cpus)
        if has_local(plan):
            yield from of_guests(in_packets(plan), run.cpus)
    if plan.key == "daemon" and run.has("apart"):
        yield from of_guests(run.plans["apart"], run.cpus)
    for pair in pairs(run, plan):
        if not pair.missing:
            yield from of_pair(pair)
    if run.has("host"):
        yield from of_host(run.plans["host"])
