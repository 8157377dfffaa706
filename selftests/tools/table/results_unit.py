#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""rmc-results: stored results, what is imported, tables in pages. No benchmark runs here."""

import contextlib
import decimal
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", ".."))
PROGRAM = os.path.join(TOP, "tools", "rmc-results")
loader = importlib.machinery.SourceFileLoader("rmc_results", PROGRAM)
spec = importlib.util.spec_from_loader("rmc_results", loader)
program = importlib.util.module_from_spec(spec)
loader.exec_module(program)
from figures import papers                                            # noqa: E402
from results import closing, importers, pages, store                        # noqa: E402

RESULT = """{
 "what": "a test", "commit": "abcdef0", "date": "2026-11-23", "machine": "M, 2 CPUs",
 "command": "build/host/bench", "path": "mixed", "label": "row",
 "columns": [{"name": "time", "unit": "ns"}, {"name": "rate"}, {"name": "asked"}],
 "rows": [
  {"name": "read", "path": "local", "values": {"time": 1.20, "rate": {"value": 13.5, "unit": "M/s"}}},
  {"name": "8 KiB", "path": "packets", "unit": "GB/s", "values": {"rate": 5.71, "asked": "0.8 x"}},
  {"name": "peer", "path": "local", "values": {
   "rate": {"value": 2, "unit": "x", "low": 1, "high": 3}}}
 ]
}
"""
TABLE = {"what": "two", "label": "", "columns": ["here", "paper"], "rows": [
    {"name": "read", "cells": [{"result": "one", "row": "read", "column": "time"},
                               {"paper": "a14-table2", "metric": "read RTT", "platform": "RDMA"}]}]}
PAGE = "Head\n\n.. results: one\n\n.. end results\n\nProse.\n"

HOST = [{"name": "fused: 64 B read", "value": 166.834, "unit": "ns", "per": "ping-pong", "ratio": 1.28},
        {"name": "32 outstanding", "value": 13.691, "unit": "M/s", "per": "1 M/s", "ratio": 13.691},
        {"name": "random", "value": 340, "unit": "ns", "per": "(2.2 pp + access)", "ratio": 0.84},
        {"name": "raw arithmetic", "value": 8.65, "unit": "/ns"}]
HISTORY = {"commit": "abc1234+", "date": "2026-11-23T01:02:03+00:00", "machine": "M, 2 CPUs",
           "command": "bench-history --rounds 3",
           "values": {"read": {"value": 1.284, "unit": "x ping-pong", "less": True}}}
SERIES = {"command": "build/rmc_read_lat", "started": "2026-11-23 01:02:03 +0000", "output": {
    "0": {"results": [{"bytes": 64, "t_min_usec": 0.2, "t_typical_usec": 0.3456},
                      {"bytes": 8192, "bw_typical_bytes_per_sec": 5.7e9}]}}}
BENCH = {"command": f"{TOP}/tools/rmc-bench", "started": "2026-11-23 01:02:03", "rows": [
    {"group": "latency", "what": "read", "where": "core", "unit": "us", "value": 0.3611, "bytes": 64,
     "min": 0.19, "p99": 0.76, "p99_9": 0.94},
    {"group": "rate", "what": "reads", "where": "core", "unit": "M/s", "value": 12.14,
     "outstanding": 32, "qps": 1, "bytes": 64, "asked": ">= 10"},
    {"group": "bandwidth", "what": "reads", "where": "core", "unit": "GB/s", "value": 2.58, "mtu": 64,
     "bytes": 8192, "limit": "memcpy", "ratio": 0.39}],
         "peers": [{"system": "rmc, packets", "what": "message, one way", "unit": "us", "value": 0.51,
                    "bytes": 64, "performance": True, "role": "peer"},
                   {"system": "UCX tagged", "what": "message, one way", "unit": "us", "value": 0.2049,
                    "bytes": 64, "performance": True, "role": "peer"},
                   {"system": "UCX one-sided", "what": "read", "unit": "us", "value": 0.02,
                    "bytes": 8192, "performance": True, "role": "bound"},
                   {"system": "Soft-RoCE", "what": "read", "unit": "us", "value": 400, "bytes": 64,
                    "performance": False, "role": "peer"}],
         "ratios": [{"name": "TCP / ours", "ratio": 147.2, "low": 41.6, "high": 180}]}


def pair_row(where, value, what="read", group="latency", unit="us", **more):
    return {"group": group, "what": what, "where": where, "unit": unit, "value": value, "bytes": 64,
            "mtu": 4096, "path": "packets", **more}


PAIRS = {**BENCH, "machine": {"title": "rmcd"}, "rows": [
    pair_row("rmcd", 0.35, path="local", packets={"value": 0.45, "path": "packets"}),
    pair_row("two rmcd, 3 threads on 2 CPUs", 2.4), pair_row("a worker each, computed", 0.7),
    pair_row("core", 0.2), pair_row("rmcd", 9, mtu=64), pair_row("rmcd", 9, double_sided=True),
    pair_row("rmcd", 9, "SABRe"), pair_row("two rmcd, 3 threads on 2 CPUs", 0.5, "read", "bandwidth", "GB/s",
                                           outstanding=32),
    pair_row("two rmcd, 3 threads on 2 CPUs", 8, "reads", "rate", "M/s", outstanding=32, qps=1, mtu=4096)]}
SABRE = """
MTU 4096, cache-resident: latency, ns, and ratio to a plain read
 bytes      read     overlapped
    64       169      181  1.06
  8192       534      549  1.03
32 in flight, GB/s
  8192     16.67          15.50

MTU 4096, random in 64 MiB: latency, ns, and ratio to a plain read
 bytes      read     overlapped
    64       330      280  0.85
"""


