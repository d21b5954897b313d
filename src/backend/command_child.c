/* SPDX-License-Identifier: MIT */
/* A command between its fork and its exec; see command_child.h. */
#include "backend/command_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The raw call: the C libraries differ in the type of a resource. */
bool command_set_limits(const struct command_limits *limits)
{
	for (size_t i = 0; i < limits->count; i++)
		if (syscall(SYS_prlimit64, 0, limits->items[i].resource, &limits->items[i].limit,
			    NULL) < 0)
			return false;
	return true;
}

/* ---- Streams and signals ------------------------------------------------------ */

/* Each is copied out of the way first: one of them may lie where another has to go. */
bool command_place_stdio(const int stdio[3])
{
	int away[3];

	for (int i = 0; i < 3; i++) {
		away[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 3);
		if (away[i] < 0)
			return false;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(away[i], i) < 0)
			return false;
	return true;
}

/* ---- A terminal of its own ------------------------------------------------------ */

bool command_control_terminal(int terminal)
{
	return ioctl(terminal, TIOCSCTTY, 0) == 0;
}

/* All signals are blocked, so SIGTTOU stops nobody. */
bool command_enter_terminal(int terminal, bool stays_behind)
{
	if (terminal < 0)
		return true;
	return setpgid(0, 0) == 0 && (stays_behind || tcsetpgrp(terminal, getpid()) == 0);
}

struct command_signals command_take_signals(void)
{
	struct command_signals out = { .ignores_children = false };

	/* Handlers are the caller's: none may run before exec does away with them. */
	for (int n = 1; n < NSIG; n++) {
		struct sigaction action;
		/* Who ignores SIGCHLD has no zombies, and so nothing to wait for. */
		bool has_no_zombies = false;

		if (sigaction(n, NULL, &action) < 0)
			continue;
		if (n == SIGCHLD) {
			out.ignores_children = action.sa_handler == SIG_IGN;
			/* The same by a flag, which no exec passes on. */
			has_no_zombies = out.ignores_children || action.sa_flags & SA_NOCLDWAIT;
		}
		if (has_no_zombies ||
		    (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN))
			(void)signal(n, SIG_DFL);
	}
	return out;
}

void command_reset_signals(struct command_signals before)
{
	sigset_t none;

	if (before.ignores_children)
		(void)signal(SIGCHLD, SIG_IGN);
	/* What the caller blocks it blocks for itself. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- Exec ----------------------------------------------------------------------- */

/* What execvp() goes on after. */
static bool is_elsewhere(int error)
{
	return error == ENOENT || error == ENOTDIR || error == EACCES || error == ESTALE ||
	       error == ENODEV || error == ETIMEDOUT;
}

/*
 * Whether it is a file that may not be executed. In a PATH with a directory that may
 * not be searched the same error says nothing about the file.
 */
static bool is_there(const char *program)
{
	return faccessat(AT_FDCWD, program, F_OK, AT_EACCESS) == 0;
}

static bool is_file(const char *program)
{
	int fd = open(program, O_PATH | O_CLOEXEC);
	struct stat st;
	bool is = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);

	if (fd >= 0)
		close(fd);
	return is;
}

/* Of a file alone: to open anything else may be noticed by others. */
static bool is_closed(const char *program)
{
	int fd;

	if (!is_file(program))
		return false;
	fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == EACCES;
	close(fd);
	return false;
}

struct command_failure command_execute(const struct command_words *words)
{
	bool is_search = strchr(words->argv[0], '/') == NULL;
	struct command_failure failure = { .os_error = ENOENT, .index = COMMAND_NO_PROGRAM };

	for (uint32_t i = 0; words->programs[i]; i++) {
		execve(words->programs[i], words->argv, words->environment);
		if (errno == ENOEXEC) {
			words->shell_argv[1] = words->programs[i];
			execve("/bin/sh", words->shell_argv, words->environment);
			return (struct command_failure){ .os_error = ENOEXEC, .index = i };
		}
		if (!is_elsewhere(errno))
			return (struct command_failure){ .os_error = errno, .index = i };
		if (errno == EACCES && is_search && !is_there(words->programs[i]))
			continue;
		if (failure.os_error != EACCES)
			failure = (struct command_failure){ .os_error = errno, .index = i };
	}
	if (failure.os_error == EACCES)
		failure.is_closed = is_closed(words->programs[failure.index]);
	return failure;
}
