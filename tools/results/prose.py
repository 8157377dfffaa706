# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Numbers with a unit in prose: only those of a reviewed list.

A measured number belongs into a stored result, whose table has its origin. So prose, which
includes tables and blocks made by hand, has no number with a unit of time, rate, bandwidth, cycles
or ratio, but for

  --loss 1%               the argument of an option
  ``RMC_AGAIN_MS`` (512 ms)    the value of a parameter that is named right before it
  what prose.list has     PAGE | KIND | text with the number ; another text | reason
"""

import bisect
import os
import re

from . import store

NAME = "prose.list"
KINDS = {"published": "a paper or the thesis prints it", "limit": "a test or the code refuses more",
         "parameter": "a constant, an argument, or the length of a run", "assumption": "a choice",
         "theory": "follows from a formula"}
TIME = (r"[mun]s|µs|s|secs?|seconds?|(?:milli|micro|nano)seconds?|mins?|minutes?|hours?|days?")
RATE = r"[kMG]?(?:[Oo]ps)?/s|[kKMGT]?i?B/s|[kMGT](?:bps|Bps|bit/s)|per (?:second|ns)|a second"
UNIT = rf"(?:%|(?:{TIME}|{RATE}|percent|cycles?|x|times|fold)\b(?!/))"
QUANTITY = re.compile(rf"(?<![\w.])\d[\d,]*(?:\.\d+)?[ -]?{UNIT}")
FREE = re.compile(rf"--[\w-]+[ =][\d.]+{UNIT}|``[\w./<>-]+`` \([\d.,]+ ?{UNIT}\)")


def read_list(folder):
    """{page: [(line of the list, text)]}, and the errors of the list"""
    entries, wrong = {}, []
    path = os.path.join(folder, NAME)
    if not os.path.exists(path):
        return entries, wrong
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line.strip() or line.startswith("#"):
                continue
            fields = [part.strip() for part in line.split(" | ")]
            if len(fields) != 4 or not all(fields):
                wrong.append(f"{NAME}:{number}: not PAGE | KIND | text ; text | reason")
            elif fields[1] not in KINDS:
                wrong.append(f"{NAME}:{number}: {fields[1]!r} is not {', '.join(KINDS)}")
            else:
                entries.setdefault(fields[0], []).extend(
                    (number, " ".join(text.split())) for text in fields[2].split(" ; "))
    return entries, wrong


def joined(prose):
    """(the lines as one text with single spaces, where each begins): a claim may cross lines"""
    text, starts = "", []
    for _, line in prose:
        starts.append(len(text))
        text += " ".join(line.split()) + " "
    return text, starts


def complaints(label, prose, folder):
    """Errors of a page's prose, [(number, line)], and entries of the list that match nothing."""
    page = os.path.basename(label)
    entries, wrong = read_list(folder)
    text, starts = joined(prose)
    found = [m.span() for m in QUANTITY.finditer(text)]
    allowed = [m.span() for m in FREE.finditer(text)]
    for number, phrase in entries.get(page, ()):
        spans = [m.span() for m in re.finditer(re.escape(phrase), text)]
        if not any(a <= at and to <= b for a, b in spans for at, to in found):
            wrong.append(f"{NAME}:{number}: {page} has no such number: {phrase}")
        allowed += spans
    for at, to in found:
        if not any(a <= at and to <= b for a, b in allowed):
            line = prose[bisect.bisect_right(starts, at) - 1][0]
            wrong.append(f"{label}:{line}: \"{text[at:to]}\": store what was measured as a result and refer "
                         f"to its table, or say it in words; {NAME} lists what is not measured")
    return wrong


def unknown_pages(folder, pages):
    """Errors of the list: pages that do not exist."""
    names = {os.path.basename(p) for p in pages}
    return [f"{NAME}: there is no page {page}" for page in sorted(read_list(folder)[0]) if page not in names]
