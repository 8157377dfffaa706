# SPDX-License-Identifier: GPL-2.0
"""Building programs from a tree by object, and running them.

Objects are stored by their inputs (the command and the text of every file that the
compiler read), so a fault recompiles only what includes its file.
"""

import glob
import hashlib
import os
import resource
import signal
import socket
import subprocess
import time

import plan


class Broken(Exception):
    """It does not compile or link."""


def digest(*parts):
    h = hashlib.sha256()
    for part in parts:
        h.update(part if isinstance(part, bytes) else part.encode())
        h.update(b"\0")
    return h.hexdigest()[:32]


def sources(top, name):
    """What a program consists of."""
    _, group, own, _, _ = plan.PROGRAMS[name]
    files = list(own)
    for pattern in plan.GROUPS[group]:
        found = sorted(glob.glob(os.path.join(top, pattern)))
        files += [os.path.relpath(f, top) for f in found]
    return files


class Tree:
    """A copy of the sources; texts are cached until they change."""

    def __init__(self, top):
        self.top = top
        self.sums = {}

    def path(self, name):
        return os.path.join(self.top, name)

    def sum(self, name):
        if name not in self.sums:
            try:
                with open(self.path(name), "rb") as f:
                    self.sums[name] = digest(f.read())
            except OSError:
                self.sums[name] = "-"
        return self.sums[name]

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        self.sums.pop(name, None)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read()


