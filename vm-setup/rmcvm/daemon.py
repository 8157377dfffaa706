# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""rmcd for one program: starts it, says which CPU each process gets, and ends it."""

import os
import shutil
import socket
import subprocess
import tempfile
import time

from .base import CHECKOUT, Fail

START_TIMEOUT = 30      # seconds until it accepts connections
STOP_TIMEOUT = 10       # seconds until it has ended
MOST_WORKERS = 64       # RMCD_MAX_SETS


def find():
    """Path of rmcd: this checkout's, else an installed one."""
    built = os.path.join(CHECKOUT, "build", "rmcd")
    path = built if os.access(built, os.X_OK) else shutil.which("rmcd")
    if not path:
        raise Fail("there is no rmcd", "run make all")
    return path


def plan(cpus, nodes, workers=None):
    """(number of workers, their CPUs, CPU of each process or None) on these CPUs.

    A CPU per worker and per process where there are as many, with one worker per node if that
    is possible, too. Processes that share CPUs with workers are not pinned: the scheduler knows
    better which of them wait.
    """
    cpus = sorted(cpus)
    if workers is None:
        workers = min(nodes, MOST_WORKERS) if len(cpus) >= 2 * nodes else 1
    mine = cpus[-workers:] if workers <= len(cpus) else cpus
    rest = [cpu for cpu in cpus if cpu not in mine]
    if len(rest) >= nodes:
        return workers, mine, rest[:nodes]
    return workers, mine, [None] * nodes


class Daemon:
    """A running rmcd with these nodes; a context manager."""

    def __init__(self, nodes, workers=None, options=(), user=None):
        # as the user of the processes: it has to read their memory, and they enter its folder
        self.user = {"user": user.uid, "group": user.gid, "extra_groups": user.groups} if user else {}
        self.dir = tempfile.mkdtemp(prefix="rmcd-")
        if user:
            os.chown(self.dir, user.uid, user.gid)
        self.socket = os.path.join(self.dir, "socket")
        self.proc, self.stop_fd = None, None
        workers, cpus, self.cpus = plan(os.sched_getaffinity(0), nodes, workers)
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

    def env(self):
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