def ni_row(part, what, ni="edge", units=2, **more):
    return {"part": part, "ni": ni, "units": units, "rrpps": units, "kernels": 2, "workers": 4, "cpus": 20,
            "what": what, "bytes": 64, "outstanding": 1, "path": "packets", **more}


NI = {"cpus": 2, "rows": [
    ni_row("computed", "latency", ns=710.4), ni_row("computed", "latency", ns=720, bytes=16384),
    ni_row("computed", "latency", "per_tile", 4, ns=445, rrpps=2),
    ni_row("computed", "bandwidth", gbps=107.02), ni_row("threads", "skipped", needs=6, has=2),
    ni_row("threads", "latency", "fused", 1, ns=400, kernels=1),
    ni_row("beside threads", "latency", "fused", 1, ns=300, kernels=1),
    ni_row("threads", "bandwidth", "fused", 1, gbps=2, bytes=8192, kernels=1),
    ni_row("beside threads", "bandwidth", "fused", 1, gbps=3, bytes=8192, kernels=1),
    *(ni_row("between", what, "fused", 1, bytes=n, outstanding=o, t_typical_usec=0.7, mops=9,
             bw_typical_bytes_per_sec=7e9)
      for what, n, o in (("read", 64, 1), ("read", 64, 32), ("write", 8192, 32)))]}
OBJECTS = {"mtu": 4096, "rounds": 5, "rows": [
    {"figure": "8", "bytes": n, "writers": w, "series": "SABRe", "value": 1.2345, "unit": "M/s"}
    for n in (128, 8192) for w in (0, 16)]}
SYNC = {"rounds": 5, "levels": 3, "models": [
    {"hop_ns": hop, "ratios": [{"name": "latch", "ratio": r, "asked": 1.1}], "ns": {"read": ns}}
    for hop, r, ns in ((0, 1.2345, 456.7), (1000, 0.9876, 2512))]}
TX = {"path": "packets", "mixes": [
    {"hop_ns": hop, "mix": "100%RD", "requests": "in turn", "whole": 9876.5, "rest": 4321, "overheads": 0.5625,
     "sum": 0.98765, "parts": [{"part": "read atomicity", "share": 0.12345, "omitted_alone": 0.2,
                                "added_alone": 0.05}]} for hop in (0, 1000)]}
DELAY = """# floor without a model: 241 ns
# posting and completing: 120 ns, to be given as local_ns
#                                     hops floor ns model ns  mean ns   off % of all, ns windows
# torus 8x8x4, 35 + 120 ns               3      280      330      334    +1.2        350     812
# torus 8x8x4, 35 ns, 120 ns (T18)       1      280      190      192    +1.1        350     812
# torus 8x8x4, 35 ns, 120 ns (T18)       10     280      820      822    +0.2        350     812
# crossbar, 1 us                         1      280     2000     1990    -0.5       2100     900
ok 1 - link model
"""


def run(*argv):
    """(status, output)"""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            status = program.main([str(a) for a in argv])
        except SystemExit as e:
            status = e.code
    return status, out.getvalue()


