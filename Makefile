# SPDX-License-Identifier: GPL-2.0
#
# rmc: Scale-Out NUMA on Linux. "make help" lists what there is to do.
#
# Kbuild says which files make rmc.ko; everything built in user space goes to
# build/, everything fetched to .cache/.

O := $(CURDIR)/build
KDIR ?= $(shell $(CURDIR)/vm-setup/rmc-deps kdir 2>/dev/null)
NODES ?= $(shell n=$$(( $$(nproc) / 2 )); echo $$(( n < 2 ? 2 : n > 4 ? 4 : n )))
GRAPH ?= --debian
PREFIX ?= /usr/local
DESTDIR ?=

help:
	@echo 'Two commands do everything on a fresh Debian 12 machine (root or sudo):'
	@echo '  make demo         boot a cluster and rank the Debian packages on it'
	@echo '  make check        run every test'
	@echo
	@echo 'Build:'
	@echo '  make all          module, library, tools; without kernel headers all but the module'
	@echo '  make modules      rmc.ko for the guest kernel, or for KDIR=...'
	@echo '  make uml          build/uml/rmc.ko for the User-Mode-Linux kernel of rmc-deps uml'
	@echo '  make lib tools    librmc, rmcctl, rmcd, benchmarks, applications'
	@echo '  make deps         install or fetch what is missing'
	@echo '  make install      library, headers, tools, man pages: DESTDIR=, PREFIX='
	@echo '  make version      after a change of VERSION: its numbers into <rmc/version.h>'
	@echo
	@echo 'Parts of make check:'
	@echo '  make unit         core on the host: ASan, UBSan, TSan; seconds'
	@echo '  make model        joining and epochs, searched through with spin; a minute'
	@echo '  make sim          core and library in virtual time: theory, seeds, crashes; seconds'
	@echo '  make mutants      which single faults in the sources the tests notice;'
	@echo '                    MUTANTS="--quick" and more: selftests/mutants/run --help'
	@echo '  make style sparse checkpatch, licences, static checks'
	@echo '  make kselftest    the module in one guest with loopback nodes'
	@echo '  make cluster      two and four guests over ivshmem'
	@echo '  make abi-baseline record the library interface that make check compares with'
	@echo '  make fuzz         fuzz targets over the core and rmcd, SECONDS=600 each'
	@echo
	@echo 'Longer tests:'
	@echo '  make check-debug    on a kernel with KASAN, lockdep, kmemleak, fault injection'
	@echo '  make cover          lines of the module that no kernel selftest reaches (gcov)'
	@echo '  make check-ni       what make check tests, with each NI organisation and MTU'
	@echo '  make check-kernels  on the newest kernels of this and of the next Debian'
	@echo '  make soak           everything mixed, with kills and pauses: SECONDS=600'
	@echo '  make sim-runs     short runs in virtual time, each from a seed: RUNS=10000 of a kind'
	@echo '  make lossy          each of OPERATIONS=10000000 completes once on a lossy fabric'
	@echo '  make fuzz-cover     lines of core and rmcd that the fuzz corpus reaches'
	@echo
	@echo 'Module for the kernels of this machine (dkms):'
	@echo '  make dkms-install dkms-remove'
	@echo
	@echo 'Measure:'
	@echo '  make bench        one table: what this machine does, its limits, papers, peers;'
	@echo '                    BENCH="--quick" and more: tools/rmc-bench --help'
	@echo '  make bench-host   the core at native speed beside the limits of this machine'
	@echo '  make bench-history  the same, compared with earlier runs: changes and exit status'
	@echo '  make bench-ni     NI organisations beside each other; NI="--quick" and more: ni_bench --help'
	@echo '  make figures      the figures of the papers, measured here, as a page;'
	@echo '                    FIGURES="--quick --only fig7" and more: tools/rmc-figures --help'

# A container has no kernel headers, and rmcd is made for it. What the command line names has to be
# there, and what runs in guests needs the module: it depends on "modules", too. Expanded when "all"
# is built, not for each make: to search headers takes a second.
headers = $(or $(filter command,$(origin KDIR)),$(and $(KDIR),$(wildcard $(KDIR)/Makefile)))
.SECONDEXPANSION:
all: $$(if $$(headers),modules,no-modules) lib tools

no-modules:
	@echo 'no kernel headers here, so no rmc.ko: programs run over rmcd (for the module: make deps)'

deps:
	@vm-setup/rmc-deps build vm

modules:
	@test -n "$(KDIR)" || { echo "no kernel headers: run 'make deps', or give KDIR=/lib/modules/.../build"; exit 1; }
	$(MAKE) -C $(KDIR) M=$(CURDIR) KCFLAGS=-Werror modules

# Native speed without KVM: see "User-Mode Linux" in Documentation/cluster.rst.
# From a copy: kbuild wants no objects of another kernel beside the sources.
# That of RMC_UML_CONFIG=FILE.config goes to build/FILE. UML_DIR, UML_FLAGS: another
# folder, and more for kbuild (selftests/coverage).
UML_DIR ?= $(O)/$(or $(basename $(notdir $(RMC_UML_CONFIG))),uml)
uml:
	@vm-setup/rmc-deps uml
	@mkdir -p $(UML_DIR)
	@cp -up --parents -t $(UML_DIR) Kbuild VERSION $$(find kmod uapi -name '*.[ch]')
	$(MAKE) -C $$(vm-setup/rmc-deps uml-kdir) ARCH=um M=$(UML_DIR) KCFLAGS=-Werror $(UML_FLAGS) modules

