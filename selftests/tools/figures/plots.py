#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Plots of tools/figures, its input, and the papers' values."""

import os
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(TOP, "tools"))
from figures import figs, jobs, papers, plot                            # noqa: E402
from figures.base import Missing                                        # noqa: E402


class PlotTest(unittest.TestCase):
    def test_gnuplot_takes_awkward_labels(self):
        with tempfile.TemporaryDirectory() as folder:
            one = plot.Plot("x", 'a "b" \\n', "x_1", "y^2",
                            [plot.Series("it's 50%", [(64, 1.0), (128, 2.0)]),
                             plot.Series("paper: p", [(64, 3.0)], "paper"),
                             plot.Series("none", [])])
            picture = plot.svg(one, folder)
            self.assertIn(b"<svg", picture)
            self.assertIn(b"x_1", picture)
            self.assertTrue(os.path.exists(os.path.join(folder, "x.gp")))

    def test_nothing_to_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(Missing):
                plot.svg(plot.Plot("x", "t", "x", "y", []), folder)

    def test_what_gnuplot_complains_about_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            one = plot.Plot("x", "t", "x", "y", [plot.Series("a", [("nonsense", 1)])])
            with mock.patch.object(plot, "script", lambda _: "plot frob baz\n"):
                with self.assertRaisesRegex(Missing, "gnuplot"):
                    plot.svg(one, folder)


class ParseTest(unittest.TestCase):
    def test_lines_of_two_nodes_mixed(self):
        found = jobs.parse('[1] {\n[0] {\n[1] "a": 1}\n[0]   "a": 0\n[0] }\n')
        self.assertEqual(found, {0: {"a": 0}, 1: {"a": 1}})

    def test_without_a_prefix(self):
        self.assertEqual(jobs.parse('{\n"a": [\n1]}\n'), {0: {"a": [1]}})

    def test_no_json(self):
        for text in ("", "usage: x\n", "[0] {\n"):
            with self.assertRaises(Missing):
                jobs.parse(text)


class PapersTest(unittest.TestCase):
    def test_files_are_well_formed(self):
        for name in papers.names():
            paper = papers.load(name)
            for key in ("paper", "figure", "section", "statements"):
                self.assertIn(key, paper, name)
            for s in paper.get("series", ()):
                self.assertTrue(s["source"] and s["unit"] and s["points"], name)
            table = paper.get("table", {"rows": []})
            for row in table["rows"]:
                self.assertEqual(len(row["values"]), len(table["columns"]), name)
                self.assertTrue(row["source"], name)
            self.assertTrue(paper.get("series") or table["rows"] or paper["statements"], name)

    def test_each_figure_has_its_file(self):
        for name, module in figs.modules().items():
            self.assertIn(module.PAPER, papers.names(), name)
            for attribute in ("ORDER", "TITLE", "NEEDS_RMC", "DIFFERS", "jobs", "show"):
                self.assertTrue(hasattr(module, attribute), f"{name}: {attribute}")

    def test_published_values_are_no_code(self):
        for name in os.listdir(os.path.join(TOP, "tools", "figures", "figs")):
            if name.endswith(".py"):
                with open(os.path.join(TOP, "tools", "figures", "figs", name),
                          encoding="utf-8") as f:
                    self.assertNotRegex(f.read(), r"\b(1\.97|10\.9|1\.19|9\.6|12\.8)\b", name)


if __name__ == "__main__":
    unittest.main()
