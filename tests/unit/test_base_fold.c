/* SPDX-License-Identifier: MIT */
/* Names that a volume takes for one. */
#include "base/fold.h"
#include "base/glob.h"
#include "base/utf8.h"
#include "test.h"

static bool is_same(const char *a, const char *b)
{
	static char one[FOLD_ROOM], two[FOLD_ROOM];

	return str_eq(fold_in(str_of(a), one), fold_in(str_of(b), two));
}

TEST(spellings_of_one_name_are_equal)
{
	CHECK(is_same("/Repo/.GIT", "/repo/.git"));
	CHECK(is_same("\xC3\xA9", "e\xCC\x81")); /* e with acute, composed or not */
	CHECK(is_same("\xC3\x89", "e\xCC\x81")); /* and its capital */
	CHECK(is_same("\xC5\xBF", "S"));	 /* the long s, U+017F */
	CHECK(is_same("\xE2\x84\xAA", "k"));	 /* the sign of Kelvin, U+212A */
	CHECK(is_same("stra\xC3\x9F"
		      "e",
		      "STRASSE")); /* one character that folds to two */
	CHECK(is_same("\xEA\xB0\x81", "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8")); /* Hangul */
	/* marks in either order */
	CHECK(is_same("a\xCC\x81\xCC\xA3", "a\xCC\xA3\xCC\x81"));
}

TEST(other_names_are_not)
{
	CHECK(!is_same("a", "b"));
	CHECK(!is_same("e", "\xC3\xA9"));
	CHECK(!is_same("a/b", "ab"));
	CHECK(!is_same("\xFF", "\xFE")); /* no UTF-8 */
	CHECK(is_same("\xFF"
		      "A",
		      "\xFF"
		      "a"));
	CHECK(!is_same("a\xCC\x81\xCC\x80", "a\xCC\x80\xCC\x81")); /* marks of one class */
}

TEST(folding_twice_changes_nothing)
{
	static char once[FOLD_ROOM], twice[FOLD_ROOM];

	for (uint32_t c = 1; c < 0x30000; c++) {
		char text[8];
		size_t len;

		if (!utf8_put(c, text, &len))
			continue;
		if (!str_eq(fold_in((struct str){ text, len }, once),
			    fold_in(fold_in((struct str){ text, len }, once), twice))) {
			CHECK_INT(c, 0);
			return;
		}
	}
	CHECK(true);
}

TEST(a_folded_glob_matches_every_spelling)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	const struct glob *g = glob_parse_folded(&a, STR("**/[A-C]*.ENV"), &e);

	REQUIRE(g);
	CHECK(glob_match(g, STR("x/a1.env")));
	CHECK(glob_match(g, STR("x/A1.Env")));
	CHECK(!glob_match(g, STR("x/d1.env")));
	CHECK_INT(glob_match_deepest(g, STR("X/B.ENV/below")), 2);
	CHECK(glob_may_match_below(g, STR("X")));
}
