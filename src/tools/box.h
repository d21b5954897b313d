/* SPDX-License-Identifier: MIT */
/*
 * The inside of a toolbox:
 *
 *	toolbox.c	calls, from the arguments to the answer
 *	project.c	the projects
 *	line.c		the worker of a project, and the messages to it
 *	command.c	execute_command
 *	asking.c	what is refused and may be granted
 *	approve.c	what Claude asks before it uses its own tools
 *	ceiling.c	calls that may do less than the session
 *	outer.c		all this inside a sandbox of Cordon
 *	resources.c	what the session says of itself
 */
#pragma once

#include "approve/broker.h"
#include "audit/audit.h"
#include "base/buf.h"
#include "base/sha256.h"
#include "lib/run.h"
#include "tools/call.h"
#include "tools/toolbox.h"

enum { BOX_MAX_CALLS = 256, BOX_MAX_DENIALS = 1000, WHY_BYTES = 512 };

struct line; /* line.c */

/*
 * A root with a policy of its own: the same profile, with this directory as the workspace, so that its
 * own project file counts. Opening one leaves the policies of the others as they are.
 */
struct tool_project {
	struct toolbox *box;
	struct arena arena;
	struct str path; /* canonical */
	uint64_t device, inode;
	bool is_read_only;
	struct asked asked;
	cordon_policy *policy;
	struct line *line; /* NULL: not started */
	struct line *old_lines;
	struct tool_project *next;
	/* The same with a ceiling (ceiling.c); in one of those: what it is, and where it comes from. */
	struct tool_project *limited;
	struct layer layer;
	struct str ceiling; /* JSON; "": none */
};

struct box_grant {
	struct grant grant;
	enum grant_scope scope;
	struct str by;
};

struct box_denial {
	const char *tool;
	struct str path, rule;
	uint64_t count;
};

struct toolbox {
	struct arena arena;
	struct toolbox_options options;
	struct cordon_run_options run;
	struct cordon_load_options load;
	struct loop *loop;
	struct tool_project *projects; /* the first is that of relative paths */
	struct toolbox_call *calls;
	struct timer later; /* begins calls that were started in this step */
	struct broker *broker;
	struct timer tick;
	struct decider decider;
	struct lasting lasting; /* as it was looked at last */
	struct arena lasting_arena;
	VEC(struct box_grant) grants;
	VEC(struct box_denial) denials;
	struct audit_tool_sums counts[TOOL_ALL];
	struct audit *log;  /* NULL: nothing was to be told so far */
	struct str log_run; /* the id of this session in it */
	bool cant_log;
	bool is_outer; /* this process is in a sandbox of Cordon: everything runs in that one */
	struct str outer_backend, outer_profile;
	uint64_t restarts;
	uint32_t last_call;
	char digest[SHA256_HEX_BYTES];
	bool has_digest;
	uint64_t undigested;
};

enum call_state { CALL_NEW, CALL_SENT, CALL_ASKS, CALL_RUNS };

struct toolbox_call {
	struct toolbox *box;
	struct toolbox_request request;
	struct arena arena;
	struct json *arguments;
	struct buf text;    /* the arguments as JSON */
	struct str ceiling; /* JSON; "": none */
	uint32_t number;
	enum tool_id sent_as; /* to the worker */
	enum call_state state;
	struct tool_project *project;
	struct line *line; /* that has it, if it was sent */
	bool was_retried, was_asked, was_denied;
	struct tool_result refused; /* what is answered if it is not granted; in the arena */
	cordon_run_handle *run;	    /* execute_command */
	struct watcher watcher;
	struct command_output *output;
	struct toolbox_call *next;
};

/* ---- outer.c ----------------------------------------------------------------------------------- */

/* Whether there is a sandbox around this process; then the toolbox uses it. */
int box_find_outer(struct toolbox *box, struct err *e) MUST_CHECK NONNULL;
/* Asks its supervisor about a path that a call was refused; asking_take() gets the answer. False: it can't be asked. */
bool box_ask_outer(struct toolbox_call *call, struct str path) MUST_CHECK NONNULL;
void box_leave_outer(struct toolbox_call *call) NONNULL;
/* What it has refused to commands, each line in brackets. */
void box_add_outer_refusals(struct toolbox_call *call, struct buf *out) NONNULL;

/* ---- toolbox.c ------------------------------------------------------------------------------- */

/* The call has its answer; it is freed. */
void box_finish(struct toolbox_call *call, const struct tool_result *result) NONNULL;
/* The same with a refusal. */
void box_refuse(struct toolbox_call *call, enum tool_refusal_kind kind, const char *fmt, ...)
	PRINTF_LIKE(3, 4) NONNULL;
/* With a result of the worker, or of a command: perhaps somebody is asked. */
void box_take(struct toolbox_call *call, const struct tool_result *result) NONNULL;
/* Once more, as if it were new. */
void box_begin(struct toolbox_call *call) NONNULL;
/* For cordon://denials: `path` is what the call named, or what its command was refused. */
void box_keep_denial(const struct toolbox_call *call, struct str path, struct str rule) NONNULL;
void box_log(const struct toolbox *box, const char *fmt, ...) PRINTF_LIKE(2, 3) NONNULL;
/* The member of that name; "": there is none, or it is no string. */
struct str box_text(const struct json *object, const char *name) NONNULL;

