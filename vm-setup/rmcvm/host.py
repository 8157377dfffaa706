# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Capabilities of this host: hardware virtualization, cores, memory to share."""

import glob
import mmap
import os
import re
import subprocess
import tempfile

from . import guest
from .base import Fail, need, state_root, write_file

QEMU = "qemu-system-x86_64"
# Without PCI legacy devices: nothing to probe, boots faster.
MACHINE = "q35,sata=off,smbus=off,usb=off,vmport=off"
PROBE_SECONDS = 8
SYS, PROC = "/sys", "/proc"


# ---- acceleration ----

def accel(choice, kernel):
    """("kvm" or "tcg", why not kvm). /dev/kvm proves nothing: some hosts have
    one that opens and answers, but cannot run a stock kernel."""
    if choice == "tcg":
        return "tcg", "as asked"
    why = kvm_trouble(kernel)
    if why and choice == "kvm":
        raise Fail(f"KVM cannot be used: {why}", "use --machine tcg")
    return ("tcg", why) if why else ("kvm", "")


def kvm_trouble(kernel):
    if not os.path.exists("/dev/kvm"):
        return "there is no /dev/kvm"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "/dev/kvm is not yours to open (add yourself to the group kvm)"
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        key = f"{f.read().strip()} {kernel.version} {os.path.getmtime(need(QEMU, 'qemu-system-x86'))}"
    cached = os.path.join(state_root(), "kvm-probe")
    try:
        with open(cached, encoding="utf-8") as f:
            if f.readline().strip() == key:
                return f.readline().strip()
    except OSError:
        pass
    why = "" if probe_boots(kernel) else "/dev/kvm opens, but a probe guest does not boot on it"
    write_file(cached, f"{key}\n{why}\n".encode())
    return why


def probe_boots(kernel, kind="kvm"):
    with tempfile.TemporaryDirectory(dir=state_root()) as folder:
        initrd = os.path.join(folder, "initrd")
        guest.initrd(kernel, initrd)
        argv = [need(QEMU, "qemu-system-x86"), "-accel", kind, "-cpu", "host" if kind == "kvm" else "max",
                "-machine", MACHINE, "-m", "256", "-smp", "2", "-nodefaults", "-no-user-config",
                "-no-reboot", "-display", "none", "-serial", "stdio",
                "-kernel", guest.boot_image(kernel), "-initrd", initrd,
                "-append", "console=ttyS0 panic=-1 quiet RMC_PROBE=1"]
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as proc:
            try:
                out, _ = proc.communicate(timeout=PROBE_SECONDS)
            except subprocess.TimeoutExpired:
                proc.kill()
                out, _ = proc.communicate()
    return b"rmc-guest: probe-ok" in out


# ---- cores ----

def parse_list(text):
    """"0-2,5" -> [0, 1, 2, 5]"""
    result = []
    for part in filter(None, text.strip().split(",")):
        low, _, high = part.partition("-")
        result += range(int(low), int(high or low) + 1)
    return result


def numa_domains():
    """The host cores we may use: (number, cores) for each NUMA node that has some; number None: of
    no node."""
    allowed = os.sched_getaffinity(0)
    nodes = []
    for path in sorted(glob.glob(f"{SYS}/devices/system/node/node[0-9]*/cpulist"),
                       key=lambda p: int(re.search(r"node(\d+)/cpulist", p)[1])):
        with open(path, encoding="ascii") as f:
            mine = [c for c in parse_list(f.read()) if c in allowed]
        allowed -= set(mine)
        nodes.append((int(re.search(r"node(\d+)/cpulist", path)[1]), mine))
    return [node for node in [*nodes, (None, sorted(allowed))] if node[1]]


def numa_nodes():
    """The host cores we may use, as a list for each NUMA node."""
    return [mine for _, mine in numa_domains()]


def numa_memory():
    """Numbers of the NUMA nodes whose memory we may use"""
    try:
        with open(f"{SYS}/devices/system/node/has_memory", encoding="ascii") as f:
            found = set(parse_list(f.read()))
        with open(f"{PROC}/self/status", encoding="ascii", errors="replace") as f:
            allowed = re.search(r"^Mems_allowed_list:\s*(\S*)", f.read(), re.M)
    except (OSError, ValueError):
        return set()
    return found & set(parse_list(allowed[1])) if allowed else found


