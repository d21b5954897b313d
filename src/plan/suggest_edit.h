/* SPDX-License-Identifier: MIT */
/*
 * What flip.c, flip_host.c and flip_socket.c share: a copy of the policy that edits are tried
 * on, the list of edits, and the words and TOML made from it. Nobody else
 * includes this.
 */
#pragma once

#include "plan/suggest.h"

struct flipper {
	struct arena *a;
	const struct plan_inputs *in;
	const struct policy *policy; /* with the edits so far */
	struct flip flip;
	bool needs_directory; /* flip.needs_path is one, for sure */
	struct str
		said_by; /* with flip.needs_path: "KEY = VALUE (FILE:LINE)" that waits for it, or "" */
	struct err *e;
};

/* A host on which one missing path is an empty directory; all else is as below. */
struct flip_host_view {
	struct host host; /* hand out &v.host */
	const struct host *below;
	struct str path;     /* canonical */
	size_t missing_from; /* as in struct canon */
};

void flip_host_view_init(struct flip_host_view *v, const struct host *below, struct str path,
			 size_t missing_from) NONNULL;

/* A copy whose layers and profile may be changed; what they point to may not. */
struct policy *flip_copy(struct flipper *f, const struct policy *p) MUST_CHECK NONNULL;

/* The same with the entries (or rules) of one layer copied too, with room for one more. */
struct policy *flip_copy_fs(struct flipper *f, const struct policy *p, size_t layer)
	MUST_CHECK NONNULL;
struct policy *flip_copy_rules(struct flipper *f, const struct policy *p, size_t layer)
	MUST_CHECK NONNULL;

struct policy *flip_copy_sockets(struct flipper *f, const struct policy *p, size_t layer)
	MUST_CHECK NONNULL;

/* Makes a network managed that a layer has off; nothing where no file can. */
int flip_enable(struct flipper *f, size_t layer) MUST_CHECK NONNULL;

bool flip_same_origin(const struct origin *a, const struct origin *b) NONNULL;

/* Whether a line can be edited: it is in a file, not built in nor on the command line. */
bool flip_is_in_file(const struct origin *origin) NONNULL;

/* Whether it is in a trusted project's file, which no longer is trusted once it is edited (P2). */
bool flip_is_trusted(const struct flipper *f, const struct origin *origin) NONNULL;

/*
 * Whether what stands there may be changed or overridden: all but the command
 * line and trusted projects, which win over the user's file.
 */
bool flip_is_ours(const struct flipper *f, const struct origin *origin) NONNULL;

/*
 * Records an edit in a table ("filesystem"; "" is the profile's own) of that
 * layer. `at` is the line to change, or NULL. `key` and `value` are TOML.
 */
int flip_record(struct flipper *f, size_t layer, const char *table, const struct origin *at,
		struct str key, struct str value) MUST_CHECK;

/* Finds where a new line of a table can stand in a file; `steps` lead to the table. */
int flip_find_spot(struct flipper *f, struct str file, const struct str *steps, size_t count,
		   struct flip_spot *out) MUST_CHECK NONNULL;

/* `text` as a TOML key, and as a TOML string. */
int flip_key(struct flipper *f, struct str text, struct str *out) MUST_CHECK NONNULL;
int flip_string(struct flipper *f, struct str text, struct str *out) MUST_CHECK NONNULL;

/* Makes the words and the TOML of a flip that is possible. */
int flip_finish(struct flipper *f) MUST_CHECK NONNULL;

/* "FILE:LINE", or who else says it. */
int flip_place(struct flipper *f, const struct origin *origin, struct str *out) MUST_CHECK NONNULL;

/* Why a flip is not possible: the line at `place` is a trusted project's. */
int flip_explain_trusted(struct flipper *f, struct str place) MUST_CHECK NONNULL;
