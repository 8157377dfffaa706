# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Rows and columns as text for reStructuredText and Markdown."""

from . import store

# names in the papers that differ from others
COUNT = "count"         # the unit of values without one: not shown
SAME = {"Mops/s": "M/s", "times": "x"}
PATHS = {"local": "local path", "packets": "packets", "mixed": "path by row", "none": None}


def cell_text(cell, unit):
    """Text of a cell; unit: None if the heading has it."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    low = None
    if isinstance(cell, dict):
        low, high = cell.get("low"), cell.get("high")
        cell = cell["value"]
    unit = None if unit == COUNT else SAME.get(unit, unit)
    text = f"{cell}{'' if unit == '%' else ' '}{unit}" if unit else str(cell)
    return text if low is None else f"{text} ({low} to {high})"


def of_result(found):
    """(head, rows) of a stored result: all of it."""
    columns = found["columns"]
    by_row = any("path" in row or any(isinstance(c, dict) and "path" in c
                                      for c in row["values"].values()) for row in found["rows"])
    head = [found.get("label", "")] + [
        c["name"] + (f", {c['unit']}" if c.get("unit", COUNT) != COUNT else "") for c in columns]
    rows = []
    for row in found["rows"]:
        line = [row["name"]]
        for c in columns:
            cell = row["values"].get(c["name"])
            own = cell.get("unit") if isinstance(cell, dict) else None
            line.append(cell_text(cell, own or (None if c.get("unit") else row.get("unit"))))
        rows.append(line + ([", ".join(store.row_paths(found, row))] if by_row else []))
    return head + (["path"] if by_row else []), rows


def of_table(found, results):
    """(head, rows, names of the results) of a table over several results."""
    used, rows, paths = [], [], []
    for row in found["rows"]:
        line = [row["name"]]
        paths.append([])
        for cell in row["cells"]:
            if isinstance(cell, str):
                line.append(cell)
            elif "paper" in cell:
                line.append(cell_text(*store.published(cell["paper"], cell["metric"],
                                                       cell["platform"])))
            else:
                *value, path = results.value(cell["result"], cell["row"], cell["column"])
                if path not in paths[-1]:
                    paths[-1].append(path)
                line.append(cell_text(*value))
                if cell["result"] not in used:
                    used.append(cell["result"])
        if len(line) != len(found["columns"]) + 1:
            raise store.Wrong(f"row {row['name']!r} has {len(line) - 1} cells")
        rows.append(line)
    head = [found.get("label", ""), *found["columns"]]
    if any(results.result(name)["path"] == "mixed" for name in used):
        return head + ["path"], [r + [", ".join(p)] for r, p in zip(rows, paths)], used
    return head, rows, used


def rst(head, rows):
    """A simple table."""
    rows = [[cell or "\\" if not i else cell for i, cell in enumerate(line)] for line in rows]
    wide = [max(len(line[i]) for line in [head, *rows]) or 1 for i in range(len(head))]
    rule = "  ".join("=" * w for w in wide)

    def text(line):
        return "  ".join(c.ljust(w) for c, w in zip(line, wide)).rstrip()
    return [rule, text([h or "\\" for h in head] if not any(head) else head), rule,
            *(text(line) for line in rows), rule]


def markdown(head, rows):
    def text(line):
        return "| " + " | ".join(c.replace("|", "\\|") for c in line) + " |"
    return [text(head), "|" + "---|" * len(head), *(text(line) for line in rows)]


def origin(found, code):
    """One sentence: the origin of a result."""
    commit = found["commit"]
    at = f"Recorded in {commit}" if found.get("commit_is") == "recorded" else f"At {commit}"
    path = PATHS[found["path"]]
    return (f"{at}, {found['date']}, {found['machine']}: {code}{found['command']}{code}"
            + (f"; {path}." if path else "."))
