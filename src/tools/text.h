/* SPDX-License-Identifier: MIT */
/* The text of a file, whatever its encoding: decoded to UTF-8, and back to the same bytes. Pure. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

enum text_encoding { TEXT_UTF8, TEXT_UTF16LE, TEXT_UTF16BE, TEXT_LATIN1 };
enum text_eol { TEXT_NO_EOL, TEXT_LF, TEXT_CRLF, TEXT_MIXED };

struct text {
	struct str utf8; /* without the byte order mark */
	enum text_encoding encoding;
	bool has_bom;
	enum text_eol eol;
};

/* "utf-8", "utf-16le", …; "lf", "crlf", "mixed", "none" */
const char *text_encoding_name(enum text_encoding encoding) RETURNS_NONNULL;
const char *text_eol_name(enum text_eol eol) RETURNS_NONNULL;
enum text_eol text_find_eol(struct str utf8) NONNULL;

/*
 * UTF-8; UTF-16 with a byte order mark; else Latin-1. `*is_binary`: it is no text (a NUL, control
 * characters that no text has, broken UTF-16). ERR_NOMEM, ERR_LIMIT.
 */
int text_decode(struct arena *a, struct str bytes, struct text *out, bool *is_binary, struct err *e)
	MUST_CHECK NONNULL;

/*
 * `*bad` is a character that the encoding can't hold; 0: none. Latin-1 also can't hold a text whose bytes
 * text_decode() would take for another encoding, or for no text.
 */
int text_encode(struct arena *a, const struct text *text, struct str *out, uint32_t *bad,
		struct err *e) MUST_CHECK NONNULL;

/* With every line ending as `eol` (TEXT_LF or TEXT_CRLF). */
int text_set_eol(struct arena *a, struct str utf8, enum text_eol eol, struct str *out,
		 struct err *e) MUST_CHECK NONNULL;
