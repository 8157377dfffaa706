# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""T18 section 6.5 in threads: the module's NI organisations, by build/host/ni_bench. What it computes
are costs of this machine's threads in virtual time; the thesis' are of a chip (figs/chip.py)."""

from .. import jobs as j
from ..base import Missing
from ..plot import Plot, Series
from . import Table

ORDER = 125
NEEDS_RMC = False
TITLE = "NI organisations in threads"
PAPER = "t18-chip"
DIFFERS = ("threads hand over lines between CPUs, the thesis' chip flits between tiles: only ratios between "
           "organisations are comparable.")
DESIGNS = {"edge": "edge", "per-tile": "per_tile", "split": "split"}       # of the thesis: of ni=
UNITS = (2, 4, 8)
GHZ = 2                         # of the thesis' chip
NOTE = ("Computed: each worker and each application has a CPU of its own in virtual time; its visits are "
        "run and timed on this machine (ni_bench). Threads hand over lines between CPUs, the chip flits "
        "between tiles, so only ratios between organisations are comparable. Documentation/ni.rst.")


def job(plan):
    return j.Job("host", "ni_bench", ("host/ni_bench", *(("--quick",) if plan.quick else ()), "--json"),
                 40 if plan.quick else 150)


def jobs(run):
    if run.has("host"):
        yield job(run.plans["host"])


class Rows:
    """Values of its JSON by part, what, organisation, units and size"""

    def __init__(self, document):
        try:
            self.rows = document["rows"]
            self.found = {(r["part"], r["what"], r["ni"], r["units"], r["bytes"]): r
                          for r in self.rows if r["what"] != "skipped"}
        except (KeyError, TypeError):
            raise Missing("its JSON is not that of ni_bench") from None
        if not self.found:
            raise Missing("it has no row")

    def value(self, what, ni, units, size):
        row = self.found.get(("computed", what, ni, units, size))
        return row and self.of(row)

    @staticmethod
    def of(row):
        try:
            return row["ns" if row["what"] == "latency" else "gbps"]
        except KeyError as e:
            raise Missing(f"its JSON has a row without {e}") from None

    def curve(self, what, ni, units):
        return sorted((size, self.value(what, ni, units, size)) for part, kind, name, n, size in self.found
                      if (part, kind, name, n) == ("computed", what, ni, units))


def ratio(here, there):
    return here / there if here is not None and there else None


def printed(paper, metric):
    row = next(r for r in paper["table"]["rows"] if r["metric"] == metric)
    return dict(zip(paper["table"]["columns"], row["values"]))


def latency(figure, paper, rows):
    cycles, body = printed(paper, "mesh: total"), []
    for units in UNITS:
        edge = rows.value("latency", "edge", units, 64)
        for design, ni in DESIGNS.items():
            here, there = rows.value("latency", ni, units, 64), cycles[design] / GHZ
            over, printed_over = ratio(here, edge), cycles[design] / cycles["edge"]
            body.append([f"{design}, {units} units", there, here, ratio(here, there),
                         printed_over, over, ratio(over, printed_over)])
    figure.part("6.3", True)
    figure.blocks.append(Table(
        "Table 6.3: a blocking read of 64 B, both nodes issue", [
            ("", ""), ("paper, ns", "paper"), ("computed, ns", "native"), ("computed / paper", ""),
            ("paper, of edge", "paper"), ("computed, of edge", "native"), ("computed / paper, of edge", "")],
        body, NOTE))


def bandwidth(figure, paper, rows):
    peak, large, body = printed(paper, "peak, class-based routing"), printed(paper, "8 KiB, of edge"), []
    for units in UNITS:
        edge = rows.value("bandwidth", "edge", units, 8192)
        for design, ni in DESIGNS.items():
            values = [v for _, v in rows.curve("bandwidth", ni, units)]
            here = 2 * max(values) if values else None
            eight = rows.value("bandwidth", ni, units, 8192)
            of_edge = 100 * eight / edge if eight is not None and edge else None
            body.append([f"{design}, {units} units", peak[design], here, ratio(here, peak[design]),
                         large[design], of_edge, ratio(of_edge, large[design])])
    figure.part("6.9", True)
    figure.blocks.append(Table(
        "Figure 6.9: peak, in and out, GB/s; and at 8 KiB, % of edge", [
            ("", ""), ("paper: peak", "paper"), ("computed: peak", "native"), ("computed / paper", ""),
            ("paper: 8 KiB, of edge", "paper"), ("computed: 8 KiB, of edge", "native"),
            ("computed / paper, of edge", "")],
        body, NOTE))


def curves(figure, rows, part, what, title, ylabel):
    for units in UNITS:
        series = [Series(f"{ni}, computed", rows.curve(what, ni, n)) for ni, n in
                  (("fused", 1), ("pair", 1), *((ni, units) for ni in DESIGNS.values()))]
        series = [s for s in series if s.points]
        if not series:
            raise Missing(f"its JSON has no {what} of {units} units")
        figure.part(part, True)
        figure.blocks.append(Plot(f"ni-{part}-{units}", f"Figure {part}, {units} units: {title}",
                                  "request size, bytes", ylabel, series))
        xs = sorted({x for s in series for x, _ in s.points})
        figure.blocks.append(Table(f"Figure {part}, {units} units: {title}: {ylabel}",
                                   [("request size, bytes", "")] + [(s.label, s.kind) for s in series],
                                   [[str(x)] + [dict(s.points).get(x) for s in series] for x in xs]))


def threads(figure, rows):
    """What has a CPU for each thread here is measured as well; the ratio is the error of the model"""
    body = []
    for row in rows.rows:
        name = row["ni"] + (f", {row['units']} units" if row["units"] > 1 else "")
        if row["part"] == "threads" and row["what"] == "skipped":
            body.append([name, f"not measured: needs {row['needs']} CPUs, this machine has {row['has']}",
                         None, None, None])
        elif row["part"] == "threads":
            beside = rows.found.get(("beside threads", row["what"], row["ni"], row["units"], row["bytes"]))
            here, there = beside and rows.of(beside), rows.of(row)
            unit = "ns" if row["what"] == "latency" else "GB/s"
            body.append([name, f"{row['what']}, {row['bytes']} B, {unit}", there, here, ratio(here, there)])
    figure.blocks.append(Table(
        "Threads, each pinned to a CPU of its own, and the same computed",
        [("", ""), ("", ""), ("measured", "native"), ("computed", "native"), ("computed / measured", "")],
        body))


def show(run, results, paper, figure):
    if not run.has("host"):
        return
    for part in ("6.3", "6.8", "6.9"):
        figure.part(part, False)
    with figure.optional("NI organisations in threads"):
        rows = Rows(results.get(job(run.plans["host"])))
        latency(figure, paper, rows)
        bandwidth(figure, paper, rows)
        curves(figure, rows, "6.8", "latency", "blocking reads", "latency, ns")
        curves(figure, rows, "6.9", "bandwidth", "all applications read", "GB/s of each node")
        threads(figure, rows)
