#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""bench-history compares made-up results: no benchmark runs here."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
loader = importlib.machinery.SourceFileLoader("bench_history", os.path.join(HERE, "bench-history"))
spec = importlib.util.spec_from_loader("bench_history", loader)
history = importlib.util.module_from_spec(spec)
loader.exec_module(history)

NOISE = (1.00, 1.02, 0.99, 1.01, 0.98, 1.00, 1.03, 0.97)


def entry(read=2.0, rate=10.0, machine="M", command="C"):
    return {"commit": "c", "date": "d", "machine": machine, "command": command, "values": {
        "read": {"value": read, "unit": "x ping-pong", "less": True},
        "rate": {"value": rate, "unit": "M/s", "less": False}}}


def runs(n=8, **more):
    return [entry(2.0 * f, 10.0 * f, **more) for f in NOISE[:n]]


class Judge(unittest.TestCase):
    def names(self, new, before):
        return {name: worse > 0 for name, _, _, worse in history.compare(before, new)}

    def test_the_same_is_no_change(self):
        self.assertEqual(self.names(entry(), runs()), {})

    def test_noise_is_no_change(self):
        self.assertEqual(self.names(entry(2.07, 9.7), runs()), {})

    def test_slower_is_worse(self):
        self.assertEqual(self.names(entry(read=2.4), runs()), {"read": True})

    def test_a_lower_rate_is_worse(self):
        self.assertEqual(self.names(entry(rate=8.0), runs()), {"rate": True})

    def test_faster_is_better(self):
        self.assertEqual(self.names(entry(1.5, 14.0), runs()), {"read": False, "rate": False})

    def test_an_outlier_in_the_history_hides_nothing(self):
        before = runs()
        before[3]["values"]["read"]["value"] = 40.0
        self.assertEqual(self.names(entry(read=2.4), before), {"read": True})

    def test_small_changes_of_steady_results_do_not_count(self):
        self.assertEqual(self.names(entry(read=2.08), [entry() for _ in range(8)]), {})
        self.assertEqual(self.names(entry(read=2.12), [entry() for _ in range(8)]), {"read": True})

    def test_scattered_results_need_more(self):
        before = [entry(read=v) for v in (1.6, 1.8, 2.0, 2.2, 2.4, 1.7, 2.3)]
        self.assertEqual(self.names(entry(read=2.9), before), {})

    def test_too_few_runs_say_nothing(self):
        self.assertEqual(self.names(entry(read=9.0), runs(4)), {})

    def test_a_new_result_has_no_history(self):
        new = entry()
        new["values"]["other"] = {"value": 1.0, "unit": "ns", "less": True}
        self.assertEqual(self.names(new, runs()), {})


class Files(unittest.TestCase):
    def run_with(self, lines, new, *more):
        with tempfile.TemporaryDirectory() as d:
            path, result = os.path.join(d, "h", "history"), os.path.join(d, "new")
            os.mkdir(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(json.dumps(line) + "\n" for line in lines)
            with open(result, "w", encoding="utf-8") as f:
                json.dump(new, f)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = history.main(["--file", path, "--from", result, *more])
            return status, out.getvalue(), len(history.read(path))

    def test_worse_is_status_1_and_kept(self):
        status, text, kept = self.run_with(runs(), entry(read=3.0))
        self.assertEqual((status, kept), (1, 9))
        self.assertIn("WORSE   read: 3 x ping-pong, median 2, 50 %", text)

    def test_better_is_status_0(self):
        status, text, _ = self.run_with(runs(), entry(rate=20.0))
        self.assertEqual(status, 0)
        self.assertIn("better  rate", text)

    def test_other_machines_and_commands_are_not_compared(self):
        status, text, _ = self.run_with(runs(machine="N") + runs(command="D"), entry(read=3.0))
        self.assertEqual(status, 0)
        self.assertIn("compared with 0 runs", text)

    def test_only_the_last_runs_count(self):
        old = [entry(read=1.0) for _ in range(40)]
        status, _, _ = self.run_with(old + [entry() for _ in range(history.LAST)], entry())
        self.assertEqual(status, 0)

    def test_no_record(self):
        self.assertEqual(self.run_with(runs(), entry(), "--no-record")[2], 8)


class Parse(unittest.TestCase):
    def test_bench(self):
        text = json.dumps([
            {"name": "raw memcpy", "value": 9.0, "unit": "GB/s"},
            {"name": "64 B read", "value": 200.0, "unit": "ns", "per": "ping-pong", "ratio": 1.9},
            {"name": "8 KiB read", "value": 900.0, "unit": "ns"},
            {"name": "reads", "value": 12.0, "unit": "M/s", "per": "1 M/s", "ratio": 12.0}])
        got = history.parse_bench(text)
        self.assertEqual(set(got), {"64 B read", "8 KiB read", "reads"})
        self.assertEqual(got["64 B read"], {"value": 1.9, "unit": "x ping-pong", "less": True})
        self.assertTrue(got["8 KiB read"]["less"])
        self.assertFalse(got["reads"]["less"])

    def test_sabre(self):
        text = ("SABRe, cache-resident       64 B                         1.05 x plain read, asked 1.25\n"
                "SABRe, random in 64 MiB   8192 B                         1.31 x plain read, asked 1.25  MISSED\n")
        got = history.parse_sabre(text)
        self.assertEqual(got["SABRe, cache-resident 64 B"]["value"], 1.05)
        self.assertEqual(got["SABRe, random in 64 MiB 8192 B"]["value"], 1.31)


if __name__ == "__main__":
    unittest.main()
