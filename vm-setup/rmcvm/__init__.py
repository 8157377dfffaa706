# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""A cluster of guests that share one memory region.

base     paths of the checkout, errors of one line
guest    guest kernel, initial RAM disk
host     capabilities of this host: acceleration, cores, memory
agent    run commands in a guest (host end of rmc-agent.c)
machine  the emulator of a guest: qemu, or uml (User-Mode Linux)
cluster  boot, watch and stop the guests; their state on disk
"""
