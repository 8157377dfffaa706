# SPDX-License-Identifier: GPL-2.0
# The files of kmod/ that also build in user space, with selftests/harness/shim. TOP is set.
CORE := $(filter-out %/os.c %/trace.c,$(wildcard $(TOP)/kmod/base/*.c)) \
	$(wildcard $(TOP)/kmod/core/*.c $(TOP)/kmod/core/ops/*.c) \
	$(wildcard $(TOP)/kmod/member/*.c $(TOP)/kmod/ni/*.c $(TOP)/kmod/tx/*.c) \
	$(addprefix $(TOP)/kmod/fabric/,fabric.c fault.c filter.c layout.c model.c order.c rnic.c switch.c \
	switch_control.c switch_link.c)
# The kernel's half of the shared region, which host tests run over a stand-in for a kernel
REGION := $(addprefix $(TOP)/kmod/fabric/,region.c shared.c layout.c fabric.c)
