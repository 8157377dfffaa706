# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Values of other systems, and ratios of ours to theirs."""

import dataclasses

from figures.base import Missing
from . import rows as r


@dataclasses.dataclass
class Peer:
    system: str
    what: str
    unit: str
    value: float                # median of runs
    bytes: int
    runs: int
    role: str                   # "ours", "peer", or "bound"
    performance: bool = True


@dataclasses.dataclass
class Ratio:
    name: str
    ours: str
    theirs: str
    ratio: float                # median over runs
    performance: bool = True
    low: float = None
    high: float = None
    asked: str = None
    met: bool = None


class Others:
    def __init__(self):
        self.rows, self.ratios, self.gaps = [], [], []

    def peer(self, system, what, unit, values, size, role="peer", performance=True):
        self.rows.append(Peer(system, what, unit, r.median(values), size, len(values), role,
                              performance))

    def ratio(self, name, ours, theirs, pairs, asked=None, performance=True):
        """pairs: dividend and divisor of each run"""
        found = [a / b for a, b in pairs]
        if not found:
            raise Missing(f"{name}: no round has both")
        one = Ratio(name, ours, theirs, r.median(found), performance, min(found), max(found))
        if asked:
            op, bound = asked
            one.asked = f"{op} {bound:g}"
            one.met = one.ratio <= bound if op == "<=" else one.ratio >= bound
        self.ratios.append(one)


def runs(results, jobs):
    """{k: output} of those that worked; Missing if none did. jobs: {k: (job, node)}"""
    found, reason = {}, None
    for k, (job, node) in jobs.items():
        try:
            found[k] = results.get(job, node)
        except Missing as e:
            reason = e
    if not found:
        raise reason or Missing("it was not run")
    return found
