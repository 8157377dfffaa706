#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes the seeds of fuzz_socket: one input per request that succeeds, and some sequences.

usage: seeds_socket.py FOLDER
"""
import os
import sys

# kinds of message_build()
(OPEN, READ, LIST, WRITE, QUERY, NODE_INFO, WATCH, ATTACH, SEG_REG, SEG_UNREG, SEG_ADD, SEG_DEL,
 BUF_REG, BUF_UNREG, QP_CREATE, QP_DESTROY, WAKE, CQ_ARM, SEG_ARM, CTX_CREATE,
 CTX_REMOVE, DOM_QUERY, DOM_CREATE, DOM_DESTROY, DOM_ATTACH, DOM_DETACH, AQ_ARM, ROOM_ARM,
 DOM_STATS, DOM_OPEN) = range(30)
MEMORY, MEMORY2, SEALED, READ_ONLY, EVENTFD, FULL, PIPE, NULL = range(8)
PRIVATE = 31
CONTROL, CTX0, CTX1, CTX2 = range(4)
CONNECT, RAW, SCRIBBLE, CHANGE, ABUSE, SHUTDOWN, DISCONNECT, MODEST, SEND = range(9)


def act(kind, *data, client=0, other=0):
    return bytes([kind | client << 4 | other << 6]) + bytes(data)


def send(kind, *fields, client=0, how=0, mutation=()):
    """how: 1 mutated, 2 repeated, 4 the answer is not awaited"""
    return act(SEND, kind, *fields, how | (1 if mutation else 0), *mutation, client=client)


def connected(context=CTX0, client=0, other=0):
    return act(CONNECT, client=client, other=other) + send(OPEN, context, client=client)


def segment(page=0, pages=2, fd=MEMORY, flags=0, client=0):
    return send(SEG_REG, page | pages - 1 << 4, flags, 0, fd, client=client)


def further(page, fd=MEMORY2, at=0, client=0):
    return send(SEG_ADD, page, at, 0, fd, client=client)


def buffer(page=8, pages=2, fd=MEMORY2, client=0):
    return send(BUF_REG, page | pages - 1 << 4, 0, fd, client=client)


GREEDY, CLASS, SHARED = 3, 10, 12
REQUEUE, TWO = 0x10, 0x80
OP_SEND, OP_OFFER, OP_RECEIVE, OP_JOIN, OP_REPLY, OP_READY = range(9, 15)
FFFFFFFF, N4096, N65536 = 0xe1, 0xe7, 0xe9


def domain(policy=GREEDY | REQUEUE, slots=4, answers=1, client=0):
    return send(DOM_CREATE, slots - 1 | answers << 3 | 1 << 4, policy, client=client)


def slot_op(op, nid, slot=0, turn=1, taken=0, client=0):
    """An operation on a slot, with memory of page 8, and its completion"""
    length = 0 if op in (OP_RECEIVE, OP_READY) else 1
    return act(SCRIBBLE, op | nid << 5 | taken << 6, slot | turn << 2 | 3 << 6, length, 0, 0x10,
               client=client) + act(MODEST, client=client)


def member(nid, policy=GREEDY | REQUEUE):
    return connected(client=nid) + send(ATTACH, nid, client=nid) + buffer(client=nid) + send(
        QP_CREATE, 0, 4, client=nid) + domain(policy, client=nid) + send(
            DOM_ATTACH, 0, 0, client=nid)


def sharer(client, nid=0):
    """Member 1 of the domain of another client"""
    return connected(client=client) + send(ATTACH, nid, client=client) + buffer(
        client=client) + send(QP_CREATE, 0, 4, client=client) + send(
            DOM_OPEN, 1, client=client) + send(DOM_ATTACH, 0, 0, client=client)


def seeds_members():
    three = member(0, GREEDY | REQUEUE | TWO) + member(1) + sharer(2) + b"".join(
        slot_op(OP_JOIN, nid, turn=0, client=client) for client, nid in ((0, 1), (1, 0), (2, 1)))
    to = b"".join(slot_op(OP_SEND, 0, slot, taken=1, client=1) for slot in range(4))
    back = slot_op(OP_SEND, 1, 0, taken=1) + slot_op(OP_SEND, 1, 2, taken=1, client=2) + slot_op(
        OP_SEND, 1, 0, taken=1, client=2) + slot_op(OP_RECEIVE, 0, 2, client=1)
    arm = send(AQ_ARM, 0, 32 | EVENTFD, client=2) + send(ROOM_ARM, 0, 32 | EVENTFD, client=2)
    end = send(DOM_STATS, client=2) + send(DOM_ATTACH, 0, 0, client=2) + send(
        AQ_ARM, 0, 0, client=2) + send(DOM_DETACH, 0, client=2) + send(DOM_OPEN, 0, client=2)
    yield "members", three + to + back + arm + send(DOM_OPEN, 0, client=1) + send(
        DOM_OPEN, 3, FFFFFFFF, client=2) + send(DOM_DESTROY) + end
    yield "members_close", three + to + arm + act(DISCONNECT, client=0) + end
    yield "members_leave", three + to + back + act(DISCONNECT, client=2) + sharer(2) + slot_op(
        OP_JOIN, 1, 2, turn=0, client=2) + send(DOM_DESTROY, client=2) + send(
            DOM_OPEN, 1, client=2) + send(DOM_STATS)


def seeds_messages():
    yield from seeds_members()
    qp = send(QP_CREATE, 0, 4)
    arm = send(AQ_ARM, 0, 32 | EVENTFD) + send(ROOM_ARM, 0, 32 | EVENTFD)
    yield "domain", connected() + send(DOM_QUERY) + send(DOM_STATS) + qp * 3 + send(
        DOM_ATTACH, 0, 0) + domain() + domain() + b"".join(
            send(DOM_ATTACH, *how) for how in ((0, 2, 1), (0, 4, 1), (0, 0), (0, 0), (1, 1),
                                               (2, 0), (3, 0))) + arm + send(
            AQ_ARM, 1, 0) + send(ROOM_ARM, 1, 32 | FULL) + send(ROOM_ARM, 2, 32 | PIPE) + send(
                DOM_STATS) + send(DOM_DETACH, 1) + send(DOM_DETACH, 1) + send(
                    QP_DESTROY, 0) + send(DOM_DESTROY) + send(DOM_DESTROY)
    yield "domain_policies", connected() + qp + b"".join(
        domain(p) + send(DOM_ATTACH, 0, 0) + send(DOM_DESTROY) for p in range(16))
    yield "domain_shared", connected() + qp * 3 + domain(SHARED) + b"".join(
        send(DOM_ATTACH, q, 0) for q in range(3)) + arm + send(DOM_DETACH, 0)
    yield "domain_bounds", connected() + b"".join(
        send(DOM_CREATE, 0x80, GREEDY, word, FFFFFFFF)
        for word in (*range(10), 16, *range(20, 24)))
    yield "domain_quota", connected(CTX1, other=1) + send(
        DOM_CREATE, 0x80, GREEDY, 4, N4096, mutation=(4, 9, N65536)) + send(
            DOM_CREATE, 0x80, SHARED, 4, N4096, mutation=(5, 82, 0, 1, 9, N65536))
    both = member(0) + member(1) + slot_op(OP_JOIN, 1, turn=0) + slot_op(
        OP_JOIN, 0, turn=0, client=1)
    yield "messages", both + send(AQ_ARM, 0, 32 | EVENTFD, client=1) + send(
        ROOM_ARM, 0, 32 | EVENTFD) + slot_op(OP_SEND, 1, taken=1) + slot_op(
            OP_RECEIVE, 0, client=1) + slot_op(OP_OFFER, 1, turn=2, taken=1) + slot_op(
                OP_READY, 0, turn=2, client=1) + slot_op(OP_REPLY, 0, turn=2, client=1) + send(DOM_STATS) + send(DOM_STATS, client=1) + connected(
                        CONTROL, client=2) + b"".join(
                            send(kind, path, 0, client=2)
                            for kind in (READ, LIST) for path in range(16, 23))
    yield "message_held", both + b"".join(slot_op(OP_SEND, 1, slot, taken=1) for slot in range(
        4)) + send(QP_CREATE, 0, 4, client=1) + send(DOM_DETACH, 0, client=1) + send(
            DOM_ATTACH, 1, 0, client=1)


def seeds():
    yield from seeds_messages()
    qp = send(QP_CREATE, 0, 4)
    yield "query", connected(CONTROL) + send(QUERY) + send(NODE_INFO, 1)
    yield "attributes", connected(CONTROL) + b"".join(
        send(kind, path, 0) for kind in (READ, LIST) for path in range(16))
    yield "node_down", connected(CONTROL) + send(WATCH, 0, 0) + b"".join(
        send(WRITE, 3, 0, value) for value in (1, 0, 2, 1))
    yield "contexts", connected(CONTROL) + send(CTX_CREATE, 5) + send(CTX_CREATE, 5) + send(
        CTX_REMOVE, 5) + send(CTX_REMOVE, 6)
    yield "watch", connected() + send(ATTACH, 1) + send(WATCH, 0, 2) + send(WATCH, 0, 0)
    yield "segment", connected() + send(ATTACH, 1) + segment() + further(1) + further(
        2, at=1) + send(SEG_DEL, 0) + send(SEG_DEL, 0) + send(SEG_ARM, 0, 32 | EVENTFD) + send(
            SEG_UNREG, 0)
    yield "objects", connected() + segment(flags=0x5e) + send(SEG_UNREG, 0)
    yield "readonly", connected() + segment(flags=1) + segment(flags=1)
    yield "buffers", connected() + buffer() + buffer(8) + buffer(12, fd=MEMORY) + send(
        BUF_UNREG, 0) + send(BUF_UNREG, 0)
    yield "private", connected() + buffer(fd=PRIVATE) + qp + act(
        SCRIBBLE, 1, 0, 8, 0, 16) + act(MODEST)
    yield "pieces", connected() + send(BUF_REG, 0x30, 0x83, PRIVATE, MEMORY, MEMORY2 | 0x20,
                                       PRIVATE)
    yield "queues", connected() + qp + qp + send(WAKE, 0) + send(QP_DESTROY, 0) + send(
        QP_DESTROY, 0) + send(WAKE, 1)
    yield "arm", connected() + qp + send(CQ_ARM, 0, 32 | EVENTFD) + send(
        CQ_ARM, 0, 0x40 | 32 | FULL) + send(CQ_ARM, 0, 32 | PIPE) + send(CQ_ARM, 0, 0) + act(
            SCRIBBLE, 31, 0, 0, 0, 0)
    yield "operations", connected() + segment() + buffer(0, 4) + qp + b"".join(
        act(SCRIBBLE, op | nid << 5, 1, 8, 16 * op, 0) for op in range(12) for nid in (0, 1))
    yield "garbage_wq", connected() + buffer() + qp + act(SCRIBBLE, 0x8f, *range(150)) + act(MODEST)
    yield "truncated", connected() + send(ATTACH, 1) + segment(pages=4) + act(
        CHANGE, 0) + connected(client=1) + buffer(8, client=1) + send(
            QP_CREATE, 0, 4, client=1) + act(SCRIBBLE, 1 | 1 << 5, 1, 64, 0x10, 0x10, client=1) + act(
                MODEST) + act(MODEST)
    yield "files", connected() + b"".join(segment(fd=fd) + send(SEG_UNREG, 0) for fd in range(16))
    yield "other_user", connected(CTX1, other=1) + segment() + qp + send(
        CTX_CREATE, 1) + send(WRITE, 3, 0, 1) + buffer(fd=PRIVATE) + connected(
            CTX2, client=1, other=1) + connected(CTX0, client=2, other=1)
    yield "shared", connected() + segment() + connected(CTX1, client=1) + segment(
        client=1) + send(ATTACH, 1, client=2) + connected(CTX1, client=2) + send(
            ATTACH, 1, client=2) + segment(client=2)
    yield "flood", connected() + send(QUERY, how=0xf6) + send(QUERY, how=0xf2)
    yield "raw", act(CONNECT) + act(RAW, 16, *[1, 0, 0, 0] + [0] * 28, 0)
    yield "many_fds", connected() + send(QUERY, mutation=(32, 40, *[EVENTFD, PIPE] * 20))
    yield "half_open", act(CONNECT) + act(SHUTDOWN, 1) + connected(client=1) + act(
        SHUTDOWN, 0, client=1) + send(QUERY, client=1, how=4)
    yield "abuse", connected() + qp + send(WATCH, 0, 0) + act(ABUSE, 0x80) + act(
        ABUSE, 0x10) + act(ABUSE, 0x20) + act(ABUSE, 0x30) + act(SCRIBBLE, 1, 0, 1, 0, 0)
    yield "unread_fds", connected() + send(CQ_ARM, 0, 32 | PIPE, how=4) + send(
        BUF_REG, 0, 0, MEMORY, how=0x26) + act(DISCONNECT)


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, data in seeds():
        with open(os.path.join(sys.argv[1], name), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
