# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""HADES figures 9 to 15, tables III and V: a model of cores, caches, adapters and filters."""

from .. import hades
from . import Table

ORDER = 402
NEEDS_RMC = False
TITLE = "Transactions by the adapters, in a model"
PAPER = "hd-model"
DIFFERS = ("a model: the workloads, SW-Impl, participants, coordinators and filters are this tree's code, on a virtual "
           "clock with constants of Documentation/tx-figures.rst, which were fixed before the first run. The paper's "
           "workloads are traces, its records and Baseline's times are not printed. Data are fewer.")
RATIOS = ("HADES / SW-Impl", "HADES-H / SW-Impl")
MIXES = ("14", "15")
FIGURES = (
    ("9", None, "Figure 9: throughput, of SW-Impl's"),
    ("12a", (1, 2, 3), "Figure 12a: the same by round trip, us"),
    ("12b", (20, 50, 80), "Figure 12b: the same by requests at the own node, %"),
    ("13", None, "Figure 13: the same, 10 nodes"),
    ("14", None, "Figure 14: the same, mixes of two workloads on 10 cores"),
    ("15", None, "Figure 15: the same, mixes of four (table V) on 25 cores of 8 nodes"),
)
NOTE = ("No constant was changed with these results in view. After how many squashes a transaction locks in advance is "
        "none of them: it was.")


def jobs(run):
    if run.has("virtual"):
        yield hades.job(run.quick)


def ratios(document, part, counts):
    """[[program, HADES, HADES-H of each count]]; of mixes also the mean of their programs"""
    found = [hades.rows(document, part, n) for n in counts or (None,)]
    names = dict.fromkeys(p for one in found for s, p, _ in one if s == RATIOS[0])
    each = tuple(f"{s}, each" for s in RATIOS if part in MIXES)
    return [[name] + [one.get((s, name, "x")) for one in found for s in RATIOS + each] for name in names]


def latencies(document):
    """Figures 10 and 11: [[program, of each system: phases, mean, 95 %]]"""
    ten, eleven = (hades.rows(document, part) for part in ("10", "11"))
    names = dict.fromkeys(p for _, p, _ in ten)
    return [[f"{name}, {system}"] + [ten.get((f"{system}, {phase}", name, "us"))
                                     for phase in ("execution", "validation", "commit")] +
            [ten.get((system, name, "us")), eleven.get((system, name, "us"))]
            for name in names for system in (hades.BASE, *hades.SYSTEMS)]


UNITS = ("requests of an attempt", "squashes of a committed one", "% false positives",
         "% of squashes by INTEND are for false positives", "lines read at most", "lines written at most")


def details(document):
    found = hades.rows(document, "details")
    return [[f"{p}, {s}"] + [found.get((s, p, unit)) for unit in UNITS]
            for s, p in dict.fromkeys((s, p) for s, p, _ in found)]


def show(run, results, paper, figure):
    if not run.has("virtual"):
        return
    compare(run, results, paper, figure)
    for part, counts, title in FIGURES:
        with figure.optional(f"virtual time: figure {part}"):
            found = ratios(results.get(hades.job(run.quick)), part, counts)
            figure.part(part, found)
            figure.blocks.append(Table(title, [("", "")] + [
                (f"{s}{f', {n}' if n else ''}", "native") for n in counts or ("",) for s in hades.SYSTEMS] + [
                    (f"{s}, mean of its workloads", "native") for s in hades.SYSTEMS if part in MIXES], found))
    with figure.optional("virtual time: figures 10 and 11"):
        figure.blocks.append(Table("Figures 10 and 11: latency, us", [("", "")] + [
            (c, "native") for c in ("execution", "validation", "commit", "mean", "95 %")],
            latencies(results.get(hades.job(run.quick)))))
    with figure.optional("virtual time: details"):
        figure.blocks.append(Table("What transactions and filters were like", [("", "")] + [
            (unit, "native") for unit in UNITS], details(results.get(hades.job(run.quick)))))
    with figure.optional("virtual time: software"):
        found = hades.rows(results.get(hades.job(run.quick)), "needed")
        figure.blocks.append(Table(
            "More software of each record of SW-Impl that would give the paper's mean, ns",
            [("", ""), ("2.7, of HADES", "native"), ("2.3, of HADES-H", "native")],
            [[p] + [found.get((s, p, "ns of a record")) for s in hades.SYSTEMS]
             for p in dict.fromkeys(p for _, p, _ in found)],
            "8000 ns at most are tried, so a value beside that says that no such cost was found."))


def compare(run, results, paper, figure):
    plan, found = run.plans["virtual"], []
    for row in paper["table"]["rows"]:
        number = {}
        with figure.optional(f"{plan.label}: {row['metric']}"):
            number[plan.label] = hades.here(results.get(hades.job(run.quick)), *row["here"])
        found.append((row["metric"], row["unit"], row["values"], number))
    figure.part("table", any(number for *_, number in found))
    figure.compare("Where the paper gives numbers", found, [plan], NOTE)
