/* SPDX-License-Identifier: MIT */
/*
 * The tools that an agent works with on files and commands (P20): what they are called, what they
 * take and give, and how they refuse. One table, for cordon.h, the MCP server and the tests.
 *
 *	tool.h, table.c		the table, and what a call gives
 *	toolbox.h, toolbox.c	outside: a session with its roots, whom to ask, calls side by side
 *	call.h			inside: what an implementation sees
 *	scope.h			inside: roots, the answers of P7, the guards of the tools
 *	open.h, linux/open.c	inside: the one way from a path to a descriptor
 *	replace.h		inside: the one way to change a file
 *	worker.h, linux/worker.c	the process inside that does the work
 *
 * SECURITY: outside nothing of a project is opened. The worker runs in a sandbox of the same policy,
 * so what an implementation gets wrong is still refused by the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

/*
 * X(identifier, name, access, is read-only, is destructive, is idempotent)
 *
 * The three are the annotations of MCP. The access is what the policy has to give.
 */
#define TOOLS(X)                                                               \
	X(READ_FILE, read_file, TOOL_READS, true, false, true)                 \
	X(WRITE_FILE, write_file, TOOL_EDITS, false, true, true)               \
	X(REPLACE_IN_FILE, replace_in_file, TOOL_EDITS, false, true, false)    \
	X(DELETE_FILE, delete_file, TOOL_EDITS, false, true, true)             \
	X(LIST_FILES, list_files, TOOL_READS, true, false, true)               \
	X(SEARCH_FILES, search_files, TOOL_READS, true, false, true)           \
	X(APPLY_PATCH, apply_patch, TOOL_EDITS, false, true, false)            \
	X(EXECUTE_COMMAND, execute_command, TOOL_EXECUTES, false, true, false) \
	X(OPEN_PROJECT, open_project, TOOL_OPENS, false, false, true)

/* The same for host programs: what cordon_open() and cordon_scope_check() are made of. Nobody lists them. */
#define HOST_TOOLS(X)                                           \
	X(OPEN_FILE, open_file, TOOL_READS, false, false, true) \
	X(CHECK_PATH, check_path, TOOL_READS, true, false, true)

/* Listed where it is asked for: what Claude asks in the place of a person. */
#define PROMPT_TOOLS(X) X(APPROVE, approve, TOOL_APPROVES, true, false, true)

enum tool_id {
#define TOOL_ID(id, name, access, reads, destroys, repeats) TOOL_##id,
	TOOLS(TOOL_ID) TOOL_COUNT,
	TOOL_LAST_LISTED = TOOL_COUNT - 1,
	HOST_TOOLS(TOOL_ID) PROMPT_TOOLS(TOOL_ID)
#undef TOOL_ID
		TOOL_ALL
};

/* What a tool needs: its files read, its files written, a command run, a project more, an answer. */
enum tool_access { TOOL_READS, TOOL_EDITS, TOOL_EXECUTES, TOOL_OPENS, TOOL_APPROVES };

struct tool {
	enum tool_id id;
	const char *name;
	const char *description;
	const char *input_schema;  /* JSON, an object at its top */
	const char *output_schema; /* fits refusals too; NULL: the answer is text alone */
	enum tool_access access;
	bool is_read_only, is_destructive, is_idempotent;
	bool is_slow; /* the worker does it in a process of its own */
};

extern const struct tool tools[TOOL_ALL];

/* NULL: there is none of that name that is listed. */
const struct tool *tool_find(struct str name);

/* X(identifier, name) */
#define TOOL_REFUSALS(X)        \
	X(VIOLATION, violation) \
	X(NOT_FOUND, not_found) \
	X(CONFLICT, conflict)   \
	X(INVALID, invalid)     \
	X(TOO_LARGE, too_large) \
	X(BINARY, binary)       \
	X(TIMEOUT, timeout)

enum tool_refusal_kind {
#define REFUSAL_ID(id, name) REFUSAL_##id,
	TOOL_REFUSALS(REFUSAL_ID)
#undef REFUSAL_ID
};

const char *tool_refusal_name(enum tool_refusal_kind kind) RETURNS_NONNULL;

enum {
	TOOL_ARGUMENTS_MAX_BYTES = 10 << 20, /* of the JSON of one call */
	TOOL_TEXT_MAX_BYTES = 32 << 10,	     /* for the model, of execute_command */
	/*
	 * Of one answer, as it goes over the line: text and structuredContent together, escaped. Clients
	 * drop a connection at 10 MiB.
	 */
	TOOL_ANSWER_MAX_BYTES = 9 << 20,
};

/* What a call gave. Both are good until who called returns. */
struct tool_result {
	struct str text;       /* for the model */
	struct str structured; /* JSON, one line: structuredContent */
	bool is_error;	       /* it was refused: structured has "error" */
};
