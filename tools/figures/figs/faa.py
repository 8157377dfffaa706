# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""A14 section 7.4: fetch-and-add takes as long as a remote read."""

from .. import jobs as j

ORDER = 111
NEEDS_RMC = False
TITLE = "Atomic operations, as the application sees them"
PAPER = "a14-faa"
DIFFERS = "one node asks another; the paper does not say how many contend."


def jobs(run):
    for plan in run.hosts():
        yield j.sweep(plan)
    for plan in run.rmc_paths():
        yield j.remote(plan, "rmc_read_lat")
        yield j.atomic(plan, "faa")
        yield j.atomic(plan, "cas")


def values(plan, read, faa, cas):
    read = j.at(j.points(plan, read, "t_typical_usec"), 64)
    faa, cas = (j.at(j.points(plan, d, "t_typical_usec", at_least=8), 8) for d in (faa, cas))
    return {"fetch-and-add": faa, "compare-and-swap": cas, "64 B read": read,
            "fetch-and-add / read": faa / read}


def show(run, results, paper, figure):
    here, plans = {}, []
    for plan in run.rmc_paths():
        with figure.optional(plan.label):
            here[plan.label] = values(plan, *(results.get(job) for job in (
                j.remote(plan, "rmc_read_lat"), j.atomic(plan, "faa"), j.atomic(plan, "cas"))))
            plans.append(plan)
    for plan in run.hosts():
        with figure.optional(plan.label):
            found = results.get(j.sweep(plan))
            here[plan.label] = values(plan, *(j.series(found, name) for name in (
                "read-latency", "fetch-and-add", "compare-and-swap")))
            plans.append(plan)
    figure.part("table", any(not p.over_local for p in plans))
    rows = [(r["metric"], r["unit"], r["values"]) for r in paper["table"]["rows"]]
    rows.insert(1, ("compare-and-swap", "us", None))
    figure.compare("Latency of atomics and of reads",
                   [(metric, unit, printed, {label: v[metric] for label, v in here.items()})
                    for metric, unit, printed in rows], plans)