class Folder(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.folder = tmp.name
        os.mkdir(os.path.join(tmp.name, "tables"))
        self.put("one.json", RESULT)
        self.put("tables/both.json", json.dumps(TABLE))

    def put(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def get(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as f:
            return f.read()

    def run_on(self, *argv):
        return run("--folder", self.folder, *argv)


class Stored(Folder):
    def wrong(self, old, new, count=1):
        self.assertIn(old, RESULT)
        self.put("one.json", RESULT.replace(old, new, count))
        with self.assertRaises(store.Wrong) as caught:
            store.Store(self.folder).result("one")
        return str(caught.exception)

    def test_it_is_one(self):
        self.assertEqual(len(store.Store(self.folder).result("one")["rows"]), 3)

    def test_origin_must_be_there(self):
        for key in ("what", "commit", "date", "machine", "command", "path"):
            self.assertIn(key, self.wrong(f'"{key}": ', f'"not {key}": '))

    def test_forms(self):
        self.assertIn("commit", self.wrong("abcdef0", "HEAD"))
        self.assertIn("date", self.wrong("2026-11-23", "yesterday"))
        self.assertIn("path", self.wrong('"mixed"', '"short"'))
        self.assertIn("path", self.wrong('"local"', '"short"'))

    def test_a_result_and_its_rows_have_a_path(self):
        self.assertIn("path: 'unknown'", self.wrong('"mixed"', '"unknown"'))
        for own in ("unknown", "not recorded", "both"):
            self.assertIn(f"row '8 KiB': path '{own}'", self.wrong('"packets"', f'"{own}"'))
        self.assertIn("row '8 KiB': no path", self.wrong('"path": "packets", ', ""))
        self.assertIn("'8 KiB', 'rate': path 'unknown'",
                      self.wrong('5.71', '{"value": 5.71, "path": "unknown"}'))
        self.assertIn("column 'rate': path 'unknown'",
                      self.wrong('{"name": "rate"}', '{"name": "rate", "path": "unknown"}'))

    def test_a_row_without_a_path_whose_values_have_theirs(self):
        both = RESULT.replace('"path": "local", "values": {"time": 1.20', '"values": {"time": 1.20')
        cell = '{"value": 13.5, "unit": "M/s", "path": "packets"}'
        self.put("one.json", both.replace('{"value": 13.5, "unit": "M/s"}', cell))
        with self.assertRaisesRegex(store.Wrong, "row 'read': no path"):    # not of its time
            store.Store(self.folder).result("one")
        self.put("one.json", both.replace('{"value": 13.5, "unit": "M/s"}', cell).replace(
            '"time": 1.20', '"time": {"value": 1.20, "path": "local"}'))
        found = store.Store(self.folder)
        self.assertEqual([found.value("one", "read", c)[2] for c in ("time", "rate")],
                         ["local", "packets"])

    def test_what_is_older_than_the_files_may_lack_it(self):
        old = RESULT.replace('"date"', '"commit_is": "recorded", "date"')
        self.put("one.json", old.replace('"packets"', '"not recorded"'))
        self.assertEqual(store.Store(self.folder).value("one", "8 KiB", "rate")[2], "not recorded")
        for text in (old.replace('"packets"', '"unknown"'),
                     old.replace('"mixed"', '"not recorded"')):
            self.put("one.json", text)
            with self.assertRaisesRegex(store.Wrong, "path"):
                store.Store(self.folder).result("one")

    def test_numbers_have_units(self):
        self.assertIn("without unit", self.wrong(', "unit": "ns"', ""))

    def test_cells(self):
        self.assertIn("no column", self.wrong('"time": 1.20', '"tome": 1.20'))
        self.assertIn("low and high", self.wrong('"low": 1, ', ""))
        self.assertIn("not a number", self.wrong("1.20", "true"))
        self.assertIn("that was there before", self.wrong('"peer"', '"read"'))

    def test_digits_are_kept(self):
        found = store.load(os.path.join(self.folder, "one.json"))
        self.assertEqual(str(found["rows"][0]["values"]["time"]), "1.20")
        self.assertIn('"time": 1.20', store.dump(found))
        self.put("again.json", store.dump(found))
        self.assertEqual(store.load(os.path.join(self.folder, "again.json")), found)


class Pages(Folder):
    def page(self, text=PAGE, name="page.rst"):
        path = self.put(name, text)
        status, said = self.run_on("pages", path)
        return path, status, said

    def check(self, text, name="page.rst"):
        return self.run_on("pages", "--check", self.put(name, text))

    def test_a_table_is_written_and_stays(self):
        path, status, said = self.page()
        self.assertEqual((status, said), (0, ""))
        text = self.get("page.rst")
        self.assertRegex(text, r"\nrow +time, ns +rate +asked +path\n")
        self.assertRegex(text, r"\nread +1\.20 +13\.5 M/s +local\n")
        self.assertRegex(text, r"\n8 KiB +5\.71 GB/s +0\.8 x +packets\n")
        self.assertRegex(text, r"\npeer +2 x \(1 to 3\) +local\n")
        self.assertIn("At abcdef0, 2026-11-23, M, 2 CPUs: ``build/host/bench``; path by row.", text)
        self.assertTrue(text.startswith("Head\n") and text.endswith("\nProse.\n"))
        self.assertEqual(self.run_on("pages", "--check", path), (0, ""))
        self.assertEqual(self.run_on("pages", path)[0], 0)
        self.assertEqual(self.get("page.rst"), text)

    def test_any_changed_digit_is_noticed(self):
        self.page()
        text = self.get("page.rst")
        end = text.index(".. end")
        places = [m.start() for m in re.finditer(r"\d", text[:end])]
        self.assertGreater(len(places), 20)
        for at in places:
            other = "7" if text[at] != "7" else "3"
            status, said = self.check(text[:at] + other + text[at + 1:])
            self.assertEqual(status, 1, text[at - 10:at + 10])
            self.assertIn("page.rst:", said)

    def test_a_changed_result_is_noticed(self):
        path = self.page()[0]
        self.put("one.json", RESULT.replace("5.71", "5.72"))
        status, said = self.run_on("pages", "--check", path)
        self.assertEqual(status, 1)
        self.assertIn("5.72 GB/s", said)
        self.assertIn("5.71", self.get("page.rst"))         # checking changes nothing

    def test_a_row_shows_the_paths_of_its_values(self):
        self.put("one.json", RESULT.replace('1.20', '{"value": 1.20, "path": "packets"}'))
        self.page()
        self.assertRegex(self.get("page.rst"), r"\nread +1\.20 +13\.5 M/s +packets, local\n")

    def test_counts_show_no_unit(self):
        self.put("one.json", RESULT.replace('"ns"', '"count"'))
        self.page()
        self.assertRegex(self.get("page.rst"), r"\nrow +time +rate +asked +path\n")

    def test_markdown(self):
        text = "<!-- results: both -->\n\n<!-- end results -->\n"
        self.assertEqual(self.page(text, "page.md")[1:], (0, ""))
        made = self.get("page.md")
        self.assertIn("|  | here | paper | path |\n|---|---|---|---|\n| read | 1.20 ns | 1.19 us | local |", made)
        self.assertIn("`build/host/bench`", made)
        self.assertEqual(self.check(made.replace("1.19", "1.18"), "page.md")[0], 1)

    def test_row_of_both_paths(self):
        table = json.loads(json.dumps(TABLE))
        table["rows"][0]["cells"][1] = {"result": "one", "row": "8 KiB", "column": "rate"}
        self.put("tables/both.json", json.dumps(table))
        self.page("<!-- results: both -->\n\n<!-- end results -->\n", "page.md")
        self.assertIn("| read | 1.20 ns | 5.71 GB/s | local, packets |", self.get("page.md"))

    def test_results_of_one_run_have_one_origin(self):
        table = json.loads(json.dumps(TABLE))
        table["rows"][0]["cells"][1] = {"result": "two", "row": "read", "column": "time"}
        self.put("tables/both.json", json.dumps(table))
        for text, times in ((RESULT, 1), (RESULT.replace("abcdef0", "1234567"), 2)):
            self.put("two.json", text)
            self.page("<!-- results: both -->\n\n<!-- end results -->\n", "page.md")
            self.assertEqual(self.get("page.md").count("M, 2 CPUs"), times)

    def test_markers(self):
        for text, what in ((".. results: none\n\n.. end results\n", "none.json"),
                           (".. results: one\n", "has no end"), (".. end results\n", "do not match"),
                           (".. results: one\n.. results: one\n.. end results\n", "do not match")):
            status, said = self.check(text)
            self.assertEqual(status, 1)
            self.assertIn(what, said)
            self.assertEqual(self.run_on("pages", self.put("page.rst", text))[0], 1)
            self.assertEqual(self.get("page.rst"), text)    # no page is written in part

    def prose(self, text, listed=None):
        """Status and errors of a page with this prose"""
        if listed is not None:
            self.put("prose.list", listed)
        return self.page(PAGE.replace("Prose.", text))[1:]

    def test_prose_has_no_measured_number(self):
        for claim in ("1.20 ns", "11.20 ns", "13.5 M/s", "5.71 GB/s", "2.1 x", "3 times", "35%", "0.5 %",
                      "7 us", "77 Gbps", "710 cycles", "1,000 per second", "55 to 470 ns", "2 seconds",
                      "23-cycle", "250 times a second", "1\n  us", "5 minutes", "0.3us", "40 percent"):
            status, said = self.prose(f"It takes {claim}, mostly.")
            self.assertEqual(status, 1, claim)
            number = " ".join(claim.split()).rpartition(" to ")[2].replace("times a second", "times")
            self.assertIn(f"page.rst:7: \"{number}\": ", said)

    def test_tables_and_blocks_by_hand_are_prose(self):
        for text in ("==  =====\na   14 us\n==  =====\n", "::\n\n  it takes  23 ns\n", "* - 3 x\n"):
            self.assertEqual(self.prose(text)[0], 1, text)

    def test_prose_has_numbers_that_are_no_claim(self):
        for text in ("64 B of 8 KiB, 32 in flight", "two microseconds", "T18 5.2 says", "8x8x4", "5.71 of something",
                     "7.2.13 used", "v1.2 s", "``--loss 1%``, --delay=5us --gap 50us", "``RMC_AGAIN_MS`` (512 ms)",
                     "as long as ten of them", "4 x86 machines", "12 messages", "2 CPUs, 3 steps"):
            self.assertEqual(self.prose(text), (0, ""), text)

    def test_the_list_allows_what_it_names(self):
        entry = "page.rst | limit | at most 5% ; within 30 ms | a test\n"
        self.assertEqual(self.prose("Off by at\n  most 5%, and within 30 ms.", entry), (0, ""))
        status, said = self.prose("Off by at most 5%, within 30 ms, and takes 30 ms.")
        self.assertEqual((status, said.count("\n")), (1, 1), said)
        self.assertIn("page.rst:7: \"30 ms\"", said)
        status, said = self.prose("Off by at most 5% of others.", entry)
        self.assertEqual(status, 1)                     # the other text is nowhere
        self.assertIn("prose.list:1: page.rst has no such number: within 30 ms", said)
        status, said = self.prose("Off by at most 5%, within 30 ms.", entry + "page.rst | limit | by at most | x\n")
        self.assertIn("prose.list:2: page.rst has no such number", said)    # text without a number
        self.assertEqual(self.prose("Nothing.", entry.replace("page", "other")), (0, ""))

    def test_the_list_itself(self):
        for text, what in (("page.rst | limit | 5%\n", "not PAGE"), ("# x\n\npage.rst | limit |  | y\n", "not PAGE"),
                           ("page.rst | measured | 5% | yesterday\n", "'measured' is not")):
            status, said = self.prose("It is 5%.", text)
            self.assertEqual(status, 1, text)
            self.assertIn(what, said)

    def test_values_that_are_not_there(self):
        for field, value in (("result", "two"), ("row", "write"), ("column", "speed")):
            table = json.loads(json.dumps(TABLE))
            table["rows"][0]["cells"][0][field] = value
            self.put("tables/both.json", json.dumps(table))
            self.assertEqual(self.check(PAGE.replace("one", "both"))[0], 1)
        with self.assertRaises(store.Wrong):
            store.published("a14-table2", "read RTT", "abacus")


class Import(Folder):
    def take(self, kind, text, *more, status=0, own="packets"):
        """own: the path of output that names none"""
        path = self.put("input", text if isinstance(text, str) else json.dumps(text))
        more += ("--path", own) if own and "--path" not in more else ()
        got, said = self.run_on("import", kind, path, "--name", "new", "--what", "a test", *more)
        self.assertEqual(got, status, said)
        return {r["name"]: r["values"] for r in store.Store(self.folder).result("new")["rows"]} \
            if not status else said

    def test_host(self):
        rows = self.take("host", HOST, "--command", "bench --json")
        self.assertEqual(str(rows["fused: 64 B read"]["measured"]["value"]), "167")
        self.assertEqual([rows[n]["beside"]["unit"] for n in list(rows)[:3]],
                         ["x ping-pong", "x (1 M/s)", "x (2.2 pp + access)"])
        self.assertEqual(rows["raw arithmetic"]["measured"]["unit"], "per ns")
        found = store.Store(self.folder).result("new")
        self.assertEqual((found["path"], found["command"]), ("packets", "bench --json"))
        self.assertRegex(found["machine"], r", \d+ CPUs$")

    def test_a_command_is_asked_for(self):
        self.assertIn("command", self.take("host", HOST, status=1))

    def test_a_path_is_asked_for(self):
        self.assertIn("--path", self.take("host", HOST, "--command", "c", status=1, own=None))
        self.assertIn("no path", self.take("host", HOST, "--command", "c", status=1, own="mixed"))
        self.take("host", HOST, "--command", "c", "--path", "unknown", status=2)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "new.json")))
        rows = [{**row, "path": "local"} for row in HOST]
        for last, path in (("local", "local"), ("packets", "mixed")):
            self.take("host", [*rows[:-1], {**rows[-1], "path": last}], "--command", "c", own=None)
            self.assertEqual(store.Store(self.folder).result("new")["path"], path)
        one = ("--command", "c", "--row-path", f"{HOST[0]['name']}=local")
        self.take("host", HOST[:1], *one, own=None)
        self.assertEqual(self.paths(), {HOST[0]["name"]: "local"})
        self.assertIn("no such row", self.take("host", HOST[1:], *one, status=1, own=None))

    def test_history(self):
        rows = self.take("history", "{}\n" + json.dumps(HISTORY) + "\n")
        self.assertEqual(str(rows["read"]["median"]["value"]), "1.28")
        found = store.Store(self.folder).result("new")
        self.assertEqual([found[k] for k in ("commit", "date", "machine", "command")],
                         ["abc1234+", "2026-11-23", "M, 2 CPUs", "selftests/bench/bench-history --rounds 3"])

    def test_series_of_figures(self):
        rows = self.take("series", SERIES)
        self.assertEqual(str(rows["64 B"]["typical"]), "0.346")
        self.assertEqual(str(rows["8 KiB"]["typical"]), "5.7")
        self.assertIn("node 7", self.take("series", SERIES, "--part", "7", status=1))

    def test_bench(self):
        rows = self.take("bench", BENCH, "--part", "latency", "--path", "local")
        self.assertEqual({k: str(v) for k, v in rows["read, 64 B"].items()},
                         {"core: min": "0.19", "core: p50": "0.361", "core: p99": "0.76",
                          "core: p99.9": "0.94"})
        self.assertEqual(store.Store(self.folder).result("new")["command"], "tools/rmc-bench")
        rows = self.take("bench", BENCH, "--part", "rows")
        self.assertEqual(rows["64 B reads, 32 in flight"]["asked"], ">= 10")
        self.assertEqual(rows["reads, MTU 64, 8 KiB"]["core, beside"]["unit"], "x memcpy")
        rows = self.take("bench", BENCH, "--part", "ratios")
        self.assertEqual(str(rows["TCP / ours"]["ratio"]["high"]), "180")
        rows = self.take("bench", BENCH, "--part", "peers", "--path", "mixed")
        self.assertEqual({name: list(values) for name, values in rows.items()}, {
            "rmc, packets": ["message, 64 B, one way"], "UCX tagged": ["message, 64 B, one way"],
            "UCX one-sided": ["read, 8 KiB", "isolation"]})
        self.assertEqual(float(rows["UCX tagged"]["message, 64 B, one way"]), 0.205)
        found = store.Store(self.folder).result("new")
        self.assertEqual([row["path"] for row in found["rows"]], ["packets", "none", "none"])
        self.assertIn("part", self.take("bench", BENCH, status=1))

    def test_two_nodes_with_a_worker_each(self):
        rows = self.take("bench", PAIRS, "--part", "pairs")
        self.assertEqual({row: {k: f"{v['value']} {v['unit']}" for k, v in values.items()}
                          for row, values in rows.items()}, {
            "64 B read": {"rmcd, one worker": "0.45 us", "two rmcd, 3 threads on 2 CPUs": "2.4 us",
                          "a worker each, computed": "0.7 us"},
            "64 B reads, 32 in flight": {"two rmcd, 3 threads on 2 CPUs": "8 M/s"}})
        self.assertEqual({c["name"]: c["path"] for c in store.Store(self.folder).result("new")["columns"]},
                         dict.fromkeys(["rmcd, one worker", "two rmcd, 3 threads on 2 CPUs",
                                        "a worker each, computed"], "packets"))
        self.assertIn("no row of two nodes", self.take(
            "bench", {**BENCH, "machine": {"title": "rmcd"}}, "--part", "pairs", status=1))

    def test_sabre(self):
        rows = self.take("sabre", SABRE, "--part", "MTU 4096, cache-resident", "--command", "c")
        self.assertEqual(str(rows["64 B"]["overlapped, ratio"]["value"]), "1.06")
        self.assertEqual(str(rows["8 KiB, 32 in flight"]["overlapped"]["value"]), "15.50")
        self.assertNotIn("330", json.dumps(rows, default=str))
        self.assertIn("random in 64 MiB", self.take("sabre", SABRE, "--part", "x", status=1))

    def test_ni(self):
        rows = self.take("ni", NI, "--part", "latency", "--command", "c")
        self.assertEqual({k: str(v) for k, v in rows["edge, 2 units"].items()},
                         {"CPUs of a node": "10", "64 B": "710", "16 KiB": "720"})
        self.assertEqual(list(rows), ["edge, 2 units", "per_tile, 4 units, 2 RRPPs"])
        self.assertEqual(self.paths(), dict.fromkeys(rows, "packets"))
        rows = self.take("ni", NI, "--part", "bandwidth", "--command", "c")
        self.assertEqual(str(rows["edge, 2 units"]["64 B"]), "107")
        rows = self.take("ni", NI, "--part", "threads", "--command", "c")
        self.assertEqual(rows["edge, 2 units"], {"nodes of a worker": "needs 6 CPUs"})
        self.assertEqual({k: str(v) for k, v in rows["fused"].items()}, {
            "nodes of a worker": "both", "latency 64 B, measured": "400", "latency 64 B, computed": "300",
            "latency 64 B, ratio": "0.75", "bandwidth 8 KiB, measured": "2", "bandwidth 8 KiB, computed": "3",
            "bandwidth 8 KiB, ratio": "1.5"})
        rows = self.take("ni", NI, "--part", "between", "--command", "c")
        self.assertEqual([(n, str(v["computed, a worker each"]["value"]), v["computed, a worker each"]["unit"])
                          for n, v in rows.items()],
                         [("64 B read", "0.7", "us"), ("64 B reads, 32 in flight", "9", "M/s"),
                          ("8 KiB writes, 32 in flight", "7", "GB/s")])
        rows = self.take("ni", {"rows": [
            ni_row("computed", "latency", n, 8, ns=v) for n, v in (("edge", 700), ("per_tile", 350))] + [
                ni_row("computed", "bandwidth", n, 8, bytes=8192, gbps=v)
                for n, v in (("edge", 10), ("per_tile", 5))]}, "--part", "papers", "--command", "c")
        self.assertEqual({k: [f"{v[c]['value']} {v[c]['unit']}" for c in ("T18", "here", "ratio")]
                          for k, v in rows.items()}, {
            "edge, 8 units: read of 64 B": ["355 ns", "700 ns", "1.97 x"],
            "per_tile, 8 units: read of 64 B": ["222 ns", "350 ns", "1.57 x"],
            "per_tile, 8 units: read of 64 B, of edge": ["62.7 %", "50 %", "0.798 x"],
            "per_tile, 8 units: bandwidth at 8 KiB, of edge": ["25 %", "50 %", "2 x"]})
        self.assertIn("not latency", self.take("ni", NI, "--part", "speed", "--command", "c", status=1))
        self.assertIn("no row of between", self.take("ni", {"rows": []}, "--part", "between", "--command",
                                                      "c", status=1))

    def test_chip(self):
        rows = self.take("chip", {"rows": [
            {"network": "mesh", "design": d, "row": "total", "cycles": c} for d, c in (
                ("edge", 781), ("per-tile", 445))]}, "--command", "c")
        self.assertEqual({k: [f"{v[c]['value']} {v[c]['unit']}" for c in ("T18", "here", "ratio")]
                          for k, v in rows.items()},
                         {"mesh: total, edge": ["710 cycles", "781 cycles", "1.1 x"],
                          "mesh: total, per-tile": ["445 cycles", "445 cycles", "1 x"]})
        hops = [{"network": "mesh", "design": d, "hops": n, "cycles": 400 + 140 * n, "over_numa_percent": 14.3}
                for d in ("edge", "per-tile", "split", "NUMA") for n in (1, 2, 6, 12)]
        rows = self.take("chip", {"command": "hops", "rows": hops}, "--command", "c")
        self.assertEqual(rows["figure 6.7: edge, 6 hops"]["ratio"]["value"], decimal.Decimal("0.5"))
        self.assertEqual(rows["figure 6.7: a hop, there and back, NUMA"]["ratio"], "input")
        band = [{"network": "mesh", "routing": r, "design": d, "bytes": n, "gbps": v, "noc_gbps": 2 * v}
                for r, part in (("class", 1), ("xy", 0.5)) for d, v in (
                    ("edge", 107 * part), ("per-tile", 53.5 * part), ("split", 214 * part)) for n in (64, 8192)]
        rows = self.take("chip", {"command": "bandwidth", "rows": band}, "--command", "c")
        self.assertEqual({k: rows[k]["here"]["value"] for k in (
            "peak, class-based routing, edge", "8 KiB, of edge, per-tile", "XY below class-based, split",
            "figure 6.9a: 64 B, more than edge, split")}, {
                "peak, class-based routing, edge": 107, "8 KiB, of edge, per-tile": 50,
                "XY below class-based, split": 50, "figure 6.9a: 64 B, more than edge, split": 100})
        self.assertEqual(rows["figure 6.9a: 64 B, more than edge, split"]["T18"], "more")
        times = [{"network": net, "design": d, "bytes": n, "ns": ns} for net, all_of in (
            ("mesh", (400, 200, 200)), ("noc-out", (300, 180, 200))) for d, ns in zip(
                ("edge", "per-tile", "split"), all_of) for n in (64, 16384)]
        rows = self.take("chip", {"command": "latency", "rows": times}, "--command", "c")
        self.assertEqual(rows["figure 6.11: 64 B, shorter than on a mesh, edge"]["here"]["value"], 25)
        self.assertEqual(rows["figure 6.11: longer than split, at most, edge"]["here"]["value"], 50)

    def test_virtual_time(self):
        rows = [{"part": "7a", "series": s, "bytes": 128, "nodes": 1, "value": v}
                for s, v in (("read", 100), ("SABRe, no speculation", 150))]
        rows += [{"part": p, "series": s, "bytes": 8192, "nodes": 0, "value": v}
                 for p, s, v in (("1", "farm: strip and compare", 10), ("9a", "farm", 20), ("9a", "sabre", 9))]
        for profile, said in (("sonuma-r2p2", {"value": 1, "unit": "x"}), ("sonuma-r2p2-strip", "fitted")):
            taken = self.take("virtual", {"profile": profile, "set": [], "rows": rows}, "--path", "packets",
                              "--command", "c")
            self.assertEqual({k: v["ratio"] for k, v in taken.items()}, {
                "fig. 7a: no speculation longer by, two blocks": {"value": 1.25, "unit": "x"},
                "fig. 1: stripping versions, share of an 8 KiB read": said})
        self.assertIn("no row", self.take("virtual", {"profile": "rmc", "set": [], "rows": []}, "--path",
                                          "packets", "--command", "c", status=1))

    def test_adapters(self):
        def run(profile, changed, *rows):
            return {"profile": profile, "set": changed, "rows": [
                dict(zip(("part", "bytes", "nodes", "series", "value"), row)) for row in rows]}

        def ratios(*runs):
            taken = self.take("virtual", "\n".join(map(json.dumps, runs)), "--path", "packets", "--command", "c")
            return {k: v["ratio"] for k, v in taken.items()}
        hot = [("16-112-write-only", 512, 250, series, 0.2) for series in ("NAM-DB++", "FaRM")]
        # a constant that was chosen for a row leaves no quotient of it
        twice = {"value": 2, "unit": "x"}
        names = ["fig. 16: writes, most skew, NAM-DB++", "fig. 16: writes, most skew, FaRM"]
        self.assertEqual(ratios(run("cx5", [], *hot)), dict(zip(names, (twice, twice))))
        self.assertEqual(ratios(run("cx5", ["faa_ns=431"], *hot)), dict(zip(names, (twice, twice))))
        self.assertEqual(ratios(run("cx5", ["buffer_ns=50000"], *hot)), dict(zip(names, (twice, "fitted"))))
        # adapters have a run each
        self.assertEqual(ratios(run("cx7", [], ("17", 4096, 128, "stride 4096 B", 2.5)),
                                run("bf2", [], ("18", 0, 128, "call, one word", 20))),
                         {"fig. 17: stride 4 KiB, 128 workers": "fitted", "fig. 18: calls, 128 workers": "fitted"})

    def paths(self):
        return {r["name"]: r.get("path") for r in store.Store(self.folder).result("new")["rows"]}

    def test_rows_have_their_paths(self):
        self.take("series", {"results": [{"bytes": 64, "path": "local", "t_min_usec": 0.2},
                                         {"bytes": 65536, "path": "packets", "t_min_usec": 9}]},
                  "--command", "c")
        self.assertEqual(self.paths(), {"64 B": "local", "64 KiB": "packets"})
        self.take("sabre", SABRE.replace("1.06", "1.06 local").replace("15.50", "15.50 packets")
                  .replace("overlapped\n", "overlapped path\n"),
                  "--part", "MTU 4096, cache-resident", "--command", "c")
        self.assertEqual(self.paths(), {"64 B": "local", "8 KiB": None, "8 KiB, 32 in flight": "packets"})

    def test_packets_beside_the_local_path(self):
        both = json.loads(json.dumps(BENCH))
        for row in both["rows"]:
            row["path"] = "local"
            row["packets"] = {"value": 0.5, "p99": 0.9, "path": "packets"}
        both["rows"][2]["packets"]["ratio"] = 0.2
        both["rows"].append({**both["rows"][1], "where": "UML", "path": "packets"})
        rows = self.take("bench", both, "--part", "latency")
        self.assertEqual(str(rows["read, 64 B"]["core, packets: p50"]), "0.5")
        self.assertEqual(store.Store(self.folder).value("new", "read, 64 B", "core: p50")[2], "local")
        self.assertEqual(store.Store(self.folder).value("new", "read, 64 B", "core, packets: p99")[2],
                         "packets")
        rows = self.take("bench", both, "--part", "rows")
        self.assertEqual(str(rows["reads, MTU 64, 8 KiB"]["core, packets"]["value"]), "0.5")
        # a machine of one path has it as its column's
        self.assertEqual(store.Store(self.folder).value("new", "64 B reads, 32 in flight", "UML")[2],
                         "packets")
        self.assertEqual(str(rows["reads, MTU 64, 8 KiB"]["core, packets, beside"]["value"]), "0.2")
        self.assertEqual(self.paths(), {"64 B reads, 32 in flight": "local",
                                        "reads, MTU 64, 8 KiB": "local"})

    def test_objects(self):
        rows = self.take("objects", OBJECTS, "--command", "c")
        self.assertEqual(sorted(rows), ["8: SABRe", "8: SABRe, 16 writers"])
        self.assertEqual({k: str(v) for k, v in rows["8: SABRe"].items()},
                         {"128 B": "1.23", "8 KiB": "1.23"})

    def test_sync(self):
        rows = self.take("sync", SYNC, "--command", "c")
        self.assertEqual({k: str(v) for k, v in rows["latch"].items()},
                         {"no link model": "1.23", "asked": "1.1", "round trips of 2 us": "0.988"})
        self.assertEqual(str(rows["read"]["round trips of 2 us"]), "2512")

    def test_tx(self):
        rows = self.take("tx", TX, "--command", "c")
        column = "2 us, in turn"
        self.assertEqual(str(rows["100%RD: all overheads"][column]), "56.2")
        part = rows["100%RD: read atomicity"][column]
        self.assertEqual([str(part[k]) for k in ("value", "low", "high", "unit")], ["12.3", "5", "20", "%"])
        self.assertEqual(str(rows["100%RD: parts and rest, of the whole"]["no link model, in turn"]), "0.988")
        self.assertEqual(str(rows["100%RD: whole"][column]), "9876")

    def test_delay(self):
        rows = self.take("delay", DELAY, "--command", "c")
        self.assertEqual(str(rows["floor without a model"]["measured"]["value"]), "241")
        self.assertEqual(str(rows["torus 8x8x4, 35 + 120 ns"]["off"]["value"]), "1.2")
        self.assertEqual(str(rows["torus 8x8x4, 35 ns, 120 ns (T18), 1 hop"]["off"]["value"]), "1.1")
        self.assertEqual(str(rows["torus 8x8x4, 35 ns, 120 ns (T18), 10 hops"]["off"]["value"]), "0.2")
        self.assertEqual(str(rows["crossbar, 1 us"]["off"]["value"]), "-0.5")
        self.assertEqual(rows["crossbar, 1 us"]["configured"], "2000 ns")

    def test_delay_with_paths(self):
        text = DELAY.replace("241 ns", "241 ns, local").replace("900\n", "900  packets\n")
        self.take("delay", text, "--command", "c")
        paths = {r["name"]: r.get("path") for r in store.Store(self.folder).result("new")["rows"]}
        self.assertEqual(paths["floor without a model"], "local")
        self.assertEqual(paths["crossbar, 1 us"], "packets")
        self.assertIsNone(paths["torus 8x8x4, 35 + 120 ns"])        # older output has none

    def test_what_is_no_output(self):
        for kind in importers.KINDS:
            said = self.take(kind, "frob", "--command", "c", status=1)
            self.assertTrue(said.startswith("rmc-results: "), said)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "new.json")))


