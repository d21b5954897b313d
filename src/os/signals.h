/* SPDX-License-Identifier: MIT */
/* The numbers of the signals that a run passes on or reports. */
#pragma once

/* One that the system does not have is -1. */
struct os_signals {
	int terminate, kill;
	int stop, resume;		       /* SIGSTOP, SIGCONT */
	int typed_stop, tty_input, tty_output; /* SIGTSTP, SIGTTIN, SIGTTOU */
	int window;			       /* SIGWINCH */
	int cpu_limit, file_limit;	       /* SIGXCPU, SIGXFSZ */
	int count;			       /* every number is smaller */
};

extern const struct os_signals os_signals;
