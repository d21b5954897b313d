/* SPDX-License-Identifier: MIT */
/*
 * Text of Windows. Its strings are UTF-16 in which a surrogate may stand alone; Cordon's are bytes. Each
 * alone becomes the three bytes that UTF-8 would have for it (WTF-8) and comes back as it was, so two files whose
 * names differ in such a one stay two files. Nothing else that is not UTF-8 has a UTF-16, and is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#include "base/arena.h"
#include "base/path.h"
#include "base/str.h"

enum { WIDE_PATH = PATH_MAX_BYTES + 8 };

/*
 * Into fixed space, with a NUL behind it. The length without it; -1 and errno: EILSEQ for what is not WTF-8,
 * ENAMETOOLONG if it does not fit, EINVAL for a NUL.
 */
int wide_text(struct str text, wchar_t *out, size_t room) MUST_CHECK NONNULL;
int narrow_text(const wchar_t *text, size_t len, char *out, size_t room) MUST_CHECK NONNULL;

/* The same in an arena. ERR_SYNTAX, ERR_NOMEM, ERR_LIMIT. */
int wide_copy(struct arena *a, struct str text, wchar_t **out, struct err *e) MUST_CHECK NONNULL;
int narrow_copy(struct arena *a, const wchar_t *text, size_t len, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * A path of Cordon's ("/C:/a/b", base/windows_path.h) as Windows takes it without interpreting it ("\\?\C:\a\b"). A path
 * that is written as on Windows ("C:\a", "C:/a") is taken too, but for "." and ".." in it. -1 and errno;
 * EINVAL: it is relative, or of no drive.
 */
int wide_path(struct str path, wchar_t out[WIDE_PATH]) MUST_CHECK NONNULL;

/* The same without "\\?\", for what does not take that: a working directory, a command line. */
int wide_plain_path(struct str path, wchar_t out[WIDE_PATH]) MUST_CHECK NONNULL;

/* An absolute path of Windows ("C:\a", "\\?\C:\a") in Cordon's form. -1 and errno; EINVAL: it has no drive. */
int narrow_path(const wchar_t *path, size_t len, char out[PATH_MAX_BYTES]) MUST_CHECK NONNULL;
