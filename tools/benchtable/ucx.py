#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""UCX over shared memory between two processes of this host, as JSON: results of
ucx_perftest for tagged and active messages, and for put and get, which map the peer's memory.

ucx.py [-n OPERATIONS]"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time

TOOL = "ucx_perftest"
# name -> test, bytes, what its first column is
TESTS = {
    "tag_lat": ("tag_lat", (8, 64, 8192)),          # one way
    "tag_bw": ("tag_bw", (64, 8192)),               # per message
    "am_lat": ("ucp_am_lat", (8, 64, 8192)),        # one way; the receiver calls a function
    "am_bw": ("ucp_am_bw", (64, 8192)),
    "get": ("ucp_get", (64, 8192)),                 # per operation
    "put_bw": ("ucp_put_bw", (64, 8192)),
}
RANKS = {"t_typical_usec": 50, "p99_usec": 99, "p99_9_usec": 99.9}
OVERALL = 4                     # the column of microseconds per message, over all of them
OPERATIONS = 20000              # of each; rmc-bench runs all of it several times
SECONDS = 60


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def batch(count):
    """Lines for -b, which both sides read; names say where results belong."""
    lines = []
    for name, (test, sizes) in TESTS.items():
        for size in sizes:
            for field, rank in RANKS.items() if name.endswith("_lat") else (("t_typical_usec", 50),):
                lines.append(f"{name}.{size}.{field} -t {test} -s {size} -n {count} -R {rank}")
    return "\n".join(lines) + "\n"


def results(csv):
    """[{test, bytes, ...}] of what -v prints"""
    found = {}
    for line in csv.splitlines():
        cells = line.split(",")
        parts = cells[0].split(".")
        if len(parts) != 3 or parts[0] not in TESTS or len(cells) < 5:
            continue
        row = found.setdefault((parts[0], int(parts[1])),
                               {"test": parts[0], "bytes": int(parts[1])})
        row[parts[2]] = float(cells[2])
        if float(cells[OVERALL]):
            row["bw_average_bytes_per_sec"] = row["bytes"] * 1e6 / float(cells[OVERALL])
    return list(found.values())


def measure(count):
    cpus = sorted(os.sched_getaffinity(0))
    port = str(free_port())
    env = {**os.environ, "UCX_TLS": "shm,self", "UCX_LOG_LEVEL": "error"}
    with tempfile.NamedTemporaryFile("w", suffix=".ucx") as f:
        f.write(batch(count))
        f.flush()
        common = ["-p", port, "-b", f.name, "-f", "-v"]
        with subprocess.Popen([TOOL, *common, "-c", str(cpus[1])], env=env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as server:
            try:
                time.sleep(0.3)         # until it listens
                done = subprocess.run([TOOL, *common, "-c", str(cpus[0]), "127.0.0.1"], env=env,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                      check=False, timeout=SECONDS)
            finally:
                server.kill()
    if done.returncode:
        sys.exit(f"ucx_perftest: {done.stderr.strip() or 'failed'}")
    return results(done.stdout)


def main():
    if sys.argv[1:] and (len(sys.argv) != 3 or sys.argv[1] != "-n"):
        sys.exit(__doc__)
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("ucx.py: two processes that spin need two CPUs")
    found = measure(int(sys.argv[2]) if sys.argv[1:] else OPERATIONS)
    if not found:
        sys.exit("ucx_perftest printed no results")
    json.dump({"test": "ucx", "transport": "shm", "results": found}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
