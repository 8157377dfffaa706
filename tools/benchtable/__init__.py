# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""One table of what this machine does: ours, its limits, the papers, peers.

plan      on which machine, and which runs
rows      what those runs print -> rows of the table
peers     other systems on this machine, and ratios to ours
document  the table as JSON, and what that must look like
text      the table for people

Programs are run, and machines entered, by what make figures uses (../figures).
"""
