# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""R25 figures 20, 22, 25 and 26: a switch between compute and storage nodes."""

from .. import r25
from . import Table
from .r25_latches import compare
from .r25_reads import claims

ORDER = 303
NEEDS_RMC = False
TITLE = "A switch that latches, and judges reads"
PAPER = "r25-sync"
DIFFERS = ("in virtual time. That the switch answers in half of the round trip is an input. It has no time of its own "
           "for a message; what limits figure 22 is a time of the clients' adapters, fitted to that figure. Workers have "
           "a core each, where the paper puts several on one.")
PARTS = {
    "22": "the peak was an input, and clients' adapters hold all queue pairs (assumed); the adapter is that of figure 4.",
}
MIXED = ("512 workers, {} B (figure 26)", "millions per second", "writes, percent")
CURVES = {
    "22": ("Atomics of a switch (figure 22)", "millions per second", "workers"),
    **{f"26-{size}": (MIXED[0].format(size), *MIXED[1:]) for size in (64, 256, 1024)},
}
QUICK = ("22", "26-256")
# part, title
TABLES = (("20", "One atomic (figure 20)"), ("25", "One tuple of 1 KiB (figure 25)"))


def jobs(run):
    if run.has("virtual"):
        yield r25.job(run.quick)


def show(run, results, paper, figure):
    if not run.has("virtual"):
        return
    for part, (title, unit, xlabel) in CURVES.items():
        if run.quick and part not in QUICK:
            continue
        with figure.optional(f"virtual time: figure {part}"):
            figure.curves(part, title, unit, r25.curves(results.get(r25.job(run.quick)), part), xlabel=xlabel,
                          logx=part == "22")
    for part, title in TABLES:
        with figure.optional(f"virtual time: figure {part}"):
            rows = [[s.label.removeprefix("virtual time: "), s.points[0][1]]
                    for s in r25.curves(results.get(r25.job(run.quick)), part)]
            figure.part(part, rows)
            figure.blocks.append(Table(title, [("", ""), ("ns", "native")], rows, f"Computed. {DIFFERS}"))
    compare(run, results, paper, figure, ("fig. 20", "fig. 22", "fig. 25"))
    if run.quick:
        return
    with figure.optional("virtual time: what a switch is for"):
        figure.part("conclusions", True)
        figure.blocks.append(Table(
            "What a switch is for", [("conclusion", ""), ("quotient", ""), ("here", "native"), ("", "native")],
            claims([results.get(r25.job(run.quick))], r25.SWITCH_CLAIMS)))
