# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""T18 section 6.5: edge, per-tile and split NIs of a chip with 64 cores. A model, by rmc_chip: neither
measured nor comparable with threads (make bench-ni)."""

from .. import jobs as j
from ..base import Missing
from ..plot import Plot, Series
from . import Table

ORDER = 120
NEEDS_RMC = False
TITLE = "NIs of a manycore chip, a model"
PAPER = "t18-chip"
DIFFERS = ("a model that counts messages of the on-chip network, not the thesis' cycle-accurate "
           "simulator.")
DESIGNS = ("edge", "per-tile", "split")
READS = DESIGNS + ("NUMA",)
NOTE = ("A model: computed by rmc_chip from table 6.2 and the text of the thesis. One constant is fitted, to "
        "the 23 cycles from a core to the edge of the mesh; no total, no row of NOC-Out and no bandwidth "
        "is. Documentation/ni.rst says where it differs and why.")
PARTS = ("Tables 6.1 and 6.3", "Table 6.4", "6.7", "6.8", "6.9a", "6.9b", "6.11", "6.12")
SOME, ALL = "64,512,2K,8K,16K", "64,128,256,512,1K,2K,4K,8K,16K"

# Rows of the thesis' tables: network, rows of rmc_chip by design
ROWS = {
    "mesh: WQ write": ("mesh", "WQ write"),
    "mesh: WQ read and RGP": ("mesh", "WQ read and RGP"),
    "mesh: to the edge or backend": ("mesh", "to the network", "to the backend"),
    "mesh: RRPP": ("mesh", "RRPP"),
    "mesh: from the edge, or to the frontend": ("mesh", "from the network", "to the frontend"),
    "mesh: RCP and CQ write": ("mesh", "RCP and CQ write"),
    "mesh: CQ read": ("mesh", "CQ read"),
    "mesh: load": ("mesh", "load"),
    "mesh: network, both ways": ("mesh", "network"),
    "mesh: WQ entry transfer": ("mesh", "WQ entry transfer"),
    "mesh: RGP, or its frontend": ("mesh", "RGP", "RGP frontend"),
    "mesh: RGP backend": ("mesh", "RGP backend"),
    "mesh: RCP, or its backend": ("mesh", "RCP", "RCP backend"),
    "mesh: RCP frontend": ("mesh", "RCP frontend"),
    "mesh: CQ entry transfer": ("mesh", "CQ entry transfer"),
    "mesh: total": ("mesh", "total"),
    "mesh: over NUMA": ("mesh", "over NUMA, %"),
    "mesh: WQ write and CQ read": ("mesh", "WQ write", "CQ read"),
    "NOC-Out: WQ write": ("noc-out", "WQ write"),
    "NOC-Out: WQ read and RGP": ("noc-out", "WQ read and RGP"),
    "NOC-Out: core to the backend": ("noc-out", "to the backend"),
    "NOC-Out: to the network's router": ("noc-out", "to the network"),
    "NOC-Out: RRPP": ("noc-out", "RRPP"),
    "NOC-Out: from the network's router": ("noc-out", "from the network"),
    "NOC-Out: backend to the core": ("noc-out", "to the frontend"),
    "NOC-Out: RCP and CQ write": ("noc-out", "RCP and CQ write"),
    "NOC-Out: CQ read": ("noc-out", "CQ read"),
    "NOC-Out: total": ("noc-out", "total"),
    "NOC-Out: over NUMA": ("noc-out", "over NUMA, %"),
}

# What the model was given (rmc_chip parameters): a quotient of these proves nothing
QUEUES = ("per-tile", "split")
GIVEN = {
    "mesh: WQ write": QUEUES, "mesh: CQ read": QUEUES, "mesh: WQ write and CQ read": QUEUES,
    "NOC-Out: WQ write": QUEUES, "NOC-Out: CQ read": QUEUES, "mesh: load": READS,
    "mesh: network, both ways": READS, "mesh: WQ entry transfer": READS,
    "mesh: RGP, or its frontend": READS, "mesh: RGP backend": READS,
    "figure 6.7: a hop, there and back": READS,
    "mesh: RCP, or its backend": READS, "mesh: RCP frontend": READS, "mesh: CQ entry transfer": READS,
}
FITTED = {"mesh: to the edge or backend": READS}


def given(metric, design):
    """Why there is no quotient, or None"""
    return "input" if design in GIVEN.get(metric, ()) else \
        "fitted" if design in FITTED.get(metric, ()) else None


def chip(plan, command, *argv, name=(), seconds=1):
    return j.Job("computed", "-".join(("chip", command, *name)),
                 ("rmc_chip", "-q", "-j", *argv, command), seconds)


def latency(plan):
    return chip(plan, "latency", "-s", SOME if plan.quick else ALL, "--cores",
                "8" if plan.quick else "64", seconds=2 if plan.quick else 30)


def bandwidth(plan, network, routing):
    return chip(plan, "bandwidth", "-n", network, "-r", routing, "-s", SOME if plan.quick else ALL,
                "-c", "4000" if plan.quick else "20000", "-w", "4" if plan.quick else "20",
                name=(network, routing), seconds=5 if plan.quick else 90)


def jobs(run):
    if run.has("computed"):
        plan = run.plans["computed"]
        yield from (chip(plan, command) for command in ("table", "hops", "parameters"))
        yield latency(plan)
        yield from (bandwidth(plan, *which) for which in (("mesh", "class"), ("mesh", "xy"),
                                                          ("noc-out", "class")))


def rows(document, *fields):
    """Rows of its JSON as tuples"""
    try:
        return [tuple(r[f] for f in fields) for r in document["rows"]]
    except (KeyError, TypeError):
        raise Missing(f"its JSON has no rows with {', '.join(fields)}") from None


def ratio(here, there):
    """Ours / the paper's, where both are numbers"""
    return here / there if here is not None and isinstance(there, (int, float)) and there else None


