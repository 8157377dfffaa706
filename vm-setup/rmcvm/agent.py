# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Run commands in a guest: the host end of rmc-agent.c.

A Session holds one virtio-serial port (flock marks the used ones) and any
number of commands. It never blocks in read: watch fileno(), then call events().
"""

import fcntl
import grp
import os
import pwd
import select
import socket
import struct
import time
from collections import namedtuple

from .base import Fail

PORTS = 8                       # = NPORTS in rmc-agent.c
IN_WINDOW = 64 << 10            # = IN_WINDOW there
HELLO, EXEC, STDIN, SIGNAL, STDOUT, STDERR, EXIT, FAILED, ACK = range(1, 10)
HEADER = struct.Struct("<III")
REQUEST = struct.Struct("<Q8I")

# The guest's own directories; single host paths below become visible on demand.
HIDDEN = ("/tmp", "/var/tmp", "/run", "/dev/shm")
# Variables that a command gets from the caller's environment, besides RMC_*.
ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM",
               "LD_LIBRARY_PATH", "PWD")

# kind: STDOUT, STDERR (data), EXIT (wait status), FAILED (errno, what), ACK (bytes)
Event = namedtuple("Event", "kind id value")


class Lost(Fail):
    """The guest is gone or does not answer."""


class User(namedtuple("User", "uid gid groups name home")):
    @classmethod
    def of(cls, name):
        try:
            entry = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
        except KeyError:
            raise Fail(f"there is no user {name}", "use a name from /etc/passwd") from None
        groups = [g.gr_gid for g in grp.getgrall() if entry.pw_name in g.gr_mem]
        return cls(entry.pw_uid, entry.pw_gid, groups + [entry.pw_gid],
                   entry.pw_name, entry.pw_dir)


def environment(user=None, extra=()):
    """The variables of our environment for a command in a guest."""
    env = {k: v for k, v in os.environ.items() if k in ENVIRONMENT or k.startswith("RMC_")}
    env.setdefault("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    if user:
        env.update(HOME=user.home, USER=user.name, LOGNAME=user.name)
    for item in extra:
        name, sep, value = item.partition("=")
        if sep:
            env[name] = value
        elif name in os.environ:
            env[name] = os.environ[name]
    return env


def shares(paths):
    """The entries directly below a hidden directory that these paths need."""
    result = []
    for path in paths:
        path = os.path.normpath(path)
        for hidden in HIDDEN:
            if path.startswith(hidden + "/"):
                top = hidden + "/" + path[len(hidden) + 1:].split("/")[0]
                if os.path.exists(top) and top not in result:
                    result.append(top)
    return result[:64]


def needed_paths(argv, cwd, env):
    program = argv[0]
    paths = [cwd] + env.get("LD_LIBRARY_PATH", "").split(":")
    if "/" in program:
        program = os.path.join(cwd, program)
        paths += [program, os.path.realpath(program)]
    return [p for p in paths if p]


class Session:
    def __init__(self, path, timeout=30, watch=None, patience=2):
        """path: sockets are path.0 .. path.7; watch(): raises when the guest died."""
        self.sock = self.lock = None
        self.data = b""
        self.path, self.watch, self.ids = path, watch or (lambda: None), 0
        deadline = time.monotonic() + timeout
        self._take_port(deadline)
        try:
            # A partial frame of a killed session can hide the greeting: then let
            # the guest see a hang-up, and try again.
            while not self._greet(min(deadline, time.monotonic() + patience)):
                if time.monotonic() > deadline:
                    raise Lost("the guest does not answer", "look at rmc-vm console")
                time.sleep(0.5)
                patience *= 2       # a busy guest answers, but may take this long
        except BaseException:
            self.close()
            raise

    def _take_port(self, deadline):
        while True:
            for i in range(PORTS):
                lock = open(f"{self.path}.{i}.lock", "wb")
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self.lock, self.name = lock, f"{self.path}.{i}"
                    return
                except BlockingIOError:
                    lock.close()
            if time.monotonic() > deadline:
                raise Lost(f"all {PORTS} connections to the guest are in use",
                           "wait until other rmc-vm exec or rmc-run commands end")
            self.watch()
            time.sleep(0.1)

    def _greet(self, deadline):
        if self.sock:
            self.sock.close()
        nonce = os.urandom(16)
        wanted = HEADER.pack(HELLO, 0, len(nonce)) + nonce
        self.sock = socket.socket(socket.AF_UNIX)
        self.data = b""
        try:
            self.sock.connect(self.name)
            self.sock.sendall(wanted)
            while time.monotonic() < deadline:
                self.watch()
                if not select.select([self.sock], [], [], 0.1)[0]:
                    continue
                got = self.sock.recv(65536)
                if not got:
                    break
                self.data += got
                at = self.data.find(wanted)
                if at >= 0:         # earlier data belongs to another session
                    self.data = self.data[at + len(wanted):]
                    return True
        except OSError:
            self.watch()
        return False

    def fileno(self):
        return self.sock.fileno()

    def close(self):
        """Ends the session: the guest kills its commands."""
        for f in (self.sock, self.lock):
            if f:
                f.close()
        self.sock = self.lock = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _send(self, kind, ident, data=b""):
        try:
            self.sock.sendall(HEADER.pack(kind, ident, len(data)) + data)
        except OSError:
            self.watch()
            raise Lost("the guest is gone") from None

    def start(self, argv, cwd="/", env=None, user=None, cpus=0, stdin=False, share=()):
        """Start a command; events carry the id that is returned."""
        env = environment(user) if env is None else env
        share = shares(needed_paths(argv, cwd, env) + list(share))
        groups = user.groups[:64] if user else [0]
        strings = [cwd, *argv, *(f"{k}={v}" for k, v in env.items()), *share]
        self.ids += 1
        data = (REQUEST.pack(cpus, user.uid if user else 0, user.gid if user else 0, len(argv),
                             len(env), len(groups), len(share), stdin, 0) +
                struct.pack(f"<{len(groups)}I", *groups) +
                b"".join(os.fsencode(s) + b"\0" for s in strings))
        if len(data) > 1 << 20:
            raise Fail("the command line and environment are longer than 1 MiB")
        self._send(EXEC, self.ids, data)
        return self.ids

    def stdin(self, ident, data):
        """At most IN_WINDOW bytes may be in transit (see ACK); b"" is end of file."""
        self._send(STDIN, ident, data)

    def signal(self, ident, number):
        self._send(SIGNAL, ident, struct.pack("<i", number))

    def events(self, wait=0):
        """Events; waits for the first one for at most wait seconds."""
        if not self._complete() and select.select([self.sock], [], [], wait)[0]:
            try:
                got = self.sock.recv(1 << 18)
            except OSError:
                got = b""
            if not got:
                self.watch()
                raise Lost("the guest is gone")
            self.data += got
        result = []
        while self._complete():
            kind, ident, length = HEADER.unpack_from(self.data)
            body = self.data[HEADER.size:HEADER.size + length]
            self.data = self.data[HEADER.size + length:]
            if kind in (EXIT, ACK):
                body = struct.unpack("<i", body)[0]
            elif kind == FAILED:
                body = (struct.unpack_from("<i", body)[0], body[4:].decode())
            result.append(Event(kind, ident, body))
        return result

    def _complete(self):
        return (len(self.data) >= HEADER.size and
                len(self.data) >= HEADER.size + HEADER.unpack_from(self.data)[2])

    def run(self, argv, timeout=30, **how):
        """Run to the end: (exit status or -signal, output, errors)."""
        ident = self.start(argv, **how)
        texts = {STDOUT: b"", STDERR: b""}
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                self.signal(ident, 9)
                raise Lost(f"{argv[0]} in the guest did not end within {timeout:.0f} s")
            self.watch()
            for event in self.events(min(left, 0.5)):
                if event.id != ident:
                    continue
                if event.kind in texts:
                    texts[event.kind] += event.value
                elif event.kind == FAILED:
                    number, what = event.value
                    raise Fail(f"{argv[0]}: cannot {what}: {os.strerror(number)}")
                elif event.kind == EXIT:
                    return (os.waitstatus_to_exitcode(event.value),
                            texts[STDOUT].decode(errors="replace"),
                            texts[STDERR].decode(errors="replace"))
