#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""quotas.py - prints how many of each resource a user has until rmcd refuses more (EDQUOT)

Over a daemon with small quotas; stops at 64.
"""

import errno

import rmc

MIB = 1 << 20


def until_full(make):
    held = []
    try:
        while len(held) < 64:
            held.append(make())
    except rmc.Error as e:
        if e.status != -errno.EDQUOT:
            raise
    return len(held), held


def main():
    files, held = until_full(rmc.Context)
    for context in held:
        context.close()
    with rmc.Context() as context:
        qps, held = until_full(lambda: context.queue_pair(16))
        for pair in held:
            pair.close()
        long, held = until_full(lambda: context.queue_pair(4096))
        for pair in held:
            pair.close()
    with rmc.Context() as context:
        buffers, _ = until_full(lambda: context.buffer(4096))
    with rmc.Context() as context:
        large, _ = until_full(lambda: context.buffer(2 * MIB))
    print(f"files {files} qps {qps} long {long} buffers {buffers} large {large}")


if __name__ == "__main__":
    main()
