/* SPDX-License-Identifier: MIT */
/* P6 by example; tests/property/oracle_glob.c has every short pattern. */
#include "base/glob.h"

#include "base/glob_internal.h"
#include "test.h"

enum { ARENA_LIMIT = 4 << 20 };

/* 1, 0, or -1 for a pattern that is refused. */
static int match(const char *pattern, const char *path)
{
	scoped_arena a = ARENA_INIT(ARENA_LIMIT);
	struct err e = ERR_INIT;
	const struct glob *g = glob_parse(&a, str_of(pattern), &e);

	return g ? glob_match(g, str_of(path)) : -1;
}

static int deepest(const char *pattern, const char *path)
{
	scoped_arena a = ARENA_INIT(ARENA_LIMIT);
	struct err e = ERR_INIT;
	const struct glob *g = glob_parse(&a, str_of(pattern), &e);

	return g ? glob_match_deepest(g, str_of(path)) : -2;
}

static int below(const char *pattern, const char *path)
{
	scoped_arena a = ARENA_INIT(ARENA_LIMIT);
	struct err e = ERR_INIT;
	const struct glob *g = glob_parse(&a, str_of(pattern), &e);

	return g ? glob_may_match_below(g, str_of(path)) : -1;
}

/* The code of the failure, which must have a text. */
static int refusal(const char *pattern, size_t len)
{
	scoped_arena a = ARENA_INIT(ARENA_LIMIT);
	struct err e = ERR_INIT;

	if (glob_parse(&a, (struct str){ pattern, len }, &e))
		return 0;
	return e.text[0] ? (int)e.code : -1;
}

TEST(star_and_question_mark_stay_within_a_component)
{
	CHECK_INT(match("*", "abc"), 1);
	CHECK_INT(match("*", "a/b"), 0);
	CHECK_INT(match("a*c", "abbc"), 1);
	CHECK_INT(match("a*c", "ab/c"), 0);
	CHECK_INT(match("a?c", "abc"), 1);
	CHECK_INT(match("a?c", "a/c"), 0);
	CHECK_INT(match("?", ""), 0);
	CHECK_INT(match("*.pem", "id.pem"), 1);
	CHECK_INT(match("*.pem", "id.pem.bak"), 0);
}

TEST(a_leading_dot_is_nothing_special)
{
	CHECK_INT(match("*", ".env"), 1);
	CHECK_INT(match("?env", ".env"), 1);
	CHECK_INT(match("[.]env", ".env"), 1);
	CHECK_INT(match("**/x", ".a/.b/x"), 1);
}

TEST(question_mark_is_one_byte)
{
	CHECK_INT(match("?", "\xc3\xa9"), 0);
	CHECK_INT(match("??", "\xc3\xa9"), 1);
	CHECK_INT(match("[\x80-\xff]*", "\xc3\xa9"), 1);
}

TEST(star_does_not_match_the_path_without_components)
{
	CHECK_INT(match("*", ""), 0);
	CHECK_INT(match("**", ""), 1);
	CHECK_INT(match("**/*", ""), 0);
	CHECK_INT(match("", ""), 1);
	CHECK_INT(match("", "a"), 0);
	CHECK_INT(match("{,a}", ""), 1);
}

TEST(two_stars_are_any_number_of_components)
{
	CHECK_INT(match("**/x", "x"), 1);
	CHECK_INT(match("**/x", "a/b/x"), 1);
	CHECK_INT(match("**/x", "ax"), 0);
	CHECK_INT(match("a/**", "a"), 1);
	CHECK_INT(match("a/**", "a/b/c"), 1);
	CHECK_INT(match("a/**", "ab"), 0);
	CHECK_INT(match("a/**/b", "a/b"), 1);
	CHECK_INT(match("a/**/b", "a/x/y/b"), 1);
	CHECK_INT(match("a/**/b/**/c", "a/x/b/c"), 1);
	CHECK_INT(match("a/**/b/**/c", "a/x/c"), 0);
	CHECK_INT(match("**/**", "a"), 1);
}

