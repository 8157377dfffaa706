# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Each published value of a section beside ours: Documentation/results/closing/NAME.json.

papers    files of tools/figures/papers, each number of which has to have a row
reasons   {letter: one line}
rows      {paper, metric, platform} or {paper, series: [platform, part, mode], x}, and
            here  [result, row, column], two of these for their quotient, or null: not here
            why   a letter; needed without "here", and if the quotient is not near 1
"""

import decimal
import os
import re

from benchtable import text as benchtext
from figures import papers

from . import store, tables

PREFIX = "closing/"
NEAR = (decimal.Decimal("0.67"), decimal.Decimal("1.5"))
# (ours, the paper's): factor; cycles are of the papers' chip
UNITS = {("GB/s", "Gbps"): 8, ("ns", "us"): decimal.Decimal("0.001"), ("ns", "cycles"): 2}
KINDS = ((r"build/sim-", "model, virtual time"), (r"build/rmc_chip", "model of the chip"),
         (r"build/host/ni_bench", "computed"), (r"", "native"))


def names(results):
    where = os.path.join(results.folder, PREFIX)
    return sorted(PREFIX + n[:-5] for n in os.listdir(where) if n.endswith(".json")) \
        if os.path.isdir(where) else []


def load(name, results):
    return store.load(os.path.join(results.folder, f"{name}.json"))


def printed(name):
    """{key of a row: (value, unit)}, of all that a file of papers has"""
    paper, found = papers.load(name), {}
    for s in paper.get("series", ()):
        for x, y in s["points"]:
            found[name, s["platform"], s["part"], s["mode"], x] = (y, s["unit"])
    table = paper.get("table", {"columns": [], "rows": []})
    for row in table["rows"]:
        for column, value in zip(table["columns"], row["values"]):
            if value is not None:
                found[name, row["metric"], column] = (value, row["unit"])
    return found


def key(row):
    if "series" in row:
        return (row["paper"], *row["series"], row["x"])
    return row["paper"], row["metric"], row["platform"]


def label(row):
    """As the reader looks for it: figure or table first, where a file is of one"""
    paper = papers.load(row["paper"])
    first = f"{paper['figure']}: " if re.fullmatch(r"(Figure|Table) \d+", paper["figure"]) else ""
    if "series" in row:
        platform, part, mode = row["series"]
        first = f"figure {part}" if part[0].isdigit() else first + part
        return f"{first}{', double-sided' * (mode == 'double')}, {row['x']}, {platform}"
    columns = paper["table"]["columns"]
    return first + row["metric"] + (f", {row['platform']}" if len(columns) > 1 else "")


def kind(found, column, path):
    """What kind of number a stored result has: by the command that made it"""
    if "computed" in column:
        return "computed"
    said = next(k for pattern, k in KINDS if re.match(pattern, found["command"]))
    return f"{said}, {tables.PATHS[path]}" if said == "native" and tables.PATHS.get(path) else said


def one_value(ref, results):
    """(number, unit, path) of a stored value"""
    cell, unit, path = results.value(*ref)
    value = cell["value"] if isinstance(cell, dict) else cell
    if not store.number(value):
        raise store.Wrong(f"{ref}: no number")
    return decimal.Decimal(value), tables.SAME.get(unit, unit), path


def ours(row, unit, results):
    """(number in the paper's unit, or None; results used; kind; why there is no quotient)"""
    here = row.get("here")
    if not here:
        return None, [], "not here", None
    pair = here if isinstance(here[0], list) else [here]
    values = [one_value(ref, results) for ref in pair]
    value, own, path = values[0]
    said = kind(results.result(pair[0][0]), pair[0][2], path)
    if len(pair) == 2:
        value, own = value / values[1][0], None
    wanted = tables.SAME.get(unit, unit)
    if own != (wanted or None):
        if (own, wanted) not in UNITS:
            raise store.Wrong(f"{key(row)}: {own} is not {wanted}")
        value *= UNITS[own, wanted]
    try:
        given = results.value(pair[0][0], pair[0][1], "ratio")[0] if len(pair) == 1 else None
    except store.Wrong:
        given = None
    return value, [ref[0] for ref in pair], said, given if isinstance(given, str) else None


def evaluate(row, all_printed, results):
    """(published, unit, ours, results used, kind, quotient or a word)"""
    if key(row) not in all_printed:
        raise store.Wrong(f"{key(row)}: no paper prints that")
    value, unit = all_printed[key(row)]
    here, used, said, given = ours(row, unit, results)
    quotient = given or ""
    if here is not None and not given and not isinstance(value, str):
        quotient = here / decimal.Decimal(str(value))
    return value, unit, here, used, said, quotient


def rows_of(found, results):
    every = {}
    for name in found["papers"]:
        every.update(printed(name))
    return every, [(row, *evaluate(row, every, results)) for row in found["rows"]]


def table(name, results):
    """(head, rows, names of results, the reasons)"""
    found = load(name, results)
    lines, used = [], []
    for row, value, unit, here, own, said, quotient in rows_of(found, results)[1]:
        used += [one for one in own if one not in used]
        unit = unit or None
        lines.append([label(row), tables.cell_text(decimal.Decimal(str(value)) if not isinstance(value, str)
                                                   else value, unit if not isinstance(value, str) else None),
                      "" if here is None else tables.cell_text(decimal.Decimal(benchtext.number(here)), unit),
                      benchtext.number(quotient) if store.number(quotient) else quotient,
                      said, row.get("why", "")])
    return ([found.get("label", ""), "published", "here", "quotient", "kind", "why"], lines, used,
            [f"**{letter}**: {text}" for letter, text in found["reasons"].items()])


def complaints(results):
    """What the lists lack, as lines"""
    wrong = []
    for name in names(results):
        found = load(name, results)
        try:
            every, rows = rows_of(found, results)
        except store.Wrong as e:
            wrong.append(f"{name}: {e}")
            continue
        here = {key(row) for row, *_ in rows}
        wrong += [f"{name}: no row of {' '.join(map(str, one))}" for one, (value, _) in every.items()
                  if one not in here and not isinstance(value, str)]
        for row, _, _, value, _, _, quotient in rows:
            far = store.number(quotient) and not NEAR[0] <= quotient <= NEAR[1]
            if (far or value is None) and row.get("why") not in found["reasons"]:
                wrong.append(f"{name}: {' '.join(map(str, key(row)))}: no reason")
        used = {row.get("why") for row in found["rows"]}
        wrong += [f"{name}: reason {one} is of no row" for one in found["reasons"] if one not in used]
    return wrong
