# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Output of the runs -> rows of the table."""

import contextlib
import dataclasses
import statistics

from figures import jobs as j, papers
from figures.base import Missing
from . import plan as p

GROUPS = ("latency", "rate", "bandwidth", "messages", "parked", "cycles", "lines")


class Cannot(Missing):
    """Not possible on this host; no failure."""


@dataclasses.dataclass
class Gap:
    what: str
    reason: str
    failed: bool                # although it was tried, and should have worked


def gap(what, error):
    reason = str(error) if isinstance(error, Missing) else f"its output lacks {error}"
    return Gap(what, reason, not isinstance(error, Cannot))


@dataclasses.dataclass
class Row:
    """Medians of runs; low and high: minimum and maximum of the runs."""
    group: str
    what: str
    where: str
    unit: str
    value: float
    runs: int
    low: float
    high: float
    bytes: int = None
    mtu: int = None
    outstanding: int = None
    qps: int = None
    double_sided: bool = False
    min: float = None
    p99: float = None
    p99_9: float = None
    limit: str = None           # what value is compared with,
    ratio: float = None         # measured in the same run
    asked: str = None           # "<= 1.6"
    met: bool = None
    papers: list = dataclasses.field(default_factory=list)
    parts: dict = None          # stage -> value
    path: str = "unknown"       # of the runs: local, packets, mixed, none
    packets: dict = None        # the same with the local path off: see second()
    performance: bool = True    # false: of an emulated machine


def median(values):
    return statistics.median(values)


# ---- limits, in us and GB/s ----

def limits_of(document):
    found = document["limits"]
    return {"ping-pong": found["line_ping_pong_usec"], "access": found["dependent_read_usec"],
            "memcpy": found["memcpy_bytes_per_sec"] / 1e9}


def limits_beside(results, plan, k):
    """Of a round in guests: the mean of before and after."""
    a, b = (limits_of(results.get(p.limits(plan, k, when))) for when in ("before", "after"))
    return {name: (a[name] + b[name]) / 2 for name in a}


# name -> value of those limits
LIMITS = {
    "ping-pong": lambda m: m["ping-pong"],
    "1.6 pp + access": lambda m: 1.6 * m["ping-pong"] + m["access"],
    "memcpy": lambda m: m["memcpy"],
}


# ---- what papers print, by row ----

class Papers:
    def __init__(self):
        self.table = papers.load("a14-table2")
        self.seven, self.eight = papers.load("a14-fig7"), papers.load("a14-fig8")

    def metric(self, name, scale=1):
        """[(platform, value)] of a row of table 2"""
        columns = self.table["table"]["columns"]
        for row in self.table["table"]["rows"]:
            if row["metric"] == name:
                return [(c, v * scale if isinstance(v, (int, float)) else v)
                        for c, v in zip(columns, row["values"])]
        return []

    def point(self, paper, part, size, mode="single", scale=1):
        return [(s["platform"], y * scale) for s in papers.series(paper, part)
                if s.get("mode") == mode for x, y in s["points"] if x == size]

    def of(self, group, what, size, double=False):
        if group == "latency" and size == 64 and what == "read" and not double:
            return self.metric("read RTT")
        if group == "latency" and what == "fetch-and-add":
            return self.metric("fetch-and-add")
        if group == "rate" and size == 64:
            return self.metric("IOPS")
        if group == "bandwidth" and what == "read":
            mode = "double" if double else "single"
            return self.point(self.seven, "bandwidth", size, mode)
        if group == "messages" and size == 32 and what.endswith("one way"):
            return self.point(self.eight, "latency", size, "best")
        return []


# ---- rows of one machine ----

