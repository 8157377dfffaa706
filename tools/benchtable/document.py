# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The table as JSON, and its format.

A program that reads it finds in "rows" every value with its unit, the limit that it
is compared with, and whether it is performance at all.
"""

import dataclasses

from . import rows

SCHEMA = "rmc-bench 2"          # 2: rows have a path, and may have a second column, packets
NUMBER, TEXT, FLAG = (int, float), str, bool

HEAD = {"schema": TEXT, "started": TEXT, "command": TEXT, "quick": FLAG, "cpus": NUMBER,
        "load": dict, "machine": dict, "versions": list, "limits": list, "rows": list,
        "peers": list, "ratios": list, "missing": list}
LIMIT = {"limit": TEXT, "unit": TEXT, "value": NUMBER, "low": NUMBER, "high": NUMBER,
         "samples": NUMBER}
ROW = {"group": TEXT, "what": TEXT, "where": TEXT, "unit": TEXT, "value": NUMBER, "runs": NUMBER,
       "low": NUMBER, "high": NUMBER, "papers": list, "performance": FLAG, "path": TEXT}
ROW_MAY = {"bytes": NUMBER, "mtu": NUMBER, "outstanding": NUMBER, "qps": NUMBER,
           "double_sided": FLAG, "min": NUMBER, "p99": NUMBER, "p99_9": NUMBER, "limit": TEXT,
           "ratio": NUMBER, "asked": TEXT, "met": FLAG, "parts": dict,
           "packets": dict}
SECOND = {"value": NUMBER, "runs": NUMBER, "low": NUMBER, "high": NUMBER, "path": TEXT}
SECOND_MAY = {key: ROW_MAY[key] for key in ("min", "p99", "p99_9", "ratio", "asked", "met")}
PATHS = ("local", "packets", "mixed", "none", "unknown")
PEER = {"system": TEXT, "what": TEXT, "unit": TEXT, "value": NUMBER, "bytes": NUMBER,
        "runs": NUMBER, "role": TEXT, "performance": FLAG}
RATIO = {"name": TEXT, "ours": TEXT, "theirs": TEXT, "ratio": NUMBER, "performance": FLAG}
RATIO_MAY = {"asked": TEXT, "met": FLAG, "low": NUMBER, "high": NUMBER}
GAP = {"what": TEXT, "reason": TEXT, "failed": FLAG}
ROLES = ("ours", "peer", "bound")


def limits(found):
    """One entry per limit; found: [{name: value}]"""
    result = []
    for name, unit in (("ping-pong", "us"), ("access", "us"), ("memcpy", "GB/s")):
        values = [m[name] for m in found if name in m]
        if values:
            result.append({"limit": name, "unit": unit, "value": rows.median(values),
                           "low": min(values), "high": max(values), "samples": len(values)})
    return result


def lean(one):
    """Without missing fields."""
    return {k: v for k, v in dataclasses.asdict(one).items() if v is not None}


def make(head, machine, table, peers):
    return {"schema": SCHEMA, **head, "machine": machine, "limits": limits(table.limits),
            "rows": [lean(r) for r in table.rows], "peers": [lean(x) for x in peers.rows],
            "ratios": [lean(x) for x in peers.ratios],
            "missing": [lean(x) for x in table.gaps + peers.gaps]}


def _kind(value, kind):
    if kind is NUMBER:
        return isinstance(value, NUMBER) and not isinstance(value, bool) and value == value
    return isinstance(value, kind)


def _entry(where, one, must, may=None):
    may = may or {}
    if not isinstance(one, dict):
        yield f"{where} is no object"
        return
    for key, kind in must.items():
        if key not in one:
            yield f"{where} lacks {key}"
        elif not _kind(one[key], kind):
            yield f"{where}: {key} is {one[key]!r}"
    for key, value in one.items():
        if key in may and not _kind(value, may[key]):
            yield f"{where}: {key} is {value!r}"
        elif key not in must and key not in may:
            yield f"{where} has {key}, which nobody knows"


def complaints(document):
    """The errors of a document; an empty list if it is valid."""
    found = list(_entry("the document", document, HEAD))
    if found:
        return found
    if document["schema"] != SCHEMA:
        found.append(f"it is of {document['schema']}, not of {SCHEMA}")
    for name, must, may in (("limits", LIMIT, {}), ("rows", ROW, ROW_MAY), ("peers", PEER, {}),
                            ("ratios", RATIO, RATIO_MAY), ("missing", GAP, {})):
        for i, one in enumerate(document[name]):
            found += _entry(f"{name}[{i}]", one, must, may)
    if found:
        return found
    for i, row in enumerate(document["rows"]):
        if "packets" in row:
            found += _entry(f"rows[{i}], packets", row["packets"], SECOND, SECOND_MAY)
        for one in filter(None, (row, row.get("packets"))):
            if one.get("path") not in PATHS:
                found.append(f"rows[{i}]: path {one.get('path')}")
        if row["group"] not in rows.GROUPS:
            found.append(f"rows[{i}]: there is no group {row['group']}")
        if not row["low"] <= row["value"] <= row["high"]:
            found.append(f"rows[{i}]: {row['value']} is not between its runs")
        if ("limit" in row) != ("ratio" in row) or ("asked" in row) != ("met" in row):
            found.append(f"rows[{i}]: a limit comes with a ratio, what is asked with a verdict")
    found += [f"peers[{i}]: role {x['role']}" for i, x in enumerate(document["peers"])
              if x["role"] not in ROLES]
    return found
