# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Remote memory of Scale-Out NUMA, through librmc.

Team      the same program on every node: segments of one layout, barriers, a queue pair
Context   one context of the node: local buffers, queue pairs, a segment
QueuePair reads, writes and atomics on other nodes' segments, synchronous or asynchronous
Buffer    registered local memory: source of writes, destination of reads
Error     message of a failure; .status: enum rmc_status, or -errno

One thread at a time uses a queue pair.
"""
from ._library import Error, version
from ._objects import ALL_NODES, Buffer, Completion, Context, QueuePair, Team

__all__ = ["ALL_NODES", "Buffer", "Completion", "Context", "Error", "QueuePair", "Team", "version"]
