# SPDX-License-Identifier: GPL-2.0
"""What is built and run for a fault: flavours of a compiler, groups of sources, programs,
and the order of programs for each area."""

import os
import re
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
HARNESS = "selftests/harness"
WARN = "-w"
SHIM = ["-std=gnu11", WARN, "-I.", "-Iuapi", "-Ilib/include", f"-I{HARNESS}",
        f"-I{HARNESS}/shim", "-Itools/common", "-pthread"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

# name: compiler, flags for objects, flags for programs
FLAVOURS = {
    # first without sanitizers: builds and runs in a fifth of the time
    "plain": ("gcc", SHIM + ["-DRMC_TEST_HOOKS", "-DRMC_TEST_PASSES", "-O1"], ["-pthread"]),
    "asan": ("gcc", SHIM + ["-DRMC_TEST_HOOKS", "-O1"] + SANITIZE, SANITIZE + ["-pthread"]),
    # with vector copies, which other flavours compile out
    "vector": ("gcc", SHIM + ["-O2"], ["-pthread"]),
    "tsan": ("clang", SHIM + ["-O1", "-fsanitize=thread"], ["-fsanitize=thread", "-pthread"]),
    # the kernel's half of the shared region, over a stub of the kernel
    "kernel": ("gcc", SHIM[:2] + [f"-I{HARNESS}/shim/kernel"] + SHIM[2:] +
               ["-Wno-sign-compare", "-O1"] + SANITIZE, SANITIZE + ["-pthread"]),
}

def variable(makefile, name):
    """Words of a variable of a Makefile"""
    with open(os.path.join(os.path.dirname(HERE), makefile), encoding="utf-8") as lines:
        text = lines.read().replace("\\\n", " ")
    return re.search(rf"^{name}\s*:=(.*)$", text, re.M)[1].split()


# the same for all that has the library, so that it is compiled once
LIBRARY = ["-std=gnu11", WARN, "-D_GNU_SOURCE", "-Ilib/include", "-Iuapi", "-Ilib", "-Iselftests/lib",
           "-Ilib/check", "-Itools/common", "-Itools/tx", "-pthread", "-O1"]
FLAVOURS.update({
    "lib": ("gcc", LIBRARY, ["-pthread"]),
    "lib.asan": ("gcc", LIBRARY + SANITIZE, SANITIZE + ["-pthread"]),
    "core.lib": ("gcc", SHIM + ["-D_GNU_SOURCE", "-DRMC_TEST_PASSES", "-O1"], ["-pthread"]),
    # over rmcd
    "member": ("gcc", LIBRARY, ["-pthread"]),
    "member.yields": ("gcc", LIBRARY, ["-pthread", "-Wl,--wrap=sched_yield"]),
    # over a driver of the test
    "setup": ("gcc", LIBRARY + SANITIZE, SANITIZE + ["-pthread",
              "-Wl,--wrap=open,--wrap=close,--wrap=ioctl,--wrap=mmap,--wrap=munmap,"
              "--wrap=madvise,--wrap=access"]),
    "causes": ("gcc", LIBRARY, ["-pthread", "-Wl,--wrap=ioctl"]),
    "compat": ("gcc", LIBRARY + ["-Ilib/compat/include"], ["-pthread"]),
    "qsim": ("gcc", ["-Itools/qsim"] + LIBRARY, []),
    "recover": ("gcc", ["-Itools/sync"] + LIBRARY + SANITIZE, SANITIZE),
    "chip": ("gcc", ["-Itools/chip"] + LIBRARY[:-1] + ["-O2"], []),
    # core, library and simulator in one
    "sim": ("gcc", ["-std=gnu11", WARN, "-D_GNU_SOURCE", "-DRMC_SHIM_SIM", "-O1", "-Itools/sim", "-I.",
                    "-Iuapi", "-Ilib/include", f"-I{HARNESS}/shim", "-pthread"],
            ["-pthread", *(f"-Wl,--wrap={n}" for n in
                           variable(os.path.join("..", "tools", "sim", "Makefile"), "WRAPPED"))]),
    # transactions with small tables, of which all states are visited
    "explore": ("gcc", SHIM + ["-DRMC_TX_SMALL", "-O2"], []),
    # a search for a cycle that is soon cut short
    "check": ("gcc", LIBRARY + ["-DWALK_MAX=2000"], []),
    # its clock is the test's
    "clock": ("gcc", LIBRARY, ["-pthread", "-Wl,--wrap=clock_gettime,--wrap=sched_yield"]),
    "tx": ("gcc", LIBRARY, ["-pthread", "-lm"]),
})
# the stores of a scheme's write take time
FLAVOURS["sim.stores"] = (*FLAVOURS["sim"][:2], FLAVOURS["sim"][2] + ["-Wl,--wrap=rmc_scheme_write"])


def compiled(flavour, source):
    """The flavour of an object of a program: what differs for the core is the same for the library."""
    if source.startswith("lib/") and flavour in ("sim", "sim.stores", "core.lib"):
        return "lib"
    return flavour


def listed(target):
    """Sources as the host tests' Makefile lists them: one list for all builds."""
    made = subprocess.run(["make", "-s", "--no-print-directory", "-C", os.path.dirname(HERE), target],
                          text=True, check=True, stdout=subprocess.PIPE)
    return made.stdout.split()


# Sources of all programs of a group; patterns are expanded in the tree
GROUPS = {
    "core": listed("list-core") + [f"{HARNESS}/testbed.c", f"{HARNESS}/packets.c", f"{HARNESS}/probe.c"],
    "region": listed("list-region"),
    "header": [],
    # without messages, which a test replaces by a stub
    "calls": [f"lib/{n}.c" for n in ("ctx", "error", "log", "mem", "qp", "sabre", "size",
                                     "sleepers", "team", "version", "wait", "watch", "rpc",
                                     "rpc_msg", "driver/*")],
}
GROUPS["lib"] = GROUPS["calls"] + ["lib/coll.c", "lib/herd.c", "lib/msg/*.c", "lib/scheme/*.c", "lib/sync/*.c",
                                   "lib/blocks/*.c", "lib/ds/*.c", "lib/kv/*.c", "lib/domain/*.c", "lib/rpc_domain.c",
                                   "selftests/lib/fake_rmc.c"]
# the library over the core
GROUPS["swsync"] = GROUPS["core"] + GROUPS["lib"][:-1]
GROUPS["ds"] = ["lib/ds/*.c"]
GROUPS["check"] = ["lib/check/*.c"]
GROUPS["blocks"] = GROUPS["lib"] + ["lib/check/*.c"]
GROUPS["tx"] = [n for n in GROUPS["calls"] if not n.startswith("lib/rpc")] + [
    "lib/tx/*.c", "lib/ds/*.c", "lib/blocks/*.c", "lib/scheme/*.c", "lib/sync/*.c", "lib/msg/*.c", "lib/rpc*.c",
    "lib/domain/*.c", "lib/check/*.c", "selftests/lib/tx_cluster.c", "selftests/lib/fake_tx.c", "selftests/lib/fake_rmc.c"]
GROUPS["compat"] = [n for n in GROUPS["calls"] if not n.startswith("lib/rpc")] + [
    "lib/compat/*.c"]
GROUPS["qsim"] = [f"tools/qsim/{n}.c" for n in ("service", "queues", "dispatch", "load")] + [
    "tools/common/zipf.c"]
GROUPS["chip"] = [f"tools/chip/{n}.c" for n in ("measure", "chip", "core", "line", "memory", "ni",
                                                "noc", "path", "rrpp", "topology")]
# its main() is that of programs with one thread per node
GROUPS["sim"] = listed("list-core") + GROUPS["lib"][:-1] + [
    f"tools/sim/{n}" for n in variable(os.path.join("..", "tools", "sim", "Makefile"), "ENGINE")
    if n != "main.c"] + [f"tools/sim/papers/{n}.c" for n in ("eval", "sync_run", "sync_calls")] + [
    f"tools/common/{n}.c" for n in ("json", "adapter", "zipf")]
# filters, participant and coordinator of transactions, alone
GROUPS["hades"] = ["kmod/tx/*.c", "kmod/base/line.c", "kmod/base/mem.c"]
# and with the library's local accesses
GROUPS["own"] = GROUPS["hades"] + [f"lib/tx/{n}.c" for n in ("local", "redo", "tags")]
GROUPS["dispatch"] = ["kmod/core/dispatch.c", "kmod/core/dispatch_cores.c"]
GROUPS["oracle"] = GROUPS["dispatch"] + GROUPS["qsim"]


# Of host programs: folders; groups other than the core; values of module parameters; arguments
HOST_FOLDERS = ("unit", "stress", "bench")
GROUP = {"parking": "header", "worker_calls": "header", "region": "region",
         "tx_filter": "hades", "tx_part": "hades", "tx_part_lock": "hades",
         "tx_part_model": "hades", "tx_coord": "hades",
         "tx_transfers": "hades", "tx_local": "own", "tx_local_random": "own", "tx_local_stress": "own",
         "dispatch": "dispatch", "dispatch_cores": "dispatch", "dispatch_oracle": "oracle"}
ENVIRONMENT = {"stress.tsan": {"RMC_TESTBED": "pair,mtu=512"}}
ARGUMENTS = {"stress.tsan": ["1"]}


def host_programs():
    """The programs of selftests/programs, in the flavours listed there: NAME or NAME.FLAVOUR."""
    programs = {}
    with open(os.path.join(os.path.dirname(HERE), "programs"), encoding="utf-8") as lines:
        for words in map(str.split, lines):
            if not words or words[0].split("/")[0] not in HOST_FOLDERS or words[4] == "-":
                continue
            source, name = f"selftests/{words[0]}.c", os.path.basename(words[0])
            for flavour in words[4].split(","):
                full = name if flavour in ("plain", "kernel") else f"{name}.{flavour}"
                programs[full] = (flavour, GROUP.get(name, "core"), [source],
                                  ENVIRONMENT.get(full, {}), ARGUMENTS.get(full, []))
    return programs


# name: flavour, group, own sources, environment, arguments
PROGRAMS = host_programs()

LIB = "selftests/lib"
for n, group in (("qp", "lib"), ("msg", "lib"), ("scheme", "lib"), ("reader", "lib"),
                 ("sync", "lib"), ("sync_table", "lib"), ("sync_lost", "lib"),
                 ("sync_crash", "lib"), ("sync_lives", "lib"), ("sync_nic", "lib"), ("sync_servers", "lib"),
                 ("latch_server", "lib"),
                 ("owner", "lib"), ("rpc", "calls"), ("ds", "ds")):
    for f in ("lib", "lib.asan"):
        PROGRAMS[f"{f}.{n}"] = (f, group, [f"{LIB}/test_{n}.c"], {}, [])
for f in ("lib", "lib.asan"):
    PROGRAMS[f"{f}.domain"] = (f, "lib", [f"{LIB}/test_domain.c", f"{LIB}/fake_domain.c"], {}, [])
for n in ("client", "memory", "domain"):
    PROGRAMS[f"daemon.{n}"] = ("lib", "lib", [f"{LIB}/test_daemon_{n}.c",
                                              f"{LIB}/stub_daemon.c"], {}, [])
PROGRAMS["causes"] = ("causes", "lib", [f"{LIB}/test_causes.c"], {}, [])
for n in ("setup", "pair"):
    PROGRAMS[n] = ("setup", "lib", [f"{LIB}/test_{n}.c", f"{LIB}/stub_driver.c"], {}, [])
for n in ("abi", "retry", "words", "yield"):
    PROGRAMS[f"lib.{n}"] = ("lib", "lib", [f"{LIB}/test_{n}.c"], {}, [])
for f in ("lib", "lib.asan"):
    PROGRAMS[f"{f}.structures"] = (f, "ds", [f"{LIB}/test_structures.c"], {}, [])
PROGRAMS["blocks"] = ("clock", "blocks", [f"{LIB}/test_blocks.c", "tools/sim/fiber.c"], {}, [])
for n in ("check", "check_limits", "check_random"):
    PROGRAMS[n] = ("check", "check", [f"{LIB}/test_{n}.c"], {}, [])
for n in ("tx", "tx_hades", "tx_faults", "tx_doubt", "tx_history", "tx_structures", "tx_keys"):
    PROGRAMS[n] = ("tx", "tx", [f"{LIB}/test_{n}.c"], {}, [])
PROGRAMS["tx_history.rmc"] = ("tx", "tx", [f"{LIB}/test_tx_history.c"], {"RMC_TEST_SYSTEM": "rmc"}, [])
PROGRAMS["tx.loads"] = ("tx", "tx", [f"{LIB}/test_tx.c"], {"RMC_TEST_SYSTEM": "hades"}, [])
PROGRAMS["tx_workloads"] = ("tx", "tx", [f"{LIB}/test_tx_workloads.c"] + [
    f"tools/tx/{n}.c" for n in ("workload", "smallbank", "tatp", "tpcc", "tpcc_load", "tpcc_tx",
                                "tpcc_check", "ycsb")] + ["tools/common/zipf.c"], {}, [])
PROGRAMS["qsim"] = ("qsim", "qsim", ["selftests/tools/qsim/test_qsim.c"], {}, [])
for n in ("theory", "sabre", "sonuma", "sync"):
    PROGRAMS[f"sim.{n}"] = ("sim.stores" if n == "sabre" else "sim", "sim", [f"selftests/sim/{n}.c"], {}, [])
PROGRAMS["tx_explore"] = ("explore", "hades", ["selftests/unit/tx_explore.c"], {}, [])
PROGRAMS["recover"] = ("recover", "header", [f"{LIB}/test_recover.c", "tools/common/json.c"], {}, [])
PROGRAMS["chip"] = ("chip", "chip", ["selftests/tools/chip/test_chip.c"], {}, [])

for n in ("switched_sync", "sync_torn"):
    PROGRAMS[n] = ("core.lib", "swsync", [f"selftests/unit/{n}.c"], {}, [])

# Programs of several members over rmcd: their number, and whether the last member has two lives,
# numbered by a last argument. 0: one that starts a daemon of its own
MEMBERS = {}
CONTROL = ["selftests/rmcd/own_daemon.c", "selftests/rmcd/raw.c"]


def member(program, nodes, *arguments, lives=False):
    name = ".".join((program, str(nodes)) + arguments)
    PROGRAMS[name] = ("member.yields" if program == "herd" else "member", "lib",
                      [f"{LIB}/prog_{program}.c", *CONTROL], {}, list(arguments))
    MEMBERS[name] = (nodes, lives)
    return name


def alone(program):
    """A TAP program that is the only member"""
    name = f"alone.{program}"
    PROGRAMS[name] = ("member", "lib", [f"{LIB}/test_{program}.c", *CONTROL], {}, [])
    MEMBERS[name] = (0, False)
    return name


# both nodes use node 1
COMPAT = "compat.async"
PROGRAMS[COMPAT] = ("compat", "compat", [f"{LIB}/test_compat_async.c"], {}, ["1"])
MEMBERS[COMPAT] = (2, False)
CALLS, FORK, WAIT = alone("calls"), alone("fork"), alone("wait")
MSG = [member("msg", 2, "all"), member("msg", 4, "all"), member("msg", 3, "orphan"),
       member("msg", 3, "rejoin", lives=True)]
KV = [member("kv", 3, "farm"), member("kv", 2, "sabre"), member("kv", 3, "lock"),
      member("kv", 3, "lease"), member("kv", 3, "rpc"), member("kv", 3, "farm", "orphan"),
      member("kv", 2, "lock", "locked"), member("kv", 2, "sabre", "other")]
OFFERS = member("domain", 2, "mode=offer", "max=100")
PULLS = member("domain", 3, "policy=shared", "messages=500", "cores=4")
HERD = [member("herd", 2, "small"), member("herd", 2, "cancel"), member("herd", 2, "lost"),
        member("herd", 2, "orphan"), member("herd", 2, "orphan_cancelled"),
        member("herd", 2, "idle"), member("herd", 2, "kept"), member("herd", 2, "pieces"),
        member("herd", 2, "late_requests"), member("herd", 2, "late_responses")]
LIMITS = {n: member("limits", k, n) for n, k in (
    ("barrier", 2), ("revoke", 3), ("spread", 3), ("collective", 3), ("calls", 2), ("budget", 2),
    ("calls_revoked", 2), ("store", 2), ("numbers", 1))}
LIVES = [member("limits", 3, n, lives=True) for n in ("client", "server")]
ERA = member("limits", 3, "era", lives=True)
NEWCOMER = member("limits", 2, "newcomer", lives=True)
OTHER_SERVER = member("limits", 2, "other_server", lives=True)
SHARING = member("members", 2)
# this program must fail, with the given output
FAILING = {"kv.2.sabre.other": "has opened another store"}

# Programs for all areas of a group, in this order: the fast ones first
ORDER = {
    "region": ["region"],
    "header": [],
    "core": ["wakeups", "epochs", "fencing", "peers", "poll_ownership", "itt", "forged_replies",
             "retransmission", "credits", "duplicate_replies", "forged_requests", "pipeline",
             "sabre", "filters", "hostile", "tenants", "rmw", "ranges",
             "poll_ownership.asan", "peers.asan", "epochs.asan", "forged_replies.asan"],
}

ORDER["sim"] = ORDER["calls"] = ORDER["compat"] = ORDER["qsim"] = ORDER["chip"] = ORDER["dispatch"] = []
ORDER["hades"] = ORDER["own"] = []
ORDER["check"] = ORDER["blocks"] = ORDER["swsync"] = ORDER["tx"] = []
ORDER["lib"] = MSG[:1] + KV[:1] + [LIMITS["barrier"]]

# By area: its group, and the programs that run before those of ORDER
AREAS = {
    "ring": ("core", ["bounds"]),
    "cq": ("core", ["kernel_client"]),
    "event": ("core", []),
    "ct": ("core", ["ranges"]),
    "wire": ("core", ["bounds", "sabre"]),
    "op": ("core", ["bounds", "pipeline"]),
    "itt": ("core", ["pipeline", "filters"]),
    "rgp": ("core", ["credits", "duplicate_replies", "poll_ownership", "pipeline",
                     "kernel_client"]),
    "rrpp": ("core", ["forged_requests", "poll_ownership", "pipeline"]),
    "rcp": ("core", ["retransmission", "forged_replies", "poll_ownership", "pipeline"]),
    "local": ("core", ["both_paths.asan", "poll_ownership", "rmw"]),
    "admit": ("core", ["both_paths.asan", "pipeline"]),
    "account": ("core", ["pipeline", "both_paths.asan", "filters"]),
    "att": ("core", ["forged_requests", "sabre"]),
    "state": ("core", ["server_state", "server_state.asan", "sabre"]),
    "sabre": ("core", ["forged_requests", "sabre"]),
    "line": ("core", ["torn_lines", "torn_lines.vector", "memory", "memory.asan", "pipeline"]),
    "vec": ("core", ["torn_lines.vector"]),
    "mem": ("core", ["pipeline", "memory", "memory.asan", "torn_lines"]),
    "node": ("core", ["epochs", "fencing", "node_table", "links"]),
    "peer": ("core", ["epochs", "peers", "node_table"]),
    "ni": ("core", ["wakeups", "workers", "poll_ownership", "tenants", "workers.asan"]),
    "tenant": ("core", ["tenants", "tenants.asan"]),
    "rmw": ("core", ["rmw", "torn_lines", "rmw.asan"]),
    "range": ("core", ["ranges", "ranges.asan"]),
    "messages": ("core", ["messages", "messages_local", "messages_cores", "messages_peers",
                          "messages_members", "answers", "messages.asan", "messages_peers.asan",
                          "messages_local.asan", "messages_members.asan"]),
    "front": ("core", ["kernel_client", "poll_ownership", "workers", "kernel_client.asan"]),
    "fabric": ("core", ["bounds", "links", "wakeups", "credits", "duplicate_replies",
                        "packet_runs", "packet_runs.asan"]),
    "home": ("core", ["ni_time"]),
    "filter": ("core", ["bounds", "one_way", "bounds.asan", "filters"]),
    "model": ("core", ["link_model", "one_way"]),
    "adapter": ("core", ["adapter", "adapter_times", "adapter.asan", "adapter_times.asan"]),
    "ordered": ("core", ["ordered", "ordered_ends", "ordered_filters", "ordered.asan", "ordered_ends.asan",
                         "ordered_filters.asan"]),
    "switch": ("core", ["switch", "switch_control"]),
    "switched": ("core", ["switched", "switched_models", "switched.asan", "switched_models.asan"]),
    "hades.queue": ("core", ["tx_queue", "tx_queue_detach", "tx_queue_transfers", "tx_commit",
                             "tx_queue.asan"]),
    "hades.packets": ("core", ["tx_packets", "tx_commit", "tx_hold", "tx_packets.asan",
                               "tx_commit.asan"]),
    "layout": ("core", ["bounds", "region"]),
    "region": ("region", ["region"]),
    "dispatch": ("dispatch", ["dispatch", "dispatch_cores", "dispatch_oracle", "dispatch.asan",
                              "dispatch_cores.asan"]),
    "hades": ("hades", ["tx_coord", "tx_part", "tx_part_lock", "tx_part_model", "tx_transfers",
                        "tx_part.asan", "tx_part_lock.asan", "tx_coord.asan", "tx_filter"]),
    "hades.loaded": ("core", ["tx_queue_loaded"]),
    "hades.sabre": ("core", ["tx_sabre"]),
    "hades.local": ("own", ["tx_local", "tx_local_random"]),
    "hades.race": ("own", ["tx_local_stress.vector"]),
    "park": ("header", ["parking"]),
    "posted": ("header", ["worker_calls"]),
    "recover": ("header", ["recover"]),
    # ThreadSanitizer alone finds most of these
    "order": ("core", ["torn_lines", "stress.tsan"]),
    # the library
    "qp": ("lib", ["lib.qp", "pair", CALLS, WAIT, FORK]),
    "ctx": ("lib", ["setup", "pair", "lib.msg", WAIT, FORK]),
    "seg": ("lib", ["setup", "pair", "causes", WAIT, FORK]),
    "wait": ("lib", ["pair", "setup", WAIT]),
    "driver": ("lib", ["daemon.client", "daemon.memory", "daemon.domain"]),
    "domain": ("lib", ["lib.domain", "daemon.domain", "lib.asan.domain"]),
    "offer": ("lib", [OFFERS]),
    "pull": ("lib", [PULLS]),
    "members": ("lib", [SHARING]),
    "size": ("lib", ["lib.words", "lib.abi"]),
    "retry": ("lib", ["lib.retry"]),
    "yield": ("lib", ["lib.yield"]),
    "compat": ("compat", [COMPAT]),
    "words": ("lib", ["lib.words", "causes", "lib.qp", "setup"]),
    "msg": ("lib", ["lib.msg", "setup"] + MSG + [LIMITS["calls_revoked"], FORK, "lib.asan.msg"]),
    "rpc": ("lib", ["lib.rpc", LIMITS["calls"], LIMITS["budget"], LIMITS["calls_revoked"],
                    "lib.asan.rpc"]),
    "scheme": ("lib", ["lib.scheme", "lib.asan.scheme", "lib.reader"]),
    "reader": ("lib", ["lib.scheme", "lib.reader"] + KV[2:5]),
    "sync": ("lib", ["lib.sync_lives", "lib.sync_lost", "lib.sync_crash", "lib.sync_table", "lib.sync",
                     "lib.scheme", "lib.reader", "lib.asan.sync"]),
    "swsync": ("swsync", ["switched_sync", "sync_torn"]),
    "served": ("lib", ["lib.latch_server", "lib.sync_nic", "lib.sync_servers", "lib.sync_table",
                       "lib.asan.sync_nic"]),
    "kv": ("lib", ["lib.owner", KV[6], "lib.asan.owner"] + KV[:6] + KV[7:] + [LIMITS["store"]] + LIVES),
    "ds": ("lib", ["lib.ds", "lib.asan.ds", "lib.owner"] + KV[:2]),
    "structures": ("blocks", ["lib.structures", "lib.asan.structures", "blocks"]),
    "blocks": ("blocks", ["blocks"]),
    "coll": ("lib", MSG[:2] + [LIMITS["collective"]]),
    "team": ("lib", [LIMITS["revoke"], LIMITS["spread"], LIMITS["numbers"], MSG[0],
                     MSG[3], ERA, NEWCOMER] + LIVES),
    "qsim": ("qsim", ["qsim"]),
    "chip": ("chip", ["chip"]),
    "sim": ("sim", ["sim.sonuma", "sim.sabre", "sim.theory"]),
    "eval": ("sim", ["sim.sabre", "sim.sonuma"]),
    "evalsync": ("sim", ["sim.sync"]),
    "check": ("check", ["check", "check_limits", "check_random"]),
    "tx": ("tx", ["tx", "tx_faults", "tx_doubt", "tx_history"]),
    "tx.history": ("tx", ["tx_history"]),
    "tx.hades": ("tx", ["tx_hades", "tx_history.rmc"]),
    "tx.loads": ("tx", ["tx.loads"]),
    "tx.structures": ("tx", ["tx_structures", "tx_keys"]),
    "tx.workload": ("tx", ["tx_workloads"]),
    "hades.explore": ("hades", ["tx_explore"]),
    "herd": ("lib", HERD + [OTHER_SERVER] + LIVES),
}

for listed in [*ORDER.values(), *(first for _, first in AREAS.values())]:
    for one in listed:
        if one not in PROGRAMS:
            raise ValueError(f"selftests/mutants/plan.py: there is no program {one}")


def order(area):
    """Programs for a fault of an area, the most likely to fail first."""
    group, first = AREAS[area]
    return first + [p for p in ORDER[group] if p not in first]


def only_fast():
    """Omit programs with sanitizers, except in areas that have no others."""
    def fast(names):
        return [n for n in names if PROGRAMS[n][0] in ("plain", "vector", "lib", "qsim", "chip", "check",
                                                       "clock", "sim", "sim.stores", "tx", "explore", "member",
                                                       "member.yields")]

    for area, (group, first) in list(AREAS.items()):
        if fast(first + ORDER[group]):
            AREAS[area] = (group, fast(first))
    for group, names in list(ORDER.items()):
        ORDER[group] = fast(names) or names


def only_quick():
    """As only_fast(), and only the first program of an area of the library: it notices the faults
    there that are marked, and no other has to be built and run."""
    only_fast()
    for area, (group, first) in list(AREAS.items()):
        if group == "lib":
            AREAS[area] = (group, first[:1])
    ORDER["lib"] = []
