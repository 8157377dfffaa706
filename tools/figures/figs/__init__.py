# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The figures. A module here is one, and has

    ORDER       position on the page
    NEEDS_RMC   True: without a machine that runs the module it cannot be complete
    TITLE       heading
    PAPER       its file in papers/
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


class Figure:
    """Plots and tables of one figure, and its missing parts."""

    def __init__(self, name, module, paper):
        self.name, self.title, self.paper = name, module.TITLE, paper
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
            self.blocks.append(Plot(f"{self.name}-{part}", title, xlabel, ylabel,
                                    plotted + printed, **options))
        series = measured + printed
        xs = sorted({x for s in series for x, _ in s.points})
        self.blocks.append(Table(
            f"{title}: {ylabel}", [(xlabel, "")] + [(s.label, s.kind) for s in series],
            [[str(x)] + [dict(s.points).get(x) for s in series] for x in xs]))

    def compare(self, title, rows, plans, note=""):
        """The paper's table with a column per machine: rows are its rows by metric, with
        {label of a machine: value}."""
        printed = self.paper["table"]
        self.blocks.append(Table(
            title, [("", "")] + [(f"paper: {c}", "paper") for c in printed["columns"]] +
            [(p.label, p.kind) for p in plans],
            [[f"{metric}, {unit}" if unit else metric] +
             (values or [None] * len(printed["columns"])) + [here.get(p.label) for p in plans]
             for metric, unit, values, here in rows], note))


def modules():
    """{name: module} in the order of the page"""
    found = [(m.name, importlib.import_module(f"{__name__}.{m.name}"))
             for m in pkgutil.iter_modules(__path__)]
    return dict(sorted(found, key=lambda pair: pair[1].ORDER))
