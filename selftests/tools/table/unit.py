#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Tables of made-up results: no program runs here. unit.py --check FILE checks a real one."""

import json
import os
import sys
import tempfile
import unittest
from unittest import mock

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(TOP, "tools"))
from figures import runner                                          # noqa: E402
from figures.base import Missing                                    # noqa: E402
from benchtable import document, peers, plan, rows, text, ucx       # noqa: E402

SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
LIMITS = {"line_ping_pong_usec": 0.1, "dependent_read_usec": 0.1, "memcpy_bytes_per_sec": 1e10}


def lat(base, sizes=SIZES):
    return [{"bytes": n, "path": "local", "samples": 9, "t_min_usec": base / 2, "t_typical_usec": base,
             "p99_usec": 2 * base, "p99_9_usec": 3 * base} for n in sizes]


def bandwidth(rate, sizes=SIZES, **more):
    return [{"bytes": n, "path": "local", "outstanding": 32, "qps": 1, **more,
             "bw_typical_bytes_per_sec": n * rate, "bw_average_bytes_per_sec": n * rate / 2}
            for n in sizes]


def sweep():
    series = {"read-latency": lat(0.2), "read-latency-double": lat(0.4), "write-latency": lat(0.19),
              "sabre-latency": lat(0.21), "read-latency-hot": lat(0.15, (64,)),
              "fetch-and-add": lat(0.22, (8,)), "compare-and-swap": lat(0.23, (8,)),
              "read-bandwidth": bandwidth(1e6), "write-bandwidth": bandwidth(9e5),
              "read-bandwidth-double": bandwidth(2e6, qps=2),
              "read-rate-hot": bandwidth(13e6, (64,)),
              "read-outstanding": [bandwidth(n * 5e5, (64,), outstanding=n)[0]
                                   for n in plan.FLIGHTS],
              "read-qps": [bandwidth(11e6, (64,), qps=n)[0] for n in plan.QPS],
              "parked": lat(2, (64,))}
    return {"limits": LIMITS, "series": [
        {"name": k, "results": v, **({"parked_cpu_share": 0.0005, "thread": lat(18, (64,))[0],
                                          "woken": lat(19, (64,))[0]}
                                         if k == "parked" else {})}
        for k, v in series.items()]}


def messages():
    rows_ = [{**one, "way": way, "bw_typical_bytes_per_sec": one["bytes"] * 1e7}
             for way, t in (("push", 0.3), ("pull", 0.5)) for one in lat(t, (8, 32, 64, 1024, 8192))]
    return {"limits": LIMITS, "results": rows_}


def stages(kind):
    one = {"operation": "read", "bytes": 64, "path": "packets", "mtu": 4096, "batch": 32, "samples": 9,
           kind: {"post": 10, "RGP": 60, "RRPP": 70, "RCP": 55, "poll": 9, "all": 204}}
    return {"results": [{**one, **({"lines_moved": 6} if kind == "lines" else {})}]}


def ucx_results():
    return {"results": [{"test": t, "bytes": n, "t_typical_usec": v, "p99_usec": v, "p99_9_usec": v,
                         "bw_typical_bytes_per_sec": n / v * 1e6}
                        for t, v in (("tag_lat", 0.2), ("tag_bw", 0.1), ("get", 0.02),
                                     ("put_bw", 0.02)) for n in (8, 64, 8192)]}


def canned(job):
    """{node: output of the program}"""
    tool, nodes = os.path.basename(job.argv[0]), range(job.nodes)
    sizes = (8, *SIZES)
    emulated = job.machine.startswith("roce")
    found = {"sweep": sweep, "messages": messages, "stages": lambda: stages("cycles"),
             "lines": lambda: stages("lines"), "ucx.py": ucx_results,
             "idle.py": lambda: {"results": [{"guest": 0, "cpu_share": 0.02}]},
             "roce.sh": lambda: {"results": lat(400)},
             "rmc_netpipe": lambda: {"results": [{**x, "way": w, "bw_average_bytes_per_sec": 1e9}
                                                 for w in ("push", "pull", "tcp")
                                                 for x in lat(8, (8, 32, *SIZES))]},
             "rmc_atomic_lat": lambda: {"results": lat(0.22, (8,))},
             "rmc_read_bw": lambda: {"results": bandwidth(6e6, sizes)},
             "rmc_write_bw": lambda: {"results": bandwidth(5e6, sizes)},
             }.get(tool, lambda: {"results": lat(8 if emulated else 0.3, sizes)})()
    if "--path" in job.argv or "local=0" in job.boot:
        found = slower(found)
    return {str(n): found for n in nodes}


