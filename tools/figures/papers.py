# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Published values, from papers/*.json. A file has

    paper       A14 and the like; see Documentation/papers.rst
    figure      name in the paper
    section     where it is described
    series      [{platform, part, mode, unit, points: [[x, y]], source}], for plots
    table       {columns: [platform], rows: [{metric, unit, values, source}]}
    statements  [{text, source}]: statements in prose about curves without printed values

A series may name the curve that it is compared with, and what its x is (of_x) if that is no size.
derived in a series or row explains the computation of a value from printed ones.
"""

import json
import os

from .base import FIGURES

FOLDER = os.path.join(FIGURES, "papers")


def load(name):
    with open(os.path.join(FOLDER, f"{name}.json"), encoding="utf-8") as f:
        return json.load(f)


def names():
    return sorted(n[:-5] for n in os.listdir(FOLDER) if n.endswith(".json"))


def series(paper, part):
    return [s for s in paper.get("series", ()) if s["part"] == part]
