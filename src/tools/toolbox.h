/* SPDX-License-Identifier: MIT */
/*
 * A session of tools, outside: its policy, its projects, the worker inside, and calls side by side on
 * the caller's loop. cordon_session_new() and the MCP server are made of this.
 */
#pragma once

#include "cordon.h"
#include "os/loop.h"
#include "tools/tool.h"

struct toolbox;
struct toolbox_call;

struct toolbox_options {
	/* Which policy, and how commands are run: as for cordon_start(), of which the command, the
	 * streams and who is asked do not count. Its load->directory is the first root. */
	const struct cordon_run_options *run;
	const char *const
		*roots; /* further projects, opened as by open_project; NULL behind the last */
	const char *const *read_only; /* below each project; NULL behind the last; may be NULL */
	struct loop *loop;
	uint64_t ask_timeout_ms; /* where `run` says nothing; 0: that of a run */
	void *user;
	void (*log)(void *user, const char *text); /* one line for people; may be NULL */
};

/* The policy is loaded; the worker starts with the first call that needs it. Codes as cordon_start(). */
int toolbox_new(const struct toolbox_options *options, struct toolbox **out, struct err *e)
	MUST_CHECK NONNULL;
/* Ends the worker and all calls, without telling. NULL is fine. */
void toolbox_free(struct toolbox *box);

struct toolbox_request {
	const struct tool *tool;
	const struct json *arguments; /* copied; NULL: {} */
	/* What codex says of its own sandbox: a ceiling of this call. Copied; NULL: there is none. */
	const struct json *sandbox_state;
	void *user;
	/* Exactly once, unless it is cancelled; never before toolbox_begin(). */
	void (*done)(void *user, const struct tool_result *result);
	/* Output of execute_command as it comes; stream 1 or 2. May be NULL. */
	void (*output)(void *user, int stream, struct str bytes);
	/* Of the tool open_file, before `done`: the descriptor becomes the callee's. May be NULL. */
	void (*opened)(void *user, int fd);
	void (*progress)(void *user, uint64_t done, uint64_t total,
			 struct str message); /* or NULL */
	/*
	 * A question of the broker about this call; the answer is toolbox_answer()'s, now or later. NULL:
	 * nobody is asked, and it is refused with what would be asked for.
	 */
	void (*ask)(void *user, const struct cordon_ask_request *ask);
	void (*withdraw)(void *user,
			 uint64_t id); /* nobody waits for that answer any more; or NULL */
	/* The answer may never come: no other call waits for it, though it would be asked the same. */
	bool asks_alone;
};

/* ERR_NOMEM. Whatever else is wrong is a result. */
int toolbox_start(struct toolbox *box, const struct toolbox_request *request,
		  struct toolbox_call **out, struct err *e) MUST_CHECK NONNULL;
/* Begins what was started. Calls may be done before it returns. */
void toolbox_begin(struct toolbox *box) NONNULL;
/* Ends it, and what it started; `done` is not called any more. */
void toolbox_cancel(struct toolbox_call *call) NONNULL;

/* `by` is for the audit log: "client NAME". ERR_ARGUMENT: malformed, or nobody asks. */
int toolbox_answer(struct toolbox *box, uint64_t id, const char *by,
		   const struct cordon_answer *answer, struct err *e) MUST_CHECK NONNULL;

/* A project more, as open_project opens it, but nobody is asked. 0; 1: the policy does not allow it. */
int toolbox_add_root(struct toolbox *box, const char *path, struct err *e) MUST_CHECK NONNULL;

/* Of the project that an absolute path lies in, else of the first. */
const cordon_policy *toolbox_policy(struct toolbox *box, struct str path) NONNULL;

size_t toolbox_root_count(const struct toolbox *box) NONNULL;
struct str toolbox_root(const struct toolbox *box, size_t i) NONNULL;

/* SHA-256 in hex of what the policy of this session allows now; changes with every grant. */
const char *toolbox_digest(struct toolbox *box) NONNULL;

/* The resources, as JSON: profile, roots, grants, counters, how to override; and what was denied. */
void toolbox_print_policy(struct toolbox *box, struct buf *out) NONNULL;
void toolbox_print_denials(const struct toolbox *box, struct buf *out) NONNULL;
