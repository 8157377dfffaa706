# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""T18 section 8.2: who gets the next message. The module's dispatcher in virtual time, with modelled
cores: computed, not measured. Beside it a server on as many real threads as this host has CPUs for."""

from .. import jobs as j
from ..base import Missing
from ..plot import Plot, Series
from . import Table

ORDER = 140
NEEDS_RMC = False
TITLE = "The next message goes to a free core"
PAPER = "t18-dispatch"
DIFFERS = ("costs of the software around a request are the chip's as far as printed, and else "
           "assumed.")
SERVICES = ("fixed", "uniform", "exponential", "gev")
HARDWARE = ("1x16", "4x4", "16x1")
THREADS = tuple(f"threads, lock {ns} ns" for ns in (100, 150, 200))
NOTE = ("Computed by build/host/valet_curves: kmod/core runs in virtual time, with 16 modelled cores and "
        "199 peers. A core needs 600 ns on average of the distribution (300 ns of them fixed), and 400 ns "
        "besides. Nothing is fitted to the paper.")


# On real threads: policy of the domain, its name here
POLICIES = (("greedy", "1xN"), ("random", "Nx1"), ("shared", "threads, MCS lock"))
THREADS_NOTE = ("Measured by rmc_valet: 10 us and, on average, 10 us of the distribution, one client at a Poisson "
                "rate. Latency from the complete request in its slot to its RECEIVE. Nx1: a random core for "
                "each request, since one client is one source. (scheduler's): fewer CPUs than threads, so "
                "the scheduler decides, and curves say little of the policies.")


def valet(plan):
    n = "20000" if plan.quick else "200000"
    return j.Job("computed", "valet_curves", ("host/valet_curves", "--messages", n),
                 20 if plan.quick else 200)


def load_of(run):
    """(threads of the server, rates), of real threads: client and worker have a CPU each, or all share
    too few of them, for much lower rates"""
    threads = max(2, min(8, run.cpus - 2))
    free = threads if run.cpus >= threads + 2 else run.cpus / 8
    return threads, [round(share * free * j.VALET_PER_SEC)
                     for share in ((0.3, 0.6) if run.quick else (0.2, 0.4, 0.6, 0.7, 0.8))]


def served(run, service):
    """[(name, job)] of real threads, and the paper's order"""
    threads, rates = load_of(run)
    return [(name, j.valet(run.plans["threads"], policy, service, threads, rate))
            for policy, name in POLICIES for rate in rates]


def services_of(run):
    return ("gev",) if run.quick else ("fixed", "gev")


def jobs(run):
    if run.has("computed"):
        yield valet(run.plans["computed"])
    if run.has("threads"):
        for service in services_of(run):
            for _, job in served(run, service):
                yield job


class Curves:
    """Rows of the program's JSON"""

    def __init__(self, document):
        try:
            self.costs = [(c["costs"], c["name"], c["ns"], c["kind"], c["source"])
                          for c in document["costs"]]
            self.work = [[str(w["peers"]), w["packet_ns"], w["take_ns"], w["rest_ns"]]
                         for w in document["work"]]
            self.rows = [((r["costs"], r["service"], r["series"]), r) for r in document["rows"]
                         if "peak" in r or r["p99_us"] >= 0]
        except (KeyError, TypeError):
            raise Missing("its JSON is not that of valet_curves") from None

    def curve(self, costs, service, series, label):
        points = [(round(r["rate"], 3), r["p99_us"]) for key, r in self.rows
                  if key == (costs, service, series) and "rate" in r]
        if not points:
            raise Missing(f"its JSON has no curve of {costs}, {service}, {series}")
        return Series(label, points)

    def peak(self, costs, service, series):
        for key, r in self.rows:
            if key == (costs, service, series) and "peak" in r:
                return r["peak"]
        raise Missing(f"its JSON has no peak of {costs}, {service}, {series}")


def percent(more, less):
    return 100 * (more / less - 1) if less else None


def plot(figure, part, title, series):
    figure.part(part, True)
    figure.blocks.append(Plot(f"dispatch-{part}-{title.split()[-1]}", f"Figure {part}: {title}",
                              "million messages per second", "99th percentile, us", series,
                              logy=False, logx=False))


def peaks(c):
    """Highest rates under the limit, and what they say of each other"""
    rows = []
    for service in SERVICES:
        one, four, each = (c.peak("chip", service, s) for s in HARDWARE)
        threads = [c.peak("chip", service, s) for s in THREADS]
        rows.append([service, one, four, each, *threads, percent(one, four), percent(one, each),
                     one / threads[-1] if threads[-1] else None])
    return rows


