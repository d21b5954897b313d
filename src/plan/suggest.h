/* SPDX-License-Identifier: MIT */
/*
 * Suggests the smallest edit of the configuration that changes the answer for one path, host or
 * socket. Cordon tries every edit on a copy of the policy and suggests only what works.
 *
 * It prefers to change the line that decided, if that line covers just this path or host; else it
 * adds an entry to the profile in force. It changes a line that covers more only if nothing else
 * helps, and the text says so. If several layers deny, there is an edit for each. It never opens
 * a directory above a missing path, since that would open more.
 */
#pragma once

#include "base/hostname.h"
#include "plan/net.h"
#include "plan/plan.h"

/* Where a new line can be added. */
enum suggest_spot_kind {
	SPOT_NEW,    /* the file has no such table yet: add [table] */
	SPOT_HEADER, /* below [table] */
	SPOT_INLINE, /* inside name = { ... } */
	SPOT_DOTTED, /* next to a line whose key begins with `prefix` */
};

struct suggest_spot {
	enum suggest_spot_kind kind;
	uint32_t line;	   /* where the table begins; 0 for SPOT_NEW */
	struct str name;   /* SPOT_INLINE: as TOML */
	struct str prefix; /* what the new key has to begin with: "domains.", or "" */
};

struct suggest_edit {
	struct str file;	  /* "" is the user's own configuration file */
	uint32_t line;		  /* the line to replace; 0: a new one */
	struct str table;	  /* "permissions.dev.filesystem", as written between [ and ] */
	struct str key;		  /* as TOML */
	struct str value;	  /* as TOML; "": remove the line */
	bool is_wide;		  /* the line covers more than the path or host in question */
	struct suggest_spot spot; /* of a new line */
};

enum { SUGGEST_MAX_EDITS = 4 };

struct change {
	bool is_possible;
	/*
	 * The profile in force is built in and can't be edited: `toml` is then a new
	 * profile that extends it. `profile` is its name, `chosen_by` the option or
	 * variable that has to name it (NULL: none does); else the last of the edits
	 * changes the line that chooses, or `toml_top` is such a line, to stand before
	 * the first table of the file.
	 */
	bool needs_own_profile;
	/*
	 * A path that has to be created before the edits help, since Cordon ignores an entry
	 * for a missing path (P11); "" if there is none. The edits were tried as if it were an
	 * empty directory.
	 */
	struct str needs_path;
	struct str profile;
	const char *chosen_by;
	struct suggest_edit
		edits[SUGGEST_MAX_EDITS + 1]; /* none: it is `wanted` already, or with needs_path */
	size_t edit_count;
	struct str text; /* one sentence */
	/* TOML to paste: tables that are not in the file yet. A comment names the file. */
	struct str toml;
	struct str toml_top; /* "" unless needs_own_profile */
	struct str why_not;  /* "" when it is possible */
};

/* `path` as for plan_resolve(). `in` and `p` belong together. ERR_NOMEM, ERR_LIMIT, ERR_SYS. */
int plan_suggest_path(struct arena *a, const struct plan_inputs *in, const struct plan *p,
		      struct str path, enum access wanted, struct change *out, struct err *e)
	MUST_CHECK NONNULL;

/* What an attempt needs: `access` to `subject`, and to `opens`, which is the same or above it. */
struct attempt_needs {
	struct str subject, opens; /* both as for plan_resolve() */
	enum access access;
};

/* An option of `run` that allows an attempt. */
struct option_change {
	const char *option; /* "--add-write"; NULL: no option allows it */
	struct str value;
	/* The answers with that option (plan_build_answers()); NULL without an option. */
	const struct plan *plan;
};

/*
 * Finds one option that is enough for an attempt that the plan refuses. It never opens a home
 * directory or a directory above one, and not all of a .git, whose hooks run outside the sandbox.
 * ERR_NOMEM, ERR_LIMIT, ERR_SYS.
 */
int plan_suggest_option(struct arena *a, const struct plan_inputs *in, const struct plan *p,
			const struct attempt_needs *needs, struct option_change *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * The repository of `git_dir`, if the workspace lies below its top, and an attempt that the plan refuses
 * is allowed with that as the workspace and git = "commit"; else "". Never a home or above one.
 */
int plan_suggest_repo(struct arena *a, const struct plan_inputs *in,
		      const struct attempt_needs *needs, struct str git_dir, struct str *out,
		      struct err *e) MUST_CHECK NONNULL;

/* `port` 0: every port. `wanted` is DECISION_ALLOW or DECISION_DENY. */
int plan_suggest_host(struct arena *a, const struct plan_inputs *in, const struct plan *p,
		      const struct hostname *host, uint16_t port, enum decision wanted,
		      struct change *out, struct err *e) MUST_CHECK NONNULL;

/* For connecting to the host's socket at `path`, which is canonical; `wanted` as above. */
int plan_suggest_socket(struct arena *a, const struct plan_inputs *in, const struct plan *p,
			struct str path, enum decision wanted, struct change *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Where a new rule for hosts belongs in the file of the profile in force, as text
 * (" inside domains = { ... } at FILE:6"), and what its key has to begin with ("domains.", or "").
 * `*place` is "" if no line of a file would have an effect: the profile is built in, or an option
 * sets the network. ERR_NOMEM, ERR_LIMIT.
 */
int plan_place_hosts(struct arena *a, const struct policy *p, struct str *prefix, struct str *place,
		     struct err *e) MUST_CHECK NONNULL;
