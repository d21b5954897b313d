/* SPDX-License-Identifier: MIT */
/*
 * The test harness: include it in one file, write
 *
 *	TEST(deny_beats_allow_for_same_host)
 *	{
 *		CHECK_INT(match("a", "a"), 1);
 *	}
 *
 * and the file is a program that runs its tests in order and prints TAP, a line
 * for each. A failed CHECK is reported and the test goes on; REQUIRE, for what
 * the rest of the test can't do without, leaves it, as does SKIP. A test that
 * checked nothing has failed.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEST_MAY_BE_UNUSED __attribute__((unused))

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

static struct test *test_first, **test_last = &test_first;
static bool test_failed;
static size_t test_checks; /* of this test; one that checks nothing shows nothing */
static const char *test_skipped;

#define TEST(name)                                                          \
	static void name(void);                                             \
	__attribute__((constructor)) static void test_register_##name(void) \
	{                                                                   \
		static struct test self = { #name, name, NULL };            \
		*test_last = &self;                                         \
		test_last = &self.next;                                     \
	}                                                                   \
	static void name(void)

#define CHECK(cond) test_check((cond), __FILE__, __LINE__, #cond)
#define REQUIRE(cond)                                               \
	do {                                                        \
		if (!test_check((cond), __FILE__, __LINE__, #cond)) \
			return;                                     \
	} while (0)
#define CHECK_INT(got, want) \
	test_check_int((intmax_t)(got), (intmax_t)(want), __FILE__, __LINE__, #got)
#define CHECK_STR(got, want) test_check_str((got), (want), __FILE__, __LINE__, #got)
#define SKIP(reason)                     \
	do {                             \
		test_skipped = (reason); \
		return;                  \
	} while (0)

TEST_MAY_BE_UNUSED static bool test_check(bool ok, const char *file, int line, const char *what)
{
	test_checks++;
	if (!ok) {
		printf("# %s:%d: failed: %s\n", file, line, what);
		test_failed = true;
	}
	return ok;
}

TEST_MAY_BE_UNUSED static bool test_check_int(intmax_t got, intmax_t want, const char *file,
					      int line, const char *what)
{
	if (!test_check(got == want, file, line, what))
		printf("#   got %" PRIdMAX ", want %" PRIdMAX "\n", got, want);
	return got == want;
}

TEST_MAY_BE_UNUSED static void test_print_str(const char *label, const char *s)
{
	printf("#   %s ", label);
	for (; s && *s; s++)
		printf(*s == '\n' ? "\n#     " : "%c", *s);
	printf(s ? "\n" : "NULL\n");
}

TEST_MAY_BE_UNUSED static bool test_check_str(const char *got, const char *want, const char *file,
					      int line, const char *what)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;

	if (!test_check(same, file, line, what)) {
		test_print_str("got ", got);
		test_print_str("want", want);
	}
	return same;
}

/* The seed of a random test: printed, and taken from CORDON_SEED to repeat a failure. */
TEST_MAY_BE_UNUSED static uint64_t test_seed(void)
{
	const char *given = getenv("CORDON_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0)
			      : (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u;

	printf("# CORDON_SEED=%" PRIu64 "\n", seed);
	return seed;
}

/* The next number of the sequence that starts at a seed (splitmix64). */
TEST_MAY_BE_UNUSED static uint64_t test_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Everything takes several times as long then, and what it comes to is tried without too. */
#ifdef __SANITIZE_ADDRESS__
enum { TEST_IS_SANITIZED = 1 };
#else
enum { TEST_IS_SANITIZED = 0 };
#endif

/*
 * How many cases a random test tries: `normally`, a quarter of that with sanitizers, or
 * CORDON_CASES in a soak.
 */
TEST_MAY_BE_UNUSED static size_t test_cases(size_t normally)
{
	const char *given = getenv("CORDON_CASES");

	return given ? (size_t)strtoull(given, NULL, 0) : normally / (TEST_IS_SANITIZED ? 4 : 1);
}

int main(void)
{
	int number = 0, failures = 0;

	for (struct test *t = test_first; t; t = t->next) {
		test_failed = false;
		test_skipped = NULL;
		test_checks = 0;
		t->run();
		if (!test_checks && !test_skipped) {
			printf("# %s checked nothing\n", t->name);
			test_failed = true;
		}
		printf("%sok %d - %s", test_failed ? "not " : "", ++number, t->name);
		if (test_skipped)
			printf(" # SKIP %s", test_skipped);
		printf("\n");
		(void)fflush(stdout);
		failures += test_failed;
	}
	printf("1..%d\n", number);
	(void)fflush(stdout); /* the leak checker ends the process without it */
	return failures > 0;
}
