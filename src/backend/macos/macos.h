/* SPDX-License-Identifier: MIT */
/*
 * A run on macOS. Between this process and the command stands a *monitor*, which starts the command,
 * follows what that starts, and ends all of it when it is told to, when time is over, or when this
 * process ends.
 *
 *	registry.c	the backends of this system
 *	none.c		a command without a sandbox
 *	start.c		starts the monitor, and through it the command, which waits
 *	monitor.c	the life of the monitor
 *	supervisor.c	the sandbox of one run, as backend.h has it
 *	log.c		what the system's log says of refused accesses (--log-denials)
 *	../seatbelt/apply.c	a command in a profile of sandbox-exec
 */
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include "backend/backend.h"

extern const struct backend backend_seatbelt;
/* Whether sandbox-exec is as it should be. CAUSE_BACKEND_UNAVAILABLE. */
int seatbelt_check_tool(struct err *e) MUST_CHECK NONNULL;

/* ---- Between the supervisor and the monitor ------------------------------------------------------ */

enum monitor_order_kind { ORDER_GO = 1, ORDER_SIGNAL, ORDER_END_LATER, ORDER_KILL };

struct monitor_order {
	uint32_t kind;
	int32_t value;	 /* the signal */
	uint32_t target; /* enum supervisor_target */
	uint64_t after_ms;
};

enum monitor_message_kind {
	MESSAGE_READY = 1, /* the command exists, and waits; `value` is its pid */
	MESSAGE_NOT_EXECUTED,
	MESSAGE_STOPPED,
	MESSAGE_CONTINUED,
	MESSAGE_ENDED,	 /* `value` as waitpid() has it */
	MESSAGE_STARTED, /* `value` is a process that the command, or what it started, has started */
};

struct monitor_message {
	uint32_t kind;
	int32_t value;
	int32_t os_error;
	uint32_t index; /* of the program that `os_error` is about */
	uint64_t cpu_ms, max_rss_kib;
};

/* What the monitor needs, made ready by the parent. */
struct monitor_job {
	int channel;
	bool is_sandboxed;    /* nothing that the command has started goes on without it */
	bool tells_processes; /* MESSAGE_STARTED */
	/* Tried in order, as `argv`, until one can be executed. */
	const char *const *programs;
	int os_error; /* told if there is none */
	const char *const *argv, *const *environment;
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t actions;
};

/* For os_fork_helper(): a struct monitor_job, and what tells that the parent has ended. */
void monitor_run(void *job, int parent);

/* ---- The sandbox of one run ----------------------------------------------------------------------- */

struct sandbox {
	int monitor; /* its pidfd (os/child.h); -1: none */
	int channel;
	pid_t command; /* leads its process group; 0: it was not executed */
	struct command_failure failure;
};
#define SANDBOX_NONE                          \
	{                                     \
		.monitor = -1, .channel = -1, \
	}

/* How a backend starts its command. */
struct start {
	const struct launch *launch;
	bool is_sandboxed;
	const char *const *programs, *const *argv;
	int os_error; /* why there are no programs */
};
/* The command exists when it returns, and waits for supervisor_start(). ERR_SYS, ERR_POLICY. */
int macos_start(const struct start *in, struct sandbox *out, struct err *e) MUST_CHECK NONNULL;

/* Whether the file is root's own program, which nobody else may write; `who` can't work without it. */
int macos_check_tool(const char *path, const char *who, struct err *e) MUST_CHECK NONNULL;

/* ---- log.c: which accesses were refused ------------------------------------------------------------- */

struct denials;
struct log_reader;
struct log_request {
	const struct plan *plan;
	struct loop *loop;
	struct denials *denials;
	void (*warn)(void *user, const char *text);
	void *user;
};
/* Before the command runs; what the log says of its processes becomes denials from now on. */
int log_start(struct arena *a, const struct log_request *in, struct log_reader **out, struct err *e)
	MUST_CHECK NONNULL;
/* A process of the run, also of one that has ended by now. */
void log_add_process(struct log_reader *l, int32_t pid) NONNULL;
/* The command has ended: waits a moment for late entries. Fine if it was called before. */
void log_settle(struct log_reader *l) NONNULL;
/* Its last call. */
void log_finish(struct log_reader *l) NONNULL;
