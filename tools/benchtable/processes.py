# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Other systems between two processes of this host, and ours between two processes over rmcd.

In each round everything runs once, one after the other: CPUs of a VM move between rounds, so
a ratio is that of one round. Where rmcd cannot run, ours is the core in one process.
"""

import dataclasses
import os
import shutil

from figures import sources
from figures.base import BUILD, Missing
from figures.jobs import Job
from . import beside, plan as p, rows as r, text

HERE = os.path.dirname(os.path.realpath(__file__))
ONE_WAY, STREAM = "message, one way", "messages, streaming"
READ, PUT = "read", "put, streaming"
LATENCY, RATE = "t_typical_usec", "bw_average_bytes_per_sec"
SIZES = (8, 64, 8192)
READ_SIZES = (64, 8192)
LARGE = 8192
ASKED = ("<=", 1.5)             # of messages of one line beside UCX tagged
ASKED_SIZES = (8, 64)


class Native(sources.Machine):
    """Programs of other systems on this host, and ours over rmcd."""
    key = "peers"
    title = "host"
    what = "Programs of this host."

    def probe(self):
        if len(os.sched_getaffinity(0)) < 2:
            raise Missing("two processes that spin need two CPUs")

    def command(self, nodes, argv):
        return argv


# ---- other systems ----

@dataclasses.dataclass(frozen=True)
class Row:
    """Where a program's output has a value."""
    what: str
    sizes: tuple
    where: dict                 # fields of a row of its results
    system: str = None          # if it is not the system's own name
    role: str = "peer"

    @property
    def field(self):
        return RATE if self.what in (STREAM, PUT) else LATENCY

    def value(self, document, size):
        return r.row_of(document, bytes=size, **self.where)[self.field]


@dataclasses.dataclass(frozen=True)
class System:
    name: str
    argv: tuple                 # the program relative to build/
    rows: tuple
    needs: tuple                # (path or name of a program, what to do without it)
    seconds: float = 2
    quick: tuple = ()           # more arguments with --quick
    slower: bool = True         # through the kernel: theirs / ours, of latencies only

    def lacks(self):
        """What is not there, or None"""
        for program, remedy in self.needs:
            if not shutil.which(program):
                return f"no {os.path.basename(program)} ({remedy})"
        return None

    def job(self, run, k):
        return Job("peers", f"{self.name.lower().replace(' ', '-')}.{k}",
                   self.argv + (self.quick if run.quick else ()), self.seconds)


def _built(program):
    return os.path.join(BUILD, program), "run make tools"


def _package(program, package):
    return program, f"package {package}: run vm-setup/rmc-deps peers"


def _through(name, *options):
    """A system of peer_pipe"""
    return System(name, ("peer_pipe", *options),
                  (Row(ONE_WAY, SIZES, {"test": "send_lat"}),
                   Row(STREAM, (LARGE,), {"test": "send_bw"})),
                  (_built("peer_pipe"),), quick=("-n", "2000"))


UCX = System(
    "UCX", (os.path.join(HERE, "ucx.py"),),
    (Row(ONE_WAY, SIZES, {"test": "tag_lat"}, "UCX tagged"),
     Row(STREAM, (LARGE,), {"test": "tag_bw"}, "UCX tagged"),
     Row(ONE_WAY, SIZES, {"test": "am_lat"}, "UCX active messages"),
     Row(STREAM, (LARGE,), {"test": "am_bw"}, "UCX active messages"),
     Row(READ, READ_SIZES, {"test": "get"}, "UCX one-sided", "bound"),
     Row(PUT, (LARGE,), {"test": "put_bw"}, "UCX one-sided", "bound")),
    (_package("ucx_perftest", "ucx-utils"),), 4, quick=("-n", "2000"), slower=False)
