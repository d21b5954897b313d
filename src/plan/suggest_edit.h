/* SPDX-License-Identifier: MIT */
/*
 * What suggest_path.c, suggest_host.c and suggest_socket.c share: a copy of the policy that edits are tried
 * on, the list of edits, and the words and TOML made from it. Nobody else
 * includes this.
 */
#pragma once

#include "plan/suggest.h"

struct suggester {
	struct arena *a;
	const struct plan_inputs *in;
	const struct policy *policy; /* with the edits so far */
	struct change change;
	bool needs_directory; /* change.needs_path has to be a directory */
	struct str
		said_by; /* with change.needs_path: "KEY = VALUE (FILE:LINE)" that waits for it, or "" */
	struct err *e;
};

/* The host as it would be if one missing path were an empty directory. */
struct suggest_host_view {
	struct host host; /* hand out &v.host */
	const struct host *below;
	struct str path;     /* canonical */
	size_t missing_from; /* as in struct canon */
};

void suggest_host_view_init(struct suggest_host_view *v, const struct host *below, struct str path,
			    size_t missing_from) NONNULL;

/* A copy whose layers and profile may be changed, but not what they point to. */
struct policy *suggest_copy(struct suggester *f, const struct policy *p) MUST_CHECK NONNULL;

/* Also copies the entries (or rules) of one layer, with room for one more. */
struct policy *suggest_copy_fs(struct suggester *f, const struct policy *p, size_t layer)
	MUST_CHECK NONNULL;
struct policy *suggest_copy_rules(struct suggester *f, const struct policy *p, size_t layer)
	MUST_CHECK NONNULL;

struct policy *suggest_copy_sockets(struct suggester *f, const struct policy *p, size_t layer)
	MUST_CHECK NONNULL;

/* Makes the network managed if a layer turns it off. Does nothing if no file can change that. */
int suggest_enable(struct suggester *f, size_t layer) MUST_CHECK NONNULL;

bool suggest_same_origin(const struct origin *a, const struct origin *b) NONNULL;

/* Whether the line is in a file, not built in or on the command line. */
bool suggest_is_in_file(const struct origin *origin) NONNULL;

/* Whether it is in a trusted project's file. Editing that file ends the trust (P2). */
bool suggest_is_trusted(const struct suggester *f, const struct origin *origin) NONNULL;

/* Whether a grant of the policy is written there: in a file that only Cordon writes. */
bool suggest_is_granted(const struct suggester *f, const struct origin *origin) NONNULL;
int suggest_explain_granted(struct suggester *f, struct str place) MUST_CHECK NONNULL;

/* Why no edit changes what a layer above the user's files says; `place` names it. */
int suggest_explain_fixed(struct suggester *f, size_t layer, struct str place) MUST_CHECK NONNULL;

/* Why no edit changes what is said of a host or a socket. */
int suggest_explain_net(struct suggester *f, const struct net_verdict *v) MUST_CHECK NONNULL;

/*
 * Whether the user's file can change or override the line: true unless it is on the command line, in
 * a trusted project's file, or a grant.
 */
bool suggest_is_ours(const struct suggester *f, const struct origin *origin) NONNULL;

/*
 * Records an edit in a table ("filesystem"; "" is the profile's own) of that
 * layer. `at` is the line to change, or NULL. `key` and `value` are TOML.
 */
int suggest_record(struct suggester *f, size_t layer, const char *table, const struct origin *at,
		   struct str key, struct str value) MUST_CHECK;

/* Finds where a new line of a table can be added to a file; `steps` lead to the table. */
int suggest_find_spot(struct suggester *f, struct str file, const struct str *steps, size_t count,
		      struct suggest_spot *out) MUST_CHECK NONNULL;

/* `text` as a TOML key, and as a TOML string. */
int suggest_key(struct suggester *f, struct str text, struct str *out) MUST_CHECK NONNULL;
int suggest_string(struct suggester *f, struct str text, struct str *out) MUST_CHECK NONNULL;

/* Writes the text and the TOML of a possible change. */
int suggest_finish(struct suggester *f) MUST_CHECK NONNULL;

/* "FILE:LINE", or the option, or that the rule is built in. */
int suggest_place(struct suggester *f, const struct origin *origin, struct str *out)
	MUST_CHECK NONNULL;

/* Says that the change is not possible since the line at `place` is a trusted project's. */
int suggest_explain_trusted(struct suggester *f, struct str place) MUST_CHECK NONNULL;
