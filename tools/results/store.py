# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Stored results: Documentation/results/NAME.json, whose fields README.rst there explains."""

import decimal
import json
import os
import re

from figures import papers

from .origin import TOP

FOLDER = os.path.join(TOP, "Documentation", "results")
PATHS = ("local", "packets", "mixed", "none")
NOT_RECORDED = "not recorded"   # of rows that are older than these files
ORIGIN = ("commit", "date", "machine", "command")
CELL = {"value", "unit", "low", "high", "path"}
TEXT = re.compile(r"\S(.*\S)?\Z", re.S)
FORMS = {"commit": re.compile(r"[0-9a-f]{7,40}\+?\Z|unknown\Z"),
         "date": re.compile(r"\d{4}-\d\d-\d\d\Z")}


class Wrong(Exception):
    """A stored result, or a page, is invalid."""


def number(value):
    """A measured number: keeps its digits as written."""
    return isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool)


def load(path):
    """JSON whose numbers keep their digits: 1.20 is not 1.2 here."""
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f, parse_float=decimal.Decimal)
    except OSError as e:
        raise Wrong(f"{path}: {e.strerror}") from None
    except ValueError as e:
        raise Wrong(f"{path}: {e}") from None


def _line(value):
    """JSON of one row: digits of decimals as they are."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {_line(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_line, value)) + "]"
    return str(value) if isinstance(value, decimal.Decimal) else json.dumps(value, ensure_ascii=False)


def dump(found):
    """The text of a file: a line per field, column and row."""
    fields = []
    for key, value in found.items():
        if key in ("columns", "rows"):
            inner = ",\n".join("  " + _line(one) for one in value)
            fields.append(f" {json.dumps(key)}: [\n{inner}\n ]")
        else:
            fields.append(f" {json.dumps(key)}: {_line(value)}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _cell_complaints(where, cell):
    if cell is None or number(cell) or isinstance(cell, str):
        return
    if not isinstance(cell, dict) or not number(cell.get("value")):
        yield f"{where}: not a number, a text, or an object with a value"
        return
    if set(cell) - CELL:
        yield f"{where}: unknown fields {sorted(set(cell) - CELL)}"
    if cell.get("path", "none") not in PATHS:
        yield f"{where}: path {cell['path']!r}"
    if ("low" in cell) != ("high" in cell):
        yield f"{where}: low and high belong together"


def _path_complaints(found):
    """Where a result does not say which path was measured."""
    recorded = found.get("commit_is") == "recorded"
    columns = {c.get("name"): c for c in found.get("columns", ())}
    if found.get("path") not in PATHS:
        yield f"path: {found.get('path')!r}, not of {', '.join(PATHS)}"
    for name, column in columns.items():
        if column.get("path", "none") not in PATHS:
            yield f"column {name!r}: path {column['path']!r}"
    for row in found.get("rows", ()):
        own = row.get("path")
        if own == NOT_RECORDED and not recorded:
            yield f"row {row.get('name')!r}: path {own!r}, but it was measured for this file"
        elif own not in (*PATHS, None, NOT_RECORDED):
            yield f"row {row.get('name')!r}: path {own!r}"
        elif own is None and found.get("path") == "mixed":
            cells = [(k, c) for k, c in row.get("values", {}).items()
                     if c is not None and not isinstance(c, str)]
            if not cells or any("path" not in columns.get(k, {}) and
                                not (isinstance(c, dict) and "path" in c) for k, c in cells):
                yield f"row {row.get('name')!r}: no path, and that of the result is mixed"


def complaints(found):
    """The errors of a result, as sentences."""
    for key in ("what", *ORIGIN):
        form = FORMS.get(key, TEXT)
        if not isinstance(found.get(key), str) or not form.match(found[key]):
            yield f"{key}: {found.get(key)!r}"
    if found.get("commit_is", "measured") not in ("measured", "recorded"):
        yield f"commit_is: {found['commit_is']!r}"
    yield from _path_complaints(found)
    unknown = set(found) - {"what", *ORIGIN, "commit_is", "path", "note", "label", "columns", "rows"}
    if unknown:
        yield f"unknown fields {sorted(unknown)}"
    columns = {c.get("name"): c for c in found.get("columns", ())}
    if not columns or not found.get("rows"):
        yield "no columns or no rows"
    seen = set()
    for row in found.get("rows", ()):
        name = row.get("name")
        if not isinstance(name, str) or name in seen:
            yield f"row {name!r}: no name, or one that was there before"
        seen.add(name)
        for column, cell in row.get("values", {}).items():
            if column not in columns:
                yield f"row {name!r}: no column {column!r}"
                continue
            yield from _cell_complaints(f"row {name!r}, {column!r}", cell)
            if number(cell) and not (row.get("unit") or columns[column].get("unit")):
                yield f"row {name!r}, {column!r}: a number without unit"


def _path(found, row, column):
    """A value or a column may be of another path than its row."""
    own = next((c.get("path") for c in found["columns"] if c["name"] == column), None)
    cell = row["values"].get(column)
    return (isinstance(cell, dict) and cell.get("path")) or own or row.get("path", found["path"])


def path_by_rows(rows):
    """The path of a result whose rows each have one, or None."""
    paths = {row.get("path") for row in rows}
    return None if None in paths or not paths else paths.pop() if len(paths) == 1 else "mixed"


def row_paths(found, row):
    """The paths of a row's values, each once; columns with a path say it in their heading."""
    apart = {c["name"] for c in found["columns"] if "path" in c}
    paths = [_path(found, row, column) for column, cell in row["values"].items()
             if column not in apart and cell is not None and not isinstance(cell, str)]
    return list(dict.fromkeys(paths)) or [row.get("path", found["path"])]


class Store:
    """All results of a folder."""

    def __init__(self, folder=FOLDER):
        self.folder = folder
        self.kept = {}

    def names(self):
        return sorted(n[:-5] for n in os.listdir(self.folder) if n.endswith(".json"))

    def tables(self):
        where = os.path.join(self.folder, "tables")
        return sorted(n[:-5] for n in os.listdir(where) if n.endswith(".json")) \
            if os.path.isdir(where) else []

    def result(self, name):
        if name not in self.kept:
            found = load(os.path.join(self.folder, f"{name}.json"))
            wrong = list(complaints(found))
            if wrong:
                raise Wrong(f"{name}: {wrong[0]}")
            self.kept[name] = found
        return self.kept[name]

    def table(self, name):
        """A table whose cells are values of several results, or of papers."""
        return load(os.path.join(self.folder, "tables", f"{name}.json"))

    def value(self, name, row, column):
        """(cell, unit, path) of one value."""
        found = self.result(name)
        for one in found["rows"]:
            if one["name"] == row and column in one["values"]:
                unit = next((c.get("unit") for c in found["columns"] if c["name"] == column), None)
                cell = one["values"][column]
                own = cell.get("unit") if isinstance(cell, dict) else None
                return cell, own or one.get("unit") or unit, _path(found, one, column)
        raise Wrong(f"{name} has no value {row!r}, {column!r}")


def published(paper, metric, platform):
    """(number or text, unit) that a paper prints in its table."""
    try:
        table = papers.load(paper)["table"]
        at = next(i for i, c in enumerate(table["columns"]) if platform in c)
        row = next(r for r in table["rows"] if r["metric"] == metric)
        return row["values"][at], row["unit"]
    except (OSError, StopIteration, KeyError) as e:
        raise Wrong(f"paper {paper} has no {metric!r}, {platform!r}") from e
