# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""M16 figures 1 and 7 to 10: atomic object reads, FaRM's scheme beside SABRes."""

from .. import jobs as j
from ..base import Missing
from ..plot import Series
from ..runner import LOCAL_PATH

ORDER = 201
NEEDS_RMC = False
TITLE = "Atomic object reads: versions in cache lines against SABRes"
PAPER = "m16-objects"

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


RATIO = {"8": "sabre more by", "8-readers": "sabre more by", "9a": "sabre shorter by",
         "10-llc": "clean, times as many"}
NO_OPERATION = ("10-llc",)      # the owner's own reads take no path


def here(document, figure, size, writers=0):
    """The value of this machine for a row of the paper's table"""
    if figure == "share":
        return 100 * value(document, "1", size, "farm: strip and compare") / \
            value(document, "9a", size, "farm")
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
    if not run.hosts():
        return
    for part, (number, without, title, unit) in CURVES.items():
        found = []
        with figure.optional(f"{run.hosts()[0].label}: figure {number}"):
            found = measured(documents, number, without)
        figure.curves(part, title, unit, found, xlabel="object size, bytes")
    found = []
    for row in paper["table"]["rows"]:
        number = {}
        for plan, one in documents:
            if plan.over_local and row["here"][0] in NO_OPERATION:
                continue
            with figure.optional(f"{plan.label}: {row['metric']}"):
                number[plan.label] = here(one, *row["here"])
        found.append((row["metric"], row["unit"], row["values"], number))
    figure.part("table", any(run.hosts()[0].label in number for *_, number in found))
    figure.compare("Where the paper gives numbers", found, [plan for plan, _ in documents],
                   "Readers are reads in flight of one thread, writers take turns in it: two "
                   "CPUs have no room for more threads that spin. There the RMC's worker is "
                   "what everybody waits for; the rows beneath count the readers' CPU only, as "
                   "where an RMC keeps up. See Documentation/objects.rst.")
