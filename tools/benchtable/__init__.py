# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""One table of results of this machine: ours, its limits, the papers, peers.

plan      the machine, and the runs
rows      output of the runs -> rows of the table
peers     other systems on this machine, and ratios to ours
document  the table as JSON, and its format
text      the table for people

The modules of make figures (../figures) run programs and enter machines.
"""
