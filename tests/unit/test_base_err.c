/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <locale.h>

#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "test.h"

TEST(a_failure_keeps_code_place_and_text)
{
	struct err e = ERR_INIT;
	int r = FAIL(&e, ERR_POLICY, "rule %d is odd", 7);

	CHECK_INT(r, -ERR_POLICY);
	CHECK_INT(e.code, ERR_POLICY);
	CHECK_INT(e.os_error, 0);
	CHECK_STR(e.text, "rule 7 is odd");
	CHECK(strstr(e.at, "test_base_err.c:") != NULL);
}

TEST(a_system_failure_ends_in_the_reason_of_the_system)
{
	struct err e = ERR_INIT;
	char want[200];

	(void)snprintf(want, sizeof(want), "opening x: %s", strerror(ENOENT));
	CHECK_INT(FAIL_SYS(&e, ENOENT, "opening %s", "x"), -ERR_SYS);
	CHECK_INT(e.os_error, ENOENT);
	CHECK_STR(e.text, want);
	/* Without a number there is no more to say. */
	CHECK_INT(FAIL(&e, ERR_SYS, "it was ended"), -ERR_SYS);
	CHECK_STR(e.text, "it was ended");
}

TEST(wrapping_puts_context_first_and_keeps_the_code)
{
	struct err e = ERR_INIT;

	(void)FAIL(&e, ERR_SYNTAX, "cause");
	CHECK_INT(err_wrap(&e, "inner %d", 1), -ERR_SYNTAX);
	CHECK_INT(err_wrap(&e, "outer"), -ERR_SYNTAX);
	CHECK_STR(e.text, "outer: inner 1: cause");
}

static const struct origin odd_place = { .file = "a: b:3:4: c.toml", .line = 12, .column = 5 };

static void check_place(const struct err *e, const char *file, const char *message)
{
	CHECK_INT(e->place.line, 12);
	CHECK_INT(e->place.column, 5);
	CHECK(str_is(err_file(e), file));
	CHECK_STR(err_message(e).p, message);
}

TEST(a_place_is_kept_apart_whatever_the_file_is_called)
{
	struct err e = ERR_INIT;

	CHECK_INT(FAIL_AT(&e, ERR_POLICY, odd_place, "rule %d: odd", 7), -ERR_POLICY);
	CHECK_STR(e.text, "a: b:3:4: c.toml:12:5: rule 7: odd");
	check_place(&e, odd_place.file, "rule 7: odd");
}

TEST(context_goes_behind_the_place)
{
	struct err e = ERR_INIT;

	(void)FAIL_AT(&e, ERR_POLICY, odd_place, "cause");
	CHECK_INT(err_wrap(&e, "outer"), -ERR_POLICY);
	CHECK_STR(e.text, "a: b:3:4: c.toml:12:5: outer: cause");
	check_place(&e, odd_place.file, "outer: cause");
}

TEST(the_first_place_stays)
{
	static const struct origin other = { .file = "other", .line = 1, .column = 1 };
	static const struct origin none = { .file = NULL };
	struct err e = ERR_INIT;

	(void)FAIL(&e, ERR_SYNTAX, "cause");
	CHECK_INT(err_wrap_place(&e, none), -ERR_SYNTAX);
	CHECK_STR(e.text, "cause");
	CHECK_INT(err_wrap_place(&e, odd_place), -ERR_SYNTAX);
	CHECK_INT(err_wrap_place(&e, other), -ERR_SYNTAX);
	check_place(&e, odd_place.file, "cause");
	(void)FAIL(&e, ERR_SYNTAX, "another failure");
	CHECK_INT(e.place.bytes, 0);
	CHECK_INT(err_file(&e).len, 0);
	CHECK_STR(err_message(&e).p, "another failure");
}

