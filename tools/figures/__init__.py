# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The papers' figures, measured here and put next to what the papers print.

base      paths, what can be missing, the versions of everything
sources   the machines that can run something, one row each
jobs      one run of one tool on one machine, and what its JSON says
runner    runs jobs, keeps the raw JSON, tells how far it is
papers    published values: papers/*.json
plot      gnuplot
page      HTML
figs/     a module per figure: which jobs it wants, and what it shows

A new figure is one file in papers/ and one module in figs/.
"""