TEST(two_stars_repeated_are_two_stars)
{
	CHECK_INT(match("**/**/x", "x"), 1);
	CHECK_INT(match("**/**/x", "a/b/x"), 1);
	CHECK_INT(match("**/**/x", "a/b/y"), 0);
	CHECK_INT(match("a/**/**/**/b", "a/b"), 1);
	CHECK_INT(match("a/**/**/**/b", "a/c/d/b"), 1);
	CHECK_INT(match("a/**/**/**/b", "b"), 0);
	CHECK_INT(match("{a/**/**/b,c}", "a/x/b"), 1);
	CHECK_INT(match("x**/**/**/y", "xa/y"), 1);
}

TEST(two_stars_within_a_component_are_one)
{
	CHECK_INT(match("a**b", "axb"), 1);
	CHECK_INT(match("a**b", "a/b"), 0);
	CHECK_INT(match("**b", "a/b"), 0);
	CHECK_INT(match("***", "a/b"), 0);
	CHECK_INT(match("***", "ab"), 1);
	CHECK_INT(match("a/***/b", "a/b"), 0);
}

TEST(classes)
{
	CHECK_INT(match("[abc]", "b"), 1);
	CHECK_INT(match("[a-c]", "b"), 1);
	CHECK_INT(match("[!a-c]", "b"), 0);
	CHECK_INT(match("[^a-c]", "d"), 1);
	CHECK_INT(match("[]]", "]"), 1);
	CHECK_INT(match("[!]]", "]"), 0);
	CHECK_INT(match("[a-]", "-"), 1);
	CHECK_INT(match("[c-a]", "b"), 0);
	CHECK_INT(match("[!c-a]", "b"), 1);
	CHECK_INT(match("[\\]]", "]"), 1);
	CHECK_INT(match("[a\\-c]", "b"), 0);
	CHECK_INT(match("[*]", "*"), 1);
	CHECK_INT(match("[*]", "x"), 0);
}

TEST(no_class_matches_a_slash)
{
	CHECK_INT(match("a[!b]c", "a/c"), 0);
	CHECK_INT(match("a[+-9]c", "a/c"), 0);
	CHECK_INT(match("a[+-9]c", "a.c"), 1);
}

TEST(unclosed_brackets_and_braces_are_literal)
{
	CHECK_INT(match("[a", "[a"), 1);
	CHECK_INT(match("[a/b]", "[a/b]"), 1);
	CHECK_INT(match("[", "["), 1);
	CHECK_INT(match("[]", "[]"), 1);
	CHECK_INT(match("[!]", "[!]"), 1);
	CHECK_INT(match("{a,b", "{a,b"), 1);
	CHECK_INT(match("{a,{b,c}", "{a,c"), 1);
	CHECK_INT(match("a,b}", "a,b}"), 1);
	CHECK_INT(match("{[}]", "{}"), 1);
}

TEST(alternatives)
{
	CHECK_INT(match("*.{pem,key}", "a.key"), 1);
	CHECK_INT(match("*.{pem,key}", "a.crt"), 0);
	CHECK_INT(match("{a,b{c,d}}e", "bde"), 1);
	CHECK_INT(match("{a,b{c,d}}e", "be"), 0);
	CHECK_INT(match("x{,y}", "x"), 1);
	CHECK_INT(match("{a}", "a"), 1);
	CHECK_INT(match("a{}b", "ab"), 1);
	CHECK_INT(match("{[,],x}", ","), 1);
	CHECK_INT(match("{a\\,b,c}", "a,b"), 1);
	CHECK_INT(match("{a/b,c}/d", "a/b/d"), 1);
}

