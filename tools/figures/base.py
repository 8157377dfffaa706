# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Paths of the checkout, exceptions for missing things, and versions."""

import os
import platform
import shutil
import subprocess

FIGURES = os.path.dirname(os.path.realpath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(FIGURES))
BUILD = os.path.join(CHECKOUT, "build")

EXIT_OK = 0
EXIT_INCOMPLETE = 1         # a figure that should work here is missing
EXIT_USAGE = 2
EXIT_TOOL = 125             # nothing could be done at all


class Missing(Exception):
    """Why something cannot be measured, for the page."""


def first_line(argv):
    """The first line that a program prints, or None."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=20, cwd=CHECKOUT)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    return lines[0] if lines and not done.returncode else None


def cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            for line in f:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def cache_bytes():
    found = first_line(["getconf", "LEVEL3_CACHE_SIZE"])
    return int(found) if found and found.isdigit() else 0


def versions():
    """[(what, which)], for the page."""
    tree = first_line(["git", "describe", "--always", "--dirty"])
    rows = [("this tree", tree or "not a git checkout"),
            ("processor", f"{cpu_model()}, {len(os.sched_getaffinity(0))} CPUs"),
            ("last-level cache", f"{cache_bytes() >> 20} MiB as the processor reports it"),
            ("host kernel", f"{platform.system()} {platform.release()}")]
    for what, argv in (("compiler", ["gcc", "--version"]),
                       ("QEMU", ["qemu-system-x86_64", "--version"]),
                       ("gnuplot", ["gnuplot", "--version"])):
        rows.append((what, first_line(argv) or "not installed"))
    return rows


def gnuplot():
    return shutil.which("gnuplot")
