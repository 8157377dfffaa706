# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The life cycle of a cluster. Its state is a folder:

    cluster.json        the cluster: see State; written under NAME.lock
    agent-I.K           socket of port K of guest I, with .lock (agent.py)
    console-I[.log]     serial console: socket, and everything printed so far
    qmp-I               QEMU's control socket
    machine-I.log       messages of QEMU or of the User-Mode-Linux kernel itself
    doorbell[.log]      socket of ivshmem-server, through which guests of QEMU wake each other
    doorbell-I          pipe through which the others wake User-Mode-Linux kernel I
    uml                 User-Mode Linux's own files

A state whose guests are all gone, or whose owner is (rmc-run without --keep),
or whose boot was interrupted, is stale: load() removes it.
"""

import concurrent.futures
import contextlib
import ctypes
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time

from . import agent, guest, host, machine
from .base import RMCCTL, Fail, alive, cpu_seconds, note, pid_start, state_root, write_file

BUSYBOX = "/run/rmc/busybox"
# Seconds between two greetings of a guest that boots. Its agent drops the answer when its driver
# reports the connection 0.3 s after the greeting, on another queue.
GREET_AGAIN = 15
# Of the boot's time-out: the CPU time after which an emulated guest that says nothing hangs. QEMU
# before 8.1 may translate an instruction while another vCPU replaces it, and run the old one for
# ever. Linux first replaces instructions by breakpoints, and jumps back at a removed one.
HANGS_AFTER = 1 / 3
SYSFS = "/sys/class/misc/rmc"
CONSOLE_LINES = 15


class Hangs(agent.Lost):
    pass


def die_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def running(process):
    """process: {"pid", "start"}, or None"""
    return bool(process) and alive(process["pid"], process["start"])


@contextlib.contextmanager
def locked(name, wait=True):
    """Only one process at a time changes a cluster; yields False if not wait."""
    path = os.path.join(state_root(), f"{name}.lock")
    while True:
        with open(path, "wb") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            # The holder before us may have removed the file: then lock the new one.
            if os.path.exists(path) and os.path.samestat(os.stat(path), os.fstat(f.fileno())):
                yield True
                return


class Cluster:
    def __init__(self, name):
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,32}", name) or name.startswith("."):
            raise Fail(f"bad cluster name {name!r}", "use at most 32 letters, digits, - and _")
        self.name = name
        self.folder = os.path.join(state_root(), name)
        self.state = {}
        self.cancelled = threading.Event()
        self.answered = set()           # guests that came up
        self.deadline = 0               # of the boot

    def path(self, name):
        return os.path.join(self.folder, name)

    # ---- state ----

    def save(self):
        write_file(self.path("cluster.json"), json.dumps(self.state, indent=1).encode(), 0o600)

    def read(self):
        try:
            with open(self.path("cluster.json"), encoding="utf-8") as f:
                self.state = json.load(f)
        except (OSError, ValueError):
            self.state = {}
        return self.state

    def guest_alive(self, i):
        return running(self.state["guests"][i])

    def is_stale(self):
        """Call under the lock."""
        if not self.read():
            return os.path.isdir(self.folder)
        owner = self.state.get("owner")
        return (not self.state.get("ready") or (owner and not alive(*owner)) or
                not any(self.guest_alive(i) for i in range(len(self.state["guests"]))))

    def remove(self, keep_lock=False):
        """Stop the cluster and remove its files. Call under the lock."""
        processes = [*self.state.get("guests", ()), self.state.get("server")]
        for p in filter(running, processes):
            with contextlib.suppress(ProcessLookupError):
                os.kill(p["pid"], signal.SIGKILL)
        deadline = time.monotonic() + 10
        while any(map(running, processes)) and time.monotonic() < deadline:
            time.sleep(0.01)
        for p in filter(None, processes):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(p["pid"], os.WNOHANG)
        region = self.state.get("region")
        if region:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(region)
        shutil.rmtree(self.folder, ignore_errors=True)
        if not keep_lock:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.folder + ".lock")

    # ---- up ----

    def up(self, opt, owned=False):
        """Boot; opt: see add_boot_options(). owned: ends with this process."""
        started = time.monotonic()
        with locked(self.name):
            if os.path.isdir(self.folder) and not self.is_stale():
                raise Fail(f"cluster '{self.name}' is already up with "
                           f"{self.state['nodes']} nodes", "run rmc-vm down first")
            self.remove(keep_lock=True)
            os.makedirs(self.folder, mode=0o700)
            try:
                self._boot(opt, owned)
            except BaseException:
                self.cancelled.set()
                self.remove()
                raise
        if not opt.quiet:
            note(f"cluster '{self.name}' is ready after {time.monotonic() - started:.1f} s")

    def _boot(self, opt, owned):
        how = machine.chosen(opt)
        fabric = opt.fabric or how.FABRIC
        if fabric not in ("loopback", how.FABRIC):
            raise Fail(f"this machine has no fabric {fabric}", f"use loopback or {how.FABRIC}")
        loopback = fabric == "loopback"
        module = None if opt.no_module else opt.module or how.MODULE_FILE
        kernel = how.kernel(opt, module)
        if module:
            guest.check_module(module, kernel)
        plan = host.Plan(opt.nodes, ni_workers(opt), loopback,
                         {"auto": None, "shared": True, "dedicated": False}[opt.cpus])
        guests = 1 if loopback else opt.nodes
        memory = plan.bind(opt.numa)
        if opt.cable and guests != 2:
            raise Fail("a cable has two ends", "use two guests: -n 2, not --fabric loopback")
        accel = how.accel(opt, kernel)
        if not opt.quiet:
            one = "all in one guest" if loopback else "one guest each"
            note(f"cluster '{self.name}': {opt.nodes} node{'s' * (opt.nodes > 1)}, {one}, "
                 f"kernel {kernel.version}, {accel.upper()}")
            note(plan.text)
            note(memory)

        self.state = {"nodes": opt.nodes, "fabric": fabric, "kernel": kernel.version,
                      "accel": accel, "shared": plan.shared, "app_cpus": plan.app,
                      "module": module, "context": not opt.no_context, "region": None,
                      "ready": False,
                      "owner": [os.getpid(), pid_start(os.getpid())] if owned else None,
                      "boot_timeout": opt.boot_timeout or 60 + 10 * guests,
                      "pins": plan.pins, "server": None, "argv": [], "guests": [None] * guests}
        self.save()
        device = []
        if not loopback:
            mib = host.region_size(opt.nodes, opt.shm_size)
            name = f"rmc-{os.getuid()}-{self.name}"
            with contextlib.suppress(OSError):      # of a stale run in the same folder
                os.unlink(os.path.join(host.region_folder(mib)[0], name))
            self.state["region"] = host.make_region(name, mib)
            self.save()
            device = how.share_region(self, opt, mib, owned)
        self.state["module_args"] = (self._module_args(opt, plan) + how.module_args(self) +
                                     shlex.split(opt.module_args or ""))
        image = how.boot_files(self, opt, kernel)
        if len(self.path(f"console-{guests}")) > 100:
            raise Fail(f"the path {self.folder} is too long for a socket",
                       "set XDG_RUNTIME_DIR to a shorter one")
        for i in range(guests):
            self.state["argv"].append(how.argv(self, opt, i, plan, image) + device)
        for i in range(guests):
            self._start(i, owned)
        self.save()
        self._bring_up(range(guests))
        self.state["ready"] = True
        self.save()

    def _module_args(self, opt, plan):
        args = [f"fabric={self.state['fabric']}", f"nodes={opt.nodes}",
                f"share={int(plan.shared)}", f"cpus={','.join(map(str, plan.rmc))}",
                f"ni={opt.ni}", f"units={opt.units}"]
        return args + [f"mtu={opt.mtu}"] if opt.mtu else args

    def spawn(self, argv, log, owned):
        """Start a process of the cluster; owned: it ends with this one."""
        with open(self.path(log), "wb") as f:
            # A separate session, so that a Ctrl-C in the terminal does not reach it.
            proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=f, stderr=f,
                                    start_new_session=True,
                                    preexec_fn=die_with_parent if owned else None)
        proc.returncode = 0     # ours to reap in remove(), no warning from Popen
        return {"pid": proc.pid, "start": pid_start(proc.pid)}

    def _start(self, i, owned):
        self.state["guests"][i] = self.spawn(self.state["argv"][i], f"machine-{i}.log", owned)
        self.save()

    def _bring_up(self, which):
        """Wait for the guests' agents and load the module, all at the same time."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=len(which)) as pool:
            def submit(i, may_hang):
                self.deadline = time.monotonic() + self.state["boot_timeout"]
                jobs[pool.submit(self._bring_up_one, i, may_hang)] = i

            jobs = {}
            try:
                for i in which:
                    submit(i, self.state["accel"] == "tcg")
                while jobs:
                    job = next(concurrent.futures.as_completed(jobs))
                    i = jobs.pop(job)
                    try:
                        job.result()
                    except Hangs:       # here: a guest ends with the thread that starts it
                        note(f"node {i} hangs while it boots, as emulated guests do now and then: "
                             "it is started again")
                        self.kill(i)
                        self._forget_sockets([i])
                        self._start(i, bool(self.state.get("owner")))
                        submit(i, False)
            except BaseException:
                self.cancelled.set()
                raise

    def _bring_up_one(self, i, may_hang):
        timeout = self.state["boot_timeout"]
        start, enough = time.monotonic(), timeout * HANGS_AFTER

        def hangs():
            if (may_hang and time.monotonic() - start > enough and
                    cpu_seconds(self.state["guests"][i]["pid"]) > enough):
                raise Hangs("the guest hangs")

        try:
            session = self.session(i, timeout, patience=timeout, again=GREET_AGAIN, check=hangs)
        except agent.Lost as e:
            if isinstance(e, Hangs):
                raise
            raise Fail(f"node {i} did not come up: {e.what}{self._silence(i)}",
                       "its console ended with:", self.console_tail(i)) from None
        self.answered.add(i)
        with session:
            machine.of(self.state).pin(self, i)
            if not self.state["module"]:
                return
            self._insmod(session, i)
            if self.state["context"] and not os.path.exists(RMCCTL):
                note(f"node {i} has no context: there is no {RMCCTL}: run make tools")
            elif self.state["context"]:
                status, _, err = session.run([RMCCTL, "context", "create", "0", "--mode", "0666"])
                if status:
                    raise Fail(f"node {i}: context 0 could not be made: {err.strip()}",
                               "look at rmc-vm console, or give --no-context")
            self._wait_for_peers(session, i)

    def _insmod(self, session, i):
        module = self.state["module"]
        args = list(self.state["module_args"])
        if self.state["fabric"] != "loopback":
            args.append(f"node={i}")
        status, _, err = session.run([BUSYBOX, "insmod", module, *args], share=[module], timeout=60)
        if not status:
            return
        _, log, _ = session.run([BUSYBOX, "dmesg"])
        lines = log.splitlines()
        about = [n for n, line in enumerate(lines) if "rmc" in line] or [len(lines) - 1]
        reason = err.strip().rsplit(": ", 1)[-1]
        raise Fail(f"node {i}: the module was refused: {reason} (insmod rmc.ko {' '.join(args)})",
                   "its kernel log says:",
                   "\n".join("    " + x for x in lines[max(about[0], about[-1] - 11):][:12]))

    def _wait_for_peers(self, session, i):
        if self.state["fabric"] == "loopback" or self.state["nodes"] == 1:
            return
        wanted = self.state["nodes"] - 1
        while True:
            status, out, _ = session.run([BUSYBOX, "cat", f"{SYSFS}/peers_up"])
            if status or out.strip() == str(wanted):    # a module without the file: no waiting
                return
            if time.monotonic() > self.deadline:
                raise Fail(f"node {i} sees {out.strip()} of {wanted} peers",
                           "look at rmc-vm console of the others")
            time.sleep(0.1)

    # ---- use ----

    def watch(self, i):
        """A callable that raises when guest i is not worth waiting for."""
        def check():
            if self.cancelled.is_set():
                raise Fail("interrupted")
            if not self.guest_alive(i):
                raise agent.Lost(f"its machine ended{self.complaint(f'machine-{i}.log')}")
        return check

    def session(self, i, timeout=30, patience=2, again=None, check=lambda: None):
        """check(): raises when the wait for an answer is to end."""
        if not self.guest_alive(i):
            raise agent.Lost(f"the guest of node {i} is not running", f"run rmc-vm restart {i}")
        watch, late = self.watch(i), time.monotonic() + patience

        def impatient():
            nonlocal late
            watch()
            check()
            if time.monotonic() > late:
                late += timeout
                if self._paused(i):
                    raise agent.Lost(f"the guest of node {i} is paused", f"run rmc-vm resume {i}")

        session = agent.Session(self.path(f"agent-{i}"), timeout, impatient, again or patience)
        session.watch = watch   # one that is paused later may resume
        return session

    def _paused(self, i):
        """A machine that does not tell, as one that has just been started, is not."""
        try:
            return machine.of(self.state).status(self, i) == "paused"
        except Fail:
            return False

    def guest_of(self, node):
        """Index of the guest that hosts a node."""
        if not 0 <= node < self.state["nodes"]:
            raise Fail(f"there is no node {node}", f"nodes are 0 to {self.state['nodes'] - 1}")
        return 0 if self.state["fabric"] == "loopback" else node

    def kill(self, i):
        vm = self.state["guests"][i]
        if not self.guest_alive(i):
            raise Fail(f"node {i} is not running", f"run rmc-vm restart {i}")
        os.kill(vm["pid"], signal.SIGKILL)
        while self.guest_alive(i):
            time.sleep(0.01)

    def _forget_sockets(self, which):
        for name in os.listdir(self.folder):
            if re.fullmatch(rf"(console|qmp|agent|cable)-({'|'.join(map(str, which))})(\.\d+)?", name):
                os.unlink(self.path(name))

    def restart(self, which):
        with locked(self.name):
            for i in filter(self.guest_alive, which):
                self.kill(i)
            self._forget_sockets(which)
            # Its contents are not needed any more, and may be the reason of the restart.
            if not any(map(self.guest_alive, range(len(self.state["guests"])))):
                host.clear_region(self.state["region"])
            for i in which:
                self._start(i, bool(self.state.get("owner")))
            self._bring_up(which)

    # ---- diagnosis ----

    def complaint(self, log):
        """The last output of a process of ours, in brackets."""
        try:
            with open(self.path(log), encoding="utf-8", errors="replace") as f:
                lines = [x for x in f.read().splitlines() if x.strip() and "warning:" not in x]
        except OSError:
            lines = []
        return f" ({lines[-1]})" if lines else ""

    def _silence(self, i):
        """State of a silent guest: not scheduled, waiting, or busy."""
        if not self.guest_alive(i):
            return ""
        try:
            doing = machine.of(self.state).doing(self, i)
        except (OSError, Fail):
            doing = "unknown"
        others = len(self.answered - {i})
        return (f" ({cpu_seconds(self.state['guests'][i]['pid']):.1f} s of CPU time, {doing}; "
                f"of the others {others} answered)")

    def console_tail(self, i, count=CONSOLE_LINES):
        try:
            with open(self.path(f"console-{i}.log"), encoding="utf-8", errors="replace") as f:
                lines = [x for x in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", f.read()).splitlines()
                         if x.strip()]
        except OSError:
            lines = []
        return "\n".join("    " + x for x in lines[-count:]) or "    (nothing was printed)"


