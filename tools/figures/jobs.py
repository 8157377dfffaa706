# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""One run of one tool on one machine, and its JSON.

Figures that need the same run name the same job; it runs once.
"""

import dataclasses
import json
import os
import re

from .base import BUILD, Missing
from .sources import LOCAL


@dataclasses.dataclass(frozen=True)
class Job:
    machine: str            # key of sources.MACHINES
    name: str               # of its raw file, with the machine
    argv: tuple             # the program relative to build/
    seconds: float          # approximate duration at native speed
    nodes: int = 1          # processes
    cluster: int = 2        # nodes to boot, at least
    boot: tuple = ()        # more options of rmc-vm up

    @property
    def key(self):
        return f"{self.machine}.{self.name}"

    def command(self):
        return [os.path.join(BUILD, self.argv[0]), *self.argv[1:]]


def parse(text):
    """{node: what its process printed as JSON}; programs without rmc-run are node 0."""
    parts = {}
    for line in text.splitlines():
        found = re.match(r"\[(\d+)\] ?", line)
        node, rest = (int(found[1]), line[found.end():]) if found else (0, line)
        parts.setdefault(node, []).append(rest)
    try:
        found = {node: json.loads("\n".join(lines)) for node, lines in parts.items()}
    except ValueError as e:
        raise Missing(f"its output is no JSON: {e}") from None
    if not found:
        raise Missing("it printed nothing")
    return found


# ---- runs; only those of one mode are comparable; plan: of that machine and path ----

def _iterations(plan, quick, full, emulated):
    if not plan.native:
        return emulated
    return quick if plan.quick else full


def _path(plan):
    return "local" if plan.over_local else "packets"


def _name(plan, name):
    return f"{name}-local" if plan.over_local else name


def _boot(plan, solo):
    return (plan.solo if solo else ()) + (LOCAL if plan.over_local else ())


SWEEP = ("read-latency", "read-latency-double", "read-bandwidth", "read-bandwidth-double",
         "fetch-and-add", "compare-and-swap")


def sweep(plan, mtu=None):
    """The host's own benchmark; figures 7 and table 2."""
    argv = ["host/sweep", "--path", _path(plan)] + (["--quick"] if plan.quick else [])
    if mtu:
        argv += ["--mtu", str(mtu)]
    argv += SWEEP
    return Job("host", _name(plan, f"sweep-mtu{mtu}" if mtu else "sweep"), tuple(argv),
               6 if plan.quick else 30)


# Of M16's figures; the others are of the owner's own reads, and of schemes without operations
REMOTE_READS = ("1", "7a", "7b", "8", "8-readers", "9b")


def objects(plan):
    """The host's benchmark of object reads; M16's figures."""
    argv = ["host/objects", "--path", _path(plan), "--json"] + (["--quick"] if plan.quick else [])
    return Job("host", _name(plan, "objects"),
               tuple(argv) + (REMOTE_READS if plan.over_local else ()), 40 if plan.quick else 180)


def remote(plan, tool, double=False):
    """A benchmark over sizes up to 8 KiB."""
    n = _iterations(plan, 2000, 20000, 100) * (1 if "lat" in tool else 5)
    argv = [tool, "-a", "-s", "8K", "-n", str(n), "--json"] + (["-b"] if double else [])
    return Job(plan.key, _name(plan, f"{tool}-double" if double else tool), tuple(argv),
               3 if plan.quick else 8, nodes=2, boot=_boot(plan, not double))


def atomic(plan, op):
    n = _iterations(plan, 2000, 20000, 100)
    return Job(plan.key, _name(plan, f"rmc_atomic_lat-{op}"),
               ("rmc_atomic_lat", "-A", op, "-n", str(n), "--json"), 2, nodes=2,
               boot=_boot(plan, True))


def netpipe(plan):
    n = _iterations(plan, 500, 2000, 50)
    return Job(plan.key, _name(plan, "rmc_netpipe-best"),
               ("rmc_netpipe", "-B", "-a", "-s", "8K", "-n", str(n), "--json"), 8, nodes=2,
               boot=_boot(plan, False))


def netpipe_native(plan):
    """Native messages, of the same sizes"""
    n = _iterations(plan, 500, 2000, 50)
    return Job(plan.key, _name(plan, "rmc_netpipe-native"),
               ("rmc_netpipe", "--native", "-a", "-s", "8K", "-n", str(n), "--json"), 5, nodes=2,
               boot=_boot(plan, False))


def native_bench(plan):
    """The host's benchmark of messages: T18's figure 8.6"""
    argv = ["host/native_bench", "--path", _path(plan), "--json"] + (["--quick"] if plan.quick else [])
    return Job("host", _name(plan, "native_bench"), (*argv, "latency"), 3 if plan.quick else 10)


