/* SPDX-License-Identifier: MIT */
/*
 * What is typed at the console, Ctrl-C and Ctrl-Break, goes to all that share it, the command too. So this process only
 * notes it, and waits for the command to end as it likes. When the console is closed, or the user logs off, Windows ends
 * this process soon, and with it the job of the command.
 */
#include <signal.h>
#include <windows.h>

#include "cli/cli.h"

static volatile LONG typed_c, typed_break;

static BOOL WINAPI note(DWORD event)
{
	switch (event) {
	case CTRL_C_EVENT:
		(void)InterlockedExchange(&typed_c, 1);
		return TRUE;
	case CTRL_BREAK_EVENT:
		(void)InterlockedExchange(&typed_break, 1);
		return TRUE;
	default:
		return FALSE;
	}
}

bool signals_hold(struct signals *signals)
{
	*signals = (struct signals){ .fd = -1 };
	return SetConsoleCtrlHandler(note, TRUE);
}

/* Writing waits by itself, and Ctrl-C is noted by another thread. */
void signals_await_room(int fd)
{
	(void)fd;
}

bool signals_end_the_start(void)
{
	return typed_c || typed_break;
}

/* As a process that Ctrl-C has ended: STATUS_CONTROL_C_EXIT. */
void signals_die_of_them(void)
{
	ExitProcess(0xC000013A);
}

/* The run is stepped for as long as `step_ms`. */
bool signals_await(const struct signals *signals, int descriptor)
{
	(void)signals;
	(void)descriptor;
	return true;
}

void signals_pass_on(struct signals *signals, cordon_run_handle *run)
{
	if (InterlockedExchange(&typed_c, 0)) {
		signals->typed |= UINT64_C(1) << SIGINT;
		(void)cordon_signal(run, -SIGINT, NULL);
	}
	if (InterlockedExchange(&typed_break, 0)) {
		signals->typed |= UINT64_C(1) << SIGBREAK;
		(void)cordon_signal(run, -SIGBREAK, NULL);
	}
}

/* The command's own status says it. */
void signals_end_likewise(const struct signals *signals, int number, bool had_terminal)
{
	(void)signals;
	(void)number;
	(void)had_terminal;
}

int signals_as_bytes(void)
{
	return -1;
}
