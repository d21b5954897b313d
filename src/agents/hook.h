/* SPDX-License-Identifier: MIT */
/*
 * What a coding agent tells a hook of a tool call, and what the hook answers, in each agent's own words. Pure.
 *
 * SECURITY: an answer denies, asks in the agent's own dialog, adds something to read, or is empty. None allows,
 * and none changes what the tool was called with. What can't be read is an error, which is to block the call.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { HOOK_MAX_BYTES = 10 << 20 };

struct hook_dialect; /* of one agent */

/* NULL: there are no hooks for it. */
const struct hook_dialect *hook_find(const char *agent) NONNULL;
/* "claude, …" */
extern const char hook_agents[];

/* A file that the tool would open. */
struct hook_file {
	struct str path; /* as the model wrote it */
	bool is_written;
};

typedef VEC(struct hook_file) hook_file_list;

struct hook_call {
	const struct hook_dialect *dialect;
	const char *event;
	bool is_after;
	bool is_shell; /* the tool that runs commands */
	bool can_ask;  /* the agent then asks a person */
	struct str tool, directory;
	hook_file_list files; /* of a call that is about to be made */
};

/* ERR_SYNTAX, ERR_LIMIT, ERR_NOMEM. The strings are in `a`. */
int hook_read(struct arena *a, const struct hook_dialect *dialect, struct str text,
	      struct hook_call *out, struct err *e) MUST_CHECK NONNULL;

/* One line of JSON. */
void hook_print_refusal(struct buf *out, const struct hook_call *call, bool asks, struct str reason)
	NONNULL;
void hook_print_context(struct buf *out, const struct hook_call *call, struct str text) NONNULL;

/*
 * What the agent might open for `path`: it as it is, without the blanks around it, and with "~" as the home.
 * Returns how many, at most HOOK_READINGS.
 */
enum { HOOK_READINGS = 3 };
int hook_find_readings(struct arena *a, struct str path, struct str home,
		       struct str out[HOOK_READINGS], size_t *count, struct err *e)
	MUST_CHECK NONNULL;
