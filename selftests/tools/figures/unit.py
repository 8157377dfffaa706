#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Parts of tools/figures, and pages of made-up results: no tool runs here."""

import argparse
import os
import re
import sys
import tempfile
import unittest

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(TOP, "tools"))
from figures import figs, hades, jobs, page, papers, plot, runner, sources  # noqa: E402
from figures.base import Missing                                        # noqa: E402
from rmcvm import cluster as rmcvm_cluster                              # noqa: E402
import simulated                                                        # noqa: E402

SIZES = simulated.SIZES


def plans(**lacking):
    """All machines are there and native, except those named with a reason."""
    found = {}
    for key, kind in sources.MACHINES.items():
        found[key] = runner.Plan(key, kind.title, kind.what, kind.rmc, tcp=kind.tcp,
                                 solo=kind.solo, local=kind.local, missing=lacking.get(key.replace("-", "_")))
    return found


def lat(base, path="packets"):
    return {"results": [{"bytes": n, "path": path, "t_typical_usec": base + n / 1e4}
                        for n in (8, *SIZES)]}


def bandwidth(per_byte, path="packets"):
    return {"results": [{"bytes": n, "path": path, "bw_average_bytes_per_sec": n * per_byte,
                         "bw_typical_bytes_per_sec": n * per_byte,
                         "msg_rate_per_sec": per_byte} for n in (8, *SIZES)]}


def netpipe(tcp, path):
    rows = [{"bytes": n, "path": "none" if tcp else path, "way": way, "best": (way == "pull") == (n >= 512), "t_typical_usec": 3.0 if path == "packets" else 2.0,
             "bw_average_bytes_per_sec": 1e9} for n in (1, *SIZES)
            for way in (("tcp",) if tcp else ("push", "pull"))]
    return {"results": rows, **({} if tcp else {"best_threshold": "512"})}


def native_bench(path):
    """Native messages take 20% less time than those that are pushed; all half of it on the local path"""
    times = {"native": 0.7, "native, received": 0.8, "push": 1.0, "pull": 1.5}
    return {"results": [{"bytes": n, "way": way, "path": path,
                         "t_typical_usec": t if path == "packets" else t / 2}
                        for n in (8, *SIZES) for way, t in times.items()]}


def objects(path, figures):
    """SABRes 20% better everywhere, and 40% with 16 writers; 10% less over the local path"""
    def row(figure, size, series, value, writers=0):
        return {"figure": figure, "bytes": size, "writers": writers, "series": series,
                "value": value if path == "packets" else value * 0.9, "unit": "ns"}
    sizes = (128, 1024, 8192)
    rows = [row(f, n, s, v) for n in sizes for f, s, v in (
        ("1", "farm: transfer", n + 300), ("1", "farm: strip and compare", n / 4),
        ("7a", "read", n + 300), ("7a", "SABRe", n + 300), ("7b", "read", 5), ("7b", "SABRe", 5),
        ("9a", "farm", n), ("9a", "sabre", n * 0.8), ("9a", "sabre shorter by", 20),
        ("9b", "farm", 1), ("9b", "sabre", 1.2), ("9b", "sabre more by", 20),
        ("10-llc", "clean layout, in place", 2), ("10-llc", "clean, times as many", 2))]
    rows += [row(f, n, "sabre more by", 20 if not w else 40, w) for n in sizes for w in (0, 16)
             for f in ("8", "8-readers")]
    return {"mtu": 4096, "path": path, "rounds": 5, "rows": [
        r for r in rows if not figures or r["figure"] in (*figures, "9a")]}


def qsim(command):
    """Each system loses 10% more than the one before"""
    services, systems = ("fixed", "uniform", "exponential", "gev"), ("1x16", "2x8", "4x4", "8x2", "16x1")
    if command == "service":
        return {"rows": [{"service": s, "density_per_ns": [0.01] * 50} for s in services]}
    if command == "peak":
        return {"rows": [{"service": s, "system": x, "load": 0.9, "lost": i / 10}
                         for s in services for i, x in enumerate(systems)]}
    return {"rows": [{"service": s, "system": x, "load": load, "tail_mean_service_times": 30 * load}
                     for s in services for x in systems for load in (0.1, 0.5, 0.9)]}


def ni():
    """per_tile takes half as long as edge; more units are as slow, and read as much each"""
    designs = (("edge", 1), ("per_tile", 2), ("split", 4))
    rows = [{"part": "computed", "what": what, "ni": d, "units": u, "bytes": n, "ns": 710 / f, "gbps": 10 * u / f}
            for d, f in designs for u in (2, 4, 8) for n in (64, 8192) for what in ("latency", "bandwidth")]
    of = {"what": "latency", "ni": "fused", "units": 1, "bytes": 64}
    return {"rows": rows + [{**of, "part": "threads", "ns": 200}, {**of, "part": "beside threads", "ns": 300},
                            {"part": "threads", "what": "skipped", "ni": "edge", "units": 8, "needs": 9, "has": 2}]}


