/* SPDX-License-Identifier: MIT */
/*
 * The few texts of git that decide where a repository's parts lie. They come from the workspace, so
 * they are trusted for nothing beyond "this path has to be protected too".
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/* What makes git run something or look elsewhere, in its directory (P9, P10). "hooks" is last. */
enum { GIT_PART_COUNT = 6 };
extern const char *const git_parts[GIT_PART_COUNT];

/* The path in a pointer file, "gitdir: X"; false for any other text. */
bool git_pointer_parse(struct str text, struct str *path) NONNULL;

/* The path that a `commondir` or `gitdir` file holds; false when it holds none. */
bool git_path_parse(struct str text, struct str *path) NONNULL;

struct git_setting {
	struct str section;    /* as written */
	struct str subsection; /* "" when there is none */
	struct str name;       /* as written */
	struct str value;      /* unquoted */
};

/* Whether it is `section`.`name`, in whatever case, with no subsection. */
bool git_setting_is(const struct git_setting *s, const char *section, const char *name) NONNULL;

/* Whether it is in `section`, in whatever case, with any subsection or none. */
bool git_setting_is_of(const struct git_setting *s, const char *section) NONNULL;

/*
 * Calls `each` for every setting of a configuration file, in order. Stops when `each` returns
 * non-zero, and returns that. The texts are valid until `each` returns. A line that git would
 * reject is left out: git then rejects the whole file, so nothing is lost. Included files are not
 * read; git does not read them either when it looks for the worktree.
 */
int git_config_each(struct arena *a, struct str text,
		    int (*each)(void *arg, const struct git_setting *s, struct err *e), void *arg,
		    struct err *e) MUST_CHECK NONNULL;
