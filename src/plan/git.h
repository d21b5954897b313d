/* SPDX-License-Identifier: MIT */
/*
 * Git's directories, as far as P9 and P10 need them: git.c finds them from the
 * writable roots on, git_rules.c turns them into rules.
 *
 * Two queues feed each other. A *worktree* has a `.git` (a directory, a link, or
 * a pointer file) that leads to a git directory, and a .gitmodules that names
 * more worktrees. A *git directory* has a common directory, and names the
 * worktrees of its own, of its submodules (modules/, and the names in its
 * configuration) and those linked to it (worktrees/). Each is visited once, so loops end; and there are limits, all
 * of them errors: what was not looked at would not be protected.
 *
 * When all that was found, nested.c adds the repositories in the workspace that
 * nothing led to, and the queues go on with those.
 */
#pragma once

#include "base/name_tree.h"
#include "plan/builder.h"

enum {
	GIT_MAX_POINTER_BYTES = 64 << 10,
	GIT_MAX_CONFIG_BYTES = 1 << 20,
	GIT_MAX_NAMES = 10000,	/* in one directory that is listed */
	GIT_MAX_PLACES = 10000, /* git directories, and as many worktrees, besides the roots' own */
	/*
	 * Pins for nested repositories: one near the top takes four, and five other mounts, three
	 * placeholders and half a millisecond with them. The bwrap backend can't have more than 256.
	 */
	GIT_MAX_NESTED_PINS = 200,
	GIT_MAX_DEPTH = 16, /* slashes in the name of a submodule */
};

struct git_found {
	struct git_dir dir;
	struct str root;  /* the writable root whose `.git` leads here, or "" */
	bool claims_root; /* it says itself that `root` is its worktree */
	bool is_root; /* it is a writable root, and no entry means to open it as a git directory */
	bool is_raised; /* git_rules.c made it writable */
	bool is_left;	/* a nested one too many */
};

struct git_scan {
	struct builder *b;
	enum git_access mode;
	VEC(struct git_found) dirs;
	VEC(struct str) worktrees;
	size_t visited_dirs, visited_worktrees; /* of those */
	bool is_nested; /* what is found now lies in the workspace, and nothing else leads there */
	size_t nested_pins;    /* of what is protected in nested ones, at most */
	struct str first_left; /* where nested ones were left out, the first such place, or "" */
	struct name_node *seen_dirs, *seen_worktrees; /* by path */
	struct name_node *shelves; /* by path: the directories that keep git directories */
};

/* Whether `path`, a directory, looks like a git directory to git. */
int git_is_dir(struct builder *b, struct str path, bool *out, struct err *e) MUST_CHECK NONNULL;

/*
 * Whether `path`, a directory, has anything of a git directory.
 *
 * SECURITY: to look for what git itself asks for is not enough. Where commits are
 * allowed all of that but `config` and `hooks` can be moved away in one run, and
 * back in the next, in which `config` and `hooks` would then be open.
 */
int git_has_parts(struct builder *b, struct str path, bool *out, struct err *e) MUST_CHECK NONNULL;

/* git.c: another one, which lives in the arena; visited when it was not known. */
int git_add_dir(struct git_scan *s, struct str path, struct err *e) MUST_CHECK NONNULL;
int git_add_worktree(struct git_scan *s, struct str path, struct err *e) MUST_CHECK NONNULL;

/* nested.c: adds the repositories that lie in the workspace. */
int git_find_nested(struct git_scan *s, struct err *e) MUST_CHECK NONNULL;

/* nested.c: `path`, where nested repositories are or may be, is left open, and that is noted. */
void git_leave_out(struct git_scan *s, struct str path) NONNULL;

/* nested.c: whether there may be as many more pins as `path` takes, and `more`; else it is left out. */
bool git_can_pin(struct git_scan *s, struct str path, size_t more) NONNULL;

/* nested.c: notes what was left out. */
int git_note_left(struct git_scan *s, struct err *e) MUST_CHECK NONNULL;

/*
 * What can't be understood, or goes too deep, in a nested repository does not keep the
 * command from being run: it may be of the command's making. It is closed as a whole.
 */
static inline bool git_can_close(int r)
{
	return r == -(int)ERR_POLICY || r == -(int)ERR_LIMIT;
}

/* git_rules.c: `path`, of a nested repository, is read-only as a whole, and that and why is noted. */
int git_close(struct git_scan *s, struct str path, const struct err *why, struct err *e)
	MUST_CHECK NONNULL;

/* The found one at `path`, or NULL. */
struct git_found *git_find(const struct git_scan *s, struct str path) NONNULL;

/* git_rules.c: the rules for all that was found. */
int git_add_rules(struct git_scan *s, struct err *e) MUST_CHECK NONNULL;

/* git_rules.c: where `.git` is missing, a bare layout can't be made in its place. */
int git_refuse_bare(struct git_scan *s, struct str root, struct err *e) MUST_CHECK NONNULL;

/* git_rules.c: `.git` of a worktree that is no writable root. `is_git_dir`: of what it leads to. */
int git_protect_pointer(struct git_scan *s, struct str worktree, enum host_type type,
			bool is_git_dir, struct err *e) MUST_CHECK NONNULL;

/* git_rules.c: whether an explicit entry opens the git directory `root`, itself a writable root. */
bool git_is_meant(const struct git_scan *s, struct str root) NONNULL;
