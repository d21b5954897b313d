/* SPDX-License-Identifier: MIT */
/* See signals.h. */
#include "os/signals.h"

#include <signal.h>

const struct os_signals os_signals = { .terminate = SIGTERM,
				       .kill = SIGKILL,
				       .stop = SIGSTOP,
				       .resume = SIGCONT,
				       .typed_stop = SIGTSTP,
				       .tty_input = SIGTTIN,
				       .tty_output = SIGTTOU,
				       .window = SIGWINCH,
				       .cpu_limit = SIGXCPU,
				       .file_limit = SIGXFSZ,
				       .count = NSIG };
