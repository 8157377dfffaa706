# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""T18 section 8.3.5: slots of a pair of nodes, and memory of a messaging domain. Computed."""

from .. import jobs as j
from ..base import Missing
from . import Table

ORDER = 150
NEEDS_RMC = False
TITLE = "Slots and memory of native messages"
PAPER = "t18-footprint"
DIFFERS = "nothing: the slots are the printed ones, by the same formula."
JOB = j.Job("computed", "footprint", ("host/footprint",), 1)


def jobs(run):
    if run.has("computed"):
        yield JOB


def show(run, results, paper, figure):
    if not run.has("computed"):
        return
    printed = {row["metric"]: row["values"][0] for row in paper["table"]["rows"]}
    with figure.optional("slots and memory"):
        document = results.get(JOB)
        try:
            slots = [[f"{r['bytes']} B", r["round_trip_ns"], printed.get(f"{r['bytes']} B"), r["slots"]]
                     for r in document["slots"]]
            memory = [[r["name"], printed.get(r["name"]), r["native_mib"], r["emulated_mib"],
                       r["ratio"], r["module_mib"]] for r in document["memory"]]
        except (KeyError, TypeError):
            raise Missing("its JSON is not that of footprint") from None
        figure.part("table 8.1", True)
        figure.blocks.append(Table(
            "Table 8.1: slots for 100 Gbps between two nodes",
            [("message", ""), ("paper: round trip, ns", "paper"), ("paper: slots", "paper"),
             ("slots, computed", "native")], slots))
        figure.part("8.7", True)
        figure.blocks.append(Table(
            "Figure 8.7: memory of a domain of 1024 nodes, MiB",
            [("", ""), ("paper", "paper"), ("native, computed", "native"),
             ("emulated, computed", "native"), ("ratio", "native"), ("in this module", "native")],
            memory, "native and emulated: the formulas of the thesis, whose values are MiB. This module "
            "has a private line for the state of each receive slot besides, and its packets' bits."))
