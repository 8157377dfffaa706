# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Sources under sanitizers, for all that tests the library: each is compiled once, with gcc.
# For Makefiles in a folder of selftests/, with O and TOP:
#
#	$(call objects,asan,lib/qp tools/common/json)	objects of these sources; or tsan
#
# The folder of objects has a lock: who makes them holds it (flock), since other steps of
# "make check" may run at the same time.
.DEFAULT_GOAL	:= all
SANITIZED	:= $(O)/selftests/sanitized
SOURCE_FLAGS	:= -std=gnu11 -g -O1 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread \
		   -I$(TOP)/lib/include -I$(TOP)/uapi
ASAN		:= -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# it does not support fences, and warns: all data that they order is atomic in these programs
TSAN		:= -fsanitize=thread -Wno-tsan

objects		 = $(2:%=$(SANITIZED)/$(1)/%.o)
# sources of the library by patterns, without .c: $(call library,ctx sync/*)
library		 = $(patsubst $(TOP)/%.c,%,$(wildcard $(1:%=$(TOP)/lib/%.c)))

compile		 = $(CC) $(SOURCE_FLAGS) $(OTHER_FLAGS) $(1) -MMD -MP -c -o $@ $<
$(SANITIZED)/asan/%.o: $(TOP)/%.c $(TOP)/selftests/lib/sanitized.mk
	@mkdir -p $(@D)
	$(call compile,$(ASAN))
$(SANITIZED)/tsan/%.o: $(TOP)/%.c $(TOP)/selftests/lib/sanitized.mk
	@mkdir -p $(@D)
	$(call compile,$(TSAN))
# kept, though only patterns name them
.SECONDARY:
-include $(shell find $(SANITIZED) -name '*.d' 2> /dev/null)
