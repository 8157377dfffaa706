# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""R25 in virtual time: the rows of sim-sync, and which of the paper's conclusions they show."""

from . import jobs as j
from .base import Missing
from .plot import Series

COSTS, NEW, CORES, CHIP = "cx5", "cx7", "bf2", "sonuma-r2p2"
PARTS = {COSTS: ("1b", "4", "5", "8", "9", "10", "11", "14", "15", "16", "20", "22", "25",
                "26", "table1"), NEW: ("17",), CORES: ("18",),
         CHIP: ("4", "5", "8", "9", "10", "11", "14", "15", "table1")}
# What the tree would be with fetch-and-add as fast as compare-and-swap; and contended writes that unlatch
# by a write, if atomics did not see that for as long as one waits for 112 others
OTHER = {"11": "faa_ns=431", "16": "buffer_ns=50000"}


def job(quick, costs=COSTS):
    """Of the chip a few points, as its packets are many"""
    return j.virtual("sync", costs, quick or costs == CHIP, (), PARTS[costs], 15 if quick else 240)


def other(part):
    return j.virtual("sync", COSTS, True, (OTHER[part],), (part,))


def value(document, part, size, nodes, series):
    for row in document.get("rows", ()):
        if (row.get("part"), row.get("bytes"), row.get("nodes"), row.get("series")) == \
           (part, size, nodes, series) and "value" in row:
            return row["value"]
    raise Missing(f"virtual time has no {series} of figure {part}, {size} bytes, {nodes}")


def here(document, kind, part, size, nodes, *series):
    """What a row of the paper's table is here"""
    found = [value(document, part, size, nodes, one) for one in series]
    return found[0] if kind == "value" else found[0] / found[1]


def given(row, changed=()):
    """In place of a quotient: why a row of the paper's table proves nothing; changed: constants of the run"""
    return "input" if row.get("input") else \
        "fitted" if row.get("fitted") or row.get("fitted_with") in changed else None


def curves(document, part, xs="nodes", scale=1, names=None):
    """[Series] of a part, in the order of the file"""
    found = {}
    for row in document.get("rows", ()):
        if row.get("part") == part and "value" in row and (not names or row["series"] in names):
            found.setdefault(row["series"], []).append((row[xs] / scale, row["value"]))
    if not found:
        raise Missing(f"virtual time has no figure {part}")
    return [Series(f"virtual time: {name}", points) for name, points in found.items()]


# Conclusions: text, how many times as much, at least (or at most, if negative)
#	a: what is compared with what: (part, bytes, nodes, series) twice
CLAIMS = (
    ("one word: 128 workers do not exceed 8 (fig. 4)", -1.5,
     ("4", 0, 128, "contended compare-and-swap"), ("4", 0, 8, "contended compare-and-swap")),
    ("words of their own: atomics as fast as reads (fig. 4)", 0.9,
     ("4", 64, 128, "uncontended compare-and-swap"), ("4", 64, 128, "read")),
    ("a stride of 512 B costs half (fig. 5)", -0.67,
     ("5", 512, 128, "stride 512 B"), ("5", 64, 128, "stride 64 B")),
    ("a stride of 4 KiB is as one word (fig. 5)", -0.1,
     ("5", 4096, 128, "stride 4096 B"), ("5", 64, 128, "stride 64 B")),
    ("one thread: all optimizations of a write are worth it (fig. 8)", 2,
     ("8", 256, 1, "exclusive: asynchronous unlatch"), ("8", 256, 1, "exclusive: basic")),
    ("8 workers: optimized latches as fast as none (fig. 9)", 0.8,
     ("9", 256, 8, "asynchronous unlatch"), ("9", 256, 8, "unsynchronized")),
    ("128 workers: and there slower than none (fig. 9)", -0.8,
     ("9", 256, 128, "asynchronous unlatch"), ("9", 256, 128, "unsynchronized")),
    ("reads, uniform: optimizations double (fig. 10)", 1.4,
     ("10-256-read-only", 256, 0, "NAM-DB++"), ("10-256-read-only", 256, 0, "NAM-DB")),
    ("reads under a latch collapse by Zipf 2 (fig. 10)", -0.33,
     ("10-256-read-only", 256, 200, "NAM-DB++"), ("10-256-read-only", 256, 0, "NAM-DB++")),
    ("writes collapse by Zipf 2 (fig. 10)", -0.05,
     ("10-256-write-only", 256, 200, "NAM-DB++"), ("10-256-write-only", 256, 0, "NAM-DB++")),
    ("a latched root limits a tree (fig. 11)", -0.8,
     ("11", 4096, 64, "pessimistic"), ("11", 4096, 64, "unsynchronized")),
    ("an optimistic tree is not limited (fig. 11)", 0.9,
     ("11", 4096, 64, "optimistic"), ("11", 4096, 64, "unsynchronized")),
    ("one thread, 256 B: a latch is faster than optimism (fig. 14)", 1,
     ("14", 256, 1, "pessimistic"), ("14", 256, 1, "FaRM")),
    ("one thread, 256 B: FaRM before versioning (fig. 14)", 1,
     ("14", 256, 1, "FaRM"), ("14", 256, 1, "versioning")),
    ("one thread, 4 KiB: CRC by tables costs much (fig. 14)", -0.8,
     ("14", 4096, 1, "CRC64 by tables"), ("14", 4096, 1, "broken")),
    ("128 workers: FaRM's reads exceed latched ones (fig. 15)", 1.3,
     ("15-read", 256, 128, "FaRM"), ("15-read", 256, 128, "pessimistic")),
    ("128 workers: write unlatch is faster (fig. 15)", 1.1,
     ("15-write", 256, 128, "versioning"), ("15-write", 256, 128, "pessimistic")),
)


# What a switch is for, in runs of the usual adapter; figure 26 with 512 workers
MIXES = ((0, "reads"), (5, "5 % writes"), (50, "50 % writes"), (100, "writes"))
SWITCH_CLAIMS = (
    ("a latch takes at most half (fig. 20)", -0.5, ("20", 8, 1, "switch"), ("20", 8, 1, "adapter")),
    ("one word is as fast as many, 32 workers (fig. 22)", 0.99,
     ("22", 8, 32, "switch, contended"), ("22", 8, 32, "switch")),
    *((f"{size} B, {mix}: faster than {other} (fig. 26)", 1, (f"26-{size}", size, writes, "switch"),
       (f"26-{size}", size, writes, other))
      for other in ("versioning", "FaRM") for size in (64, 256, 1024) for writes, mix in MIXES),
)


def claim(document, limit, one, two):
    """(quotient, whether the conclusion holds)"""
    quotient = value(document, *one) / value(document, *two)
    return quotient, quotient >= limit if limit > 0 else quotient <= -limit