class Closing(unittest.TestCase):
    """Published values beside ours: of this tree, and with faults."""

    def setUp(self):
        self.store = store.Store()
        self.names = closing.names(self.store)
        self.lists = {name: closing.load(name, self.store) for name in self.names}
        self.addCleanup(setattr, closing, "load", closing.load)
        closing.load = lambda name, _: self.lists[name]

    def said(self):
        return "\n".join(closing.complaints(self.store))

    def test_each_published_number_has_a_row(self):
        self.assertEqual(self.said(), "")
        self.assertEqual(len(self.names), 5)
        listed = {paper for found in self.lists.values() for paper in found["papers"]}
        here = {name for name in papers.names() if name.startswith(("a14-", "m16-", "t18-chip", "r25-", "hd-"))}
        self.assertEqual(listed, here)

    def test_any_row_that_is_missing_is_noticed(self):
        for name, found in self.lists.items():
            keys = [closing.key(row) for row in found["rows"]]
            every = {k: v for paper in found["papers"] for k, v in closing.printed(paper).items()}
            for one in dict.fromkeys(keys):
                with self.subTest(one):
                    rows = [row for row, k in zip(found["rows"], keys) if k != one]
                    self.lists[name] = {**found, "rows": rows}
                    said = self.said()
                    self.assertEqual(f"{name}: no row of {' '.join(map(str, one))}" in said,
                                     not isinstance(every[one][0], str), said)
            self.lists[name] = found

    def test_reasons(self):
        for name, found in self.lists.items():
            for row in found["rows"]:
                if "why" not in row:
                    continue
                why = row.pop("why")
                self.assertIn(f"{name}: {' '.join(map(str, closing.key(row)))}: no reason", self.said())
                row["why"] = why
            found["reasons"]["z"] = "of nobody"
            self.assertIn(f"{name}: reason z is of no row", self.said())
            del found["reasons"]["z"]

    def test_values_that_are_not_there(self):
        row = self.lists["closing/s2"]["rows"][0]
        for change, said in (({"metric": "fig. 99"}, "no paper prints that"),
                             ({"here": ["sim-m16", "fig. 99", "here"]}, "has no value"),
                             ({"here": ["sim-a14", "table 2: IOPS", "here"]}, "M/s is not %")):
            self.lists["closing/s2"]["rows"][0] = {**row, **change}
            self.assertIn(said, self.said())

    def test_quotients(self):
        every, rows = closing.rows_of(self.lists["closing/s1"], self.store)
        for row, value, unit, here, _, kind, quotient in rows:
            self.assertIn((value, unit), every.values())
            self.assertEqual(here is None, kind == "not here")
            if store.number(quotient):
                self.assertAlmostEqual(float(here) / value, float(quotient))
        kinds = {kind for *_, kind, _ in closing.rows_of(self.lists["closing/s4"], self.store)[1]}
        self.assertEqual(kinds, {"model of the chip", "computed", "not here"})
        # what the model was given has no quotient
        words = {row["metric"]: q for row, *_, q in closing.rows_of(self.lists["closing/s4"], self.store)[1]
                 if isinstance(q, str) and "metric" in row}
        self.assertEqual(words["mesh: network, both ways"], "input")
        self.assertEqual(words["mesh: to the edge or backend"], "fitted")


