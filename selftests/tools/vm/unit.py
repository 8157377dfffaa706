#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Parts of rmcvm that need no guest."""

import argparse
import errno
import gzip
import lzma
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..",
                                "vm-setup"))
from rmcvm import agent, base, cluster, daemon, guest, host, launch, qemu, uml      # noqa: E402


def plan(cores, *args, **kwargs):
    with mock.patch.object(host, "numa_domains", lambda: [(0, list(range(cores)))]):
        return host.Plan(*args, **kwargs)


class PlanTest(unittest.TestCase):
    def test_every_guest_has_two_vcpus(self):
        for cores in (1, 2, 3, 4, 8, 64):
            for nodes in (1, 2, 4, 9):
                for loopback in (False, True):
                    for workers in (1, 2):
                        p = plan(cores, nodes, workers, loopback)
                        self.assertGreaterEqual(p.vcpus, 2)
                        self.assertEqual(len(p.pins), 1 if loopback else nodes)
                        self.assertTrue(all(c in range(cores) for pin in p.pins for c in pin))
                        self.assertTrue(all(a < p.vcpus for a in p.app + p.rmc))
                        self.assertEqual(len(p.app), nodes)

    def test_dedicated_gives_every_vcpu_a_core(self):
        p = plan(4, 2, 1)
        self.assertFalse(p.shared)
        self.assertEqual(p.pins, [[0, 1], [2, 3]])
        self.assertEqual((p.app, p.rmc), ([0, 0], [1]))
        self.assertIn("nohz_full=1 ", p.kernel_args())

    def test_pair_has_two_worker_vcpus(self):
        p = plan(6, 2, 2)
        self.assertEqual((p.vcpus, p.rmc, p.shared), (3, [1, 2], False))

    def test_shared_spreads_the_busy_vcpus(self):
        p = plan(2, 2, 1)
        self.assertTrue(p.shared)
        self.assertEqual([pin[1] for pin in p.pins], [0, 1])
        self.assertEqual((p.app, p.rmc), ([1, 1], [1]))
        self.assertEqual(p.kernel_args(), "")
        self.assertEqual([pin[1] for pin in plan(2, 4, 1).pins], [0, 1, 0, 1])

    def test_loopback_keeps_applications_off_the_workers(self):
        p = plan(2, 8, 1, True)
        self.assertEqual((p.vcpus, p.rmc, p.app), (2, [1], [0] * 8))
        p = plan(16, 8, 1, True)
        self.assertEqual((p.shared, p.rmc, p.app), (False, [8], list(range(8))))

    def test_forced(self):
        self.assertTrue(plan(64, 2, 1, shared=True).shared)
        self.assertFalse(plan(2, 2, 1, shared=False).shared)


