/* SPDX-License-Identifier: MIT */
/* The index of git, as far as a look for gitlinks needs it: versions 2 to 4, SHA-1 and SHA-256. */
#pragma once

#include "base/err.h"
#include "base/str.h"

/*
 * Calls `each` for every entry that is a repository of its own (mode 160000). In
 * a split index such an entry may stand for one of the shared file, whose name it
 * does not repeat: `name` is "" then. ERR_SYNTAX when `text` is no index; else
 * what `each` returned.
 *
 * `*shared` is the hash (of 20 or 32 bytes, in `text`) that names the file
 * "sharedindex.HEX" which holds the other entries of a split index; else "".
 */
int git_index_links(struct str text, int (*each)(void *arg, struct str name, struct err *e),
		    void *arg, struct str *shared, struct err *e) MUST_CHECK NONNULL;