MPI = System(
    "MPI", (os.path.join(HERE, "mpi.py"),),
    (Row(ONE_WAY, SIZES, {"test": "send_lat"}, "MPI send"),
     Row(STREAM, (LARGE,), {"test": "send_bw"}, "MPI send"),
     *(row for way, memory in (("allocate", "memory of MPI"), ("create", "own memory")) for row in (
         Row(READ, READ_SIZES, {"test": "get", "way": way}, f"MPI one-sided, {memory}", "bound"),
         Row(PUT, (LARGE,), {"test": "put_bw", "way": way}, f"MPI one-sided, {memory}", "bound")))),
    (_package("mpirun", "openmpi-bin"), _package("mpicc", "libopenmpi-dev"), _built("peer_mpi")),
    3, quick=("-n", "2000"), slower=False)

SYSTEMS = {"ucx": UCX, "mpi": MPI, "pipe": _through("pipe"),
           "io_uring": _through("io_uring", "--io-uring"), "tcp": _through("TCP", "--over", "tcp")}


# ---- ours ----

@dataclasses.dataclass(frozen=True)
class Ours:
    """Our messages, reads and writes on one path."""
    system: str
    path: str                   # in names of runs and ratios
    options: tuple = None       # of rmcd; None: the core, which has messages only
    native: bool = False        # messages of domains, and nothing else

    @property
    def one_sided(self):
        return self.options is not None and not self.native

    def _over_rmcd(self, name, k, seconds, *argv):
        return Job("peers", f"{name}-{self.path.replace(',', '').replace(' ', '-')}.{k}",
                   (sources.RMC_RUN, "--daemon", *self.options, "-n", "2", "--",
                    os.path.join(BUILD, argv[0]), *argv[1:], "--json"), seconds)

    def messages(self, run, k):
        if self.options is None:
            return Job("peers", f"messages.{k}", ("host/messages", "--quick"), 2)
        how = ("--engine", "native") if self.native else ("-B",)
        return self._over_rmcd("ours-messages", k, 6, "rmc_netpipe", *how, "-a", "-s", "8K",
                               "-n", "200" if run.quick else "1000")

    def reads(self, run, k):
        """Of the same lines again and again, as UCX and MPI are asked to"""
        return self._over_rmcd("ours-reads", k, 2, "rmc_read_lat", "--hot", "-a", "-s", "8K",
                               "-n", "2000" if run.quick else "10000")

    def writes(self, run, k):
        """Of the same lines, 32 in flight"""
        return self._over_rmcd("ours-writes", k, 2, "rmc_write_bw", "--hot", "-a", "-s", "8K",
                               "-t", "32", "-n", "10000" if run.quick else "50000")

    def label(self, run):
        """What a ratio compares"""
        if self.options is None:
            return "core in one process"
        few = "" if run.cpus >= p.TWO_APPLICATIONS else f", 3 threads on {run.cpus} CPUs"
        return f"processes over rmcd, {self.path}{few}"


ONE = p.Daemon.workers
OVER_RMCD = (Ours("rmc, local path", "local path", ONE),
             Ours("rmc, packets", p.PACKETS, (*ONE, "--rmcd=--local=0")),
             Ours("rmc native, local path", "native, local path", ONE, True),
             Ours("rmc native, packets", f"native, {p.PACKETS}", (*ONE, "--rmcd=--local=0"), True))
EACH = (Ours("rmc, a worker each", "a worker each", p.Apart.workers),)
CORE = (Ours("rmc, core", "core"),)


def ours(run):
    """Of processes if there is rmcd"""
    if run.has("daemon") and run.has("apart"):
        return OVER_RMCD + EACH
    return OVER_RMCD if run.has("daemon") else CORE if run.has("host") else ()


def _message(document, size, what):
    """The better of pushed and pulled"""
    better = max if what == STREAM else min
    found = [x[RATE] if what == STREAM and RATE in x else
             x["bw_typical_bytes_per_sec" if what == STREAM else LATENCY]
             for x in document["results"] if x["bytes"] == size]
    if not found:
        raise Missing(f"there is no message of {size} B")
    return better(found)


def _operation(document, size, what):
    return r.row_of(document, bytes=size)[RATE if what == PUT else LATENCY]


# ---- runs ----

def machines(systems):
    """Keys of those that these systems need."""
    return ["peers", "daemon", "apart"] if set(SYSTEMS) & set(systems) else []


def rounds(run):
    return range(p.ROUNDS or (3 if run.quick else 9))