def tx_parts(plan):
    """The host's benchmark of transactions by parts: HADES' figure 3"""
    return Job("host", "tx_bench", ("host/tx_bench", "--json", *(["--quick"] if plan.quick else [])),
               20 if plan.quick else 80)


def valet(plan, policy, service, threads, rate):
    """A server on real threads, at one rate: T18's figures 8.3 and 8.5. 20 us are long beside what a
    message costs the RMC, so its cores are the limit, as in the paper."""
    seconds = 1 if plan.quick else 2
    return Job(plan.key, f"rmc_valet-{policy}-{service}-{rate}",
               ("rmc_valet", "--policy", policy, "--depth", "1", "--service", service,
                "--base", "10000", "--mean", "10000", "--threads", str(threads), "--rate", str(rate),
                "--duration", str(seconds), "--json"), seconds + 1, nodes=2)


# Profiles of costs of the simulator, and what they are to a reader
COSTS = {"rmc": "costs measured on one machine", "sonuma-a14": "the paper's chip"}


def virtual(program, costs, quick, changed=(), parts=(), seconds=0):
    """One of the simulator's evaluations of a paper; changed: costs, NAME=VALUE"""
    return Job("virtual", "-".join((f"sim-{program}", costs, *(c.replace("=", "-") for c in changed))),
               (f"sim-{program}", "--json", *(["--quick"] if quick else []), "--costs", costs,
                *(one for c in changed for one in ("--set", c)), *parts),
               seconds or (10 if quick else 30))


def virtual_rows(document, part, series):
    """[(bytes, value)], or Missing"""
    try:
        found = [(row["bytes"], row["value"]) for row in document["rows"]
                 if (row["part"], row["series"]) == (part, series)]
    except (KeyError, TypeError):
        raise Missing("its JSON has no rows with values") from None
    if document.get("path") != "packets" or not found:
        raise Missing(f"its JSON has no {series} of {part} in packets")
    return found


# Where each of COSTS has its packets: way, payload
WIRES = {"rmc": ("35", "4096"), "sonuma-a14": ("50", "64")}


def virtual_pagerank(costs, variant, count, quick):
    delay, mtu = WIRES[costs]
    argv = ["sim-pagerank", "-r", "12" if quick else "15", "-n", "2" if quick else "3", "-v", variant,
            "-t", "1", "--json"]
    if variant == "shm":
        argv += ["-T", str(count)]
    return Job("virtual", f"sim-pagerank-{costs}-{variant}-{count}", tuple(argv), 1 if quick else 1 + count,
               nodes=1 if variant == "shm" else count,
               boot=(f"RMC_SIM_COSTS={costs}", f"RMC_SIM_DELAY={delay}", f"RMC_SIM_MTU={mtu}"))


VALET_PER_SEC = 50000       # requests that such a thread serves


def netpipe_tcp(plan):
    n = _iterations(plan, 1000, 5000, 100)
    return Job(plan.key, "rmc_netpipe-tcp",
               ("rmc_netpipe", "--tcp", "-a", "-s", "8K", "-n", str(n), "--json"), 4)


def pagerank(plan, variant, count, cluster):
    scale, steps = ((15, 5) if plan.quick else (17, 10)) if plan.native else (10, 5)
    argv = ["pagerank", "-r", str(scale), "-n", str(steps), "-v", variant, "-S", "-t", "1",
            "--json"]
    if variant == "shm":
        argv += ["-T", str(count)]
    return Job(plan.key, f"pagerank-{variant}-{count}", tuple(argv),
               (1 if plan.quick else 5) * (1 if variant == "shm" else 1 + count),
               nodes=1 if variant == "shm" else count, cluster=cluster)


# ---- results ----

def points(plan, document, field, scale=1.0, at_least=64, keep=lambda row: True):
    """[(bytes, value)] of a results list; a row without the field is an error.

    Rows of the local path have no place in a column of packets, and in one of the local path
    those stay empty that were too long for it.
    """
    try:
        rows = [row for row in document["results"] if row["bytes"] >= at_least and keep(row)]
        if not plan.over_local and any(row.get("path") in ("local", "mixed") for row in rows):
            raise Missing("it did not use packets")
        found = [(row["bytes"], row[field] * scale) for row in rows
                 if not plan.over_local or row.get("path") == "local"]
    except (KeyError, TypeError):
        raise Missing(f"its JSON has no results with {field}") from None
    if plan.over_local and not found:
        raise Missing("nothing in it used the local path")
    return found


def at(found, x):
    """Value of the point at x bytes."""
    for px, y in found:
        if px == x:
            return y
    raise Missing(f"there is no result for {x} bytes")


def series(document, name):
    """One of the host sweep."""
    for one in document.get("series", ()):
        if one.get("name") == name:
            return one
    raise Missing(f"its JSON has no series {name}")
