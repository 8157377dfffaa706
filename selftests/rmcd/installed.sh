# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Programs, libraries and the Python package as users have them. Sourced by run.sh.

start rmcd -n 4
expect "hello on 1 node, without sanitizers" 0 "node 0 says 100: success" nodes 1 "$O/hello"
expect "PageRank, threads" 0 "verify *ok" nodes 1 "$O/pagerank" -v shm -T 3 -r 10 -V
for b in read_lat write_lat sabre_lat atomic_lat read_bw write_bw; do
	expect "rmc_$b between 2 nodes, without sanitizers" 0 "#bytes" nodes 2 "$O/rmc_$b" -n 200 -S 1M
done
expect "the path of operations inside a daemon" 0 "^ 64 .* local$" \
	nodes 2 "$O/rmc_read_lat" -n 20 -S 1M
if [ ! -x "$O/mixed_loop" ]; then
	report 0 "an event loop with io_uring" "no liburing"
elif [ "$(cat /proc/sys/kernel/io_uring_disabled 2> /dev/null || echo 0)" != 0 ]; then
	report 0 "an event loop with io_uring" "io_uring is disabled here"
else
	expect "an event loop with io_uring" 0 "" nodes 2 "$O/mixed_loop" --self-test
fi

# --- the Python package ---

prefix=$W/root/usr
check "lib installs" make -s -C "$top/lib" O="$O" DESTDIR="$W/root" PREFIX=/usr install
python_package() {		# python_package DIRECTORY
	(cd "$W" && RMC_NODES=1 RMC_NODE=0 RMC_LIBRARY=$O/librmc.so.1 \
		RMC_HEADERS=$top/lib/include PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$1 \
		timeout -k 5 60 python3 "$here/../lib/test_python.py" 2>&1)
}
python_pip() {			# as users install it, without the network
	rm -rf "$W/pip" "$W/pip-src"
	mkdir -p "$W/pip-src/lib" && cp "$top/VERSION" "$W/pip-src/" &&
		cp -r "$top/lib/python" "$W/pip-src/lib/" &&
		python3 -m pip install -q --disable-pip-version-check --no-index --no-deps \
			--target "$W/pip" "$W/pip-src/lib/python" &&
		grep -qx "Version: $(cat "$top/VERSION")" "$W"/pip/rmc-*/METADATA &&
		python_package "$W/pip"
}
if have python3; then
	expect "Python package, of the tree" 0 "^OK" python_package "$top/lib/python"
	expect "Python package, as installed by make" 0 "^OK" \
		python_package "$(dirname "$(find "$prefix" -path '*packages/rmc')")"
	if python3 -m pip --version > /dev/null 2>&1; then
		expect "Python package, as installed by pip" 0 "^OK" python_pip
	else
		report 0 "Python package, as installed by pip" "no pip"
	fi
	python_nodes() {
		RMC_LIBRARY=$O/librmc.so.1 nodes 3 "$top/tools/apps/remote_read.py"
	}
	expect "Python reads its neighbour's words" 0 "64 words of node 2 arrived" python_nodes
	expect "and has the library's words for a failure" 1 "no /dev/rmc\|does not exist" \
		env RMC_DEVICE=module RMC_LIBRARY="$O/librmc.so.1" RMC_CTX=999 \
		"$top/tools/apps/remote_read.py"
else
	report 0 "Python package" "no python3"
fi
stop "as installed"
