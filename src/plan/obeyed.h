/* SPDX-License-Identifier: MIT */
/*
 * Whether a path is, or lies in, what P9 protects in a writable root, wherever it lies: protection
 * begins with a root, and a grant of the metadata alone would make it one without it. For approve/
 * and lib/.
 */
#pragma once

#include "base/arena.h"
#include "plan/host.h"
#include "policy/policy.h"

struct obeyed {
	struct str path; /* of the name, or of the git directory; "": it is none */
	const char *why; /* "it is in a git directory" */
};

/*
 * A name of the table, or one that the profile protects, at any depth, unless the profile opens it.
 * `is_dir`: also a directory that such a name would lie directly in, as `.github` of `.github/hooks`.
 */
void obeyed_name(const struct profile *profile, struct str path, bool is_dir, struct obeyed *out)
	NONNULL;

/* A directory above `path`, or the path itself, that git would take for one of its own. */
int obeyed_git_dir(struct arena *a, const struct host *host, const struct profile *profile,
		   struct str path, struct obeyed *out, struct err *e) MUST_CHECK NONNULL;
