# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""The emulator of a guest: QEMU (qemu.py) or User-Mode Linux (uml.py). Each has

    FABRIC          the fabric= of a cluster
    MODULE_FILE     the default rmc.ko
    CONSOLE_TTY     the guest's end of its console
    kernel()        guest.Kernel of a boot; raises Fail when there is none
    accel()         "kvm", "tcg" or "uml"
    boot_files()    make the initial RAM disk, return the kernel's image
    share_region()  give the cluster's region to guests: arguments of each
    module_args()   parameters of rmc.ko of this machine
    argv()          command line of a guest, without share_region()
    pin()           bind vCPUs to the cores of the plan
    status()        "running", "paused" or another word; pause(), resume()
    doing()         the same with details if available: for a guest that does not answer
"""

from . import guest, host, qemu, uml
from .base import Fail


def chosen(opt):
    """For the options of a boot."""
    if opt.machine == "native":
        opt.machine = "kvm" if kvm_works(opt) else "uml"
    return uml if opt.machine == "uml" else qemu


def kvm_works(opt):
    try:
        return not host.kvm_trouble(guest.choose(opt.kernel, opt.module or qemu.MODULE_FILE))
    except Fail:                # nothing to boot on it
        return False


def of(state):
    """For the state of a cluster."""
    return uml if state["accel"] == "uml" else qemu
