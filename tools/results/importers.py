# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Output of benchmarks -> label, columns and rows of a stored result.

Each importer takes the text of a file and the name of a part of it, and may also return the
origin that the text names: commit, date, machine, command.
"""

import decimal
import json
import re

from benchtable import text as benchtext
from figures import hades, papers, r25
from figures.base import Missing
from figures.figs import chip as chip_figure, ni as ni_figure, objects as objects_figure, \
    r25_reads as r25_figure

from .store import Wrong


def short(value):
    """Three digits: the precision of medians on shared machines."""
    if value is None:
        return None
    return decimal.Decimal(benchtext.number(value))


def unquoted(word):
    try:
        return int(word)
    except ValueError:
        return decimal.Decimal(word)


def measured(value, unit, low=None, high=None):
    cell = {"value": short(value), "unit": unit}
    return {**cell, "low": short(low), "high": short(high)} if low is not None else cell


def path_of(row):
    return {"path": row["path"]} if "path" in row else {}


def joined(paths):
    """The path of a row of several machines"""
    return {"path": paths.pop() if len(paths) == 1 else "mixed"} if paths else {}


def _bench_name(row):
    name = benchtext.name(row)
    if row["group"] != "rate":
        return name + (f", {benchtext.size(row['bytes'])}" if row.get("bytes") else "")
    return f"{benchtext.size(row.get('bytes'))} {name}, {row['outstanding']} in flight" + (
            f" on each of {row['qps']} queue pairs" if row["qps"] > 1 else "")


PEER_PATHS = {"rmc, local path": "local", "rmc, packets": "packets", "rmc, a worker each": "packets"}


def _peers(found):
    """Values of ours and of other systems: a row per system, a column per message or operation"""
    columns, rows = {}, {}
    for one in found["peers"]:
        if not one["performance"]:
            continue
        kind, _, rest = one["what"].partition(", ")
        name = f"{kind}, {benchtext.size(one['bytes'])}" + (f", {rest}" if rest else "")
        columns[name] = {"name": name, "unit": one["unit"]}
        row = rows.setdefault(one["system"], {
            "name": one["system"], "path": PEER_PATHS.get(one["system"], "none"), "values": {}})
        row["values"][name] = short(one["value"])
        if one["role"] == "bound":
            row["values"]["isolation"] = "none"
    return {"label": "between two processes", "columns": [*columns.values(), {"name": "isolation"}],
            "rows": list(rows.values())}


def _of_one_path(rows):
    """Machines without a local path, beside others that have one"""
    found = {}
    for row in rows:
        if row["group"] in ("latency", "rate", "bandwidth", "messages"):
            found.setdefault(row["where"], set()).add(row.get("path"))
    alone = {where for where, paths in found.items() if paths == {"packets"}}
    return alone if len(alone) < len(found) else set()


PAIR_WHERE = ("two rmcd", "guests", "two UML kernels", "a worker each, computed")


def _pairs(found):
    """Two nodes with a worker each, beside one worker for both: a column for each"""
    columns, rows = {}, {}
    for row in found["rows"]:
        of_pair = row["where"].startswith(PAIR_WHERE)
        if row["what"] not in ("read", "write", "reads") or row["group"] == "bandwidth" and row["bytes"] == 64:
            continue            # the rate of these is another row
        if row.get("double_sided") or row.get("mtu", 4096) != 4096 or row.get("qps", 1) > 1 or not (
                of_pair or row["where"] == found["machine"]["title"]):
            continue
        one = row if of_pair else row.get("packets", row)
        where = row["where"] if of_pair else f"{row['where']}, one worker"
        columns[where] = {"name": where, "path": one.get("path", row["path"])}
        rows.setdefault(_pair_name(row), {})[where] = measured(one["value"], row["unit"])
    if not any(name.startswith(PAIR_WHERE) for name in columns):
        raise Wrong("bench: no row of two nodes with a worker each")
    return {"label": "", "columns": list(columns.values()),
            "rows": [{"name": name, "values": values} for name, values in rows.items()]}


def _pair_name(row):
    size = benchtext.size(row["bytes"])
    many = row["group"] != "latency"
    flights = f", {row['outstanding']} in flight" if many else ""
    return f"{size} {row['what'].removesuffix('s')}{'s' * many}{flights}"


def bench(text, part):
    """bench.json of tools/rmc-bench; part: latency, rows (of other groups), ratios, peers or pairs."""
    found = json.loads(text)
    origin = {"command": found["command"], "date": found["started"][:10]}
    if part in ("peers", "pairs"):
        return {**origin, **(_peers if part == "peers" else _pairs)(found)}
    if part == "ratios":
        columns = [{"name": "ratio"}, {"name": "asked"}]
        rows = [{"name": r["name"], "values": {
            "ratio": measured(r["ratio"], "x", r.get("low"), r.get("high")),
            **({"asked": r["asked"]} if "asked" in r else {})}} for r in found["ratios"]]
        return {**origin, "label": "ratio", "columns": columns, "rows": rows}
    groups = {"latency": ("latency",), "rows": ("rate", "bandwidth", "messages", "parked")}
    if part not in groups:
        raise Wrong(f"bench: part {part!r} is not latency, rows, ratios, peers or pairs")
    columns, rows, paths = {}, {}, {}
    alone = _of_one_path(found["rows"])
    for row in found["rows"]:
        if row["group"] not in groups[part]:
            continue
        name = _bench_name(row)
        values = rows.setdefault(name, {})
        where, packets = row["where"], row.get("packets")
        own = {"path": "packets"} if where in alone else {}
        if "path" in row and not own:
            paths.setdefault(name, set()).add(row["path"])
        if part == "latency":
            for key, title in (("min", "min"), ("value", "p50"), ("p99", "p99"), ("p99_9", "p99.9")):
                if row.get(key) is None:
                    continue            # what is computed has no distribution
                columns[f"{where}: {title}"] = {"name": f"{where}: {title}", "unit": row["unit"], **own}
                values[f"{where}: {title}"] = short(row.get(key))
            if packets:
                for key, title in (("value", "p50"), ("p99", "p99")):
                    title = f"{where}, packets: {title}"
                    columns[title] = {"name": title, "unit": row["unit"], "path": packets["path"]}
                    values[title] = short(packets.get(key))
            continue
        for where, one in ((where, row), (f"{where}, packets", packets)):
            if not one:
                continue
            more = {"path": one["path"]} if one is packets else own
            columns[where] = {"name": where, **more}
            values[where] = measured(one["value"], row["unit"])
            if "limit" in row and "ratio" in one:
                columns[f"{where}, beside"] = {"name": f"{where}, beside", **more}
                values[f"{where}, beside"] = measured(one["ratio"], f"x {row['limit']}")
        if "asked" in row:
            columns["asked"] = {"name": "asked"}
            values["asked"] = row["asked"]
    return {**origin, "label": "latency" if part == "latency" else "",
            "columns": list(columns.values()),
            "rows": [{"name": name, **joined(paths.get(name)), "values": values}
                     for name, values in rows.items()]}


def host(text, _):
    """build/host/bench --json."""
    rows = []
    for row in json.loads(text):
        values = {"measured": measured(row["value"], row["unit"].replace("/ns", "per ns"))}
        if "ratio" in row:
            per = row["per"]
            values["beside"] = measured(row["ratio"], "x " + (f"({per})" if " " in per and per[0] != "(" else per))
        rows.append({"name": row["name"], **path_of(row), "values": values})
    return {"label": "", "columns": [{"name": "measured"}, {"name": "beside"}], "rows": rows}


def history(text, _):
    """The last line of the file that selftests/bench/bench-history keeps."""
    entry = json.loads(text.strip().splitlines()[-1])
    rows = [{"name": name, "values": {"median": measured(row["value"], row["unit"])}}
            for name, row in entry["values"].items()]
    return {"commit": entry["commit"], "date": entry["date"][:10], "machine": entry["machine"],
            "command": f"selftests/bench/{entry['command']}",
            "label": "", "columns": [{"name": "median"}], "rows": rows}


def series(text, part):
    """JSON with "results" by size: a benchmark's, or raw/KEY.json of rmc-figures (part: node)."""
    found = json.loads(text)
    origin = {key: found[key][:10] if key == "started" else found[key]
              for key in ("command", "started") if key in found}
    if "started" in origin:
        origin["date"] = origin.pop("started")
    if "output" in found:
        if (part or "0") not in found["output"]:
            raise Wrong(f"series: nothing of node {part or 0}")
        found = found["output"][part or "0"]
    units = {"usec": ("us", 1), "bytes_per_sec": ("GB/s", 1e-9)}
    columns, rows = {}, []
    for one in found["results"]:
        values = {}
        for key, value in one.items():
            match = re.fullmatch(r"(.*)_(usec|bytes_per_sec)", key)
            if match and value is not None:
                unit, scale = units[match.group(2)]
                title = match.group(1).replace("_", " ").removeprefix("t ").removeprefix("bw ")
                columns[title] = {"name": title, "unit": unit}
                values[title] = short(value * scale)
        name = benchtext.size(one["bytes"]) + (f", {one['way']}" if "way" in one else "")
        rows.append({"name": name, **path_of(one), "values": values})
    return {**origin, "label": "size", "columns": list(columns.values()), "rows": rows}


