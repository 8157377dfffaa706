# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""A14 figure 9: PageRank's speed-up over one thread, in three variants."""

from .. import jobs as j
from ..base import Missing
from ..plot import Series
from . import Table

ORDER = 109
NEEDS_RMC = True
TITLE = "PageRank: speed-up over one thread"
PAPER = "a14-fig9"
DIFFERS = ("an R-MAT graph in place of the subset of Twitter. In virtual time an edge costs a constant: what "
           "it takes on one machine, in its cache, with packets of 4 KiB; or, with the paper's chip, packets of 64 B "
           "and an access to DRAM, which was chosen with this figure in view: its shape is an input there.")
VARIANTS = (("bulk", "soNUMA (bulk)"), ("fine", "soNUMA (fine-grain)"))


def jobs(run):
    if run.has("host"):
        for n in run.thread_counts():
            yield j.pagerank(run.plans["host"], "shm", n, 1)
    for costs in j.COSTS:
        for _, variant, n in virtual_runs(run):
            yield j.virtual_pagerank(costs, variant, n, run.quick)
    for plan in run.rmc_machines():
        counts = run.node_counts(plan)
        for variant, _ in VARIANTS:
            for n in counts:
                yield j.pagerank(plan, variant, n, max(counts))


NODES = (1, 2, 4, 8, 16)


def virtual_runs(run):
    """[(name, variant, nodes)] in virtual time: the paper's 16 nodes, whatever CPUs are here"""
    return [(name, variant, n) for variant, name in (("shm", "SHM (pthreads)"), *VARIANTS) for n in NODES
            if run.has("virtual")]


def virtual(run, results, figure):
    """Speed-up over one thread in coherent memory, whose supersteps all take the same time"""
    def seconds(costs, variant, n):
        found = results.get(j.virtual_pagerank(costs, variant, n, run.quick)).get("superstep_seconds")
        if not found:
            raise Missing("its JSON has no superstep_seconds")
        return min(found)

    points = {}
    for costs, said in j.COSTS.items():
        for name, variant, n in virtual_runs(run):
            label = f"{name}: {run.plans['virtual'].labelled(said)}"
            with figure.optional(f"{label}, {n}"):
                points.setdefault(label, []).append((n, seconds(costs, "shm", 1) / seconds(costs, variant, n)))
    return [Series(label, found) for label, found in points.items()]


def speedups(results, figure, label, plan, pairs):
    """pairs: [(n, job)]; what is there of them"""
    found = []
    for n, job in pairs:
        with figure.optional(f"{label}, {n}"):
            value = results.get(job).get("speedup")
            if value is None:
                raise Missing("its JSON has no speedup")
            found.append((n, value))
    return Series(label, found, plan.kind)


def shared(results, plan, counts):
    """Its label, of the largest run"""
    try:
        return results.label(plan, j.pagerank(plan, VARIANTS[0][0], max(counts), max(counts)))
    except Missing:
        return plan.label


def show(run, results, paper, figure):
    curves = []
    if run.has("host"):
        plan = run.plans["host"]
        curves.append(speedups(results, figure, f"SHM (pthreads): {plan.label}", plan,
                               [(n, j.pagerank(plan, "shm", n, 1)) for n in run.thread_counts()]))
    remote = []
    for plan in run.rmc_machines():
        counts = run.node_counts(plan)
        for variant, name in VARIANTS:
            remote.append(speedups(results, figure, f"{name}: {shared(results, plan, counts)}", plan,
                                   [(n, j.pagerank(plan, variant, n, max(counts)))
                                    for n in counts]))
    figure.curves("speed-up", "PageRank", "speed-up over one thread of the same machine",
                  curves + remote + virtual(run, results, figure), xlabel="nodes or threads",
                  logy=False)
    figure.part("soNUMA variants", any(s.points for s in remote))
    figure.blocks.append(Table(
        "Set-up", [("", "")] + [(f"paper: {c}", "paper") for c in paper["table"]["columns"]] +
        [("here", "native")],
        [[row["metric"], *row["values"], here] for row, here in
         zip(paper["table"]["rows"], (_counts(run), _fact(run, results, "supersteps"),
                                      _fact(run, results, "graph")))],
        f"{run.cpus} CPUs here: more nodes or threads than that share them, and the speed-up "
        "says so."))


def _counts(run):
    counts = {n for plan in run.rmc_machines() for n in run.node_counts(plan)}
    return ", ".join(map(str, sorted(counts | set(run.thread_counts()))))


def _fact(run, results, field):
    """Descriptions of the runs, all that differ."""
    said = []
    for job in jobs(run):
        try:
            said.append(str(results.get(job)[field]))
        except (Missing, KeyError):
            pass
    return "; ".join(dict.fromkeys(said)) or None