lib:
	$(MAKE) -C lib O=$(O)

tools: lib
	$(MAKE) -C tools O=$(O)

demo: deps
	$(MAKE) -s all
	tools/rmc-run -n $(NODES) $(O)/pagerank $(GRAPH) --verify
	@printf '\n%s\n' "The same graph without VMs, over rmcd, at this machine's own speed:"
	tools/rmc-run --daemon -n $(NODES) $(O)/pagerank $(GRAPH) --verify

check:
	@selftests/run-all

unit:
	@$(MAKE) -s -j$$(nproc) -C selftests O=$(O)/host check

model:
	@selftests/model/run

sim: lib
	@$(MAKE) -s -C selftests/sim O=$(O) check

sim-runs: lib
	@$(MAKE) -s -C selftests/sim O=$(O) runs RUNS=$(or $(RUNS),10000)

mutants:
	@selftests/mutants/run $(MUTANTS)

fuzz:
	@$(MAKE) -s -C selftests/fuzz O=$(O)/fuzz fuzz SECONDS=$(or $(SECONDS),600)

fuzz-cover:
	@$(MAKE) -s -C selftests/fuzz O=$(O)/fuzz cover

lossy:
	@$(MAKE) -s -C selftests O=$(O)/host $(O)/host/lossy
	@$(O)/host/lossy $(or $(OPERATIONS),10000000)

style:
	@selftests/style

sparse:
	@selftests/sparse $(KDIR)

kselftest: modules all
	@selftests/rmc/run_in_vm.sh

cluster: modules all
	@selftests/cluster/run.sh

# What cannot be had here is told below the table.
bench: deps tools
	@vm-setup/rmc-deps peers || echo 'make bench: without some of the peers' >&2
	@$(MAKE) -s -C tools O=$(O) peers
	@$(MAKE) -s modules || echo 'make bench: without the module' >&2
	@if vm-setup/rmc-deps uml-kdir >/dev/null 2>&1; then $(MAKE) -s uml; fi
	@$(MAKE) -s -C selftests O=$(O)/host $(addprefix $(O)/host/,sweep stages lines messages native_bench ni_bench)
	@tools/rmc-bench $(BENCH)

bench-host:
	@$(MAKE) -s -C selftests O=$(O)/host $(O)/host/bench
	@$(O)/host/bench

bench-history:
	@$(MAKE) -s -C selftests O=$(O)/host $(addprefix $(O)/host/,bench sabre_bench)
	@selftests/bench/bench-history $(HISTORY)

bench-ni:
	@$(MAKE) -s -C selftests O=$(O)/host $(O)/host/ni_bench
	@$(O)/host/ni_bench $(NI)

# What cannot be built or booted is told on the page.
figures: deps tools
	@vm-setup/rmc-deps figures
	@$(MAKE) -s -C tools/sim O=$(O)
	@$(MAKE) -s modules || echo 'make figures: without the module' >&2
	@$(MAKE) -s -C selftests O=$(O)/host $(addprefix $(O)/host/,sweep objects native_bench valet_curves footprint ni_bench tx_bench)
	@tools/rmc-figures $(FIGURES)

# The header has the version in numbers, for programs to compare; everything else reads VERSION.
version:
	@IFS=. read -r major minor patch <VERSION && \
		sed -i -e "s/^\(#define RMC_VERSION_MAJOR\t\).*/\1$$major/" \
			-e "s/^\(#define RMC_VERSION_MINOR\t\).*/\1$$minor/" \
			-e "s/^\(#define RMC_VERSION_PATCH\t\).*/\1$$patch/" lib/include/rmc/version.h

# What programs may rely on: Documentation/library-abi.rst
abi-baseline: lib
	$(MAKE) -C lib O=$(O) abi-baseline

install: lib tools
	$(MAKE) -C lib O=$(O) DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) install
	$(MAKE) -C tools O=$(O) DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) install

DKMS_VERSION = $(shell cat VERSION)
DKMS_SOURCE = $(DESTDIR)/usr/src/rmc-$(DKMS_VERSION)

dkms-source:
	rm -rf $(DKMS_SOURCE)
	mkdir -p $(DKMS_SOURCE)
	find Kbuild VERSION dkms.conf kmod uapi \( -name '*.[ch]' -o -name Kbuild -o -name VERSION \
		-o -name dkms.conf \) -print0 | \
		grep -zv '\.mod\.c$$' | xargs -0 cp -p --parents -t $(DKMS_SOURCE)

dkms-install: dkms-source
	dkms install rmc/$(DKMS_VERSION)

dkms-remove:
	dkms remove rmc/$(DKMS_VERSION) --all
	rm -rf $(DKMS_SOURCE)

check-ni: modules all
	@selftests/check-ni

check-kernels:
	@selftests/check-kernels

cover: lib
	@selftests/coverage

check-debug: modules all
	@selftests/check-debug

soak: modules all
	@selftests/soak $(if $(SECONDS),--seconds $(SECONDS))

clean:
	rm -rf $(O)
	find . -path ./.cache -prune -o \( -name '*.o' -o -name '*.ko' -o -name '*.mod' \
		-o -name '*.mod.c' -o -name '.*.cmd' -o -name modules.order \
		-o -name Module.symvers \) -type f -print | xargs -r rm -f

.PHONY: help all deps modules no-modules uml lib tools version abi-baseline demo check unit model sim sim-runs mutants fuzz fuzz-cover lossy style sparse kselftest cluster \
	bench bench-host bench-history bench-ni figures install clean dkms-source dkms-install \
	dkms-remove check-ni check-kernels check-debug cover soak
