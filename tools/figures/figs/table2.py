# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""A14 table 2: bandwidth, round trip, fetch-and-add and operations per second."""

import dataclasses

from .. import jobs as j

ORDER = 110
NEEDS_RMC = False
TITLE = "Comparison with RDMA over InfiniBand"
PAPER = "a14-table2"
DIFFERS = ("no InfiniBand adapter is here: its column is the paper's. In virtual time a thread that has "
           "not to wait for a completion takes it for nothing, so that it issues more reads than the paper's.")


def jobs(run):
    for plan in run.hosts():
        yield j.sweep(plan)
    for plan in run.rmc_paths():
        yield j.remote(plan, "rmc_read_lat")
        yield j.remote(plan, "rmc_read_bw")
        yield j.atomic(plan, "faa")
    if run.has("virtual"):
        for costs in j.COSTS:
            yield j.virtual("sonuma", costs, run.quick)


def of_host(plan, results):
    """Documents (latency, bandwidth, fetch-and-add) of the host's sweep"""
    found = results.get(j.sweep(plan))
    return [j.series(found, name) for name in ("read-latency", "read-bandwidth", "fetch-and-add")]


def of_machine(plan, results):
    return [results.get(job) for job in (j.remote(plan, "rmc_read_lat"),
                                         j.remote(plan, "rmc_read_bw"), j.atomic(plan, "faa"))]


def values(plan, latency, bandwidth, faa):
    rates = j.points(plan, bandwidth, "bw_typical_bytes_per_sec")
    return {"max bandwidth": max(y for _, y in rates) * 8e-9,
            "read RTT": j.at(j.points(plan, latency, "t_typical_usec"), 64),
            "fetch-and-add": j.at(j.points(plan, faa, "t_typical_usec", at_least=8), 8),
            "IOPS": j.at(rates, 64) / 64 / 1e6}


def show(run, results, paper, figure):
    here, plans = {}, []
    for plans_of, documents in ((run.rmc_paths(), of_machine), (run.hosts(), of_host)):
        for plan in plans_of:
            with figure.optional(plan.label):
                here[plan.label] = values(plan, *documents(plan, results))
                plans.append(plan)
    for costs, said in (j.COSTS.items() if run.has("virtual") else ()):
        plan = dataclasses.replace(run.plans["virtual"], title=f"virtual time, {said}")
        with figure.optional(plan.label):
            found = results.get(j.virtual("sonuma", costs, run.quick))
            here[plan.label] = {row["metric"]: j.virtual_rows(found, "table2", row["metric"])[0][1]
                                for row in paper["table"]["rows"]}
            plans.append(plan)
    figure.part("table", any(not p.over_local for p in plans))
    figure.compare(
        "Table 2", [(row["metric"], row["unit"], row["values"],
                     {label: v[row["metric"]] for label, v in here.items()})
                    for row in paper["table"]["rows"]], plans,
        "Bandwidth: the best of 64 B to 8 KiB, as in the paper. One queue pair, one application "
        "thread. Quotients are of the development platform's values, and of the chip's for the chip.",
        {p.label: 1 for p in plans if p.label.endswith(j.COSTS["sonuma-a14"])})
