#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""selftests/rows fails for each kind of wrong row, on a page with commands of a few letters."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
loader = importlib.machinery.SourceFileLoader("rows", os.path.join(HERE, "rows"))
spec = importlib.util.spec_from_loader("rows", loader)
rows = importlib.util.module_from_spec(spec)
loader.exec_module(rows)

HEAD = """\
Mechanisms
==========

.. list-table::
   :header-rows: 1

   * - Id
     - Mechanism
"""
COMMANDS = """
The rows in seconds
===================

.. list-table:: The rows in seconds
   :header-rows: 1

   * - Rows
     - Command
     - Its output has
"""


def row(*cells):
    return "".join(f"{'     - ' if n else '   * - '}{cell}\n" for n, cell in enumerate(cells))


def page(listed=None, commands=()):
    """All mechanisms, two of them in one row, and one command for all of them but those given."""
    listed = rows.wanted() if listed is None else listed
    given = {i for c in commands for i in rows.ID.findall(c[0])}
    rest = [i for i in rows.wanted() if i not in given]
    return (HEAD + row(", ".join(listed[:2]), "two") + "".join(row(i, "a mechanism") for i in listed[2:]) +
            row("S3-01", "of another section") + COMMANDS +
            row(", ".join(rest), "``echo all of them``", "``all of``") +
            "".join(row(*c) for c in commands))


def run(text, *args):
    """(exit status, output)"""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as top:
        os.mkdir(os.path.join(top, "Documentation"))
        with open(os.path.join(top, rows.PAGE), "w", encoding="utf-8") as f:
            f.write(text)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = rows.main(["--top", top, *args])
    return status, out.getvalue()


class Rows(unittest.TestCase):
    def refused(self, text, complaint):
        status, out = run(text)
        self.assertEqual(status, 1, out)
        self.assertRegex(out, re.compile(complaint, re.M))
        self.assertRegex(out, re.compile("^not ok", re.M))

    def test_good(self):
        status, out = run(page())
        self.assertEqual(status, 0, out)
        self.assertEqual(out.count("\nok "), 72)
        self.assertEqual(out.count("# echo"), 1)        # once for all rows
        self.assertIn("\n1..73\n", out)

    def test_this_page(self):
        with open(os.path.join(rows.TOP, rows.PAGE), encoding="utf-8") as f:
            listed, table = rows.read_page(f.read())
        self.assertEqual([*rows.list_faults(listed), *rows.read_commands(listed, table)[1]], [])

    def test_command_fails(self):
        self.refused(page(commands=[("S1-05", "``echo yes; exit 1``", "``yes``")]),
                     "^# echo yes; exit 1: exit status 1$")

    def test_command_hangs(self):
        with mock.patch.object(rows, "SECONDS", 1):
            self.refused(page(commands=[("S1-05", "``sleep 60``", "``yes``")]), "not done after 1 s")

    def test_no_such_program(self):
        self.refused(page(commands=[("S1-05", "``./nothing``", "``yes``")]), "exit status 127")

    def test_program_is_not_built(self):
        self.refused(page(commands=[("S1-05", "``build/nothing``", "``yes``")]),
                     "build/nothing is not built")

    def test_broken_promise(self):
        self.refused(page(commands=[("S1-05", "``echo no``", '"yes"')]), "does not have: yes$")

    def test_one_of_two_commands_fails(self):
        text = page(commands=[("S1-05", "``echo yes``", "``yes``"), ("S1-05", "``false``", "``yes``")])
        self.refused(text, "^not ok [0-9]+ - S1-05: echo yes, false$")
        self.assertEqual(run(text)[1].count("\nnot ok"), 1)

    def test_no_command(self):
        text = page().replace("S2-07, S2-08", "S2-08", 1) if "S2-06, S2-07, S2-08" in page() else ""
        self.refused(text, "^# S2-07: no command$")

    def test_empty_command(self):
        self.refused(page(commands=[("S2-07", "", "")]), "S2-07: neither a command nor an argument")

    def test_no_promise(self):
        self.refused(page(commands=[("S2-07", "``true``", "nothing")]), "S2-07: nothing that")

    def test_argument(self):
        status, out = run(page(commands=[("S2-07", "Argued: 3 lines are not 4", "")]))
        self.assertEqual((status, out.count("\nok ")), (0, 71), out)

    def test_argument_without_number(self):
        self.refused(page(commands=[("S2-07", "Argued: as S1-05, it is so", "")]),
                     "S2-07: neither a command nor an argument with a number")

    def test_unknown_row(self):
        self.refused(page(commands=[("S1-35", "``echo yes``", "``yes``")]), "S1-35: no such mechanism")
        self.refused(page(listed=rows.wanted() + ["S4-14"]), "S4-14: no paper has such a row")

    def test_missing_row(self):
        self.refused(page(listed=rows.wanted()[1:]), "^# S1-01: no rows of that name$")
        self.refused(page(listed=rows.wanted()[:-1]), "^# S4-13: no rows of that name$")

    def test_row_twice(self):
        self.refused(page(listed=rows.wanted() + ["S2-25"]), "^# S2-25: 2 rows of that name$")

    def test_no_table(self):
        status, out = run(HEAD)
        self.assertEqual(status, 2)
        self.assertIn("has no table", out)

    def test_skips(self):
        text = page(commands=[("S1-05", "``echo no CPUs; exit 4``", "``yes``"),
                              ("S1-06", "``echo 'ok 1 - yes # SKIP no root'``", '"yes"')])
        status, out = run(text)
        self.assertEqual(status, 0, out)
        self.assertRegex(out, "ok [0-9]+ - S1-05: .* # SKIP no CPUs")
        self.assertRegex(out, "ok [0-9]+ - S1-06: .* # SKIP no root")

    def test_one_of_two_commands_is_skipped(self):
        status, out = run(page(commands=[("S1-05", "``echo no CPUs; exit 4``", "``yes``"),
                                         ("S1-05", "``echo yes``", "``yes``")]))
        self.assertEqual(status, 0, out)
        self.assertRegex(out, re.compile("^ok [0-9]+ - S1-05: .*, echo yes$", re.M))
        self.assertIn("# S1-05: echo no CPUs; exit 4: skipped: no CPUs", out)

    def test_guests(self):
        text = page(commands=[("S1-05", "``true rmc-run --vm; false``", "``yes``")])
        with mock.patch.object(rows, "without_guests", return_value="no KVM"):
            status, out = run(text)
        self.assertEqual(status, 0, out)
        self.assertRegex(out, "S1-05: .* # SKIP no KVM")
        with mock.patch.object(rows, "without_guests", return_value=None):
            self.refused(text, "exit status 1")

    def test_only_and_list(self):
        status, out = run(page(commands=[("S1-05", "``echo yes``", "``yes``")]), "S1-05")
        self.assertEqual((status, out.count("\nok ")), (0, 1), out)
        status, out = run(page(commands=[("S1-05", "``echo yes``", "``yes``")]), "--list")
        self.assertEqual((status, sorted(out.split("\n"))), (0, ["", "echo all of them", "echo yes"]))


if __name__ == "__main__":
    unittest.main()