class Builder:
    """Objects and programs of a tree, kept in @store across runs."""

    def __init__(self, tree, store, scratch):
        self.tree, self.store, self.scratch = tree, store, scratch
        os.makedirs(store, exist_ok=True)
        os.makedirs(scratch, exist_ok=True)

    def _inputs(self, flavour, source):
        """Files that the compiler read the last time, or None."""
        try:
            with open(os.path.join(self.store, self._name(flavour, source) + ".in"),
                      encoding="utf-8") as f:
                return f.read().split()
        except OSError:
            return None

    @staticmethod
    def _name(flavour, source):
        """Flavours that differ for the linker alone have the same objects."""
        compiler, flags, _ = plan.FLAVOURS[flavour]
        return digest(compiler, *flags, source)

    def _key(self, flavour, source, inputs):
        compiler, flags, _ = plan.FLAVOURS[flavour]
        return digest(compiler, *flags, source, *[n + self.tree.sum(n) for n in inputs])

    def object(self, flavour, source):
        inputs = self._inputs(flavour, source)
        if inputs is not None:
            path = os.path.join(self.store, self._key(flavour, source, inputs) + ".o")
            if os.path.exists(path):
                os.utime(path)
                return path
        compiler, flags, _ = plan.FLAVOURS[flavour]
        temporary = os.path.join(self.scratch, self._name(flavour, source))
        done = subprocess.run([compiler, *flags, "-MD", "-MF", temporary + ".d", "-c", "-o",
                               temporary + ".o", source], cwd=self.tree.top,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              check=False)
        if done.returncode:
            raise Broken(f"{source}: " + "\n".join(done.stdout.splitlines()[:6]))
        with open(temporary + ".d", encoding="utf-8") as f:
            words = f.read().replace("\\\n", " ").split()[1:]
        inputs = sorted({os.path.normpath(w) for w in words if not w.startswith("/")})
        with open(temporary + ".in", "w", encoding="utf-8") as f:
            f.write(" ".join(inputs))
        os.replace(temporary + ".in",
                   os.path.join(self.store, self._name(flavour, source) + ".in"))
        path = os.path.join(self.store, self._key(flavour, source, inputs) + ".o")
        os.replace(temporary + ".o", path)
        return path

    def program(self, name):
        """Path of a program, linked when its objects changed."""
        flavour = plan.PROGRAMS[name][0]
        objects = [self.object(plan.compiled(flavour, s), s) for s in sources(self.tree.top, name)]
        compiler, _, flags = plan.FLAVOURS[flavour]
        key = digest(compiler, *flags, *objects)
        path = os.path.join(self.scratch, name)
        try:
            with open(path + ".key", encoding="utf-8") as f:
                if f.read() == key and os.path.exists(path):
                    return path, key
        except OSError:
            pass
        done = subprocess.run([compiler, *flags, "-o", path, *objects, "-lm"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              check=False)
        if done.returncode:
            raise Broken(f"{name}: " + "\n".join(done.stdout.splitlines()[-6:]))
        with open(path + ".key", "w", encoding="utf-8") as f:
            f.write(key)
        return path, key


class Run:
    """Result of a program: @failed names the first failed test, or how the program ended."""

    def __init__(self, failed, passed, cpu):
        self.failed, self.passed, self.cpu = failed, passed, cpu


def build_daemon(top, out):
    """rmcd and rmcctl of a tree, without faults: what programs of the library run over."""
    for part in ("lib", "tools"):
        done = subprocess.run(["make", "-s", "-C", os.path.join(top, part), f"O={out}"], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode:
            raise Broken("rmcd: " + "\n".join(done.stdout.splitlines()[-6:]))


class Daemon:
    """rmcd with 16 nodes, for one run"""

    def __init__(self, folder, path):
        self.socket = f"/tmp/rmc-mutants-{os.getpid()}"
        self.log = path + ".rmcd"
        with open(self.log, "w", encoding="utf-8") as log:
            # ends with its standard input
            self.child = subprocess.Popen([os.path.join(folder, "rmcd"), "--socket", self.socket,
                                           "--stop-fd", "0", "-n", "16", "--ni", "fused",
                                           "--share", "1"], stdin=subprocess.PIPE, stdout=log,
                                          stderr=log)
        end = now() + 20
        while not self._answers():
            if now() > end or self.child.poll() is not None:
                self.stop()
                raise Broken(f"rmcd does not start: see {self.log}")
            time.sleep(0.002)

    def _answers(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            return not s.connect_ex(self.socket)

    def stop(self):
        self.child.stdin.close()
        self.child.wait()
        for name in (self.socket, self.socket + ".lock"):
            if os.path.exists(name):
                os.unlink(name)


def run_members(path, name, cpu_limit, folder):
    """Run the members of a team over a daemon."""
    environment = {"RMCCTL": os.path.join(folder, "rmcctl")}
    if not plan.MEMBERS[name][0]:
        environment["RMCD"] = os.path.join(folder, "rmcd")
        return members(path, name, cpu_limit, environment)
    daemon = Daemon(folder, path)
    try:
        environment |= {"RMC_DEVICE": daemon.socket, "RMCD_PID": str(daemon.child.pid)}
        return members(path, name, cpu_limit, environment)
    finally:
        daemon.stop()


def members(path, name, cpu_limit, environment):
    """Run several processes; the first that fails ends all of them."""
    nodes, lives = plan.MEMBERS[name]
    nodes = max(1, nodes)
    arguments = plan.PROGRAMS[name][4]
    seconds = max(1, round(cpu_limit))
    out = path + ".out"

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def start(number, life):
        env = dict(os.environ, RMC_NODES=str(nodes), RMC_NODE=str(number), **environment)
        with open(out, "a", encoding="utf-8") as f:
            return subprocess.Popen([path, *arguments, *([life] if lives else [])], env=env,
                                    stdin=subprocess.DEVNULL, stdout=f,
                                    stderr=subprocess.DEVNULL, preexec_fn=limits)

    open(out, "w", encoding="utf-8").close()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    end = now() + 5 * seconds + 20
    running = {n: start(n, "1") for n in range(nodes)}
    second, wrong = False, None
    while running and wrong is None:
        for n, child in list(running.items()):
            status = child.poll()
            if status is None:
                continue
            del running[n]
            if lives and n == nodes - 1 and not second:
                second = True
                running[n] = start(n, "2")
            elif status:
                wrong = f"member {n}: {status}"
        if now() > end:
            wrong = "no end"
        time.sleep(0.005)
    if wrong and name in plan.FAILING and wrong != "no end":
        limit = now() + 1               # others may still print
        while any(c.poll() is None for c in running.values()) and now() < limit:
            time.sleep(0.01)
    for child in running.values():
        child.kill()
        child.wait()
    with open(out, encoding="utf-8", errors="replace") as f:
        text = f.read()
    if name in plan.FAILING:
        wrong = None if wrong and plan.FAILING[name] in text else "did not fail as it should"
    elif wrong:
        said = [line for line in text.splitlines() if "not true" in line or ": line " in line]
        wrong = said[0] if said else wrong
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(wrong, 1, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def run(path, name, cpu_limit, folder):
    """
    Run until the first failure; @cpu_limit in seconds of CPU, by the clock ten times that.
    @folder has rmcd and rmcctl
    """
    if name in plan.MEMBERS:
        return run_members(path, name, cpu_limit, folder)
    _, _, _, environment, arguments = plan.PROGRAMS[name]
    env = dict(os.environ, **environment)
    env["ASAN_OPTIONS"] = "detect_leaks=1:abort_on_error=0:symbolize=0"
    env["UBSAN_OPTIONS"] = "symbolize=0"
    env["TSAN_OPTIONS"] = "halt_on_error=1:symbolize=0"
    if "RMC_TESTBED" not in environment:
        env.pop("RMC_TESTBED", None)
    seconds = max(1, round(cpu_limit))

    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = subprocess.Popen([path, *arguments], stdin=subprocess.DEVNULL, env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             errors="replace", preexec_fn=limits, start_new_session=True)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child.pid, signal.SIGKILL))
    signal.alarm(10 * seconds + 30)
    failed, passed, last = None, 0, ""
    try:
        for line in child.stdout:
            if line.startswith("not ok"):
                failed = line.strip().partition(" - ")[2] or line.strip()
                break
            if line.startswith("ok "):
                passed += 1
                last = line.strip().partition(" - ")[2]
        if failed:
            child.kill()
        status = child.wait()
    finally:
        signal.alarm(0)
        child.stdout.close()
        if child.poll() is None:
            child.kill()
            child.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if not failed and status:
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        failed = f"{how} behind '{last}'" if last else how
    return Run(failed, passed, cpu)


def prune(store, megabytes):
    """Remove the objects that were not used for longest."""
    found = []
    with os.scandir(store) as entries:
        for e in entries:
            if e.name.endswith(".o"):
                s = e.stat()
                found.append((s.st_mtime, s.st_size, e.path))
    size = sum(f[1] for f in found)
    for _, bytes_, path in sorted(found):
        if size <= megabytes << 20:
            break
        os.unlink(path)
        size -= bytes_


def now():
    return time.monotonic()
