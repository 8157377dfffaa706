# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""R25 figures 1b, 11 and 14 to 16: optimistic reads; its table 1, and what is left on a chip of soNUMA."""

from .. import r25
from ..base import Missing
from . import Table
from .r25_latches import compare

ORDER = 302
NEEDS_RMC = False
TITLE = "Optimistic reads beside latches, table 1, and soNUMA"
PAPER = "r25-sync"
DIFFERS = ("in virtual time, as above. FaRM's and CRC's checks take the time of this tree's code on one machine: "
           "the reader strips versions, where the paper's only compares them. The tree is the authors' reduced "
           "one: three levels, the key says which node.")
PARTS = {
    "1b": "16 slots are written in turn and read at random, 50 ns between steps of the adapter (assumed): shares "
          "are the model's; the paper's buffer has 50 MB, so its shares are small.",
    "11": "with fetch-and-add as fast as compare-and-swap the latched tree would fill the port, too: the table below.",
    "14": "the paper's checks are of its CPU.",
}
CURVES = {
    "1b": ("Torn reads whose ends are alike (figure 1b)", "percent of reads", "size, bytes", "bytes"),
    "11": ("Lookups in a tree of 4 KiB nodes (figure 11)", "millions per second", "workers", "nodes"),
    "14": ("One thread, by size (figure 14a)", "thousands per second", "size, bytes", "bytes"),
    "14-slower": ("Slower than the broken one (figure 14b)", "percent", "size, bytes", "bytes"),
    "15-read": ("Reads, 256 B (figure 15)", "millions per second", "workers", "nodes"),
    "15-write": ("Writes, 256 B (figure 15)", "millions per second", "workers", "nodes"),
    "16-112-read-only": ("OPT-DB, reads, 112 workers (figure 16)", "millions per second", "Zipf exponent", "nodes"),
    "16-112-write-only": ("OPT-DB, writes, 112 workers (figure 16)", "millions per second", "Zipf exponent", "nodes"),
    "16-224-read-only": ("OPT-DB, reads, 224 workers (figure 16)", "millions per second", "Zipf exponent", "nodes"),
    "16-224-write-only": ("OPT-DB, writes, 224 workers (figure 16)", "millions per second", "Zipf exponent", "nodes"),
}
# part, series, where, title, columns: the profile, and with another constant
OTHERS = (
    ("11", ("unsynchronized", "optimistic", "pessimistic"), ("11", 4096, 64),
     "Figure 11, 64 workers: what the cost of fetch-and-add decides",
     ("731 ns, fitted to figure 10", "431 ns, as compare-and-swap")),
    ("16", ("NAM-DB++", "FaRM", "CRC64 by tables", "versioning"), ("16-112-write-only", 512, 250),
     "Figure 16, writes, most skew: what the adapter's buffer of atomics decides",
     ("atomics see writes at once", "after at most 50 us, chosen with this figure in view")),
)
LINEAR = ("1b", "14-slower")


def jobs(run):
    if run.has("virtual"):
        yield r25.job(run.quick)
        yield r25.job(run.quick, r25.CHIP)
        yield from (r25.other(part) for part in r25.OTHER)


def table1(document):
    """[[operation, messages, round trips, atomics]]"""
    kinds = ("messages", "round-trips", "atomics")
    names = [s.label.removeprefix("virtual time: ") for s in r25.curves(document, "table1-messages")]
    return [[name] + [r25.value(document, f"table1-{kind}", 256, 1, name) for kind in kinds] for name in names]


def claims(documents, which=r25.CLAIMS):
    """[[conclusion, quotient and verdict of each document]]"""
    rows = []
    for text, limit, one, two in which:
        cells = []
        for document in documents:
            quotient, holds = r25.claim(document, limit, one, two)
            cells += [quotient, "holds" if holds else "does not"]
        rows.append([text, f"at {'least' if limit > 0 else 'most'} {abs(limit)}"] + cells)
    return rows


def show(run, results, paper, figure):
    if not run.has("virtual"):
        return
    for part, (title, unit, xlabel, xs) in CURVES.items():
        if run.quick and part.startswith("16-224"):
            continue
        with figure.optional(f"virtual time: figure {part}"):
            found = r25.curves(results.get(r25.job(run.quick)), part, xs, 100 if part.startswith("16") else 1)
            if part == "1b":
                found = [s for s in found if "alike" in s.label]
            figure.curves(part, title, unit, found, xlabel=xlabel, logy=part not in LINEAR,
                          logx=not part.startswith("16"))
    compare(run, results, paper, figure, ("fig. 11", "fig. 15", "fig. 16"))
    for part, names, where, title, columns in OTHERS:
        with figure.optional(f"virtual time: {title}"):
            rows = [[name] + [r25.value(results.get(job), *where, name)
                              for job in (r25.job(run.quick), r25.other(part))] for name in names]
            figure.blocks.append(Table(title, [("millions per second", "")] + [(c, "native") for c in columns], rows))
    with figure.optional("virtual time: table 1"):
        figure.part("table 1", True)
        figure.blocks.append(Table(
            "Table 1, counted", [("of an operation that nobody is in the way of", ""), ("messages", "native"),
                                 ("round trips that are waited for", "native"), ("atomics", "native")],
            table1(results.get(r25.job(run.quick))),
            "The paper prints 2 for each row: atomics of latches, messages of optimistic reads; versioning is wrong "
            "with 2 and right with 3."))
    with figure.optional("virtual time: conclusions on soNUMA"):
        documents = [results.get(r25.job(run.quick, costs)) for costs in (r25.COSTS, r25.CHIP)]
        figure.part("soNUMA", True)
        figure.blocks.append(Table(
            "Which conclusions are left on a chip of soNUMA",
            [("conclusion", ""), ("quotient", ""), ("ConnectX-5", "native"), ("", "native"), ("soNUMA", "native"),
             ("", "native")], claims(documents),
            "soNUMA: a read of a line in 355 ns, atomics without a lock table, packets of a line."))


