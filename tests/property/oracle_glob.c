/* SPDX-License-Identifier: MIT */
/*
 * Every short pattern against every short path: glob.c and its automaton, each
 * on its own, must say what the slow matcher says. CORDON_CASES, whatever its
 * value, makes the patterns one byte longer.
 */
#include "../support/slow_glob.h"
#include "../unit/test.h"
#include "base/arena.h"
#include "base/glob.h"
#include "base/glob_internal.h"

enum { MAX_PATHS = 20000, MAX_LEN = 12 };

struct path {
	char text[MAX_LEN];
	size_t len;
	struct slow_path parts;
};

static struct path paths[MAX_PATHS];
static size_t path_count;
static size_t pattern_count, refused_count, general_count, compared;

/* Sets `text` to the string number `n` of length `len`; false after the last one. */
static bool spell(const char *alphabet, size_t len, size_t n, char *text)
{
	size_t letters = strlen(alphabet);

	for (size_t i = 0; i < len; i++, n /= letters)
		text[i] = alphabet[n % letters];
	return n == 0;
}

static void add_paths(const char *alphabet, size_t max_len)
{
	for (size_t len = 0; len <= max_len; len++)
		for (size_t n = 0; path_count < MAX_PATHS; n++) {
			struct path *p = &paths[path_count];

			if (!spell(alphabet, len, n, p->text))
				break;
			p->len = len;
			slow_split(p->text, len, &p->parts);
			path_count++;
		}
}

/* Whatever matches must have been announced at each directory above it. */
static bool announced(const struct glob *g, const struct path *p)
{
	for (size_t i = 0; i < p->len; i++) {
		struct str dir = { p->text, i };

		/* Inside a path with empty components "" is not a directory above. */
		if ((i == 0 ? p->text[0] != '/' : p->text[i] == '/') &&
		    (!glob_may_match_below(g, dir) ||
		     !glob_nfa_may_match_below(glob_get_nfa(g), dir)))
			return false;
	}
	return true;
}

static bool compare(const struct glob *g, const struct slow_glob *slow, const struct path *p)
{
	const struct glob_nfa *nfa = glob_get_nfa(g);
	struct str path = { p->text, p->len };
	int deepest = slow_deepest(slow, &p->parts);
	bool match = deepest == (int)p->parts.n;

	compared++;
	return glob_match(g, path) == match && glob_nfa_match(nfa, path) == match &&
	       glob_match_deepest(g, path) == deepest &&
	       glob_nfa_match_deepest(nfa, path) == deepest &&
	       glob_may_match_below(g, path) == glob_nfa_may_match_below(nfa, path) &&
	       (!match || announced(g, p));
}

/* False when anything differs, which is printed. */
static bool try_pattern(const char *text, size_t len)
{
	static struct slow_glob slow;
	scoped_arena a = ARENA_INIT(1U << 20);
	struct err e = ERR_INIT;
	const struct glob *g = glob_parse(&a, (struct str){ text, len }, &e);

	pattern_count++;
	if (slow_parse(text, len, &slow) != (g != NULL)) {
		printf("# pattern '%.*s': accepted by one only: %s\n", (int)len, text, e.text);
		return false;
	}
	if (!g) {
		refused_count++;
		return e.code == ERR_SYNTAX && e.text[0];
	}
	general_count += !glob_is_simple(g);
	for (size_t i = 0; i < path_count; i++)
		if (!compare(g, &slow, &paths[i])) {
			printf("# pattern '%.*s' path '%.*s': want %d, got %d and %d\n", (int)len,
			       text, (int)paths[i].len, paths[i].text,
			       slow_deepest(&slow, &paths[i].parts),
			       glob_match_deepest(g, (struct str){ paths[i].text, paths[i].len }),
			       glob_nfa_match_deepest(glob_get_nfa(g),
						      (struct str){ paths[i].text, paths[i].len }));
			return false;
		}
	return true;
}

static void try_all(const char *alphabet, size_t max_len)
{
	size_t wrong = 0;

	pattern_count = refused_count = general_count = compared = 0;
	max_len += getenv("CORDON_CASES") != NULL;
	max_len -= TEST_IS_SANITIZED;
	for (size_t len = 0; len <= max_len; len++) {
		char text[SLOW_MAX];

		for (size_t n = 0; spell(alphabet, len, n, text) && wrong < 10; n++)
			wrong += !try_pattern(text, len);
	}
	CHECK_INT(wrong, 0);
	printf("# %zu patterns of \"%s\" (%zu refused, %zu by the automaton only), %zu paths, "
	       "%zu comparisons\n",
	       pattern_count, alphabet, refused_count, general_count, path_count, compared);
}

TEST(all_characters)
{
	path_count = 0;
	add_paths("ab/.", 3);
	add_paths("ab/[]{},*\\!-", 2);
	try_all("ab*?/[]!-{},\\.", 4);
}

TEST(stars_and_components)
{
	path_count = 0;
	add_paths("a/", 5);
	add_paths("ab/", 4);
	try_all("a*/", 9);
}

TEST(braces)
{
	path_count = 0;
	add_paths("a/", 4);
	add_paths("a/,{}", 2);
	try_all("a*/{,}", 6);
}

TEST(braces_with_stars)
{
	path_count = 0;
	add_paths("a/", 5);
	try_all("*/{,}", 7);
}

TEST(classes)
{
	path_count = 0;
	add_paths("ab-]!\\", 2);
	try_all("ab[]!-\\", 5);
}

TEST(classes_with_braces)
{
	path_count = 0;
	add_paths("a[],{", 2);
	try_all("a[]{,}", 6);
}
