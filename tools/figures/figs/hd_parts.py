# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""HADES figure 3: where the time of SW-Impl's transactions goes."""

import dataclasses

from .. import jobs as j
from ..base import Missing
from . import Table

ORDER = 401
NEEDS_RMC = False
TITLE = "Transactions of the software baseline, by parts"
PAPER = "hd-fig3"
DIFFERS = ("one client that nobody disturbs, on two nodes of one worker, with a quarter of the records at its own "
           "node; the paper has four nodes of 48 cores. The round trip is the link model's. The paper does not "
           "print its records nor whether requests wait for each other: here records have 1000 B, requests read "
           "all of one or write 100 B of it, and both ways are shown.")
MIXES = ("100%WR", "50%WR-50%RD", "100%RD")
PARTS = ("manage RD/WR sets", "update version", "read atomicity", "RD before WR", "conflict detection")
NOTE = ("Each is the mean of what is saved when the part alone is omitted and what is added when all others are; "
        "so what two parts have in common is halved. Documentation/tx.rst has both ends.")


def jobs(run):
    for plan in run.hosts():
        if not plan.over_local:
            yield j.tx_parts(plan)


def found_of(document):
    """{(hop, requests): {mix: its object}}"""
    found = {}
    for one in document.get("mixes", ()):
        found.setdefault((one["hop_ns"], one["requests"]), {})[one["mix"]] = one
    if not found or document.get("path") != "packets":
        raise Missing("its JSON has no mixes in packets")
    if any("share" not in part for mixes in found.values() for one in mixes.values() for part in one["parts"]):
        raise Missing("its JSON has no shares of parts")
    return found


def title(hop, requests):
    return f"{f'{2 * hop // 1000} us' if hop else 'no link model'}, requests {requests}"


def parts(mix):
    """{part: percent of the whole}, the largest first"""
    shares = {one["part"]: 100 * one["share"] for one in mix["parts"]}
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def show(run, results, paper, figure):
    for plan in run.hosts():
        if plan.over_local:
            continue
        with figure.optional(plan.label):
            found = found_of(results.get(j.tx_parts(plan)))
            tables(plan, found, paper, figure)


def tables(plan, found, paper, figure):
    figure.part("table", True)
    columns = {key: dataclasses.replace(plan, title=f"{plan.title}, {title(*key)}") for key in found}
    compared = []
    for row in paper["table"]["rows"]:
        mix, requests = row["here"]
        compared.append((row["metric"], row["unit"], row["values"], {
            columns[key].label: 100 * mixes[mix]["overheads"] for key, mixes in found.items()
            if key[1] == requests and mix in mixes}))
    figure.compare("Where the paper gives numbers", compared, list(columns.values()), NOTE)
    for key, mixes in found.items():
        rows = [[part, *(parts(mixes[mix]).get(part) for mix in mixes)] for part in PARTS]
        rows.append(["other time", *(100 * mix["rest"] / mix["whole"] for mix in mixes.values())])
        rows.append(["whole, of 100%WR", *(100 * mix["whole"] / mixes[MIXES[0]]["whole"]
                                           for mix in mixes.values())])
        rows.append(["whole, us", *(mix["whole"] / 1000 for mix in mixes.values())])
        rows.append(["parts, the largest first", *(", ".join(parts(mix)) for mix in mixes.values())])
        figure.blocks.append(Table(f"Figure 3, {title(*key)}: % of a transaction's time",
                                   [("", "")] + [(mix, plan.kind) for mix in mixes], rows))
