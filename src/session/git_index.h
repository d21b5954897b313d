/* SPDX-License-Identifier: MIT */
/* The index of git, as far as a look after a run needs it: versions 2 to 4, SHA-1 and SHA-256. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum git_index_entry {
	GIT_ENTRY_LINK, /* a repository of its own (mode 160000) */
	/*
	 * A file that git has not seen in the work tree since the index names it so: its times
	 * are zero. Not one that a sparse checkout leaves out, or that is only to be added.
	 */
	GIT_ENTRY_UNSEEN,
};

typedef int git_index_each(void *arg, enum git_index_entry kind, struct str name, struct err *e);

/*
 * Calls `each` for every entry of these kinds. In a split index a link may
 * stand for an entry of the shared file, whose name it does not repeat: `name` is
 * "" then. ERR_SYNTAX when `text` is no index; else what `each` returned.
 *
 * `*shared` is the hash (of 20 or 32 bytes, in `text`) that names the file
 * "sharedindex.HEX" which holds the other entries of a split index; else "".
 */
int git_index_look(struct str text, git_index_each *each, void *arg, struct str *shared,
		   struct err *e) MUST_CHECK NONNULL;

/*
 * Whether the index has the file `name`, or a repository of that name. Entries that a split index
 * keeps in its shared file are not seen. ERR_SYNTAX when `text` is no index.
 */
int git_index_has(struct str text, struct str name, bool *out, struct err *e) MUST_CHECK NONNULL;
