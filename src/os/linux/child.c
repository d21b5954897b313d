/* SPDX-License-Identifier: MIT */
/* Children without exec, and the terminal that they share. */
#include "os/child.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void os_wake_with_parent(void)
{
	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
}

/* Not clone3(): containers answer it with ENOSYS, since they can't see its flags. */
pid_t os_fork(unsigned long flags, void (*body)(void *arg), void *arg, int *pidfd)
{
	/* The raw call blocks those that the C library keeps to itself, too. */
	uint64_t all = UINT64_MAX, before = 0;
	long pid;
	int saved;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	pid = syscall(SYS_clone, flags | CLONE_PIDFD, 0, pidfd, 0, 0);
	if (pid == 0) {
		os_wake_with_parent();
		body(arg);
		_exit(1);
	}
	saved = errno;
	/* When it fails late the number is told already, and by now perhaps another thread's. */
	if (pid < 0)
		*pidfd = -1;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	errno = saved;
	return (pid_t)pid;
}

pid_t os_vfork(void (*body)(void *arg), void *arg, int *pidfd)
{
	uint64_t all = UINT64_MAX, before = 0;
	pid_t pid;
	int saved;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): to wait is meant. */
	pid = vfork();
	if (pid == 0) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): it leaves alone what is used here. */
		body(arg);
		_exit(1);
	}
	saved = errno;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	*pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	if (pid < 0)
		errno = saved;
	return *pidfd < 0 ? -1 : pid;
}

int os_open_parent(pid_t parent)
{
	int fd = (int)syscall(SYS_pidfd_open, parent, 0);

	/* Gone, its number may be another's by now. */
	if (fd >= 0 && getppid() != parent) {
		(void)syscall(SYS_close, fd);
		return -1;
	}
	return fd;
}

bool os_await_parent(int channel, int parent)
{
	struct pollfd wait[2] = { { .fd = channel, .events = POLLIN },
				  { .fd = parent, .events = POLLIN } };

	const struct timespec at_once = { .tv_sec = 0 };

	while (syscall(SYS_ppoll, wait, 2, parent < 0 ? &at_once : NULL, NULL, 0) < 0)
		if (errno != EINTR)
			return false;
	return wait[0].revents != 0;
}

void os_kill(int pidfd, int number)
{
	(void)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

static const idtype_t by_pidfd = (idtype_t)3; /* P_PIDFD, which not every C library has */

bool os_is_child(int pidfd)
{
	siginfo_t info;

	return waitid(by_pidfd, (id_t)pidfd, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

int os_reap(int pidfd)
{
	siginfo_t info;
	struct pollfd gone = { .fd = pidfd, .events = POLLIN };
	int r;

	/* poll() would wait for it for ever. */
	if (pidfd < 0)
		return -1;
	do
		r = waitid(by_pidfd, (id_t)pidfd, &info, WEXITED | __WALL);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	/* Another's child, or reaped by another. */
	do
		r = poll(&gone, 1, -1);
	while (r < 0 && errno == EINTR);
	/* It may have fallen to this process meanwhile. */
	(void)waitid(by_pidfd, (id_t)pidfd, &info, WEXITED | WNOHANG | __WALL);
	return -1;
}

void os_set_foreground(int terminal, pid_t group)
{
	sigset_t ttou, before;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &ttou, &before);
	(void)tcsetpgrp(terminal, group);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