def cores():
    """The host cores we may use, those of one NUMA node side by side."""
    return [core for node in numa_nodes() for core in node]


def by_core():
    """The host's CPUs that we may use: for each NUMA node a list of physical cores, each a list
    of its hardware threads."""
    result = []
    for node in numa_nodes():
        physical = {}
        for cpu in node:
            try:
                with open(f"{SYS}/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list",
                          encoding="ascii") as f:
                    key = min(parse_list(f.read()))
            except (OSError, ValueError):
                key = cpu
            physical.setdefault(key, []).append(cpu)
        result.append(list(physical.values()))
    return result


def cpu_quota():
    """CPU time per time that our cgroup and those above it may take; None: all there is."""
    def limits(group, folders, read):
        # a container may see the path that the host has, and mounts its own group at the top
        parts = [part for part in group.split("/") if part and part != ".."]
        for folder in folders:
            for depth in range(len(parts) + 1):
                try:
                    quota, period = read(os.path.join(folder, *parts[:depth]))
                    if int(quota) > 0 and int(period) > 0:
                        yield int(quota) / int(period)
                except (OSError, ValueError):
                    pass

    def word(folder, name):
        with open(os.path.join(folder, name), encoding="ascii") as f:
            return f.read().strip()

    def v1(folder):
        return word(folder, "cpu.cfs_quota_us"), word(folder, "cpu.cfs_period_us")

    found = []
    try:
        with open(f"{PROC}/self/cgroup", encoding="utf-8") as f:
            lines = [line.rstrip("\n").split(":", 2) for line in f]
    except OSError:
        return None
    for _, controllers, group in lines:
        if not controllers:
            found += limits(group, [f"{SYS}/fs/cgroup", f"{SYS}/fs/cgroup/unified"],
                            lambda folder: word(folder, "cpu.max").split())
        elif "cpu" in controllers.split(","):
            found += limits(group, [f"{SYS}/fs/cgroup/cpu", f"{SYS}/fs/cgroup/{controllers}"], v1)
    return min(found, default=None)


