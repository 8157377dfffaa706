#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Add a field to the end of every struct that may grow, as a later version may do.

usage: grow.py DIRECTORY   (of headers, which are changed)

These are the structs whose size of version 1.0 is asserted (RMC_ABI_SIZE_VER0), and
those that inlines read. Prints their names.
"""

import pathlib
import re
import sys

READ_BY_INLINES = ["rmc_qp", "rmc_team", "rmc_core"]

headers = {p: p.read_text() for p in pathlib.Path(sys.argv[1]).glob("*.h")}
names = READ_BY_INLINES + [n for text in headers.values()
                           for n in re.findall(r"^RMC_ABI_SIZE_VER0\((\w+),", text, re.M)]
for name in names:
    grown = 0
    for path, text in headers.items():
        text, n = re.subn(rf"^(struct {name} {{\n.*?)^}};", r"\1\tuint64_t grown;\n};", text,
                          count=1, flags=re.M | re.S)
        grown += n
        headers[path] = text
    if grown != 1:
        sys.exit(f"struct {name} is defined {grown} times")
for path, text in headers.items():
    path.write_text(text)
print(*sorted(names))
