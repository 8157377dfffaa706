# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Programs over a daemon with faults and a link model, as users set them. Sourced by run.sh;
# what the faults do is in faulty.h and in the module's tests.

expect "no such link model" 2 "topology=sphere is unknown" \
	timeout -k 5 20 "$D/rmcd.asan" --socket "$S/none" --topology sphere
expect "a torus that is too small" 2 "hold all nodes" \
	timeout -k 5 20 "$D/rmcd.asan" --socket "$S/none" -n 4 --topology torus2d --dims 2x1
start rmcd.asan -n 4 --topology torus2d --dims 2x2 --hop-ns 1000 --one-way 1
expect "the model is there from the start" 0 "topology=torus2d dims=2x2x1 hop_ns=1000 .*one_way=1" \
	ctl model
expect "a program over it" 0 "success" nodes 4 "$O/hello"
expect "two racks" 0 "" ctl model racks --dims 2 --hop 1us --rack 50us --rack-mbps 1000 --one-way
expect "they are there" 0 "topology=racks dims=2x1x1 .* rack_ns=50000 rack_mbps=1000 one_way=1" ctl model
expect "a program over them" 0 "success" nodes 4 "$O/hello"
expect "another model" 0 "" ctl model crossbar --hop 2us
expect "PageRank over that" 0 "verify *ok" nodes 4 "$O/pagerank" -r 8 -n 2 -V
# none is lost: the last barrier has no answer from a node that is gone already
expect "a fabric without order" 0 "" \
	ctl fault set --dup 5% --reorder 5% --shuffle 5% --jitter 2us --seed 7
expect "PageRank over that, too" 0 "verify *ok" nodes 4 "$O/pagerank" -r 8 -n 2 -V
# its filters, ports and paths are freed: ASan would say so
stop "with faults and a model"
