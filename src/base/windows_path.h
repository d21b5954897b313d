/* SPDX-License-Identifier: MIT */
/*
 * Paths of Windows. Cordon's own form of C:\a\b is /C:/a/b (path.h); no name there has a '/' in it.
 *
 * Some spellings name a file by rules that are not in the text: short names (8.3), devices, streams,
 * dots and blanks at the end of a name. What can't be told from the text alone is refused, with the
 * name. Nothing here looks at a disk.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

enum windows_reading {
	WINDOWS_EXACT, /* every component is the name as it is on the disk */
	WINDOWS_ASKED, /* as programs open it: streams belong to their file, and what Windows drops
			  from the end of a name is dropped */
};

/*
 * An absolute path of a drive (also "\\?\C:\a") in Cordon's form. `base`, in Cordon's form or "", is
 * what a relative path is taken from. ".." and "." stay. CAUSE_BAD_PATH.
 */
int windows_path(struct arena *a, struct str base, struct str text, enum windows_reading reading,
		 struct str *out, struct err *e) MUST_CHECK NONNULL;

/* The other way. In a text that is no path, paths lose only the slash before the drive. */
int windows_show(struct arena *a, struct str path, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* Whether it is in Cordon's form: "/C:" and what lies below. */
bool windows_is_path(struct str path) PURE;

/*
 * Why no file can have that name, or why it can't be told which one has it: "is the name of a
 * device". NULL: it is an ordinary name.
 */
const char *windows_bad_name(struct str name);

/* Whether it looks like a short name ("PROGRA~1"), which stands for a long one. */
bool windows_is_short(struct str name) PURE;

/*
 * Names as NTFS compares them: each character by the table of capitals, without regard to what else
 * Unicode takes for equal. The table has the pairs that all versions of it have; what they make
 * equal, fold.h does too.
 */
enum { UPCASE_ROOM = 2 * 4096 + 1 };
struct str upcase_in(struct str s, char room[UPCASE_ROOM]) NONNULL;
int upcase_copy(struct arena *a, struct str s, struct str *out, struct err *e) MUST_CHECK NONNULL;
