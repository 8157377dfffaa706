# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Canned output of programs in virtual time, and of transactions by parts, for unit.py."""

from figures import figs, papers, r25

SIZES = (64, 512, 4096, 8192)


def sync(job):
    """R25: as printed, twice as much where nothing is"""
    found = {}
    for row in papers.load("r25-sync")["table"]["rows"]:
        if "here" not in row:
            continue
        _, part, size, nodes, *series = row["here"]
        for one, value in zip(series, (2 * row["values"][0], 2)):
            found[part, size, nodes, one] = value
    for _, _, *keys in (*r25.CLAIMS, *r25.SWITCH_CLAIMS):
        for key in keys:
            found.setdefault(key, 2)
    for module in (m for m in figs.modules().values() if m.PAPER == "r25-sync"):
        for part in module.CURVES:
            found[part, 256, 128, "ends alike"] = 1
    for part, names, where, *_ in figs.modules()["r25_reads"].OTHERS:
        for name in names:
            found[*where, name] = 3 if "--set" in job.argv else 2
    for kind in ("messages", "round-trips", "atomics"):
        found[f"table1-{kind}", 256, 1, "a read"] = 2
    found["8", 256, 1, "shared: basic"] = 100
    return {"path": "packets", "rows": [dict(zip(("part", "bytes", "nodes", "series", "value"), (*key, value)))
                                        for key, value in found.items()]}


def hades():
    """HADES: twice SW-Impl's throughput for one program, four times for the other; a quarter of the latency"""
    found = []

    def row(part, nodes, series, value, unit):
        found.append(dict(zip(("part", "bytes", "nodes", "series", "value", "unit"),
                              (part, 0, nodes, series, value, unit))))
    for part, counts in (("9", (5,)), ("12a", (1, 2, 3)), ("12b", (20, 50, 80)), ("13", (10,)), ("14", (1,)),
                         ("15", (1, 200))):
        for n in counts:
            for program, times in (("TATP", 2), ("HT-wA", 4), ("TPC-C-NP", 100), ("mean", 3)):
                for system in ("HADES", "HADES-H"):
                    row(part, n, f"{system} / SW-Impl: {program}", times, "x")
                    row(part, n, f"{system} / SW-Impl, each: {program}", times, "x")
    for program, us in (("TATP", 4), ("HT-wA", 8), ("TPC-C-NP", 1000), ("TPC-C", 400)):
        for system, by in (("SW-Impl", 1), ("HADES", 4), ("HADES-H", 2)):
            for unit in ("requests of an attempt", "% false positives", "lines read at most", "lines written at most"):
                row("details", 0, f"{system}: {program}", us, unit)
            row("10", 0, f"{system}: {program}", us / by, "us")
            row("10", 0, f"{system}, execution: {program}", us / by, "us")
            row("11", 0, f"{system}: {program}", us / by, "us")
        row("evictions", 1, f"HADES: {program}", us / 8, "% of transactions squashed")
        row("needed", 0, f"HADES: {program}", us, "ns of a record")
    row("table3", 0, "bytes: pair of core filters", 704, "B")
    row("table3", 0, "bytes: pair of NIC filters", 256, "B")
    return {"path": "model", "profile": "hades", "set": [], "rows": found}


def sim(program):
    """SABRes take as long as reads, no speculation a miss more; 16 writers cost FaRM more"""
    if program == "sim-pagerank":
        return None
    rows = []

    def row(*values):
        rows.append(dict(zip(("part", "bytes", "nodes", "series", "value"), values)))
    if program == "sim-sonuma":
        for n in SIZES:
            for name in ("latency", "bandwidth"):
                row("7", n, 2, name, 0.5)
                row("7", n, 2, f"{name}, double-sided", 0.6)
                row("8", n, 2, f"{name}, pull", 2)
                row("8", n, 2, f"{name}, push", 1)
                row("8", n, 2, f"{name}, best", 1)
        for metric in ("max bandwidth", "read RTT", "fetch-and-add", "IOPS"):
            row("table2", 64, 2, metric, 4.25)
    for n in (128, 1024, 8192) if program == "sim-sabre" else ():
        for s in ("farm", "sabre", "strip"):
            for p in ("transfer", "strip and compare", "framework and application"):
                row("1", n, 0, f"{s}: {p}", n / 8)
            row("9a", n, 1, s, n)
            row("9b", n, 15, s, 3)
        row("9a", n, 1, "sabre shorter by", 33)
        row("9b", n, 15, "sabre more by", n / 100)
        for w in (0, 16):
            row("8", n, w, "sabre more by", 11 + w)
        for s, ns in (("read", 300), ("SABRe", 300), ("SABRe, no speculation", 390), ("SABRe, locked", 391)):
            rows += [{"part": p, "bytes": n, "series": s, "value": v} for p, v in (("7a", ns + n), ("7b", 20))]
    return {"path": "packets", "rows": rows}


def chip(argv):
    """Each design takes a cycle more than the one before; XY has half of the bandwidth"""
    designs = ("edge", "per-tile", "split", "NUMA")
    if argv[-1] == "parameters":
        return {"rows": [{"name": "hop", "value": 3, "kind": "published", "source": "table 6.2"}]}
    if argv[-1] == "bandwidth":
        gbps = 200 if argv[argv.index("-r") + 1] == "class" else 100
        return {"rows": [{"design": d, "bytes": n, "gbps": gbps / (i + 1), "noc_gbps": 500}
                         for i, d in enumerate(designs[:3]) for n in (64, 8192)]}
    rows = [{"network": n, "design": d, "row": r, "cycles": 10 + i, "hops": 6, "over_numa_percent": 30 - i,
             "bytes": 64, "ns": 300 + i}
            for n in ("mesh", "noc-out") for r in ("WQ write", "CQ read", "total")
            for i, d in enumerate((*designs, "per-tile, no O", "split, no O"))]
    return {"rows": rows}


def tx_parts():
    """Overheads are 60% of the time; the rest takes 4 us more with the model"""
    mixes = ("100%WR", "50%WR-50%RD", "100%RD")
    names = ("manage RD/WR sets", "read atomicity", "conflict detection")
    return {"path": "packets", "mixes": [
        {"hop_ns": hop, "mix": mix, "requests": requests, "whole": 10000 + 4 * hop - 1000 * i, "rest": 4000,
         "overheads": 0.6, "sum": 1.0, "copies": 1.0,
         "parts": [{"part": part, "ns": 2000, "share": k / 10, "omitted_alone": k / 20, "added_alone": k / 5}
                   for k, part in enumerate(names, 1)]}
        for hop in (0, 1000) for requests in ("in turn", "together") for i, mix in enumerate(mixes)]}
