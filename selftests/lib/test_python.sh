# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# The Python package. Sourced by run.sh, when programs of several nodes run here.

python_package() {		# python_package DIRECTORY: test it over the driver in user space
	rm -f "$W/fabric"
	truncate -s 64K "$W/fabric"
	(cd "$W" && FAKE_FABRIC=$W/fabric RMC_NODES=1 RMC_NODE=0 RMC_LIBRARY=$W/librmc-fake.so \
		RMC_HEADERS=$top/lib/include PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$1 \
		timeout 60 python3 "$here/test_python.py" 2>&1)
}
python_builds() {
	$CC $FLAGS -fPIC -shared -pthread -o "$W/librmc-fake.so" "$here/fake_driver.c" \
		"$here/fake_rmc.c" "$top"/lib/{*,driver/*,msg/*,scheme/*,kv/*}.c $WRAP
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
	prepare "the library for Python builds over the driver in user space" python_builds
	expect "Python package, of the tree" 0 "^OK" python_package "$top/lib/python"
	expect "Python package, as installed by make" 0 "^OK" \
		python_package "$(dirname "$(find "$prefix" -path '*packages/rmc')")"
	if python3 -m pip --version > /dev/null 2>&1; then
		expect "Python package, as installed by pip" 0 "^OK" python_pip
	else
		report 0 "Python package, as installed by pip" "no pip"
	fi
	python_nodes() {
		RMC_LIBRARY=$W/librmc-fake.so nodes 3 "$top/tools/apps/remote_read.py"
	}
	expect "Python reads its neighbour's words" 0 "64 words of node 2 arrived" python_nodes
	expect "and finds all symbols in the real library" 1 "no /dev/rmc\|does not exist" \
		env RMC_LIBRARY="$O/librmc.so.1" RMC_CTX=999 "$top/tools/apps/remote_read.py"
else
	report 0 "Python package" "no python3"
fi