def valet():
    """A system is the slower the later it comes"""
    systems = ("1x16", "4x4", "16x1", "threads, lock 100 ns", "threads, lock 150 ns",
               "threads, lock 200 ns", "1x16, depth 2")
    keys = [{"costs": c, "series": s, "service": v} for c in ("chip", "none", "software")
            for s in systems for v in ("fixed", "uniform", "exponential", "gev")]
    return {"costs": [{"costs": "chip", "name": "give", "ns": 18, "kind": "published",
                       "source": "table"}],
            "work": [{"peers": 16, "packet_ns": 300, "take_ns": 100, "rest_ns": 200}],
            "rows": [{**k, "rate": r, "p99_us": r} for k in keys for r in (1, 2)] +
            [{**k, "peak": 10 / (1 + systems.index(k["series"]))} for k in keys]}


def canned(job):
    """{node: output of the tool}, by the tool's name"""
    if job.machine == "virtual":
        # bulk as SHM, fine-grain ten times as long
        n = int(job.argv[job.argv.index("-T") + 1]) if "-T" in job.argv else job.nodes
        if job.argv[0] == "sim-sync":
            return {0: simulated.sync(job)}
        if job.argv[0] == "sim-hades":
            return {0: simulated.hades()}
        return {0: simulated.sim(job.argv[0]) or {"superstep_seconds": [(10 if "fine" in job.argv else 1) / n]}}
    tool, nodes = job.argv[0], range(job.nodes)
    path = "local" if "local" in job.argv or "local=1" in job.boot else "packets"
    faster = 2 if path == "local" else 1
    if tool == "host/sweep":
        named = {"read-latency": lat(0.2 / faster, path), "read-latency-double": lat(0.4, path),
                 "read-bandwidth": bandwidth(1e6 * faster, path),
                 "read-bandwidth-double": bandwidth(2e6, path),
                 "fetch-and-add": lat(0.3 / faster, path), "compare-and-swap": lat(0.31, path)}
        return {0: {"limits": {"line_ping_pong_usec": 0.1, "dependent_read_usec": 0.1,
                               "memcpy_bytes_per_sec": 1e10},
                    "series": [{"name": k, **v} for k, v in named.items()]}}
    if tool == "host/objects":
        return {0: objects(path, job.argv[job.argv.index("--json") + 1:])}
    if tool == "host/tx_bench":
        return {0: simulated.tx_parts()}
    if tool == "host/native_bench":
        return {0: native_bench(path)}
    if "--native" in job.argv:
        return {0: {"results": [{"bytes": n, "path": path, "way": "push", "t_typical_usec": 1.5}
                                for n in (1, *SIZES)]}}
    if tool == "rmc_netpipe":
        return {0: netpipe("--tcp" in job.argv, path)}
    if tool == "pagerank":
        variant = job.argv[job.argv.index("-v") + 1]
        return {0: {"speedup": {"shm": 1.9, "bulk": 1.8, "fine": 0.6}[variant], "supersteps": 5,
                    "graph": "R-MAT, scale 16"}}
    if tool == "rmc_qsim":
        return {0: qsim(job.argv[-1])}
    if tool == "rmc_chip":
        return {0: simulated.chip(job.argv)}
    if tool == "host/ni_bench":
        return {0: ni()}
    if tool == "host/valet_curves":
        return {0: valet()}
    if tool == "rmc_valet":
        rate = int(job.argv[job.argv.index("--rate") + 1])
        return {0: {"asked_per_sec": rate, "served_per_sec": rate - 1000, "scheduler_decides": rate > 40000,
                    "server": {"p50_usec": 25.0, "p99_usec": rate / 1000}, "client": {"p99_usec": 99.0}}}
    if tool == "host/footprint":
        return {0: {"slots": [{"bytes": 64, "round_trip_ns": 397, "slots": 78}],
                    "memory": [{"name": "4096 B, 6 slots", "native_mib": 24.6, "emulated_mib": 24,
                                "ratio": 1.02, "module_mib": 25}]}}
    found = {"rmc_read_lat": lat(1.0 / faster, path), "rmc_atomic_lat": lat(1.1 / faster, path),
             "rmc_read_bw": bandwidth(1e6 * faster, path)}
    return {n: found[tool] for n in nodes}


class Folder(unittest.TestCase):
    """A folder with results of every job that the figures need."""

    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.folder = tmp.name
        self.modules = figs.modules()

    def fill(self, run, broken=lambda job: None):
        head = {"started": "now", "command": "rmc-figures", "figures": list(self.modules),
                "versions": [("this tree", "v<1>")]}
        run.save(self.folder, head)
        results = runner.Results(self.folder)
        for module in self.modules.values():
            for job in module.jobs(run):
                value = {"command": "build/" + " ".join(job.argv), "seconds": 1.0, "load": 0.1,
                         "started": "now"}
                reason = broken(job)
                results.write(job, {**value, "missing": reason} if reason else
                              {**value, "output": canned(job)})
        return head

    def shown(self, name, run):
        module = self.modules[name]
        figure = figs.Figure(name, module, papers.load(module.PAPER))
        module.show(run, runner.Results(self.folder), figure.paper, figure)
        return figure

    def curve(self, figure, part, label):
        for block in figure.blocks:
            if isinstance(block, plot.Plot) and block.name.endswith(part):
                return dict(next(s for s in block.series if s.label == label).points)
        self.fail(f"no {part}")

    def columns(self, figure, title):
        return next([text for text, _ in block.head] for block in figure.blocks
                    if isinstance(block, figs.Table) and block.title.startswith(title))

    def cell(self, figure, row, column):
        for block in figure.blocks:
            if isinstance(block, figs.Table) and column in [text for text, _ in block.head]:
                at = [text for text, _ in block.head].index(column)
                for cells in block.rows:
                    if cells[0] == row:
                        return cells[at]
        self.fail(f"no {row} of {column}")