class Stored(unittest.TestCase):
    """What a stored result of this tree has to be"""

    def test_parts_of_a_transaction_are_the_whole(self):
        found = store.Store().result("tx-parts")
        rows = {row["name"]: row["values"] for row in found["rows"]}
        mixes = sorted({name.partition(":")[0] for name in rows})
        self.assertEqual(mixes, ["100%RD", "100%WR", "50%WR-50%RD"])
        for mix in mixes:
            for column in (c["name"] for c in found["columns"]):
                parts = [float(values[column]["value"]) for name, values in rows.items()
                         if name.startswith(f"{mix}: ") and isinstance(values[column], dict)]
                rest = 100 * float(rows[f"{mix}: rest"][column]) / float(rows[f"{mix}: whole"][column])
                self.assertEqual(len(parts), 3 if mix == "100%RD" else 5)
                self.assertGreater(min(parts), -2, (mix, column))
                self.assertAlmostEqual(sum(parts) + rest, 100, delta=10, msg=(mix, column))
                self.assertAlmostEqual(float(rows[f"{mix}: all overheads"][column]), 100 - rest, delta=3)


class Tree(unittest.TestCase):
    """The pages of this tree."""

    def test_they_are_what_the_results_say(self):
        self.assertEqual(run("pages", "--check"), (0, ""))

    def test_a_changed_digit_of_each_table_is_noticed(self):
        tables = 0
        with tempfile.TemporaryDirectory() as tmp:
            for page in pages.default():
                with open(page, encoding="utf-8") as f:
                    lines = f.read().split("\n")
                for at, line in enumerate(lines):
                    if not pages.BEGIN.match(line):
                        continue
                    tables += 1
                    row = next(i for i in range(at + 5, len(lines)) if re.search(r"\d\.\d|\d\d", lines[i]))
                    new = re.sub(r"\d(?=\D*$)", lambda m: str((int(m[0]) + 1) % 10), lines[row])
                    path = os.path.join(tmp, os.path.basename(page))
                    with open(path, "w", encoding="utf-8") as f:
                        f.write("\n".join([*lines[:row], new, *lines[row + 1:]]))
                    status, said = run("pages", "--check", path)
                    self.assertEqual(status, 1, line)
                    self.assertIn(f":{row + 1}: not what the results say", said)
        self.assertGreater(tables, 10)


if __name__ == "__main__":
    unittest.main()
