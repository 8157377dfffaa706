# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Guests that are User-Mode-Linux kernels: native speed without KVM and without
root. machine.py describes the functions."""

import contextlib
import os
import shutil
import signal
import subprocess

from . import agent, guest
from .base import CHECKOUT, VM_SETUP, Fail, alive, note

FABRIC = "uml"
# as in the Makefile
MODULE_FILE = os.path.join(
    CHECKOUT, "build",
    os.path.splitext(os.path.basename(os.environ.get("RMC_UML_CONFIG", "")))[0] or "uml", "rmc.ko")
CONSOLE_TTY = "/dev/tty0"
DEPS = os.path.join(VM_SETUP, "rmc-deps")


def folder():
    """Folder of the kernel and its headers; builds them if missing."""
    found = subprocess.run([DEPS, "uml-kdir"], capture_output=True, check=False, text=True)
    if not found.returncode:
        return found.stdout.strip()
    if subprocess.run([DEPS, "uml"], check=False, stdin=subprocess.DEVNULL).returncode:
        raise Fail("there is no User-Mode-Linux kernel", "see above, or run vm-setup/rmc-deps uml")
    return subprocess.check_output([DEPS, "uml-kdir"], text=True).strip()


def kernel(opt, module):
    if opt.kernel:
        raise Fail("--machine uml has its own kernel", "leave out --kernel")
    if opt.drivers or opt.cable:
        raise Fail("--machine uml has no drivers to load and no network", "use --machine kvm or tcg")
    where = folder()
    with open(os.path.join(where, "include/config/kernel.release"), encoding="ascii") as f:
        version = f.read().strip()
    found = guest.Kernel(version, os.path.join(where, "linux"), None)
    if module == MODULE_FILE and not guest.module_fits(module, found):
        done = subprocess.run(["make", "-s", "-C", CHECKOUT, "uml"], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        if done.returncode:
            raise Fail("rmc.ko does not build for User-Mode Linux", "see above, or run make uml")
    return found


def accel(_opt, _kernel):
    return "uml"


def boot_files(cluster, _opt, guest_kernel):
    guest.initrd(None, cluster.path("initrd"))
    os.makedirs(cluster.path("uml"), mode=0o700)
    return guest_kernel.image


def share_region(cluster, opt, _mib, _owned):
    """Kernels map the file themselves, and ring doorbells through pipes beside it."""
    cluster.state["doorbells"] = opt.doorbell == "on"
    if cluster.state["doorbells"]:
        for i in range(cluster.state["nodes"]):
            os.mkfifo(cluster.path(f"doorbell-{i}"), 0o600)
    return []


def module_args(cluster):
    if not cluster.state["region"]:
        return []
    args = [f"region={cluster.state['region']}"]
    return args + [f"doorbells={cluster.path('doorbell-')}"] if cluster.state["doorbells"] else args


def numactl(node, first=True):
    """In front of a kernel, whose threads are not pinned: it runs on its NUMA node as well."""
    if node is None:
        return []
    if not shutil.which("numactl"):
        if first:
            note("numactl is not installed: memory is not bound")
        return []
    return ["numactl", f"--cpunodebind={node}", f"--membind={node}"]


def argv(cluster, opt, i, plan, image):
    isolated = "" if plan.shared else "isolcpus=domain,managed_irq," + ",".join(map(str, plan.rmc))
    return [*numactl(plan.memory[i], i == 0), os.path.join(VM_SETUP, "uml-guest"), cluster.folder, str(i), str(agent.PORTS), image,
            f"mem={opt.mem}M", f"ncpus={plan.vcpus}", f"initrd={cluster.path('initrd')}",
            "seccomp=on", f"uml_dir={cluster.path('uml')}", f"umid={i}", "con=null", "ssl=null",
            "con0=fd:0,fd:1", "console=tty0", "quiet", "oops=panic", f"RMC_NODE={i}",
            "RMC_HOSTFS=1", *filter(None, [isolated]), *(opt.append or "").split()]


def pin(_cluster, _i):
    """No pinning: a process is a thread of the host beside that of its vCPU."""


def processes(pid):
    """A kernel and the processes of its user space, the kernel first."""
    result = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                result += map(int, f.read().split())
    return result


def running(cluster, i):
    vm = cluster.state["guests"][i]
    if not alive(vm["pid"], vm["start"]):
        raise Fail(f"node {i} is not running", f"run rmc-vm restart {i}")
    return vm["pid"]


def status(cluster, i):
    with open(f"/proc/{running(cluster, i)}/stat", encoding="ascii") as f:
        return "paused" if f.read().rsplit(")", 1)[1].split()[0] == "T" else "running"


doing = status


def pause(cluster, i):
    pid = running(cluster, i)
    os.kill(pid, signal.SIGSTOP)        # from here on it makes no more of them
    for child in processes(pid)[1:]:
        os.kill(child, signal.SIGSTOP)


def resume(cluster, i):
    for pid in reversed(processes(running(cluster, i))):
        os.kill(pid, signal.SIGCONT)