class FigureTest(Folder):
    def setUp(self):
        super().setUp()
        self.run_ = runner.Run(plans(), False, 8)
        self.fill(self.run_)

    def test_every_figure_is_complete(self):
        for name in self.modules:
            figure = self.shown(name, self.run_)
            self.assertTrue(figure.complete(), name)
            self.assertEqual(figure.gaps, [], name)

    def test_fig7_latency_and_small_sizes(self):
        curve = self.curve(self.shown("fig7", self.run_), "latency", "UML")
        self.assertEqual(sorted(curve), list(SIZES))        # not 8 B
        self.assertAlmostEqual(curve[64], 1.0064)

    def test_fig7_double_sided_bandwidth_is_of_both(self):
        figure = self.shown("fig7", self.run_)
        self.assertAlmostEqual(self.curve(figure, "bandwidth", "guests, double-sided")[8192],
                               2 * self.curve(figure, "bandwidth", "guests")[8192])

    def test_fig7_paper_points(self):
        curve = self.curve(self.shown("fig7", self.run_), "bandwidth",
                           "paper: simulated hardware, double-sided")
        self.assertEqual(curve[8192], 19.2)
        # each curve against the points of its mode
        figure = self.shown("fig7", self.run_)
        self.assertAlmostEqual(self.cell(figure, "guests, double-sided", "simulated hardware, 8192 B: 19.2 GB/s"),
                               2 * 8192 * 1e6 * 1e-9 / 19.2)
        self.assertIsNone(self.cell(figure, "guests", "simulated hardware, 8192 B: 19.2 GB/s"))
        self.assertRegex(next(b.note for b in figure.blocks if isinstance(b, plot.Plot)),
                         "In packets; .* What differs: the buffer")

    def test_shared_cpus_are_reported(self):
        results = runner.Results(self.folder)
        for job in self.modules["fig7"].jobs(self.run_):
            if job.key == "uml.rmc_read_lat-double":
                results.write(job, {**results.raw(job), "machine": {"shared": True}})
        self.curve(self.shown("fig7", self.run_), "latency", "UML, sharing CPUs, double-sided")

    def test_fig7_limits(self):
        figure = self.shown("fig7", self.run_)
        self.assertAlmostEqual(self.cell(figure, "remote read / local read", "host"), 2.064)
        self.assertEqual(self.cell(figure, "memory bandwidth, GB/s", "paper: simulated hardware"),
                         12)

    def test_fig8_ways(self):
        figure = self.shown("fig8", self.run_)
        self.assertEqual(len(self.curve(figure, "latency", "UML, best threshold")), len(SIZES))
        self.assertAlmostEqual(self.curve(figure, "bandwidth", "host, kernel TCP, one kernel")[64],
                               8.0)
        self.assertEqual(self.cell(figure, "best threshold, bytes", "UML"), "512")
        self.assertEqual(self.cell(figure, "best threshold, bytes",
                                   "paper: development platform"), 1024)

    def test_fig8_has_no_tcp_where_system_calls_are_dear(self):
        labels = [s.label for b in self.shown("fig8", self.run_).blocks
                  if isinstance(b, plot.Plot) for s in b.series]
        self.assertFalse([x for x in labels if x.startswith("UML") and "TCP" in x])

    def test_fig9_variants(self):
        figure = self.shown("fig9", self.run_)
        self.assertEqual(self.curve(figure, "speed-up", "soNUMA (bulk): UML"),
                         {1: 1.8, 2: 1.8, 4: 1.8})
        self.assertEqual(self.curve(figure, "speed-up", "SHM (pthreads): host")[2], 1.9)
        self.assertEqual(self.cell(figure, "supersteps", "here"), "5")

    def test_native_messages_over_rmcd(self):
        figure = self.shown("native", self.run_)
        self.assertEqual(self.curve(figure, "latency", "rmcd, native")[64], 1.5)
        self.assertEqual(self.curve(figure, "latency", "rmcd, push")[64], 3.0)
        self.assertEqual(self.cell(figure, "64 B", "rmcd"), 50)
        self.assertEqual(self.cell(figure, "64 B", "paper"), 20)
        self.assertIsNone(self.cell(figure, "512 B", "paper"))
        packets = {job.boot for job in self.modules["native"].jobs(self.run_)
                   if not job.name.endswith("-local")}
        self.assertEqual(packets, {()})
        machine = sources.Processes()
        machine.enter(2, ())
        self.assertIn("--rmcd=--local=0", machine.command(2, ["x"]))
        machine.enter(2, sources.LOCAL)
        self.assertIn("--rmcd=--local=1", machine.command(2, ["x"]))

    def test_native_messages_of_the_host_alone(self):
        run = runner.Run(plans(processes="two CPUs"), False, 2)
        self.fill(run)
        figure = self.shown("native", run)
        self.assertTrue(figure.complete())
        self.assertEqual(self.curve(figure, "latency", "host, native")[8], 0.8)    # with its RECEIVE
        self.assertAlmostEqual(self.cell(figure, "64 B", "host"), 20)
        self.assertAlmostEqual(self.cell(figure, "64 B", f"host, {LOCAL}"), 20)
        self.assertEqual([c for c in self.columns(figure, "Figure 8.6: one-way") if "native" in c],
                         ["host, native", f"host, native, {LOCAL}"])

    def test_native_messages_nowhere(self):
        run = runner.Run(plans(processes="two CPUs", host="one CPU"), False, 1)
        self.fill(run)
        with self.assertRaises(Missing):
            self.shown("native", run)
        self.assertFalse(figs.Figure.expected(run, self.modules["native"]))

    def test_virtual_time(self):
        figure = self.shown("fig9", self.run_)
        label = "virtual time, costs measured on one machine"
        bulk = self.curve(figure, "speed-up", f"soNUMA (bulk): {label}")
        self.assertEqual(bulk, self.curve(figure, "speed-up", f"SHM (pthreads): {label}"))
        self.assertAlmostEqual(bulk[16], 16)
        self.assertAlmostEqual(self.curve(figure, "speed-up", f"soNUMA (fine-grain): {label}")[16], 1.6)
        self.assertEqual(self.cell(self.shown("table2", self.run_), "IOPS, Mops/s", label), 4.25)
        figure = self.shown("objects", self.run_)
        column, fitted = (f"virtual time: {which[0]}" for which in self.modules["objects"].VIRTUALS[:2])
        row = "fig. 9a: a lookup shorter by, 8 KiB, %"
        self.assertEqual(self.cell(figure, row, column), 33)
        self.assertAlmostEqual(self.cell(figure, row, f"{column} / simulated hardware"), 33 / 52)
        self.assertEqual(self.cell(figure, "fig. 8: 8 KiB, 16 writers, %", column), 27)
        self.assertEqual(self.cell(figure, "fig. 9b: 15 readers, most, %", column), 81.92)
        self.assertAlmostEqual(self.cell(figure, "fig. 7a: no speculation longer by, two blocks, %", column),
                               100 * (518 / 428 - 1))
        # a value that was an input has no quotient
        row = "fig. 1: stripping versions, share of an 8 KiB read, %"
        self.assertEqual(self.cell(figure, row, f"{fitted} / simulated hardware"), "fitted")
        self.assertAlmostEqual(self.cell(figure, row, f"{column} / simulated hardware"), 12.5 / 50)
        self.assertEqual(self.cell(figure, "virtual time: SABRe", "simulated hardware, per R2P2, 8192 B: 20 GB/s"), 1)
        self.assertEqual(self.curve(figure, "latency", "virtual time: SABRe, no speculation")[128], 518)
        self.assertEqual(self.curve(self.shown("fig7", self.run_), "latency",
                                    f"{label}, double-sided")[64], 0.6)

    def test_r25(self):
        figure = self.shown("r25_latches", self.run_)
        column = "virtual time"
        row = "fig. 5: stride 256 B, 128 workers, M/s"
        self.assertEqual(self.cell(figure, row, column), 80)
        self.assertEqual(self.cell(figure, row, f"{column} / ConnectX-5"), 2)
        row = "fig. 10: reads, Zipf 2, M/s"
        self.assertEqual(self.cell(figure, row, f"{column} / ConnectX-5"), "fitted")
        # a quotient of two systems
        self.assertEqual(self.cell(figure, "fig. 10: NAM-DB++ / NAM-DB, reads, uniform, times", column), 2)
        # a curve beside the point that is its own, and no other
        self.assertEqual(self.cell(figure, "virtual time: stride 256 B", "ConnectX-5, 128 workers: 40 M/s"), 2)
        self.assertIsNone(self.cell(figure, "virtual time: stride 256 B", "ConnectX-5, 128 workers: 50 M/s"))
        figure = self.shown("r25_reads", self.run_)
        self.assertEqual(self.cell(figure, "pessimistic", "431 ns, as compare-and-swap"), 3)
        self.assertEqual(self.cell(figure, "a read", "atomics"), 2)
        self.assertIn("does not", [cells[3] for block in figure.blocks if isinstance(block, figs.Table)
                                   for cells in block.rows if len(cells) == 6])
        figure = self.shown("r25_switch", self.run_)
        self.assertEqual(self.cell(figure, "fig. 20: an adapter's atomic, of a switch's, times",
                                   f"{column} / ConnectX-5"), "input")
        row = "fig. 22: a switch's atomics, 4 clients, M/s"
        self.assertEqual(self.cell(figure, row, f"{column} / ConnectX-5"), "fitted")
        self.assertEqual(self.cell(figure, "fig. 25: reads, of versioning, times", f"{column} / ConnectX-5"), 1)

    def test_hades(self):
        figure = self.shown("hd_model", self.run_)
        row = "fig. 9: HADES / Baseline, mean, times"
        self.assertEqual(self.cell(figure, row, "virtual time"), 3)
        self.assertAlmostEqual(self.cell(figure, row, "virtual time / simulated hardware"), 3 / 2.7)
        # means and maxima are over the paper's programs: of TPC-C the full one
        self.assertEqual(self.cell(figure, "fig. 10: mean latency, HADES shorter by, %", "virtual time"), 75)
        self.assertEqual(self.cell(figure, "lines that a transaction reads at most, count", "virtual time"), 400)
        self.assertAlmostEqual(self.cell(figure, "all local: squashed by evictions, mean, %", "virtual time"), 412 / 24)
        self.assertEqual(self.cell(figure, "table III: a pair of core filters, KB", "virtual time"), 0.704)
        # a part that is not there is a gap, not a zero
        document = {**simulated.hades(), "rows": []}
        with self.assertRaises(Missing):
            hades.here(document, "value", "9", 5, "HADES / SW-Impl: mean", "x")

    def test_table2_values(self):
        figure = self.shown("table2", self.run_)
        self.assertAlmostEqual(self.cell(figure, "max bandwidth, Gbps", "UML"), 8192 * 1e6 * 8e-9)
        self.assertAlmostEqual(self.cell(figure, "read RTT, us", "host"), 0.2064)
        self.assertAlmostEqual(self.cell(figure, "fetch-and-add, us", "guests"), 1.1008)
        self.assertAlmostEqual(self.cell(figure, "IOPS, Mops/s", "loopback"), 1.0)
        for column, against in (("loopback / development platform", 1 / 1.97),
                                ("virtual time, the paper's chip / simulated hardware", 4.25 / 10.9)):
            self.assertAlmostEqual(self.cell(figure, "IOPS, Mops/s", column), against)

    def test_objects(self):
        figure = self.shown("objects", self.run_)
        self.assertEqual(self.curve(figure, "latency", "SABRe")[1024], 1324)
        self.assertEqual(self.curve(figure, "lookups", "sabre"), {128: 1.2, 1024: 1.2, 8192: 1.2})
        row = "fig. 8: 8 KiB, {}, %"
        self.assertEqual(self.cell(figure, row.format("no writers"), "host"), 20)
        self.assertEqual(self.cell(figure, row.format("16 writers"), "host"), 40)
        self.assertEqual(self.cell(figure, row.format("16 writers"), "paper: simulated hardware"),
                         97)
        self.assertEqual(self.cell(figure, "fig. 1: stripping versions, share of a 128 B read, %",
                                   "host"), 25)

    def test_tx_parts(self):
        figure = self.shown("hd_parts", self.run_)
        row, column = "overheads, 100%WR, requests together, %", "host, 2 us, requests together"
        self.assertEqual(self.cell(figure, row, column), 60)
        self.assertAlmostEqual(self.cell(figure, row, f"{column} / ConnectX-4, 4 nodes"), 60 / 59)
        self.assertIsNone(self.cell(figure, row, "host, 2 us, requests in turn"))
        tables = {block.title: block for block in figure.blocks if isinstance(block, figs.Table)}
        found = {row[0]: row[1:] for row in
                 tables["Figure 3, 2 us, requests in turn: % of a transaction's time"].rows}
        self.assertAlmostEqual(found["read atomicity"][0], 20)
        self.assertEqual(found["RD before WR"], [None] * 3)         # made-up results have none
        self.assertAlmostEqual(found["other time"][2], 100 * 4000 / 12000)
        self.assertAlmostEqual(found["whole, of 100%WR"][1], 100 * 13 / 14)
        self.assertEqual(found["parts, the largest first"][0],
                         "conflict detection, read atomicity, manage RD/WR sets")
        with self.assertRaises(Missing):
            self.modules["hd_parts"].found_of({**simulated.tx_parts(), "path": "local"})

    def test_queues(self):
        figure = self.shown("queues", self.run_)
        self.assertEqual(self.cell(figure, "gev", "paper: 16x1"), 73)
        self.assertAlmostEqual(self.cell(figure, "gev", "16x1, computed"), 40)
        self.assertEqual(self.curve(figure, "5.3c", "4x4"), {0.1: 3.0, 0.5: 15.0})    # to 20
        self.assertEqual(len(self.curve(figure, "5.2", "gev")), 30)

    def test_chip(self):
        figure = self.shown("chip", self.run_)
        self.assertEqual(self.cell(figure, "mesh: total, cycles", "paper: edge"), 710)
        self.assertEqual(self.cell(figure, "mesh: total, cycles", "per-tile, model"), 11)
        self.assertEqual(self.cell(figure, "mesh: WQ write and CQ read, cycles", "split, model"), 24)
        self.assertIsNone(self.cell(figure, "mesh: RRPP, cycles", "split, model"))
        self.assertAlmostEqual(self.cell(figure, "mesh", "split, no O"), 15)
        self.assertEqual(self.curve(figure, "6.7", "edge, model"), {6: 30})
        self.assertEqual(self.curve(figure, "6.7", "paper: split")[12], 2.6)
        self.assertEqual(self.curve(figure, "6.12", "split, model")[64], 200 / 3)
        for row, values in (("peak, XY routing, GB/s", (100, 50)),
                            ("XY below class-based, %", (50, 50)), ("8 KiB, of edge, %", (100, 50))):
            for design, value in zip(("edge", "per-tile"), values):
                self.assertAlmostEqual(next(
                    dict(zip([text for text, _ in b.head], cells))[f"{design}, model"]
                    for b in figure.blocks if isinstance(b, figs.Table)
                    for cells in b.rows if cells[0] == row), value)

    def test_ni(self):
        figure = self.shown("ni", self.run_)
        for column, value in (("paper, ns", 222.5), ("computed, ns", 355), ("computed / paper", 355 / 222.5),
                              ("paper, of edge", 445 / 710), ("computed, of edge", 0.5)):
            self.assertAlmostEqual(self.cell(figure, "per-tile, 8 units", column), value)
        self.assertAlmostEqual(self.cell(figure, "split, 8 units", "computed: peak"), 40)
        self.assertAlmostEqual(self.cell(figure, "split, 8 units", "computed / paper"), 177.5 / 223.5)
        self.assertAlmostEqual(self.cell(figure, "per-tile, 8 units", "computed / paper, of edge"), 0.5 * 710 / 445)
        self.assertEqual(self.curve(figure, "6.9-8", "edge, computed")[64], 80)
        self.assertAlmostEqual(self.cell(figure, "fused", "computed / measured"), 1.5)
        self.assertIn("needs 9 CPUs", str(next(b.rows for b in figure.blocks if isinstance(b, figs.Table)
                                               and b.title.startswith("Threads"))))

    def test_dispatch(self):
        figure = self.shown("dispatch", self.run_)
        self.assertEqual(self.cell(figure, "gev", "paper: 1x16 over 16x1"), 76)
        self.assertAlmostEqual(self.cell(figure, "gev", "1x16 over 16x1, computed"), 200)
        self.assertAlmostEqual(self.cell(figure, "fixed", "1x16 / threads, 200 ns"), 6)
        self.assertEqual(self.cell(figure, "16", "packet"), 300)

    def test_dispatch_on_real_threads(self):
        figure = self.shown("dispatch", self.run_)      # 8 CPUs: 6 threads, 300000 per second
        self.assertEqual(self.curve(figure, "threads-gev", "1xN, 6 threads (scheduler's)")[59], 60)
        self.assertEqual(self.cell(figure, "fixed: Nx1, 6 threads (scheduler's)", "served"), 59)
        two = runner.Run(plans(), True, 2)              # a quarter of a thread's rate
        self.fill(two)
        figure = self.shown("dispatch", two)
        self.assertEqual(self.curve(figure, "threads-gev", "1xN, 2 threads"), {2.75: 3.75, 6.5: 7.5})
        self.assertEqual(self.cell(figure, "gev: threads, MCS lock, 2 threads", "of the client, us"), 99)
        broken = two.plans["threads"]
        self.fill(two, lambda job: "too slow" if job.machine == broken.key and "7500" in job.argv else None)
        figure = self.shown("dispatch", two)
        self.assertEqual(self.curve(figure, "threads-gev", "1xN, 2 threads"), {2.75: 3.75})
        self.assertEqual([why for _, why in figure.gaps], ["too slow"] * 3)
        self.assertTrue(figure.complete())
        self.fill(two, lambda job: "too slow" if job.machine == broken.key else None)
        self.assertFalse(self.shown("dispatch", two).complete())

    def test_footprint(self):
        figure = self.shown("footprint", self.run_)
        self.assertEqual(self.cell(figure, "64 B", "slots, computed"), 78)
        self.assertEqual(self.cell(figure, "64 B", "paper: slots"), 78)
        self.assertEqual(self.cell(figure, "4096 B, 6 slots", "paper"), 25)

    def test_faa_ratio(self):
        self.assertAlmostEqual(self.cell(self.shown("faa", self.run_), "fetch-and-add / read",
                                         "UML"), 1.1008 / 1.0064)


