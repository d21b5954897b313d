/* SPDX-License-Identifier: MIT */
/* Tests of base/shell.c. */
#include "base/shell.h"

#include <stdlib.h>

#include "test.h"

static const char *spelled(const char *word)
{
	static char text[256];
	struct buf b = BUF_OVER(text);

	shell_add_word(&b, str_of(word));
	return text;
}

TEST(plain_words_stay_as_they_are)
{
	CHECK_STR(spelled("/usr/bin/make"), "/usr/bin/make");
	CHECK_STR(spelled("a-b_c.d+e,f:g@h%i"), "a-b_c.d+e,f:g@h%i");
}

TEST(words_with_special_characters_are_quoted)
{
	CHECK_STR(spelled(""), "''");
	CHECK_STR(spelled("a b"), "'a b'");
	CHECK_STR(spelled("it's"), "'it'\\''s'");
	CHECK_STR(spelled("~/x"), "'~/x'");
	CHECK_STR(spelled("k=v"), "'k=v'");
}

/* What a shell makes of it is the word again. */
TEST(a_shell_reads_what_was_written)
{
	uint64_t state = test_seed();

	for (int i = 0; i < 60; i++) {
		char word[12] = "", line[512];
		size_t length = 1 + test_random(&state) % 8;

		for (size_t n = 0; n < length; n++)
			word[n] = " '\"\\$`*?[]{}()!#&|;<>~=aZ9/"[test_random(&state) % 27];
		REQUIRE(setenv("WORD", word, 1) == 0);
		(void)snprintf(line, sizeof(line), "test \"$WORD\" = %s", spelled(word));
		CHECK_INT(system(line), 0);
	}
}
