/* SPDX-License-Identifier: MIT */
/*
 * Directories are listed once for all who want their names: the scan for globs
 * (P6) leaves what the search for nested repositories (P9) needs to know.
 */
#pragma once

#include "base/name_tree.h"
#include "plan/builder.h"

enum {
	/*
	 * How far nested repositories are looked for. A count, and no time, so that the
	 * answers are the same each time; it takes about 5 ms.
	 */
	WALK_MAX_DIRS = 1000,
	WALK_MAX_NAMES = 10000,
};

/* A directory that was listed, as far as git has an interest in it. */
struct walked {
	struct name_node by_path; /* first, so that one can be cast to the other */
	VEC(struct str) dirs; /* the names of the directories in it, ".git" left out; in order */
	bool has_dirs;	      /* or else they were not wanted any more */
	size_t names;	      /* how many it has in all */
	bool has_git, has_head, has_commondir, has_objects, has_refs;
};

/* The directories that are listed from now on are remembered, WALK_MAX_DIRS of them. */
void walk_begin(struct builder *b) NONNULL;

/* host->list(), remembering. */
int walk_list(struct builder *b, struct str path,
	      int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
	      void *arg, struct err *e) MUST_CHECK;

/*
 * What is in `path`, listed now unless it was before, `wants_dirs`: with the directories;
 * NULL, and no error, when it has more than `max_names`. Errors as of host->list().
 */
int walk_find(struct builder *b, struct str path, size_t max_names, bool wants_dirs,
	      const struct walked **out, struct err *e) MUST_CHECK NONNULL;
