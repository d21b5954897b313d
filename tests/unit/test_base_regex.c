/* SPDX-License-Identifier: MIT */
/* Regular expressions by example; tests/property/oracle_regex.c has random ones. */
#include "base/regex.h"

#include "base/buf.h"

#include "test.h"

enum { ARENA_LIMIT = 16 << 20 };

/* "BEGIN-END" of the first match, "none", or the cause of the refusal. */
static const char *find_in(const char *pattern, unsigned flags, struct str text)
{
	static char out[64];
	scoped_arena a = ARENA_INIT(ARENA_LIMIT);
	struct err e = ERR_INIT;
	const struct regex *re = regex_parse(&a, str_of(pattern), flags, &e);
	struct regex_matcher *m;
	struct regex_span span = { 0 };

	if (!re)
		return cause_name(e.cause);
	m = regex_matcher_new(re, NULL, &e);
	if (!m || regex_find(m, text, 0, text.len, &span, &e) < 0)
		return "failed";
	regex_matcher_free(m);
	if (!span.is_found)
		return "none";
	(void)snprintf(out, sizeof(out), "%zu-%zu", span.begin, span.end);
	return out;
}

static const char *find(const char *pattern, const char *text)
{
	return find_in(pattern, 0, str_of(text));
}

/* The numbers of the lines that match, each with a space behind it. */
static const char *lines(const char *pattern, unsigned flags, const char *text)
{
	static char out[200];
	scoped_arena a = ARENA_INIT(ARENA_LIMIT);
	struct err e = ERR_INIT;
	const struct regex *re = regex_parse(&a, str_of(pattern), REGEX_LINES | flags, &e);
	struct regex_matcher *m = re ? regex_matcher_new(re, NULL, &e) : NULL;
	struct regex_span line = { .end = 0 };
	size_t from = 0, number = 1, at = 0, len = 0;

	if (!m)
		return cause_name(e.cause);
	out[0] = '\0';
	while (regex_find_line(m, str_of(text), from, &line, &e) == 0 && line.is_found) {
		for (; at < line.begin; at++)
			number += text[at] == '\n';
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%zu ", number);
		from = line.end + 1;
	}
	regex_matcher_free(m);
	return out;
}

TEST(the_first_alternative_wins_at_the_first_place)
{
	CHECK_STR(find("b|ab", "xab"), "1-3");
	CHECK_STR(find("a|ab", "ab"), "0-1");
	CHECK_STR(find("ab|a", "ab"), "0-2");
	CHECK_STR(find("a*?b", "aab"), "0-3");
	CHECK_STR(find("a+?", "aaa"), "0-1");
	CHECK_STR(find("(?U)a+", "aaa"), "0-1");
	CHECK_STR(find("a{2}", "aaa"), "0-2");
	CHECK_STR(find("a{2,}", "aaaa"), "0-4");
	CHECK_STR(find("a{1,2}?", "aaa"), "0-1");
	CHECK_STR(find("", "abc"), "0-0");
	CHECK_STR(find("(?P<year>\\d{4})-(?<m>\\d\\d)", "on 2024-05-01"), "3-10");
}

TEST(classes_nest_and_combine)
{
	CHECK_STR(find("[a-c]+", "xxabcd"), "2-5");
	CHECK_STR(find("[^a-c]+", "abxd"), "2-4");
	CHECK_STR(find("[]a]+", "x]a"), "1-3");
	CHECK_STR(find("[^]a]", "]ax"), "2-3");
	CHECK_STR(find("[-a]+", "x-a"), "1-3");
	CHECK_STR(find("[a-]+", "x-a"), "1-3");
	CHECK_STR(find("[[:alpha:]_]+", "1a_2"), "1-3");
	CHECK_STR(find("[[:^digit:]]+", "12ab"), "2-4");
	CHECK_STR(find("[a-z&&[^b-y]]+", "bazc"), "1-3");
	CHECK_STR(find("[a-z--b-y]+", "bazc"), "1-3");
	CHECK_STR(find("[a-c~~b-d]+", "bcad"), "2-4");
	CHECK_STR(find("[\\d\\-x]+", "a1-x"), "1-4");
	CHECK_STR(find("[a[bc]]+", "xabc"), "1-4");
	CHECK_STR(find("\\x41\\u0042\\U00000043\\x{44}\\t", "ABCD\t"), "0-5");
}

