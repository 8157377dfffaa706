# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Runs jobs and keeps their output. A folder of results is

    run.json        when, in which mode, on which machines, versions
    raw/KEY.json    {job, command, built, seconds, load, output by node | missing}

The page is made from it, at once or later.
"""

import dataclasses
import hashlib
import json
import os
import sys
import threading
import time

from . import jobs, sources
from .base import CHECKOUT, Missing

EMULATED_SLOWNESS = 4       # of small runs on emulated guests against native ones
REBOOTS = 2                 # tries to have a machine that fails
LOCAL_PATH = "local path (not the paper's)"


@dataclasses.dataclass
class Plan:
    """Properties of a machine before any run."""
    key: str
    title: str
    what: str
    rmc: bool
    native: bool = True
    accel: str = "native"
    tcp: bool = True
    solo: tuple = ()
    missing: str = None
    quick: bool = False
    local: bool = False         # its operations could do without packets
    over_local: bool = False    # and do: a column beside that of packets

    def __post_init__(self):
        self.solo = tuple(self.solo)

    def labelled(self, *details):
        accel = "" if self.accel == "native" else \
            f" ({self.accel}{'' if self.native else ', not representative'})"
        return ", ".join([self.title + accel, *details, *([LOCAL_PATH] if self.over_local else [])])

    @property
    def label(self):
        return self.labelled()

    @property
    def kind(self):
        return ("native" if self.native else "emulated") + (" local" if self.over_local else "")

    def paths(self):
        """The papers' path, and the local one where there is one: columns side by side"""
        return [self] + ([dataclasses.replace(self, over_local=True)] if self.local else [])


def ask(machines, quick, wanted=None):
    """{key: Plan} of all machines; reasons of the missing ones."""
    plans = {}
    for key, machine in machines.items():
        plan = Plan(key, machine.title, machine.what, machine.rmc, tcp=machine.tcp,
                    solo=machine.solo, quick=quick, local=machine.local)
        try:
            if wanted and key not in wanted:
                raise Missing("not asked for")
            machine.probe()
            plan.native, plan.accel = machine.native, machine.accel()
        except Missing as e:
            plan.missing = str(e)
        plans[key] = plan
    return plans


class Run:
    """Interface for figures: available machines, and amount of work."""

    def __init__(self, plans, quick, cpus):
        self.plans, self.quick, self.cpus = plans, quick, cpus

    def has(self, key):
        return key in self.plans and not self.plans[key].missing

    def rmc_machines(self):
        """Those that run the real module; with --quick one of them, a native one if possible."""
        found = [p for p in self.plans.values() if p.rmc and not p.missing]
        found.sort(key=lambda p: not p.native)
        return found[:1] if self.quick else found

    def rmc_paths(self):
        """The same, each followed by its local path"""
        return [p for plan in self.rmc_machines() for p in plan.paths()]

    def hosts(self):
        """The host's own programs, likewise; none if it has too few CPUs for them"""
        return self.plans["host"].paths() if self.has("host") else []

    def node_counts(self, plan):
        """1, 2, 4, and more if every node has two CPUs."""
        if not plan.native:
            return [1, 2] if self.quick else [1, 2, 4]
        return [1, 2, 4] + [n for n in (8, 16) if 2 * n <= self.cpus]

    def thread_counts(self):
        return [n for n in (1, 2, 4, 8, 16) if n <= max(self.cpus, 4)]

    def gaps(self):
        """[(machine, reason)] of missing machines"""
        return [(p.title, p.missing) for p in self.plans.values()
                if p.missing and p.missing != "not asked for"]

    def save(self, folder, head):
        os.makedirs(os.path.join(folder, "raw"), exist_ok=True)
        write_json(os.path.join(folder, "run.json"),
                   {**head, "quick": self.quick, "cpus": self.cpus,
                    "machines": [dataclasses.asdict(p) for p in self.plans.values()]})

    @staticmethod
    def load(folder):
        """(Run, what else run.json says)"""
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
            head = json.load(f)
        plans = {m["key"]: Plan(**m) for m in head["machines"]}
        return Run(plans, head["quick"], head["cpus"]), head


