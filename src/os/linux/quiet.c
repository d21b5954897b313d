/* SPDX-License-Identifier: MIT */
/* See quiet.h. Both signals are sent to the thread that writes. */
#include "os/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static const int brought[] = { SIGPIPE, SIGXFSZ };

void os_quiet_begin(struct os_quiet *quiet)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < COUNT_OF(brought); i++)
		sigaddset(&set, brought[i]);
	sigemptyset(&quiet->pending);
	(void)sigpending(&quiet->pending);
	(void)pthread_sigmask(SIG_BLOCK, &set, &quiet->before);
}

void os_quiet_end(const struct os_quiet *quiet)
{
	static const struct timespec at_once = { .tv_sec = 0 };
	int saved = errno;
	sigset_t now, came;

	sigemptyset(&now);
	sigemptyset(&came);
	(void)sigpending(&now);
	for (size_t i = 0; i < COUNT_OF(brought); i++)
		if (sigismember(&now, brought[i]) == 1 &&
		    sigismember(&quiet->pending, brought[i]) != 1)
			sigaddset(&came, brought[i]);
	while (!sigisemptyset(&came)) {
		int taken = sigtimedwait(&came, NULL, &at_once);

		if (taken > 0)
			sigdelset(&came, taken);
		else if (errno != EINTR)
			break;
	}
	(void)pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
	errno = saved;
}
