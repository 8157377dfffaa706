# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""A14 table 2: bandwidth, round trip, fetch-and-add and operations per second."""

from .. import jobs as j

ORDER = 110
NEEDS_RMC = False
TITLE = "Comparison with RDMA over InfiniBand"
PAPER = "a14-table2"


def jobs(run):
    if run.has("host"):
        yield j.sweep(run.plans["host"])
    for plan in run.rmc_machines():
        yield j.remote(plan, "rmc_read_lat")
        yield j.remote(plan, "rmc_read_bw")
        yield j.atomic(plan, "faa")


def of_host(run, results):
    """Documents (latency, bandwidth, fetch-and-add) of the host's sweep"""
    found = results.get(j.sweep(run.plans["host"]))
    return [j.series(found, name) for name in ("read-latency", "read-bandwidth", "fetch-and-add")]


def of_machine(plan, results):
    return [results.get(job) for job in (j.remote(plan, "rmc_read_lat"),
                                         j.remote(plan, "rmc_read_bw"), j.atomic(plan, "faa"))]


def values(latency, bandwidth, faa):
    rates = j.points(bandwidth, "bw_typical_bytes_per_sec")
    return {"max bandwidth": max(y for _, y in rates) * 8e-9,
            "read RTT": j.at(j.points(latency, "t_typical_usec"), 64),
            "fetch-and-add": j.at(j.points(faa, "t_typical_usec", at_least=8), 8),
            "IOPS": j.at(rates, 64) / 64 / 1e6}


def show(run, results, paper, figure):
    here, plans = {}, []
    for plan in run.rmc_machines():
        with figure.optional(plan.label):
            here[plan.label] = values(*of_machine(plan, results))
            plans.append(plan)
    if run.has("host"):
        plan = run.plans["host"]
        with figure.optional(plan.label):
            here[plan.label] = values(*of_host(run, results))
            plans.append(plan)
    figure.part("table", here)
    figure.compare(
        "Table 2", [(row["metric"], row["unit"], row["values"],
                     {label: v[row["metric"]] for label, v in here.items()})
                    for row in paper["table"]["rows"]], plans,
        "Bandwidth: the best of 64 B to 8 KiB, as in the paper. One queue pair, one application "
        "thread.")
