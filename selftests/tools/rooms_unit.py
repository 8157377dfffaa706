#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""selftests/rooms finds each kind of forbidden dependency, in a tree of a few lines."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
loader = importlib.machinery.SourceFileLoader("rooms", os.path.join(HERE, "rooms"))
spec = importlib.util.spec_from_loader("rooms", loader)
rooms = importlib.util.module_from_spec(spec)
loader.exec_module(rooms)

PAGE = """\
Rooms
=====

.. list-table:: Rooms of the module, from the top down

   * - ``kmod/main.c``
     - all
   * - ``kmod/up/``
     - above
   * - ``kmod/low/``
     - below

.. list-table:: Upcalls, all of them

   * - Function
     - Declared in
     - Defined in
   * - ``rmc_os_wake()``
     - ``kmod/low/low.h``
     - ``kmod/up/up.c``

Else
"""
GOOD = {
    "kmod/main.c": '#include "up/up.h"\nint main(void)\n{\n\treturn rmc_up(0);\n}\n',
    "kmod/up/up.h": '#include "../low/low.h"\nint rmc_up(int n);\n',
    "kmod/up/up.c": '#include "up.h"\nint rmc_up(int n)\n{\n\treturn rmc_low(n);\n}\n'
                    'void rmc_os_wake(void)\n{\n}\n',
    "kmod/low/low.h": "int rmc_low(int n);\nvoid rmc_os_wake(void);\n",
    "kmod/low/low.c": '#include "low.h"\nint rmc_low(int n)\n{\n\treturn n;\n}\n',
}


def run_rooms(change=None, page=PAGE):
    """Exit status and output for GOOD with some files changed."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as top:
        files = {"Documentation/architecture.rst": page, **GOOD, **(change or {})}
        for name, text in files.items():
            path = os.path.join(top, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        with mock.patch("sys.argv", ["rooms", "--top", top]), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            return rooms.main(), out.getvalue()


class Rooms(unittest.TestCase):
    def refused(self, change, *words):
        status, text = run_rooms(change)
        self.assertEqual(status, 1, text)
        self.assertEqual(text.count("\n"), 1, text)
        for word in words:
            self.assertIn(word, text)

    def test_arrows_that_run_down(self):
        self.assertEqual(run_rooms(), (0, ""))

    def test_include_that_runs_up(self):
        self.refused({"kmod/low/low.c": '#include "../up/up.h"\n' + GOOD["kmod/low/low.c"]},
                     "kmod/low/low.c: includes kmod/up/up.h")

    def test_the_same_by_way_of_the_search_path(self):
        for line in ('#include "up/up.h"', "#include <up/up.h>", '# include "../up/up.h"'):
            self.refused({"kmod/low/low.c": line + "\n" + GOOD["kmod/low/low.c"]},
                         "kmod/low/low.c: includes kmod/up/up.h")

    def test_include_of_nothing(self):
        self.refused({"kmod/low/low.c": '#include "gone.h"\n' + GOOD["kmod/low/low.c"]},
                     "gone.h", "nowhere")

    def test_call_that_runs_up_by_a_declaration_in_a_header(self):
        self.refused({"kmod/low/low.h": GOOD["kmod/low/low.h"] + "int rmc_up(int n);\n"},
                     "kmod/low/low.h: declares rmc_up()", "kmod/up/up.c")

    def test_call_that_runs_up_by_a_declaration_in_the_file(self):
        self.refused({"kmod/low/low.c": "extern int rmc_up(int n);\n" + GOOD["kmod/low/low.c"]},
                     "kmod/low/low.c: declares rmc_up()")

    def test_declaration_over_several_lines(self):
        self.refused({"kmod/low/low.c": "struct a *rmc_up(int n,\n\t\tint m);\n" +
                      GOOD["kmod/low/low.c"]}, "declares rmc_up()")

    def test_upcall_that_the_page_does_not_have(self):
        self.refused({"kmod/low/low.h": GOOD["kmod/low/low.h"] + "void rmc_os_event(int n);\n",
                      "kmod/up/b.c": "void rmc_os_event(int n)\n{\n}\n"},
                     "kmod/low/low.h: declares rmc_os_event()", "kmod/up/b.c", "Upcalls")

    def test_upcall_that_the_page_has_elsewhere(self):
        self.refused({"kmod/up/up.c": GOOD["kmod/up/up.c"].partition("void")[0],
                      "kmod/up/b.c": "void rmc_os_wake(void)\n{\n}\n"},
                     "rmc_os_wake() is declared in kmod/low/low.h and defined in kmod/up/b.c")

    def test_upcall_that_is_none(self):
        self.refused({"kmod/up/up.c": GOOD["kmod/up/up.c"].partition("void")[0]},
                     "rmc_os_wake() is no upcall")
        self.refused({"kmod/up/up.c": GOOD["kmod/up/up.c"].partition("void")[0],
                      "kmod/low/b.c": "void rmc_os_wake(void)\n{\n}\n"}, "rmc_os_wake() is no upcall")

    def test_hook_of_its_own_room_is_no_upcall(self):
        self.assertEqual(run_rooms({"kmod/low/low.h": GOOD["kmod/low/low.h"] + "void rmc_os_init(void);\n",
                                    "kmod/low/os.c": "void rmc_os_init(void)\n{\n}\n"}), (0, ""))

    def test_page_without_upcalls(self):
        status, text = run_rooms(page=PAGE.replace("list-table:: Upcalls", "list-table:: Others"))
        self.assertEqual((status, text.count("rmc_os_wake")), (1, 1))

    def test_files_of_one_room_that_need_each_other(self):
        self.refused({"kmod/low/a.c": '#include "low.h"\nint rmc_a(int n)\n{\n'
                                      '\treturn rmc_low(n);\n}\n',
                      "kmod/low/low.c": '#include "low.h"\nint rmc_low(int n)\n{\n'
                                        '\treturn rmc_a(n);\n}\n'},
                     "kmod/low/a.c -> kmod/low/low.c -> kmod/low/a.c")

    def test_comments_call_nobody(self):
        self.assertEqual(run_rooms({"kmod/low/low.c": "/* rmc_up() calls this */\n" +
                                GOOD["kmod/low/low.c"]}), (0, ""))

    def test_file_in_no_room(self):
        self.refused({"kmod/other/x.c": "\n"}, "kmod/other/x.c", "no room")

    def test_no_table(self):
        self.assertEqual(run_rooms(page="Rooms\n=====\n")[0], 2)


if __name__ == "__main__":
    unittest.main()
