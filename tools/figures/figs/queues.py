# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""T18 section 5.1: X queues with Y servers each. Computed, not measured: by rmc_qsim."""

from .. import jobs as j
from ..base import Missing
from ..plot import Plot, Series
from . import Table

ORDER = 130
NEEDS_RMC = False
TITLE = "Queueing systems for 16 servers"
PAPER = "t18-queues"
DIFFERS = "parameters of the service times are not printed, and assumed."
SYSTEMS = ("1x16", "2x8", "4x4", "8x2", "16x1")
SERVICES = ("fixed", "uniform", "exponential", "gev")
NOTE = ("Computed by rmc_qsim, not measured. Service times: 300 ns, and 300 ns on average of the "
        "distribution (published for section 8.2.1, assumed for 5.1); uniform from 0 to 600 ns (assumed); GEV of location 363, scale "
        "100, shape 0.65, stretched to that mean (assumed; the thesis prints no parameters).")


def qsim(plan, command):
    n = "100000" if plan.quick else "1000000"
    return j.Job("computed", f"qsim-{command}", ("rmc_qsim", "-q", "-j", "-n", n, command),
                 2 if plan.quick else 20)


def jobs(run):
    if run.has("computed"):
        for command in ("service", "curve", "peak"):
            yield qsim(run.plans["computed"], command)


def rows(document, field, **wanted):
    """[(load or None, value)] of the rows with these values"""
    try:
        found = [(r.get("load"), r[field]) for r in document["rows"]
                 if all(r[k] == v for k, v in wanted.items())]
    except (KeyError, TypeError):
        raise Missing(f"its JSON has no rows with {field}") from None
    if not found:
        raise Missing(f"its JSON has no rows of {wanted}")
    return found


def densities(document):
    """Figure 5.2: density against time in mean service times"""
    found = []
    for service in SERVICES:
        bins = rows(document, "density_per_ns", service=service)[0][1]
        found.append(Series(service, [(round((i + 0.5) / 10, 2), y)
                                      for i, y in enumerate(bins) if i < 30]))
    return found


def curve(document, service, system, label):
    # the limit is ten: what is far above it would flatten the rest
    return Series(label, [(load, y) for load, y in rows(document, "tail_mean_service_times",
                                                        service=service, system=system) if y < 20])


def lost(document):
    """{service: [percent lost against the first system]}"""
    return {service: [100 * rows(document, "lost", service=service, system=s)[0][1]
                      for s in SYSTEMS[1:]] for service in SERVICES}


def plot(figure, part, title, xlabel, ylabel, series):
    """A plot, and its values as a table"""
    figure.part(part, True)
    figure.blocks.append(Plot(f"queues-{part}", title, xlabel, ylabel, series, logy=False,
                              logx=False))
    xs = sorted({x for s in series for x, _ in s.points})
    figure.blocks.append(Table(f"{title}: {ylabel}", [(xlabel, "")] +
                               [(s.label, s.kind) for s in series],
                               [[str(x)] + [dict(s.points).get(x) for s in series] for x in xs]))


def show(run, results, paper, figure):
    if not run.has("computed"):
        return
    plan = run.plans["computed"]
    with figure.optional("service times"):
        plot(figure, "5.2", "Figure 5.2: service times", "mean service times", "density, per ns",
             densities(results.get(qsim(plan, "service"))))
    with figure.optional("latency against load"):
        document = results.get(qsim(plan, "curve"))
        for part, title, series in (
                ("5.3a", "1x16", [curve(document, s, "1x16", s) for s in SERVICES]),
                ("5.3b", "16x1", [curve(document, s, "16x1", s) for s in SERVICES]),
                ("5.3c", "exponential", [curve(document, "exponential", x, x) for x in SYSTEMS])):
            plot(figure, part, f"Figure {part}: {title}", "load of all servers",
                 "99th percentile, mean service times", series)
    with figure.optional("table 5.1"):
        here = lost(results.get(qsim(plan, "peak")))
        figure.part("table 5.1", True)
        figure.blocks.append(Table(
            "Table 5.1: throughput lost against 1x16, %",
            [("", "")] + [head for c in paper["table"]["columns"]
                          for head in ((f"paper: {c}", "paper"), (f"{c}, computed", "native"))],
            [[row["metric"]] + [value for pair in zip(row["values"], here[row["metric"]])
                                for value in pair] for row in paper["table"]["rows"]], NOTE))
