# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Paths of the checkout, and errors of one line with the remedy."""

import os
import shutil
import stat
import subprocess
import sys

VM_SETUP = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
CHECKOUT = os.path.dirname(VM_SETUP)
MODULE = os.path.join(CHECKOUT, "rmc.ko")
RMCCTL = os.path.join(CHECKOUT, "build", "rmcctl")

# Exit status of the tools themselves, out of the way of the programs they run
# (the numbers that timeout(1) and env(1) use).
EXIT_TIMEOUT = 124
EXIT_TOOL = 125
EXIT_CANNOT_EXEC = 126
EXIT_NOT_FOUND = 127


class Fail(Exception):
    """An error and its remedy, for the user."""

    def __init__(self, what, cure=None, detail=None):
        super().__init__(what)
        self.what, self.cure, self.detail = what, cure, detail

    def __str__(self):
        line = self.what + (f": {self.cure}" if self.cure else "")
        return line + (f"\n{self.detail}" if self.detail else "")


def prog():
    return os.path.basename(sys.argv[0])


def version():
    """The version of this checkout."""
    with open(os.path.join(CHECKOUT, "VERSION"), encoding="utf-8") as f:
        return f.read().strip()


def add_version(parser):
    parser.add_argument("--version", action="version", version=f"{prog()} (rmc) {version()}")


def note(text):
    print(f"{prog()}: {text}", file=sys.stderr, flush=True)


def die(text, status=EXIT_TOOL):
    note(text)
    sys.exit(status)


def need(tool, package):
    path = shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/sbin")
    if not path:
        raise Fail(f"{tool} is not installed", f"run vm-setup/rmc-deps vm (package {package})")
    return path


def run_tool(argv, what):
    """Run a host program that must succeed; its last error line otherwise."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as e:
        raise Fail(f"{what}: {argv[0]}: {e.strerror}", "run vm-setup/rmc-deps vm") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise Fail(f"{what}: {lines[-1]}")
    return done.stdout


def cache_dir():
    """Files that are costly to make: ignored by git, safe to remove."""
    where = os.environ.get("RMC_CACHE") or os.path.join(CHECKOUT, ".cache")
    try:
        os.makedirs(where, exist_ok=True)
        if not os.access(where, os.W_OK):
            raise PermissionError
    except OSError:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        where = os.path.join(home, "rmc")
        try:
            os.makedirs(where, exist_ok=True)
        except OSError as e:
            raise Fail(f"no place for cached files: {where}: {e.strerror}",
                       "set RMC_CACHE to a directory you can write") from None
    ignore = os.path.join(where, ".gitignore")
    if not os.path.exists(ignore):
        write_file(ignore, b"*\n")
    return where


def write_file(path, data, mode=0o644):
    """Create a file atomically, also when two runs create the same file."""
    tmp = f"{path}.{os.getpid()}"
    try:
        with open(tmp, "wb") as f:
            f.write(data)
        os.chmod(tmp, mode)
        os.rename(tmp, path)
    except OSError as e:
        if os.path.exists(tmp):
            os.unlink(tmp)
        raise Fail(f"cannot write {path}: {e.strerror}", "free some disk space"
                   if e.errno == 28 else None) from None


def state_root():
    """The folder of sockets, logs and pids of this user's clusters."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if not base or not os.path.isdir(base) or not os.access(base, os.W_OK):
        base = "/tmp"
    root = os.path.join(base, f"rmc-{os.getuid()}")
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        st = os.lstat(root)
    except OSError as e:
        raise Fail(f"cannot make {root}: {e.strerror}", "set XDG_RUNTIME_DIR") from None
    if not stat.S_ISDIR(st.st_mode) or st.st_uid != os.getuid() or st.st_mode & 0o077:
        raise Fail(f"{root} is not a private directory of yours", "remove it")
    return root


def pid_start(pid):
    """Start time of a process: distinguishes it from a later one with the same pid."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            fields = f.read().rsplit(b")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def cpu_seconds(pid):
    """CPU time that a process took until now."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            fields = f.read().rsplit(b")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def alive(pid, start):
    return start is not None and pid_start(pid) == start