def jobs(run, systems):
    """Round by round, ours between theirs"""
    found = [SYSTEMS[s] for s in SYSTEMS if s in systems and not SYSTEMS[s].lacks()]
    if not found or not run.has("peers"):
        return
    mine = ours(run)
    for k in rounds(run):
        for i, one in enumerate(found):
            if i < len(mine):
                yield mine[i].messages(run, k)
            yield one.job(run, k)
        for one in mine[len(found):]:
            yield one.messages(run, k)
        for one in mine:
            if one.one_sided:
                yield one.reads(run, k)
                yield one.writes(run, k)


# ---- results ----

UNITS = {LATENCY: ("us", 1), RATE: ("GB/s", 1e-9)}


def theirs(run, results, system):
    """{k: output}"""
    try:
        found = beside.runs(results, {k: (system.job(run, k), 0) for k in rounds(run)})
    except Missing as e:
        if str(e) == "it was not run" and system.lacks():
            raise r.Cannot(system.lacks()) from None
        raise
    for document in found.values():
        if "missing" in document:       # the program says what its host forbids
            raise r.Cannot(document["missing"])
    return found


def of_ours(run, results, others):
    """{(Ours, what): ({k: output}, function of a value)}, with their rows"""
    found = {}
    if not ours(run):
        raise r.Cannot(f"neither rmcd ({run.plans['daemon'].missing}) nor the core "
                       f"({run.plans['host'].missing})")
    if not run.has("daemon"):
        others.gaps.append(r.gap("processes over rmcd", r.Cannot(run.plans["daemon"].missing)))
    for one in ours(run):
        kinds = [(one.messages, _message, ((ONE_WAY, SIZES, LATENCY), (STREAM, (LARGE,), RATE)))]
        if one.one_sided:
            kinds += [(one.reads, _operation, ((READ, READ_SIZES, LATENCY),)),
                      (one.writes, _operation, ((PUT, (LARGE,), RATE),))]
        for job, value, rows in kinds:
            try:
                documents = beside.runs(results, {k: (job(run, k), 0) for k in rounds(run)})
            except Missing as e:
                others.gaps.append(r.gap(f"{one.system}: {rows[0][0]}", e))
                continue
            for what, sizes, field in rows:
                found[one, what] = documents, value
                unit, scale = UNITS[field]
                for size in sizes:
                    others.peer(one.system, what, unit,
                                [value(d, size, what) * scale for d in documents.values()], size,
                                role="ours")
    return found


def _name(what, size, path):
    """message of 64 B, one way, packets"""
    kind, _, rest = what.partition(", ")
    return ", ".join(filter(None, (f"{kind} of {text.size(size)}", rest, path)))


def of_system(run, results, others, system, mine):
    """Rows of one system, and ratios to ours"""
    documents = theirs(run, results, system)
    for row in system.rows:
        unit, scale = UNITS[row.field]
        name = row.system or system.name
        for size in row.sizes:
            others.peer(name, row.what, unit,
                        [row.value(d, size) * scale for d in documents.values()], size, row.role)
        for (one, what), (beside_, value) in mine.items():
            if what != row.what or system.slower and what == STREAM:
                continue
            both = sorted(set(documents) & set(beside_))
            for size in row.sizes:
                pairs = [(value(beside_[k], size, what), row.value(documents[k], size))
                         for k in both]
                title, asked = f"ours / {name}", None
                if system.slower:
                    pairs, title = [(b, a) for a, b in pairs], f"{name} / ours"
                if row.system == "UCX tagged" and what == ONE_WAY and size in ASKED_SIZES:
                    asked = ASKED
                others.ratio(f"{_name(what, size, one.path)}: {title}", one.label(run), name, pairs,
                             asked)


def parts(run, results, others, systems):
    """[(what, function)] of a table"""
    wanted = [SYSTEMS[s] for s in SYSTEMS if s in systems]
    if not wanted:
        return []
    mine = {}

    def first():
        mine.update(of_ours(run, results, others))

    return [("ours beside processes", first),
            *((f"{one.name} between processes",
               lambda one=one: of_system(run, results, others, one, mine)) for one in wanted)]