TEST(two_stars_are_whole_after_choosing)
{
	CHECK_INT(match("{**/x,y}", "a/b/x"), 1);
	CHECK_INT(match("{a,b/**}", "b/c/d"), 1);
	CHECK_INT(match("{a/,b}**", "a/x/y"), 1);
	CHECK_INT(match("{a/,b}**", "bx/y"), 0);
	CHECK_INT(match("{a/,b}**", "bx"), 1);
	CHECK_INT(match("{*,x}*", "a/b"), 1);
	CHECK_INT(match("{,**/}x", "a/x"), 1);
	CHECK_INT(match("a{/**,}", "a/b/c"), 1);
}

TEST(escapes)
{
	CHECK_INT(match("\\*", "*"), 1);
	CHECK_INT(match("\\*", "a"), 0);
	CHECK_INT(match("\\**", "*a"), 1);
	CHECK_INT(match("\\{a,b}", "{a,b}"), 1);
	CHECK_INT(match("a\\/b", "a/b"), 1);
	CHECK_INT(match("\\a", "a"), 1);
}

TEST(malformed_patterns_are_refused)
{
	static const char *const bad[] = { "a\\",    "[a\\",	"/a",	  "a/",	 "a//b",
					   "a/{,b}", "{a/,b/}", "{,a}/b", "a\\/" };
	static char longest[GLOB_MAX_BYTES + 1];

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (!CHECK_INT(refusal(bad[i], strlen(bad[i])), ERR_SYNTAX))
			printf("# pattern '%s'\n", bad[i]);
	CHECK_INT(refusal("a\0b", 3), ERR_SYNTAX);
	memset(longest, 'a', sizeof(longest));
	CHECK_INT(refusal(longest, sizeof(longest) - 1), 0);
	CHECK_INT(refusal(longest, sizeof(longest)), ERR_LIMIT);
}

TEST(the_deepest_match_counts_components)
{
	CHECK_INT(deepest("**/.env", "a/.env/b"), 2);
	CHECK_INT(deepest("**/.env", ".env/a/.env/b"), 3);
	CHECK_INT(deepest("**/.env", "a/b"), -1);
	CHECK_INT(deepest("**/node_modules/**", "a/node_modules/b/c"), 4);
	CHECK_INT(deepest("**/node_modules/**", "a/node_modules"), 2);
	CHECK_INT(deepest("a/*", "a/b/c"), 2);
	CHECK_INT(deepest("a/*", "a"), -1);
	CHECK_INT(deepest("a/**", "a"), 1);
	CHECK_INT(deepest("**", ""), 0);
	CHECK_INT(deepest("**", "a/b"), 2);
	CHECK_INT(deepest("**/a/b", "a/b/a/b/c"), 4);
	CHECK_INT(deepest("x/**/a/**/b", "x/a/b/b/c"), 4);
}

TEST(a_scan_may_leave_out_what_can_not_match)
{
	CHECK_INT(below("a/b/c", ""), 1);
	CHECK_INT(below("a/b/c", "a"), 1);
	CHECK_INT(below("a/b/c", "a/b"), 1);
	CHECK_INT(below("a/b/c", "a/b/c"), 0);
	CHECK_INT(below("a/b/c", "x"), 0);
	CHECK_INT(below("**/x", "a/b/c"), 1);
	CHECK_INT(below("a/**", "a/b"), 1);
	CHECK_INT(below("a/**/x", "b"), 0);
	CHECK_INT(below("{a/**/b/**/c,d/e}", "d"), 1);
	CHECK_INT(below("{a/**/b/**/c,d/e}", "d/e"), 0);
	CHECK_INT(below("", ""), 0);
}

TEST(special_characters_and_literal_prefix)
{
	CHECK(!glob_is_special(STR("a/b.c-d]}")));
	CHECK(glob_is_special(STR("a/b?")));
	CHECK(glob_is_special(STR("a\\b")));
	CHECK(glob_is_special(STR("{")));
	CHECK_INT(glob_literal_prefix(STR("/a/b/?.c")), 5);
	CHECK_INT(glob_literal_prefix(STR("/a/b.?/c")), 3);
	CHECK_INT(glob_literal_prefix(STR("*")), 0);
	CHECK_INT(glob_literal_prefix(STR("a\\b/c")), 0);
	CHECK_INT(glob_literal_prefix(STR("/a/b")), 4);
	CHECK_INT(glob_literal_prefix(STR("")), 0);
}

