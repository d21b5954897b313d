/* SPDX-License-Identifier: MIT */
/*
 * Lists each directory once for everyone who wants its names: the scan for globs (P6) remembers
 * what the search for nested repositories (P9) needs.
 */
#pragma once

#include "base/name_tree.h"
#include "plan/builder.h"

enum {
	/*
	 * How far to look for nested repositories. These are counts, not times, so that the answers
	 * are the same on every run; the search takes about 5 ms.
	 */
	DIR_LIST_MAX_DIRS = 1000,
	DIR_LIST_MAX_NAMES = 10000,
};

/* A directory that was listed, as far as git matters. */
struct listed_dir {
	struct name_node by_path; /* first, so that a pointer to one can be cast to the other */
	VEC(struct str) dirs;	  /* names of its subdirectories, without ".git"; sorted */
	bool has_dirs;		  /* whether `dirs` was filled */
	size_t names;		  /* number of all names in it */
	bool has_git, has_head, has_commondir, has_objects, has_refs;
};

/* From now on the first DIR_LIST_MAX_DIRS directories that are listed are remembered. */
void dir_list_begin(struct builder *b) NONNULL;

/* Calls host->list(), and remembers the result. */
int dir_list_each(struct builder *b, struct str path,
		  int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		  void *arg, struct err *e) MUST_CHECK;

/*
 * Describes what is in `path`, and lists it unless that was done before. With `wants_dirs` also
 * fills `dirs`. Sets `*out` to NULL, without an error, if there are more than `max_names` names.
 * Errors as of host->list().
 */
int dir_list_find(struct builder *b, struct str path, size_t max_names, bool wants_dirs,
		  const struct listed_dir **out, struct err *e) MUST_CHECK NONNULL;