TEST(characters_are_those_of_unicode)
{
	CHECK_STR(find("^.$", "\xc3\xa9"), "0-2");
	CHECK_STR(find("\\w+", "-\xd0\xb4\xd0\xb0-"), "1-5");
	CHECK_STR(find("(?-u)\\w+", "\xd0\xb4 a"), "3-4");
	CHECK_STR(find("\\d", "\xd9\xa3"), "0-2");
	CHECK_STR(find("\\s", "\xc2\xa0"), "0-2");
	CHECK_STR(find("\\p{Lu}", "a\xc3\x89"), "1-3");
	CHECK_STR(find("\\p{Uppercase_Letter}\\P{L}", "aB1"), "1-3");
	CHECK_STR(find("(?i)\xc3\xa9", "\xc3\x89"), "0-2");
	CHECK_STR(find("(?i)k", "\xe2\x84\xaa"), "0-3");
	CHECK_STR(find("(?i)[a-z]+", "ABz"), "0-3");
	CHECK_STR(find("(?i:a)b", "Ab"), "0-2");
	CHECK_STR(find("(?i:a)b", "AB"), "none");
	CHECK_STR(find("\\bb", "\xc3\xa9"
			       "b b"),
		  "4-5");
}

TEST(what_is_not_utf8_matches_nothing)
{
	CHECK_STR(find("a.b", "a\xff"
			      "b"),
		  "none");
	CHECK_STR(find("[^x]", "\xff"), "none");
	CHECK_STR(find("b", "\xff\xfe"
			    "b"),
		  "2-3");
	CHECK_STR(find("\xc3\xa9", "\xc3\xc3\xa9"), "1-3");
	CHECK_STR(find(".", "\xe2\x82"), "none");
	CHECK_STR(find_in("a.b", 0, (struct str){ "a\0b", 3 }), "0-3");
}

TEST(places)
{
	CHECK_STR(find("^b", "a\nb"), "none");
	CHECK_STR(find("(?m)^b", "a\nb"), "2-3");
	CHECK_STR(find("a$", "a\nb"), "none");
	CHECK_STR(find("(?m)a$", "a\nb"), "0-1");
	CHECK_STR(find("\\bfoo\\b", "afoo foo"), "5-8");
	CHECK_STR(find("\\Boo", "foo"), "1-3");
	CHECK_STR(find("\\<foo\\>", "afoo foo"), "5-8");
	CHECK_STR(find("\\Aa|b\\z", "cab"), "2-3");
	CHECK_STR(find("a.b", "a\nb"), "none");
	CHECK_STR(find("(?s)a.b", "a\nb"), "0-3");
	CHECK_STR(find("(?x) a b # c\n c", "abc"), "0-3");
}

