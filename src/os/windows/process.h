/* SPDX-License-Identifier: MIT */
/*
 * The one way in which Cordon starts a process on Windows.
 *
 * SECURITY: the new process inherits the three streams and nothing else, whatever the program that libcordon is in has made
 * inheritable meanwhile (PROC_THREAD_ATTRIBUTE_HANDLE_LIST). The program is named by its file, so nothing is searched for,
 * neither in PATH nor in the working directory; nothing is added to its name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct process_start {
	const char *program; /* its file, absolute, in Cordon's form or as on Windows */
	const char *const *argv;
	const char *const *environment; /* NULL: that of this process */
	const char *directory;		/* NULL: that of this process */
	int stdio[3];			/* descriptors; -1: none */
	void *token;			/* a primary token, NULL: that of this process */
	const char *desktop;		/* "WINSTATION\\DESKTOP"; NULL: that of this process */
	void *const *jobs;		/* it is in them before it runs; NULL behind the last */
	void *console;			/* an HPCON: then it has no streams but that console's */
	bool waits;			/* until process_resume() */
	bool has_group;			/* Ctrl-Break can be sent to it alone (process_break()) */
	bool is_hidden;			/* it gets no console, not even ours */
};

struct process {
	void *handle; /* of the process, with all rights */
	void *thread; /* its first */
	uint32_t id;
};
#define PROCESS_NONE     \
	{                \
		.id = 0, \
	}

/*
 * ERR_SYS with errno in e->os_error: ENOENT, EACCES, ENOEXEC (no program, or of another machine), E2BIG;
 * ERR_POLICY for a batch file (process_is_batch()).
 */
int process_start(const struct process_start *in, struct process *out, struct err *e)
	MUST_CHECK NONNULL;

/* Lets one that waits run. ERR_SYS. */
int process_resume(const struct process *p, struct err *e) MUST_CHECK NONNULL;

/* Sends Ctrl-Break to the processes of its group that share our console. False: it could not be sent. */
bool process_break(const struct process *p) NONNULL;

/* Closes the handles; the process goes on. */
void process_done(struct process *p) NONNULL;

/* What it ended with; false: it runs. Compare nothing with STILL_ACTIVE (259), which is an exit code too. */
bool process_status(void *handle, uint32_t *out) NONNULL;

/* ---- Pure parts, for the tests ------------------------------------------------------------------------ */

/*
 * The command line from which CommandLineToArgvW() and the C library make exactly `argv`. ERR_SYNTAX: no command
 * line gives it, because argv[0] has a quote in it, or a word is not WTF-8; ERR_LIMIT over 32,766 characters.
 */
int process_command_line(struct arena *a, const char *const *argv, wchar_t **out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * The block of an environment, sorted as CreateProcessW() wants it. Of names that differ in case alone
 * the last counts: what Cordon sets comes behind what it passes on. ERR_SYNTAX for an entry without a name.
 */
int process_environment(struct arena *a, const char *const *environment, wchar_t **out,
			struct err *e) MUST_CHECK NONNULL;

/*
 * Whether Windows would hand the file to cmd.exe (.bat, .cmd, also with blanks, dots or a stream behind it).
 * SECURITY: cmd.exe reads the command line by rules of its own, so no quoting is safe there (BatBadBut).
 */
bool process_is_batch(struct str program) PURE;
