/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * contained [--no-pidfd ERRNO] PROGRAM [ARGUMENT...]: run a program as container engines do by
 * default: no new privileges, 64 KiB of locked memory, and a filter that refuses the system calls
 * which those engines, also older ones, refuse to processes without capabilities. Engines older
 * than pidfd_open(2) refuse that, too, with this error.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned int refused[] = {
	__NR_acct, __NR_add_key, __NR_bpf, __NR_clock_settime, __NR_delete_module,
	__NR_finit_module, __NR_fsconfig, __NR_fsmount, __NR_fsopen, __NR_get_mempolicy,
	__NR_init_module, __NR_io_uring_enter, __NR_io_uring_register, __NR_io_uring_setup,
	__NR_kcmp, __NR_kexec_load, __NR_keyctl, __NR_mbind, __NR_migrate_pages,
	__NR_mount, __NR_move_mount, __NR_move_pages, __NR_open_by_handle_at, __NR_open_tree,
	__NR_perf_event_open, __NR_pidfd_getfd, __NR_pivot_root, __NR_process_vm_readv,
	__NR_process_vm_writev, __NR_ptrace, __NR_quotactl, __NR_reboot, __NR_request_key,
	__NR_set_mempolicy, __NR_setdomainname, __NR_sethostname, __NR_setns, __NR_settimeofday,
	__NR_swapoff, __NR_swapon, __NR_umount2, __NR_unshare, __NR_userfaultfd, __NR_vhangup,
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static int filter(int no_pidfd)
{
	struct sock_filter code[COUNT(refused) * 2 + 4], *c = code;
	struct sock_fprog program = { .filter = code };
	size_t i;

	*c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, nr));
	for (i = 0; i < COUNT(refused); i++) {
		*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
		*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
	if (no_pidfd) {
		*c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pidfd_open,
						    0, 1);
		*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						    SECCOMP_RET_ERRNO | (unsigned int)no_pidfd);
	}
	*c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)(c - code);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? -1 : 0;
}

int main(int argc, char **argv)
{
	const struct rlimit locked = { 64 << 10, 64 << 10 };
	int no_pidfd = 0;

	if (argc > 2 && !strcmp(argv[1], "--no-pidfd")) {
		no_pidfd = atoi(argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc < 2 || setrlimit(RLIMIT_MEMLOCK, &locked) || filter(no_pidfd)) {
		perror("contained");
		return 126;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
