#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Proof from the machine code that the fast path and the callback are inlined into
# PageRank's inner loop. For fine_superstep() of tools/apps/pagerank_fine.c:
#
#  - direct calls go only to functions that wait (rmc_relax_slow), keep the status of a
#    failed operation (rmc_cq_failed), or report a failure and exit
#  - the only indirect call is the wake-up of a parked worker, qp->wake
#  - pagerank_async does not exist as a separate function
#  - without all call instructions there is still a cycle that goes through
#    posting (rmc_issue), consuming (rmc_cq_next) and the callback (pagerank_async)
#
# usage: inline_check.sh COMPILER [FLAGS...]; exit status 77: not possible here
set -eu

[ $# -ge 1 ] || { echo "usage: inline_check.sh COMPILER [FLAGS...]"; exit 2; }
top=$(cd "$(dirname "$0")/../.." && pwd)
for tool in "$1" objdump addr2line python3; do
	command -v "$tool" > /dev/null || { echo "no $tool"; exit 77; }
done
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
"$1" -std=c11 -D_GNU_SOURCE -O2 "${@:2}" -gdwarf-4 -ffunction-sections -fcf-protection=none \
	-I"$top/lib/include" -I"$top/uapi" -I"$top/tools/common" -I"$top/tools/apps" \
	-c -o "$W/fine.o" "$top/tools/apps/pagerank_fine.c" || exit 2
objdump -f "$W/fine.o" | grep -q 'elf64-x86-64' || { echo "not x86-64"; exit 77; }
cat > "$W/wake.c" << 'END'
#include <rmc/qp.h>
char wake[offsetof(struct rmc_qp, wake)];
END
"$1" -I"$top/lib/include" -I"$top/uapi" -c -o "$W/wake.o" "$W/wake.c"
wake=$(nm -S "$W/wake.o" | awk '$4 == "wake" { print $2 }')

python3 - "$W/fine.o" "$wake" << 'END'
import collections
import re
import subprocess
import sys

OBJECT, WAKE = sys.argv[1], int(sys.argv[2], 16)
FUNCTION, CALLBACK = "fine_superstep", "pagerank_async"
SECTION = ".text." + FUNCTION
COLD = {"rmc_relax_slow", "rmc_cq_failed", "rmc_strerror", "die"}
bad = []


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Instruction:
    def __init__(self, address, text):
        self.address, self.text, self.symbol = address, text, None
        self.name = text.split()[0]


code = collections.OrderedDict()            # of the function and its cold part
current = None
for line in output("objdump", "-dr", "--no-show-raw-insn", OBJECT).splitlines():
    if m := re.match(r"[0-9a-f]+ <([^>]+)>:", line):
        current = m[1] if m[1].split(".")[0] == FUNCTION else None
    elif not current:
        continue
    elif m := re.match(r"\s+[0-9a-f]+: R_X86\S+\s+(\S+)", line):
        code[next(reversed(code))].symbol = re.split(r"[-+]0x", m[1])[0]
    elif m := re.match(r"\s*([0-9a-f]+):\s+(\S.*)", line):
        code[current, int(m[1], 16)] = Instruction(int(m[1], 16), m[2].split("#")[0].strip())

main = [i for (part, _), i in code.items() if part == FUNCTION]
if not main:
    sys.exit("no " + FUNCTION)

# Calls
everything = list(code.values())
indirect = 0
for at, i in enumerate(everything):
    if not i.name.startswith("call"):
        continue
    if "*" not in i.text:
        if i.symbol not in COLD:                # a call within the file: no relocation
            bad.append(f"{i.address:#x}: calls {i.symbol or i.text}")
        continue
    indirect += 1
    if m := re.search(r"\*(-?0x[0-9a-f]+)\(%", i.text):
        if int(m[1], 16) == WAKE:
            continue
    elif m := re.search(r"\*(%\w+)", i.text):
        load = next((k for k in reversed(everything[max(0, at - 16):at])
                     if k.text.endswith("," + m[1]) and not k.name.startswith(("test", "cmp"))),
                    None)
        if load and re.match(r"mov\s+" + hex(WAKE) + r"\(%", load.text):
            continue
    bad.append(f"{i.address:#x}: {i.text} is not the wake-up of a worker")

if re.search(rf"\b{CALLBACK}\b", output("nm", OBJECT)):
    bad.append(f"{CALLBACK} exists as a function of its own")

# Which inlined functions an instruction belongs to
where = None
lines = output("addr2line", "-a", "-i", "-f", "-e", OBJECT, "-j", SECTION,
               *(hex(i.address) for i in main)).splitlines()
frames = collections.defaultdict(set)
for line in lines:
    if re.fullmatch(r"0x[0-9a-f]+", line):
        where = int(line, 16)
    else:
        frames[where].add(line.strip())

# Control flow without the calls
after, before = collections.defaultdict(set), collections.defaultdict(set)
known = {i.address for i in main}
for i, following in zip(main, main[1:] + [None]):
    if i.name.startswith("call"):
        continue
    targets = set()
    if i.name.startswith("j") and not i.symbol and (m := re.match(r"j\w+\s+([0-9a-f]+)", i.text)):
        targets.add(int(m[1], 16))
    if following and not i.name.startswith(("jmp", "ret", "ud2")):
        targets.add(following.address)
    for t in targets & known:
        after[i.address].add(t)
        before[t].add(i.address)


def reach(start, edges):
    seen, todo = set(), [start]
    while todo:
        for t in edges[todo.pop()] - seen:
            seen.add(t)
            todo.append(t)
    return seen


wanted = {"rmc_issue", "rmc_cq_next", CALLBACK}
best = set()
for i in main:
    if "rmc_issue" in frames[i.address] and i.address not in best:
        cycle = reach(i.address, after) & reach(i.address, before)
        if wanted <= set().union(*(frames[a] for a in cycle)) and len(cycle) > len(best):
            best = cycle
if not best:
    bad.append("no cycle without calls that posts, consumes and runs the callback")

for line in bad:
    print(line)
if bad:
    sys.exit(1)
print(f"{len(main)} instructions, {len(best)} in a cycle without calls; "
      f"{indirect} wake-up, {sum(i.symbol in COLD for i in everything)} cold calls")
END
