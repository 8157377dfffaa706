#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Tables of made-up results: no program runs here. unit.py --check FILE checks a real one,
unit.py --program PEER runs that peer's program."""

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
from benchtable import document, mpi, peers, plan, processes, rows, text, ucx       # noqa: E402

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


def of_peer(**tests):
    """Results of a program that measures another system: {test: us}"""
    return {"results": [{"test": test, "way": way, "bytes": n, "t_typical_usec": t, "p99_usec": t,
                         "bw_average_bytes_per_sec": n / t * 1e6}
                        for test, t in tests.items() for way in ("allocate", "create", "send")
                        for n in (8, 64, 8192)]}


PEERS = {"ucx.py": {"tag_lat": 0.2, "tag_bw": 0.1, "am_lat": 0.3, "am_bw": 0.1, "get": 0.02, "put_bw": 0.02},
         "mpi.py": {"send_lat": 0.4, "send_bw": 0.2, "get": 0.05, "put_bw": 0.1},
         "peer_pipe": {"send_lat": 8, "send_bw": 4}}


def native():
    """Packets always; the first way is shorter by its RECEIVE"""
    return {"limits": {"line_ping_pong_usec": 0.13},
            "results": [{**x, "way": w, "path": "packets"} for w in ("native", "native, received")
                        for x in lat(0.26 if w == "native" else 0.39, (8, 48, *SIZES))]}


def netpipe():
    return {"results": [{**x, "way": w, "bw_average_bytes_per_sec": 1e9} for w in ("push", "pull")
                        for x in lat(0.25 if w == "push" else 0.35, (8, 32, *SIZES))]}


def between():
    """Of ni_bench"""
    return {"rows": [{"part": "between", "what": what, "bytes": n, "outstanding": o, "t_typical_usec": 0.7,
                      "mops": 9, "bw_typical_bytes_per_sec": 5e9}
                     for what in ("read", "write") for n in plan.SIZES for o in (1, *plan.FLIGHTS)
                     if o in (1, 32) or n == 64 and what == "read"]}