class Table:
    """Rows in their order; a row that is not possible is a gap with its reason."""

    def __init__(self, results):
        self.results, self.papers = results, Papers()
        self.rows, self.gaps, self.limits = [], [], []

    @contextlib.contextmanager
    def optional(self, what):
        try:
            yield
        except (Missing, KeyError, TypeError, IndexError) as e:
            self.gaps.append(gap(what, e))

    def add(self, group, what, where, unit, samples, **more):
        """samples: [(value, limits, {min, p99, p99_9})] of the runs"""
        values = [s[0] for s in samples]
        if not values:
            raise Missing("none of its runs worked")
        row = Row(group, what, where, unit, median(values), len(values), min(values), max(values))
        asked = more.pop("asked", None)
        for key, value in more.items():
            setattr(row, key, value)
        row.path = joined(s[2].get("path", "unknown") for s in samples)
        for key in ("min", "p99", "p99_9"):
            found = [s[2][key] for s in samples if s[2].get(key) is not None]
            if found:
                setattr(row, key, median(found))
        if row.limit:
            row.ratio = median([v / LIMITS[row.limit](m) for v, m, _ in samples])
        if asked:
            of, op, bound = asked
            have = row.ratio if of == "ratio" else getattr(row, of)
            row.asked = f"{'' if of in ('ratio', 'value') else of + ' '}{op} {bound:g}"
            row.met = have <= bound if op == "<=" else have >= bound
        row.papers = [{"platform": name, "value": value} for name, value in
                      self.papers.of(group, what, row.bytes, row.double_sided)]
        self.rows.append(row)
        return row

    def latency(self, what, where, size, samples, **more):
        """samples: [(row of a results list, limits)]"""
        return self.add("latency", what, where, "us",
                        [(r["t_typical_usec"], m, spread(r)) for r, m in samples], bytes=size, **more)

    def rate(self, what, where, samples, **more):
        return self.add("rate", what, where, "M/s",
                        [(r["bw_typical_bytes_per_sec"] / r["bytes"] / 1e6, m, path_of(r))
                         for r, m in samples], bytes=64, **more)

    def bandwidth(self, what, where, size, samples, **more):
        return self.add("bandwidth", what, where, "GB/s",
                        [(r["bw_typical_bytes_per_sec"] / 1e9, m, path_of(r)) for r, m in samples],
                        bytes=size, limit="memcpy", **more)


def path_of(r):
    return {"path": r.get("path", "unknown")}


NO_PATH = {"path": "none"}      # no operation


def spread(r):
    return {"min": r["t_min_usec"], "p99": r["p99_usec"], "p99_9": r.get("p99_9_usec"),
            **path_of(r)}


def joined(paths):
    """The path of several runs"""
    found = set(paths)
    if len(found) == 1:
        return found.pop()
    return "unknown" if "unknown" in found else "mixed"


SAME = ("group", "what", "where", "unit", "bytes", "mtu", "outstanding", "qps", "double_sided")
SECOND = ("value", "runs", "low", "high", "min", "p99", "p99_9", "ratio", "asked", "met", "path")


def second(t, other):
    """The rows of the runs in packets as the second column of t; their gaps."""
    def key(row):
        return tuple(getattr(row, name) for name in SAME)

    ours = {key(row): row for row in t.rows}
    for row in other.rows:
        if row.path != "none" and key(row) in ours:
            ours[key(row)].packets = {k: getattr(row, k) for k in SECOND
                                      if getattr(row, k) is not None}
    t.gaps += [Gap(f"{g.what}, packets", g.reason, g.failed) for g in other.gaps if g.failed]


def row_of(document, **fields):
    """The row of a results list that has these fields."""
    for row in document["results"]:
        if all(row.get(k) == v for k, v in fields.items()):
            return row
    raise Missing(f"there is no result for {fields}")


ASKED_RANDOM = ("ratio", "<=", 1)
ASKED_HOT = ("ratio", "<=", 1.6)
ASKED_RATE = {True: ("value", ">=", 12), False: ("value", ">=", 10)}     # hot, random
ASKED_MEMCPY = ("ratio", ">=", 0.8)
ASKED_MTU64 = ("value", ">=", 2)
ASKED_WAKE = ("p99", "<=", 50)
RATES_FROM = 32                 # outstanding


def bandwidth_asked(size, mtu):
    if size == 8192 and mtu in (64, p.USUAL_MTU):
        return {"asked": ASKED_MEMCPY if mtu == p.USUAL_MTU else ASKED_MTU64}
    return {}