/* "=literal" or "pattern", as glob_spell() has it. */
static const char *spelled(const char *pattern)
{
	static char text[64];
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct glob_spelling s;

	if (glob_spell(&a, str_of(pattern), &s, &e) < 0)
		return "refused";
	(void)snprintf(text, sizeof(text), "%s%.*s", s.is_literal ? "=" : "",
		       STR_ARG(s.is_literal ? s.literal : s.pattern));
	return text;
}

TEST(a_pattern_has_one_spelling)
{
	CHECK_STR(spelled("a]b}c,d"), "=a]b}c,d");
	CHECK_STR(spelled("[a/b]"), "=[a/b]");
	CHECK_STR(spelled("{a,b"), "={a,b");
	CHECK_STR(spelled("\\{a,b\\}\\*"), "={a,b}*");
	CHECK_STR(spelled("\\a*"), "a*");
	CHECK_STR(spelled("{*"), "\\{*");
	CHECK_STR(spelled("[*"), "\\[*");
	CHECK_STR(spelled("*]}"), "*]}");
	CHECK_STR(spelled("{a\\,b\\},[],]}"), "{a\\,b\\},[],]}");
	CHECK_STR(spelled("{a{b,c}"), "\\{a{b,c}");
	CHECK_STR(spelled("*****/x"), "***/x");
	CHECK_STR(spelled("{a}"), "{a}");
	CHECK_STR(spelled("a\\"), "refused");
}

/* A path that nothing rules out early, against the longest pattern made of `unit`. */
static double seconds_for(const char *unit)
{
	scoped_arena a = ARENA_INIT(ARENA_LIMIT);
	static char pattern[GLOB_MAX_BYTES], path[1023];
	struct err e = ERR_INIT;
	const struct glob *g;
	size_t n = 0, len = strlen(unit);
	clock_t began = clock();

	while (n + len < sizeof(pattern)) {
		memcpy(pattern + n, unit, len);
		n += len;
	}
	pattern[n++] = 'b';
	memset(path, 'a', sizeof(path));
	g = glob_parse(&a, (struct str){ pattern, n }, &e);
	if (!g)
		return e.code == ERR_LIMIT ? 0 : 1e9;
	CHECK(!glob_match(g, (struct str){ path, sizeof(path) }));
	CHECK_INT(glob_match_deepest(g, (struct str){ path, sizeof(path) }), -1);
	return (double)(clock() - began) / CLOCKS_PER_SEC;
}

TEST(time_is_bounded_for_any_pattern)
{
	static const char *const units[] = { "*",      "*a",	    "?*",    "{a,*}",	 "{*,*}",
					     "{a,aa}", "{*,{*,a}}", "[!b]*", "{a/,*}*a", "*{a,}",
					     "[",      "{",	    "{,",    "{{,},}" };

	for (size_t i = 0; i < COUNT_OF(units); i++) {
		double s = seconds_for(units[i]);

		if (!CHECK(s < 3))
			printf("# '%s' took %.2f s\n", units[i], s);
	}
}

TEST(the_usual_patterns_take_the_short_way)
{
	static const char *const usual[] = {
		"**/.env",	 "*.pem", "**/*.{pem,key}", "src/**/*.c", "**/node_modules/**",
		"**/.git/config"
	};

	for (size_t i = 0; i < COUNT_OF(usual); i++) {
		scoped_arena a = ARENA_INIT(ARENA_LIMIT);
		struct err e = ERR_INIT;
		const struct glob *g = glob_parse(&a, str_of(usual[i]), &e);

		CHECK(g && glob_is_simple(g));
	}
}
