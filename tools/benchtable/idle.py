#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""CPU time that idle guests of a cluster, or an idle rmcd, take on this host, as JSON: the
share of a CPU, of each guest as a whole.

idle.py CLUSTER | --daemon [SECONDS]"""

import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
VM_SETUP = os.path.join(os.path.dirname(os.path.dirname(HERE)), "vm-setup")
sys.path.insert(0, VM_SETUP)
from rmcvm import base, daemon, uml                                       # noqa: E402

SETTLE = 1                      # seconds until workers have parked and rmc-vm is forgotten


def cpu_seconds(pid):
    """Of a guest's process and, with User-Mode Linux, of its child processes."""
    return sum(base.cpu_seconds(one) for one in uml.processes(pid))


def measure(pids, seconds):
    time.sleep(SETTLE)
    start, before = time.monotonic(), [cpu_seconds(pid) for pid in pids]
    time.sleep(seconds)
    after, seconds = [cpu_seconds(pid) for pid in pids], time.monotonic() - start
    json.dump({"test": "idle", "seconds": seconds,
               "results": [{"guest": i, "cpu_share": (b - a) / seconds}
                           for i, (a, b) in enumerate(zip(before, after))]}, sys.stdout)
    print()


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    seconds = float(sys.argv[2]) if len(sys.argv) == 3 else 3
    if sys.argv[1] == "--daemon":
        with daemon.Daemon(2) as rmcd:
            measure([rmcd.proc.pid], seconds)
        return
    done = subprocess.run([os.path.join(VM_SETUP, "rmc-vm"), "--name", sys.argv[1], "status",
                           "--json"], capture_output=True, text=True, check=False)
    guests = [g["pid"] for g in json.loads(done.stdout or "{}").get("guests", [])]
    if not guests:
        sys.exit(f"idle.py: cluster {sys.argv[1]} is not up")
    measure(guests, seconds)


if __name__ == "__main__":
    main()
