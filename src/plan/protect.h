/* SPDX-License-Identifier: MIT */
/* Caps on paths, shared by the passes that protect something (P9, P10, P25). */
#pragma once

#include "plan/builder.h"

struct cap {
	enum rule_kind kind;
	enum access access;
	/*
	 * An explicit write entry lifts the cap when it has at least the depth of
	 * the capped path plus this: 0 is at the path itself, 1 strictly below it,
	 * -1 also at the directory that holds it.
	 */
	int32_t lift_offset;
	bool is_fixed;	  /* nothing lifts it; lift_offset has no meaning */
	bool link_itself; /* if a link lies there, its target is left alone */
	bool is_shelf;	  /* it ends where git_rules.c opens a git directory */
	bool is_nested;	  /* it is of a nested repository */
	struct str root;  /* the writable root whose metadata it is, or "" */
	struct str key, note;
	struct origin origin;
};

/*
 * Caps `path`, which lives in the arena, existing or not. Its directories may
 * be links. If a link lies there, the link is capped, and so is its target.
 */
int protect_path(struct builder *b, struct str path, const struct cap *cap, struct err *e)
	MUST_CHECK NONNULL;

/* Whether `path` is a writable root. */
bool roots_has(const struct builder *b, struct str path) NONNULL;
