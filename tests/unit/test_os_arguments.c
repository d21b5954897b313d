/* SPDX-License-Identifier: MIT */
/* Tests of os/arguments.h. */
#include "os/arguments.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

enum { MOST_WORDS = 64 };

/* The words of this program, found again where the kernel says that they begin. */
static bool list_words(const struct os_arguments *words, char *out[MOST_WORDS])
{
	static char shown[1 << 16];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, shown, sizeof(shown));
	size_t count = 0;

	if (fd >= 0)
		close(fd);
	if (n <= 0 || (size_t)n > words->bytes || memcmp(words->from, shown, (size_t)n) != 0)
		return false;
	for (char *at = words->from; at < words->from + n && count < MOST_WORDS - 1;
	     at += strlen(at) + 1)
		out[count++] = at;
	out[count] = NULL;
	return true;
}

TEST(noted_words_are_those_that_the_kernel_shows)
{
	static char elsewhere[] = "elsewhere";
	char *copied[] = { elsewhere, NULL };
	struct os_arguments looked_up, found;
	char *argv[MOST_WORDS];

	CHECK_INT(os_find_arguments(&looked_up), 0);
	REQUIRE(list_words(&looked_up, argv));
	/* Not what main() was given: the environment does not follow. */
	os_note_arguments(copied);
	CHECK_INT(os_find_arguments(&found), 0);
	CHECK(found.from == looked_up.from && found.bytes == looked_up.bytes);
	os_note_arguments(argv);
	CHECK_INT(os_find_arguments(&found), 0);
	CHECK(found.from == looked_up.from);
	CHECK_INT((long long)found.bytes, (long long)looked_up.bytes);
}

/* What it was stays where it was, and is shown. */
TEST(a_variable_that_was_taken_away_is_among_them)
{
	struct os_arguments whole, found;
	char *argv[MOST_WORDS], *last, **all = environ;
	size_t count = 0;

	CHECK_INT(os_find_arguments(&whole), 0);
	REQUIRE(list_words(&whole, argv) && all && all[0]);
	while (all[count])
		count++;
	last = all[count - 1];
	all[count - 1] = NULL;
	os_note_arguments(argv);
	CHECK_INT(os_find_arguments(&found), 0);
	CHECK(found.from == whole.from && found.bytes == whole.bytes);
	all[count - 1] = last;
	environ = NULL; /* as clearenv() does */
	os_note_arguments(argv);
	CHECK_INT(os_find_arguments(&found), 0);
	CHECK(found.from == whole.from && found.bytes == whole.bytes);
	environ = all;
}