def latencies(t, where, of):
    """of(what, size) -> samples"""
    for what in ("read", "write", "SABRe"):
        for size in p.SIZES:
            more = {"limit": "1.6 pp + access"} if size == 64 else {}
            if size == 64 and what == "read":
                more["asked"] = ASKED_RANDOM
            with t.optional(f"{what} of {size} B, {where}"):
                t.latency(what, where, size, of(what, size), mtu=p.USUAL_MTU, **more)
    for what in ("fetch-and-add", "compare-and-swap"):
        with t.optional(f"{what}, {where}"):
            t.latency(what, where, 8, of(what, 8), mtu=p.USUAL_MTU, limit="1.6 pp + access")


def of_host(t, plan):
    where, documents = "core", []
    for k in p.rounds(plan):
        with t.optional(f"round {k + 1} of the core"):
            documents.append(t.results.get(p.sweep(plan, k)))
    if not documents:
        return
    t.limits += [limits_of(d) for d in documents]

    def of(name, **fields):
        return [(row_of(j.series(d, name), **fields), limits_of(d)) for d in documents]

    series = {"read": "read-latency", "write": "write-latency", "SABRe": "sabre-latency",
              "fetch-and-add": "fetch-and-add", "compare-and-swap": "compare-and-swap"}
    latencies(t, where, lambda what, size: of(series[what], bytes=size))
    with t.optional("cache-resident reads of the core"):
        t.latency("read, cache-resident", where, 64, of("read-latency-hot", bytes=64),
                  limit="ping-pong", asked=ASKED_HOT, mtu=p.USUAL_MTU)
    for size in p.SIZES:
        with t.optional(f"double-sided reads of {size} B, {where}"):
            t.latency("read", where, size, of("read-latency-double", bytes=size),
                      mtu=p.USUAL_MTU, double_sided=True)
    for n in p.FLIGHTS:
        with t.optional(f"{n} reads in flight, {where}"):
            t.rate("reads", where, of("read-outstanding", outstanding=n), outstanding=n, qps=1,
                   **({"asked": ASKED_RATE[False]} if n >= RATES_FROM else {}))
    with t.optional("rate of the core in 1 GiB"):
        large = [t.results.get(p.sweep_large(plan, k)) for k in p.rounds(plan)]
        t.rate("reads, 1 GiB in huge pages", where,
               [(row_of(j.series(d, "read-outstanding"), outstanding=32), limits_of(d))
                for d in large], outstanding=32, qps=1, asked=ASKED_RATE[False])
    with t.optional("cache-resident rate of the core"):
        t.rate("reads, cache-resident", where, of("read-rate-hot", outstanding=32),
               outstanding=32, qps=1, asked=ASKED_RATE[True])
    for n in p.QPS[1:]:
        with t.optional(f"reads over {n} queue pairs, {where}"):
            t.rate("reads", where, of("read-qps", qps=n), outstanding=32, qps=n)
    for what, name, both in (("read", "read-bandwidth", False), ("write", "write-bandwidth", False),
                             ("read", "read-bandwidth-double", True)):
        for size in p.SIZES:
            with t.optional(f"{what} bandwidth, {size} B, {where}"):
                t.bandwidth(what, where, size, of(name, bytes=size), mtu=p.USUAL_MTU,
                            outstanding=32, double_sided=both,
                            **(bandwidth_asked(size, p.USUAL_MTU) if name == "read-bandwidth" else {}))
    for mtu in p.MTUS:
        found = []
        for k in p.rounds(plan):
            with t.optional(f"round {k + 1} of MTU {mtu}, {where}"):
                found.append(t.results.get(p.sweep_mtu(plan, mtu, k)))
        for size in (x for x in p.SIZES if x > mtu):
            with t.optional(f"MTU {mtu}, {size} B, {where}"):
                t.bandwidth("read", where, size,
                            [(row_of(j.series(d, "read-bandwidth"), bytes=size), limits_of(d))
                             for d in found], mtu=mtu, outstanding=32, **bandwidth_asked(size, mtu))
    with t.optional("a parked worker of the core"):
        samples = of("parked", bytes=64)
        t.add("parked", "read, worker parked", where, "us",
              [(r["t_typical_usec"], m, spread(r)) for r, m in samples], bytes=64,
              asked=ASKED_WAKE)
        woken = [j.series(d, "parked")["woken"] for d in documents]
        t.add("parked", "read that wakes a parked worker's thread", where, "us",
              [(r["t_typical_usec"], None, {**spread(r), **path_of(s[0])})
               for r, s in zip(woken, samples)], bytes=64, asked=ASKED_WAKE)
        threads = [j.series(d, "parked")["thread"] for d in documents]
        t.add("parked", "sleeping thread that is woken", where, "us",
              [(r["t_typical_usec"], None, {**spread(r), **NO_PATH}) for r in threads])
        t.add("parked", "parked worker, share of a CPU", where, "%",
              [(j.series(d, "parked")["parked_cpu_share"] * 100, None, NO_PATH) for d in documents])
    messages_of_host(t, plan, where)
    native_of_host(t, plan, where)
    if not p.is_packets(plan):
        stages_of_host(t, plan)


