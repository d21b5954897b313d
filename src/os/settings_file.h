/* SPDX-License-Identifier: MIT */
/*
 * A file that another program reads and people edit. It is replaced as a whole, so who looks sees the old
 * file or the new one, also if this process is killed; and what somebody else writes meanwhile is not lost:
 * then nothing is changed, and the error is CAUSE_FILE_CHANGED. Mode, owner and extended attributes stay.
 *
 * SECURITY: only a regular file of this user's is changed, in a directory of this user's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct os_settings {
	struct str path; /* where it lies, links followed; or is to be */
	struct str text; /* "" when it is missing */
	bool is_there;
	uint32_t mode;
};

/*
 * CAUSE_FILE_UNTRUSTED: it can't be replaced without a loss; the lines of the error say what to do. A link is
 * such a file unless `follows`.
 */
int os_settings_read(struct arena *a, struct str path, bool follows, size_t max_bytes,
		     struct os_settings *out, struct err *e) MUST_CHECK NONNULL;

/*
 * Puts `text` there. The directory has to exist. `mode` is for a file that is new. Only one process may do
 * this at a time for the files of one directory.
 */
int os_settings_replace(const struct os_settings *was, struct str text, uint32_t mode,
			struct err *e) MUST_CHECK NONNULL;

int os_settings_remove(const struct os_settings *was, struct err *e) MUST_CHECK NONNULL;

/* Removes what a killed process has left beside it. */
void os_settings_drop_leftover(struct str path);

/* A directory with exactly this mode; 0 also if it is there. */
int os_settings_make_directory(struct str path, uint32_t mode, struct err *e) MUST_CHECK NONNULL;
/* Does nothing unless it is an empty directory. */
void os_settings_drop_directory(struct str path);
