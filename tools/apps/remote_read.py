#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Every node exposes words and reads its right neighbour's, from Python.

    rmc-run -n 4 tools/apps/remote_read.py

The package rmc is the one of this tree (lib/python), else the installed one.
"""

import os
import pathlib
import sys

package = pathlib.Path(__file__).resolve().parents[2] / "lib/python"
if package.exists():
    sys.path.insert(0, str(package))

import rmc  # noqa: E402

WORDS_PER_NODE = 512


def run(team):
    exposed = team.memory.cast("Q")
    buffer = team.context.buffer(8 * WORDS_PER_NODE)
    landing = buffer.view.cast("Q")
    qp = team.qp

    for i in range(WORDS_PER_NODE):
        exposed[i] = 1000 * team.self + i
    team.barrier()

    right = (team.self + 1) % team.size
    nid = team.nid(right)
    qp.read(nid, team.offset + 8 * 7, buffer, 8)
    print(f"node {right} says {landing[0]}")

    # The same, asynchronously: the cookie identifies the word that has arrived.
    for i in range(64):
        qp.read_async(nid, team.offset + 8 * i, buffer, 8, at=8 * i, cookie=i)
    arrived = {done.cookie: landing[done.cookie] for done in qp.drain() if not done.status}
    if arrived != {i: 1000 * right + i for i in range(64)}:
        sys.exit(f"wrong words: {arrived}")

    team.barrier()
    old = qp.fetch_and_add(nid, team.offset, 5)
    team.barrier()
    if old != 1000 * right or exposed[0] != 1000 * team.self + 5:
        sys.exit(f"fetch and add: {old} before, {exposed[0]} here")
    print(f"{len(arrived)} words of node {right} arrived, and it counts to {old + 5}")


def main():
    context = os.environ.get("RMC_CTX") or "0"
    if not context.isdigit():
        sys.exit(f"RMC_CTX={context} is no context: give its number, see rmcctl context list")
    try:
        with rmc.Team(8 * WORDS_PER_NODE, int(context)) as team:
            run(team)
    except rmc.Error as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