def messages_of_host(t, plan, where):
    found = []
    for k in p.rounds(plan):
        with t.optional(f"messages, {where}"):
            found.append(t.results.get(p.messages(plan, k)))
    if not found:
        return
    sizes = sorted({r["bytes"] for r in found[0]["results"]})
    if not sizes:
        t.gaps.append(gap(f"messages, {where}", Missing("it measured none")))
    for way in ("push", "pull"):
        for size in sizes:
            with t.optional(f"messages of {size} B, {where}"):
                runs = [row_of(d, bytes=size, way=way) for d in found]
                t.add("messages", f"{way}, one way", where, "us",
                      [(r["t_typical_usec"], {"ping-pong": d["limits"]["line_ping_pong_usec"]},
                        spread(r)) for r, d in zip(runs, found)], bytes=size, limit="ping-pong")
                t.add("messages", f"{way}, streaming", where, "GB/s",
                      [(r["bw_typical_bytes_per_sec"] / 1e9, None, path_of(r)) for r in runs], bytes=size)


def native_of_host(t, plan, where):
    """Messages of the RMC, of which one follows the other, as pushed and pulled ones do"""
    found = []
    for k in p.rounds(plan):
        with t.optional(f"native messages, {where}"):
            found.append(t.results.get(p.native(plan, k)))
    for size in sorted({r["bytes"] for r in found[0]["results"]}) if found else ():
        with t.optional(f"native messages of {size} B, {where}"):
            runs = [row_of(d, bytes=size, way="native, received") for d in found]
            t.add("messages", "native, one way", where, "us",
                  [(r["t_typical_usec"], {"ping-pong": d["limits"]["line_ping_pong_usec"]}, spread(r))
                   for r, d in zip(runs, found)], bytes=size, limit="ping-pong")


def stages_of_host(t, plan):
    """Of several operations at a time; one at a time is in the JSON as well."""
    with t.optional("cycles per stage"):
        found = [t.results.get(p.stages(plan, k)) for k in p.rounds(plan)]
        for i, first in enumerate(found[0]["results"]):
            runs = [d["results"][i] for d in found]
            parts = {s: median([r["cycles"][s] for r in runs]) for s in first["cycles"] if s != "all"}
            t.add("cycles", first["operation"], "core", "cycles",
                  [(r["cycles"]["all"], None, path_of(r)) for r in runs], bytes=first["bytes"],
                  mtu=first["mtu"], outstanding=first["batch"], parts=parts)
    with t.optional("lines per operation"):
        for r in t.results.get(p.lines(plan))["results"]:
            t.add("lines", r["operation"], "core", "lines", [(r["lines"]["all"], None, path_of(r))],
                  bytes=r["bytes"], mtu=r["mtu"], outstanding=r["batch"],
                  parts={**{s: v for s, v in r["lines"].items() if s != "all"},
                         "moved": r["lines_moved"]})


def limits_of_rounds(t, plan):
    """{k: limits} of the rounds that have them"""
    limits = {}
    for k in p.rounds(plan):
        with t.optional(f"limits of round {k + 1}, {plan.title}"):
            limits[k] = limits_beside(t.results, plan, k)
    t.limits += limits.values()
    return limits


