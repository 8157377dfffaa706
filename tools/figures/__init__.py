# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The papers' figures, measured here, beside the published values.

base      paths, exceptions for missing things, versions
sources   the machines, one row each
jobs      one run of one tool on one machine, and its JSON
runner    runs jobs, keeps the raw JSON, prints progress
papers    published values: papers/*.json
plot      gnuplot
page      HTML
figs/     a module per figure: its jobs, and its plots and tables

A new figure is one file in papers/ and one module in figs/.
"""
