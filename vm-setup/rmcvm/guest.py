# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Boot files of a guest: a distribution kernel as ELF image, and an initial RAM
disk of busybox, rmc-agent and the few drivers that reach the host."""

import functools
import glob
import gzip
import hashlib
import lzma
import os
import re
import struct
import subprocess
import zlib

from .base import VM_SETUP, Fail, cache_dir, need, run_tool, write_file

# In the order of their names in the kernel; dependencies are added.
DRIVERS = ("virtio_pci", "9pnet_virtio", "9p", "virtio_console")


class Kernel:
    def __init__(self, version, image, modules):
        self.version, self.image, self.modules = version, image, modules


# ---- choice of the kernel ----

def kernels(roots=None):
    """The available guest kernels, newest first; all kernels of other roots."""
    found = {}
    for root in roots or (os.path.join(cache_dir(), "kernel"), "/"):
        for image in glob.glob(os.path.join(root, "boot", "vmlinuz-*")):
            version = os.path.basename(image)[len("vmlinuz-"):]
            for lib in ("lib", "usr/lib"):
                modules = os.path.join(root, lib, "modules", version)
                if os.path.isdir(os.path.join(modules, "kernel")):
                    found[version] = Kernel(version, image, modules)
                    break

    def number(version):
        return [int(x) if x.isdigit() else -1 for x in re.split(r"[^0-9]+|(?<=\d)(?=\D)", version) if x]

    return sorted(found.values(), key=lambda k: number(k.version), reverse=True)


def extra_roots():
    """Kernels that rmc-kernels fetched or built: used on request."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    root = os.environ.get("RMC_KERNELS") or os.path.join(cache, "rmc", "kernels")
    return [os.path.dirname(ready) for ready in glob.glob(os.path.join(root, "*", "ready"))]


def choose(version=None, module=None):
    """The requested kernel, else that of rmc.ko, else the host's, else the newest."""
    have = kernels()
    more = extra_roots()
    by_version = {k.version: k for k in (kernels(more) if more else []) + have}
    if version:
        if version not in by_version:
            raise Fail(f"there is no guest kernel {version}",
                       "run vm-setup/rmc-deps vm, or choose from: " +
                       (", ".join(by_version) or "none"))
        return by_version[version]
    if module and os.path.exists(module):
        wanted = module_info(module).get("vermagic", " ").split(" ")[0]
        if wanted in by_version:
            return by_version[wanted]
    for kernel in [by_version.get(os.uname().release)] + have:
        if kernel and os.access(kernel.image, os.R_OK):
            return kernel
    if have:
        raise Fail(f"{have[0].image} is not readable for you",
                   "run vm-setup/rmc-deps vm, which fetches one of your own")
    raise Fail("there is no guest kernel", "run vm-setup/rmc-deps vm as root")


def module_fits(module, kernel):
    return os.path.exists(module) and built_for(module) == kernel.version


def built_for(module):
    return module_info(module).get("vermagic", "").split(" ")[0]


def check_module(module, kernel):
    """Report on the host an error that insmod would only log in the guest."""
    if not os.path.exists(module):
        raise Fail(f"{module} is not built", "run make modules")
    built = built_for(module)
    if built != kernel.version:
        raise Fail(f"{os.path.basename(module)} is built for kernel {built or 'unknown'}, "
                   f"the guest runs {kernel.version}",
                   f"run make clean modules KDIR=/lib/modules/{kernel.version}/build, "
                   "or give --kernel VERSION")


# ---- kernel modules ----

def module_data(path):
    with open(path, "rb") as f:
        data = f.read()
    if path.endswith(".xz"):
        return lzma.decompress(data)
    if path.endswith(".gz"):
        return gzip.decompress(data)
    if path.endswith(".zst"):
        return run_tool(["zstd", "-dcq", path], f"unpack {path}")
    return data


def module_info(path):
    """The name=value strings of .modinfo; the file has them nowhere else."""
    info = {}
    try:
        data = module_data(path)
    except OSError as e:
        raise Fail(f"cannot read {path}: {e.strerror}") from None
    for name, value in re.findall(rb"(?<=\0)(depends|vermagic)=([^\0]*)\0", data):
        info[name.decode()] = value.decode(errors="replace")
    return info


def driver_files(kernel, more=()):
    """Files of DRIVERS and of more, with their dependencies, in the order of loading."""
    where = {}
    for folder, _, names in os.walk(os.path.join(kernel.modules, "kernel")):
        for name in names:
            match = re.match(r"(.+)\.ko(\.xz|\.gz|\.zst)?$", name)
            if match:
                where[match[1].replace("-", "_")] = os.path.join(folder, name)
    try:
        with open(os.path.join(kernel.modules, "modules.builtin"), encoding="ascii") as f:
            builtin = {os.path.basename(x.strip())[:-3].replace("-", "_") for x in f}
    except OSError:
        builtin = set()

    order = []

    def add(name):
        if name in builtin or name in order:
            return
        if name not in where:
            raise Fail(f"guest kernel {kernel.version} lacks the driver {name}",
                       "give --kernel VERSION of a full (not cloud) kernel")
        for dep in filter(None, module_info(where[name]).get("depends", "").split(",")):
            add(dep.replace("-", "_"))
        order.append(name)

    for name in (*DRIVERS, *more):
        add(name.replace("-", "_"))
    return [where[name] for name in order]


