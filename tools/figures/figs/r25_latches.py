# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""R25 figures 4, 5, 8 to 10, 17 and 18: atomics of network adapters, and latches."""

from .. import jobs as j, r25
from ..base import Missing
from . import Table

ORDER = 301
NEEDS_RMC = False
TITLE = "One-sided latches: atomics, optimizations, skew"
PAPER = "r25-sync"
DIFFERS = ("in virtual time, with the real core and library behind a model of the adapter, whose constants are "
           "fitted to figure 4 and to one point of figure 10. Objects have as many bytes as the paper's tuples, words "
           "included, and are padded by a line, not by 8 bytes.")
PARTS = {
    "4": "all points that the paper prints were inputs; what happens between them is not.",
    "5": "64 B is figure 4 again, an input. Others follow from the slots of the lock table.",
    "17": "two hosts with two adapters each are two nodes; their peak is not printed.",
    "18": "both peaks were inputs. What is not: that calls do not care which words they are for.",
    "8": "the paper prints no values, only an order.",
    "10-256-read-only": "a worker's post and poll take assumed times. The point at 2 was an input (reads).",
}
# part: (title, unit, label of x, scale of x)
CURVES = {
    "4": ("Atomics of one word, and of words of their own (figure 4)", "millions per second", "workers", 1),
    "5": ("Strides of words, padded or not (figure 5)", "millions per second", "workers", 1),
    "17": ("The same, 400 Gb/s (figure 17)", "millions per second", "workers", 1),
    "18": ("Latches by calls to an adapter's cores (figure 18)", "millions per second", "workers", 1),
    "9": ("Writes under a latch, 256 B (figure 9)", "millions per second", "workers", 1),
    "10-256-read-only": ("NAM-DB, reads, 256 B (figure 10)", "millions per second", "Zipf exponent", 100),
    "10-256-write-only": ("NAM-DB, writes, 256 B (figure 10)", "millions per second", "Zipf exponent", 100),
    "10-512-read-only": ("NAM-DB, reads, 512 B (figure 10)", "millions per second", "Zipf exponent", 100),
    "10-512-write-only": ("NAM-DB, writes, 512 B (figure 10)", "millions per second", "Zipf exponent", 100),
}
# of other figures than the usual one's
ADAPTER = {"17": r25.NEW, "18": r25.CORES}
NO_PROOF = ("Quotients of rows that were no input are predictions: constants were committed before the first run. "
            "What they rest on is in Documentation/sync-figures.rst.")


def jobs(run):
    if run.has("virtual"):
        yield r25.job(run.quick)
        yield r25.job(run.quick, r25.NEW)
        yield r25.job(run.quick, r25.CORES)


def show(run, results, paper, figure):
    if not run.has("virtual"):
        return
    for part, (title, unit, xlabel, scale) in CURVES.items():
        if run.quick and part.startswith("10-512"):
            continue
        with figure.optional(f"virtual time: figure {part}"):
            document = results.get(r25.job(run.quick, ADAPTER.get(part, r25.COSTS)))
            figure.curves(part, title, unit, r25.curves(document, part, scale=scale), xlabel=xlabel,
                          logx=scale == 1)
    with figure.optional("virtual time: figure 8"):
        document = results.get(r25.job(run.quick))
        rows = [[s.label.removeprefix("virtual time: "), s.points[0][1]] for s in r25.curves(document, "8")]
        figure.part("8", rows)
        figure.blocks.append(Table("One thread, 256 B (figure 8)", [("", ""), ("thousands per second", "native")],
                                   rows, f"Computed. {PARTS['8']}"))
    compare(run, results, paper, figure, ("fig. 4", "fig. 5", "fig. 10", "fig. 17", "fig. 18"))


def compare(run, results, paper, figure, which):
    """The rows of the paper's table whose metrics begin so, beside virtual time"""
    plan, found, fitted = run.plans["virtual"], [], {}
    for row in paper["table"]["rows"]:
        if not row["metric"].startswith(which):
            continue
        number = {}
        with figure.optional(f"{plan.label}: {row['metric']}"):
            number[plan.label] = r25.here(results.get(r25.job(run.quick, row.get("costs", r25.COSTS))), *row["here"])
        if r25.given(row):
            fitted[row["metric"], plan.label] = r25.given(row)
        found.append((row["metric"], row["unit"], row["values"], number))
    figure.part("table", any(number for *_, number in found))
    figure.compare("Where the paper gives numbers", found, [plan], NO_PROOF, fitted=fitted)


