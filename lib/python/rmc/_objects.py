# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Contexts, buffers, queue pairs and teams as objects."""
import ctypes as c
import mmap
from typing import NamedTuple, Optional

from ._library import (CALLBACK, STATUSES, Error, Stats, check, check_pointer, check_status,
                       lib)

ALL_NODES = -1


def _view(address, length):
    return memoryview((c.c_char * length).from_address(address)).cast("B")


class Buffer:
    """Registered local memory: zeroed pages of its own, so pinning affects no other memory."""

    def __init__(self, context, length):
        pages = -(-length // mmap.PAGESIZE) * mmap.PAGESIZE
        self._pages = mmap.mmap(-1, pages)
        self.view = memoryview(self._pages)[:length]
        self.address = c.addressof(c.c_char.from_buffer(self._pages))
        self.id = lib.rmc_buf_register(context._pointer, self.address, pages)
        if self.id < 0:
            raise Error(lib.rmc_errmsg().decode(), self.id)

    def __len__(self):
        return len(self.view)

    def at(self, offset, length):
        """Address of [offset, offset + length)"""
        if offset < 0 or length < 0 or offset + length > len(self):
            raise ValueError(f"{offset} + {length} is beyond the buffer's {len(self)} bytes")
        return self.address + offset


class Completion(NamedTuple):
    """Result of an operation that QueuePair.*_async() issued"""
    cookie: int
    status: int         # 0: success, else enum rmc_status
    value: Optional[int]  # old value of the remote word; only after a successful atomic


class QueuePair:
    """Operations on the segments of other nodes. offset: in the segment of node nid."""

    def __init__(self, context, entries=0, pointer=None):
        self._context = context         # keeps its buffers alive
        self._owned = pointer is None
        self._pointer = pointer or check_pointer(
            lib.rmc_qp_create(context._pointer, entries))
        self._done = []
        self._atomic = set()            # slots of atomics
        # a reference: ctypes must not free it while the library may call it
        self._callback = CALLBACK(self._completed)

    def close(self):
        """Destroy the queue pair. Operations in flight do not complete."""
        if self._pointer and self._owned:
            lib.rmc_qp_destroy(self._pointer)
        self._pointer = None

    def _completed(self, slot, _):
        status = lib.rmc_slot_status(self._pointer, slot)
        value = None
        if slot in self._atomic:
            self._atomic.discard(slot)
            value = None if status else lib.rmc_slot_value(self._pointer, slot)
        self._done.append(Completion(lib.rmc_qp_cookie(self._pointer, slot), status, value))

    def _take(self):
        done, self._done = self._done, []
        return done

    # --- waiting for each operation ---

    def read(self, nid, offset, buffer, length, at=0):
        """Read length bytes into buffer, starting at its byte "at"."""
        check_status("read", lib.rmc_read(self._pointer, nid, offset, buffer.at(at, length),
                                          length))

    def write(self, nid, offset, buffer, length, at=0):
        """Write length bytes of buffer, starting at its byte "at"."""
        check_status("write", lib.rmc_write(self._pointer, nid, offset, buffer.at(at, length),
                                            length))

    def compare_and_swap(self, nid, offset, expected, desired):
        """Replace a word if it equals expected. Return the old value."""
        old = c.c_uint64()
        check_status("compare and swap", lib.rmc_cas(
            self._pointer, nid, offset, expected, desired, c.byref(old)))
        return old.value

    def fetch_and_add(self, nid, offset, addend):
        """Add to a word. Return the old value."""
        old = c.c_uint64()
        check_status("fetch and add", lib.rmc_faa(
            self._pointer, nid, offset, addend, c.byref(old)))
        return old.value

    def notify(self, nid):
        """Notify the context at nid: wakes the waiters of its segment."""
        check_status("notify", lib.rmc_notify(self._pointer, nid))

    # --- asynchronous operations ---

    def _slot(self, cookie):
        slot = check("slot", lib.rmc_wait_for_slot(self._pointer, self._callback))
        check("cookie", lib.rmc_qp_set_cookie(self._pointer, slot, cookie))
        return slot

    def read_async(self, nid, offset, buffer, length, at=0, cookie=0):
        """Start a read. The data is valid after the Completion with this cookie."""
        address = buffer.at(at, length)
        lib.rmc_read_async(self._pointer, self._slot(cookie), nid, offset, address, length)

    def write_async(self, nid, offset, buffer, length, at=0, cookie=0):
        """Start a write. The buffer must not change before it completes."""
        address = buffer.at(at, length)
        lib.rmc_write_async(self._pointer, self._slot(cookie), nid, offset, address, length)

    def compare_and_swap_async(self, nid, offset, expected, desired, cookie=0):
        """Completion.value has what the word was before."""
        slot = self._slot(cookie)
        self._atomic.add(slot)
        lib.rmc_cas_async(self._pointer, slot, nid, offset, expected, desired)

    def fetch_and_add_async(self, nid, offset, addend, cookie=0):
        """Completion.value has what the word was before."""
        slot = self._slot(cookie)
        self._atomic.add(slot)
        lib.rmc_faa_async(self._pointer, slot, nid, offset, addend)

    def poll(self):
        """Return a list of Completion since the last call, without waiting."""
        check("poll", lib.rmc_poll_cq(self._pointer, self._callback))
        return self._take()

    def drain(self):
        """Wait for all operations. Return a list of Completion, each with its own status."""
        check("drain", lib.rmc_drain_cq(self._pointer, self._callback))
        return self._take()

    def quiet(self, nid=ALL_NODES):
        """Wait for operations to nid. Raises Error if any failed since the last drain()."""
        check_status("quiet", lib.rmc_quiet_node(self._pointer, nid, self._callback))

    def fence(self, nid=ALL_NODES):
        """Order later operations to nid after earlier ones. Raises Error as quiet() does."""
        check_status("fence", lib.rmc_fence(self._pointer, nid, self._callback))

    def __len__(self):
        return lib.rmc_qp_entries(self._pointer)

    @property
    def in_flight(self):
        """Number of operations whose completions were not handled yet"""
        return lib.rmc_qp_in_flight(self._pointer)

    def stats(self):
        """Counters since the queue pair was created; status: failures by name"""
        s = Stats()
        check("statistics", lib.rmc_qp_stats_sized(self._pointer, c.byref(s), c.sizeof(s)))
        result = {name: getattr(s, name) for name, _ in Stats._fields_ if name != "status"}
        result["status"] = {lib.rmc_status_name(i).decode(): s.status[i]
                            for i in range(STATUSES) if s.status[i]}
        return result


class Context:
    """One context of this node. nid: the node, -1: RMC_NODE or the lowest local one"""

    def __init__(self, ctx_id=0, nid=-1, pointer=None):
        self._owned = pointer is None
        self._pointer = pointer or check_pointer(lib.rmc_open(ctx_id, nid))
        self._buffers = []

    def close(self):
        """Release queue pairs, buffers and segment. Memory views become invalid."""
        if self._pointer and self._owned:
            lib.rmc_close(self._pointer)
        self._pointer = None
        self._buffers.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def nid(self):
        """Id of the node that this context belongs to"""
        return lib.rmc_nid(self._pointer)

    @property
    def nodes(self):
        """Number of nodes of the fabric"""
        return lib.rmc_nodes(self._pointer)

    def node_state(self, nid):
        """"up", "down", "joining" or "free\""""
        state = check("node state", lib.rmc_node_state(self._pointer, nid))
        return lib.rmc_node_state_name(state).decode()

    def buffer(self, length):
        """Allocate and register local memory for operations"""
        buffer = Buffer(self, length)
        self._buffers.append(buffer)
        return buffer

    def queue_pair(self, entries=0):
        """entries: a power of two; 0: 128"""
        return QueuePair(self, entries)

    def segment(self, length):
        """Export zeroed memory to the other nodes, once per context. Return a view of it."""
        address = c.c_void_p()
        err = lib.rmc_seg_alloc(self._pointer, length, 0, -1, c.byref(address))
        if err:
            raise Error(lib.rmc_errmsg().decode(), err)
        return _view(address.value, length)


class Team:
    """One program on every node, as rmc-run starts it. length: segment bytes per member"""

    def __init__(self, length, ctx_id=0):
        self._pointer = check_pointer(lib.rmc_team_open(ctx_id, length))
        self.context = Context(pointer=lib.rmc_team_ctx(self._pointer))
        self.qp = QueuePair(self.context, pointer=lib.rmc_team_qp(self._pointer))
        self.self = lib.rmc_team_self(self._pointer)
        self.size = lib.rmc_team_size(self._pointer)
        self.offset = lib.rmc_team_offset(self._pointer)
        self.memory = _view(lib.rmc_team_seg(self._pointer), lib.rmc_team_len(self._pointer))

    def close(self):
        """Close after a barrier: no member may use this member's memory from then on."""
        if self._pointer:
            self.memory = None
            self.qp.close()
            lib.rmc_team_close(self._pointer)
            self.context.close()
        self._pointer = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __len__(self):
        return self.size

    def nid(self, member):
        """Node id of a member; the index wraps around."""
        return lib.rmc_team_nid(self._pointer, member)

    def barrier(self):
        """Wait until every member has called barrier()."""
        check_status("barrier", lib.rmc_team_barrier(self._pointer))
