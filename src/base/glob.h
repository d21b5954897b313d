/* SPDX-License-Identifier: MIT */
/*
 * Globs, as rule P6 has them:
 *	*  ?		any run of bytes, any one byte, within one component; a
 *			leading dot is nothing special
 *	[a-z] [!x] [^x]	a class, within one component; a first ']' is a member, a
 *			reversed range matches nothing
 *	**		as a whole component: zero or more components; elsewhere '*'
 *	{a,b}		either, nesting allowed; may hold '/'
 *	\c		c itself; at the very end an error
 * '?' and classes match one byte: paths are bytes (P8). No class matches '/';
 * "[:alpha:]" has no meaning of its own.
 *
 * What is not closed is that character: a '[' without a ']' in the rest of its
 * component, a '{' without a '}' in the rest of the pattern. Classes are seen
 * before braces: "[{]" is a class, and "{[,],x}" has two alternatives. "{a}" is
 * "a", "{}" is nothing.
 *
 * What a pattern with braces means is what all the patterns mean that choosing
 * alternatives makes of it, so a "**" is a whole component when it stands
 * between slashes or ends *after* choosing: in "{a/,b}**" it is one after "a/"
 * and not after "b", and "{*,x}*" is "**" or "x*". A chosen pattern with an
 * empty component ("a//b", "/a", "a/", so also "a/{,b}") is an error, because no
 * path has one; the pattern that is empty altogether matches the empty path.
 *
 * A path has the components between its slashes; the empty path has none, so
 * "**" matches it and '*' does not. "a" followed by a slash and "**" matches "a"
 * and all below it. "***" is a '*'.
 *
 * Time is bounded by pattern length times path length, whatever the pattern.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct glob;

enum { GLOB_MAX_BYTES = 4096 };

/*
 * ERR_SYNTAX (a lone '\' at the end, a NUL, an empty component), ERR_LIMIT (too
 * long or too many alternatives). Keeps nothing of `pattern`.
 */
const struct glob *glob_parse(struct arena *a, struct str pattern, struct err *e)
	MUST_CHECK NONNULL;

/*
 * The same for names that a volume compares without case and composition (fold.h): a path matches if
 * its folded form does. A class has a letter if it has it in either case.
 */
const struct glob *glob_parse_folded(struct arena *a, struct str pattern, struct err *e)
	MUST_CHECK NONNULL;

/* Whether the whole of `path` (relative, no leading slash; or any name) matches. */
bool glob_match(const struct glob *g, struct str path) NONNULL;

/*
 * Tries every prefix of `path` (relative) that ends at a component, the empty
 * one included, and gives the number of components of the longest that
 * matches; -1 when none does. This is what makes a deny glob "a deny entry at
 * each path that it matches" (P7). Allocates nothing.
 */
int glob_match_deepest(const struct glob *g, struct str path) NONNULL;

/*
 * Whether any name below the directory `path` (relative) could still match. A scan may skip the
 * directories where this is false. Wrongly true only for what can't match at all, such as "[b-a]".
 */
bool glob_may_match_below(const struct glob *g, struct str path) NONNULL;

/*
 * The maximal cost of glob_match() or glob_may_match_below() for any path: `each`, plus `byte` for
 * each byte of the path, in units of very roughly a nanosecond. It depends on the pattern alone, so
 * that a caller that limits it refuses the same patterns on every machine.
 */
struct glob_cost {
	uint64_t each, byte;
};
struct glob_cost glob_get_cost(const struct glob *g) NONNULL;

/*
 * Whether `text` has any character that is special in a glob: * ? [ { \
 * The others (']', '}', ',', ...) are so only behind one of these.
 */
bool glob_is_special(struct str text) PURE;

/*
 * The length of the leading part of `pattern` that is whole literal components:
 * 5 for "/a/b/?.c" ("/a/b/", up to and including the slash), all of a pattern
 * without special characters. The bytes before it hold none, a '\' included.
 */
size_t glob_literal_prefix(struct str pattern) PURE;

/* The pattern that matches `literal` and nothing else. */
int glob_escape(struct arena *a, struct str literal, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * A pattern in normal spelling: what looks special but is not (an unclosed '[' or '{') is escaped,
 * and needless escapes are removed. So two such patterns can be joined by a '/', and each keeps its
 * meaning; as written, a '{' in one could find its '}' in the other.
 */
struct glob_spelling {
	struct str pattern;
	bool is_literal;    /* it matches one path only, without being a group or a class */
	struct str literal; /* that path; "" when there is none */
};
int glob_spell(struct arena *a, struct str pattern, struct glob_spelling *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Patterns that are valid but probably not what the author meant: each matches less than it seems
 * to.
 */
enum glob_slip {
	GLOB_NO_SLIP,
	GLOB_SLIP_STARS, /* a "**" that is not a whole component, and so means '*' */
	GLOB_SLIP_CLASS, /* an unclosed '[', which means itself */
	GLOB_SLIP_GROUP, /* an unclosed '{', likewise */
};

/* The first slip in a pattern, and its offset. */
int glob_find_slip(struct arena *a, struct str pattern, enum glob_slip *out, size_t *at,
		   struct err *e) MUST_CHECK NONNULL;
