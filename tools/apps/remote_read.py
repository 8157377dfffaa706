#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Every node exposes a word and reads its right neighbour's, from Python.

    rmc-run -n 4 tools/apps/remote_read.py

librmc.so has the inlines of its headers as ordinary symbols, too, so ctypes is all
it takes. The library is the one that RMC_LIBRARY names, else that of this build
tree, else the installed one.
"""

import ctypes as c
import mmap
import os
import sys

WORDS_PER_NODE = 512


class Team(c.Structure):
    """struct rmc_team, as far as it is public"""
    _fields_ = [("ctx", c.c_void_p), ("qp", c.c_void_p), ("nodes", c.c_int), ("self", c.c_int),
                ("seg", c.c_void_p), ("len", c.c_size_t), ("offset", c.c_uint64)]


# name: (result, arguments)
FUNCTIONS = {
    "rmc_team_open": (c.POINTER(Team), [c.c_uint, c.c_size_t]),
    "rmc_team_barrier": (c.c_int, [c.POINTER(Team)]),
    "rmc_team_close": (None, [c.POINTER(Team)]),
    "rmc_nid": (c.c_int, [c.c_void_p]),
    "rmc_buf_register": (c.c_int, [c.c_void_p, c.c_void_p, c.c_size_t]),
    "rmc_read": (c.c_int, [c.c_void_p, c.c_int, c.c_uint64, c.c_void_p, c.c_size_t]),
    "rmc_fetch_and_add": (c.c_int, [c.c_void_p, c.c_int, c.c_uint64, c.c_uint64,
                                    c.POINTER(c.c_uint64)]),
    "rmc_wait_for_slot": (c.c_int, [c.c_void_p, c.c_void_p]),
    "rmc_read_async": (None, [c.c_void_p, c.c_int, c.c_int, c.c_uint64, c.c_void_p,
                              c.c_size_t]),
    "rmc_drain_cq": (c.c_int, [c.c_void_p, c.c_void_p]),
    "rmc_qp_set_arg": (None, [c.c_void_p, c.c_void_p]),
    "rmc_strerror": (c.c_char_p, [c.c_int]),
    "rmc_errmsg": (c.c_char_p, []),
}
CALLBACK = c.CFUNCTYPE(None, c.c_int, c.c_void_p)


def load():
    built = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../build/librmc.so.1")
    path = os.environ.get("RMC_LIBRARY") or (built if os.path.exists(built) else "librmc.so.1")
    rmc = c.CDLL(path, use_errno=True)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(rmc, name)           # AttributeError: no such symbol
        function.restype, function.argtypes = result, arguments
    return rmc


def main():
    rmc = load()

    def check(what, status):
        if status:
            sys.exit(f"{what}: {rmc.rmc_strerror(status).decode()}")

    team = rmc.rmc_team_open(int(os.environ.get("RMC_CTX") or 0), 8 * WORDS_PER_NODE)
    if not team:
        sys.exit(rmc.rmc_errmsg().decode())
    t = team.contents
    exposed = (c.c_uint64 * WORDS_PER_NODE).from_address(t.seg)

    # Pages of their own, so that pinning them ties up nothing of the interpreter's
    pages = mmap.mmap(-1, mmap.PAGESIZE)
    landing = (c.c_uint64 * (mmap.PAGESIZE // 8)).from_buffer(pages)
    if rmc.rmc_buf_register(t.ctx, c.addressof(landing), c.sizeof(landing)) < 0:
        sys.exit(rmc.rmc_errmsg().decode())

    for i in range(WORDS_PER_NODE):
        exposed[i] = 1000 * t.self + i
    check("barrier", rmc.rmc_team_barrier(team))

    right = (t.self + 1) % t.nodes
    nid = rmc.rmc_nid(t.ctx) - t.self + right
    check("read", rmc.rmc_read(t.qp, nid, t.offset + 8 * 7, c.addressof(landing), 8))
    print(f"node {right} says {landing[0]}")

    # The same without waiting for each: the callback runs in rmc_wait_for_slot() and
    # rmc_drain_cq(), and ctypes must not lose it meanwhile.
    arrived = []
    callback = CALLBACK(lambda slot, _: arrived.append(landing[slot]))
    for i in range(64):
        slot = rmc.rmc_wait_for_slot(t.qp, callback)
        if slot < 0:
            check("slot", slot)
        rmc.rmc_read_async(t.qp, slot, nid, t.offset + 8 * i, c.addressof(landing) + 8 * slot, 8)
    check("reads", rmc.rmc_drain_cq(t.qp, callback))
    if sorted(arrived) != [1000 * right + i for i in range(64)]:
        sys.exit(f"wrong words: {arrived}")

    old = c.c_uint64()
    check("barrier", rmc.rmc_team_barrier(team))
    check("fetch and add", rmc.rmc_fetch_and_add(t.qp, nid, t.offset, 5, c.byref(old)))
    check("barrier", rmc.rmc_team_barrier(team))
    if old.value != 1000 * right or exposed[0] != 1000 * t.self + 5:
        sys.exit(f"fetch and add: {old.value} before, {exposed[0]} here")
    print(f"{len(arrived)} words of node {right} arrived, and it counts to {old.value + 5}")
    rmc.rmc_team_close(team)


if __name__ == "__main__":
    main()
