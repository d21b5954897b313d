/* SPDX-License-Identifier: MIT */
/*
 * "What would I have to write so that the answer is another one?": the smallest
 * edit that changes the answer for one path or host. Every edit was tried on a
 * copy of the policy before it is suggested; what was not seen to work is not
 * said.
 *
 * Preferred is a change of the one line that decided, if it is about just this
 * path or host; else one more entry in the profile in force. A line that stands
 * for more is touched only where nothing else helps, and the text says so.
 * Where several layers stand in the way, there is an edit for each. What is
 * missing is never opened by a directory above it, which stands for more.
 */
#pragma once

#include "base/hostname.h"
#include "plan/net.h"
#include "plan/plan.h"

/* Where a new line can stand. */
enum suggest_spot_kind {
	SPOT_NEW,    /* there is no such table: [table] opens it */
	SPOT_HEADER, /* below [table] */
	SPOT_INLINE, /* inside name = { ... } */
	SPOT_DOTTED, /* beside a line whose key begins with `prefix` */
};

struct suggest_spot {
	enum suggest_spot_kind kind;
	uint32_t line;	   /* where that begins; 0 of SPOT_NEW */
	struct str name;   /* SPOT_INLINE: as TOML */
	struct str prefix; /* what the key is to begin with there: "domains.", or "" */
};

struct suggest_edit {
	struct str file;	  /* "" is the user's own configuration file */
	uint32_t line;		  /* the line to replace; 0: a new one */
	struct str table;	  /* "permissions.dev.filesystem", as it stands between [ and ] */
	struct str key;		  /* as TOML */
	struct str value;	  /* as TOML; "": the line is taken out */
	bool is_wide;		  /* the line stands for more than what was asked about */
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
	 * A path that has to be created before the edits help, since an entry for what
	 * is missing is left out (P11); "" when there is none. The edits were tried as
	 * if it were an empty directory.
	 */
	struct str needs_path;
	struct str profile;
	const char *chosen_by;
	struct suggest_edit
		edits[SUGGEST_MAX_EDITS + 1]; /* none: it is `wanted` already, or with needs_path */
	size_t edit_count;
	struct str text; /* one sentence */
	/* What can be pasted as it is: tables that are not there yet. A comment names the file. */
	struct str toml;
	struct str toml_top; /* "" unless needs_own_profile */
	struct str why_not;  /* "" when it is possible */
};

/* `path` as for plan_resolve(). `in` and `p` belong together. ERR_NOMEM, ERR_LIMIT, ERR_SYS. */
int plan_suggest_path(struct arena *a, const struct plan_inputs *in, const struct plan *p,
		      struct str path, enum access wanted, struct change *out, struct err *e)
	MUST_CHECK NONNULL;

/* `port` 0: every port. `wanted` is DECISION_ALLOW or DECISION_DENY; nobody can be made to ask. */
int plan_suggest_host(struct arena *a, const struct plan_inputs *in, const struct plan *p,
		      const struct hostname *host, uint16_t port, enum decision wanted,
		      struct change *out, struct err *e) MUST_CHECK NONNULL;

/* Whether the host's socket at `path`, canonical, may be connected to; `wanted` likewise. */
int plan_suggest_socket(struct arena *a, const struct plan_inputs *in, const struct plan *p,
			struct str path, enum decision wanted, struct change *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Where a rule for hosts is written in the file of the profile in force, in words that follow it
 * (" inside domains = { ... } at FILE:6"), and what its key begins with there ("domains.", or "").
 * `*place` is "" when no line of a file would count: the profile is built in, or the network is
 * as an option has it. ERR_NOMEM, ERR_LIMIT.
 */
int plan_place_hosts(struct arena *a, const struct policy *p, struct str *prefix, struct str *place,
		     struct err *e) MUST_CHECK NONNULL;
