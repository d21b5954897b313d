/* SPDX-License-Identifier: MIT */
/*
 * What the tools of a session may touch: the roots of its projects, the answers of P7, and the guards
 * of the tools. The same in the worker as outside, where it is made (scope_print, scope_parse).
 *
 * The policy decides, not the root: roots only say where a relative path begins, and what is listed
 * and searched by default.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "plan/plan.h"

enum { SCOPE_MAX_ROOTS = 64, SCOPE_MAX_BYTES = 64 << 20 };

struct scope_root {
	struct str path;	/* canonical */
	uint64_t device, inode; /* that it had when it was added */
	bool is_read_only;	/* edits are refused, whatever the policy says */
};

/* files.*: guards of the tools, above P7 and apart from it. They only narrow. */
struct scope_guard {
	bool allows_ignored;	    /* git-ignored and ":secrets" files may be edited */
	const struct str *writable; /* globs of what may be edited; none: whatever P7 allows */
	size_t writable_count;
};

struct scope {
	/* NULL: without a policy, as `cordon apply-patch` runs. Then what is in a root is writable, and
	 * the rest is a violation. */
	const struct plan *plan;
	VEC(struct scope_root) roots; /* the first is where relative paths begin */
	struct scope_guard guard;
	struct str home; /* ""; the private files in it are guarded */
	/* Names that differ in case or composition alone are one (base/fold.h). */
	bool folds;
	/* Where a run has an empty directory of its own (tmp = "private"): no tool works there, except in
	 * a root. "": none. */
	struct str private_tmp[PLACES_TMP_COUNT];
	struct str sandbox; /* JSON, an object: what the sandbox is, for each result */
};

/* What a path is to the tools. */
struct scope_verdict {
	enum access access;
	struct str
		rule; /* in words, with where it is written; "" if it is allowed and nobody asked */
	bool is_fixed; /* nothing could allow it: "grant" is empty */
};

/*
 * P7's answer for a canonical path, and the kernel's own places (/proc, /sys, /dev), which no tool
 * touches. Never fails; takes no system call and no memory.
 */
enum access scope_access(const struct scope *s, struct str path) NONNULL;

/* Whether list_files and search_files show it. */
static inline bool scope_shows(const struct scope *s, struct str path)
{
	return scope_access(s, path) != ACCESS_DENY;
}

/* The same with the rule in words, in `a`. */
int scope_judge(struct arena *a, const struct scope *s, struct str path, struct scope_verdict *out,
		struct err *e) MUST_CHECK NONNULL;

/* Below it everything is made up by the kernel, or is another directory inside. */
bool scope_is_elsewhere(const struct scope *s, struct str path) NONNULL;

/*
 * Whether the guards let a tool change `path` (canonical), which P7 allows: not below a component
 * ".git", not the temporary file of an edit, not ignored by git, not among ":secrets", and among
 * files.writable. 1: refused, `out` says why.
 */
int scope_guards(struct arena *a, const struct scope *s, struct str path, struct str *out,
		 struct err *e) MUST_CHECK NONNULL;

/* The root that `path` lies in, the deepest; NULL: in none. */
const struct scope_root *scope_root_of(const struct scope *s, struct str path) NONNULL;

/* The guard that the user's configuration asks for (files.*). ERR_NOMEM. */
int scope_set_guard(struct arena *a, const struct settings *settings, struct scope *out,
		    struct err *e) MUST_CHECK NONNULL;

/* A scope without a policy, for one directory (canonical). ERR_NOMEM. */
int scope_init_alone(struct arena *a, struct str directory, struct scope *out, struct err *e)
	MUST_CHECK NONNULL;

/* As bytes for the worker, and back. ERR_NOMEM, ERR_LIMIT, ERR_SYNTAX. */
void scope_print(struct buf *out, const struct scope *s) NONNULL;
int scope_parse(struct arena *a, struct str bytes, struct scope *out, struct err *e)
	MUST_CHECK NONNULL;