class Plan:
    """Mapping of vCPUs to host cores, and of programs to vCPUs.

    dedicated: every vCPU has a host core. The first ones are the
               applications', the others the RMCs', isolated in the guest.
    shared:    too few cores for spinning. Application and RMC yield to each
               other, with one node per guest on one vCPU; vCPU 0 is left to the
               guest's housekeeping.

    On a host with several NUMA nodes the cores of a guest are of one of them, if it has enough, and
    so is its memory: see bind(). Where there are more guests than NUMA nodes, some share one.

    A guest is one node, or all nodes with the loopback fabric. It never has
    just one vCPU: the emulator would drop the lock prefix, and atomics between
    guests would be lost.
    """

    def __init__(self, nodes, workers, loopback=False, shared=None):
        domains = numa_domains()
        have = [core for _, mine in domains for core in mine]
        guests = 1 if loopback else nodes
        apps = nodes if loopback else 1
        wanted = guests * (apps + workers)
        self.shared = len(have) < wanted if shared is None else shared
        if not self.shared:
            self.vcpus = apps + workers
            self.rmc = list(range(apps, self.vcpus))
            self.app = [i if loopback else 0 for i in range(nodes)]
        elif loopback:          # the workers of all nodes are one set of threads
            self.vcpus = max(2, min(len(have), nodes + workers))
            self.rmc = list(range(max(1, self.vcpus - workers), self.vcpus))
            self.app = [i % self.rmc[0] for i in range(nodes)]
        else:
            self.vcpus, self.rmc, self.app = 2, [1], [1] * nodes
        # RMC vCPUs choose first, so that they are spread best.
        order = sorted(range(self.vcpus), key=lambda v: v not in self.rmc)
        self.pins = [[None] * self.vcpus for _ in range(guests)]
        for some, mine in self.divide(guests, domains):
            turns = [(g, v) for v in order for g in some]
            if not self.shared:
                turns = [(g, v) for g in some for v in range(self.vcpus)]
            for turn, (g, v) in enumerate(turns):
                self.pins[g][v] = mine[turn % len(mine)]
        number = {core: n for n, mine in domains for core in mine}
        homes = [{number[core] for core in pins} for pins in self.pins]
        self.homes = [home.pop() if len(home) == 1 else None for home in homes]
        self.domains = len(domains)
        self.memory = [None] * guests
        kind = "shared" if self.shared else "dedicated"
        how = ("a core for every application and RMC worker" if not self.shared else
               "applications and RMC workers yield to each other")
        self.text = (f"CPU plan: {kind}, {how} ({len(have)} host core{'s' * (len(have) > 1)}, "
                     f"dedicated takes {wanted})")

    def divide(self, guests, domains):
        """(guests, their cores) by NUMA nodes: all guests have their cores of one each, or all of
        all."""
        if self.shared:
            share = [[g for g in range(guests) if g * len(domains) // guests == n]
                     for n in range(len(domains))]
        else:
            share, left = [], list(range(guests))
            for _, mine in domains:
                room = len(mine) // self.vcpus
                share.append(left[:room])
                left = left[room:]
            if left:
                return [(range(guests), [core for _, mine in domains for core in mine])]
        return [(some, mine) for some, (_, mine) in zip(share, domains) if some]

    def bind(self, how):
        """Set memory: the NUMA node of each guest's memory, None if it is not bound. how: "auto",
        where there are several nodes; "bind", also where there is one; "off". Returns a text."""
        usable = numa_memory()
        if how == "off":
            return "memory is not bound"
        if how == "auto" and self.domains < 2:
            return "memory is not bound: one NUMA node"
        self.memory = [home if home in usable else None for home in self.homes]
        if None in self.memory:
            return (f"memory of {sum(m is not None for m in self.memory)} of {len(self.memory)} guests "
                    "is bound: others have cores of several NUMA nodes, or of one without memory")
        return f"memory of each guest is bound to the NUMA node of its cores: {self.memory}"

    def kernel_args(self):
        if self.shared:
            return ""
        rmc = ",".join(map(str, self.rmc))
        return f"isolcpus=managed_irq,domain,{rmc} nohz_full={rmc} rcu_nocbs={rmc} irqaffinity=0"


# ---- shared memory ----

def region_size(nodes, asked=None):
    """1 MiB per ordered pair of nodes is ample; PCI wants a power of two."""
    mib = asked or max(16, nodes * nodes)
    return 1 << (mib - 1).bit_length()


def region_folder(mib):
    """Folder of the shared file: huge pages if available, else tmpfs."""
    try:
        with open("/proc/mounts", encoding="utf-8") as f:
            mounts = [line.split() for line in f]
        with open("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", encoding="ascii") as f:
            free = int(f.read()) * 2
    except OSError:
        mounts, free = [], 0
    for _, where, kind, options, *_ in mounts:
        if (kind == "hugetlbfs" and free >= mib and os.access(where, os.W_OK) and
                "pagesize=2M" in options):
            return where, True
    return ("/dev/shm" if os.access("/dev/shm", os.W_OK) else state_root()), False


def make_region(name, mib):
    folder, huge = region_folder(mib)
    path = os.path.join(folder, name)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.ftruncate(fd, mib << 20)
            # Now, so that a full disk is an error here and not a bus error later,
            # and the pages are on the NUMA node whose cores come first in a plan.
            allowed = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {cores()[0]})
            try:
                os.posix_fallocate(fd, 0, mib << 20)
            finally:
                os.sched_setaffinity(0, allowed)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(fd)
    except OSError as e:
        raise Fail(f"cannot get {mib} MiB of shared memory in {folder}: {e.strerror}",
                   "remove files there, or give a smaller --shm-size") from None
    return path


def clear_region(path):
    """Zero it, as after its creation; path: None if there is none."""
    if not path:
        return
    size = os.path.getsize(path)
    with open(path, "r+b", buffering=0) as f:
        if path.startswith("/dev/shm/"):
            f.truncate(0)
            f.truncate(size)
            os.posix_fallocate(f.fileno(), 0, size)
            return
        with mmap.mmap(f.fileno(), size) as mem:    # hugetlbfs has no write()
            for at in range(0, size, 1 << 20):
                mem[at:at + (1 << 20)] = bytes(1 << 20)
