# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# libsonuma, the sonuma-vm interface. Included by the Makefile of librmc.

SONUMA_SO	:= libsonuma.so.0
SONUMA_OBJ	:= $(O)/lib/compat/open.o $(O)/lib/compat/queue.o
SONUMA_HEADERS	:= $(wildcard compat/include/*.h)

all: $(O)/libsonuma.a $(O)/libsonuma.so $(O)/sonuma.pc

$(O)/lib/compat/%.o: compat/%.c compat/internal.h $(SONUMA_HEADERS) $(HEADERS) $(UAPI) \
		     Makefile compat/rules.mk
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -Icompat/include -c -o $@ $<

$(O)/libsonuma.a: $(SONUMA_OBJ)
	rm -f $@
	$(AR) rcs $@ $(SONUMA_OBJ)

$(O)/$(SONUMA_SO): $(SONUMA_OBJ) compat/libsonuma.map $(O)/librmc.so
	$(CC) -shared -Wl,-soname,$(SONUMA_SO) -Wl,--version-script,compat/libsonuma.map \
		-Wl,-z,defs $(CFLAGS) $(LDFLAGS) -o $@ $(SONUMA_OBJ) -L$(O) -lrmc -lpthread

$(O)/libsonuma.so: $(O)/$(SONUMA_SO)
	ln -sf $(SONUMA_SO) $@

sonuma_pc	 = sed -e 's,@PREFIX@,$(PREFIX),' -e 's,@LIBDIR@,$(LIBDIR),' \
		       -e 's,@INCLUDEDIR@,$(INCLUDEDIR),' -e 's,@VERSION@,$(VERSION),' \
		       compat/sonuma.pc.in

$(O)/sonuma.pc: compat/sonuma.pc.in ../VERSION Makefile compat/rules.mk | $(O)/lib
	$(sonuma_pc) > $@

install: install-sonuma

install-sonuma: all
	install -d $(DESTDIR)$(INCLUDEDIR)/sonuma $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(SONUMA_HEADERS) $(DESTDIR)$(INCLUDEDIR)/sonuma/
	install -m 644 $(O)/libsonuma.a $(DESTDIR)$(LIBDIR)/
	install -m 755 $(O)/$(SONUMA_SO) $(DESTDIR)$(LIBDIR)/
	ln -sf $(SONUMA_SO) $(DESTDIR)$(LIBDIR)/libsonuma.so
	$(sonuma_pc) > $(DESTDIR)$(LIBDIR)/pkgconfig/sonuma.pc

# As for librmc; what it takes from there and from libc is not its own interface.
SONUMA_BASELINE	:= abi/libsonuma.abi
sonuma_abidw	 = abidw --headers-dir compat/include --exported-interfaces-only \
		   --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs --out-file

abi-baseline: abi-baseline-sonuma
abi-check: abi-check-sonuma

abi-baseline-sonuma: $(O)/$(SONUMA_SO)
	$(sonuma_abidw) $(SONUMA_BASELINE) $<

abi-check-sonuma: $(O)/$(SONUMA_SO)
	$(sonuma_abidw) $(O)/libsonuma.abi $<
	abidiff --no-added-syms $(SONUMA_BASELINE) $(O)/libsonuma.abi

clean: clean-sonuma

clean-sonuma:
	rm -f $(O)/libsonuma.a $(O)/libsonuma.so $(O)/$(SONUMA_SO) $(O)/sonuma.pc

.PHONY: install-sonuma clean-sonuma abi-baseline-sonuma abi-check-sonuma