def load(name):
    """The running cluster of that name, or None; removes a stale one."""
    sweep()
    cluster = Cluster(name)
    return cluster if cluster.read() and cluster.state.get("ready") else None


def must_load(name):
    cluster = load(name)
    if not cluster:
        raise Fail(f"cluster '{name}' is not up", "run rmc-vm up -n 2")
    return cluster


def sweep():
    """Remove every stale cluster of this user."""
    root = state_root()
    for name in os.listdir(root):
        if not os.path.isdir(os.path.join(root, name)) or name.startswith("tmp"):
            continue
        with locked(name, wait=False) as mine:
            if mine:
                cluster = Cluster(name)
                if cluster.is_stale():
                    cluster.remove()


def names():
    root = state_root()
    return sorted(n for n in os.listdir(root) if os.path.exists(os.path.join(root, n, "cluster.json")))


def ni_workers(opt):
    """Worker threads per node; settles the number of units."""
    each = opt.ni in ("edge", "per_tile", "split")
    opt.units = opt.units or (2 if each else 1)
    rrpps = max(opt.units // 2, 1)
    return {"fused": 1, "pair": 2, "edge": opt.units, "per_tile": opt.units + rrpps,
            "split": 2 * opt.units}[opt.ni]


def add_boot_options(parser):
    """Options of both rmc-vm up and rmc-run."""
    add = parser.add_argument
    add("--fabric", choices=("ivshmem", "uml", "loopback"),
        help="one guest per node (ivshmem, or uml with --machine uml; the default), or one guest "
             "whose kernel hosts all nodes (loopback)")
    add("--machine", choices=("auto", "kvm", "tcg", "uml", "native"), default="auto",
        help="hardware virtualization, emulation, or User-Mode Linux, which runs at native speed "
             "without KVM (default auto: KVM if it really works, else tcg; native: else uml)")
    add("--ni", choices=("fused", "pair", "edge", "per_tile", "split"), default="fused",
        help="NI organisation: one worker per node; RGP+RCP and RRPP apart; one per unit; one per "
             "unit and RRPPs apart; one per unit and its frontend (Documentation/ni.rst)")
    add("--units", type=int, choices=(1, 2, 4, 8),
        help="units per node (default 2 for edge, per_tile and split, else 1)")
    add("--cpus", choices=("auto", "dedicated", "shared"), default="auto",
        help="a core for every vCPU, or application and RMC on one (default: by the host's cores)")
    add("--numa", choices=("auto", "bind", "off"), default="auto",
        help="bind each guest's memory to the NUMA node of its cores: if the host has several "
             "(auto), also if it has one, or never")
    add("--doorbell", choices=("on", "off"), default="on",
        help="wake an idle peer by an interrupt, or let it poll at intervals")
    add("--mtu", type=int, help="packet payload in bytes (default: the module's)")
    add("--module-args", metavar="ARGS", help="more parameters for rmc.ko")
    add("--module", metavar="KO", type=os.path.abspath,
        help="the module to load (default: rmc.ko of the checkout; build/uml/rmc.ko for uml)")
    add("--no-module", action="store_true", help="boot without loading rmc.ko")
    add("--no-context", action="store_true", help="do not make context 0")
    add("--mem", type=int, default=256, metavar="MIB", help="memory per guest (default 256)")
    add("--shm-size", type=int, metavar="MIB",
        help="shared region (default: nodes squared, at least 16)")
    add("--drivers", metavar="NAME,...", default="", type=lambda t: [x for x in t.split(",") if x],
        help="more drivers of the guest kernel to load")
    add("--cable", action="store_true",
        help="a network card in each of two guests, and a cable between them")
    add("--kernel", metavar="VERSION", help="guest kernel (default: the one rmc.ko is built for)")
    add("--append", metavar="ARGS", help="more parameters for the guest kernel")
    add("--boot-timeout", type=float, metavar="S",
        help="give up after S seconds; counted anew for an emulated guest that hangs and is "
             "started again, once")
