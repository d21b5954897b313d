/* SPDX-License-Identifier: MIT */
/*
 * Programs of this host that Cordon runs outside of every sandbox. The program is no child of this
 * process, so that a host program's waitpid() never sees it: a helper (child.h) starts it, waits for
 * it, and ends with its status.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/*
 * Why the file at `path` (absolute, without links) can't be trusted: another user owns or may write it
 * or a directory above it, which `where` then names. NULL: only this user and root can change it. Directories that
 * they own may lie in one with the sticky bit (/tmp).
 */
const char *os_distrust_path(const char *path, char *where, size_t room) MUST_CHECK NONNULL;

/*
 * Whether this process may write there, as far as permissions go, or could after a chmod() of what is
 * its own.
 */
bool os_may_write(const char *path) NONNULL;

/*
 * Opens a program for os_program_start(), a link at the end of `path` not followed. The descriptor or
 * -errno; EACCES for what is no file or can't be executed. Its first bytes, up to room - 1 and a NUL
 * behind them, are in `start`; it is empty for a program that this user may only execute.
 */
int os_program_open(const char *path, char *start, size_t room) MUST_CHECK NONNULL;

struct os_program {
	int file; /* from os_program_open() */
	/*
	 * It begins with "#!": the kernel then starts an interpreter, and passes "/dev/fd/3" as the
	 * file to read. That descriptor is the only one that such a program gets beside the streams.
	 */
	bool is_script;
	const char *const *argv, *const *environment;
	int stdio[3];
};

/*
 * Starts it, with "/" as its working directory, in a session and a process group of its own, without
 * the caller's handlers and blocked signals. What remains of its group is killed when it ends, or when
 * this process does. `*helper` is a pidfd, readable when all is over: os_reap() gives the program's
 * status, OS_PROGRAM_NOT_EXECUTED if it could not be executed. 0 or -errno.
 */
int os_program_start(const struct os_program *program, int *helper) MUST_CHECK NONNULL;

enum { OS_PROGRAM_NOT_EXECUTED = 127 };

/* Kills the program and its group; the helper then ends. */
void os_program_kill(int helper);
