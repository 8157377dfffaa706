# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The machines, as a table.

Each machine is probed once, entered for a number of nodes, used to run programs on some
of them, and left. Programs on guests of any kind run by rmc-vm and rmc-run.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys

from .base import BUILD, CHECKOUT, Missing, first_line

sys.path.insert(0, os.path.join(CHECKOUT, "vm-setup"))
from rmcvm import base as rmcvm_base, guest, host          # noqa: E402

RMC_VM = os.path.join(CHECKOUT, "vm-setup", "rmc-vm")
RMC_DEPS = os.path.join(CHECKOUT, "vm-setup", "rmc-deps")
RMC_RUN = os.path.join(CHECKOUT, "tools", "rmc-run")
BOOT_SECONDS = 240


def call(argv, timeout):
    """(status, stdout, stderr); Ctrl-C and a time-out end the program's children as well."""
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, cwd=CHECKOUT) as child:
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGTERM)       # rmc-run cleans up behind itself
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.communicate(timeout=20)
            child.kill()
            raise Missing(f"not done after {timeout:.0f} s") from None
        except BaseException:
            child.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(20)
            child.kill()
            raise
    return child.returncode, out.decode(errors="replace"), err.decode(errors="replace")


def last_words(err):
    lines = [x for x in err.strip().splitlines() if x.strip()]
    return lines[-1] if lines else "no message"


class Machine:
    """One row. native: times measured there mean something."""

    key = title = what = ""
    native = True
    rmc = False                 # runs the module, librmc and the tools
    tcp = True                  # its system calls cost as much as on a native kernel
    solo = ()                   # to boot for measurements with one busy application
    local = False               # one worker has all nodes: operations could do without packets

    def probe(self):
        """Raise Missing with the reason when this host has no such machine."""

    def accel(self):
        """Its speed, in a word for the page."""
        return "native"

    def enter(self, nodes, boot):
        pass

    def leave(self):
        pass

    def command(self, nodes, argv):
        raise NotImplementedError

    def executes(self, program):
        """Files that a run of it executes: built again, they make another run of it."""
        return [program]

    def facts(self):
        """More for the raw file: versions and the like."""
        return {}


class Host(Machine):
    key = "host"
    title = "host"
    what = ("Programs of this host, at its own speed. Of the RMC only the core runs here: the files "
            "of kmod/core with one pinned thread per worker, librmc's inline path, no kernel module, "
            "no VM (selftests/bench/sweep.c). All nodes' operations go in packets, but for columns of "
            "the local path.")
    local = True

    def probe(self):
        if len(os.sched_getaffinity(0)) < 2:
            raise Missing("application and worker need two CPUs, this host has one")
        if not os.access(os.path.join(BUILD, "host", "sweep"), os.X_OK):
            raise Missing("build/host/sweep is not built: run make figures")

    def command(self, nodes, argv):
        return argv


class Daemon(Machine):
    key = "daemon"
    title = "rmcd"
    what = ("Processes of this host, one per node, over rmcd: the core in a process of its own, librmc "
            "and the tools, at the speed of this host; no module, no guest.")
    rmc = True
    cpus = 2
    workers = ()                # options of rmc-run; (): as it chooses

    def probe(self):
        here = len(os.sched_getaffinity(0))
        if here < self.cpus:
            raise Missing(f"applications and worker need {self.cpus} CPUs, this host has {here}")
        if not os.access(os.path.join(BUILD, "rmcd"), os.X_OK):
            raise Missing("build/rmcd is not built: run make all")

    def __init__(self):
        self.boot = ()

    def enter(self, nodes, boot):
        self.boot = boot

    def executes(self, program):
        return [program, os.path.join(BUILD, "rmcd")]

    def options(self):
        """Those of rmcd that mean what these options of rmc-vm up mean"""
        found, rest = [], list(self.boot)
        while rest:
            name, value = rest.pop(0), rest.pop(0)
            if name == "--module-args":
                found += [f"--{one}" for one in value.split()]
            elif name != "--cpus":
                found.append(f"{name}={value}")
        return found

    def command(self, nodes, argv):
        return [RMC_RUN, "--daemon", *self.workers, *(f"--rmcd={o}" for o in self.options()),
                "-n", str(nodes), "--", *argv]


class Guests(Machine):
    """Guests that rmc-vm boots; options are those of rmc-vm up."""

    rmc = True
    options = ()

    def __init__(self):
        self.name = f"figures-{os.getpid()}"
        self.up = None

    def enter(self, nodes, boot):
        if self.up == (nodes, boot):
            return
        self.leave()
        status, _, err = call([RMC_VM, "--name", self.name, "up", "-q", "-n", str(nodes),
                               *self.options, *boot], BOOT_SECONDS)
        if status:
            raise Missing(f"no guest came up: {last_words(err)}")
        self.up = (nodes, boot)

    def leave(self):
        if self.up:
            self.up = None
            call([RMC_VM, "--name", self.name, "down"], 60)

    def executes(self, program):
        return [program, rmcvm_base.MODULE]

    def command(self, nodes, argv):
        return [RMC_RUN, "--name", self.name, "-n", str(nodes), "--", *argv]

    def facts(self):
        try:
            _, out, _ = call([RMC_VM, "--name", self.name, "status", "--json"], 30)
            found = json.loads(out)
        except (ValueError, Missing):
            return {}
        return {k: found[k] for k in ("kernel", "accel", "fabric", "shared") if k in found}


