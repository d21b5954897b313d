/* SPDX-License-Identifier: MIT */
/* See write_signals.h. The kernel sends both signals to the thread that writes. */
#include "os/write_signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "os/posix/native.h"

static const int brought[] = { SIGPIPE, SIGXFSZ };

void os_write_signals_block(struct os_write_signals *signals)
{
	sigset_t set, before, pending;

	_Static_assert(sizeof(set) <= sizeof(signals->before), "no room for it");
	sigemptyset(&set);
	for (size_t i = 0; i < COUNT_OF(brought); i++)
		sigaddset(&set, brought[i]);
	sigemptyset(&pending);
	(void)sigpending(&pending);
	sigemptyset(&before);
	(void)pthread_sigmask(SIG_BLOCK, &set, &before);
	memcpy(signals->pending, &pending, sizeof(pending));
	memcpy(signals->before, &before, sizeof(before));
}

void os_write_signals_restore(const struct os_write_signals *signals)
{
	int saved = errno;
	sigset_t now, came, before, pending;
	int left = 0;

	memcpy(&pending, signals->pending, sizeof(pending));
	memcpy(&before, signals->before, sizeof(before));
	sigemptyset(&now);
	sigemptyset(&came);
	(void)sigpending(&now);
	for (size_t i = 0; i < COUNT_OF(brought); i++)
		if (sigismember(&now, brought[i]) == 1 && sigismember(&pending, brought[i]) != 1) {
			sigaddset(&came, brought[i]);
			left++;
		}
	while (left-- > 0) {
		int taken = native_take_signal(&came);

		if (taken > 0)
			sigdelset(&came, taken);
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
}