def sabre(text, part):
    """A block of build/host/sabre_bench; part: its heading up to the colon."""
    blocks = dict(re.findall(r"^(MTU \d+, [^:\n]*): latency.*\n((?:.+\n?)+)", text, re.M))
    if part not in blocks:
        raise Wrong(f"sabre: part {part!r} is not of {', '.join(blocks) or 'nothing'}")
    lines = blocks[part].splitlines()
    names = [n for n in lines[0].split()[1:] if n != "path"]
    columns = [{"name": names[0]}] + [{"name": n + e} for n in names[1:] for e in ("", ", ratio")]
    rows, rate = [], False
    for line in lines[1:]:
        if line.startswith("32 in flight"):
            rate = True
            continue
        words = line.split()
        path = {"path": words.pop()} if words[-1] in ("local", "packets") else {}
        size, words = benchtext.size(int(words[0])), [unquoted(w) for w in words[1:]]
        if rate:
            cells = dict(zip(names, ({"value": w, "unit": "GB/s"} for w in words)))
        else:
            cells = {c["name"]: {"value": w, "unit": "x" if "ratio" in c["name"] else "ns"}
                     for c, w in zip(columns, words)}
        rows.append({"name": size + (", 32 in flight" if rate else ""), **path, "values": cells})
    return {"label": "object", "columns": columns, "rows": rows}


