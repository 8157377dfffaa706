# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""A14 figure 8: send and receive, by push, by pull, and by the better of both."""

from .. import jobs as j
from ..plot import Series

ORDER = 108
NEEDS_RMC = True
TITLE = "Send and receive: latency and bandwidth against message size"
PAPER = "a14-fig8"
DIFFERS = ("one run of push and of pull, and the better of both for the best threshold. In virtual "
           "time copies of a push cost what they cost this machine's CPU, and writes do not wait for memory.")
SMALLEST = 32
VIRTUAL = "virtual time"

WAYS = (("threshold 0: all pulled", lambda row: row["way"] == "pull"),
        ("threshold infinite: all pushed", lambda row: row["way"] == "push"),
        ("best threshold", lambda row: row.get("best")))


def jobs(run):
    if run.has("host"):
        yield j.netpipe_tcp(run.plans["host"])
    if run.has("virtual"):
        yield from (j.virtual("sonuma", costs, run.quick) for costs in j.COSTS)
    for plan in run.rmc_paths():
        yield j.netpipe(plan)
    for plan in run.rmc_machines():
        if plan.tcp:
            yield j.netpipe_tcp(plan)


def series(run, results, figure, field, scale):
    for machine in run.rmc_machines():
        for name, keep in WAYS:
            for plan in machine.paths():
                with figure.optional(plan.labelled(name)):
                    job = j.netpipe(plan)
                    yield Series(results.label(plan, job, name),
                                 j.points(plan, results.get(job), field, scale, SMALLEST, keep),
                                 plan.kind)
    machines = [run.plans["host"]] * run.has("host") + run.rmc_machines()
    for plan in (p for p in machines if p.tcp):
        with figure.optional(f"{plan.label}, kernel TCP"):
            yield Series(f"{plan.label}, kernel TCP, one kernel",
                         j.points(plan, results.get(j.netpipe_tcp(plan)), field, scale, SMALLEST),
                         plan.kind)


def virtual(run, results, figure, name):
    """In virtual time"""
    ways = [(costs, way, said) for costs in j.COSTS for way, (said, _) in zip(("pull", "push", "best"), WAYS)]
    for costs, way, said in ways if run.has("virtual") else ():
        label = run.plans["virtual"].labelled(j.COSTS[costs], said)
        with figure.optional(label):
            document = results.get(j.virtual("sonuma", costs, run.quick))
            yield Series(label, j.virtual_rows(document, "8", f"{name}, {way}"))


def show(run, results, paper, figure):
    latency = list(series(run, results, figure, "t_typical_usec", 1)) + \
        list(virtual(run, results, figure, "latency"))
    bandwidth = list(series(run, results, figure, "bw_average_bytes_per_sec", 8e-9)) + \
        list(virtual(run, results, figure, "bandwidth"))
    figure.gaps[:] = dict.fromkeys(figure.gaps)         # each once
    figure.curves("latency", "One-way message latency", "us, half a ping-pong, median", latency,
                  xlabel="message size, bytes")
    figure.curves("bandwidth", "Message bandwidth", "Gbps, streaming one way", bandwidth,
                  xlabel="message size, bytes")
    # TCP alone is no figure 8
    for part in figure.parts:
        figure.parts[part] = any("threshold" in s.label and not s.kind.endswith(" local") and
                                 not s.label.startswith(VIRTUAL) for s in latency)
    best = {}
    for plan in run.rmc_paths():
        with figure.optional(f"{plan.label}: best threshold"):
            best[plan.label] = results.get(j.netpipe(plan)).get("best_threshold")
    row = paper["table"]["rows"][0]
    figure.compare("Threshold between push and pull",
                   [(row["metric"], row["unit"], row["values"], best)], run.rmc_paths())
