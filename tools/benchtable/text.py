# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The table for people."""

SHORT = (("development platform", "dev"), ("simulated hardware", "sim"), ("RDMA", "RDMA"))
TITLES = {
    "latency": "Latency of one operation, us",
    "rate": "64 B operations a second, millions",
    "bandwidth": "Bandwidth, GB/s",
    "messages": "Messages, one way: us; streaming: GB/s",
    "parked": "A worker without work",
    "cycles": "Cycles per operation and stage (time stamp counter, lines in the cache)",
    "lines": "Cache lines touched per operation and stage; moved between the CPUs",
}


def number(value):
    if value is None:
        return ""
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    text = f"{value:.3g}"
    return f"{float(text):f}".rstrip("0").rstrip(".") if "e" in text else text


def size(n):
    return "" if n is None else f"{n // 1024} KiB" if n >= 1024 and not n % 1024 else f"{n} B"


def papers(row):
    words = []
    for one in row.get("papers", ()):
        name = next((short for long, short in SHORT if long in one["platform"]), one["platform"])
        value = one["value"]
        words.append(f"{name} {value if isinstance(value, str) else number(value)}")
    return ", ".join(words)


def table(head, lines):
    """Columns as wide as need be; the first is to the left, the last, and ours."""
    left = {0, len(head) - 1, *(i for i, name in enumerate(head) if name == "ours")}
    lines = [[str(c) for c in line] for line in [head, *lines]]
    wide = [max(len(line[i]) for line in lines) for i in range(len(head))]
    out = []
    for n, line in enumerate(lines):
        cells = [c.ljust(w) if i in left else c.rjust(w)
                 for i, (c, w) in enumerate(zip(line, wide))]
        out.append("  ".join(cells).rstrip())
        if not n:
            out.append("-" * len(out[0]))
    return out


def against(row):
    parts = []
    if "limit" in row:
        parts.append(f"{row['ratio']:.2f} x {row['limit']}")
    if "asked" in row:
        parts.append(f"asked {row['asked']}" + ("" if row["met"] else "  MISSED"))
    return ", ".join(parts)


def second(row):
    """The median of the same in packets"""
    return number(row.get("packets", {}).get("value"))


def both(row):
    """The verdicts of both columns"""
    there = row.get("packets", {})
    found = [against(row)]
    if "ratio" in there and "limit" in row:
        found.append(f"packets {there['ratio']:.2f} x")
    if there.get("met") is False:
        found.append("packets MISSED")
    return ", ".join(filter(None, found))


def name(row):
    text = row["what"]
    if row.get("double_sided"):
        text += ", both sides"
    if row.get("mtu") not in (None, 4096):
        text += f", MTU {row['mtu']}"
    return text


def values(group, found):
    """(head, lines) of a group"""
    if group == "latency":
        return (("", "bytes", "on", "min", "p50", "p99", "p99.9", "path", "packets: p50",
                 "against", "papers"),
                [(name(r), size(r["bytes"]), r["where"], number(r.get("min")), number(r["value"]),
                  number(r.get("p99")), number(r.get("p99_9")), r["path"], second(r), both(r), papers(r))
                 for r in found])
    if group == "rate":
        return (("", "on", "in flight", "QPs", "M/s", "path", "packets: M/s", "against", "papers"),
                [(name(r), r["where"], r["outstanding"], r["qps"], number(r["value"]), r["path"],
                  second(r), both(r),
                  papers(r) if r["outstanding"] == 32 and r["qps"] == 1 else "") for r in found])
    if group in ("cycles", "lines"):
        stages = list(found[0]["parts"])
        return (("", "bytes", "on", "at a time", *stages, "all", "path"),
                [(name(r), size(r["bytes"]), r["where"], r["outstanding"],
                  *(number(r["parts"].get(s)) for s in stages), number(r["value"]), r["path"])
                 for r in found])
    return (("", "bytes", "on", "typical", "p99", "path", "packets", "against", "papers"),
            [(name(r), size(r.get("bytes")), r["where"], f"{number(r['value'])} {r['unit']}",
              number(r.get("p99")), r["path"],
              second(r) and f"{second(r)} {r['unit']}", both(r), papers(r)) for r in found])


def text(document):
    machine = document["machine"]
    out = [f"{machine['title']}: {machine['what']}",
           f"{document['started']}, {document['command']}; load {document['load']['before']:.1f} "
           f"before, {document['load']['after']:.1f} after, {document['cpus']} CPUs"]
    out += [f"{what}: {which}" for what, which in document["versions"][:3]]
    if document["limits"]:
        out += ["", "Limits of this machine, measured between everything else"]
        out += table(("", "median", "least", "most", ""),
                     [(m["limit"], number(m["value"]), number(m["low"]), number(m["high"]),
                       m["unit"]) for m in document["limits"]])
    for group, title in TITLES.items():
        found = [r for r in document["rows"] if r["group"] == group]
        if found:
            out += ["", title, *table(*values(group, found))]
    if document["peers"]:
        out += ["", "Others on this machine, and ours beside them"]
        out += table(("", "bytes", "", ""),
                     [(f"{x['system']}: {x['what']}", size(x["bytes"]),
                       f"{number(x['value'])} {x['unit']}" if x["performance"] else "emulated",
                       "a bound: no isolation" if x["role"] == "bound" else "")
                      for x in document["peers"]])
    if document["ratios"]:
        out += ["", "Ratios, of medians in this run"]
        out += table(("", "", "least", "most", "ours", ""),
                     [(x["name"], f"{number(x['ratio'])} x", number(x.get("low")),
                       number(x.get("high")), x["ours"],
                       ", ".join(filter(None, (f"asked {x['asked']}" if "asked" in x else "",
                                               "" if x.get("met", True) else "MISSED",
                                               "" if x["performance"] else
                                               "emulated: a ratio, no performance"))))
                      for x in document["ratios"]])
    if document["missing"]:
        out += ["", "Missing"]
        out += [f"  {g['what']}: {g['reason']}" for g in document["missing"]]
    return "\n".join(out)
