/* SPDX-License-Identifier: MIT */
/*
 * A run on Windows. The command is in a job, which ends with this process, whatever ends that. No process stands between.
 *
 *	registry.c	the backends of this system
 *	none.c		a command without a sandbox
 *	start.c		starts the command, which waits
 *	supervisor.c	the sandbox of one run, as backend.h has it
 *
 * What a sandbox is made of is computed by backend/windows/ and the lower.c beside it, on every system.
 */
#pragma once

#include "backend/backend.h"
#include "os/windows/job.h"
#include "os/windows/process.h"

extern const struct backend backend_win_elevated; /* win_elevated/win32/apply.c */
extern const struct backend backend_win_token;	  /* win_token/apply.c */

/* ---- The sandbox of one run ----------------------------------------------------------------------- */

struct sandbox {
	struct process process; /* its handle is NULL: it was not executed */
	struct job job;
	int ended; /* a descriptor of the process */
	bool has_group;
	struct command_failure failure;
	/*
	 * What the backend has to take back when nothing runs any more; may be NULL. `done` is called once, by
	 * supervisor_reap(), also if nothing was executed.
	 */
	void (*done)(void *user);
	void *user;
};
#define SANDBOX_NONE         \
	{                    \
		.ended = -1, \
	}

/* How a backend starts its command. */
struct start {
	const struct launch *launch;
	const char *const *programs, *const *argv; /* the first that can be executed is */
	int os_error;				   /* why there are no programs */
	void *token;				   /* a primary token; NULL: ours */
	const char *desktop;			   /* NULL: ours */
	struct job_limits limits;
	/* A console of its own, for a token that may not use ours. */
	bool is_hidden;
};

/*
 * The command exists when it returns, in its job, and waits for supervisor_start(); or `failure` says why none could be executed.
 * ERR_SYS, ERR_POLICY, ERR_WEAKER: a limit is not in force.
 */
int windows_start(const struct start *in, struct sandbox *out, struct err *e) MUST_CHECK NONNULL;

/* Kills a command that waits, and all that is left of it; a backend takes back what it has itself. */
void windows_discard(struct sandbox *s) NONNULL;
