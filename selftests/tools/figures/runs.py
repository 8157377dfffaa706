#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""How tools/figures executes jobs, and what it keeps of them."""

import contextlib
import io
import os
import unittest
from unittest import mock

import unit
from figures import jobs, runner, sources
from figures.base import Missing


class Fake(sources.Machine):
    key = "fake"

    def __init__(self, argv, boots=True):
        self.argv, self.boots, self.entered, self.left = argv, boots, 0, 0

    def enter(self, nodes, boot):
        self.entered += 1
        if not self.boots:
            raise Missing("no guest came up")

    def leave(self):
        self.left += 1

    def command(self, nodes, argv):
        return self.argv


class RunnerTest(unit.Folder):
    def execute(self, machine, count=1):
        run = runner.Run({"fake": runner.Plan("fake", "fake", "", True)}, True, 2)
        run.save(self.folder, {})
        results = runner.Results(self.folder)
        todo = [jobs.Job("fake", f"job{i}", ("tool",), 1) for i in range(count)]
        with contextlib.redirect_stderr(io.StringIO()) as output:
            runner.execute(run, todo, {"fake": machine}, results)
        return [results.raw(job) for job in todo], output.getvalue()

    def test_output_is_kept(self):
        (raw,), output = self.execute(Fake(["echo", '{"a": 1}']))
        self.assertEqual(raw["output"], {"0": {"a": 1}})
        self.assertIn("[ 1/1] 0:00 done", output)

    def test_each_run_has_the_options_of_its_own_boot(self):
        run = runner.Run({"processes": runner.Plan("processes", "rmcd", "", False)}, True, 3)
        run.save(self.folder, {})
        results = runner.Results(self.folder)
        todo = [jobs.Job("processes", f"job{i}", ("tool",), 1, boot=boot)
                for i, boot in enumerate(((), sources.LOCAL))]
        with mock.patch.object(sources, "call", return_value=(0, "{}", "")) as call, \
                contextlib.redirect_stderr(io.StringIO()):
            runner.execute(run, todo, {"processes": sources.Processes()}, results)
        for job, made, option in zip(todo, call.call_args_list, ("--local=0", "--local=1")):
            self.assertIn(f"--rmcd={option}", made.args[0])
            self.assertIn(f"--rmcd={option} ", results.raw(job)["command"])

    def test_resumed_runs_are_those_without_a_result(self):
        run = runner.Run({"fake": runner.Plan("fake", "fake", "", True)}, True, 2)
        run.save(self.folder, {})
        results, machine = runner.Results(self.folder), Fake(["echo", '{"new": 1}'])
        tool = os.path.join(self.folder, "tool")
        with open(tool, "w", encoding="utf-8") as f:
            f.write("as it was built")
        todo = [jobs.Job("fake", f"job{i}", (tool, str(i)), 1) for i in range(5)]
        for kind in sources.MACHINES.values():
            self.assertIn(tool, runner.built(kind(), todo[0]))
        same, old = runner.built(machine, todo[0]), {"output": {"0": {"old": 1}}}
        for job, found in ((todo[0], old), (todo[1], {"missing": "no guest"}), (todo[4], old),
                           (jobs.Job("fake", "job2", ("other",), 1), {"output": {}})):
            results.write(job, {**found, "built": same if job != todo[4] else {tool: "other"}, "seconds": 1})
        for runs, wanted in (("[ 4/4]", [{"old": 1}] + 4 * [{"new": 1}]), ("[ 5/5]", 5 * [{"new": 1}])):
            with contextlib.redirect_stderr(io.StringIO()) as output:
                runner.execute(run, todo, {"fake": machine}, results, resume=True)
            self.assertIn(runs, output.getvalue())
            self.assertEqual([results.get(job) for job in todo], wanted)
            with open(tool, "a", encoding="utf-8") as f:
                f.write(", and again")

    def test_a_failed_tool_says_its_last_words(self):
        (raw,), output = self.execute(Fake(["sh", "-c", "echo first >&2; echo last >&2; exit 3"]))
        self.assertEqual(raw["missing"], "exit status 3: last")
        self.assertIn("MISSING: exit status 3: last", output)

    def test_a_machine_that_does_not_boot_is_given_up(self):
        machine = Fake(["true"], boots=False)
        raws, _ = self.execute(machine, 5)
        self.assertEqual(machine.entered, runner.REBOOTS)
        self.assertTrue(all("no guest came up" in raw["missing"] for raw in raws))

    def test_a_time_out_is_no_result(self):
        with mock.patch.object(sources, "call", side_effect=Missing("not done after 70 s")):
            (raw,), _ = self.execute(Fake(["true"]))
        self.assertEqual(raw["missing"], "not done after 70 s")

    def test_a_time_out_ends_the_program(self):
        with self.assertRaises(Missing):
            sources.call(["sleep", "100"], 0.2)

    def test_the_machine_is_left_when_interrupted(self):
        machine = Fake(["true"])
        with mock.patch.object(sources, "call", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                self.execute(machine)
        self.assertGreater(machine.left, 0)

    def test_stale_results_are_not_shown(self):
        results = runner.Results(self.folder)
        os.makedirs(results.folder)
        job = jobs.Job("fake", "job0", ("tool",), 1)
        results.write(job, {"output": {"0": {"old": 1}}, "seconds": 7})
        self.assertEqual(results.estimate(job, runner.Plan("fake", "", "", True)), 7)
        (raw,), _ = self.execute(Fake(["false"]))
        self.assertNotIn("output", raw)


if __name__ == "__main__":
    unittest.main()
