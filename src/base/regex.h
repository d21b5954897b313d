/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions, in the syntax of ripgrep (Rust's crate regex) without what needs
 * backtracking. Nothing here backtracks: a search takes time proportional to the text, and in the
 * worst case to the text times the pattern, which has a limit.
 *
 *	.  [a-z]  [^a]  [[:alpha:]]  [a-z&&[^b]]  --  ~~	classes, which nest
 *	\d \w \s \D \W \S \pL \p{Lu} \P{L}	of Unicode; general categories alone
 *	^ $ \A \z \b \B \< \>			at a place
 *	* + ? {n} {n,} {n,m}			and each with '?' behind it for as few as possible
 *	(a) (?:a) (?P<name>a) (?<name>a) a|b	groups; nothing asks what they matched
 *	(?i) (?m) (?s) (?x) (?U) (?u) (?-i:a)	flags
 *	\n \t \x41 \x{41} \u0041 \U00000041 \.	characters
 *
 * A back-reference or a look around is CAUSE_REGEX_SYNTAX, and the text says so.
 *
 * A text may hold any bytes. A byte that is not part of valid UTF-8 is no character: nothing
 * matches it, and a match neither begins nor ends inside a character.
 *
 * Of several matches the first one counts, and of those that begin at the same place that which
 * Perl would have found: the earlier alternative, the longer or shorter repetition.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
	REGEX_IGNORE_CASE = 1, /* as (?i) before the pattern */
	/*
	 * The text is searched line by line: nothing matches a newline (one in the pattern is
	 * CAUSE_REGEX_SYNTAX), '^' and '$' are at every line, and a '\r' before the newline
	 * belongs to the end of the line.
	 */
	REGEX_LINES = 2,
	REGEX_LITERAL = 4, /* the pattern is a text, no character of it is special */
};

enum {
	REGEX_MAX_BYTES = 16 << 10,
	REGEX_MAX_STATES = 10000,
	REGEX_MAX_DEPTH = 250,
};

struct regex;

/*
 * Compiles it. CAUSE_REGEX_SYNTAX, CAUSE_REGEX_LIMIT (longer, deeper or with more states than
 * above, or more than the arena has room for). Keeps nothing of `pattern`. 16 MiB is enough room for any
 * pattern that is not meant to fill it.
 */
const struct regex *regex_parse(struct arena *a, struct str pattern, unsigned flags, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Is asked now and then during long searches, at least once for about a million steps. What it
 * returns, if not 0, ends the search.
 */
struct regex_watch {
	int (*ask)(void *user, struct err *e);
	void *user;
};

/* What searching needs besides: a cache of up to some MiB. Not for two threads at once. */
struct regex_matcher;

/* Borrows `re` and `watch`, which may be NULL. */
struct regex_matcher *regex_matcher_new(const struct regex *re, const struct regex_watch *watch,
					struct err *e) MUST_CHECK __attribute__((nonnull(1, 3)));
void regex_matcher_free(struct regex_matcher *m);

struct regex_span {
	bool is_found;
	size_t begin, end;
};

/*
 * The first match that lies between `from` and `until`, which are offsets in `text` at the beginning
 * or end of characters. What is before and behind them counts for '^', '$' and '\b'. ERR_NOMEM, or
 * what the watch returned.
 */
int regex_find(struct regex_matcher *m, struct str text, size_t from, size_t until,
	       struct regex_span *out, struct err *e) MUST_CHECK NONNULL;

/*
 * For REGEX_LINES: the first line that begins at or behind `from`, which is at the beginning of a
 * line, and that has a match. The span is the line without its newline.
 */
int regex_find_line(struct regex_matcher *m, struct str text, size_t from, struct regex_span *out,
		    struct err *e) MUST_CHECK NONNULL;
