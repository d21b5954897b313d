/* SPDX-License-Identifier: MIT */
/*
 * See child.h. What Linux calls a pidfd is a kqueue here that waits for the end of one process: it can be
 * read from when that has ended. The children are ordinary ones, so a host program's waitpid(-1) sees
 * them; when it takes the status, os_reap() does not know it.
 */
#include "os/child.h"

#include <errno.h>
#include <libproc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/event.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"

enum { MOST_WATCHED = 4096 };

/* Which process the descriptor stands for; 0: it has been reaped. */
static _Atomic pid_t pids[MOST_WATCHED];

/* -1 and errno; ESRCH: it has ended, and nobody has to reap it. */
static int watch(pid_t pid)
{
	struct kevent change;
	int fd = kqueue();
	int saved;

	if (fd < 0)
		return -1;
	EV_SET(&change, pid, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
	if (fd >= MOST_WATCHED)
		errno = EMFILE;
	else if (kevent(fd, &change, 1, NULL, 0, NULL) == 0) {
		atomic_store(&pids[fd], pid);
		return fd;
	}
	saved = errno;
	fd_close(&fd);
	errno = saved;
	return -1;
}

static bool has_ended(int pidfd, int timeout_ms)
{
	struct pollfd gone = { .fd = pidfd, .events = POLLIN };

	return poll(&gone, 1, timeout_ms) != 0;
}

static pid_t pid_of(int pidfd)
{
	return pidfd >= 0 && pidfd < MOST_WATCHED ? atomic_load(&pids[pidfd]) : 0;
}

pid_t os_fork(unsigned long flags, void (*body)(void *arg), void *arg, int *pidfd)
{
	sigset_t all, before;
	pid_t pid;
	int saved;

	*pidfd = -1;
	if (flags) {
		errno = EINVAL;
		return -1;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid == 0) {
		body(arg);
		_exit(1);
	}
	saved = errno;
	if (pid > 0) {
		*pidfd = watch(pid);
		saved = errno;
	}
	if (pid > 0 && *pidfd < 0) {
		/* SECURITY: nobody could end it. */
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		pid = -1;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return pid;
}

/* ---- Helpers ---------------------------------------------------------------------------------------- */

static bool is_kept(const int *kept, size_t count, int fd)
{
	for (size_t i = 0; i < count; i++)
		if (kept[i] == fd)
			return true;
	return false;
}

bool os_close_all_but(const int *kept, size_t count)
{
	struct proc_fdinfo open[256];
	bool closed_some = true;

	/* What did not fit is found the next time. */
	while (closed_some) {
		int bytes = proc_pidinfo(getpid(), PROC_PIDLISTFDS, 0, open, (int)sizeof(open));

		if (bytes < 0)
			return false;
		closed_some = false;
		for (size_t i = 0; i < (size_t)bytes / sizeof(open[0]); i++)
			if (!is_kept(kept, count, open[i].proc_fd)) {
				fd_done(&open[i].proc_fd);
				closed_some = true;
			}
		/* More are open than fit, and all that did are kept: then none can be found. */
		if (!closed_some && (size_t)bytes == sizeof(open)) {
			errno = EMFILE;
			return false;
		}
	}
	return true;
}

struct birth {
	const struct os_helper *helper;
	pid_t host;
};

static bool close_others(const struct os_helper *helper, int parent)
{
	int kept[64];
	size_t count = 0;

	if (helper->kept_count >= COUNT_OF(kept))
		return false;
	for (size_t i = 0; i < helper->kept_count; i++)
		kept[count++] = helper->kept[i];
	kept[count++] = parent;
	return os_close_all_but(kept, count);
}

static void begin_helper(void *arg)
{
	const struct birth *birth = arg;
	const struct os_helper *helper = birth->helper;
	int parent = os_open_parent(birth->host);

	if (parent < 0 || (helper->is_detached && (setsid() < 0 || chdir("/") < 0)))
		_exit(1);
	if (!helper->keeps_all && !close_others(helper, parent))
		_exit(1);
	helper->run(helper->arg, parent);
}

bool os_may_fork(void)
{
	struct proc_taskinfo task;
	int size = (int)sizeof(task);

	return proc_pidinfo(getpid(), PROC_PIDTASKINFO, 0, &task, size) == size &&
	       task.pti_threadnum == 1;
}

pid_t os_fork_helper(const struct os_helper *helper, int *pidfd)
{
	struct birth birth = { .helper = helper, .host = getpid() };

	return os_fork(helper->flags, begin_helper, &birth, pidfd);
}

int os_open_parent(pid_t parent)
{
	int fd = watch(parent);

	/* After it has ended, its pid may belong to another process. */
	if (fd >= 0 && getppid() != parent) {
		fd_close(&fd);
		errno = ESRCH;
	}
	return fd;
}

bool os_await_parent(int channel, int parent)
{
	struct pollfd wait[2] = { { .fd = channel, .events = POLLIN },
				  { .fd = parent, .events = POLLIN } };

	while (poll(wait, COUNT_OF(wait), -1) < 0)
		if (errno != EINTR)
			return false;
	return wait[0].revents != 0;
}

void os_kill(int pidfd, int number)
{
	pid_t pid = pid_of(pidfd);

	/* A pid that nobody holds any more may be another process's. */
	if (pid > 0 && !has_ended(pidfd, 0))
		(void)kill(pid, number);
}

void os_exit(int status)
{
	_exit(status);
}

int os_reap(int pidfd)
{
	pid_t pid = pid_of(pidfd), r;
	int status;

	if (pid <= 0)
		return -1;
	do
		r = waitpid(pid, &status, 0);
	while (r < 0 && errno == EINTR);
	/* It is another process's child, or somebody else has reaped it. */
	if (r < 0)
		while (!has_ended(pidfd, -1))
			;
	atomic_store(&pids[pidfd], 0);
	if (r < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