def canned(job):
    """{node: output of the program}"""
    argv = job.argv[job.argv.index("--") + 1:] if "--" in job.argv else job.argv    # of rmc-run
    tool, nodes = os.path.basename(argv[0]), range(job.nodes)
    if tool in PEERS:
        return {"0": of_peer(**PEERS[tool])}
    sizes = (8, *SIZES)
    emulated = job.machine.startswith("roce")
    found = {"sweep": sweep, "messages": messages, "native_bench": native, "ni_bench": between, "stages": lambda: stages("cycles"),
             "lines": lambda: stages("lines"), "rmc_netpipe": netpipe,
             "idle.py": lambda: {"results": [{"guest": 0, "cpu_share": 0.02}]},
             "roce.sh": lambda: {"results": lat(400)},
             "rmc_atomic_lat": lambda: {"results": lat(0.22, (8,))},
             "rmc_read_bw": lambda: {"results": bandwidth(6e6, sizes)},
             "rmc_write_bw": lambda: {"results": bandwidth(5e6, sizes)},
             }.get(tool, lambda: {"results": lat(8 if emulated else 0.3, sizes)})()
    if "--path" in job.argv or "local=0" in job.boot or "--rmcd=--local=0" in job.argv:
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
        self.assertEqual(command[1:10], ["--daemon", "--workers", "1", "--rmcd=--local=0", "--rmcd=--itt=64",
                                         "--rmcd=--mtu=512", "-n", "2", "--"])
        self.assertEqual(machine.command(1, plan.limits(rmcd, 0, "before").command())[0],
                         os.path.join(plan.BUILD, "host", "sweep"))
        self.assertEqual(machine.command(1, (plan.IDLE,)), [plan.IDLE, "--daemon"])

    def test_a_worker_each_has_rows_of_its_own(self):
        """One worker with both ends is one machine, two that pass packets are another."""
        made = self.made(plans(8, vm="no KVM", loopback="no KVM"))
        for where in ("rmcd", "rmcd, a worker each"):
            self.row(made, group="latency", what="read", bytes=64, where=where, double_sided=False)
        argv = {machine().title: machine().command(2, ("app",)) for machine in (plan.Daemon, plan.Apart)}
        self.assertEqual([a[a.index("--workers") + 1] for a in argv.values()], ["1", "2"])
        self.assertIn("a worker each", {r["ours"].rpartition(", ")[2] for r in made["ratios"]})
        few = self.made(plans(2, vm="no KVM", loopback="no KVM", apart="2 CPUs"))
        self.assertFalse([r for r in few["rows"] if r["where"] == "rmcd, a worker each"])

    def test_two_nodes_with_a_worker_each(self):
        """Two daemons, guests and kernels, beside the one worker; threads without a CPU are named"""
        made = self.made(plans(8))
        names = ("two rmcd", "two UML kernels")
        for where in names:
            row = self.row(made, group="latency", what="read", bytes=64, where=where)
            self.assertNotIn("packets", row)
            self.row(made, group="bandwidth", what="write", bytes=8192, where=where)
            self.row(made, group="rate", outstanding=32, where=where)
        few = self.made(plans(2, **{**NO_KVM, "daemon": None}))
        for where in names:
            self.row(few, group="latency", what="read", bytes=64, where=f"{where}, 3 threads on 2 CPUs")
        self.assertIn({"what": "two nodes with a worker each, guests", "reason": "no KVM", "failed": False},
                      few["missing"])
        alone = self.made(plans(8), "host")
        self.assertEqual({r["where"] for r in alone["rows"]}, {"core", rows.COMPUTED})
        self.assertEqual(alone["missing"], [])

    def test_a_worker_each_is_computed(self):
        made = self.made(plans(2, **NO_KVM))
        for group, value in (("latency", 0.7), ("bandwidth", 5)):
            row = self.row(made, group=group, what="write", bytes=8192, where=rows.COMPUTED)
            self.assertAlmostEqual(row["value"], value)
            self.assertEqual(row["path"], "packets")
        self.assertEqual(self.row(made, group="rate", outstanding=128, where=rows.COMPUTED)["value"], 9)

    def test_a_daemon_for_each_node(self):
        machine = plan.Each()
        machine.enter(2, ("--mtu", "512"))
        self.assertEqual(machine.command(2, ("app",))[1:], ["--daemon-each", "--rmcd=--mtu=512", "-n", "2",
                                                            "--", "app"])

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
                       group="latency", what="read", bytes=64, double_sided=False, where="core")
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
        beside = [r for r in made["rows"] if r["group"] in ("latency", "rate", "bandwidth", "messages")
                  and r["where"] in ("core", "UML")]        # two nodes with a worker each have packets only
        self.assertEqual([r["what"] for r in beside if "packets" not in r], [])
        shown = text.text(made)
        self.assertRegex(shown, r"packets: p50")
        self.assertRegex(shown, r"read +64 B +core .* local +0\.4 .*packets 1\.54 x")

    def test_native_messages_are_those_of_a_ping_pong(self):
        row = self.row(self.made(plans(2, **NO_KVM)), what="native, one way", bytes=48, where="core")
        self.assertEqual((row["value"], row["path"]), (0.39, "packets"))
        self.assertAlmostEqual(row["ratio"], 3)

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

    def test_ratios_of_processes(self):
        """Messages over rmcd, on both paths, beside messages of UCX, of MPI and of the kernel"""
        made = self.made(plans(8))
        one = self.ratio(made, "message of 64 B, one way, local path: ours / UCX")
        self.assertAlmostEqual(one["ratio"], 0.25 / 0.2)
        self.assertEqual((one["asked"], one["met"]), ("<= 1.5", True))
        self.assertEqual(one["ours"], "processes over rmcd, local path")
        one = self.ratio(made, "message of 8 B, one way, packets: ours / UCX tagged")
        self.assertAlmostEqual(one["ratio"], 0.5 / 0.2)
        self.assertEqual((one["asked"], one["met"]), ("<= 1.5", False))
        self.assertEqual(one["ours"], "processes over rmcd, packets")
        one = self.ratio(made, "message of 8 KiB, one way, packets: ours / UCX tagged")
        self.assertNotIn("asked", one)
        for name, value in (("message of 8 B, one way, packets: ours / MPI send", 0.5 / 0.4),
                            ("messages of 8 KiB, streaming, local path: ours / MPI send",
                             1e9 / (8192 / 0.2 * 1e6)),
                            ("message of 64 B, one way, local path: pipe / ours", 8 / 0.25),
                            ("message of 64 B, one way, packets: io_uring / ours", 8 / 0.5),
                            ("message of 8 KiB, one way, local path: TCP / ours", 8 / 0.25),
                            ("read of 64 B, local path: ours / UCX one-sided", 0.3 / 0.02),
                            ("read of 8 KiB, packets: ours / UCX one-sided", 0.6 / 0.02),
                            ("put of 8 KiB, streaming, local path: ours / UCX one-sided",
                             5e6 * 8192 / 2 / (8192 / 0.02 * 1e6)),
                            ("read of 64 B, packets: ours / MPI one-sided, memory of MPI", 0.6 / 0.05),
                            ("read of 8 KiB, local path: ours / MPI one-sided, own memory", 0.3 / 0.05)):
            self.assertAlmostEqual(self.ratio(made, name)["ratio"], value, msg=name)
        self.assertEqual([x["name"] for x in made["ratios"] if "core" in x["ours"]], [])

    def test_ratios_of_the_core_where_there_is_no_rmcd(self):
        made = self.made(plans(2, **NO_KVM))
        one = self.ratio(made, "message of 64 B, one way, core: ours / UCX tagged")
        self.assertAlmostEqual(one["ratio"], 1.5)
        self.assertEqual((one["asked"], one["met"]), ("<= 1.5", True))
        self.assertEqual(one["ours"], "core in one process")
        self.assertFalse([x for x in made["ratios"] if "rmcd" in x["ours"]])
        self.assertFalse([x for x in made["ratios"] if "UCX one-sided" in x["name"]])
        gap = next(g for g in made["missing"] if g["what"] == "processes over rmcd")
        self.assertEqual((gap["reason"], gap["failed"]), ("no rmcd", False))

    def test_threads_that_share_cpus_are_named(self):
        made = self.made(plans(2, vm="no KVM", loopback="no KVM"))
        self.assertEqual(self.ratio(made, "message of 8 B, one way, packets: ours / UCX")["ours"],
                         "processes over rmcd, packets, 3 threads on 2 CPUs")
        self.assertRegex(text.text(made), "3 threads on 2 CPUs")

    def test_each_round_has_everything_once(self):
        run = plans(8)
        found = [j for j in peers.jobs(run, ("ucx", "mpi", "pipe"))]
        self.assertEqual({(j.machine, j.boot, j.cluster) for j in found}, {("peers", (), 2)},
                         "these are sorted apart")
        one = [j.name.rpartition(".") for j in found]
        self.assertEqual([k for *_, k in one], sorted(k for *_, k in one))
        self.assertEqual([name for name, _, k in one if k == "1"],
                         ["ours-messages-local-path", "ucx", "ours-messages-packets", "mpi",
                          "ours-messages-native-local-path", "pipe",
                          "ours-messages-native-packets", "ours-messages-a-worker-each",
                          "ours-reads-local-path", "ours-writes-local-path", "ours-reads-packets",
                          "ours-writes-packets", "ours-reads-a-worker-each",
                          "ours-writes-a-worker-each"])
        self.assertIn("--rmcd=--local=0", next(j for j in found if "packets" in j.name).argv)

    def test_pairs_are_of_one_round(self):
        """A round without one of both has no ratio; the median is that of ratios."""
        run = plans(8)
        self.made(run, broken=lambda job: "bad luck" if job.name == "ucx.1" else None)
        for k, t in ((0, 0.1), (2, 0.3)):
            self.results.write(processes.UCX.job(run, k), {"output": {"0": of_peer(
                **{**PEERS["ucx.py"], "tag_lat": t})}})
        others = peers.table(run, self.results, ["ucx"])
        one = next(x for x in others.ratios if x.name.startswith("message of 8 B, one way, local"))
        self.assertAlmostEqual(one.low, 0.25 / 0.3)
        self.assertAlmostEqual(one.high, 0.25 / 0.1)
        self.assertAlmostEqual(one.ratio, (one.low + one.high) / 2)

    def test_ours_are_beside_others(self):
        made = self.made(plans(8))
        values = {(x["system"], x["what"], x["bytes"]): (x["value"], x["role"])
                  for x in made["peers"]}
        self.assertEqual(values["rmc, local path", "message, one way", 64], (0.25, "ours"))
        self.assertEqual(values["rmc, packets", "read", 8192], (0.6, "ours"))
        self.assertEqual(values["rmc, packets", "messages, streaming", 8192], (1, "ours"))
        self.assertEqual(values["rmc, local path", "put, streaming", 8192],
                         (5e6 * 8192 / 2 / 1e9, "ours"))
        self.assertEqual(values["rmc native, packets", "message, one way", 8][1], "ours")
        self.assertNotIn(("rmc native, packets", "read", 64), values)
        self.assertEqual(values["UCX active messages", "message, one way", 64], (0.3, "peer"))
        asked = {x["name"] for x in made["ratios"] if x.get("asked") == "<= 1.5"}
        self.assertIn("message of 8 B, one way, native, local path: ours / UCX tagged", asked)
        self.assertFalse([name for name in asked if "active" in name])
        self.assertEqual(values["io_uring", "message, one way", 8192], (8, "peer"))
        self.assertEqual(values["MPI one-sided, own memory", "read", 64], (0.05, "bound"))

    def test_ours_that_fails_takes_its_ratios_only(self):
        made = self.made(plans(8), broken=lambda job:
                         "bad luck" if job.name.startswith("ours-messages-packets") else None)
        gap = next(g for g in made["missing"] if g["what"] == "rmc, packets: message, one way")
        self.assertEqual((gap["reason"], gap["failed"]), ("bad luck", True))
        self.assertFalse([x for x in made["ratios"] if x["name"].startswith("message of")
                          and "way, packets" in x["name"]])
        self.ratio(made, "message of 8 B, one way, local path: ours / UCX")
        self.ratio(made, "read of 64 B, packets: ours / UCX one-sided")

    def test_io_uring_that_the_host_forbids_is_no_failure(self):
        made = self.made(plans(8), canned=lambda job: {"0": {
            "test": "io_uring", "missing": "Operation not permitted"}}
                         if "--io-uring" in job.argv else canned(job))
        gap = next(g for g in made["missing"] if g["what"] == "io_uring between processes")
        self.assertEqual((gap["reason"], gap["failed"]), ("Operation not permitted", False))

    def test_ratios_in_guests(self):
        made = self.made(plans(2, **NO_KVM))
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
        self.assertEqual(roles["UCX one-sided", "read"], "bound")
        self.assertEqual(roles["MPI one-sided, memory of MPI", "put, streaming"], "bound")
        self.assertEqual(roles["UCX tagged", "message, one way"], "peer")
        self.assertEqual(roles["MPI send", "message, one way"], "peer")

    def test_a_peer_that_is_not_installed_is_no_failure(self):
        def which(name, **_):
            return name if name.startswith(plan.BUILD) and "peer_mpi" not in name else None

        with mock.patch.object(peers.shutil, "which", which):
            made = self.made(plans(2, roce_between="no perftest", roce_within="no perftest",
                                   **NO_KVM))
        reasons = {g["what"]: g["reason"] for g in made["missing"]}
        self.assertEqual(reasons["UCX between processes"],
                         "no ucx_perftest (package ucx-utils: run vm-setup/rmc-deps peers)")
        self.assertEqual(reasons["MPI between processes"],
                         "no mpirun (package openmpi-bin: run vm-setup/rmc-deps peers)")
        self.assertFalse(any(g["failed"] for g in made["missing"]))
        self.assertTrue([x for x in made["peers"] if x["system"] == "TCP"])

    def test_mpi_without_its_compiler(self):
        for lacking, reason in (("mpicc", "no mpicc (package libopenmpi-dev: run vm-setup/rmc-deps "
                                          "peers)"), ("peer_mpi", "no peer_mpi (run make tools)")):
            with mock.patch.object(peers.shutil, "which",
                                   lambda name, lacking=lacking, **_:
                                   None if name.endswith(lacking) else name):
                self.assertEqual(processes.MPI.lacks(), reason)

    def test_a_table_is_made_where_programs_are_not(self):
        """--render of a folder from another machine"""
        run = plans(8)
        self.made(run)
        with mock.patch.object(peers.shutil, "which", lambda *_, **__: None):
            others = peers.table(run, self.results, list(processes.SYSTEMS))
        self.assertEqual(others.gaps, [])
        self.assertTrue([x for x in others.rows if x.system == "MPI send"])

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
                            "tag_lat.64.t_typical_usec,100,0.170,3,0.32,1,1,9,9\n"
                            "tag_lat.64.p99_usec,100,0.200,3,0.32,1,1,9,9\nnoise\n")
        self.assertEqual(len(found), 1)
        self.assertEqual((found[0]["bytes"], found[0]["t_typical_usec"], found[0]["p99_usec"]),
                         (64, 0.17, 0.2))
        self.assertAlmostEqual(found[0]["bw_average_bytes_per_sec"], 2e8)

    def test_batch_has_every_test(self):
        lines = ucx.batch(10).splitlines()
        self.assertEqual(len(lines), 2 * (3 * 3 + 2) + 2 + 2)
        self.assertIn("tag_lat.64.p99_usec -t tag_lat -s 64 -n 10 -R 99", lines)
        self.assertIn("am_lat.8.p99_usec -t ucp_am_lat -s 8 -n 10 -R 99", lines)


