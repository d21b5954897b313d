/* SPDX-License-Identifier: MIT */
/* See child.h: what is the same on every system. */
#include "os/child.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

bool os_await_child(int channel, int pidfd, int timeout_ms)
{
	struct pollfd wait[2] = { { .fd = channel, .events = POLLIN },
				  { .fd = pidfd, .events = POLLIN } };

	return poll(wait, COUNT_OF(wait), timeout_ms) <= 0 || !wait[1].revents || wait[0].revents;
}

void os_end(int pidfd)
{
	os_kill(pidfd, SIGKILL);
}

pid_t os_own_pid(void)
{
	return getpid();
}

void os_disable_cancel(void)
{
	int before;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
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
