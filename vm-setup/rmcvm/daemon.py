# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""rmcd for one program: starts it, or one for each node, says which CPU each process gets, and ends it."""

import os
import shutil
import socket
import subprocess
import tempfile
import time

from . import host
from .base import CHECKOUT, Fail

START_TIMEOUT = 30      # seconds until it accepts connections
STOP_TIMEOUT = 10       # seconds until it has ended
SOCKET_PATH_MAX = 107   # bytes, unix(7)
MOST_WORKERS = 64       # RMCD_MAX_SETS
MOST_THREADS = 64       # of a core


def find():
    """Path of rmcd: this checkout's, else an installed one."""
    built = os.path.join(CHECKOUT, "build", "rmcd")
    path = built if os.access(built, os.X_OK) else shutil.which("rmcd")
    if not path:
        raise Fail("there is no rmcd", "run make all")
    return path


def place(groups, numa, threads):
    """A CPU for each member of each group, the first ones of each NUMA node, or None: with
    so many hardware threads of a core, not every group fits into a NUMA node."""
    free = [[cpu for core in cores for cpu in core[:threads]] for cores in numa]
    placed = []
    for size in groups:
        node = next((cpus for cpus in free if len(cpus) >= size), None)
        if node is None:
            return None
        placed.append(node[:size])
        del node[:size]
    return placed


def spread(groups, numa):
    """The same where some group has to be divided: as few as possible of them."""
    free = [[cpu for core in cores for cpu in core] for cores in numa]
    placed = [[] for _ in groups]
    for whole in (True, False):
        for i, size in enumerate(groups):
            node = next((cpus for cpus in free if len(cpus) >= size), None) if whole else sum(free, [])
            if node is None or placed[i]:
                continue
            placed[i] = node[:size]
            free = [[cpu for cpu in cpus if cpu not in placed[i]] for cpus in free]
    return placed


def plan(nodes, workers=None):
    """(number of workers, their CPUs, CPU of each process or None) on this host.

    A CPU per worker and per process where there are as many and the cgroup may use as many, with
    one worker per node if that is possible, too. A worker and its processes are on one NUMA node
    and have whole cores; where there are too few cores, they are each other's siblings. Processes
    that share CPUs with workers are not pinned: the scheduler knows better which of them wait.
    """
    numa = host.by_core()
    cpus = [cpu for cores in numa for core in cores for cpu in core]
    quota = host.cpu_quota()
    usable = len(cpus) if quota is None else min(len(cpus), max(1, int(quota)))
    if workers is None:
        workers = min(nodes, MOST_WORKERS) if usable >= 2 * nodes else 1
    if workers + nodes > usable:
        return workers, sorted(cpus)[-workers:], [None] * nodes
    # node i is worker i % workers'; the last of a group is the worker
    groups = [len(range(i, nodes, workers)) + 1 for i in range(min(workers, nodes))]
    groups += [1] * (workers - len(groups))
    placed = (place(groups, numa, 1) or place(groups, numa, MOST_THREADS) or
              spread(groups, numa))
    return (workers, [group[-1] for group in placed],
            [placed[i % workers][i // workers] for i in range(nodes)])


def folder(user=None):
    """A new one for the socket. A socket's path has 107 bytes at most, and $TMPDIR may be as long;
    another user cannot enter $XDG_RUNTIME_DIR."""
    runtime = None if user else os.environ.get("XDG_RUNTIME_DIR")
    for where in filter(None, (tempfile.gettempdir(), runtime, "/tmp")):
        if len(os.fsencode(os.path.join(where, "rmcd-12345678", "socket"))) <= SOCKET_PATH_MAX:
            try:
                return tempfile.mkdtemp(prefix="rmcd-", dir=where)
            except OSError:
                pass
    raise Fail("there is no folder for the socket of rmcd",
               "set TMPDIR to a short path that you can write to")


def shared_folder():
    """Of the file that daemons share: in memory if possible."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


class Daemon:
    """A running rmcd with these nodes; a context manager."""

    def __init__(self, nodes, workers=None, options=(), user=None, placed=None):
        """placed: what plan() returned, for some of its workers"""
        # as the user of the processes: it has to read their memory, and they enter its folder
        self.user = {"user": user.uid, "group": user.gid, "extra_groups": user.groups} if user else {}
        self.dir = folder(user)
        if user:
            os.chown(self.dir, user.uid, user.gid)
        self.socket = os.path.join(self.dir, "socket")
        self.proc, self.stop_fd = None, None
        workers, cpus, self.cpus = placed or plan(nodes, workers)
        argv = [find(), "--nodes", str(nodes), "--socket", self.socket, "--ni", "fused",
                "--workers", str(workers), "--cpus", ",".join(map(str, cpus)),
                "--share", str(int(None in self.cpus)), *options]
        try:
            self._start(argv)
        except BaseException:
            self.close()
            raise

    def _start(self, argv):
        # it ends when the last copy of our end of this pipe is closed, also if we are killed
        theirs, self.stop_fd = os.pipe()
        log = open(os.path.join(self.dir, "log"), "wb")  # pylint: disable=consider-using-with
        with log:
            self.proc = subprocess.Popen([*argv, "--stop-fd", str(theirs)], pass_fds=[theirs],
                                         stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         start_new_session=True, **self.user)
        os.close(theirs)
        end = time.monotonic() + START_TIMEOUT
        while not self._answers():
            if self.proc.poll() is not None or time.monotonic() > end:
                raise Fail("rmcd did not start", detail=self.log())
            time.sleep(0.01)

    def _answers(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with sock:
            try:
                sock.connect(self.socket)
            except OSError:
                return False
        return True

    def log(self):
        try:
            with open(os.path.join(self.dir, "log"), encoding="utf-8", errors="replace") as f:
                return f.read().strip()
        except OSError:
            return ""

    def env(self, _node=0):
        """For the processes: where their driver is."""
        return {"RMC_DEVICE": self.socket}

    def close(self):
        if self.stop_fd is not None:
            os.close(self.stop_fd)
        if self.proc:
            try:
                self.proc.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Each:
    """A daemon for each node, with the interface of Daemon. They share a file, and no worker."""

    def __init__(self, nodes, options=(), user=None):
        self.dir = tempfile.mkdtemp(prefix="rmcd-region-", dir=shared_folder())
        self.daemons = []
        try:
            if user:
                os.chown(self.dir, user.uid, user.gid)
            workers, cpus, self.cpus = plan(nodes, nodes)
            region = ("--region", os.path.join(self.dir, "region"), "--region-size",
                      f"{max(64, host.region_size(nodes))}M")
            for node in range(nodes):
                placed = workers // nodes, [cpus[node % len(cpus)]], [self.cpus[node]]
                self.daemons.append(Daemon(nodes, options=(*region, "--node", str(node), *options),
                                           user=user, placed=placed))
        except BaseException:
            self.close()
            raise

    def env(self, node=0):
        return self.daemons[node].env()

    def log(self):
        return "\n".join(filter(None, (one.log() for one in self.daemons)))

    def close(self):
        for one in self.daemons:
            one.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
