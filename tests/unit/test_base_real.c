/* SPDX-License-Identifier: MIT */
/*
 * Reals against the C library, which is exact too and, in the "C" locale these
 * tests run in, reads the same texts.
 */
#include <locale.h>
#include <math.h>

#include "base/real.h"
#include "test.h"

static void check_same(const char *text)
{
	double want = strtod(text, NULL);
	double got = real_parse(str_of(text));

	if (!CHECK(real_is_same(got, want)))
		printf("#   %s: got %a, want %a\n", text, got, want);
}

static void check_printed(double value)
{
	char text[REAL_TEXT_BYTES];
	double again = strtod(real_print(value, text), NULL);

	CHECK(real_is_same(again, value));
	CHECK(strpbrk(text, ".e") != NULL);
}

TEST(edges_of_the_doubles_are_exact)
{
	static const char *const texts[] = {
		"0.0",
		"-0.0",
		"1.0",
		"0.1",
		"1e22",
		"1e23",
		"9007199254740993.0",
		"9007199254740992.9999999999999999",
		"1.7976931348623157e308",
		"1.7976931348623158e308",
		"1.7976931348623159e308",
		"1.8e308",
		"1e309",
		"1e400",
		"2.2250738585072014e-308",
		"2.2250738585072011e-308",
		"4.9e-324",
		"2.5e-324",
		"2.4703282292062327e-324",
		"2.4703282292062328e-324",
		"2.4e-324",
		"1e-400",
		"123456789012345678901234567890.0",
		"0.000000000000000000000000000000123e30",
		"1e99999999999999999999",
		"1e-99999999999999999999",
		"0e99999999999999999999",
		"100000000000000000000000000000000000000000000e-44",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		check_same(texts[i]);
}

TEST(underscores_are_ignored)
{
	CHECK(fabs(real_parse(STR("1_000.5_0e+0_1")) - 10005.0) < 1e-9);
}

TEST(ties_go_to_even_however_late_they_are_broken)
{
	static char text[3000];

	/* Half way between 1 and the next double, then a digit far behind. */
	(void)snprintf(text, sizeof(text),
		       "1.00000000000000011102230246251565404236316680908203125");
	check_same(text);
	for (size_t zeros = 100; zeros < 2500; zeros += 600) {
		size_t len = strlen("1.00000000000000011102230246251565404236316680908203125");

		memset(text + len, '0', zeros);
		text[len + zeros] = '\0';
		check_same(text);
		text[len + zeros] = '1';
		text[len + zeros + 1] = '\0';
		check_same(text);
	}
}

TEST(random_doubles_survive_both_ways)
{
	uint64_t state = test_seed();
	size_t cases = test_cases(20000);

	for (size_t i = 0; i < cases; i++) {
		uint64_t bits = test_random(&state);
		char text[64];
		double value;

		if (i % 4 == 0)
			bits &= UINT64_C(0x800FFFFFFFFFFFFF); /* subnormal */
		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		check_printed(value);
		(void)snprintf(text, sizeof(text), "%.*e", (int)(bits % 25), value);
		check_same(text);
	}
}

TEST(random_digits_agree_with_the_library)
{
	uint64_t state = test_seed();
	size_t cases = test_cases(3000);

	for (size_t i = 0; i < cases; i++) {
		char text[1100];
		size_t len = 1 + test_random(&state) % 1000;

		for (size_t k = 0; k < len; k++)
			text[k] = (char)('0' + test_random(&state) % 10);
		if (len > 2)
			text[1 + test_random(&state) % (len - 2)] = '.';
		(void)snprintf(text + len, sizeof(text) - len, "e%d",
			       (int)(test_random(&state) % 1400) - 1000);
		check_same(text);
	}
}

TEST(whole_numbers_stay_reals)
{
	char text[REAL_TEXT_BYTES];

	CHECK_STR(real_print(1.0, text), "1.0");
	CHECK_STR(real_print(-0.0, text), "-0.0");
	CHECK_STR(real_print(0.1, text), "0.1");
	CHECK_STR(real_print(1e20, text), "1e+20");
}

TEST(the_locale_of_the_host_program_has_no_say)
{
	static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE",
					     "ps_AF.UTF-8" };
	char text[REAL_TEXT_BYTES];
	const char *set = NULL;

	for (size_t i = 0; i < COUNT_OF(names) && !set; i++)
		set = setlocale(LC_NUMERIC, names[i]);
	if (!set)
		SKIP("no locale with a decimal comma is installed");
	CHECK_STR(real_print(1.5, text), "1.5");
	CHECK_STR(real_print(2.0, text), "2.0");
	CHECK(fabs(real_parse(STR("1.5")) - 1.5) < 1e-9);
	(void)setlocale(LC_NUMERIC, "C");
}
