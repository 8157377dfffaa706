# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""M16 figures 1 and 7 to 10: atomic object reads, FaRM's scheme beside SABRes."""

import dataclasses

from .. import jobs as j
from ..base import Missing
from ..plot import Series
from ..runner import LOCAL_PATH

ORDER = 201
NEEDS_RMC = False
TITLE = "Atomic object reads: versions in cache lines against SABRes"
PAPER = "m16-objects"
DIFFERS = ("on the host readers and writers are concurrent in one thread, without the store. In virtual time "
           "figures 1, 8 and 9 go through the store, readers and writers are "
           "threads, rows of the chip are nodes, reads do not spread over them, and versions are "
           "stripped at the speed of a CPU of today, which is an eighth of the time that figure 1 leaves for "
           "it: so most gains of SABRes are missing there, and in the columns with that time they are not.")
PARTS = {
    "breakdown": "the CPU that strips is this machine's; in virtual time no instruction cache misses.",
    "latency": "in virtual time plain reads do not spread over four R2P2s, so SABRes are only a little slower "
               "where they are long; a block takes T18's 355 ns, an input.",
    "bandwidth": "on the host it is that of one thread. In virtual time it is of an R2P2, and no speculation "
                 "is slower than the paper says, as R2P2s here wait for versions one visit after the other.",
    "lookups": "on the host one thread with 15 reads in flight; in virtual time 15 members of the store, and the "
               "keys' owners strip for one curve.",
    "local": "the owner's own reads, without any remote operation, by one thread.",
}

# part: (figure in the JSON, series without these words, title, unit)
CURVES = {
    "breakdown": ("1", (), "One read, by parts (figures 1 and 9a)", "ns"),
    "latency": ("7a", (), "Blocking reads and SABRes (figure 7a)", "ns"),
    "bandwidth": ("7b", (), "16 reads and SABRes in flight (figure 7b)", "GB/s"),
    "lookups": ("9b", ("more by",), "15 readers (figure 9b)", "millions of objects per second"),
    "local": ("10-llc", ("times as many",), "The owner's own reads, cached (figure 10)",
              "millions of objects per second"),
}


def jobs(run):
    for plan in run.hosts():
        yield j.objects(plan)
    if run.has("virtual"):
        yield from (j.virtual("sabre", *which[1:2], run.quick, *which[2:]) for which in VIRTUALS)


def document(plan, results):
    found = results.get(j.objects(plan))
    wanted = "local" if plan.over_local else "packets"
    if found.get("path") != wanted:
        raise Missing(f"its path is {found.get('path')}, not {wanted}")
    return found


def rows(document):
    found = document.get("rows")
    if not found or any("value" not in row for row in found):
        raise Missing("its JSON has no rows with values")
    return found


def curves(document, figure, without):
    """{series: [(bytes, value)]} in the order of the file"""
    found = {}
    for row in rows(document):
        if row["figure"] == figure and not any(w in row["series"] for w in without):
            found.setdefault(row["series"], []).append((row["bytes"], row["value"]))
    return found


def value(document, figure, size, series, writers=0):
    for row in rows(document):
        if (row["figure"], row["bytes"], row["series"], row["writers"]) == \
           (figure, size, series, writers):
            return row["value"]
    raise Missing(f"its JSON has no {series} of figure {figure}, {size} bytes")


VIRTUAL_COSTS = "sonuma-r2p2"
# Column of the table: costs, costs changed, parts
VIRTUALS = (
    ("this CPU strips", VIRTUAL_COSTS),
    ("stripping fitted to figure 1", "sonuma-r2p2-strip"),
    ("and a line of an R2P2 every ns, not every 3.2", "sonuma-r2p2-strip", ("line=1000",), ("8",)),
)
FITTED = ("fig. 1: stripping versions, share of an 8 KiB read", VIRTUALS[1][0])
NO_PROOF = ("Of the virtual time nothing counts as reproduced: its model was changed with figures 7 to 9 in view, and "
            "figures 1, 8 and 9 depend on three constants that were chosen with them in view. It shows what makes "
            "the difference: with the paper's share of stripping (fitted to the 50 % of figure 1) figure 9a comes "
            "near, and with that figure 8's gains at 8 KiB lie between R2P2s of 20 GB/s, which are full here, "
            "and those that serve a line from the cache every ns.")
# part of the page: part of sim-sabre, its series
VIRTUAL = {
    "breakdown": ("1", [f"{s}: {p}" for s in ("farm", "sabre", "strip") for p in
                        ("transfer", "strip and compare", "framework and application")]),
    "latency": ("7a", ["read", "SABRe", "SABRe, no speculation", "SABRe, locked"]),
    "bandwidth": ("7b", ["read", "SABRe", "SABRe, no speculation"]),
    "lookups": ("9b", ["farm", "sabre", "strip"]),
}


def virtual_document(run, results, which=VIRTUALS[0]):
    _, costs, *rest = which
    return results.get(j.virtual("sabre", costs, run.quick, *rest))


