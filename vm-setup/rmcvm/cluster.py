# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The life cycle of a cluster. Its state is a folder:

    cluster.json        what runs: see State; written under NAME.lock
    agent-I.K           socket of port K of guest I, with .lock (agent.py)
    console-I[.log]     serial console: socket, and everything printed so far
    qmp-I               QEMU's control socket
    qemu-I.log          what QEMU itself complained about
    doorbell[.log]      socket of ivshmem-server, through which guests wake each other

A state whose guests are all gone, or whose owner is (rmc-run without --keep),
or that nobody is booting any more, is stale: load() removes it.
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
import socket
import subprocess
import threading
import time

from . import agent, guest, host
from .base import (MODULE, RMCCTL, VM_SETUP, Fail, alive, need, note, pid_start, state_root,
                   write_file)

BUSYBOX = "/run/rmc/busybox"
SYSFS = "/sys/class/misc/rmc"
CONSOLE_LINES = 15


class Qmp:
    """QEMU's control socket, one command at a time."""

    def __init__(self, path):
        self.lock = open(f"{path}.lock", "wb")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        try:
            self.sock.connect(path)
            self.file = self.sock.makefile("r", encoding="utf-8")
            self.file.readline()
            self.do("qmp_capabilities")
        except OSError:
            self.close()
            raise

    def do(self, command):
        self.sock.sendall(json.dumps({"execute": command}).encode() + b"\n")
        for line in self.file:
            reply = json.loads(line)
            if "return" in reply:
                return reply["return"]
            if "error" in reply:
                raise Fail(f"QEMU refused {command}: {reply['error'].get('desc')}")
        raise ConnectionError("QEMU hung up")

    def close(self):
        self.sock.close()
        self.lock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


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
        """Stop what runs and leave nothing behind. Call under the lock."""
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
        loopback = opt.fabric == "loopback"
        module = None if opt.no_module else opt.module
        kernel = guest.choose(opt.kernel, module)
        if module:
            guest.check_module(module, kernel)
        need(host.QEMU, "qemu-system-x86")
        accel, why = host.accel(opt.machine, kernel)
        workers = 2 if opt.ni == "pair" else 1
        plan = host.Plan(opt.nodes, workers, loopback,
                         {"auto": None, "shared": True, "dedicated": False}[opt.cpus])
        guests = 1 if loopback else opt.nodes
        if not opt.quiet:
            one = "all in one guest" if loopback else "one guest each"
            note(f"cluster '{self.name}': {opt.nodes} node{'s' * (opt.nodes > 1)}, {one}, "
                 f"kernel {kernel.version}, {accel.upper()}")
            if accel == "tcg":
                note(f"no KVM ({why}): guests are emulated, times measured in them "
                     "are not representative")
            note(plan.text)

        device = []
        self.state = {"nodes": opt.nodes, "fabric": opt.fabric, "kernel": kernel.version,
                      "accel": accel, "shared": plan.shared, "app_cpus": plan.app,
                      "module": module, "module_args": self._module_args(opt, plan),
                      "context": not opt.no_context, "region": None, "ready": False,
                      "owner": [os.getpid(), pid_start(os.getpid())] if owned else None,
                      "boot_timeout": opt.boot_timeout or 60 + 10 * guests,
                      "pins": plan.pins, "server": None, "argv": [], "guests": [None] * guests}
        self.save()
        if not loopback:
            mib = host.region_size(opt.nodes, opt.shm_size)
            name = f"rmc-{os.getuid()}-{self.name}"
            with contextlib.suppress(OSError):      # of a stale run in the same folder
                os.unlink(os.path.join(host.region_folder(mib)[0], name))
            self.state["region"] = host.make_region(name, mib)
            self.save()
            if opt.doorbell == "on":
                self._start_server(owned)
                device = ["-chardev", f"socket,id=bell,path={self.path('doorbell')}",
                          "-device", "ivshmem-doorbell,vectors=1,chardev=bell"]
            else:
                device = ["-object", "memory-backend-file,id=region,share=on,"
                                     f"mem-path={self.state['region']},size={mib}M",
                          "-device", "ivshmem-plain,memdev=region"]
        guest.initrd(kernel, self.path("initrd"))
        elf = guest.elf_image(kernel)
        for i in range(guests):
            self.state["argv"].append(self._qemu(opt, i, accel, plan, elf) + device)
        for i in range(guests):
            self._start(i, owned)
        self.save()
        self._bring_up(range(guests))
        self.state["ready"] = True
        self.save()

    @staticmethod
    def _module_args(opt, plan):
        args = [f"fabric={opt.fabric}", f"nodes={opt.nodes}", f"share={int(plan.shared)}",
                f"cpus={','.join(map(str, plan.rmc))}", f"ni={opt.ni}"]
        if opt.mtu:
            args.append(f"mtu={opt.mtu}")
        return args + shlex.split(opt.module_args or "")

    def _qemu(self, opt, i, accel, plan, elf):
        kernel_args = ["console=ttyS0", "quiet", "panic=-1", "oops=panic", "tsc=reliable",
                       f"RMC_NODE={i}", plan.kernel_args(), opt.append or ""]
        if accel == "tcg":      # what a kernel cannot know to be fine here
            kernel_args.insert(4, "clocksource=tsc mitigations=off no_timer_check")
            khz = guest.tsc_khz()
            if khz:     # measured in a guest it is wrong whenever the host is busy
                kernel_args.insert(4, f"tsc_early_khz={khz}")
        argv = [need(host.QEMU, "qemu-system-x86"), "-name", f"rmc-{self.name}-{i}",
                "-accel", "tcg,thread=multi" if accel == "tcg" else "kvm",
                # la57: five-level page tables only cost time
                "-cpu", "max,la57=off" if accel == "tcg" else "host,migratable=no",
                "-machine", host.MACHINE, "-smp", str(plan.vcpus), "-m", str(opt.mem),
                "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
                "-kernel", elf, "-initrd", self.path("initrd"),
                "-append", " ".join(filter(None, kernel_args)),
                "-qmp", f"unix:{self.path(f'qmp-{i}')},server=on,wait=off",
                "-chardev", f"socket,id=con,path={self.path(f'console-{i}')},server=on,wait=off,"
                            f"logfile={self.path(f'console-{i}.log')},logappend=on",
                "-serial", "chardev:con",
                "-device", f"virtio-serial-pci,max_ports={agent.PORTS + 1}"]
        for tag, where in (("hostroot", "/"), ("hostusr", "/usr")):
            argv += ["-fsdev", f"local,id={tag},path={where},security_model=none,readonly=on,"
                               "multidevs=remap",
                     "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
        for k in range(agent.PORTS):
            argv += ["-chardev", f"socket,id=a{k},path={self.path(f'agent-{i}.{k}')},"
                                 "server=on,wait=off",
                     "-device", f"virtserialport,chardev=a{k},name=rmc-agent.{k}"]
        if len(self.path(f"console-{i}")) > 100:
            raise Fail(f"the path {self.folder} is too long for a socket",
                       "set XDG_RUNTIME_DIR to a shorter one")
        return argv

    def _spawn(self, argv, log, owned):
        with open(self.path(log), "wb") as f:
            # Not to be hit by a Ctrl-C in the terminal: a session of its own.
            proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=f, stderr=f,
                                    start_new_session=True,
                                    preexec_fn=die_with_parent if owned else None)
        proc.returncode = 0     # ours to reap in remove(), no warning from Popen
        return {"pid": proc.pid, "start": pid_start(proc.pid)}

    def _start_server(self, owned):
        self.state["server"] = self._spawn(
            [os.path.join(VM_SETUP, "ivshmem-server"), "-S", self.path("doorbell"),
             "-m", self.state["region"]], "doorbell.log", owned)
        self.save()
        while not os.path.exists(self.path("doorbell")):
            if not running(self.state["server"]):
                raise Fail(f"the doorbell server ended{self.complaint('doorbell.log')}",
                           "give --doorbell off")
            time.sleep(0.01)

    def _start(self, i, owned):
        self.state["guests"][i] = self._spawn(self.state["argv"][i], f"qemu-{i}.log", owned)
        self.save()

    def _bring_up(self, which):
        """Wait for the guests' agents and load the module, all at the same time."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=len(which)) as pool:
            jobs = [pool.submit(self._bring_up_one, i) for i in which]
            try:
                for job in concurrent.futures.as_completed(jobs):
                    job.result()
            except BaseException:
                self.cancelled.set()
                raise

    def _bring_up_one(self, i):
        deadline = time.monotonic() + self.state["boot_timeout"]
        try:
            timeout = self.state["boot_timeout"]
            session = self.session(i, timeout, patience=timeout)
        except agent.Lost as e:
            raise Fail(f"node {i} did not come up: {e.what}", "its console ended with:",
                       self.console_tail(i)) from None
        with session:
            self._pin(i)
            if not self.state["module"]:
                return
            self._insmod(session, i)
            if self.state["context"] and os.path.exists(RMCCTL):
                status, _, err = session.run([RMCCTL, "context", "create", "0", "--mode", "0666"])
                if status:
                    raise Fail(f"node {i}: context 0 could not be made: {err.strip()}",
                               "look at rmc-vm console, or give --no-context")
            self._wait_for_peers(session, i, deadline)

    def _pin(self, i):
        try:
            with Qmp(self.path(f"qmp-{i}")) as qmp:
                for vcpu in qmp.do("query-cpus-fast"):
                    core = self.state["pins"][i][vcpu["cpu-index"]]
                    os.sched_setaffinity(vcpu["thread-id"], {core})
        except OSError as e:
            note(f"node {i}: vCPUs are not pinned: {e}")

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

    def _wait_for_peers(self, session, i, deadline):
        if self.state["fabric"] == "loopback" or self.state["nodes"] == 1:
            return
        wanted = self.state["nodes"] - 1
        while True:
            status, out, _ = session.run([BUSYBOX, "cat", f"{SYSFS}/peers_up"])
            if status or out.strip() == str(wanted):    # a module without the file: no waiting
                return
            if time.monotonic() > deadline:
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
                raise agent.Lost(f"QEMU ended{self.complaint(f'qemu-{i}.log')}")
        return check

    def session(self, i, timeout=30, patience=2):
        if not self.guest_alive(i):
            raise agent.Lost(f"the guest of node {i} is not running", f"run rmc-vm restart {i}")
        watch, late = self.watch(i), time.monotonic() + patience

        def impatient():
            nonlocal late
            watch()
            if time.monotonic() > late:
                late += timeout
                if self.qmp(i, "query-status")["status"] == "paused":
                    raise agent.Lost(f"the guest of node {i} is paused", f"run rmc-vm resume {i}")

        session = agent.Session(self.path(f"agent-{i}"), timeout, impatient, patience)
        session.watch = watch   # one that is paused later may go on
        return session

    def guest_of(self, node):
        """Index of the guest that hosts a node."""
        if not 0 <= node < self.state["nodes"]:
            raise Fail(f"there is no node {node}", f"nodes are 0 to {self.state['nodes'] - 1}")
        return 0 if self.state["fabric"] == "loopback" else node

    def qmp(self, i, command):
        try:
            with Qmp(self.path(f"qmp-{i}")) as qmp:
                return qmp.do(command)
        except (OSError, ValueError):
            raise Fail(f"node {i} is not running", f"run rmc-vm restart {i}") from None

    def kill(self, i):
        vm = self.state["guests"][i]
        if not self.guest_alive(i):
            raise Fail(f"node {i} is not running", f"run rmc-vm restart {i}")
        os.kill(vm["pid"], signal.SIGKILL)
        while self.guest_alive(i):
            time.sleep(0.01)

    def restart(self, i):
        with locked(self.name):
            if self.guest_alive(i):
                self.kill(i)
            for name in os.listdir(self.folder):
                if re.fullmatch(rf"(console|qmp|agent)-{i}(\.\d+)?", name):
                    os.unlink(self.path(name))
            self._start(i, bool(self.state.get("owner")))
            self._bring_up([i])

    # ---- what went wrong ----

    def complaint(self, log):
        """The last thing a process of ours said, in brackets."""
        try:
            with open(self.path(log), encoding="utf-8", errors="replace") as f:
                lines = [x for x in f.read().splitlines() if x.strip() and "warning:" not in x]
        except OSError:
            lines = []
        return f" ({lines[-1]})" if lines else ""

    def console_tail(self, i, count=CONSOLE_LINES):
        try:
            with open(self.path(f"console-{i}.log"), encoding="utf-8", errors="replace") as f:
                lines = [x for x in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", f.read()).splitlines()
                         if x.strip()]
        except OSError:
            lines = []
        return "\n".join("    " + x for x in lines[-count:]) or "    (nothing was printed)"


def load(name):
    """The running cluster of that name, or None; cleans up what is stale."""
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


def add_boot_options(parser):
    """Options of rmc-vm up that rmc-run has as well."""
    add = parser.add_argument
    add("--fabric", choices=("ivshmem", "loopback"), default="ivshmem",
        help="one guest per node, or one guest whose kernel hosts all nodes")
    add("--machine", choices=("auto", "kvm", "tcg"), default="auto",
        help="hardware virtualization or emulation (default: KVM if it really works)")
    add("--ni", choices=("fused", "pair"), default="fused",
        help="one worker per node, or RGP+RCP and RRPP apart")
    add("--cpus", choices=("auto", "dedicated", "shared"), default="auto",
        help="a core for every vCPU, or application and RMC on one (default: by the host's cores)")
    add("--doorbell", choices=("on", "off"), default="on",
        help="wake an idle peer by an interrupt, or let it look now and then")
    add("--mtu", type=int, help="packet payload in bytes (default: the module's)")
    add("--module-args", metavar="ARGS", help="more parameters for rmc.ko")
    add("--module", metavar="KO", type=os.path.abspath, default=MODULE,
        help="the module to load (default: rmc.ko of the checkout)")
    add("--no-module", action="store_true", help="boot without loading rmc.ko")
    add("--no-context", action="store_true", help="do not make context 0")
    add("--mem", type=int, default=256, metavar="MIB", help="memory per guest (default 256)")
    add("--shm-size", type=int, metavar="MIB",
        help="shared region (default: nodes squared, at least 16)")
    add("--kernel", metavar="VERSION", help="guest kernel (default: the one rmc.ko is built for)")
    add("--append", metavar="ARGS", help="more parameters for the guest kernel")
    add("--boot-timeout", type=float, metavar="S", help="give up after S seconds")