def latency_values(times):
    """times: {(network, design, bytes): ns}"""
    def over(a, b):
        return 100 * (a / b - 1)

    sizes = sorted({size for network, _, size in times if network == "noc-out"})
    split = times["mesh", "split", 16384]
    return {
        "figure 6.8: 16 KiB, longer than split": [over(times["mesh", d, 16384], split) for d in DESIGNS[:2]] +
                                                 [None, None],
        "figure 6.11: 64 B, shorter than on a mesh": [max(
            -over(times["noc-out", d, 64], times["mesh", d, 64]) for d in DESIGNS), None, None, None],
        "figure 6.11: longer than split, at most": [max(
            over(times["noc-out", "edge", n], times["noc-out", "split", n]) for n in sizes), None, None, None],
    }


def beside(figure, title, printed, here, note=""):
    """Columns: paper, model, ratio for each design. printed: rows of the paper; here: {metric: [value]}"""
    head = [("", "")] + [one for d in READS for one in (
        (f"paper: {d}", "paper"), (f"{d}, model", "native"), ("model / paper", ""))]
    body = []
    for row in printed:
        found = here[row["metric"]]
        body.append([f"{row['metric']}, {row['unit']}"] +
                    [v for d, p, h in zip(READS, row["values"], found)
                     for v in (p, h, p and given(row["metric"], d) or ratio(h, p))])
    figure.blocks.append(Table(title, head, body, note))


def by_row(document):
    """{(network, design, row): cycles}"""
    found = {}
    for network, design, row, value in rows(document, "network", "design", "row", "cycles"):
        # a row that stands before and after the wire counts twice
        found[network, design, row] = found.get((network, design, row), 0) + value
    return found


def cycles(document):
    """{row of the thesis: [cycles of each design, or None]}"""
    found, here = by_row(document), {}
    for metric, (network, *names) in ROWS.items():
        values = [[found.get((network, d, name)) for name in names] for d in READS]
        here[metric] = [sum(v for v in one if v is not None) if any(
            v is not None for v in one) else None for one in values]
    return here


def tables(figure, paper, document):
    here, found = cycles(document), by_row(document)
    for network, title in (("mesh", "Tables 6.1 and 6.3: a read of one block, mesh"),
                           ("NOC-Out", "Table 6.4: a read of one block, NOC-Out")):
        figure.part(title.split(":")[0], True)
        beside(figure, title, [r for r in paper["table"]["rows"]
                               if r["metric"].startswith(f"{network}:")], here, NOTE)
    figure.blocks.append(Table(
        "NI caches without an Owned state (6.2.4): total, cycles",
        [("", "")] + [(f"{d}{o}", "native") for d in DESIGNS[1:] for o in ("", ", no O")],
        [[network] + [found[network, d + o, "total"] for d in DESIGNS[1:] for o in ("", ", no O")]
         for network in ("mesh", "noc-out")]))


