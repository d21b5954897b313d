/* SPDX-License-Identifier: MIT */
/* See spawned.h. */
#include "os/posix/spawned.h"

#include <signal.h>
#include <stddef.h>

void spawned_reset_signals(void)
{
	sigset_t none;

	for (int n = 1; n < NSIG; n++) {
		struct sigaction action;

		if (sigaction(n, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
		    (action.sa_handler != SIG_IGN || n == SIGPIPE || n == SIGCHLD))
			(void)signal(n, SIG_DFL);
	}
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
