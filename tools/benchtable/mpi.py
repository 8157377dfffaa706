#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""MPI over shared memory between two processes of this host, as JSON: build/peer_mpi under
mpirun of Open MPI or MPICH, without any network.

mpi.py [-n OPERATIONS]"""

import os
import subprocess
import sys

BUILD = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "build")
PROGRAM = os.path.join(os.path.realpath(BUILD), "peer_mpi")
# The ranks choose their CPUs, and spin; messages and windows go over shared memory. Without
# ^ucx Open MPI would take UCX for them, which is a peer of its own.
OPEN_MPI = ("--allow-run-as-root", "--host", "localhost:2", "--bind-to", "none",
            "--mca", "mpi_yield_when_idle", "0", "--mca", "pml", "ob1",
            "--mca", "btl", "self,vader", "--mca", "osc", "^ucx",
            "--mca", "oob_tcp_if_include", "lo",
            "--mca", "plm_rsh_agent", "/bin/false")
SECONDS = 60


def command(version, arguments):
    """Of the mpirun that says this version"""
    return ["mpirun", *(OPEN_MPI if "Open MPI" in version else ()), "-n", "2", PROGRAM, *arguments]


def main():
    if sys.argv[1:] and (len(sys.argv) != 3 or sys.argv[1] != "-n"):
        sys.exit(__doc__)
    try:
        version = subprocess.run(["mpirun", "--version"], stdin=subprocess.DEVNULL, check=True,
                                 capture_output=True, text=True, timeout=SECONDS).stdout
        done = subprocess.run(command(version, sys.argv[1:]), stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as e:
        sys.exit(f"mpirun: {e}")
    if done.returncode:
        # the last lines of Open MPI are a box of advice
        words = [line for line in done.stderr.splitlines() if line.strip("-= ")]
        sys.exit(f"mpirun: {words[0] if words else 'failed'}")
    sys.stdout.write(done.stdout)


if __name__ == "__main__":
    main()
