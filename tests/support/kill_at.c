/* SPDX-License-Identifier: MIT */
/*
 * kill_at N COMMAND...: runs a command and kills it right before its Nth system call that changes a file, be
 * it of a child or not. Ends with 0 if it was killed, or else with 1, after the command has ended by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_change(const struct __ptrace_syscall_info *info)
{
	switch (info->entry.nr) {
#ifdef SYS_open
	case SYS_open:
		return info->entry.args[1] & O_CREAT;
	case SYS_mkdir:
	case SYS_rename:
	case SYS_unlink:
	case SYS_rmdir:
	case SYS_chmod:
#endif
	case SYS_mkdirat:
	case SYS_renameat2:
	case SYS_unlinkat:
	case SYS_fchmod:
	case SYS_fchmodat:
	case SYS_fchown:
	case SYS_linkat:
	case SYS_fsync:
	case SYS_write:
		return true;
	case SYS_openat:
		return info->entry.args[2] & O_CREAT;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct __ptrace_syscall_info info;
	long left = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	int status, number = 0;
	pid_t pid;

	if (left < 1)
		return 2;
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(2);
		execv(argv[2], argv + 2);
		_exit(2);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) < 0)
		return 2;
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, (long)number) < 0 ||
		    waitpid(pid, &status, 0) < 0)
			return 2;
		if (!WIFSTOPPED(status))
			return 1;
		number = WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
		if (number || ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0 ||
		    info.op != PTRACE_SYSCALL_INFO_ENTRY || !is_change(&info) || --left > 0)
			continue;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
		return 0;
	}
}