def _ni_name(row):
    units = f", {row['units']} units" if row["units"] > 1 else ""
    fewer = f", {row['rrpps']} RRPPs" if row["rrpps"] != row["units"] else ""
    return row["ni"] + units + fewer


def _ni_by_size(found, what):
    """Computed: a row for each organisation, a column for each size"""
    field, unit = {"latency": ("ns", "ns"), "bandwidth": ("gbps", "GB/s")}[what]
    columns, rows = {"CPUs of a node": {"name": "CPUs of a node"}}, {}
    for one in found:
        if one["part"] != "computed" or one["what"] != what:
            continue
        size = benchtext.size(one["bytes"])
        columns[size] = {"name": size, "unit": unit}
        row = rows.setdefault(_ni_name(one), {"name": _ni_name(one), "path": one["path"], "values": {
            "CPUs of a node": str(one["cpus"] // one["kernels"])}})
        row["values"][size] = short(one[field])
    return columns, rows


def _ni_threads(found):
    """Measured with a pinned thread for each, beside the same computed"""
    columns, rows = {"nodes of a worker": {"name": "nodes of a worker"}}, {}
    ratios = {}
    for one in found:
        if one["part"] not in ("threads", "beside threads"):
            continue
        row = rows.setdefault(_ni_name(one), {"name": _ni_name(one), "path": one.get("path", "none"),
                                              "values": {}})
        row["values"]["nodes of a worker"] = "one" if one["kernels"] > 1 else "both"
        if one["what"] == "skipped":
            row["values"] = {"nodes of a worker": f"needs {one['needs']} CPUs"}
            continue
        field, unit = ("ns", "ns") if one["what"] == "latency" else ("gbps", "GB/s")
        what = f"{one['what']} {benchtext.size(one['bytes'])}"
        kind = "computed" if one["part"] == "beside threads" else "measured"
        columns[f"{what}, {kind}"] = {"name": f"{what}, {kind}", "unit": unit}
        row["values"][f"{what}, {kind}"] = short(one[field])
        both = ratios.setdefault((_ni_name(one), what), {})
        both[kind] = one[field]
        if len(both) == 2:
            columns[f"{what}, ratio"] = {"name": f"{what}, ratio", "unit": "x"}
            row["values"][f"{what}, ratio"] = short(both["computed"] / both["measured"])
    return columns, rows


def _ni_between(found):
    """One node accesses the other, a worker each, computed"""
    columns = {"computed, a worker each": {"name": "computed, a worker each"}}
    rows = {}
    for one in found:
        if one["part"] != "between":
            continue
        size, many = benchtext.size(one["bytes"]), one["outstanding"] > 1
        name = f"{size} {one['what']}" + (f"s, {one['outstanding']} in flight" if many else "")
        value, unit = one["t_typical_usec"], "us"
        if many:
            value, unit = ((one["mops"], "M/s") if one["bytes"] == 64 else
                           (one["bw_typical_bytes_per_sec"] / 1e9, "GB/s"))
        rows[name] = {"name": name, "path": one["path"],
                      "values": {"computed, a worker each": measured(value, unit)}}
    return columns, rows


def _beside_paper(rows, paper="T18", fitted=()):
    """rows: [(name, path, unit, printed, ours)] -> columns, and rows by name; fitted: names of those that
    were an input, and have no ratio"""
    columns = {name: {"name": name} for name in (paper, "here", "ratio")}
    return columns, {name: {"name": name, **({"path": path} if path else {}), "values": {
        paper: {"value": short(printed), "unit": unit}, "here": {"value": short(ours), "unit": unit},
        "ratio": fitted[name] if isinstance(fitted, dict) and fitted.get(name) else
        "fitted" if name in fitted else {"value": short(ours / printed), "unit": "x"}}}
        for name, path, unit, printed, ours in rows if printed and ours}


def _ni_papers(found):
    """Computed latency and bandwidth beside the thesis': of each organisation, and of edge"""
    paper = papers.load(ni_figure.PAPER)
    cycles = ni_figure.printed(paper, "mesh: total")
    large = ni_figure.printed(paper, "8 KiB, of edge")
    here, rows = ni_figure.Rows({"rows": found}), []
    for units in ni_figure.UNITS:
        edge = [here.value(what, "edge", units, size) for what, size in (("latency", 64), ("bandwidth", 8192))]
        for design, name in ni_figure.DESIGNS.items():
            who = f"{name}, {units} units"
            ns, gbps = (here.value(what, name, units, size) for what, size in (("latency", 64),
                                                                               ("bandwidth", 8192)))
            rows.append((f"{who}: read of 64 B", "packets", "ns", cycles[design] / ni_figure.GHZ, ns))
            if name != "edge" and ns and edge[0]:
                rows.append((f"{who}: read of 64 B, of edge", "packets", "%",
                             100 * cycles[design] / cycles["edge"], 100 * ns / edge[0]))
            if name != "edge" and large[design] and gbps and edge[1]:
                rows.append((f"{who}: bandwidth at 8 KiB, of edge", "packets", "%", large[design],
                             100 * gbps / edge[1]))
    return _beside_paper(rows)


def _chip_hops(found):
    """Figure 6.7: {name: (unit, printed, ours)}"""
    at = {(r["design"], r["hops"]): r for r in found["rows"] if r["network"] == "mesh"}
    rows = {f"figure 6.7: {s['platform']}, {x} hop{'s' * (x > 1)}": (s["unit"], y, at[s["platform"], x][
        "over_numa_percent"]) for s in papers.series(papers.load(chip_figure.PAPER), "6.7")
        for x, y in s["points"]}
    return rows, {"figure 6.7: a hop, there and back": [
        at[d, 2]["cycles"] - at[d, 1]["cycles"] for d in chip_figure.READS]}


def _chip_table(found):
    rrpp = {r["network"]: r["cycles"] for r in found["rows"] if (r["design"], r["row"]) == ("edge", "RRPP")}
    here = chip_figure.cycles(found)
    if len(rrpp) == 2:
        here["table 6.4: RRPP shorter than a mesh's"] = [
            100 * (1 - rrpp["noc-out"] / rrpp["mesh"]), None, None, None]
    return {}, here


def _chip_bandwidth(found):
    return {}, chip_figure.peak_values({
        routing: [r for r in found["rows"] if (r["network"], r["routing"]) == ("mesh", routing)]
        for routing in ("class", "xy")})


def _chip_latency(found):
    return {}, chip_figure.latency_values({(r["network"], r["design"], r["bytes"]): r["ns"]
                                           for r in found["rows"]})


CHIP = {"table": _chip_table, "hops": _chip_hops, "bandwidth": _chip_bandwidth, "latency": _chip_latency}


def chip(text, _):
    """build/rmc_chip -j table, hops, bandwidth (of a mesh, both routings) or latency: the model of the papers'
    chip beside what the thesis prints"""
    found, paper, rows, given = json.loads(text), papers.load(chip_figure.PAPER), [], {}
    named, here = CHIP[found.get("command", "table")](found)
    said = {}
    for row in paper["table"]["rows"]:
        for design, printed, ours in zip(paper["table"]["columns"], row["values"], here.get(row["metric"], ())):
            name = f"{row['metric']}, {design}"
            if isinstance(printed, str):
                said[name] = {"name": name, "values": {
                    "T18": printed, "here": {"value": short(ours), "unit": row["unit"]}}}
                continue
            given[name] = chip_figure.given(row["metric"], design)
            rows.append((name, None, row["unit"], printed, ours))
    rows += [(name, None, *values) for name, values in named.items()]
    columns, rows = _beside_paper(rows, fitted={k: v for k, v in given.items() if v})
    return {"label": "read of one block", "columns": list(columns.values()),
            "rows": [*rows.values(), *said.values()]}


NI_PARTS = {"threads": _ni_threads, "between": _ni_between, "papers": _ni_papers}


def ni(text, part):
    """build/host/ni_bench --json; part: latency, bandwidth, threads, between or papers."""
    found = json.loads(text)
    if part in ("latency", "bandwidth"):
        columns, rows = _ni_by_size(found["rows"], part)
    elif part in NI_PARTS:
        columns, rows = NI_PARTS[part](found["rows"])
    else:
        raise Wrong(f"ni: part {part!r} is not latency, bandwidth, {', '.join(NI_PARTS)}")
    if not rows:
        raise Wrong(f"ni: no row of {part}")
    return {"label": "" if part == "between" else "ni", "columns": list(columns.values()),
            "rows": list(rows.values())}


def objects(text, _):
    """build/host/objects --json: sizes are the columns."""
    columns, rows = {}, {}
    for one in json.loads(text)["rows"]:
        size = benchtext.size(one["bytes"])
        columns[size] = {"name": size}
        name = f"{one['figure']}: {one['series']}"
        name += f", {one['writers']} writers" if one["writers"] else ""
        row = rows.setdefault(name, {"name": name, "unit": one["unit"], "values": {}})
        row["values"][size] = short(one["value"])
    return {"label": "figure", "columns": list(columns.values()), "rows": list(rows.values())}


def sync(text, _):
    """build/host/sync_bench --json: ratios and times, without a link model and with its round trips."""
    columns, rows = [], {}
    for model in json.loads(text)["models"]:
        column = f"round trips of {2 * model['hop_ns'] // 1000} us" if model["hop_ns"] else "no link model"
        columns.append({"name": column})
        for one in model["ratios"]:
            row = rows.setdefault(one["name"], {"name": one["name"], "unit": "x", "values": {}})
            row["values"] |= {column: short(one["ratio"]), "asked": short(one["asked"])}
        for name, ns in model["ns"].items():
            row = rows.setdefault(name, {"name": name, "unit": "ns", "values": {}})
            row["values"][column] = short(ns)
    return {"label": "", "columns": [*columns, {"name": "asked"}], "rows": list(rows.values())}


def _percent(one, key):
    return short(100 * one[key])


def tx(text, _):
    """build/host/tx_bench --json: shares of a transaction's time, between those that a part has when it
    is omitted alone and when it is added alone."""
    columns, rows = {}, {}

    def put(name, unit, column, value):
        rows.setdefault(name, {"name": name, "unit": unit, "values": {}})["values"][column] = value

    for one in json.loads(text)["mixes"]:
        trip = f"{2 * one['hop_ns'] // 1000} us" if one["hop_ns"] else "no link model"
        column = f"{trip}, {one['requests']}"
        columns[column] = {"name": column}
        put(f"{one['mix']}: all overheads", "%", column, _percent(one, "overheads"))
        for part in one["parts"]:
            ends = sorted(part[key] for key in ("omitted_alone", "added_alone"))
            put(f"{one['mix']}: {part['part']}", "%", column, measured(
                100 * part["share"], "%", *(100 * x for x in ends)))
        put(f"{one['mix']}: parts and rest, of the whole", "x", column, short(one["sum"]))
        put(f"{one['mix']}: rest", "ns", column, short(one["rest"]))
        put(f"{one['mix']}: whole", "ns", column, short(one["whole"]))
    return {"label": "", "columns": list(columns.values()), "rows": list(rows.values())}


def delay(text, _):
    """build/host/delay: the link model's round trips."""
    columns = [{"name": "hops"}, {"name": "configured"}, {"name": "measured"}, {"name": "off"}]
    rows = [{"name": "floor without a model", **({"path": path} if path else {}),
             "values": {"measured": {"value": int(ns), "unit": "ns"}}}
            for ns, path in re.findall(r"^# floor without a model: (\d+) ns(?:, (\w+))?$", text, re.M)]
    found = re.findall(r"^# (\S.*?) +(\d+) +(\d+) +(\d+) +(\d+) +[+]?(-?[\d.]+) +\d+ +\d+"
                       r"(?: +(local|packets))?$", text, re.M)
    names = [what for what, *_ in found]
    for what, hops, _, model, mean, off, path in found:
        # the same torus over several distances
        name = what if names.count(what) == 1 else f"{what}, {hops} hop{'s' * (hops != '1')}"
        rows.append({"name": name, **({"path": path} if path else {}), "values": {
            "hops": hops, "configured": f"{model} ns", "measured": {"value": int(mean), "unit": "ns"},
            "off": {"value": unquoted(off), "unit": "%"}}})
    if not found:
        raise Wrong("delay: no row of the link model")
    return {"label": "model", "columns": columns, "rows": rows}


# Rows of sim-sonuma beside points of A14's figures: part, series, mode there, its part there
A14_POINTS = (("7", "latency", "single", "latency"), ("7", "bandwidth", "single", "bandwidth"),
              ("7", "bandwidth, double-sided", "double", "bandwidth"),
              ("8", "latency, best", "best", "latency"), ("8", "bandwidth, best", "best", "bandwidth"))


def _a14(found):
    """Beside the simulated hardware if costs are of the paper's chip, else the development platform"""
    chip_costs = found["profile"] != "rmc"
    value = {(r["part"], r["series"], r["bytes"]): r["value"] for r in found["rows"]}
    rows = []
    for part, name, mode, there in A14_POINTS:
        for s in papers.series(papers.load(f"a14-fig{part}"), there):
            if s["mode"] == mode and s["platform"] == ("simulated hardware" if chip_costs else
                                                       "development platform"):
                rows += [(f"figure {part}: {name}, {x} B", None, s["unit"], y, value[part, name, x])
                         for x, y in s["points"]]
    table = {name: y for (part, name, _), y in value.items() if part == "table2"}
    return rows + [(f"table 2: {row['metric']}", None, row["unit"], row["values"][chip_costs],
                    table[row["metric"]]) for row in papers.load("a14-table2")["table"]["rows"]], (), "A14"


def _m16(found):
    rows, fitted = [], ()
    for row in papers.load("m16-objects")["table"]["rows"]:
        try:
            ours = objects_figure.virtual_value(found, *row["here"])
        except Missing:
            continue
        rows.append((row["metric"], None, row["unit"], row["values"][0], ours))
    if found["profile"] == objects_figure.VIRTUALS[1][1]:
        fitted = objects_figure.FITTED[:1]
    return rows, fitted, "M16"


# Figures that no other paper has
R25_PARTS = {"4", "5", "16-112-write-only", "17", "18", "20"}
R25_CLAIMS = {"claims": r25.CLAIMS, "switch-claims": r25.SWITCH_CLAIMS}


def _r25(found):
    rows, fitted, changed = [], {}, {one.partition("=")[0] for one in found["set"]}
    for row in papers.load("r25-sync")["table"]["rows"]:
        try:
            ours = r25.here(found, *row["here"]) if "here" in row else None
        except Missing:
            continue
        rows.append((row["metric"], None, row["unit"].replace("times", "x"), row["values"][0], ours))
        if r25.given(row, changed):
            fitted[row["metric"]] = r25.given(row, changed)
    return rows, fitted, "R25"


def _r25_table1(found):
    names = ("messages", "round trips that are waited for", "atomics")
    return {"label": "of an operation that nobody is in the way of", "columns": [{"name": n} for n in names],
            "rows": [{"name": row[0], "values": {n: {"value": short(v), "unit": "count"}
                                                 for n, v in zip(names, row[1:])}}
                     for row in r25_figure.table1(found)]}


def _r25_claims(documents, which):
    names = [d["profile"] for d in documents]
    columns = ["holds if", *(n + e for n in names for e in ("", ": holds"))]
    rows = []
    for text, limit, *cells in r25_figure.claims(documents, which):
        values = {"holds if": limit}
        for name, quotient, holds in zip(names, cells[::2], cells[1::2]):
            values |= {name: {"value": short(quotient), "unit": "x"}, f"{name}: holds": holds}
        rows.append({"name": text, "values": values})
    return {"label": "conclusion", "columns": [{"name": c} for c in columns], "rows": rows}


def _documents(text):
    """JSON of several runs, one behind the other"""
    decoder, found, text = json.JSONDecoder(), [], text.strip()
    while text:
        one, end = decoder.raw_decode(text)
        found.append(one)
        text = text[end:].lstrip()
    return found


def _by_profile(documents):
    """Runs of one profile are one"""
    found = {}
    for one in documents:
        found.setdefault(one["profile"], {**one, "rows": []})["rows"] += one["rows"]
    return list(found.values())


def _hades_table(document, part):
    """A part of sim-hades: programs by systems, in other parts by what was counted"""
    rows, columns = {}, {}

    def put(row, column, value, unit):
        columns[column] = {"name": column}
        rows.setdefault(row, {"name": row, "values": {}})["values"][column] = {"value": short(value), "unit": unit}

    parts = ("10", "11") if part == "latency" else (part,)
    found = [r for r in document["rows"] if r["part"] in parts]
    if not found:
        raise Wrong(f"virtual: sim-hades has no part {part}")
    for r in found:
        series, _, program = r["series"].partition(": ")
        counted = {"12a": f"{r['nodes']} us", "12b": f"{r['nodes']}% local",
                   "patience": f"{r['nodes'] or 'never'}"}.get(part)
        unit = {"M/s": "M/s", "us": "us", "x": "x"}.get(r["unit"])
        if part in ("details", "evictions"):
            percent = r["unit"].startswith("% ")
            put(f"{program}, {series}", r["unit"].removeprefix("% of ").removeprefix("% "), r["value"],
                "%" if percent else "count")
        elif part == "latency":
            put(f"{program}, {series.partition(', ')[0]}", "95%" if r["part"] == "11" else
                series.partition(", ")[2] or "mean", r["value"], "us")
        elif part == "needed":
            put(program, f"{series}", r["value"], "ns")
        else:
            put(f"{program}, {counted}" if counted else program, series, r["value"], unit)
    return {"label": "a model", "columns": list(columns.values()), "rows": list(rows.values())}


def _hades(found):
    rows = []
    for row in papers.load("hd-model")["table"]["rows"]:
        try:
            ours = hades.here(found, *row["here"])
        except Missing:
            continue
        rows.append((row["metric"], None, row["unit"].replace("times", "x"), row["values"][0], ours))
    return rows, (), "HADES"


def virtual(text, part):
    """build/sim-hades, of which one table with part, or build/sim-sonuma, sim-sabre or sim-sync --json: the paper's values beside those in virtual time; of
    sim-sync also table1 or, of several runs, claims; of a switch, switch-claims. Its adapters have a run each."""
    documents = _documents(text)
    if part in R25_CLAIMS:
        return _r25_claims(_by_profile(documents), R25_CLAIMS[part])
    found = {**documents[0], "rows": [row for one in documents for row in one["rows"]],
             "set": [name for one in documents for name in one.get("set", ())]}
    if found["profile"] == "hades" and part:
        return _hades_table(found, part)
    if part == "table1":
        return _r25_table1(found)
    parts = {r["part"] for r in found["rows"]}
    rows, fitted, paper = (_hades if found["profile"] == "hades" else _a14 if "table2" in parts else _r25 if parts & R25_PARTS else _m16)(found)
    if not rows:
        raise Wrong("virtual: no row that the paper prints a value of")
    columns, values = _beside_paper(rows, paper, fitted)
    return {"label": ", ".join([*dict.fromkeys(one["profile"] for one in documents), *found["set"]]),
            "columns": list(columns.values()), "rows": list(values.values())}


KINDS = {"virtual": virtual, "bench": bench, "host": host, "history": history, "series": series, "sabre": sabre, "ni": ni,
         "objects": objects, "delay": delay, "chip": chip,
         "sync": sync, "tx": tx}