class Qemu(Guests):
    """Native with KVM only."""

    def probe(self):
        if not os.path.exists(rmcvm_base.MODULE):
            raise Missing("rmc.ko is not built: run make all")
        try:
            rmcvm_base.need(host.QEMU, "qemu-system-x86")
            kernel = guest.choose(None, rmcvm_base.MODULE)
            self._accel, self._why = host.accel("auto", kernel)
        except rmcvm_base.Fail as e:
            raise Missing(str(e)) from None
        self.native = self._accel == "kvm"

    def accel(self):
        return self._accel.upper()


# The papers have no local path. Of two --module-args rmc-vm takes the last.
PACKETS = ("--module-args", "local=0")
LOCAL = ("--module-args", "local=1")


class Cluster(Qemu):
    key = "vm"
    title = "guests"
    what = "One QEMU guest per node, connected by ivshmem: the real module, one kernel per node."
    options = ("--fabric", "ivshmem")


class Loopback(Qemu):
    key = "loopback"
    title = "loopback"
    what = ("All nodes in the kernel of one QEMU guest: the real module, no second kernel; packets "
            "between them also where one worker has both (local=0), but for columns of the local path.")
    options = ("--fabric", "loopback", *PACKETS)
    local = True


class Uml(Guests):
    key = "uml"
    title = "UML"
    what = ("All nodes in one User-Mode-Linux kernel: the real module, library and tools at the "
            "speed of this host; packets between the nodes also where one worker has both (local=0), "
            "but for columns of the local path. System calls and page faults cost more than elsewhere.")
    options = ("--machine", "uml", "--fabric", "loopback", *PACKETS)
    tcp = False
    solo = ("--cpus", "dedicated")
    local = True
    cpus = 2

    def probe(self):
        here = len(os.sched_getaffinity(0))
        if here < self.cpus:
            raise Missing(f"two nodes take {self.cpus} CPUs, this host has {here}")
        if first_line([RMC_DEPS, "uml-kdir"]) is None:
            raise Missing("there is no User-Mode-Linux kernel: run vm-setup/rmc-deps uml "
                          "(minutes, once)")


class UmlCluster(Uml):
    key = "uml-cluster"
    title = "UML cluster"
    what = ("One User-Mode-Linux kernel per node, which map one file: the real module, one kernel "
            "per node, at the speed of this host.")
    options = ("--machine", "uml")
    solo = ()
    local = False
    cpus = 4


class Processes(Daemon):
    """For figures that name it: two applications beside the worker, each with a CPU."""

    key = "processes"
    rmc = False
    local = True
    cpus = 3

    def enter(self, nodes, boot):
        super().enter(nodes, boot or PACKETS)


class Threads(Daemon):
    """For figures that name it: a server's threads wherever the scheduler puts them."""

    key = "threads"
    title = "rmcd, threads"
    what = ("Processes of this host over rmcd, on the CPUs that the scheduler chooses: a server with "
            "several threads, and its client. With fewer CPUs than threads, client and worker the "
            "latencies are the scheduler's, and marked so.")
    rmc = False
    workers = ("--no-pin",)


class Computed(Machine):
    """Results do not depend on the machine's speed."""

    key = title = "computed"
    what = ("Programs that compute, in virtual time: queueing theory, the dispatcher of messages, and a "
            "model of a chip.")
    programs = ("rmc_qsim", "rmc_chip")

    def probe(self):
        for program in self.programs:
            if not os.access(os.path.join(BUILD, program), os.X_OK):
                raise Missing(f"build/{program} is not built: run make all")

    def command(self, nodes, argv):
        return argv


class Virtual(Computed):
    """The core and librmc in virtual time: as many nodes and threads as the paper has."""

    key = "virtual"
    title = "virtual time"
    what = ("The core and librmc in the simulator, in packets, with two workers per node (ni=pair): steps, "
            "packets and queues are those of the real code; each stage costs a constant that is published, "
            "measured on one machine, fitted, or assumed (tools/sim/costs.def, and the raw JSON). The model "
            "was changed, and constants were chosen, while results were in view: Documentation/simulation.rst "
            "says which. So its agreement with a paper proves nothing; where it differs, a run shows why.")
    programs = ("sim-sonuma", "sim-sabre", "sim-pagerank", "sim-sync", "sim-hades")

    def __init__(self):
        self.boot = ()

    def enter(self, nodes, boot):
        self.boot = boot

    def command(self, nodes, argv):
        """What boots is variables of programs that know no simulator"""
        return ["env", f"RMC_SIM_NODES={nodes}", "RMC_SIM_NI=pair", "RMC_SIM_MEMORY=1", *self.boot,
                *argv] if self.boot else argv


MACHINES = {m.key: m for m in (Uml, UmlCluster, Host, Cluster, Loopback, Processes, Threads, Computed,
                               Virtual)}