def slower(value):
    """The same in packets: half as fast"""
    if isinstance(value, list):
        return [slower(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: 2 * v if k in ("t_typical_usec", "p99_usec") else
            v / 2 if k == "bw_typical_bytes_per_sec" else
            "packets" if k == "path" else slower(v) for k, v in value.items()}


def without_path(found):
    """As programs printed it before they named the path"""
    if isinstance(found, dict):
        return {key: without_path(value) for key, value in found.items() if key != "path"}
    return [without_path(value) for value in found] if isinstance(found, list) else found


def plans(cpus=2, quick=False, **lacking):
    found = {}
    for key, kind in {**plan.MACHINES, **peers.MACHINES}.items():
        native = not key.startswith("roce")
        found[key] = runner.Plan(key, kind.title, kind.what, kind.rmc, native=native,
                                 accel="native" if native else "TCG", solo=kind.solo, quick=quick,
                                 missing=lacking.get(key.replace("-", "_")))
    return runner.Run(found, quick, cpus)


NO_KVM = {"vm": "no KVM", "loopback": "no KVM", "daemon": "no rmcd"}


class TableTest(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.results = runner.Results(tmp.name)
        os.mkdir(os.path.join(tmp.name, "raw"))
        which = mock.patch.object(peers.shutil, "which", lambda name, **_: f"/usr/bin/{name}")
        rounds = mock.patch.object(plan, "ROUNDS", 3)
        for one in (which, rounds):
            one.start()
            self.addCleanup(one.stop)

    def made(self, run, choice="auto", systems=peers.SYSTEMS, broken=lambda job: None,
             ran=lambda job: True, canned=canned):
        chosen = plan.choose(run, choice)
        for job in filter(ran, [*plan.jobs(run, chosen), *peers.jobs(run, systems)]):
            value = {"command": "x", "seconds": 1, "load": 0, "started": "now"}
            reason = broken(job)
            self.results.write(job, {**value, "missing": reason} if reason else
                               {**value, "output": canned(job)})
        table = rows.table(run, chosen, self.results)
        others = peers.table(run, self.results, systems)
        made = document.make({"started": "now", "command": "rmc-bench", "quick": run.quick,
                              "cpus": run.cpus, "load": {"before": 0.1, "after": 0.2},
                              "versions": [("this tree", "v1")]},
                             {"key": chosen.key, "title": chosen.title, "what": chosen.what,
                              "accel": chosen.accel}, table, others)
        self.assertEqual(document.complaints(json.loads(json.dumps(made))), [])
        return made

    def row(self, made, **fields):
        found = [r for r in made["rows"] if all(r.get(k) == v for k, v in fields.items())]
        self.assertEqual(len(found), 1, f"{fields}: {len(found)} rows")
        return found[0]

    def ratio(self, made, start):
        return next(x for x in made["ratios"] if x["name"].startswith(start))

    # ---- which machine ----

    def test_the_best_machine_is_taken(self):
        self.assertEqual(plan.choose(plans(8), "auto").key, "vm")
        self.assertEqual(plan.choose(plans(2), "auto").key, "loopback")
        self.assertEqual(plan.choose(plans(2, **{**NO_KVM, "daemon": None}), "auto").key, "daemon")
        self.assertEqual(plan.choose(plans(2, **NO_KVM), "auto").key, "uml")
        self.assertEqual(plan.choose(plans(2, uml="no kernel", **NO_KVM), "auto").key, "host")

    def test_an_emulated_guest_is_no_machine(self):
        class Emulated(plan.KvmLoopback):
            def __init__(self):
                super().__init__()
                self._why = "no /dev/kvm"

        with mock.patch.object(plan.sources.Qemu, "probe",
                               lambda self: setattr(self, "native", False)):
            with self.assertRaisesRegex(Missing, "no KVM: no /dev/kvm; emulated"):
                Emulated().probe()

    def test_a_machine_that_was_asked_for_and_is_not_there(self):
        with self.assertRaisesRegex(Missing, "UML: no kernel"):
            plan.choose(plans(2, uml="no kernel"), "uml")

    # ---- rows ----

    def test_limits_are_taken_on_the_host_between_what_guests_do(self):
        run = plans(2, **NO_KVM)
        uml = plan.Uml()
        self.assertEqual(uml.command(1, plan.limits(run.plans["uml"], 0, "before").command())[0],
                         os.path.join(plan.BUILD, "host", "sweep"))
        self.assertIn("rmc-run", uml.command(2, plan.atomic(run.plans["uml"], 0, "faa").command())[0])
        keys = [j.key for j in plan.jobs(run, run.plans["uml"]) if j.boot == uml.solo]
        self.assertLess(keys.index("uml.limits-before.1"), keys.index("uml.rmc_read_lat.1"))
        self.assertLess(keys.index("uml.rmc_read_bw-q4.1"), keys.index("uml.limits-after.1"))

    def test_rmcd_has_the_options_of_guests(self):
        run = plans(2)
        rmcd, machine = run.plans["daemon"], plan.Daemon()
        machine.enter(2, ("--module-args", "local=0 itt=64", "--mtu", "512", "--cpus", "dedicated"))
        command = machine.command(2, plan.atomic(rmcd, 0, "faa").command())
        self.assertEqual(command[1:8], ["--daemon", "--rmcd=--local=0", "--rmcd=--itt=64",
                                        "--rmcd=--mtu=512", "-n", "2", "--"])
        self.assertEqual(machine.command(1, plan.limits(rmcd, 0, "before").command())[0],
                         os.path.join(plan.BUILD, "host", "sweep"))
        self.assertEqual(machine.command(1, (plan.IDLE,)), [plan.IDLE, "--daemon"])

    def test_nothing_is_missing(self):
        self.assertEqual(self.made(plans(8))["missing"], [])

    def test_latency_has_its_distribution_limit_and_papers(self):
        row = self.row(self.made(plans(2, **NO_KVM)), group="latency", what="read", bytes=64,
                       where="core", double_sided=False)
        self.assertEqual((row["min"], row["value"], row["p99"]), (0.1, 0.2, 0.4))
        self.assertAlmostEqual(row["p99_9"], 0.6)
        self.assertAlmostEqual(row["ratio"], 0.2 / (1.6 * 0.1 + 0.1))
        self.assertEqual((row["asked"], row["met"]), ("<= 1", True))
        self.assertEqual([x["value"] for x in row["papers"]], [1.5, 0.3, 1.19])

    def test_what_is_missed_is_reported(self):
        made = self.made(plans(2, **NO_KVM))
        row = self.row(made, group="latency", what="read, cache-resident", where="UML")
        self.assertEqual((row["asked"], row["met"]), ("<= 1.6", False))
        self.assertRegex(text.text(made), r"read, cache-resident .* 3.00 x ping-pong, asked <= 1.6  MISSED")

    def test_values_are_medians_of_runs(self):
        run = plans(2, uml="no kernel", **NO_KVM)
        made = self.made(run)
        slow = plan.sweep(run.plans["host"], 0)
        document_ = sweep()
        for one in document_["series"][0]["results"]:
            one["t_typical_usec"] = 99.0
        self.results.write(slow, {"output": {"0": document_}})
        row = self.row({"rows": [document.lean(r) for r in
                                 rows.table(run, run.plans["host"], self.results).rows]},
                       group="latency", what="read", bytes=64, double_sided=False)
        self.assertEqual((row["value"], row["high"], row["runs"]), (0.2, 99.0, 3))
        self.assertTrue(made)

    def test_rates_bandwidth_and_mtu(self):
        made = self.made(plans(2, **NO_KVM))
        self.assertEqual(self.row(made, group="rate", where="core", outstanding=64)["value"], 32)
        self.assertEqual(self.row(made, group="rate", where="UML", qps=4)["value"], 6)
        row = self.row(made, group="bandwidth", where="core", what="read", bytes=8192, mtu=64)
        self.assertAlmostEqual(row["value"], 8.192)
        self.assertAlmostEqual(row["ratio"], 0.8192)

    def test_stages_and_lines(self):
        made = self.made(plans(2, **NO_KVM))
        self.assertEqual(self.row(made, group="cycles")["parts"]["RRPP"], 70)
        self.assertEqual(self.row(made, group="lines")["parts"]["moved"], 6)
        self.assertEqual(self.row(made, what="guest without work, share of a CPU")["value"], 2)

    def test_two_applications_need_three_cpus(self):
        two, eight = self.made(plans(2, **NO_KVM)), self.made(plans(8, **NO_KVM))
        self.assertRegex(" ".join(g["reason"] for g in two["missing"]), "two applications")
        self.assertFalse(any(g["failed"] for g in two["missing"]))
        self.row(eight, group="latency", where="UML", double_sided=True, bytes=64)

    def test_a_run_that_fails_takes_its_rows_only(self):
        made = self.made(plans(2, **NO_KVM),
                         broken=lambda job: "bad luck" if "sabre" in job.key else None)
        self.assertTrue(all(g["failed"] for g in made["missing"] if "SABRe" in g["what"]))
        self.assertFalse([r for r in made["rows"] if r["what"] == "SABRe" and r["where"] == "UML"
                          and r["group"] == "latency"])
        self.row(made, group="latency", what="read", bytes=64, where="UML")

    def test_output_without_a_field_is_reported(self):
        run = plans(2, uml="no kernel", **NO_KVM)
        self.made(run)
        for k in plan.rounds(run.plans["host"]):
            self.results.write(plan.messages(run.plans["host"], k),
                               {"output": {"0": {"results": []}}})
        gaps = rows.table(run, run.plans["host"], self.results).gaps
        self.assertTrue(gaps)

    # ---- packets beside the local path ----

    def test_each_row_has_its_path_and_packets_beside_it(self):
        made = self.made(plans(2, **NO_KVM))
        for where in ("core", "UML"):
            row = self.row(made, group="latency", what="read", bytes=64, where=where,
                           double_sided=False)
            self.assertEqual((row["path"], row["packets"]["path"]), ("local", "packets"))
            self.assertAlmostEqual(row["packets"]["value"], 2 * row["value"])
            self.assertAlmostEqual(row["packets"]["ratio"], 2 * row["ratio"])
            row = self.row(made, group="rate", where=where, outstanding=32, qps=1, what="reads")
            self.assertAlmostEqual(row["packets"]["value"], row["value"] / 2)
        self.assertEqual(self.row(made, group="cycles")["path"], "packets")
        idle = self.row(made, what="guest without work, share of a CPU")
        self.assertEqual((idle["path"], "packets" in idle), ("none", False))
        beside = [r for r in made["rows"] if r["group"] in ("latency", "rate", "bandwidth", "messages")]
        self.assertEqual([r["what"] for r in beside if "packets" not in r], [])
        shown = text.text(made)
        self.assertRegex(shown, r"packets: p50")
        self.assertRegex(shown, r"read +64 B +core .* local +0\.4 .*packets 1\.54 x")

    def test_several_kernels_have_no_local_path(self):
        run = plans(8)
        jobs = [j for j in plan.jobs(run, run.plans["vm"]) if j.machine == "vm"]
        self.assertFalse([j for j in jobs if "local=0" in j.boot])

    def test_runs_of_packets_turn_the_local_path_off(self):
        run = plans(2, **NO_KVM)
        jobs = [j for j in plan.jobs(run, run.plans["uml"]) if "packets" in j.key]
        self.assertTrue(jobs)
        for job in jobs:
            self.assertTrue("local=0" in job.boot or "--path" in job.argv, job.key)

    def test_an_interrupted_run_has_gaps(self):
        """Only the first runs of the core were made."""
        made = self.made(plans(2, uml="no kernel", **NO_KVM), systems=[],
                         broken=lambda job: None if job.name.startswith("sweep.") else "interrupted")
        self.row(made, group="latency", what="read", bytes=64, double_sided=False)
        self.assertTrue(any("none of its runs" in g["reason"] for g in made["missing"]))

    def test_gaps_of_packets_are_listed(self):
        made = self.made(plans(2, **NO_KVM),
                         broken=lambda job: "bad luck" if "sweep-packets" in job.key else None)
        self.assertTrue([g for g in made["missing"] if g["what"].endswith(", packets") and g["failed"]])
        self.assertNotIn("packets", self.row(made, group="latency", what="read", bytes=64,
                                             where="core", double_sided=False))

    def test_a_folder_from_before_there_was_a_second_column(self):
        """It has no runs in packets, and its results have no path."""
        def older(job):
            return {node: without_path(output) for node, output in canned(job).items()}

        made = self.made(plans(2, **NO_KVM), ran=lambda job: "-packets." not in job.key,
                         canned=older)
        self.assertEqual([g for g in made["missing"] if g["failed"]], [])
        row = self.row(made, group="latency", what="read", bytes=64, where="core", double_sided=False)
        self.assertNotIn("packets", row)
        self.assertEqual(row["path"], "unknown")
        self.assertIn("read", text.text(made))

    def test_one_run_in_packets_makes_the_others_missing(self):
        made = self.made(plans(2, **NO_KVM), ran=lambda job: "-packets." not in job.key or
                         job.key.startswith("host.sweep-packets."))
        self.assertTrue([g for g in made["missing"] if g["what"].endswith(", packets") and g["failed"]])

    # ---- peers ----

    def test_ratios(self):
        made = self.made(plans(2, **NO_KVM))
        one = self.ratio(made, "message of 64 B, one way: ours / UCX")
        self.assertAlmostEqual(one["ratio"], 1.5)
        self.assertEqual((one["asked"], one["met"]), ("<= 1.5", True))
        within = self.ratio(made, "read of 64 B within one guest: Soft-RoCE / ours")
        self.assertAlmostEqual(within["ratio"], 50)
        self.assertEqual((within["asked"], within["met"]), (">= 10", True))
        self.assertEqual(self.ratio(made, "read of 64 B between")["asked"], ">= 40")

    def test_emulated_values_are_no_performance(self):
        made = self.made(plans(2, **NO_KVM))
        emulated = [x for x in made["peers"] if x["system"] in ("Soft-RoCE", "rmc")]
        self.assertTrue(emulated)
        self.assertFalse(any(x["performance"] for x in emulated))
        self.assertFalse(self.ratio(made, "read of 64 B within")["performance"])
        shown = text.text(made)
        self.assertRegex(shown, r"Soft-RoCE: read within one guest \(TCG\) *64 B *emulated")
        self.assertNotRegex(shown, r"Soft-RoCE: read within.* us")
        self.assertRegex(shown, "emulated: a ratio, no performance")

    def test_put_and_get_are_a_bound(self):
        roles = {(x["system"], x["what"]): x["role"] for x in self.made(plans(2))["peers"]}
        self.assertEqual(roles["UCX", "get"], "bound")
        self.assertEqual(roles["UCX", "tagged message, one way"], "peer")

    def test_a_peer_that_is_not_installed_is_no_failure(self):
        with mock.patch.object(peers.shutil, "which", lambda *_, **__: None):
            made = self.made(plans(2, roce_between="no perftest", roce_within="no perftest",
                                   **NO_KVM))
        reasons = {g["what"]: g for g in made["missing"]}
        self.assertRegex(reasons["UCX over shared memory"]["reason"], "rmc-deps peers")
        self.assertFalse(any(g["failed"] for g in made["missing"]))
        self.assertTrue([x for x in made["peers"] if x["system"] == "TCP"])

    def test_no_peers(self):
        made = self.made(plans(2, **NO_KVM), systems=[])
        self.assertEqual((made["peers"], made["ratios"]), ([], []))

    # ---- the document ----

    def test_complaints(self):
        made = json.loads(json.dumps(self.made(plans(2))))

        def broken(change):
            copy = json.loads(json.dumps(made))
            change(copy)
            return " ".join(document.complaints(copy))

        self.assertIn("lacks rows", broken(lambda d: d.pop("rows")))
        self.assertIn("lacks unit", broken(lambda d: d["rows"][0].pop("unit")))
        self.assertIn("value is 'fast'", broken(lambda d: d["rows"][0].update(value="fast")))
        self.assertIn("nobody knows", broken(lambda d: d["rows"][0].update(speed=1)))
        self.assertIn("no group", broken(lambda d: d["rows"][0].update(group="x")))
        self.assertIn("not between", broken(lambda d: d["rows"][0].update(low=1e9)))
        self.assertIn("with a verdict", broken(lambda d: d["rows"][0].pop("met")))
        self.assertIn("role friend", broken(lambda d: d["peers"][0].update(role="friend")))
        self.assertIn("not of rmc-bench", broken(lambda d: d.update(schema="rmc-bench 0")))


class UcxTest(unittest.TestCase):
    def test_csv(self):
        found = ucx.results("batch,iterations,50.0_percentile_lat\n"
                            "tag_lat.64.t_typical_usec,100,0.170,3,3,1,1,9,9\n"
                            "tag_lat.64.p99_usec,100,0.200,3,3,1,1,9,9\nnoise\n")
        self.assertEqual(len(found), 1)
        self.assertEqual((found[0]["bytes"], found[0]["t_typical_usec"], found[0]["p99_usec"]),
                         (64, 0.17, 0.2))

    def test_batch_has_every_test(self):
        lines = ucx.batch(10).splitlines()
        self.assertEqual(len(lines), 3 * 3 + 2 + 2 + 2)
        self.assertIn("tag_lat.64.p99_usec -t tag_lat -s 64 -n 10 -R 99", lines)


def check(path):
    with open(path, encoding="utf-8") as f:
        found = document.complaints(json.load(f))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        sys.exit(check(sys.argv[2]))
    unittest.main()
