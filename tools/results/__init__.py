# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Measured numbers: stored once, shown in pages.

origin     origin of a number: commit, machine
store      Documentation/results: format of a file, and lookup of a value
importers  output of benchmarks -> such a file
tables     rows and columns as text for reStructuredText and Markdown
prose      numbers with a unit that prose of pages may have
pages      tables between markers in pages: writing and checking them
"""
