/* SPDX-License-Identifier: MIT */
/*
 * Keys of `filesystem` (P5): taken apart, checked, and put into one spelling, so
 * that two keys that say the same are the same key to a merge. Internal to
 * policy/.
 *
 * A key is a *pattern*. Which one is a glob, and which a literal path that only looks
 * like one ("a]", "[b"), glob_spell() says, as it does to who matches them.
 */
#pragma once

#include "policy/policy.h"

struct fs_key {
	enum fs_anchor anchor;
	bool is_unknown; /* a :token of another version: P3 says what becomes of it */
	/* As glob_spell() has it. */
	struct str pattern; /* FS_ABSOLUTE: from "/" on; else below the anchor, "" is itself */
};

/* Slashes are tidied, "." and ".." refused. ERR_POLICY, ERR_LIMIT with `origin` before the text. */
int fs_key_parse(struct arena *a, struct str text, struct origin origin, struct fs_key *out,
		 struct err *e) MUST_CHECK NONNULL;

/* `sub`, a subpath of a scoped table ("." is the key itself), put below `*key`. */
int fs_key_scope(struct arena *a, struct fs_key *key, struct str sub, struct origin origin,
		 struct err *e) MUST_CHECK NONNULL;

/* What the key means with that access: a literal path (glob ""), or a path and a glob below it. */
struct fs_target {
	struct str path;
	struct str glob;
};
int fs_key_target(struct arena *a, const struct fs_key *key, enum access access,
		  struct origin origin, struct fs_target *out, struct err *e) MUST_CHECK NONNULL;

/* The one spelling of a target; fs_key_parse() gives it back. "." for an empty subpath. */
int fs_key_text(struct arena *a, enum fs_anchor anchor, const struct fs_target *target,
		struct str *out, struct err *e) MUST_CHECK NONNULL;
int fs_key_subpath(struct arena *a, const struct fs_target *target, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* The same for a key that stands before a table and so has no access of its own. */
int fs_key_base_text(struct arena *a, const struct fs_key *key, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* A subpath by itself, in its one spelling. */
int fs_key_normal_subpath(struct arena *a, struct str sub, enum access access, struct origin origin,
			  struct str *out, struct err *e) MUST_CHECK NONNULL;

/* ":root" and so on; "" of FS_ABSOLUTE, "~" of FS_HOME. */
const char *fs_anchor_name(enum fs_anchor anchor) RETURNS_NONNULL;

/*
 * A literal path as `workspace_roots` and `unix_sockets` have it: "/x", "~/x",
 * or "x" when `may_be_relative` (anchor FS_WORKSPACE_ROOTS: below the working
 * directory, "." itself). `what` names it in messages.
 */
int fs_literal_parse(struct arena *a, struct str text, bool may_be_relative, const char *what,
		     struct origin origin, enum fs_anchor *anchor, struct str *path, struct err *e)
	MUST_CHECK NONNULL;

/* Its one spelling. */
int fs_literal_text(struct arena *a, enum fs_anchor anchor, struct str path, struct str *out,
		    struct err *e) MUST_CHECK NONNULL;
