/* SPDX-License-Identifier: MIT */
/*
 * Commands that a process inside wants to have run outside of the sandbox (P18, `cordon escalate`). Who
 * started the run says which ([[exec]]), or is asked. Such a command is a run of its own, with another
 * profile, in this process: lib/escalate.c starts it.
 *
 * SECURITY: of the caller it gets the words, the three standard streams and the directory, each looked at
 * (linux/notify/inside_take.c), and nothing else: not its environment, not its PATH. The program and the
 * directories above it are not the command's to write, the directory is not one that it can replace.
 */
#pragma once

#include "approve/exec_rules.h"
#include "backend/inside.h"
#include "os/loop.h"
#include "session/session.h"

enum { ESCALATIONS_MAX = 8, ESCALATIONS_PER_MINUTE = 60 };

struct escalation {
	struct session *s;
	uint64_t id;  /* of the request; 0: free */
	uint64_t ask; /* that waits for an answer; 0: none */
	struct arena arena;
	struct inside_taken taken;
	const char *const *argv;
	const char *program; /* canonical */
	const char *directory;
	const char *path;	 /* "PATH=…" without what the command may write */
	const char *git_ceiling; /* git looks for no repository there or above; NULL: anywhere */
	const char **withheld;	 /* variables that lead to what the command may write */
	const struct exec_rule *rule; /* NULL: somebody was asked */
	struct str profile;
	const char *by;
	struct escalation_order order;
	void *run;	 /* NULL: it does not run (yet) */
	size_t reported; /* where it is in the report, from 1 on; 0: not there */
	struct watcher watcher;
};

/* A workspace root as it was when the run started. */
struct escalation_root {
	struct str path;
	uint64_t device, inode;
};

struct escalations {
	struct escalation *slots; /* ESCALATIONS_MAX, once somebody asks */
	const struct exec_rules *rules;
	struct escalation_root *roots;
	size_t root_count;
	struct audit *log; /* NULL: nothing was to be logged */
	uint64_t minute_began_ms, asked_this_minute;
};

/* Before the launch: which rules there are. ERR_POLICY, ERR_SYS, ERR_NOMEM. */
int escalations_prepare(struct session *s, struct err *e) MUST_CHECK NONNULL;

void escalations_take(struct session *s, const struct inside_request *request) NONNULL;
/* Nobody waits for it any more: it ends. False: there is none of that id. */
bool escalations_leave(struct session *s, uint64_t id) NONNULL;
/*
 * Nothing of it runs any more when this returns, but for what can't be killed: that is warned of. May be
 * called again.
 */
void escalations_end(struct session *s) NONNULL;

/* ---- escalate_check.c ------------------------------------------------------------------------ */

/* Whether a narrower or missing path below a writable one is kept from the command (landlock can't). */
bool escalation_keeps_narrower(const struct session *s) NONNULL;
/*
 * Finds the program, which has to be the same each time, and the PATH that it is found with. NULL: it may be
 * run; else why not. The text is static.
 */
const char *escalation_check_program(struct escalation *x) NONNULL;
/* All else, once it is known which profile it would have. NULL: it may be run. The text lives as long as `x`. */
const char *escalation_check(struct escalation *x) NONNULL;
/* For the rules (struct exec_finder); `user` is the escalation, whose program was looked for. */
int escalation_find_program(void *user, struct arena *a, struct str name, struct str *out,
			    struct err *e) MUST_CHECK NONNULL;
bool escalation_is_unsandboxed(const struct escalation *x) NONNULL;

/* ---- escalate_git.c --------------------------------------------------------------------------- */

/* NULL: git runs nothing there that the command may write, whatever its settings say; else why not. */
const char *escalation_check_git(struct escalation *x) NONNULL;
