# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Run one program as several processes, in guests or here, until all have ended.

Output is forwarded line by line, signals are forwarded, after the failure of a
process the others are stopped, and the worst status is returned.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

from . import agent
from .base import EXIT_CANNOT_EXEC, EXIT_NOT_FOUND, EXIT_TIMEOUT, EXIT_TOOL, note

KILL_AFTER = 3          # seconds between SIGTERM and SIGKILL, and to giving up
LONGEST_LINE = 1 << 16


class Interrupted(BaseException):
    def __init__(self, number):
        super().__init__(number)
        self.signal = number


def interrupt(number, _frame):
    raise Interrupted(number)


def end_of(proc):
    """A descriptor that is readable when the process has ended: its pidfd, or, where a sandbox
    refuses that (seccomp profiles older than pidfd_open(2)), a pipe that a thread closes."""
    try:
        return os.pidfd_open(proc.pid)
    except OSError:
        ours, theirs = os.pipe()

    def wait():
        try:
            # the status stays for proc
            os.waitid(os.P_PID, proc.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            pass
        os.close(theirs)

    threading.Thread(target=wait, daemon=True).start()
    return ours


class Local:
    """Processes on this host, with the interface of agent.Session."""

    def __init__(self, more_env=None):
        self.more_env = more_env or {}
        self.poll = select.epoll()
        self.fds = {}           # fd -> (id, kind); STDOUT, STDERR, or EXIT for that of end_of()
        self.procs = {}
        self.early = []         # events that did not come from a file descriptor
        self.ids = 0

    def fileno(self):
        return self.poll.fileno()

    def close(self):
        for proc in self.procs.values():
            if proc.poll() is None:
                self._kill(proc, signal.SIGKILL)
            proc.wait()
            if proc.stdin:
                proc.stdin.close()
        for fd in list(self.fds):
            self._forget(fd)
        self.poll.close()

    def _forget(self, fd):
        self.poll.unregister(fd)
        del self.fds[fd]
        os.close(fd)

    @staticmethod
    def _pin(cpus):
        """What the child does before the program: stay on these CPUs, a mask; 0: anywhere."""
        if not cpus:
            return None
        wanted = [i for i in range(cpus.bit_length()) if cpus >> i & 1]
        return lambda: os.sched_setaffinity(0, wanted)

    @staticmethod
    def _kill(proc, number):
        try:
            os.killpg(proc.pid, number)
        except ProcessLookupError:
            pass

    def start(self, argv, cwd, env, user=None, cpus=0, stdin=False, share=()):
        self.ids += 1
        ident = self.ids
        how = {"user": user.uid, "group": user.gid, "extra_groups": user.groups} if user else {}
        try:
            pin = self._pin(cpus)
            proc = subprocess.Popen(argv, cwd=cwd, env={**os.environ, **env, **self.more_env},
                                    preexec_fn=pin, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    bufsize=0, start_new_session=True, **how)
        except OSError as e:
            self.early.append(agent.Event(agent.FAILED, ident, (e.errno, "exec")))
            return ident
        self.procs[ident] = proc
        with proc.stdout, proc.stderr:
            out, err = os.dup(proc.stdout.fileno()), os.dup(proc.stderr.fileno())
        for kind, fd in ((agent.STDOUT, out), (agent.STDERR, err),
                         (agent.EXIT, end_of(proc))):
            os.set_blocking(fd, False)
            self.fds[fd] = (ident, kind)
            self.poll.register(fd, select.EPOLLIN)
        return ident

    def stdin(self, ident, data):
        if ident not in self.procs:
            return              # it could not be started
        pipe = self.procs[ident].stdin
        try:
            if data:
                pipe.write(data)
                self.early.append(agent.Event(agent.ACK, ident, len(data)))
            else:
                pipe.close()
        except OSError:
            pass

    def signal(self, ident, number):
        if ident in self.procs:
            self._kill(self.procs[ident], number)

    def _drain(self, fd, ident, kind, result):
        try:
            while data := os.read(fd, 65536):
                result.append(agent.Event(kind, ident, data))
        except BlockingIOError:
            return
        except OSError:
            pass
        self._forget(fd)

    def events(self, wait=0):
        result, self.early = self.early, []
        exits = []
        for fd, _ in self.poll.poll(wait):
            ident, kind = self.fds[fd]
            if kind == agent.EXIT:
                exits.append((fd, ident))
            else:
                self._drain(fd, ident, kind, result)
        for fd, ident in exits:
            for other, (who, kind) in list(self.fds.items()):
                if who == ident and kind != agent.EXIT:
                    self._drain(other, ident, kind, result)
            self._forget(fd)
            code = self.procs[ident].wait()
            result.append(agent.Event(agent.EXIT, ident, -code if code < 0 else code << 8))
        return result


class Process:
    def __init__(self, node, where, cpu):
        self.node, self.where, self.cpu = node, where, cpu
        self.id = None
        self.parts = {agent.STDOUT: b"", agent.STDERR: b""}
        self.status = None      # exit status as a shell would show it
        self.stopped = False    # by us: ignore its status
        self.window = agent.IN_WINDOW


class Job:
    """argv on several nodes. stdin: the node that gets ours, or None.
    quiet_status: an exit status is returned, but not printed."""

    def __init__(self, argv, cwd, nodes, user=None, env=(), share=(), context=0, prefix=True,
                 timeout=None, grace=10, stdin=None, quiet_status=False):
        self.argv, self.cwd, self.nodes = argv, cwd, nodes
        self.user, self.env, self.share, self.context = user, env, share, context
        self.prefix, self.timeout, self.grace = prefix, timeout, grace
        self.stdin_node, self.quiet_status = stdin, quiet_status
        self.procs = []
        self.stop_at = None     # when to send the next, stronger signal
        self.stop_with = None
        self.result = None      # overrides the processes' statuses

    def add(self, node, where, cpu=None):
        self.procs.append(Process(node, where, cpu))

    def live(self):
        return [p for p in self.procs if p.status is None]

    def run(self):
        wake_r, wake_w = socket.socketpair()
        wake_w.setblocking(False)
        wake_r.setblocking(False)
        old_fd = signal.set_wakeup_fd(wake_w.fileno(), warn_on_full_buffer=False)
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        old = {s: signal.signal(s, lambda *_: None) for s in numbers}
        try:
            self._start()
            self._loop(wake_r)
        finally:
            signal.set_wakeup_fd(old_fd)
            for s, handler in old.items():
                signal.signal(s, handler)
            wake_r.close()
            wake_w.close()
        if self.result is not None:
            return self.result
        return max((p.status for p in self.procs if not p.stopped), default=0)

    def _start(self):
        stdin = self.stdin_node
        for p in self.procs:
            env = agent.environment(self.user, self.env)
            env.update(RMC_NODE=str(p.node), RMC_NODES=str(self.nodes), RMC_CTX=str(self.context))
            try:
                p.id = p.where.start(self.argv, cwd=self.cwd, env=env, user=self.user,
                                     cpus=0 if p.cpu is None else 1 << p.cpu,
                                     stdin=p.node == stdin, share=self.share)
            except agent.Lost as e:
                self._lost(p, e)
        self.by_id = {(p.where, p.id): p for p in self.procs}
        if self.timeout:
            self.stop_at, self.stop_with = time.monotonic() + self.timeout, None

    def _loop(self, wake):
        stdin = [0] if self.stdin_node is not None else []
        while self.live():
            sources = list(dict.fromkeys(p.where for p in self.live()))
            target = next((p for p in self.live() if p.node == self.stdin_node), None)
            reading = stdin if target and target.window > 0 else []
            wait = 1.0 if self.stop_at is None else max(0, self.stop_at - time.monotonic())
            ready = select.select(sources + reading + [wake], [], [], min(wait, 1.0))[0]
            if wake in ready:
                for number in wake.recv(64):
                    self._interrupted(number)
            for source in sources:
                try:
                    if source not in ready and hasattr(source, "watch"):
                        source.watch()
                    else:
                        for event in source.events():
                            self._event(self.by_id.get((source, event.id)), event)
                except agent.Lost as e:
                    for p in [p for p in self.live() if p.where is source]:
                        self._lost(p, e)
            if 0 in ready and reading:
                data = os.read(0, target.window)
                target.window -= len(data)
                try:
                    target.where.stdin(target.id, data)
                except agent.Lost as e:
                    self._lost(target, e)
                if not data:
                    stdin = []
            if self.stop_at is not None and time.monotonic() >= self.stop_at:
                self._escalate()

    # ---- events of processes ----

    def _event(self, p, event):
        if not p or p.status is not None:
            return
        if event.kind in (agent.STDOUT, agent.STDERR):
            self._output(p, event.kind, event.value)
        elif event.kind == agent.ACK:
            p.window += event.value
        elif event.kind == agent.EXIT:
            self._flush(p)
            code = os.waitstatus_to_exitcode(event.value)
            if code < 0:
                self._ended(p, 128 - code, f"killed by signal {-code} ({signal.strsignal(-code)})")
            else:
                self._ended(p, code, None if self.quiet_status else f"exit status {code}")
        elif event.kind == agent.FAILED:
            number, what = event.value
            status = EXIT_NOT_FOUND if number in (2, 20) else EXIT_CANNOT_EXEC
            text = os.strerror(number)
            if what == "chdir":
                text = f"cannot enter {self.cwd} in the guest: {text}"
                status = EXIT_TOOL
            elif what != "exec":
                text, status = f"cannot {what}: {text}", EXIT_TOOL
            self._ended(p, status, text)

    def _ended(self, p, status, text):
        p.status = status
        p.stopped = self.stop_with is not None
        if not status or p.stopped:
            return
        if text:
            note(f"node {p.node}: {self.argv[0]}: {text}")
        if self.live() and self.grace is not None and (self.stop_at is None or self.timeout):
            self.timeout = None
            self.stop_at, self.stop_with = time.monotonic() + self.grace, None
            self.failed = p.node

    def _lost(self, p, error):
        self._flush(p)
        stopped = self.stop_with
        self.stop_with = None
        self._ended(p, EXIT_TOOL, error.what)
        self.stop_with = stopped

    # ---- stopping ----

    def _signal_all(self, number):
        for p in self.live():
            try:
                p.where.signal(p.id, number)
            except agent.Lost as e:
                self._lost(p, e)

    def _interrupted(self, number):
        if self.stop_with is not None:      # once more: no more patience
            number = signal.SIGKILL
        elif self.result is None:
            self.result = 128 + number
        self.stop_with = number
        self.stop_at = time.monotonic() + KILL_AFTER
        self._signal_all(number)

    def _escalate(self):
        """Nothing, then SIGTERM, then SIGKILL, then without them."""
        self.stop_at = time.monotonic() + KILL_AFTER
        if self.stop_with is None:
            if self.timeout:
                note(f"{self.argv[0]}: not done after {self.timeout:g} s, stopped")
                self.result = EXIT_TIMEOUT
            else:
                note(f"stopping the others, {self.grace:g} s after node {self.failed} failed")
            self.stop_with = signal.SIGTERM
            self._signal_all(signal.SIGTERM)
        elif self.stop_with != signal.SIGKILL:
            self.stop_with = signal.SIGKILL
            self._signal_all(signal.SIGKILL)
        else:
            for p in self.live():
                note(f"node {p.node}: does not answer, left alone")
                p.status, p.stopped = EXIT_TOOL, True
            self.result = self.result or EXIT_TOOL

    # ---- output ----

    def _output(self, p, kind, data):
        stream = sys.stdout.buffer if kind == agent.STDOUT else sys.stderr.buffer
        if self.prefix:
            data = p.parts[kind] + data
            if len(data) > LONGEST_LINE and b"\n" not in data:
                data += b"\n"
            *lines, p.parts[kind] = data.split(b"\n")
            data = b"".join(b"[%d] %s\n" % (p.node, line) for line in lines)
        try:
            stream.write(data)
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            self._interrupted(signal.SIGPIPE)

    def _flush(self, p):
        for kind, rest in p.parts.items():
            if rest:
                self._output(p, kind, b"\n")