LOCAL = "local path (not the paper's)"


class LocalPathTest(Folder):
    """Columns of the local path beside those of packets."""

    def setUp(self):
        super().setUp()
        self.run_ = runner.Run(plans(), False, 8)
        self.fill(self.run_)

    def test_they_follow_those_of_packets(self):
        for name, title, machine in (
                ("fig7", "Remote read latency", "UML"), ("fig7", "Remote read latency", "loopback"),
                ("fig7", "Remote read bandwidth", "UML, double-sided"),
                ("fig7", "Remote read bandwidth", "host, core alone"),
                ("fig7", "Remote read latency", "host, core alone, double-sided"),
                ("fig8", "One-way message latency", "UML, best threshold"),
                ("fig8", "Message bandwidth", "loopback, threshold 0: all pulled"),
                ("fig8", "Threshold", "UML"), ("table2", "Table 2", "host"),
                ("table2", "Table 2", "loopback"), ("faa", "Latency of atomics", "UML"),
                ("faa", "Latency of atomics", "host"),
                ("objects", "Where the paper", "host")):
            found = self.columns(self.shown(name, self.run_), title)
            self.assertEqual(found[found.index(machine) + 1], f"{machine}, {LOCAL}", (name, title))
        found = self.columns(self.shown("objects", self.run_), "Blocking reads")
        self.assertEqual(found[1:5], ["read", f"read, {LOCAL}", "SABRe", f"SABRe, {LOCAL}"])

    def test_their_values_are_of_their_own_runs(self):
        figure = self.shown("fig7", self.run_)
        for machine, packets, local in (("UML", 1.0064, 0.5064),
                                        ("host, core alone", 0.2064, 0.1064)):
            self.assertAlmostEqual(self.cell(figure, "64", machine), packets)
            self.assertAlmostEqual(self.cell(figure, "64", f"{machine}, {LOCAL}"), local)
        figure = self.shown("table2", self.run_)
        self.assertAlmostEqual(self.cell(figure, "IOPS, Mops/s", f"loopback, {LOCAL}"), 2.0)
        self.assertAlmostEqual(self.cell(figure, "read RTT, us", f"host, {LOCAL}"), 0.1064)
        self.assertEqual(self.cell(self.shown("fig8", self.run_), "64", f"UML, best threshold, {LOCAL}"),
                         2.0)
        figure = self.shown("objects", self.run_)
        row = "fig. 8: 8 KiB, no writers, %"
        self.assertEqual([self.cell(figure, row, c) for c in ("host", f"host, {LOCAL}")], [20, 18])

    def test_plots_and_the_papers_figures_have_packets_only(self):
        for name in self.modules:
            for block in self.shown(name, self.run_).blocks:
                for one in block.series if isinstance(block, plot.Plot) else ():
                    self.assertNotIn(LOCAL, one.label)
                    self.assertNotIn("local", one.kind)

    def test_what_has_no_local_path_has_no_column(self):
        for name in self.modules:
            for block in self.shown(name, self.run_).blocks:
                for label, kind in block.head if isinstance(block, figs.Table) else ():
                    self.assertEqual(LOCAL in label, kind.endswith(" local"), label)
                    if LOCAL in label:
                        self.assertNotRegex(label, "guests|cluster|TCP|packets of|soNUMA|SHM")
        self.assertFalse([c for c in self.columns(self.shown("objects", self.run_), "The owner's own")
                          if LOCAL in c])
        self.assertIsNone(self.cell(self.shown("objects", self.run_),
                                    "fig. 10: 1 KiB, times", f"host, {LOCAL}"))

    def test_a_run_of_the_other_path_is_not_shown(self):
        results = runner.Results(self.folder)
        paths = {plan.over_local: plan for plan in self.run_.hosts()}
        for wrong, said in ((True, "did not use packets"), (False, "nothing in it used the local")):
            results.write(jobs.sweep(paths[not wrong]), {"command": "", "output": canned(
                jobs.sweep(paths[wrong]))})
            figure = self.shown("table2", self.run_)
            self.assertTrue([reason for _, reason in figure.gaps if said in reason], figure.gaps)
            self.fill(self.run_)
        found = {**canned(jobs.objects(paths[False]))[0], "path": "local"}
        results.write(jobs.objects(paths[False]), {"command": "", "output": {0: found}})
        figure = self.shown("objects", self.run_)
        self.assertIn(("host", "its path is local, not packets"), figure.gaps)
        self.assertFalse(figure.complete())             # columns of the local path are not enough

    def test_rows_too_long_for_it_are_empty(self):
        results = runner.Results(self.folder)
        job = jobs.remote(next(p for p in self.run_.rmc_paths() if p.label == f"UML, {LOCAL}"),
                          "rmc_read_lat")
        found = canned(job)
        found[0]["results"][-1]["path"] = "packets"
        results.write(job, {"command": "", "output": found})
        figure = self.shown("fig7", self.run_)
        self.assertIsNotNone(self.cell(figure, "4096", f"UML, {LOCAL}"))
        self.assertIsNone(self.cell(figure, "8192", f"UML, {LOCAL}"))
        self.assertEqual(figure.gaps, [])

    def test_its_runs_boot_with_it_once(self):
        todo = {job.key: job for m in self.modules.values() for job in m.jobs(self.run_)}
        for key, boot in (("uml.rmc_read_lat", ("--cpus", "dedicated")),
                          ("uml.rmc_read_lat-local", ("--cpus", "dedicated", *sources.LOCAL)),
                          ("uml.rmc_read_lat-double-local", sources.LOCAL),
                          ("loopback.rmc_atomic_lat-faa-local", sources.LOCAL),
                          ("loopback.rmc_netpipe-best-local", sources.LOCAL)):
            self.assertEqual(todo[key].boot, boot, key)
        self.assertIn("local", todo["host.sweep-local"].argv)
        self.assertIn("packets", todo["host.sweep"].argv)
        self.assertEqual(len({j.boot for k, j in todo.items() if k.startswith("loopback.")}), 2)

    def test_the_last_module_args_count(self):
        parser = argparse.ArgumentParser()
        rmcvm_cluster.add_boot_options(parser)
        for machine in (sources.Loopback, sources.Uml):
            opt = parser.parse_args([*machine.options, *machine.solo, *sources.LOCAL])
            self.assertEqual(opt.module_args, "local=1")


