# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""librmc.so.1: finding it, and the types of its functions."""
import ctypes as c
import os
import pathlib

POINTER = c.c_void_p
CALLBACK = c.CFUNCTYPE(None, c.c_int, c.c_void_p)
STATUSES = 32


class Error(Exception):
    """An operation or call failed. status: enum rmc_status, or a negative errno."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


class Stats(c.Structure):
    """struct rmc_qp_stats"""
    _fields_ = [("issued", c.c_uint64), ("completed", c.c_uint64), ("failed", c.c_uint64),
                ("status", c.c_uint64 * STATUSES), ("waits", c.c_uint64), ("wakes", c.c_uint64),
                ("yields", c.c_uint64), ("sleeps", c.c_uint64)]


_ADDRESSED = [POINTER, c.c_int, c.c_int, c.c_uint64]    # queue pair, slot, node, offset
# name: (result, arguments)
FUNCTIONS = {
    "rmc_version": (c.c_char_p, []),
    "rmc_strerror": (c.c_char_p, [c.c_int]),
    "rmc_status_name": (c.c_char_p, [c.c_int]),
    "rmc_errmsg": (c.c_char_p, []),
    "rmc_open": (POINTER, [c.c_uint, c.c_int]),
    "rmc_close": (None, [POINTER]),
    "rmc_nid": (c.c_int, [POINTER]),
    "rmc_nodes": (c.c_int, [POINTER]),
    "rmc_node_state": (c.c_int, [POINTER, c.c_int]),
    "rmc_node_state_name": (c.c_char_p, [c.c_int]),
    "rmc_seg_alloc": (c.c_int, [POINTER, c.c_size_t, c.c_uint, c.c_int, c.POINTER(POINTER)]),
    "rmc_buf_register": (c.c_int, [POINTER, POINTER, c.c_size_t]),
    "rmc_buf_unregister": (c.c_int, [POINTER, c.c_int]),
    "rmc_qp_create": (POINTER, [POINTER, c.c_uint]),
    "rmc_qp_destroy": (None, [POINTER]),
    "rmc_qp_entries": (c.c_uint, [POINTER]),
    "rmc_qp_in_flight": (c.c_uint, [POINTER]),
    "rmc_qp_set_cookie": (c.c_int, [POINTER, c.c_int, c.c_uint64]),
    "rmc_qp_cookie": (c.c_uint64, [POINTER, c.c_int]),
    "rmc_qp_stats_sized": (c.c_int, [POINTER, c.POINTER(Stats), c.c_size_t]),
    "rmc_slot_status": (c.c_int, [POINTER, c.c_int]),
    "rmc_slot_value": (c.c_uint64, [POINTER, c.c_int]),
    "rmc_wait_for_slot": (c.c_int, [POINTER, CALLBACK]),
    "rmc_poll_cq": (c.c_int, [POINTER, CALLBACK]),
    "rmc_drain_cq": (c.c_int, [POINTER, CALLBACK]),
    "rmc_quiet_node": (c.c_int, [POINTER, c.c_int, CALLBACK]),
    "rmc_fence": (c.c_int, [POINTER, c.c_int, CALLBACK]),
    "rmc_read_async": (None, _ADDRESSED + [POINTER, c.c_size_t]),
    "rmc_write_async": (None, _ADDRESSED + [POINTER, c.c_size_t]),
    "rmc_cas_async": (None, _ADDRESSED + [c.c_uint64, c.c_uint64]),
    "rmc_faa_async": (None, _ADDRESSED + [c.c_uint64]),
    "rmc_read": (c.c_int, [POINTER, c.c_int, c.c_uint64, POINTER, c.c_size_t]),
    "rmc_write": (c.c_int, [POINTER, c.c_int, c.c_uint64, POINTER, c.c_size_t]),
    "rmc_cas": (c.c_int, [POINTER, c.c_int, c.c_uint64, c.c_uint64, c.c_uint64,
                          c.POINTER(c.c_uint64)]),
    "rmc_faa": (c.c_int, [POINTER, c.c_int, c.c_uint64, c.c_uint64,
                          c.POINTER(c.c_uint64)]),
    "rmc_notify": (c.c_int, [POINTER, c.c_int]),
    "rmc_team_open": (POINTER, [c.c_uint, c.c_size_t]),
    "rmc_team_close": (None, [POINTER]),
    "rmc_team_barrier": (c.c_int, [POINTER]),
    "rmc_team_ctx": (POINTER, [POINTER]),
    "rmc_team_qp": (POINTER, [POINTER]),
    "rmc_team_self": (c.c_int, [POINTER]),
    "rmc_team_size": (c.c_int, [POINTER]),
    "rmc_team_seg": (POINTER, [POINTER]),
    "rmc_team_len": (c.c_size_t, [POINTER]),
    "rmc_team_offset": (c.c_uint64, [POINTER]),
    "rmc_team_nid": (c.c_int, [POINTER, c.c_int]),
}


def _load():
    built = pathlib.Path(__file__).resolve().parents[3] / "build/librmc.so.1"
    path = os.environ.get("RMC_LIBRARY") or (str(built) if built.exists() else "librmc.so.1")
    library = c.CDLL(path, use_errno=True)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)       # AttributeError: the library is older
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()


def version():
    """Version of the library, as "1.1.0"."""
    return lib.rmc_version().decode()


def check(what, result):
    """Return a result >= 0; raise Error for a negative one."""
    if result < 0:
        raise Error(f"{what}: {lib.rmc_strerror(result).decode()}", result)
    return result


def check_status(what, status):
    """0 is success, a positive number is an enum rmc_status."""
    if status:
        raise Error(f"{what}: {lib.rmc_strerror(status).decode()}", status)


def check_pointer(pointer):
    """Return a pointer; raise Error with rmc_errmsg() for NULL."""
    if not pointer:
        raise Error(lib.rmc_errmsg().decode(), -c.get_errno())
    return pointer
