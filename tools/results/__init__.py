# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Measured numbers: stored once, shown in pages.

origin     where a number comes from: commit, machine
store      Documentation/results: what a file has, and finding a value in it
importers  output of benchmarks -> such a file
tables     rows and columns as text for reStructuredText and Markdown
pages      tables between markers in pages: writing and checking them
"""