# ---- ELF image: boots in a third of the time of a bzImage ----

def boot_image(kernel):
    """The ELF image, if it can be booted as such."""
    elf = elf_image(kernel)
    return elf if has_pvh_entry(read(elf)) else kernel.image


def has_pvh_entry(elf):
    """The note of the name, in a segment of notes: elf(5), xen/interface/elfnote.h."""
    pt_note, phys32_entry = 4, 18
    offset, = struct.unpack_from("<Q", elf, 0x20)
    size, count = struct.unpack_from("<HH", elf, 0x36)
    for i in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", elf, offset + i * size)
        end = start + length if kind == pt_note else start
        while start + 12 <= end:
            name, data, what = struct.unpack_from("<III", elf, start)
            if what == phys32_entry and elf[start + 12:start + 16] == b"Xen\0":
                return True
            start += 12 + (name + 3 & ~3) + (data + 3 & ~3)
    return False


def elf_image(kernel):
    try:
        st = os.stat(kernel.image)
        key = hashlib.sha256(f"{kernel.image} {st.st_size} {st.st_mtime_ns}".encode()).hexdigest()[:12]
        path = os.path.join(cache_dir(), f"vmlinux-{kernel.version}-{key}")
        if not os.path.exists(path):
            with open(kernel.image, "rb") as f:
                write_file(path, unpack_bzimage(f.read(), kernel.image))
    except OSError as e:
        raise Fail(f"cannot read {kernel.image}: {e.strerror}") from None
    return path


def unpack_bzimage(data, name):
    # Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length
    sectors = data[0x1f1] or 4
    offset, length = struct.unpack_from("<II", data, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = data[start:start + length]
    magic = payload[:6]
    if magic.startswith(b"\xfd7zXZ"):
        image = lzma.LZMADecompressor().decompress(payload)
    elif magic.startswith(b"\x1f\x8b"):
        image = zlib.decompressobj(31).decompress(payload)
    elif magic.startswith(b"\x28\xb5\x2f\xfd"):
        image = filtered(["zstd", "-dcq"], payload)
    elif magic.startswith(b"\x02\x21\x4c\x18"):
        image = filtered(["lz4", "-dcq"], payload)
    elif magic.startswith(b"\x7fELF"):
        image = payload
    else:
        raise Fail(f"{name}: unknown compression ({magic.hex()})")
    if not image.startswith(b"\x7fELF"):
        raise Fail(f"{name} does not contain an ELF image", "give another --kernel VERSION")
    return image


def filtered(argv, data):
    need(argv[0], argv[0])
    # The payload ends with its unpacked size, which the tools report as trailing garbage.
    done = subprocess.run(argv, input=data, capture_output=True, check=False)
    return done.stdout


# ---- initial RAM disk ----

def agent_binary():
    source = os.path.join(VM_SETUP, "rmc-agent.c")
    with open(source, "rb") as f:
        key = hashlib.sha256(f.read()).hexdigest()[:12]
    path = os.path.join(cache_dir(), f"rmc-agent-{key}")
    if not os.path.exists(path):
        tmp = f"{path}.{os.getpid()}"
        run_tool([need("gcc", "gcc"), "-O2", "-static", "-o", tmp, source], "build rmc-agent")
        os.rename(tmp, path)
    return path


@functools.lru_cache(maxsize=None)
def tsc_khz():
    """Of the host, in kHz; None if it has no such clock. Takes 50 ms."""
    out = subprocess.run([agent_binary(), "--tsc-khz"], capture_output=True, text=True,
                         check=False).stdout.strip()
    return int(out) if out.isdigit() and int(out) > 100000 else None


def cpio(entries):
    """An archive in the kernel's "newc" format from (name, mode, data)."""
    out = bytearray()
    for ino, (name, mode, data) in enumerate(entries + [("TRAILER!!!", 0, b"")], 1):
        fields = (ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        out += b"070701" + b"".join(b"%08X" % x for x in fields) + name.encode() + b"\0"
        out += bytes(-len(out) % 4) + data
        out += bytes(-len(out) % 4)
    return bytes(out)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def static_busybox():
    path = need("busybox", "busybox-static")
    if b"/lib64/ld-linux" in read(path)[:4096]:
        raise Fail(f"{path} is not static", "install the package busybox-static")
    return path


def initrd(kernel, path, more=()):
    """kernel: the one whose drivers a QEMU guest needs; None: the guest needs no drivers.
    more: names of drivers that are loaded as well."""
    drivers = driver_files(kernel, more) if kernel else []
    names = [re.sub(r"\.(xz|gz|zst)$", "", os.path.basename(x)) for x in drivers]
    directories = ("bin", "dev", "proc", "sys", "modules", "newroot")
    entries = [(d, 0o40755, b"") for d in directories]
    entries += [("init", 0o100755, read(os.path.join(VM_SETUP, "guest-init"))),
                ("bin/busybox", 0o100755, read(static_busybox())),
                ("bin/rmc-agent", 0o100755, read(agent_binary())),
                ("modules/order", 0o100644, "".join(f"{n}\n" for n in names).encode())]
    entries += [(f"modules/{n}", 0o100644, module_data(d)) for n, d in zip(names, drivers)]
    write_file(path, cpio(entries))
