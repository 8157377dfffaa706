# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Origin of a measured number."""

import os
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def machine():
    """Key of comparable results: the CPU and the number of CPUs, no name."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = re.search(r"^model name\s*: (.*)$", f.read(), re.M)
    return f"{model.group(1) if model else os.uname().machine}, {os.cpu_count()} CPUs"


def commit():
    """The commit of this tree, with a + if files differ from it."""
    git = ["git", "-c", f"safe.directory={TOP}", "-C", TOP]
    try:
        head = subprocess.check_output([*git, "rev-parse", "--short", "HEAD"], text=True,
                                       stderr=subprocess.DEVNULL).strip()
        changed = subprocess.check_output([*git, "status", "--porcelain", "-uno"], text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if changed else "")
