/* SPDX-License-Identifier: MIT */
/*
 * The helper between this process and bwrap, and bwrap until its exec: forked
 * without exec from what may be a threaded program, so async-signal-safe calls
 * alone. It hears no signal, and ends when all that it has started has.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/bwrap/bwrap.h"

enum { STATUS_NO_ROOM = 126, STATUS_NO_EXEC = 127 };

/* ---- bwrap -------------------------------------------------------------------------- */

/* As many as may be: the command gets the limit back from the inner stage. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
}

/* One is there several times, or lies in the place of another, which then moves up. */
static bool make_way(const struct bwrap_spawn *spawn, int place, int *program)
{
	int count = (int)spawn->count;
	int moved = -1;

	for (int k = place + 1; k <= count; k++) {
		int *other = k < count ? &spawn->fds[k] : program;

		if (*other != place)
			continue;
		if (moved < 0)
			moved = fcntl(place, F_DUPFD_CLOEXEC, count);
		if (moved < 0)
			return false;
		*other = moved;
	}
	return true;
}

static bool is_used_later(const struct bwrap_spawn *spawn, size_t place, int program)
{
	for (size_t k = place + 1; k < spawn->count; k++)
		if (spawn->fds[k] == spawn->fds[place])
			return true;
	return spawn->fds[place] == program;
}

/* There may be little room: one at a time. */
static bool place_descriptors(const struct bwrap_spawn *spawn, int *program)
{
	int count = (int)spawn->count;

	for (int i = 0; i < count; i++) {
		int *fd = &spawn->fds[i];

		/* dup2() to itself would leave it to be closed on exec. */
		if (*fd == i && (fcntl(i, F_SETFD, 0) < 0 || !make_way(spawn, i, program)))
			return false;
		if (*fd == i)
			continue;
		if (!make_way(spawn, i, program) || dup2(*fd, i) < 0)
			return false;
		if (!is_used_later(spawn, (size_t)i, *program))
			close(*fd);
	}
	return true;
}

static _Noreturn void become_bwrap(const struct bwrap_spawn *spawn)
{
	static const char *const environment[] = { NULL };
	int program = spawn->program;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	allow_descriptors();
	for (size_t i = 0; i < spawn->count; i++)
		spawn->kept[i] = spawn->fds[i];
	spawn->kept[spawn->count] = program;
	inner_close_all_but(spawn->kept, spawn->count + 1);
	if (!place_descriptors(spawn, &program))
		_exit(STATUS_NO_ROOM);
	syscall(SYS_execveat, program, "", spawn->argv, environment, AT_EMPTY_PATH);
	_exit(STATUS_NO_EXEC);
}

/* ---- The helper ------------------------------------------------------------------------ */

/* False when nobody is left. Who waits for a word of bwrap's has nobody to end it without bwrap. */
static bool reap(pid_t bwrap, pid_t group)
{
	siginfo_t info = { .si_pid = 0 };
	int r;

	while ((r = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL)) == 0 &&
	       info.si_pid > 0) {
		if (info.si_pid == bwrap)
			kill(-group, SIGKILL);
		waitpid(info.si_pid, NULL, WNOHANG | __WALL);
		info.si_pid = 0;
	}
	return r == 0;
}

static _Noreturn void watch(int life, int children, pid_t bwrap, pid_t group)
{
	struct pollfd wait[2] = { { .fd = life, .events = POLLIN },
				  { .fd = children, .events = POLLIN } };
	struct signalfd_siginfo ignored;
	char byte;

	while (reap(bwrap, group)) {
		if (poll(wait, 2, -1) < 0 && errno != EINTR)
			break;
		while (read(children, &ignored, sizeof(ignored)) > 0)
			;
		/* Nothing is ever said to this process: it is the end of the run. */
		if (wait[0].revents && recv(life, &byte, 1, MSG_DONTWAIT) <= 0) {
			kill(-group, SIGKILL);
			wait[0].fd = -1;
		}
	}
	_exit(0);
}

_Noreturn void bwrap_helper(const struct bwrap_spawn *spawn)
{
	pid_t callers_group = getpgrp(), group = getpid();
	sigset_t child;
	int kept[2];
	pid_t bwrap;
	int children;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)signal(SIGCHLD, SIG_DFL);
	children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	/* Whoever loses a parent in there is waited for here. */
	if (children < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		_exit(STATUS_NO_ROOM);
	/*
	 * bwrap and what it starts are a group that can be killed by the number of this
	 * process, which the parent knows; PID 1 leaves it when it stands.
	 */
	if (setpgid(0, 0) < 0)
		_exit(STATUS_NO_ROOM);
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): to wait is meant. */
	bwrap = vfork();
	if (bwrap == 0)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): it leaves alone what is used here. */
		become_bwrap(spawn);
	if (bwrap < 0)
		_exit(STATUS_NO_ROOM);
	/* All that is ever said on it, and nobody reads it: bwrap is on its way. */
	(void)send(spawn->life, "", 1, MSG_NOSIGNAL);
	(void)setpgid(0, callers_group);
	kept[0] = spawn->life;
	kept[1] = children;
	inner_close_all_but(kept, COUNT_OF(kept));
	watch(spawn->life, children, bwrap, group);
}
