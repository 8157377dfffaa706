# SPDX-License-Identifier: GPL-2.0
"""Lists of faults: reading them, and putting one into a tree.

    # comment
    [area path/of/the/file.c]
    id: old text ==> new text
        continued where it is indented
        note: what it is about, if that is not obvious
        equivalent: why no test can detect it

The old text is in the file exactly once; any white space in it matches any other, so that
lines may be wrapped differently. An empty new text removes the old one. "quick" after
the id, in parentheses, marks a fault that make check tries.
"""

import os
import re

HEAD = re.compile(r"^\[(\S+) (\S+)\]$")
RECORD = re.compile(r"^([a-z0-9][a-z0-9.-]*)( \(quick\))?: ?(.*)$")


class ListError(Exception):
    pass


class Fault:
    def __init__(self, name, area, path, quick, where):
        self.name, self.area, self.path, self.quick = name, area, path, quick
        self.where = where
        self.text = ""
        self.note = self.equivalent = None
        self.old = self.new = None

    def finish(self):
        old, arrow, new = self.text.partition("==>")
        if not arrow or not old.strip():
            raise ListError(f"{self.where}: {self.name}: wants 'old text ==> new text'")
        self.old, self.new = old.strip(), new.strip()

    def apply(self, text):
        """The text of the file with the fault in it."""
        pattern = r"\s+".join(re.escape(word) for word in self.old.split())
        found = list(re.finditer(pattern, text))
        if len(found) != 1:
            times = "is not there any more" if not found else f"is there {len(found)} times"
            raise ListError(f"{self.where}: {self.name}: the old text {times} in {self.path}")
        at = found[0]
        new = self.new
        # the removed statement belongs to an if, a loop or an else
        if not new and self.old[-1] in ";}" and re.search(r"(\)|\belse)\s*(/\*.*?\*/\s*)?$",
                                                         text[:at.start()][-400:], re.S):
            new = ";"
        changed = text[:at.start()] + new + text[at.end():]
        if changed == text:
            raise ListError(f"{self.where}: {self.name}: changes nothing")
        return changed


def read_list(path, areas):
    """All faults of a list."""
    faults, head, fault, field = [], None, None, None
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\n")
            where = f"{os.path.basename(path)}:{number}"
            if line.startswith("#") or not line.strip():
                continue
            if line[0] in " \t":
                if not fault:
                    raise ListError(f"{where}: goes on with nothing")
                words = line.strip()
                for key in ("note", "equivalent"):
                    if words.startswith(key + ": "):
                        field, words = key, words[len(key) + 2:]
                        setattr(fault, key, "")
                value = getattr(fault, field)
                setattr(fault, field, f"{value} {words}" if value else words)
                continue
            match = HEAD.match(line)
            if match:
                head, fault = match.groups(), None
                if head[0] not in areas:
                    raise ListError(f"{where}: there is no area {head[0]}")
                continue
            match = RECORD.match(line)
            if not match or not head:
                raise ListError(f"{where}: neither a section, a fault nor more of one")
            fault = Fault(f"{head[0]}.{match[1]}", head[0], head[1], bool(match[2]), where)
            fault.text, field = match[3], "text"
            faults.append(fault)
    for fault in faults:
        fault.finish()
    return faults


def read_lists(folder, areas):
    faults, seen = [], {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".list"):
            continue
        for fault in read_list(os.path.join(folder, name), areas):
            if fault.name in seen:
                raise ListError(f"{fault.where}: {fault.name} is also at {seen[fault.name]}")
            seen[fault.name] = fault.where
            faults.append(fault)
    return faults