class MissingTest(Folder):
    def test_a_machine_that_fails_is_reported_and_the_rest_goes_on(self):
        run = runner.Run(plans(), False, 2)
        self.fill(run, lambda job: "no guest came up: bad luck" if job.machine == "vm" else None)
        for name in self.modules:
            figure = self.shown(name, run)
            self.assertTrue(figure.complete(), name)
            if any(job.machine == "vm" for job in self.modules[name].jobs(run)):
                self.assertIn("no guest came up: bad luck", [reason for _, reason in figure.gaps])

    def test_a_figure_without_any_machine_is_not_expected(self):
        run = runner.Run(plans(uml="no kernel", uml_cluster="no kernel", vm="no QEMU",
                               loopback="no QEMU"), False, 2)
        self.fill(run)
        self.assertTrue(self.shown("fig7", run).complete())         # with the host's results
        figure = self.shown("fig8", run)
        self.assertFalse(figure.complete())                         # TCP alone is not enough
        self.assertFalse(figure.expected(run, self.modules["fig8"]))

    def test_a_figure_that_should_work_is_expected(self):
        run = runner.Run(plans(), False, 2)
        self.fill(run, lambda job: "broken")
        for name in self.modules:
            self.assertFalse(self.shown(name, run).complete(), name)
            self.assertTrue(figs.Figure.expected(run, self.modules[name]))

    def test_a_raw_file_without_the_field_is_reported(self):
        run = runner.Run(plans(), False, 2)
        self.fill(run)
        for name in os.listdir(os.path.join(self.folder, "raw")):
            path = os.path.join(self.folder, "raw", name)
            with open(path, encoding="utf-8") as f:
                text = f.read().replace("t_typical_usec", "gone").replace('"speedup"', '"gone"')
                text = text.replace('"value"', '"gone"')
                for field in ("lost", "tail_mean_service_times", "density_per_ns", "p99_us", "peak",
                              "slots", "cycles", "gbps", "share"):
                    text = text.replace(f'"{field}"', '"gone"')
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        for name in self.modules:
            figure = self.shown(name, run)
            self.assertTrue(figure.gaps and not figure.complete(), name)