def gaps(c):
    """Percent below the model without costs"""
    return [[service] + [percent(c.peak("none", service, s), c.peak("chip", service, s))
                         for s in HARDWARE] for service in SERVICES]


def show_threads(run, results, figure):
    """Curves of real threads, and a table of all their runs"""
    threads, _ = load_of(run)
    rows = []
    figure.part("threads", False)
    for service in services_of(run):
        curves = {}
        for name, job in served(run, service):
            with figure.optional(f"{name} on real threads, {' '.join(job.argv[-4:-1])}"):
                d = results.get(job)
                try:
                    label = f"{name}, {threads} threads" + (" (scheduler's)" if d["scheduler_decides"] else "")
                    rate, p99 = d["served_per_sec"] / 1000, d["server"]["p99_usec"]
                    rows.append([f"{service}: {label}", d["asked_per_sec"] / 1000, rate,
                                 d["server"]["p50_usec"], p99, d["client"]["p99_usec"]])
                except (KeyError, TypeError):
                    raise Missing("its JSON is not that of rmc_valet") from None
                curves.setdefault(label, []).append((round(rate, 3), p99))
        figure.part("threads", curves)
        if curves:
            figure.blocks.append(Plot(
                f"dispatch-threads-{service}", f"Figures 8.3 and 8.5 on real threads, {service}",
                "thousand messages per second", "99th percentile, us",
                [Series(label, sorted(points)) for label, points in curves.items()], logx=False))
    if rows:
        figure.blocks.append(Table(
            "A server on real threads: latency by rate",
            [("", ""), ("asked, thousand/s", "native"), ("served", "native"), ("median, us", "native"),
             ("99th percentile, us", "native"), ("of the client, us", "native")], rows, THREADS_NOTE))


def show(run, results, paper, figure):
    if run.has("computed"):
        show_computed(run, results, paper, figure)
    if run.has("threads"):
        show_threads(run, results, figure)


def show_computed(run, results, paper, figure):
    figure.part("8.3", False)
    with figure.optional("who gets the next message"):
        c = Curves(results.get(valet(run.plans["computed"])))
        for service in SERVICES:
            plot(figure, "8.3", f"queues in front of cores, {service}",
                 [c.curve("chip", service, s, s) for s in HARDWARE])
        for service in ("fixed", "gev"):
            plot(figure, "8.4", f"beside a model without costs, {service}",
                 [c.curve(costs, service, s, f"{s}, {label}") for s in HARDWARE
                  for costs, label in (("chip", "chip"), ("none", "model"))])
            plot(figure, "8.5", f"dispatcher beside threads, {service}",
                 [c.curve("chip", service, s, s) for s in ("1x16",) + THREADS])
        found = peaks(c)
        figure.blocks.append(Table(
            "Highest rate with a 99th percentile of 10 us, million messages per second",
            [("", "")] + [(s, "native") for s in HARDWARE + THREADS] +
            [("1x16 over 4x4, %", "native"), ("over 16x1, %", "native"),
             ("1x16 / threads, 200 ns", "native")], found, NOTE))
        here = {row[0]: row[-3:-1] for row in found}
        figure.blocks.append(Table(
            "Figure 8.3: how much more 1x16 serves, %",
            [("", "")] + [head for name in paper["table"]["columns"]
                          for head in ((f"paper: {name}", "paper"), (f"{name}, computed", "native"))],
            [[row["metric"]] + [v for pair in zip(row["values"], here[row["metric"]]) for v in pair]
             for row in paper["table"]["rows"]]))
        figure.blocks.append(Table(
            "Figure 8.4: how much more the model without costs serves, %",
            [("", "")] + [(s, "native") for s in HARDWARE], gaps(c)))
        figure.part("software", True)
        figure.blocks.append(Table(
            "This software's worker: time of one message at a time, ns (measured, one CPU)",
            [("peers that send", ""), ("packet", "native"), ("reply and RECEIVE", "native"),
             ("answers", "native")], c.work))
        figure.blocks.append(Table(
            "With the costs of 16 peers: highest rate, million messages per second (computed)",
            [("", "")] + [(s, "native") for s in ("1x16", "1x16, depth 2")],
            [[service] + [c.peak("software", service, s) for s in ("1x16", "1x16, depth 2")]
             for service in SERVICES]))
        figure.blocks.append(Table(
            "Constants", [("costs", ""), ("name", ""), ("ns", ""), ("kind", ""), ("source", "")],
            [[costs, name, str(ns), kind, source] for costs, name, ns, kind, source in c.costs]))
