#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Other ends for tests of rmcctl.

    peer.py hold SOCKET CONTEXT     open a context of rmcd until standard input ends
    peer.py serve SOCKET LOG        a daemon with faults, whose list comes in parts; writes go to
                                    LOG, and it hangs up when it is asked for its fabric. When
                                    something is turned off a filter waits for its sender, until
                                    the third sweep
"""

import array
import errno
import os
import socket
import struct
import sys

# lib/driver/protocol.h
HEAD = struct.Struct("=IiII")
OPEN = struct.Struct("=IiiI")
ATTR = struct.Struct("=128sII512s")
RMCD_OPEN, RMCD_READ, RMCD_LIST, RMCD_WRITE = 1, 2, 3, 4
VERSION = 1

DIRECTORY = "kernel/debug/rmc/"
LINKS = [f"from={i} to=0 lane=requests loss=10000 dup=0 packets={i * 7}" for i in range(40)]
LISTS = {DIRECTORY + "links": LINKS, DIRECTORY + "nodes": ["node=0 slow_ns=0 stop=1"]}
VALUES = {DIRECTORY + "model": "topology=none dims=1\n", DIRECTORY + "rnic": "node=0\n",
          DIRECTORY + "timeout_ms": "100\n"}
OFF = ("loss=0 ", "slow_ns=0", "topology=none", "node=any")
WAITING = ("to=8 ", "node=8 ")		# a filter of this node waits, whatever is written
WAITS = {"sweeps": 0}


def hold(path, context):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.connect(path)
        sock.send(HEAD.pack(RMCD_OPEN, 0, 0, 0) + OPEN.pack(VERSION, context, 0, 0))
        head = HEAD.unpack_from(sock.recv(1024))
        print(head[1], flush=True)
        sys.stdin.read()


def lines_from(path, offset):
    """As many as fit into an answer."""
    text, count = "", 0
    last = LISTS[path][-1]
    for line in LISTS[path][offset:]:
        if line == last and path.endswith("/links") and WAITS["sweeps"]:
            line += " waits=1"
        if len(text) + len(line) + 2 > 512:
            break
        text, count = text + line + "\n", count + 1
    return count, text


def write(path, value, log):
    if path == DIRECTORY + "timeout_ms":
        return -errno.EPERM
    if "to=9" in value:
        return -errno.EXDEV
    if path not in LISTS and path not in VALUES:
        return -errno.ENOENT
    if any(word in value for word in OFF + WAITING):
        WAITS["sweeps"] = 3
    elif value == "sweep":
        WAITS["sweeps"] -= 1
    with open(log, "a", encoding="ascii") as file:
        file.write(f"{path} {value}\n")
    return 0


def attribute(request, body, log):
    """Result, and the answer's struct"""
    path, offset, count, value = ATTR.unpack(body)
    path, text = (field.split(b"\0")[0].decode() for field in (path, value))
    ret = -errno.ENOENT
    if request == RMCD_WRITE:
        ret = write(path, text, log)
    elif request == RMCD_LIST and path in LISTS:
        ret = 0
        count, text = lines_from(path, offset)
    elif request == RMCD_READ and path in VALUES:
        ret, text = 0, VALUES[path]
    return ret, ATTR.pack(path.encode(), offset, count, text.encode())


def answer(sock, message, log):
    """False: hang up"""
    request = HEAD.unpack_from(message)[0]
    body = message[HEAD.size:]
    if request == RMCD_OPEN:
        ours, theirs = os.pipe()
        fds = array.array("i", [ours])
        sock.sendmsg([HEAD.pack(request, 0, 1, 0), body],
                     [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        os.close(ours)
        os.close(theirs)
        return True
    if len(body) != ATTR.size or body.startswith(b"class/misc/rmc/fabric\0"):
        return False
    ret, body = attribute(request, body, log)
    sock.send(HEAD.pack(request, ret, 0, 0) + body)
    return True


def serve(path, log):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            sock = listener.accept()[0]
            with sock:
                while message := sock.recv(1024):
                    if not answer(sock, message, log):
                        break


def main():
    if sys.argv[1] == "hold":
        hold(sys.argv[2], int(sys.argv[3]))
    else:
        serve(sys.argv[2], sys.argv[3])


if __name__ == "__main__":
    main()