TEST(a_slip_is_refused_with_its_cause)
{
	static const char *const wrong[] = {
		"(",	    ")",
		"[",	    "[a",
		"a**b(",    "*a",
		"a{",	    "foo {",
		"a{2,1}",   "\\",
		"\\1",	    "(a)\\1",
		"(?=a)",    "(?!a)",
		"(?<=a)b",  "(?<!a)b",
		"\\q",	    "[z-a]",
		"\\p{Foo}", "\\x{110000}",
		"\\ud800",  "(?P<a>x)(?P<a>y)",
		"(?z)",	    "\xff",
		"(?",	    "(?i",
		"(?P<",	    "[[:alpha:]",
		"\\x4",	    "[a-\\d]",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (strcmp(find(wrong[i], ""), "regex_syntax") != 0) {
			printf("# %s: %s\n", wrong[i], find(wrong[i], ""));
			CHECK(false);
		}
	CHECK_STR(find("a}]", "a}]"), "0-3");
	CHECK_STR(find_in("a.(", REGEX_LITERAL, str_of("xa.(")), "1-4");
}

TEST(what_needs_too_much_is_refused)
{
	char deep[2000];
	scoped_buf b = BUF_INIT(100000);

	CHECK_STR(find("a{10000}", ""), "regex_limit");
	CHECK_STR(find("((a{100}){100}){100}", ""), "regex_limit");
	CHECK_STR(find("(((){1000}){1000}){1000}", ""), "regex_limit");
	CHECK_STR(find("\\w{5000}", ""), "none");
	memset(deep, '(', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	CHECK_STR(find(deep, ""), "regex_limit");
	memset(deep, '[', sizeof(deep) - 1);
	CHECK_STR(find(deep, ""), "regex_limit");
	memset(deep, '?', sizeof(deep) - 1);
	deep[0] = 'a';
	CHECK_STR(find(deep, ""), "regex_limit");
	for (int i = 0; i < 17000; i++)
		buf_add_char(&b, 'a');
	CHECK_STR(find(b.p, ""), "regex_limit");
	buf_clear(&b);
	for (int i = 0; i < 4000; i++)
		buf_add_text(&b, "[\\w]");
	CHECK_STR(find(b.p, ""), "regex_limit");
}

TEST(lines_are_searched_one_by_one)
{
	static const char text[] = "foo bar\nbar\n\nFoo\r\nbaz foo";

	CHECK_STR(lines("foo", 0, text), "1 5 ");
	CHECK_STR(lines("foo", REGEX_IGNORE_CASE, text), "1 4 5 ");
	CHECK_STR(lines("^bar$", 0, text), "2 ");
	CHECK_STR(lines("^$", 0, text), "3 ");
	CHECK_STR(lines("Foo$", 0, text), "4 ");
	CHECK_STR(lines("bar\\s+", 0, text), "");
	CHECK_STR(lines("[^x]$", 0, text), "1 2 4 5 ");
	CHECK_STR(lines("", 0, text), "1 2 3 4 5 ");
	CHECK_STR(lines("x*", 0, "a\n"), "1 ");
	CHECK_STR(lines("(?s)r.b", 0, text), "");
	CHECK_STR(lines("r\\nb", 0, text), "regex_syntax");
	CHECK_STR(lines("foo|bar", 0, text), "1 2 5 ");
	CHECK_STR(lines("o+ b|z f", 0, text), "1 5 ");
	CHECK_STR(lines("\\z", 0, "a\nb"), "2 ");
}

static int give_up(void *user, struct err *e)
{
	return --*(int *)user <= 0 ? FAIL(e, ERR_CANCELLED, "enough") : 0;
}

TEST(a_search_that_takes_long_asks_whether_to_go_on)
{
	scoped_arena a = ARENA_INIT(ARENA_LIMIT);
	struct err e = ERR_INIT;
	int left = 3;
	struct regex_watch watch = { give_up, &left };
	const struct regex *re = regex_parse(&a, STR("[ab]*a[ab]{4000}c"), REGEX_LINES, &e);
	struct regex_matcher *m;
	struct regex_span span;
	static char text[1 << 16];

	REQUIRE(re != NULL);
	m = regex_matcher_new(re, &watch, &e);
	REQUIRE(m != NULL);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "ab"[(i * 2654435761u >> 13) & 1];
	CHECK_INT(regex_find(m, (struct str){ text, sizeof(text) }, 0, sizeof(text), &span, &e),
		  -ERR_CANCELLED);
	CHECK_INT(left, 0);
	regex_matcher_free(m);
}
