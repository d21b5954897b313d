/* SPDX-License-Identifier: MIT */
/* Children without exec, and the terminal that they share; see child.h. */
#include "os/child.h"

#include <errno.h>
#include <limits.h>
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

#include "os/fd.h"

void os_wake_with_parent(void)
{
	syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
}

/* Not clone3(): seccomp filters of containers can't see its flags, so they answer ENOSYS. */
pid_t os_fork(unsigned long flags, void (*body)(void *arg), void *arg, int *pidfd)
{
	/* The raw call also blocks the signals that the C library reserves for itself. */
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
	/*
	 * A clone() that fails late may have set it already, and another thread may own that number
	 * now.
	 */
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

/* ---- Helpers -------------------------------------------------------------------- */

/* The lowest number of `kept` and `other` that is at least `from`; UINT_MAX: none. */
static unsigned next_kept(const int *kept, size_t count, int other, unsigned from)
{
	unsigned next = other >= 0 && (unsigned)other >= from ? (unsigned)other : UINT_MAX;

	for (size_t i = 0; i < count; i++)
		if (kept[i] >= 0 && (unsigned)kept[i] >= from && (unsigned)kept[i] < next)
			next = (unsigned)kept[i];
	return next;
}

static bool close_all_but(const int *kept, size_t count, int other)
{
	unsigned from = 0;

	for (;;) {
		unsigned next = next_kept(kept, count, other, from);

		if (next > from && syscall(SYS_close_range, from, next - 1, 0) < 0)
			return false;
		if (next == UINT_MAX)
			return true;
		from = next + 1;
	}
}

bool os_close_all_but(const int *kept, size_t count)
{
	return close_all_but(kept, count, -1);
}

struct birth {
	const struct os_helper *helper;
	pid_t host;
	int parent;
};

/* A group leader can't call setsid(), and the parent may have made this process one already. */
static bool leave_session(pid_t host)
{
	enum { TRIES = 3 };

	for (int i = 0; i < TRIES; i++) {
		pid_t group;

		if (setsid() >= 0)
			return true;
		group = getpgid(host);
		/*
		 * The host ended after it made this process a leader, or its group is outside of
		 * this pid namespace (0). A group of its own is enough: no signal to others hits it.
		 */
		if (group <= 0)
			return getpgrp() == getpid();
		(void)setpgid(0, group);
	}
	return false;
}

static bool detach(pid_t host)
{
	return leave_session(host) && syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
	       chdir("/") == 0;
}

static void begin_helper(void *arg)
{
	const struct birth *birth = arg;
	const struct os_helper *helper = birth->helper;

	if (helper->is_detached && !detach(birth->host))
		_exit(1);
	if (helper->name)
		(void)syscall(SYS_prctl, PR_SET_NAME, helper->name, 0, 0, 0);
	/*
	 * SECURITY: close copies of the caller's pipes and channels. While a helper holds one,
	 * others would not see it close, and a run would go on after its supervisor was killed.
	 */
	if (!helper->keeps_all && !close_all_but(helper->kept, helper->kept_count, birth->parent))
		_exit(1);
	helper->run(helper->arg, birth->parent);
}

int os_open_self(void)
{
	return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

/* What is forked here makes system calls alone. */
bool os_may_fork(void)
{
	return true;
}

pid_t os_fork_helper(const struct os_helper *helper, int *pidfd)
{
	/* Opened here, because a helper in a new pid namespace could not name its parent. */
	struct birth birth = { .helper = helper, .host = getpid(), .parent = helper->own_pidfd };
	pid_t pid = -1;

	*pidfd = -1;
	if (helper->own_pidfd <= 0)
		birth.parent = os_open_self();
	if (birth.parent >= 0)
		pid = os_fork(helper->flags, begin_helper, &birth, pidfd);
	if (helper->own_pidfd <= 0)
		fd_done(&birth.parent);
	return pid;
}

bool os_await_parent(int channel, int parent)
{
	struct pollfd wait[2] = { { .fd = channel, .events = POLLIN },
				  { .fd = parent, .events = POLLIN } };

	while (syscall(SYS_ppoll, wait, 2, NULL, NULL, 0) < 0)
		if (errno != EINTR)
			return false;
	return wait[0].revents != 0;
}

void os_kill(int pidfd, int number)
{
	(void)syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0);
}

void os_exit(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

int os_open_parent(pid_t parent)
{
	int fd = (int)syscall(SYS_pidfd_open, parent, 0);

	/* After it has ended, its pid may belong to another process. */
	if (fd >= 0 && getppid() != parent) {
		(void)syscall(SYS_close, fd);
		errno = ESRCH;
		return -1;
	}
	return fd;
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

	/* poll() would never return. */
	if (pidfd < 0)
		return -1;
	do
		r = waitid(by_pidfd, (id_t)pidfd, &info, WEXITED | __WALL);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	/* It is another process's child, or another thread has reaped it. */
	do
		r = poll(&gone, 1, -1);
	while (r < 0 && errno == EINTR);
	/* Its parent may have ended meanwhile, which makes it this process's to reap. */
	(void)waitid(by_pidfd, (id_t)pidfd, &info, WEXITED | WNOHANG | __WALL);
	return -1;
}
