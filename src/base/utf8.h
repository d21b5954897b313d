/* SPDX-License-Identifier: MIT */
/* UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, at most U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Reads one character at `*at` and steps over it; false when it is malformed. */
bool utf8_next(struct str s, size_t *at, uint32_t *out) NONNULL;

/* The offset of the first malformed byte, or s.len when all is well. */
size_t utf8_check(struct str s) PURE;

/* Writes 1 to 4 bytes; false for a surrogate or a number over U+10FFFF. */
bool utf8_put(uint32_t c, char out[4], size_t *len) NONNULL;

/* How many bytes `s` begins with that are printable ASCII: they are shown as they are. */
size_t utf8_count_plain(struct str s) PURE;

/*
 * Adds `s` for a person's eyes: bytes that are not UTF-8, control characters (utf8_is_control) and
 * what has no shape (utf8_is_invisible) become \xNN or \u{NNNN}, so nothing that a file or a path
 * holds can rewrite a terminal, forge a line or look like another name that it is not.
 */
void utf8_add_shown(struct buf *b, struct str s) NONNULL;

/*
 * One character or stray byte of it, at `*at` (less than s.len), over which it steps: itself, or
 * `escaped`.
 */
struct str utf8_next_shown(struct str s, size_t *at, char escaped[16]) NONNULL;

/* How many columns that takes: one a character, which is right for all but wide scripts. */
size_t utf8_shown_width(struct str s);

/*
 * The same into fixed space, for error texts: what does not fit is left off at a
 * whole character and "..." says so. `size` is at least 8. Returns `out`.
 */
const char *utf8_show(struct str s, char *out, size_t size) NONNULL;

/*
 * Adds `s` in quotes, as JSON and TOML have it, with control characters of all
 * kinds escaped, also those that both let pass (DEL, C1, bidirectional): people
 * read this on terminals too. A byte that is not UTF-8 becomes \udcNN, as in
 * Python, where `keeps_bytes`; else U+FFFD.
 */
void utf8_add_quoted(struct buf *b, struct str s, bool keeps_bytes) NONNULL;

/* C0, DEL, C1, bidirectional controls, line and paragraph separators. */
bool utf8_is_control(uint32_t c) PURE;

/* Zero-width and filling characters, tags, variation selectors, blanks other than the space. */
bool utf8_is_invisible(uint32_t c) PURE;