/* ---- project.c ------------------------------------------------------------------------------- */

struct tool_project *box_project_of(struct toolbox *box, struct str path) NONNULL;
/* Sets call->project: of `path`, with the ceiling of the call. */
int box_choose_project(struct toolbox_call *call, struct str path, struct err *e)
	MUST_CHECK NONNULL;
/* NULL and `e`: it can't be opened. */
struct tool_project *box_open_project(struct toolbox *box, struct str path, bool is_read_only,
				      struct err *e) MUST_CHECK NONNULL;
void box_free_project(struct tool_project *p) NONNULL;
/*
 * The policy of a project for what starts in a directory of it; "": where the first one starts. It is
 * the first one's, with the project as one root more: read-only ones stay so.
 */
cordon_policy *box_load(const struct tool_project *p, struct str directory, struct err *e)
	MUST_CHECK NONNULL;
/* JSON, an object: what the sandbox is. */
int box_print_sandbox(struct arena *a, const struct tool_project *p, const char *backend,
		      struct str *out, struct err *e) MUST_CHECK NONNULL;
/* After a grant or its end: workers are started again with what is granted now. */
void box_policy_changed(struct toolbox *box) NONNULL;
/* SECURITY: the workspace was opened by its inode; what has its name now may be somebody else's. */
bool box_project_is_there(const struct tool_project *p) NONNULL;
void box_free_projects(struct toolbox *box) NONNULL;
/* The tool open_project. */
void box_take_project(struct toolbox_call *call) NONNULL;

/* ---- line.c ----------------------------------------------------------------------------------- */

/* Starts the worker if there is none, and sends the call. -ERR_*: why there is none. */
int line_send(struct toolbox_call *call, struct err *e) MUST_CHECK NONNULL;
void line_cancel(struct toolbox_call *call) NONNULL;
/* Another one takes its place, and the calls that only read; the edits that it has begun are its last. */
void line_end(struct tool_project *project) NONNULL;
/* At once; no call waits. */
void line_free_all(struct tool_project *project) NONNULL;
/* The session has other projects now: the worker is told, and goes on. */
void line_tell_roots(struct tool_project *project) NONNULL;
/* The plan that the worker enforces; NULL without one. */
const struct cordon_policy *line_policy(const struct tool_project *project) NONNULL;

/* ---- command.c --------------------------------------------------------------------------------- */

void command_begin(struct toolbox_call *call) NONNULL;
void command_cancel(struct toolbox_call *call) NONNULL;

/* ---- ceiling.c ---------------------------------------------------------------------------------- */

/* What the call brings (NULL: nothing) is kept with it. */
int ceiling_keep(struct toolbox_call *call, const struct json *state, struct err *e) MUST_CHECK
	__attribute__((nonnull(1, 3)));
/* `p` as the ceiling of the call narrows it; `p` itself without one. NULL and `e`: it can't be held. */
struct tool_project *ceiling_project(struct toolbox_call *call, struct tool_project *p,
				     struct err *e) MUST_CHECK NONNULL;

/* ---- linux/inside.c ----------------------------------------------------------------------------- */

/*
 * In a sandbox of Cordon's: whether its kernel lets `path` (absolute) be read or written; of a new file, whether
 * it can be made.
 */
bool inside_lets(struct arena *a, struct str path, enum access access) MUST_CHECK NONNULL;

/* ---- approve.c ---------------------------------------------------------------------------------- */

void approve_begin(struct toolbox_call *call) NONNULL;
/* What the worker says of the path. */
void approve_take(struct toolbox_call *call, const struct tool_result *result) NONNULL;
/* The path that it is about; "": none. */
void approve_place(const struct toolbox_call *call, struct str *out) NONNULL;

/* ---- asking.c ----------------------------------------------------------------------------------- */

int asking_init(struct toolbox *box, struct err *e) MUST_CHECK NONNULL;
void asking_done(struct toolbox *box) NONNULL;
/* True: the call waits for an answer (or has been begun again). */
bool asking_begin(struct toolbox_call *call, struct str path) NONNULL;
/* The answer to it. */
void asking_take(struct toolbox *box, struct toolbox_call *call, const struct answer *answer)
	NONNULL;
void asking_withdraw(struct toolbox_call *call) NONNULL;
/* Whether a command could have been granted what it was refused, and what that is. */
bool asking_could_grant(struct toolbox_call *call, const struct cordon_denial *denial,
			struct str *out) MUST_CHECK NONNULL;
/* What lasts may have been granted to a command, or been revoked: then workers start again. */
void asking_look(struct toolbox *box) NONNULL;
/* For commands: what a run asks. */
void asking_relay(struct toolbox_call *call, const struct cordon_ask_request *request,
		  struct cordon_answer *answer) NONNULL;