class PageTest(Folder):
    def make(self, run, broken=lambda job: None):
        head = self.fill(run, broken)
        shown = [self.shown(name, run) for name in self.modules]
        results = {name: runner.Results(self.folder) for name in self.modules}
        for name, module in self.modules.items():
            for job in module.jobs(run):
                results[name].raw(job)
        with open(page.make(self.folder, run, head, shown, results), encoding="utf-8") as f:
            return f.read()

    def test_self_contained(self):
        text = self.make(runner.Run(plans(), False, 2))
        links = re.findall(r'(?:src|href)="([^"]*)"', text)
        for link in links:
            self.assertRegex(link, r"^(data:image/svg|#|raw/)")
            if link.startswith("raw/"):
                self.assertTrue(os.path.exists(os.path.join(self.folder, link)), link)
        self.assertEqual(text.count("data:image/svg"), 60)
        self.assertNotIn("<script", text)
        places = [text.index(f'id="{n}"') for n in ("paper-A14", "fig9", "paper-M16", "objects", "paper-T18")]
        self.assertEqual(places, sorted(places))
        small = re.findall('<span class="plot ([^"]*)"', text)
        self.assertEqual([text.count(f'id="{name}"') for name in small], 60 * [1])
        self.assertEqual(text.count("What differs from the paper:"), len(self.modules))

    def test_escapes_and_names(self):
        text = self.make(runner.Run(plans(vm="<no> guests"), False, 2))
        self.assertIn("v&lt;1&gt;", text)
        self.assertIn("&lt;no&gt; guests", text)
        self.assertIn("build/rmc_netpipe", text)

    def test_emulated_times_are_marked(self):
        found = plans()
        found["vm"].native, found["vm"].accel = False, "TCG"
        text = self.make(runner.Run(found, False, 2))
        self.assertIn('<th class="emulated">guests (TCG, not representative)</th>', text)

    def test_a_busy_machine_is_reported(self):
        self.assertIn("3.0 on 2 CPUs", page.busy([0.1, 3.0], 2))
        self.assertEqual(page.busy([0.1], 2), "")

    def test_numbers(self):
        self.assertEqual([page.number(x) for x in (None, "a<b", 1024, 0.12345, 123456.7, 1.0)],
                         ["", "a&lt;b", "1024", "0.123", "123000", "1"])

    def test_render_again_from_the_folder(self):
        run = runner.Run(plans(vm="no QEMU"), True, 2)
        self.fill(run)
        again, head = runner.Run.load(self.folder)
        self.assertEqual(again.plans, run.plans)
        self.assertEqual(head["figures"], list(self.modules))


if __name__ == "__main__":
    unittest.main()
