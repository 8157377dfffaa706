# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Guests of QEMU, with KVM or emulated. machine.py describes the functions."""

import fcntl
import json
import os
import re
import socket
import time

from . import agent, guest, host
from .base import MODULE, VM_SETUP, Fail, alive, need, note

FABRIC = "ivshmem"
MODULE_FILE = MODULE
CONSOLE_TTY = "/dev/ttyS0"


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

    def do(self, command, **arguments):
        said = {"execute": command, "arguments": arguments}
        self.sock.sendall(json.dumps(said).encode() + b"\n")
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


def qmp(cluster, i, command):
    try:
        with Qmp(cluster.path(f"qmp-{i}")) as control:
            return control.do(command)
    except (OSError, ValueError):
        raise Fail(f"node {i} is not running", f"run rmc-vm restart {i}") from None


def kernel(opt, module):
    need(host.QEMU, "qemu-system-x86")
    return guest.choose(opt.kernel, module)


def trouble(opt):
    """Why no guest of these options can be booted on this host, found without booting; or None.
    What it makes is kept for the boot."""
    module = None if opt.no_module else opt.module or MODULE_FILE
    try:
        found = kernel(opt, module)
        if module:
            guest.check_module(module, found)
        guest.static_busybox()
        guest.agent_binary()
        guest.driver_files(found, opt.drivers)
        guest.boot_image(found)
    except Fail as e:
        return e.what
    return None


def accel(opt, guest_kernel):
    kind, why = host.accel(opt.machine, guest_kernel)
    if kind == "tcg" and not opt.quiet:
        note(f"no KVM ({why}): guests are emulated, times measured in them are not representative")
    return kind


def boot_files(cluster, opt, guest_kernel):
    drivers = opt.drivers + (["virtio_net"] if opt.cable else [])
    guest.initrd(guest_kernel, cluster.path("initrd"), drivers)
    return guest.boot_image(guest_kernel)


def cable(cluster, i):
    """Its end of the cable: datagrams in both directions; guests start in any order."""
    ends = [f"path={cluster.path(f'cable-{k}')}" for k in (i, 1 - i)]
    return ["-netdev", f"dgram,id=cable,local.type=unix,local.{ends[0]},"
                       f"remote.type=unix,remote.{ends[1]}",
            "-device", f"virtio-net-pci,netdev=cable,mac=52:54:00:72:6d:{i:02x},romfile="]


def share_region(cluster, opt, mib, owned):
    region = cluster.state["region"]
    if opt.doorbell == "on":
        start_server(cluster, owned)
        return ["-chardev", f"socket,id=doorbell,path={cluster.path('doorbell')}",
                "-device", "ivshmem-doorbell,vectors=1,chardev=doorbell"]
    return ["-object", f"memory-backend-file,id=region,share=on,mem-path={region},size={mib}M",
            "-device", "ivshmem-plain,memdev=region"]


def start_server(cluster, owned):
    cluster.state["server"] = cluster.spawn(
        [os.path.join(VM_SETUP, "ivshmem-server"), "-S", cluster.path("doorbell"),
         "-m", cluster.state["region"]], "doorbell.log", owned)
    cluster.save()
    server = cluster.state["server"]
    while not os.path.exists(cluster.path("doorbell")):
        if not alive(server["pid"], server["start"]):
            raise Fail(f"the doorbell server ended{cluster.complaint('doorbell.log')}",
                       "give --doorbell off")
        time.sleep(0.01)


def module_args(cluster):
    """Longer time-outs: a busy host may not run an emulated guest for seconds."""
    return ["dead_ms=10000", "timeout_ms=30000"] if cluster.state["accel"] == "tcg" else []


def memory(opt, node):
    """-machine's part and options; node: the NUMA node to bind it to, or None"""
    if node is None:
        return "", ["-m", str(opt.mem)]
    return ",memory-backend=mem", ["-m", str(opt.mem), "-object", f"memory-backend-ram,id=mem,"
                                   f"size={opt.mem}M,host-nodes={node},policy=bind"]


def argv(cluster, opt, i, plan, elf):
    kind = cluster.state["accel"]
    kernel_args = ["console=ttyS0", "quiet", "panic=-1", "oops=panic", "tsc=reliable",
                   f"RMC_NODE={i}", plan.kernel_args(), opt.append or ""]
    if kind == "tcg":       # properties that the kernel cannot detect here
        kernel_args.insert(4, "clocksource=tsc mitigations=off no_timer_check")
        khz = guest.tsc_khz()
        if khz:     # measured in a guest it is wrong whenever the host is busy
            kernel_args.insert(4, f"tsc_early_khz={khz}")
    backend, ram = memory(opt, plan.memory[i])
    result = [need(host.QEMU, "qemu-system-x86"), "-name", f"rmc-{cluster.name}-{i}",
              "-accel", "tcg,thread=multi" if kind == "tcg" else "kvm",
              # la57: five-level page tables only cost time
              "-cpu", "max,la57=off" if kind == "tcg" else "host,migratable=no",
              "-machine", host.MACHINE + backend, "-smp", str(plan.vcpus), *ram,
              "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
              "-kernel", elf, "-initrd", cluster.path("initrd"),
              "-append", " ".join(filter(None, kernel_args)),
              "-qmp", f"unix:{cluster.path(f'qmp-{i}')},server=on,wait=off",
              "-chardev", f"socket,id=con,path={cluster.path(f'console-{i}')},server=on,wait=off,"
                          f"logfile={cluster.path(f'console-{i}.log')},logappend=on",
              "-serial", "chardev:con",
              "-device", f"virtio-serial-pci,max_ports={agent.PORTS + 1}"]
    for tag, where in (("hostroot", "/"), ("hostusr", "/usr")):
        result += ["-fsdev", f"local,id={tag},path={where},security_model=none,readonly=on,"
                             "multidevs=remap",
                   "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    if opt.cable:
        result += cable(cluster, i)
    for k in range(agent.PORTS):
        result += ["-chardev", f"socket,id=a{k},path={cluster.path(f'agent-{i}.{k}')},"
                               "server=on,wait=off",
                   "-device", f"virtserialport,chardev=a{k},name=rmc-agent.{k}"]
    return result


def pin(cluster, i):
    try:
        with Qmp(cluster.path(f"qmp-{i}")) as control:
            for vcpu in control.do("query-cpus-fast"):
                core = cluster.state["pins"][i][vcpu["cpu-index"]]
                os.sched_setaffinity(vcpu["thread-id"], {core})
    except OSError as e:
        note(f"node {i}: vCPUs are not pinned: {e}")


def status(cluster, i):
    return qmp(cluster, i, "query-status")["status"]


def doing(cluster, i):
    try:
        with Qmp(cluster.path(f"qmp-{i}")) as control:
            state = control.do("query-status")["status"]
            seen = control.do("human-monitor-command", **{"command-line": "info registers -a"})
    except (OSError, ValueError, Fail) as e:
        return f"QEMU does not answer: {e}"
    return f"{state}, vCPUs at " + ", ".join(
        rip + " (halted)" * int(halted) for rip, halted in re.findall(r"RIP=(\w+).*?HLT=(\d)", seen, re.S))


def pause(cluster, i):
    qmp(cluster, i, "stop")


def resume(cluster, i):
    qmp(cluster, i, "cont")