def virtual(run, results, part):
    """Curves of as many threads as the paper has; readers and writers, in virtual time"""
    if part not in VIRTUAL or not run.has("virtual"):
        return []
    number, names = VIRTUAL[part]
    document = virtual_document(run, results)
    return [Series(f"virtual time: {name}", j.virtual_rows(document, number, name)) for name in names]


def virtuals(run):
    """[(column, which of VIRTUALS)]"""
    plan = run.plans["virtual"] if run.has("virtual") else None
    return [(dataclasses.replace(plan, title=f"virtual time: {which[0]}"), which) for which in VIRTUALS
            if plan]


def virtual_value(document, figure, size, writers=0):
    """As here(), of the virtual time's document"""
    def one(part, series, nodes=None):
        for row in document.get("rows", ()):
            if (row.get("part"), row.get("bytes"), row.get("series")) == (part, size, series) and \
               nodes in (None, row.get("nodes")) and "value" in row:
                return row["value"]
        raise Missing(f"virtual time has no {series} of figure {part}, {size} bytes")

    if figure == "share":
        return 100 * one("1", "farm: strip and compare") / one("9a", "farm")
    if figure == "7a":
        return 100 * (one("7a", "SABRe, no speculation") / one("7a", "read") - 1)
    if figure == "7b":
        return one("7b", "SABRe")
    if figure == "9a":
        return one("9a", "sabre shorter by")
    if figure == "9b":
        return gain(size, document.get("rows", ()), "part")
    if figure != "8":
        raise Missing("virtual time has no such row")
    return one("8", "sabre more by", writers)


RATIO = {"8": "sabre more by", "8-readers": "sabre more by", "9a": "sabre shorter by",
         "10-llc": "clean, times as many"}
NO_OPERATION = ("10-llc",)      # the owner's own reads take no path


def gain(which, found, key):
    """Least or most of figure 9b, over sizes"""
    gains = [row["value"] for row in found
             if (row.get(key), row.get("series")) == ("9b", "sabre more by") and "value" in row]
    if not gains:
        raise Missing("its JSON has no gains of figure 9b")
    return (min if which == "least" else max)(gains)


def here(document, figure, size, writers=0):
    """The value of this machine for a row of the paper's table"""
    if figure == "share":
        return 100 * value(document, "1", size, "farm: strip and compare") / \
            value(document, "9a", size, "farm")
    if figure == "9b":
        return gain(size, rows(document), "figure")
    return value(document, figure, size, RATIO[figure], writers)


def measured(documents, number, without):
    """Curves of the papers' path, each with that of the local path beside it"""
    found = [(plan, curves(one, number, without)) for plan, one in documents]
    return [Series(name if not plan.over_local else f"{name}, {LOCAL_PATH}",
                   points[name], plan.kind)
            for name in dict.fromkeys(n for _, points in found for n in points)
            for plan, points in found if name in points]


def show(run, results, paper, figure):
    documents = []
    for plan in run.hosts():
        with figure.optional(plan.label):
            documents.append((plan, document(plan, results)))
    if not run.hosts() and not run.has("virtual"):
        return
    where = run.hosts()[0].label if run.hosts() else run.plans["virtual"].label
    for part, (number, without, title, unit) in CURVES.items():
        found = []
        with figure.optional(f"{where}: figure {number}"):
            found = measured(documents, number, without)
        if not run.hosts() and part not in VIRTUAL:
            continue
        with figure.optional(f"virtual time: figure {number}"):
            found = found + virtual(run, results, part)
        figure.curves(part, title, unit, found, xlabel="object size, bytes")
    found = []
    for row in paper["table"]["rows"]:
        number = {}
        for plan, one in documents:
            if plan.over_local and row["here"][0] in NO_OPERATION:
                continue
            if row["here"][0] in ("7a", "7b"):
                continue                # of the chip: a miss there, and its R2P2s
            with figure.optional(f"{plan.label}: {row['metric']}"):
                number[plan.label] = here(one, *row["here"])
        for plan, which in virtuals(run):
            if row["here"][0] in (("8",) if which[2:] else ("share", "7a", "7b", "8", "9a", "9b")):
                with figure.optional(f"{plan.label}: {row['metric']}"):
                    number[plan.label] = virtual_value(virtual_document(run, results, which), *row["here"])
        found.append((row["metric"], row["unit"], row["values"], number))
    wanted = [where] if run.hosts() else [plan.label for plan, _ in virtuals(run)]
    figure.part("table", any(label in number for *_, number in found for label in wanted))
    figure.compare("Where the paper gives numbers", found, [plan for plan, _ in documents] +
                   [plan for plan, _ in virtuals(run)],
                   "Readers are reads in flight of one thread, writers take turns in it: two "
                   "CPUs have no room for more threads that spin. There the RMC's worker is "
                   "what everybody waits for; the rows beneath count the readers' CPU only, as "
                   "where an RMC keeps up. See Documentation/objects.rst. " + NO_PROOF,
                   fitted={(metric, plan.label) for plan, which in virtuals(run)
                           for metric in FITTED[:1] if which[0] == FITTED[1]})
