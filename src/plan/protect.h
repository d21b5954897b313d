/* SPDX-License-Identifier: MIT */
/* Caps on paths, shared by the passes that protect something (P9, P10, P25). */
#pragma once

#include "plan/builder.h"

struct cap {
	enum rule_kind kind;
	enum access access;
	/*
	 * An explicit write entry lifts the cap if it is at least as deep as the capped path plus
	 * this: 0 is the path itself, 1 strictly below it, -1 also the directory that holds it.
	 */
	int32_t lift_offset;
	bool is_fixed;	  /* nothing lifts it; lift_offset is ignored */
	bool link_itself; /* if a link is there, its target is left alone */
	bool is_shelf;	  /* it ends where git_rules.c opens a git directory */
	bool is_nested;	  /* it protects a nested repository */
	struct str root;  /* the writable root whose metadata it protects, or "" */
	struct str key, note;
	struct origin origin;
};

/*
 * Caps `path`, which lives in the arena and may be missing. Its directories may be links. If there
 * is a link at `path`, both the link and its target are capped.
 */
int protect_path(struct builder *b, struct str path, const struct cap *cap, struct err *e)
	MUST_CHECK NONNULL;

/* Whether `path` is a writable root. */
bool roots_has(const struct builder *b, struct str path) NONNULL;