def curves(figure, part, title, ylabel, found, names, papers=(), **options):
    """found: [(design, x, y)]; a plot, and its values as a table with those of the paper"""
    series = [Series(f"{d}, model", [(x, y) for name, x, y in found if name == d])
              for d in names]
    if not any(s.points for s in series):
        raise Missing(f"its JSON has no {title}")
    printed = [Series(f"paper: {s['platform']}", [tuple(p) for p in s["points"]], "paper")
               for s in papers]
    xlabel = options.pop("xlabel", "request size, bytes")
    figure.part(part, True)
    figure.blocks.append(Plot(f"chip-{part}", f"Figure {part}: {title}", xlabel, ylabel,
                              series + printed, **options))
    xs = sorted({x for s in series for x, _ in s.points})
    figure.blocks.append(Table(f"Figure {part}: {title}: {ylabel}", [(xlabel, "")] +
                               [(s.label, s.kind) for s in series + printed],
                               [[str(x)] + [dict(s.points).get(x) for s in series + printed]
                                for x in xs]))


def peak_values(bands):
    """{row of the paper's table: [of each design]}: highest bandwidth, and at some sizes"""
    def at_peak(routing, field):
        return [max((r for r in bands[routing] if r["design"] == d),
                    key=lambda r: r["gbps"])[field] for d in DESIGNS] + [None]

    def at_size(size):
        return [next((r["gbps"] for r in bands["class"] if r["design"] == d and r["bytes"] == size), None)
                for d in DESIGNS] + [None]

    large, small = at_size(8192), at_size(64)
    one, xy = at_peak("class", "gbps"), at_peak("xy", "gbps")
    traffic = at_peak("class", "noc_gbps")
    return {
        "peak, class-based routing": one,
        "peak, XY routing": xy,
        "XY below class-based": [100 * (1 - b / a) for a, b in zip(one[:3], xy[:3])] + [None],
        "traffic of the NOC at the peak": traffic,
        "8 KiB, of edge": [100 * v / large[0] if v and large[0] else None for v in large],
        "figure 6.9a: peak, each way": [v and v / 2 for v in one],
        "figure 6.9a: 64 B, more than edge": [100 * (v / small[0] - 1) if v and small[0] else None
                                              for v in small],
        "figure 6.9a: traffic of the NOC / bandwidth": [a / b for a, b in zip(traffic[:3], one)] + [None],
    }


def peaks(figure, paper, bands):
    here = peak_values(bands)
    beside(figure, "Bandwidth on a mesh",
           [r for r in paper["table"]["rows"] if r["metric"] in here], here, NOTE)


def show(run, results, paper, figure):
    if not run.has("computed"):
        return
    plan = run.plans["computed"]
    for part in PARTS:
        figure.part(part, False)
    with figure.optional("tables 6.1, 6.3, 6.4"):
        tables(figure, paper, results.get(chip(plan, "table")))
    with figure.optional("figure 6.7"):
        found = rows(results.get(chip(plan, "hops")), "network", "design", "hops", "over_numa_percent")
        curves(figure, "6.7", "what reads take longer than over NUMA, by hops between chips", "%",
               [r[1:] for r in found if r[0] == "mesh"], DESIGNS, paper["series"],
               xlabel="hops", logx=False, logy=False)
    with figure.optional("figures 6.8 and 6.11"):
        found = rows(results.get(latency(plan)), "network", "design", "bytes", "ns")
        for part, network in (("6.8", "mesh"), ("6.11", "noc-out")):
            curves(figure, part, f"blocking reads, {network}", "latency, ns",
                   [r[1:] for r in found if r[0] == network], READS)
    bands = {}
    for part, network, routing in (("6.9a", "mesh", "class"), ("6.9b", "mesh", "xy"),
                                   ("6.12", "noc-out", "class")):
        with figure.optional(f"figure {part}"):
            document = results.get(bandwidth(plan, network, routing))
            found = rows(document, "design", "bytes", "gbps", "noc_gbps")
            if network == "mesh":
                bands[routing] = document["rows"]
            curves(figure, part, f"all cores read, {network}, {routing}", "GB/s, in and out",
                   [r[:3] for r in found], DESIGNS, logy=False)
    if len(bands) == 2:
        peaks(figure, paper, bands)
    with figure.optional("constants"):
        figure.blocks.append(Table(
            "Constants of the model", [("name", ""), ("value", ""), ("kind", ""), ("source", "")],
            [[n, str(v), k, s] for n, v, k, s in rows(results.get(chip(plan, "parameters")),
                                                      "name", "value", "kind", "source")]))
