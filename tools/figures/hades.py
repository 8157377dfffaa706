# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""HADES in virtual time: the rows of sim-hades."""

from .base import Missing
from .jobs import Job

SYSTEMS = ("HADES", "HADES-H")
BASE = "SW-Impl"
# in the place of TPC-C, with its two most frequent transactions
OTHER = "TPC-C-NP"
PARTS = ("9", "12a", "12b", "13", "14", "15", "evictions", "table3", "printed", "needed", "patience")
QUICK = tuple(p for p in PARTS if p != "patience")


def job(quick):
    return Job("virtual", "sim-hades", ("sim-hades", "--json", *(("--quick", *QUICK) if quick else PARTS)),
               30 if quick else 900)


def rows(document, part, nodes=None):
    """{(series, program, unit): value}"""
    if document.get("profile") != "hades":
        raise Missing("its JSON is not of sim-hades")
    found = {}
    for row in document.get("rows", ()):
        if row.get("part") == part and nodes in (None, row.get("nodes")) and "value" in row:
            series, _, program = row["series"].partition(": ")
            found[series, program, row["unit"]] = row["value"]
    if not found:
        raise Missing(f"sim-hades printed nothing of {part}")
    return found


def programs(found, series, unit):
    """{program: value} of the paper's; of two forms of one, the full one"""
    return {p: v for (s, p, u), v in found.items()
            if (s, u) == (series, unit) and p != OTHER and not p.startswith("mean")}


def here(document, kind, part, nodes, series, unit):
    """What a row of the paper's table is here"""
    found = rows(document, part, nodes)
    try:
        if kind in ("value", "thousands"):
            name, _, program = series.partition(": ")
            return found[name, program, unit] / (1000 if kind == "thousands" else 1)
        values = programs(found, series, unit)
        if kind == "saved":
            before = programs(found, BASE, unit)
            values = {p: 100 * (1 - v / before[p]) for p, v in values.items()}
        if kind == "most":
            return max(values.values())
        return sum(values.values()) / len(values)
    except (KeyError, ValueError, ZeroDivisionError):
        raise Missing(f"sim-hades printed no {series} of {part}") from None
