/* SPDX-License-Identifier: MIT */
/*
 * Git's directories, as far as P9 and P10 need them: git.c finds them, starting from the writable
 * roots, and git_rules.c turns them into rules.
 *
 * Two queues feed each other. A *worktree* has a `.git` (a directory, a link, or a pointer file)
 * that leads to a git directory, and a .gitmodules that names more worktrees. A *git directory* has
 * a common directory, and names its own worktree, those of its submodules (modules/, and the names
 * in its configuration) and those linked to it (worktrees/). Each is visited once, so loops end.
 * Every limit is an error: what was not examined would not be protected.
 *
 * When all of these are found, nested.c adds the repositories in the workspace that nothing led to,
 * and the queues continue with those.
 */
#pragma once

#include "base/name_tree.h"
#include "plan/builder.h"

enum {
	GIT_MAX_POINTER_BYTES = 64 << 10,
	GIT_MAX_CONFIG_BYTES = 1 << 20,
	GIT_MAX_NAMES = 10000, /* in one directory that is listed */
	/* git directories, and as many worktrees, not counting those of the roots */
	GIT_MAX_PLACES = 10000,
	/*
	 * Pins for nested repositories. A repository near the top takes four, with five other
	 * mounts, three placeholders and half a millisecond. The bwrap backend can't have more than
	 * 256.
	 */
	GIT_MAX_NESTED_PINS = 200,
	GIT_MAX_DEPTH = 16, /* slashes in the name of a submodule */
};

struct git_found {
	struct git_dir dir;
	struct str root;  /* the writable root whose `.git` leads here, or "" */
	bool claims_root; /* it names `root` as its worktree itself */
	bool is_root;	  /* it is a writable root, and no entry opens it as a git directory */
	bool is_raised;	  /* git_rules.c made it writable */
	bool is_left;	  /* a nested one beyond the limit */
};

struct git_scan {
	struct builder *b;
	enum git_access mode;
	VEC(struct git_found) dirs;
	VEC(struct str) worktrees;
	size_t visited_dirs, visited_worktrees; /* how many of those were visited */
	bool is_nested; /* what is found now lies in the workspace, and nothing else leads there */
	size_t nested_pins;    /* pins of the nested ones that are protected */
	struct str first_left; /* the first place where nested ones were left out, or "" */
	struct name_node *seen_dirs, *seen_worktrees; /* by path */
	struct name_node *shelves; /* by path: the directories that contain git directories */
};

/* Whether `path`, a directory, looks like a git directory to git. */
int git_is_dir(struct builder *b, struct str path, bool *out, struct err *e) MUST_CHECK NONNULL;

/*
 * Whether `path`, a directory, has any part of a git directory.
 *
 * SECURITY: it is not enough to look for the parts that git requires. If commits are allowed, a
 * command can move all of those away in one run, except `config` and `hooks`, and back in the next,
 * in which `config` and `hooks` would then be writable.
 */
int git_has_parts(struct builder *b, struct str path, bool *out, struct err *e) MUST_CHECK NONNULL;

/* git.c: adds a git directory, whose path lives in the arena, and visits it if it was not known. */
int git_add_dir(struct git_scan *s, struct str path, struct err *e) MUST_CHECK NONNULL;
int git_add_worktree(struct git_scan *s, struct str path, struct err *e) MUST_CHECK NONNULL;

/* nested.c: adds the repositories that lie in the workspace. */
int git_find_nested(struct git_scan *s, struct err *e) MUST_CHECK NONNULL;

/* nested.c: leaves `path` unprotected, where nested repositories are or may be, and notes that. */
void git_leave_out(struct git_scan *s, struct str path) NONNULL;

/*
 * nested.c: whether the limit allows the pins that `path` takes, and `more`; if not, it is left
 * out.
 */
bool git_can_pin(struct git_scan *s, struct str path, size_t more) NONNULL;

/* nested.c: adds a note about what was left out. */
int git_note_left(struct git_scan *s, struct err *e) MUST_CHECK NONNULL;

/*
 * If a nested repository can't be understood, or is too deep, the run is not refused: the command
 * may have made it so. It is made read-only as a whole.
 */
static inline bool git_can_close(int r)
{
	return r == -(int)ERR_POLICY || r == -(int)ERR_LIMIT;
}

/* git_rules.c: makes `path`, of a nested repository, read-only as a whole, and notes why. */
int git_close(struct git_scan *s, struct str path, const struct err *why, struct err *e)
	MUST_CHECK NONNULL;

/* The one that was found at `path`, or NULL. */
struct git_found *git_find(const struct git_scan *s, struct str path) NONNULL;

/* git_rules.c: adds the rules for everything that was found. */
int git_add_rules(struct git_scan *s, struct err *e) MUST_CHECK NONNULL;

/* git_rules.c: where `.git` is missing, keeps a bare layout from being made in its place. */
int git_refuse_bare(struct git_scan *s, struct str root, struct err *e) MUST_CHECK NONNULL;

/*
 * git_rules.c: protects `.git` of a worktree that is not a writable root. `is_git_dir` is about
 * what it leads to.
 */
int git_protect_pointer(struct git_scan *s, struct str worktree, enum host_type type,
			bool is_git_dir, struct err *e) MUST_CHECK NONNULL;

/*
 * git_rules.c: whether an explicit entry opens the git directory `root`, which is a writable root.
 */
bool git_is_opened(const struct git_scan *s, struct str root) NONNULL;
