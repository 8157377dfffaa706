# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""T18 figure 8.6: messages of the RMC beside those that the library makes of one-sided operations."""

from .. import jobs as j
from ..base import Missing
from ..plot import Series
from . import Table

ORDER = 145
NEEDS_RMC = False
TITLE = "Native messages beside one-sided ones"
PAPER = "t18-native"
DIFFERS = "push and pull of every size in place of three thresholds."
FIELD = "t_typical_usec"
SMALLEST = 8
NOTE = ("Positive: native messages are faster, by so much of the time of the faster of push and pull. "
        "Native messages take packets always; in a column of the local path the others do not.")


def plan_of(run):
    """Where both ends and the worker have a CPU each, else the core alone, with one thread at both"""
    for key in ("processes", "host"):
        if run.has(key):
            return run.plans[key]
    return None


def runs(plan):
    """(of native messages, their way in it, of pushed and pulled ones). On the host their way is that
    which counts the RECEIVE, as half a ping-pong does."""
    if plan.key == "host":
        return j.native_bench(plan), "native, received", j.native_bench(plan)
    return j.netpipe_native(plan), "push", j.netpipe(plan)


def jobs(run):
    plan = plan_of(run)
    for path in plan.paths() if plan else ():
        native, _, one_sided = runs(path)
        yield native
        yield one_sided


def points(plan, document, way):
    found = j.points(plan, document, FIELD, at_least=SMALLEST, keep=lambda row: row["way"] == way)
    if not found:
        raise Missing(f"its JSON has no results of {way}")
    return found


def faster(native, push, pull):
    """{bytes: percent}, of the sizes that all have"""
    push, pull = dict(push), dict(pull)
    return {x: 100 * (1 - y / min(push[x], pull[x])) for x, y in native if x in push and x in pull}


def show(run, results, paper, figure):
    plan = plan_of(run)
    if not plan:
        raise Missing("it needs two CPUs, and build/host/native_bench")
    curves, gains = [], []
    for path in plan.paths():
        with figure.optional(path.label):
            of_native, its_way, of_others = runs(path)
            found = {way: points(path, results.get(of_others), way) for way in ("push", "pull")}
            native = points(path, results.get(of_native), its_way)
            curves.append(Series(path.labelled("native"), native, path.kind))
            curves += [Series(path.labelled(way), found[way], path.kind) for way in found]
            gains.append((path, faster(native, found["push"], found["pull"])))
    figure.curves("latency", "Figure 8.6: one-way message latency", "us, half a ping-pong, median",
                  curves, xlabel="message size, bytes")
    printed = {row["metric"]: row["values"][0] for row in paper["table"]["rows"]}
    sizes = sorted({x for _, gain in gains for x in gain})
    figure.part("gain", any(gain for path, gain in gains if not path.over_local))
    figure.blocks.append(Table(
        "Figure 8.6: how much faster native messages are, %",
        [("message", ""), ("paper", "paper")] + [(path.label, path.kind) for path, _ in gains],
        [[f"{x} B", printed.get(f"{x} B"), *(gain.get(x) for _, gain in gains)] for x in sizes], NOTE))
