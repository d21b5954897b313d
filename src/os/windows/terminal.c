/* SPDX-License-Identifier: MIT */
/*
 * See terminal.h and signals.h. A console has no foreground group: what is typed goes to all that is attached to it, so nothing
 * is handed over, and nothing can be stopped. Ctrl-C and Ctrl-Break are told to the command as signals are elsewhere.
 */
#include "os/terminal.h"

#include <signal.h>

#include "os/signals.h"

/* Those that <signal.h> does not have get the numbers that they have on Linux. */
enum { NUMBER_KILL = 9, NUMBER_COUNT = 65 };

const struct os_signals os_signals = {
	.terminate = SIGTERM,
	.kill = NUMBER_KILL,
	.stop = -1,
	.resume = -1,
	.typed_stop = -1,
	.tty_input = -1,
	.tty_output = -1,
	.window = -1,
	.cpu_limit = -1,
	.file_limit = -1,
	.count = NUMBER_COUNT,
};

void terminal_find(struct terminal *t)
{
	*t = (struct terminal)TERMINAL_NONE;
}

bool terminal_is_ours(const struct terminal *t)
{
	(void)t;
	return true;
}

bool terminal_is_given_at_once(const struct terminal *t, int output)
{
	(void)t;
	(void)output;
	return false;
}

void terminal_will_give(struct terminal *t)
{
	t->was_given = false;
}

void terminal_stop(struct terminal *t, pid_t group, int number, bool is_typed)
{
	(void)t;
	(void)group;
	(void)number;
	(void)is_typed;
}

void terminal_stop_self(int number, bool is_typed)
{
	(void)number;
	(void)is_typed;
}

void terminal_done(struct terminal *t, pid_t group, bool was_killed)
{
	(void)t;
	(void)group;
	(void)was_killed;
}