class MpiTest(unittest.TestCase):
    def test_command(self):
        ours = mpi.command("mpirun (Open MPI) 4.1.4", ["-n", "9"])
        self.assertEqual(ours[-5:], ["-n", "2", mpi.PROGRAM, "-n", "9"])
        self.assertIn("--allow-run-as-root", ours)
        self.assertIn("self,vader", ours)
        self.assertEqual(mpi.command("HYDRA build details", []), ["mpirun", "-n", "2", mpi.PROGRAM])


def check(path):
    with open(path, encoding="utf-8") as f:
        found = document.complaints(json.load(f))
    print("\n".join(found))
    return 1 if found else 0


def program(name):
    """Whether what a peer's program really prints has all values; 77: it is not there"""
    system = processes.SYSTEMS[name]
    if system.lacks():
        print(system.lacks())
        return 77
    argv = runner.jobs.Job("peers", name, (*system.argv, "-n", "100"), 1).command()
    status, out, err = runner.sources.call(argv, 60)
    if status:
        print(err)
        return 1
    found = runner.jobs.parse(out)[0]
    if "missing" in found:
        print(found["missing"])
        return 77
    wrong = [f"{row.what}, {size} B" for row in system.rows for size in row.sizes
             if not row.value(found, size) > 0]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--program"]:
        sys.exit(program(sys.argv[2]))
    if sys.argv[1:2] == ["--check"]:
        sys.exit(check(sys.argv[2]))
    unittest.main()