class NumaPlanTest(unittest.TestCase):
    """Guests on a host with several NUMA nodes: cores and memory of one each."""

    @staticmethod
    def plan(domains, *args, how="auto", usable=None):
        with mock.patch.object(host, "numa_domains", lambda: domains), \
             mock.patch.object(host, "numa_memory", lambda: usable or {n for n, _ in domains}):
            p = host.Plan(*args)
            return p, p.bind(how)

    EIGHT = [(n, list(range(6 * n, 6 * n + 6))) for n in range(8)]

    def test_sixteen_guests_are_two_of_each_node(self):       # as in A14 7.1
        p, text = self.plan(self.EIGHT, 16, 1)
        self.assertFalse(p.shared)
        self.assertEqual(p.memory, [g // 3 for g in range(16)])
        self.assertIn("bound to the NUMA node", text)
        p, _ = self.plan([(n, mine[:2]) for n, mine in self.EIGHT], 16, 1)
        self.assertTrue(p.shared)
        self.assertEqual(p.memory, [g // 2 for g in range(16)])

    def test_vcpus_and_memory_are_of_one_node(self):
        number = {core: n for n, mine in self.EIGHT for core in mine}
        for guests in (1, 2, 3, 7, 16, 24, 40):
            for workers in (1, 2):
                p, _ = self.plan(self.EIGHT, guests, workers)
                for pins, node in zip(p.pins, p.memory):
                    self.assertEqual({number[core] for core in pins}, {node})

    def test_a_guest_that_no_node_has_cores_for(self):
        p, text = self.plan([(0, [0, 1, 2]), (1, [3, 4, 5])], 3, 1)
        self.assertFalse(p.shared)
        self.assertEqual(p.memory, [0, None, 1])
        self.assertIn("memory of 2 of 3 guests", text)

    def test_a_node_without_memory(self):
        p, _ = self.plan(self.EIGHT[:2], 4, 1, usable={1})
        self.assertEqual(p.memory, [None, None, None, 1])

    def test_one_node(self):
        p, text = self.plan(self.EIGHT[:1], 2, 1)
        self.assertEqual((p.memory, text), ([None, None], "memory is not bound: one NUMA node"))
        self.assertEqual(self.plan(self.EIGHT[:1], 2, 1, how="bind")[0].memory, [0, 0])
        self.assertEqual(self.plan(self.EIGHT, 2, 1, how="off")[0].memory, [None, None])

    def test_qemu_binds(self):
        opt = argparse.Namespace(mem=256)
        self.assertEqual(qemu.memory(opt, None), ("", ["-m", "256"]))
        backend, ram = qemu.memory(opt, 3)
        self.assertEqual(backend, ",memory-backend=mem")
        self.assertEqual(ram[-1], "memory-backend-ram,id=mem,size=256M,host-nodes=3,policy=bind")

    def test_a_kernel_of_user_mode_linux_binds(self):
        with mock.patch.object(uml.shutil, "which", lambda _: "/bin/numactl"):
            self.assertEqual(uml.numactl(1), ["numactl", "--cpunodebind=1", "--membind=1"])
            self.assertEqual(uml.numactl(None), [])
        with mock.patch.object(uml.shutil, "which", lambda _: None), mock.patch.object(uml, "note") as said:
            self.assertEqual(uml.numactl(1), [])
            said.assert_called_once()

    def test_what_this_host_says(self):
        with tempfile.TemporaryDirectory() as top:
            for n, cpus in ((0, "0"), (2, "1-3"), (10, "")):
                os.makedirs(f"{top}/sys/devices/system/node/node{n}")
                with open(f"{top}/sys/devices/system/node/node{n}/cpulist", "w", encoding="ascii") as f:
                    f.write(cpus + "\n")
            with open(f"{top}/sys/devices/system/node/has_memory", "w", encoding="ascii") as f:
                f.write("0,10\n")
            os.makedirs(f"{top}/proc/self")
            with open(f"{top}/proc/self/status", "w", encoding="ascii") as f:
                f.write("Mems_allowed:\t00000005\nMems_allowed_list:\t0,2\n")
            with mock.patch.object(host, "SYS", f"{top}/sys"), mock.patch.object(host, "PROC", f"{top}/proc"), \
                 mock.patch.object(os, "sched_getaffinity", lambda _: {0, 2, 3, 7}):
                self.assertEqual(host.numa_domains(), [(0, [0]), (2, [2, 3]), (None, [7])])
                self.assertEqual(host.numa_nodes(), [[0], [2, 3], [7]])
                self.assertEqual(host.numa_memory(), {0})


class DaemonPlanTest(unittest.TestCase):
    """CPUs of rmcd and its processes, on hosts that are made up."""

    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        self.allowed = set()
        for name, value in (("SYS", self.top + "/sys"), ("PROC", self.top + "/proc")):
            patch = mock.patch.object(host, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        patch = mock.patch.object(os, "sched_getaffinity", lambda _: set(self.allowed))
        patch.start()
        self.addCleanup(patch.stop)

    def write(self, path, text):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            f.write(text + "\n")

    def host(self, sockets, cores, threads=1):
        """As Linux numbers them: first one thread of each core, socket by socket."""
        total = sockets * cores
        self.allowed = set(range(total * threads))
        for socket_ in range(sockets):
            first = socket_ * cores
            self.write(f"sys/devices/system/node/node{socket_}/cpulist", ",".join(
                f"{t * total + first}-{t * total + first + cores - 1}" for t in range(threads)))
        for cpu in self.allowed:
            self.write(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list",
                       ",".join(str(t * total + cpu % total) for t in range(threads)))

    def flat(self, *cpus):
        self.allowed = set(cpus)
        return daemon.plan

    def test_processes_are_pinned_where_there_is_a_cpu_for_each(self):
        self.assertEqual(self.flat(0, 1, 2, 3)(2), (2, [1, 3], [0, 2]))
        self.assertEqual(self.flat(0, 1, 2)(2), (1, [2], [0, 1]))
        self.assertEqual(self.flat(0, 1)(1), (1, [1], [0]))
        self.assertEqual(self.flat(4, 7)(2), (1, [7], [None, None]))
        self.assertEqual(self.flat(0)(1), (1, [0], [None]))
        self.assertEqual(self.flat(0, 1)(2, 3), (3, [0, 1], [None, None]))
        # more workers than nodes: rmcd starts one per node
        self.assertEqual(self.flat(0, 1, 2, 3)(1, 2), (2, [1, 2], [0]))

    def test_no_more_workers_than_rmcd_takes(self):
        with open(os.path.join(base.CHECKOUT, "tools", "rmcd", "rmcd.h"), encoding="ascii") as f:
            most = int(re.search(r"#define RMCD_MAX_SETS\s+(\d+)", f.read())[1])
        for nodes in (64, 65, 100):
            workers, cpus, processes = self.flat(*range(200))(nodes)
            self.assertEqual((workers, len(cpus)), (most, most))
            self.assertEqual(len({*processes, *cpus}), nodes + most)

    def test_a_worker_and_its_process_are_on_one_socket(self):
        self.host(2, 4)
        self.assertEqual(daemon.plan(2), (2, [1, 3], [0, 2]))
        self.assertEqual(daemon.plan(4), (4, [1, 3, 5, 7], [0, 2, 4, 6]))
        self.host(2, 3)             # an odd number: one of each is left over
        self.assertEqual(daemon.plan(2), (2, [1, 4], [0, 3]))
        self.assertEqual(daemon.plan(3), (3, [1, 4, 5], [0, 3, 2]))
        self.host(2, 4)
        self.allowed = {3, 4, 5, 6, 7}
        self.assertEqual(daemon.plan(3), (1, [7], [4, 5, 6]))

    def test_siblings_are_a_worker_and_its_process(self):
        self.host(1, 4, 2)          # siblings: 0 and 4, 1 and 5, ...
        self.assertEqual(daemon.plan(2), (2, [1, 3], [0, 2]))
        self.assertEqual(daemon.plan(4), (4, [4, 5, 6, 7], [0, 1, 2, 3]))
        self.host(2, 2, 2)          # 0, 1, 4, 5 and 2, 3, 6, 7
        self.assertEqual(daemon.plan(4), (4, [4, 5, 6, 7], [0, 1, 2, 3]))
        self.assertEqual(daemon.plan(3, 1), (1, [5], [0, 4, 1]))

    def quota(self, *files, cgroup):
        for path, text in files:
            self.write(path, text)
        self.write("proc/self/cgroup", cgroup)
        return host.cpu_quota()

    def test_quota(self):
        self.assertEqual(host.cpu_quota(), None)        # no cgroups
        self.assertEqual(self.quota(cgroup="0::/"), None)
        top = "sys/fs/cgroup/"
        self.assertEqual(self.quota((top + "cpu.max", "max 100000"), cgroup="0::/"), None)
        self.assertEqual(self.quota((top + "cpu.max", "200000 100000"), cgroup="0::/"), 2)
        # the path is the host's
        self.assertEqual(self.quota(cgroup="0::/docker/abc"), 2)
        self.assertEqual(self.quota(cgroup="0::/../../abc"), 2)
        self.assertEqual(self.quota((top + "a/cpu.max", "50000 100000"),
                                    (top + "a/b/cpu.max", "max 100000"), cgroup="0::/a/b"), 0.5)

    def test_quota_of_version_1(self):
        top = "sys/fs/cgroup/cpu,cpuacct/"
        lines = "3:memory:/x\n2:cpu,cpuacct:/docker/abc\n0::/"
        self.assertEqual(self.quota((top + "cpu.cfs_quota_us", "-1"),
                                    (top + "cpu.cfs_period_us", "100000"), cgroup=lines), None)
        self.assertEqual(self.quota((top + "docker/abc/cpu.cfs_quota_us", "150000"),
                                    (top + "docker/abc/cpu.cfs_period_us", "50000"),
                                    cgroup=lines), 3)

    def test_a_quota_counts_as_so_many_cpus(self):
        self.host(1, 64)
        self.write("proc/self/cgroup", "0::/")
        for cpus, nodes, want in ((2, 2, 1), (2.5, 1, 1), (4, 2, 2), (3, 2, 1), (0.5, 1, 1)):
            self.write("sys/fs/cgroup/cpu.max", f"{int(cpus * 100000)} 100000")
            workers, _, processes = daemon.plan(nodes)
            self.assertEqual(workers, want)
            self.assertEqual(None in processes, workers + nodes > cpus)


class DaemonFolderTest(unittest.TestCase):
    def test_a_long_tmpdir_is_not_used(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as top:
            runtime = os.path.join(top, "run")
            os.mkdir(runtime)
            # fits, does not, does not in bytes, is not there
            for name, fits in (("x", True), ("x" * 90, False), ("\u00e4" * 45, False), (None, False)):
                tmp = os.path.join(top, name or "nothing")
                if name:
                    os.mkdir(tmp)
                for xdg, user, want in ((runtime, None, runtime), (runtime, "somebody", "/tmp"),
                                        (top + "/nothing", None, "/tmp")):
                    with mock.patch.object(tempfile, "tempdir", tmp), \
                         mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": xdg}):
                        path = daemon.folder(user)
                    self.addCleanup(shutil.rmtree, path, ignore_errors=True)
                    self.assertEqual(os.path.dirname(path), tmp if fits else want)
                    self.assertLess(len(os.fsencode(path + "/socket")), 108)


class SizeTest(unittest.TestCase):
    def test_region_is_a_power_of_two(self):
        self.assertEqual([host.region_size(n) for n in (1, 4, 5, 8, 16)], [16, 16, 32, 64, 256])
        self.assertEqual(host.region_size(2, 100), 128)

    def test_cpu_lists(self):
        self.assertEqual(host.parse_list("0-2,5\n"), [0, 1, 2, 5])
        self.assertEqual(host.parse_list("\n"), [])


class ImageTest(unittest.TestCase):
    @staticmethod
    def bzimage(payload):
        head = bytearray(0x400)
        head[0x1f1] = 1
        struct.pack_into("<II", head, 0x248, 0x10, len(payload))
        return bytes(head) + bytes(0x10) + payload + b"trailer"

    def test_unpacks(self):
        elf = b"\x7fELF" + bytes(1000)
        size = struct.pack("<I", len(elf))
        for data in (lzma.compress(elf) + size, gzip.compress(elf) + size, elf):
            self.assertTrue(guest.unpack_bzimage(self.bzimage(data), "x").startswith(elf))

    def test_refuses(self):
        for data in (b"garbage", gzip.compress(b"no kernel")):
            with self.assertRaises(base.Fail):
                guest.unpack_bzimage(self.bzimage(data), "x")

    def test_cpio(self):
        data = guest.cpio([("a", 0o40755, b""), ("a/file", 0o100644, b"12345")])
        self.assertEqual(len(data) % 4, 0)
        self.assertEqual(data.count(b"070701"), 3)
        at = data.index(b"a/file\0")
        self.assertEqual(int(data[at - 110 + 54:at - 110 + 62], 16), 5)

    def test_module_info(self):
        with tempfile.NamedTemporaryFile(suffix=".ko") as f:
            f.write(b"\0license=GPL\0depends=a,b-c\0vermagic=6.1.0 SMP \0")
            f.flush()
            self.assertEqual(guest.module_info(f.name)["depends"], "a,b-c")
            kernel = guest.Kernel("6.2", None, None)
            with self.assertRaisesRegex(base.Fail, "built for kernel 6.1.0"):
                guest.check_module(f.name, kernel)


class TroubleTest(unittest.TestCase):
    """What a host may lack is reported in one line, with the remedy."""

    def fails(self, pattern, function, *args):
        with self.assertRaisesRegex(base.Fail, pattern) as caught:
            function(*args)
        self.assertNotIn("\n", str(caught.exception))

    def test_no_qemu(self):
        with mock.patch.dict(os.environ, {"PATH": "/nonexistent"}), \
             mock.patch.object(base.shutil, "which", lambda *_, **__: None):
            self.fails("qemu-system-x86_64 is not installed: run vm-setup/rmc-deps vm",
                       base.need, host.QEMU, "qemu-system-x86")

    def test_no_room_for_the_region(self):
        with mock.patch.object(os, "posix_fallocate", side_effect=OSError(28, "No space left")):
            self.fails("cannot get 16 MiB of shared memory.*remove files there",
                       host.make_region, f"rmc-unit-{os.getpid()}", 16)
        self.assertFalse(os.path.exists(f"/dev/shm/rmc-unit-{os.getpid()}"))

    def test_disk_full(self):
        with tempfile.TemporaryDirectory() as folder, \
             mock.patch.object(os, "chmod", side_effect=OSError(28, "No space left")):
            self.fails("cannot write .*: free some disk space",
                       base.write_file, os.path.join(folder, "x"), b"")
            self.assertEqual(os.listdir(folder), [])

    def test_no_kernel(self):
        with mock.patch.object(guest, "kernels", lambda *_: []):
            self.fails("there is no guest kernel: run vm-setup/rmc-deps vm", guest.choose)
        with mock.patch.object(guest, "kernels", lambda *_: [guest.Kernel("6.2", "/nothing", "/")]):
            self.fails("/nothing is not readable for you: run vm-setup/rmc-deps vm",
                       guest.choose)


class GuestTroubleTest(unittest.TestCase):
    """What keeps rmc-run from guests is found before one boots."""

    def setUp(self):
        self.top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.top)
        self.lacking = set()
        self.module = self.file("rmc.ko", b"\0vermagic=6.2 SMP \0")
        self.kernel = guest.Kernel("6.2", self.file("vmlinuz", ImageTest.bzimage(
            gzip.compress(b"\x7fELF" + bytes(100)))), self.top)
        self.file("modules.builtin", "".join(f"x/{d}.ko\n" for d in guest.DRIVERS).encode())
        for tool in (host.QEMU, "busybox", "gcc"):
            self.file(tool, b"static")
        for where, name, value in ((guest, "kernels", lambda *_: [self.kernel] if self.kernel else []),
                                   (guest, "cache_dir", lambda: self.top),
                                   (guest, "run_tool", lambda argv, _: self.file(argv[4], b"")),
                                   (base.shutil, "which", self.which)):
            patch = mock.patch.object(where, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def file(self, name, data):
        path = os.path.join(self.top, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def which(self, tool, **_):
        return None if tool in self.lacking else os.path.join(self.top, tool)

    def trouble(self, **how):
        return qemu.trouble(argparse.Namespace(**{"no_module": False, "module": self.module,
                                                  "kernel": None, "drivers": [], **how}))

    def test_none(self):
        self.assertEqual(self.trouble(), None)

    def test_tools(self):
        for tool in (host.QEMU, "busybox", "gcc"):
            self.lacking = {tool}
            self.assertEqual(self.trouble(), f"{tool} is not installed")

    def test_busybox_is_not_static(self):
        self.file("busybox", b"/lib64/ld-linux-x86-64.so.2")
        self.assertIn("is not static", self.trouble())

    def test_module(self):
        missing = self.top + "/none.ko"
        self.assertEqual(self.trouble(module=missing), f"{missing} is not built")
        self.assertEqual(self.trouble(module=missing, no_module=True), None)
        self.file("rmc.ko", b"\0vermagic=6.1 SMP \0")
        self.assertIn("is built for kernel 6.1, the guest runs 6.2", self.trouble())

    def test_kernel(self):
        image, self.kernel.image = self.kernel.image, self.top + "/nothing"
        self.assertIn("/nothing: No such file", self.trouble())
        self.kernel.image = image
        self.file("modules.builtin", b"")
        self.assertIn("lacks the driver", self.trouble())
        self.kernel = None
        self.assertEqual(self.trouble(), "there is no guest kernel")


class KvmTest(unittest.TestCase):
    """A /dev/kvm that opens may still not work."""

    def accel(self, choice, boots):
        def exists(path, real=os.path.exists):
            return path == "/dev/kvm" or real(path)

        with tempfile.TemporaryDirectory() as folder, \
             mock.patch.object(host, "state_root", lambda: folder), \
             mock.patch.object(host, "need", lambda *_: "/bin/sh"), \
             mock.patch.object(os.path, "exists", exists), \
             mock.patch.object(os, "access", lambda *_: True), \
             mock.patch.object(host, "probe_boots", return_value=boots) as probe:
            kernel = guest.Kernel("6.2", None, None)
            try:
                return host.accel(choice, kernel), host.accel(choice, kernel)
            finally:
                # one probe serves until the host boots again
                self.assertEqual(probe.call_count, choice != "tcg")

    def test_a_guest_must_boot(self):
        self.assertEqual(self.accel("auto", True)[1][0], "kvm")
        for kind, why in self.accel("auto", False):
            self.assertEqual(kind, "tcg")
            self.assertIn("does not boot", why)
        self.assertEqual(self.accel("tcg", True)[0][0], "tcg")
        with self.assertRaisesRegex(base.Fail, "KVM cannot be used.*use --machine tcg"):
            self.accel("kvm", False)


class ArgumentTest(unittest.TestCase):
    def test_shares(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as top:
            self.assertEqual(agent.shares([top + "/x/y", top, "/usr/bin/env", "/tmp"]), [top])
        self.assertEqual(agent.shares(["/tmp/does-not-exist/x"]), [])

    def test_environment(self):
        with mock.patch.dict(os.environ, {"RMC_X": "1", "SECRET": "2", "Z": "3"}, clear=True):
            env = agent.environment(extra=["Z", "Y=4", "NOT_SET"])
        self.assertEqual((env["RMC_X"], env["Z"], env["Y"]), ("1", "3", "4"))
        self.assertNotIn("SECRET", env)
        self.assertNotIn("NOT_SET", env)
        self.assertIn("/usr/bin", env["PATH"])

    def test_user(self):
        self.assertEqual(agent.User.of("root").uid, 0)
        with self.assertRaises(base.Fail):
            agent.User.of("no-such-user")


class LocalTest(unittest.TestCase):
    """rmc-run --loopback, whose processes run on this host."""

    def job(self, script, **how):
        job = launch.Job(["sh", "-c", script], cwd="/", nodes=2, prefix=False, **how)
        here = launch.Local()
        try:
            for node in range(2):
                job.add(node, here)
            with mock.patch.object(launch, "note") as note:
                return job.run(), [c.args[0] for c in note.call_args_list]
        finally:
            here.close()

    def test_status(self):
        self.assertEqual(self.job("exit 0"), (0, []))
        status, notes = self.job("exit $((RMC_NODE * 3))")
        self.assertEqual((status, notes), (3, ["node 1: sh: exit status 3"]))

    def test_crash_stops_the_other(self):
        status, notes = self.job("test $RMC_NODE = 1 || kill -SEGV $$; sleep 60", grace=0.2)
        self.assertEqual(status, 139)
        self.assertIn("node 0: sh: killed by signal 11 (Segmentation fault)", notes)

    def test_timeout(self):
        self.assertEqual(self.job("sleep 60", timeout=0.2)[0], base.EXIT_TIMEOUT)


class SandboxTest(LocalTest):
    """The same where pidfd_open(2) is refused."""

    def setUp(self):
        patch = mock.patch.object(os, "pidfd_open", side_effect=OSError(errno.EPERM, "refused"))
        patch.start()
        self.addCleanup(patch.stop)


class DoorbellTest(unittest.TestCase):
    """ivshmem-server, as QEMU uses it (docs/specs/ivshmem-spec)."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir="/tmp")
        self.path = os.path.join(self.folder.name, "socket")
        memory = os.path.join(self.folder.name, "memory")
        self.server = subprocess.Popen([os.path.join(base.VM_SETUP, "ivshmem-server"),
                                        "-S", self.path, "-m", memory, "-l", "65536"])
        while not os.path.exists(self.path):
            time.sleep(0.01)

    def tearDown(self):
        self.server.terminate()
        self.assertEqual(self.server.wait(5), 0)
        self.assertFalse(os.path.exists(self.path))
        self.folder.cleanup()

    def guest(self):
        """Connect; returns (socket, own id, memory, [(id, fd)]) after the greeting."""
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(5)
        sock.connect(self.path)
        version, ident, memory = (self.message(sock) for _ in range(3))
        self.assertEqual((version, memory[0]), ((0, None), -1))
        events = []
        while not events or events[-1][0] != ident[0]:
            events.append(self.message(sock))
        return sock, ident[0], memory[1], events

    @staticmethod
    def message(sock):
        data, fds, _, _ = socket.recv_fds(sock, 8, 1)
        return struct.unpack("<q", data)[0], fds[0] if fds else None

    def test_guests_meet_and_part(self):
        a, a_id, a_mem, a_events = self.guest()
        b, b_id, b_mem, b_events = self.guest()
        self.assertEqual(os.fstat(a_mem).st_ino, os.fstat(b_mem).st_ino)
        self.assertEqual(os.fstat(a_mem).st_size, 65536)
        self.assertEqual([e[0] for e in b_events], [a_id, b_id])
        ident, doorbell = self.message(a)
        self.assertEqual(ident, b_id)
        os.eventfd_write(doorbell, 1)       # a rings b
        self.assertEqual(os.eventfd_read(b_events[1][1]), 1)
        os.eventfd_write(b_events[0][1], 1)
        self.assertEqual(os.eventfd_read(a_events[0][1]), 1)
        b.close()
        self.assertEqual(self.message(a), (b_id, None))
        c, c_id, c_mem, c_events = self.guest()
        self.assertNotIn(c_id, (a_id, b_id))        # QEMU cannot handle an id twice
        for sock in (a, c):
            sock.close()
        for fd in {a_mem, b_mem, c_mem, doorbell, *(e[1] for e in a_events + b_events + c_events)}:
            os.close(fd)


class GreetingTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cluster = c = cluster.Cluster("x")
        c.folder = self.folder.name
        c.state = {"boot_timeout": 10, "module": None, "accel": "tcg",
                   "guests": [{"pid": os.getpid(), "start": base.pid_start(os.getpid())}]}
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(c.path("agent-0.0"))
        self.listener.listen()

    def bring_up(self, guest_side, **patches):
        thread = threading.Thread(target=guest_side, daemon=True)
        thread.start()
        with mock.patch.multiple(cluster, **patches), mock.patch.object(cluster.machine, "of"):
            self.cluster._bring_up([0])
        thread.join(5)
        self.assertFalse(thread.is_alive())
        self.assertEqual(self.cluster.answered, {0})

    def answer(self):
        with self.listener.accept()[0] as conn:
            conn.sendall(conn.recv(64))
            conn.recv(1)

    def test_a_guest_that_drops_the_first_answer_comes_up(self):
        def guest_side():
            dropped, _ = self.listener.accept()
            dropped.recv(64)
            self.answer()
            dropped.close()

        self.bring_up(guest_side, GREET_AGAIN=0.2)

    def test_a_machine_that_is_not_listening_yet_is_no_dead_guest(self):
        """Its control socket is there later than its process: the wait goes on, to its end."""
        c = self.cluster
        c.state["boot_timeout"] = 0.5
        os.unlink(c.path("agent-0.0"))
        with mock.patch.object(cluster, "cpu_seconds", lambda pid: 0.1):
            with self.assertRaisesRegex(base.Fail, r"does not answer \(0.1 s of CPU time"):
                c._bring_up([0])        # QEMU's real status(), of no QEMU

    def hang(self, used, again):
        """A guest without output that has used this much CPU time, until it is started again."""
        c, started = self.cluster, threading.Event()
        c.state["boot_timeout"] = 1.5

        def start(i, owned):
            self.assertIs(threading.current_thread(), threading.main_thread())
            started.set()

        def guest_side():
            silent, _ = self.listener.accept()
            if started.wait(3) and again:
                self.answer()
            silent.close()

        c.kill, c._forget_sockets, c._start = mock.Mock(), mock.Mock(), start
        with mock.patch.object(cluster, "note") as note:
            self.bring_up(guest_side, cpu_seconds=lambda pid: used)
        note.assert_called_once()
        c.kill.assert_called_once_with(0)
        c._forget_sockets.assert_called_once_with([0])

    def test_a_guest_that_hangs_is_started_again(self):
        self.hang(1, True)

    def test_a_guest_is_started_again_once(self):
        with self.assertRaisesRegex(base.Fail, "did not come up"):
            self.hang(1, False)
        self.cluster.kill.assert_called_once_with(0)

    def test_a_guest_that_was_not_let_run_does_not_hang(self):
        with self.assertRaisesRegex(base.Fail, "did not come up"):
            self.hang(0.4, True)
        self.cluster.kill.assert_not_called()


class ProcessTest(unittest.TestCase):
    def test_alive_recognises_a_reused_pid(self):
        start = base.pid_start(os.getpid())
        self.assertTrue(base.alive(os.getpid(), start))
        self.assertFalse(base.alive(os.getpid(), start + 1))
        self.assertFalse(base.alive(2 ** 22 + 1, start))


if __name__ == "__main__":
    unittest.main()
