# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Tables between markers in pages.

reStructuredText                  Markdown

.. results: NAME                  <!-- results: NAME -->

the table                         the table

.. end results                    <!-- end results -->
"""

import os
import re
import textwrap

from . import closing, prose as words, store, tables

BEGIN = re.compile(r"(?:\.\. results: (?P<rst>[\w/-]+)|<!-- results: (?P<md>[\w/-]+) -->)$")
END = re.compile(r"(?:\.\. end results|<!-- end results -->)$")
WIDTH = 100


def block(name, results, markdown):
    """Lines of a table, with its origin."""
    said = []
    if name.startswith(closing.PREFIX):
        head, rows, used, said = closing.table(name, results)
    elif name in results.tables():
        head, rows, used = tables.of_table(results.table(name), results)
    else:
        head, rows = tables.of_result(results.result(name))
        used = [name]
    lines = (tables.markdown if markdown else tables.rst)(head, rows)
    code = "`" if markdown else "``"
    for text in said:
        lines += ["", *textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)]
    for one in used:
        found = results.result(one)
        text = tables.origin(found, code)
        if found.get("note"):
            text += f" {found['note']}"
        if text in said:        # results of the same run
            continue
        said.append(text)
        lines += ["", *textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)]
    return lines


def rewrite(text, results, markdown):
    """(the page with its tables made again, its errors, its prose as [(number, line)])"""
    out, prose, wrong = [], [], []
    inside = None
    for number, line in enumerate(text.split("\n"), 1):
        begin, end = BEGIN.match(line), END.match(line)
        if begin and inside or end and not inside:
            wrong.append(f"{number}: markers do not match")
        if begin:
            inside = begin.group("rst") or begin.group("md")
            out.append(line)
            try:
                lines = block(inside, results, markdown)
            except store.Wrong as e:
                wrong.append(f"{number}: {e}")
                lines = []
            out += ["", *lines, ""]
        elif end:
            inside = None
            out.append(line)
        elif not inside:
            out.append(line)
            prose.append((number, line))
    if inside:
        wrong.append(f"the table {inside} has no end")
    return "\n".join(out), wrong, prose


def names(text):
    return [m.group("rst") or m.group("md") for m in map(BEGIN.match, text.split("\n")) if m]


def default():
    """README.md and the pages of Documentation."""
    docs = os.path.join(store.TOP, "Documentation")
    return [os.path.join(store.TOP, "README.md"),
            *(os.path.join(docs, n) for n in sorted(os.listdir(docs)) if n.endswith(".rst"))]


def work(path, results, check):
    """Write a page, or check it. Returns its errors, as lines."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    new, wrong, prose = rewrite(text, results, path.endswith(".md"))
    label = os.path.relpath(path, store.TOP) if path.startswith(store.TOP + os.sep) else path
    wrong = [f"{label}:{w}" for w in wrong]
    wrong += words.complaints(label, prose, results.folder)
    if new == text or wrong and not check:
        return wrong
    if check:
        old, made = text.split("\n"), new.split("\n")
        at = next((i for i, (a, b) in enumerate(zip(old, made)) if a != b), min(len(old), len(made)))
        here = old[at] if at < len(old) else "nothing"
        there = made[at] if at < len(made) else "nothing"
        return [*wrong, f"{label}:{at + 1}: not what the results say:", f"  page    {here}",
                f"  results {there}"]
    with open(path, "w", encoding="utf-8") as f:
        f.write(new)
    return []
