# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The figures. A module here is one, and has

    ORDER       position on the page
    NEEDS_RMC   True: without a machine that runs the module it cannot be complete
    TITLE       heading
    PAPER       its file in papers/
    DIFFERS     what differs from the paper, in one line
    PARTS       more of that for single plots, {part: line}; may be missing
    jobs(run)   its runs on the available machines
    show(run, results, paper, figure)
                add plots and tables to the figure: see Figure

Its name is the module's.
"""

import contextlib
import importlib
import pkgutil

from .. import papers
from ..base import Missing
from ..plot import Plot, Series


class Table:
    """head: [(text, kind)], rows: [[text or number]], the first column names the row."""

    def __init__(self, title, head, rows, note=""):
        self.title, self.head, self.rows, self.note = title, head, rows, note


def same_mode(series, label):
    """Whether a curve is of what a published series is of"""
    if "curve" in series:
        return label.endswith(series["curve"])
    mode = series["mode"]
    if mode in ("best", "tcp", "rdma"):
        return {"best": "best threshold", "tcp": "TCP"}.get(mode, "no curve here") in label
    return (mode == "double") == ("double-sided" in label)


def ratio(here, there):
    """Ours / the paper's, where both are numbers"""
    numbers = all(isinstance(x, (int, float)) for x in (here, there))
    return here / there if numbers and there else None


class Figure:
    """Plots and tables of one figure, and its missing parts."""

    def __init__(self, name, module, paper):
        self.name, self.title, self.paper = name, module.TITLE, paper
        self.differs, self.more = module.DIFFERS, getattr(module, "PARTS", {})
        self.blocks = []
        self.gaps = []          # (what, reason)
        self.parts = {}         # part -> whether anything measured is there

    @contextlib.contextmanager
    def optional(self, what):
        """Parts added in this context may be missing: then the page says so."""
        try:
            yield
        except Missing as e:
            self.gaps.append((what, str(e)))

    def part(self, name, measured):
        self.parts[name] = self.parts.get(name, False) or bool(measured)

    def complete(self):
        return bool(self.parts) and all(self.parts.values())

    @staticmethod
    def expected(run, module):
        """True if a machine here should produce it."""
        if module.NEEDS_RMC:
            return bool(run.rmc_machines())
        return any(True for _ in module.jobs(run))

    def curves(self, part, title, ylabel, measured, xlabel="request size, bytes", **options):
        """A plot of measured and published values, and the same as a table; the local path,
        which no paper has, is in the table only."""
        printed = [Series(f"paper: {s['platform']}" +
                          (", double-sided" if s["mode"] == "double" else ""),
                          [tuple(p) for p in s["points"]], "paper")
                   for s in papers.series(self.paper, part)]
        measured = [s for s in measured if s.points]
        plotted = [s for s in measured if not s.kind.endswith(" local")]
        self.part(part, plotted)
        if plotted:
            self.blocks.append(Plot(f"{self.name}-{part}", title, xlabel, ylabel, plotted + printed,
                                    note=self.caption(part, printed), **options))
            self.beside(part, title, plotted)
        series = measured + printed
        xs = sorted({x for s in series for x, _ in s.points})
        self.blocks.append(Table(
            f"{title}: {ylabel}", [(xlabel, "")] + [(s.label, s.kind) for s in series],
            [[str(x)] + [dict(s.points).get(x) for s in series] for x in xs]))

    def caption(self, part, printed):
        """Below a plot: path, machines, and what differs, in one line"""
        return ("In packets; the machine is in the name of each curve. " +
                ("" if printed else "The paper prints no value of it. ") +
                f"What differs: {self.more.get(part, self.differs)}")

    def beside(self, part, title, plotted):
        """Each curve / each point of the paper that is of the same"""
        points = [(s, x, y) for s in papers.series(self.paper, part) for x, y in s["points"]]
        rows = [[curve.label] + [ratio(dict(curve.points).get(x), y) if same_mode(s, curve.label)
                                 else None for s, x, y in points] for curve in plotted]
        rows = [row for row in rows if any(v is not None for v in row[1:])]
        if rows:
            self.blocks.append(Table(
                f"Here / paper: {title}", [("", "")] +
                [(f"{s['platform']}, {x} {s.get('of_x', 'B')}: {y} {s['unit']}", "paper") for s, x, y in points], rows,
                "Quotients, where the curve has the same size and mode."))

    def compare(self, title, rows, plans, note="", against=None, fitted=()):
        """The paper's table with a column per machine, and its quotient: rows are its rows by metric,
        with {label of a machine: value}; against: {label: column of the paper, not the first};
        fitted: (metric, label) that were an input of the model; a dict says what they were."""
        printed = self.paper["table"]

        def quotient(metric, values, here, label):
            if (metric, label) in fitted and here.get(label) is not None:
                return fitted[metric, label] if isinstance(fitted, dict) else "fitted"
            column = (against or {}).get(label, 0)
            return ratio(here.get(label), values[column] if values else None)

        self.blocks.append(Table(
            title, [("", "")] + [(f"paper: {c}", "paper") for c in printed["columns"]] +
            [(p.label, p.kind) for p in plans] +
            [(f"{p.label} / {printed['columns'][(against or {}).get(p.label, 0)]}",
              "native local" if p.over_local else "") for p in plans],
            [[f"{metric}, {unit}" if unit else metric] +
             (values or [None] * len(printed["columns"])) + [here.get(p.label) for p in plans] +
             [quotient(metric, values, here, p.label) for p in plans]
             for metric, unit, values, here in rows], note))


def modules():
    """{name: module} in the order of the page"""
    found = [(m.name, importlib.import_module(f"{__name__}.{m.name}"))
             for m in pkgutil.iter_modules(__path__)]
    return dict(sorted(found, key=lambda pair: pair[1].ORDER))