def sampler(t, limits):
    """of(job of a round, fields of a row): [(row, limits)] of the rounds in which it worked"""
    def of(job, **fields):
        samples, reason = [], None
        for k, beside in limits.items():
            try:
                samples.append((row_of(t.results.get(job(k)), **fields), beside))
            except Missing as e:
                reason = e
        if not samples:
            raise reason
        return samples

    return of


def threads_on(run):
    """What two nodes with a worker each lack here, for their names"""
    return "" if run.cpus >= p.PAIR_THREADS else f", {p.PAIR_THREADS} threads on {run.cpus} CPUs"


def of_pair(t, run, plan):
    """Two nodes with a worker each: packets, and more hand-offs than with one for both"""
    where = plan.title + threads_on(run)
    if plan.missing:
        t.gaps.append(gap(f"two nodes with a worker each, {plan.title}", Cannot(plan.missing)))
        return
    limits = limits_of_rounds(t, plan)
    if not limits:
        return
    of = sampler(t, limits)
    for what in ("read", "write"):
        for size in p.SIZES:
            with t.optional(f"{what} of {size} B, {where}"):
                t.latency(what, where, size, of(
                    lambda k, what=what: p.of_size(plan, k, f"rmc_{what}_lat"), bytes=size),
                    mtu=p.USUAL_MTU)
            with t.optional(f"{what} bandwidth, {size} B, {where}"):
                t.bandwidth(what, where, size, of(
                    lambda k, what=what: p.of_size(plan, k, f"rmc_{what}_bw"), bytes=size),
                    mtu=p.USUAL_MTU, outstanding=32)
    for n in p.pair_flights(plan):
        with t.optional(f"{n} reads in flight, {where}"):
            t.rate("reads", where, of(lambda k, n=n: p.in_flight(plan, k, n), bytes=64), outstanding=n,
                   qps=1)


COMPUTED = "a worker each, computed"


def of_computed(t, plan):
    """The same with a CPU for each thread: what ni_bench computes from times of this machine"""
    documents = []
    for k in p.rounds(plan):
        with t.optional(f"round {k + 1} of {COMPUTED}"):
            documents.append(t.results.get(p.between(plan, k))["rows"])
    if not documents:
        return

    def of(what, size, outstanding, field, scale=1):
        """Values of the rounds, which have neither a spread nor limits of their own"""
        return [(row_of({"results": rows}, part="between", what=what, bytes=size,
                        outstanding=outstanding)[field] * scale, None, {"path": "packets"})
                for rows in documents]

    for what in ("read", "write"):
        for size in p.SIZES:
            with t.optional(f"{what} of {size} B, {COMPUTED}"):
                t.add("latency", what, COMPUTED, "us", of(what, size, 1, "t_typical_usec"), bytes=size,
                      mtu=p.USUAL_MTU)
            with t.optional(f"{what} bandwidth, {size} B, {COMPUTED}"):
                t.add("bandwidth", what, COMPUTED, "GB/s",
                      of(what, size, 32, "bw_typical_bytes_per_sec", 1e-9), bytes=size, mtu=p.USUAL_MTU,
                      outstanding=32)
    for n in p.FLIGHTS:
        with t.optional(f"{n} reads in flight, {COMPUTED}"):
            t.add("rate", "reads", COMPUTED, "M/s", of("read", 64, n, "mops"), bytes=64, outstanding=n,
                  qps=1)


