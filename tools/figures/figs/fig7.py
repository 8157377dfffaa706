# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""A14 figure 7: remote reads against request size, single- and double-sided."""

from .. import jobs as j
from ..base import Missing
from ..plot import Series

ORDER = 107
NEEDS_RMC = False
TITLE = "Remote reads: latency and bandwidth against request size"
PAPER = "a14-fig7"
DIFFERS = ("the buffer is 64 MiB, or 4 MiB in virtual time, where no cache is simulated, so that "
           "double-sided reads are not slower there; a curve says its packets.")
PARTS = {"bandwidth": "virtual time has packets of 64 B; with measured costs the RRPP's CPU waits for all "
                      "lines of a run but the first, which it has prefetched, and no hardware does so for it. The "
                      "chip's memory reaches what table 1 says, which the paper's did not."}
LINE = 64               # the papers' packet payload


def jobs(run):
    for plan in run.hosts():
        yield j.sweep(plan)
    if run.has("host"):
        yield j.sweep(run.plans["host"], mtu=LINE)
    if run.has("virtual"):
        for costs in j.COSTS:
            yield j.virtual("sonuma", costs, run.quick)
    for plan in run.rmc_paths():
        for tool in ("rmc_read_lat", "rmc_read_bw"):
            for double in (False, True):
                yield j.remote(plan, tool, double)


def _both(plan, results, job, field, scale, combine):
    """Of a double-sided run the values of both nodes, combined size by size."""
    a = j.points(plan, results.get(job, 0), field, scale)
    b = dict(j.points(plan, results.get(job, 1), field, scale))
    return [(x, combine(y, b[x])) for x, y in a if x in b]


def _machines(run, results, figure, tool, field, scale, combine):
    for machine in run.rmc_machines():
        for double in (False, True):
            for plan in machine.paths():
                details = ["double-sided"] if double else []
                with figure.optional(f"{plan.labelled(*details)}: {tool}"):
                    job = j.remote(plan, tool, double)
                    yield Series(results.label(plan, job, *details),
                                 _both(plan, results, job, field, scale, combine) if double else
                                 j.points(plan, results.get(job), field, scale), plan.kind)


def _host(run, results, figure, name, field, scale):
    for mtu, double in ((None, False), (None, True), (LINE, False)):
        details = ["core alone"] + (["double-sided"] if double else []) + \
            ([f"packets of {mtu} B"] if mtu else [])
        for plan in run.hosts()[:1 if mtu else None]:
            with figure.optional(f"{plan.labelled(*details)}: {name}"):
                found = j.series(results.get(j.sweep(plan, mtu)), name + ("-double" if double else ""))
                yield Series(plan.labelled(*details), j.points(plan, found, field, scale), plan.kind)


def _virtual(run, results, figure, name):
    """Two workers per node, which few machines here have CPUs for; packets of 64 B"""
    for costs, said in (j.COSTS.items() if run.has("virtual") else ()):
        for series, detail in ((name, []), (f"{name}, double-sided", ["double-sided"])):
            plan = run.plans["virtual"]
            with figure.optional(f"{plan.labelled(said, *detail)}: {name}"):
                document = results.get(j.virtual("sonuma", costs, run.quick))
                yield Series(plan.labelled(said, *detail), j.virtual_rows(document, "7", series))


def latencies(run, results, figure):
    field = "t_typical_usec"
    yield from _machines(run, results, figure, "rmc_read_lat", field, 1, lambda a, b: (a + b) / 2)
    yield from _host(run, results, figure, "read-latency", field, 1)
    yield from _virtual(run, results, figure, "latency")


def bandwidths(run, results, figure):
    field = "bw_typical_bytes_per_sec"
    yield from _machines(run, results, figure, "rmc_read_bw", field, 1e-9, lambda a, b: a + b)
    yield from _host(run, results, figure, "read-bandwidth", field, 1e-9)
    yield from _virtual(run, results, figure, "bandwidth")


def limits(results, paper, plan):
    """The limit of the host, and a read in comparison."""
    found = results.get(j.sweep(plan))
    try:
        line, access, copy = (found["limits"][k] for k in (
            "line_ping_pong_usec", "dependent_read_usec", "memcpy_bytes_per_sec"))
        read = dict(j.points(plan, j.series(found, "read-latency"), "t_typical_usec"))[LINE]
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