TEST(neither_a_long_name_nor_a_long_reason_drives_the_other_out)
{
	static char name[5000];
	static char reason[3000];
	struct origin place = { .file = name, .line = 12, .column = 5 };
	struct err failed = ERR_INIT;
	struct err wrapped = ERR_INIT;

	for (size_t i = 0; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xC3\xA4", 3);
	memset(reason, 'x', sizeof(reason) - 1);
	for (size_t shift = 0; shift < 2; shift++) {
		place.file = name + 2 * shift;
		name[sizeof(name) - 2 - shift] = '\0'; /* a whole character, then half of one */
		(void)FAIL_AT(&failed, ERR_LIMIT, place, "%s", reason);
		(void)FAIL(&wrapped, ERR_LIMIT, "%s", reason);
		(void)err_wrap_place(&wrapped, place);
		CHECK_STR(failed.text, wrapped.text);
		CHECK_INT(strlen(failed.text), sizeof(failed.text) - 1);
		CHECK(str_has_prefix(err_file(&failed), STR("...\xC3\xA4")));
		CHECK(err_file(&failed).len <= ERR_FILE_BYTES + 3);
		CHECK(str_has_prefix(err_message(&failed), STR("xxxx")));
	}
}

TEST(the_reason_of_the_system_is_english_in_every_locale)
{
	struct err e = ERR_INIT;

	if (!setlocale(LC_ALL, "de_DE.UTF-8"))
		SKIP("no German locale here");
	(void)FAIL_SYS(&e, ENOENT, "x");
	(void)setlocale(LC_ALL, "C");
	CHECK_STR(e.text, "x: No such file or directory");
}

TEST(a_text_that_does_not_fit_is_cut_and_says_so)
{
	static char large[3000];
	struct err e = ERR_INIT;

	memset(large, 'x', sizeof(large) - 1);
	(void)FAIL(&e, ERR_LIMIT, "%s", large);
	CHECK_INT(strlen(e.text), sizeof(e.text) - 1);
	CHECK_STR(e.text + sizeof(e.text) - 5, "x...");
}

TEST(a_cut_never_splits_a_character_whatever_the_offset)
{
	for (size_t shift = 0; shift < 4; shift++) {
		static char large[4096];
		struct err e = ERR_INIT;
		size_t len = shift;

		memset(large, 'x', shift);
		for (; len + 4 < sizeof(large) - 1; len += 4)
			memcpy(large + len, "\xF0\x9F\x98\x80", 4);
		large[len] = '\0';
		(void)FAIL(&e, ERR_LIMIT, "%s", large);
		CHECK_INT(utf8_check(str_of(e.text)), strlen(e.text));
		CHECK(str_has_suffix(str_of(e.text), STR("...")));
	}
}

TEST(a_text_that_just_fits_is_not_cut)
{
	static char exact[sizeof(((struct err *)NULL)->text)];
	struct err e = ERR_INIT;

	memset(exact, 'x', sizeof(exact) - 1);
	(void)FAIL(&e, ERR_LIMIT, "%s", exact);
	CHECK_STR(e.text, exact);
}

TEST(wrapping_past_the_room_keeps_the_cause_whole)
{
	static char context[2 * sizeof(((struct err *)NULL)->text)];
	struct err e = ERR_INIT;

	memset(context, 'c', sizeof(context) - 1);
	(void)FAIL(&e, ERR_SYNTAX, "the cause");
	(void)err_wrap(&e, "%s", context);
	CHECK_INT(e.code, ERR_SYNTAX);
	CHECK(str_has_prefix(str_of(e.text), STR("ccc")));
	CHECK(str_has_suffix(str_of(e.text), STR("...: the cause")));
	CHECK_INT(utf8_check(str_of(e.text)), strlen(e.text));
}

TEST(wrapping_cuts_the_context_at_a_whole_character)
{
	for (size_t shift = 0; shift < 4; shift++) {
		static char context[2 * sizeof(((struct err *)NULL)->text)];
		struct err e = ERR_INIT;
		size_t len = shift;

		memset(context, 'x', shift);
		for (; len + 4 < sizeof(context) - 1; len += 4)
			memcpy(context + len, "\xF0\x9F\x98\x80", 4);
		context[len] = '\0';
		(void)FAIL(&e, ERR_SYNTAX, "the cause");
		(void)err_wrap(&e, "%s", context);
		CHECK_INT(utf8_check(str_of(e.text)), strlen(e.text));
		CHECK(str_has_suffix(str_of(e.text), STR("...: the cause")));
	}
}

TEST(wrapping_a_full_text_leaves_it_alone)
{
	static char full[sizeof(((struct err *)NULL)->text)];
	struct err e = ERR_INIT;

	memset(full, 'x', sizeof(full) - 1);
	(void)FAIL(&e, ERR_SYNTAX, "%s", full);
	(void)err_wrap(&e, "context");
	CHECK_STR(e.text, full);
}

TEST(clearing_forgets_everything)
{
	struct err e = ERR_INIT;

	(void)FAIL_SYS(&e, EACCES, "x");
	err_clear(&e);
	CHECK_INT(e.code, ERR_OK);
	CHECK_INT(e.os_error, 0);
	CHECK_STR(e.text, "");
}