def of_guests(t, run, plan):
    where, limits = plan.title, limits_of_rounds(t, plan)
    if not limits:
        return
    of = sampler(t, limits)
    tools = {"read": "rmc_read_lat", "write": "rmc_write_lat", "SABRe": "rmc_sabre_lat"}
    ops = {"fetch-and-add": "faa", "compare-and-swap": "cas"}
    latencies(t, where, lambda what, size: of(
        lambda k: p.atomic(plan, k, ops[what]) if what in ops else p.of_size(plan, k, tools[what]),
        bytes=size))
    with t.optional(f"cache-resident reads, {where}"):
        t.latency("read, cache-resident", where, 64,
                  of(lambda k: p.hot(plan, k, "rmc_read_lat"), bytes=64), limit="ping-pong",
                  asked=ASKED_HOT, mtu=p.USUAL_MTU)
    for n in p.FLIGHTS:
        with t.optional(f"{n} reads in flight, {where}"):
            t.rate("reads", where, of(lambda k, n=n: p.in_flight(plan, k, n), bytes=64),
                   outstanding=n, qps=1, **({"asked": ASKED_RATE[False]} if n >= RATES_FROM else {}))
    with t.optional(f"cache-resident rate, {where}"):
        t.rate("reads, cache-resident", where, of(lambda k: p.hot(plan, k, "rmc_read_bw"), bytes=64),
               outstanding=32, qps=1, asked=ASKED_RATE[True])
    for n in p.QPS[1:]:
        with t.optional(f"reads over {n} queue pairs, {where}"):
            t.rate("reads", where, of(lambda k, n=n: p.queues(plan, k, n), bytes=64), outstanding=32,
                   qps=n)
    for what, tool in (("read", "rmc_read_bw"), ("write", "rmc_write_bw")):
        for size in p.SIZES:
            with t.optional(f"{what} bandwidth, {size} B, {where}"):
                t.bandwidth(what, where, size,
                            of(lambda k, tool=tool: p.of_size(plan, k, tool), bytes=size),
                            mtu=p.USUAL_MTU, outstanding=32,
                            **(bandwidth_asked(size, p.USUAL_MTU) if what == "read" else {}))
    for mtu in p.MTUS[:1] if plan.quick else p.MTUS:
        for size in (x for x in p.SIZES if x > mtu):
            with t.optional(f"MTU {mtu}, {size} B, {where}"):
                t.bandwidth("read", where, size,
                            of(lambda k, mtu=mtu: p.at_mtu(plan, k, mtu), bytes=size), mtu=mtu,
                            outstanding=32, **bandwidth_asked(size, mtu))
    with t.optional(f"a parked worker, {where}"):
        r = row_of(t.results.get(p.parked(plan, 0)), bytes=64)
        t.add("parked", "read, worker parked", where, "us",
              [(r["t_typical_usec"], None, spread(r))], bytes=64, asked=ASKED_WAKE)
    with t.optional(f"a guest without work, {where}"):
        if not p.is_packets(plan):
            shares = [g["cpu_share"] * 100 for g in t.results.get(p.idle(plan, 0))["results"]]
            t.add("parked", "guest without work, share of a CPU", where, "%",
                  [(share, None, NO_PATH) for share in shares])
    two_applications(t, run, plan, where, of)


def two_applications(t, run, plan, where, of):
    with t.optional(f"both sides at once and messages, {where}"):
        if run.cpus < p.TWO_APPLICATIONS:
            raise Cannot(f"two applications and a worker spin on {p.TWO_APPLICATIONS} CPUs, "
                         f"this host has {run.cpus}; the core's are one thread's")
        for size in p.SIZES:
            t.latency("read", where, size,
                      of(lambda k: p.both_sides(plan, k, "rmc_read_lat"), bytes=size),
                      mtu=p.USUAL_MTU, double_sided=True)
            t.bandwidth("read", where, size,
                        of(lambda k: p.both_sides(plan, k, "rmc_read_bw"), bytes=size),
                        mtu=p.USUAL_MTU, outstanding=64, double_sided=True)
        for way in ("push", "pull"):
            for size in (8, 32, *p.SIZES):
                t.add("messages", f"{way}, one way", where, "us",
                      [(r["t_typical_usec"], m, spread(r)) for r, m in
                       of(lambda k: p.netpipe(plan, k), bytes=size, way=way)], bytes=size,
                      limit="ping-pong")


def table(run, plan, results):
    t = Table(results)
    other = Table(results)
    in_packets = p.some_in_packets(results)
    if plan.rmc:
        of_guests(t, run, plan)
        if in_packets and p.has_local(plan):
            of_guests(other, run, p.in_packets(plan))
    if plan.key == "daemon" and run.has("apart"):
        of_guests(t, run, run.plans["apart"])
    for pair in p.pairs(run, plan):
        of_pair(t, run, pair)
    if run.has("host"):
        of_host(t, run.plans["host"])
        of_computed(t, run.plans["host"])
        if in_packets:
            of_host(other, p.in_packets(run.plans["host"]))
    second(t, other)
    return t