def write_json(path, value):
    with open(f"{path}.new", "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1)
        f.write("\n")
    os.rename(f"{path}.new", path)


class Results:
    """The raw files of a folder."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "raw")
        self.used = {}          # key -> raw, of this page

    def path(self, key):
        return os.path.join(self.folder, f"{key}.json")

    def keys(self):
        """Of all runs with a raw file"""
        return {name[:-len(".json")] for name in os.listdir(self.folder) if name.endswith(".json")}

    def raw(self, job):
        try:
            with open(self.path(job.key), encoding="utf-8") as f:
                found = json.load(f)
        except OSError:
            raise Missing("it was not run") from None
        except ValueError as e:
            raise Missing(f"its raw file is broken: {e}") from None
        self.used[job.key] = found
        return found

    def get(self, job, node=0):
        """Output of the process on that node."""
        found = self.raw(job)
        if found.get("missing"):
            raise Missing(found["missing"])
        try:
            return found["output"][str(node)]
        except KeyError:
            raise Missing(f"node {node} printed nothing") from None

    def label(self, plan, job, *details):
        """The machine's; CPUs that applications and workers had to share are no detail."""
        shared = (self.raw(job).get("machine") or {}).get("shared")
        return plan.labelled(*(["sharing CPUs"] if shared else []), *details)

    def estimate(self, job, plan):
        """Seconds: the duration of the same run last time, else by the table."""
        try:
            found = self.raw(job)
            if not found.get("missing") and found["job"]["argv"] == list(job.argv):
                return found["seconds"]
        except (Missing, KeyError, TypeError):
            pass
        return job.seconds * (1 if plan.native else EMULATED_SLOWNESS)

    def has(self, job, programs):
        """An output of the same run of it, by the same programs"""
        try:
            found = self.raw(job)
            return "output" in found and found["built"] == programs and \
                list(found["job"]["argv"]) == list(job.argv) and list(found["job"]["boot"]) == list(job.boot)
        except (Missing, KeyError, TypeError):
            return False

    def forget(self, key):
        if os.path.exists(self.path(key)):
            os.unlink(self.path(key))

    def write(self, job, value):
        write_json(self.path(job.key), {"job": dataclasses.asdict(job), **value})


def built(machine, job):
    """{file: digest} of the programs of a run; what is not there has none"""
    found = {}
    for path in machine.executes(job.command()[0]):
        try:
            with open(path, "rb") as f:
                found[words([path])] = hashlib.sha256(f.read()).hexdigest()
        except OSError:
            found[words([path])] = None
    return found


class Progress:
    """A line per step on stderr; on a terminal the last one counts seconds."""

    def __init__(self, total, expected):
        self.total, self.expected = total, expected
        self.step, self.spent, self.start = 0, 0.0, time.monotonic()
        self.tty = sys.stderr.isatty()

    def _line(self, what):
        left = max(self.expected - self.spent, 0)
        return (f"[{self.step:2}/{self.total}] {clock(time.monotonic() - self.start)} done, "
                f"about {clock(left)} left: {what}")

    def begin(self, what, expected):
        self.step += 1
        print(self._line(what) if not self.tty else "\r" + self._line(what), end="",
              file=sys.stderr, flush=True)
        self.over = threading.Event()
        self.what, self.began, self.guess = what, time.monotonic(), expected
        self.thread = threading.Thread(target=self._tick, daemon=True)
        self.thread.start()

    def _tick(self):
        while not self.over.wait(1 if self.tty else 30):
            spent = time.monotonic() - self.began
            if self.tty:
                print(f"\r{self._line(self.what)} {spent:.0f} s", end="", file=sys.stderr, flush=True)
            else:
                print(f" ... {spent:.0f} s of about {self.guess:.0f}", end="", file=sys.stderr,
                      flush=True)

    def end(self, verdict):
        self.over.set()
        self.thread.join()
        self.spent += self.guess
        print(f" {verdict}", file=sys.stderr, flush=True)


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def execute(run, wanted, machines, results, resume=False):
    """Run all jobs, those of one machine and size together; to resume, those without a result of the
    same command and programs. Leaves no guest behind."""
    unique = {job.key: job for job in wanted if not (
        resume and results.has(job, built(machines[job.machine], job)))}
    todo = sorted(unique.values(), key=lambda j: (list(machines).index(j.machine), j.boot,
                                                  j.cluster))
    guess = {j.key: results.estimate(j, run.plans[j.machine]) for j in todo}
    results.used.clear()
    for key in guess:           # skip results of an interrupted run
        results.forget(key)
    progress = Progress(len(todo), sum(guess.values()))
    failures = {}               # (machine, boot, cluster) -> reasons
    for job in todo:
        machine, plan = machines[job.machine], run.plans[job.machine]
        for other in machines.values():
            if other is not machine:
                other.leave()
        progress.begin(f"{plan.label}: {' '.join(job.argv)}", guess[job.key])
        try:
            value = one(job, machine, guess[job.key],
                        failures.setdefault((job.machine, job.boot, job.cluster), []))
        except BaseException:
            progress.end("interrupted")
            for other in machines.values():
                other.leave()
            raise
        results.write(job, value)
        progress.end(f"MISSING: {value['missing']}" if value.get("missing") else
                     f"{value['seconds']:.1f} s")
    for machine in machines.values():
        machine.leave()


def words(argv):
    return " ".join(os.path.relpath(a, CHECKOUT) if a.startswith(CHECKOUT) else a for a in argv)


def one(job, machine, guess, failed):
    """The raw file of a job, without its head."""
    value = {"command": words(machine.command(job.nodes, job.command())),
             "boot": " ".join(job.boot), "started": time.strftime("%Y-%m-%d %H:%M:%S %z"),
             "built": built(machine, job), "load": os.getloadavg()[0]}
    if len(failed) >= REBOOTS:
        return {**value, "seconds": 0, "missing": f"given up: {failed[-1]}"}
    start = time.monotonic()
    try:
        machine.enter(job.cluster, job.boot)
        argv = machine.command(job.nodes, job.command())    # rmcd's has the options of this boot
        value["command"] = words(argv)
        value["machine"] = machine.facts()
        start = time.monotonic()
        status, out, err = sources.call(argv, 60 + 10 * guess)
        value["seconds"] = time.monotonic() - start
        if status:
            raise Missing(f"exit status {status}: {sources.last_words(err)}")
        value["output"] = jobs.parse(out)
    except Missing as e:
        failed.append(str(e))
        machine.leave()         # the next one finds it fresh
        value["seconds"] = time.monotonic() - start
        value["missing"] = str(e)
    return value
