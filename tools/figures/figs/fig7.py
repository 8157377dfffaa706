# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""A14 figure 7: remote reads against request size, single- and double-sided."""

from .. import jobs as j
from ..base import Missing
from ..plot import Series

ORDER = 107
NEEDS_RMC = False
TITLE = "Remote reads: latency and bandwidth against request size"
PAPER = "a14-fig7"
LINE = 64               # the papers' packet payload


def jobs(run):
    if run.has("host"):
        yield j.sweep(run.plans["host"])
        yield j.sweep(run.plans["host"], mtu=LINE)
    for plan in run.rmc_machines():
        for tool in ("rmc_read_lat", "rmc_read_bw"):
            for double in (False, True):
                yield j.remote(plan, tool, double)


def _both(results, job, field, scale, combine):
    """Of a double-sided run the values of both nodes, combined size by size."""
    a = j.points(results.get(job, 0), field, scale)
    b = dict(j.points(results.get(job, 1), field, scale))
    return [(x, combine(y, b[x])) for x, y in a if x in b]


def latencies(run, results, figure):
    field = "t_typical_usec"
    for plan in run.rmc_machines():
        with figure.optional(f"{plan.label}: latency"):
            job = j.remote(plan, "rmc_read_lat")
            yield Series(results.label(plan, job), j.points(results.get(job), field),
                         plan.kind)
        with figure.optional(f"{plan.label}: latency, double-sided"):
            job = j.remote(plan, "rmc_read_lat", True)
            yield Series(f"{results.label(plan, job)}, double-sided",
                         _both(results, job, field, 1, lambda a, b: (a + b) / 2), plan.kind)
    yield from _host(run, results, figure, "read-latency", field, 1)


def bandwidths(run, results, figure):
    field = "bw_typical_bytes_per_sec"
    for plan in run.rmc_machines():
        with figure.optional(f"{plan.label}: bandwidth"):
            job = j.remote(plan, "rmc_read_bw")
            yield Series(results.label(plan, job), j.points(results.get(job), field, 1e-9),
                         plan.kind)
        with figure.optional(f"{plan.label}: bandwidth, double-sided"):
            job = j.remote(plan, "rmc_read_bw", True)
            yield Series(f"{results.label(plan, job)}, double-sided",
                         _both(results, job, field, 1e-9, lambda a, b: a + b), plan.kind)
    yield from _host(run, results, figure, "read-bandwidth", field, 1e-9)


def _host(run, results, figure, name, field, scale):
    if not run.has("host"):
        return
    plan = run.plans["host"]
    for mtu, double in ((None, False), (None, True), (LINE, False)):
        label = (f"{plan.label}, core alone" + (", double-sided" if double else "") +
                 (f", packets of {mtu} B" if mtu else ""))
        with figure.optional(f"{label}: {name}"):
            found = results.get(j.sweep(plan, mtu))
            yield Series(label, j.points(j.series(found, name + ("-double" if double else "")),
                                         field, scale), plan.kind)


def limits(results, paper, plan):
    """The limit of the host, and a read in comparison."""
    found = results.get(j.sweep(plan))
    try:
        line, access, copy = (found["limits"][k] for k in (
            "line_ping_pong_usec", "dependent_read_usec", "memcpy_bytes_per_sec"))
        read = dict(j.points(j.series(found, "read-latency"), "t_typical_usec"))[LINE]
    except KeyError as e:
        raise Missing(f"its JSON lacks {e}") from None
    here = {"line to and fro between two CPUs": line, "dependent local read": access,
            "remote read / local read": read / access, "memory bandwidth": copy / 1e9}
    return [(row["metric"], row["unit"], row["values"], {plan.label: here[row["metric"]]})
            for row in paper["table"]["rows"]]


def show(run, results, paper, figure):
    figure.curves("latency", "Remote read latency", "us, round trip, median",
                  list(latencies(run, results, figure)))
    figure.curves("bandwidth", "Remote read bandwidth", "GB/s, both directions together",
                  list(bandwidths(run, results, figure)))
    if run.has("host"):
        plan = run.plans["host"]
        with figure.optional(f"{plan.label}: limits"):
            figure.compare("Limits beside it", limits(results, paper, plan), [plan],
                           "The core alone, in the same run.")
