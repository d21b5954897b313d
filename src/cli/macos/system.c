/* SPDX-License-Identifier: MIT */
/* See cli/posix/signal_fd.h. */
#include "cli/posix/signal_fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/event.h>
#include <sys/resource.h>
#include <unistd.h>

/* <string.h> declares it only on request. */
int memset_s(void *memory, size_t room, int byte, size_t bytes);

const int open_directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/* A kqueue also notes signals that are blocked. */
int signal_fd_open(const sigset_t *set)
{
	int queue = kqueue();

	for (int n = 1; n < NSIG && queue >= 0; n++) {
		struct kevent change;

		EV_SET(&change, n, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL);
		if (sigismember(set, n) == 1 && kevent(queue, &change, 1, NULL, 0, NULL) < 0) {
			(void)close(queue);
			queue = -1;
		}
	}
	return queue;
}

/* The kernel does not tell who sent it: what hits the terminal's foreground group is taken for typed. */
static bool is_in_front(void)
{
	pid_t front = tcgetpgrp(STDERR_FILENO);

	return front >= 0 && front == getpgrp();
}

bool signal_fd_take(int fd, int *number, bool *is_typed)
{
	const struct timespec at_once = { .tv_sec = 0 };
	struct kevent event;
	sigset_t pending, one;
	int taken;

	if (kevent(fd, NULL, 0, &event, 1, &at_once) != 1)
		return false;
	*number = (int)event.ident;
	sigemptyset(&one);
	sigaddset(&one, *number);
	/* It stays pending otherwise, and would count again. */
	if (sigpending(&pending) == 0 && sigismember(&pending, *number) == 1)
		(void)sigwait(&one, &taken);
	if (is_typed)
		*is_typed = (*number == SIGINT || *number == SIGQUIT || *number == SIGTSTP) &&
			    is_in_front();
	return true;
}

void forbid_core(void)
{
	const struct rlimit none = { .rlim_cur = 0 };

	(void)setrlimit(RLIMIT_CORE, &none);
}

void wipe(void *memory, size_t bytes)
{
	(void)memset_s(memory, bytes, 0, bytes);
}
