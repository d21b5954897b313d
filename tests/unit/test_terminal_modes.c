/* SPDX-License-Identifier: MIT */
/* What a command has told the terminal. */
#include "session/terminal_modes.h"

#include "test.h"

static char plain[1024], back[1024];

static void feed(struct terminal_modes *m, const char *text)
{
	struct buf p = BUF_OVER(plain), b = BUF_OVER(back);

	modes_init(m);
	modes_feed(m, str_of(text));
	modes_add_plain(m, &p);
	modes_add_back(m, &b);
	CHECK(p.failed == ERR_OK && b.failed == ERR_OK);
}

TEST(text_leaves_nothing_to_put_back)
{
	struct terminal_modes m;

	feed(&m, "a line\r\n\x1b[1;31mred\x1b[0m \xc3\xa9\n");
	CHECK(modes_is_at_rest(&m));
	CHECK_STR(back, "\x1b[0m");
	CHECK(strstr(plain, "\x1b(B\x1b[0m\r\x1b[J"));
	feed(&m, "an unfinished line");
	CHECK(strstr(plain, "\r\n\x1b[J"));
}

TEST(what_could_hide_a_question_is_always_reset)
{
	static const char *const resets[] = { "\x1b[r",	     "\x1b[?7h", "\x1b[?25h",
					      "\x1b[4l",     "\x1b[?5l", "\x1b[?69l",
					      "\x1b[?2026l", "\x0f",	 "\x1b(B" };
	struct terminal_modes m;

	feed(&m, "");
	for (size_t i = 0; i < COUNT_OF(resets); i++)
		CHECK(strstr(plain, resets[i]));
	CHECK(!strstr(plain, "\x1b]8") && !strstr(plain, "\x1b]104") &&
	      !strstr(plain, "\x1b[?1049l"));
}

static const struct {
	const char *sent, *reset, *again;
} changes[] = {
	{ "\x1b[?1049h", "\x1b[?1049l", "\x1b[?1049h" },
	{ "\x1b[?47h", "\x1b[?47l", "\x1b[?47h" },
	{ "\x1b[?1000;1006h", "\x1b[?1000l", "\x1b[?1006h" },
	{ "\x1b[?2004h", "\x1b[?2004l", "\x1b[?2004h" },
	{ "\x1b[?1h\x1b=", "\x1b[?66l", "\x1b[?1h" },
	{ "\x1b[?25l", "\x1b[?25h", "\x1b[?25l" },
	{ "\xc2\x9b?25l", "\x1b[?25h", "\x1b[?25l" },
	{ "\x1b[4h", "\x1b[4l", "\x1b[4h" },
	{ "\x1b[2;5r", "\x1b[r", "\x1b[2;5r" },
	{ "\x1b(0", "\x1b(B", "\x1b(0" },
	{ "\x0e", "\x0f", "\x0e" },
	{ "\x1b[1;8m\x1b[31m", "\x1b[0m", "\x1b[1;8m\x1b[31m" },
	{ "\x1b[>4;2m", "\x1b[>4;0m", "\x1b[>4;2m" },
	{ "\x1b[>15u", "\x1b[>0u", "\x1b[<u" },
	{ "\x1b]11;#000000\a", "\x1b]111", "" },
	{ "\x1b]4;1;red\x1b\\", "\x1b]104", "" },
	{ "\x1b]17;#000\a", "\x1b]117", "" },
	{ "\x1b]8;;http://a\a", "\x1b]8;;\x1b\\", "" },
	/* In a string that another terminal may not take for one. */
	{ "\x1bPx\x1b]10;red\x1b\\", "\x1b]110", "" },
};

TEST(changes_are_taken_back_and_put_back)
{
	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		struct terminal_modes m;

		feed(&m, changes[i].sent);
		CHECK(strstr(plain, changes[i].reset));
		CHECK(strstr(back, changes[i].again));
	}
}

TEST(what_was_reset_is_not_put_back)
{
	struct terminal_modes m;

	feed(&m, "\x1b[?1049h\x1b[?2004h\x1b[31m\x1b[2;5r\x1b(0\x1b[?1049l\x1b[?2004l\x1b[m\x1b["
		 "r\x1b(B");
	CHECK_STR(back, "\x1b[0m");
	feed(&m, "\x1b[?1049h\x1b[?25l\x1b[31m\x1b"
		 "c");
	CHECK_STR(back, "\x1b[0m");
}

TEST(a_sequence_that_was_broken_off_is_sent_again)
{
	static const char *const begun[] = { "\x1b",  "\x1b[",	  "\x1b[?104", "\x1b]0;tit",
					     "\x1b(", "\xe2\x82", "\xf0\x9f" };

	for (size_t i = 0; i < COUNT_OF(begun); i++) {
		struct terminal_modes m;

		feed(&m, begun[i]);
		CHECK(!modes_is_at_rest(&m) && plain[0] == '\x18');
		CHECK(strlen(back) >= strlen(begun[i]));
		CHECK_STR(back + strlen(back) - strlen(begun[i]), begun[i]);
	}
}

TEST(the_rest_of_a_long_string_is_left_out)
{
	struct terminal_modes m;
	char text[600] = "\x1bPq";

	memset(text + 3, 'x', sizeof(text) - 4);
	feed(&m, text);
	CHECK(modes_is_skipping(&m));
	CHECK_STR(back, "\x1b[0m");
	modes_feed(&m, STR("xxx"));
	CHECK(modes_is_skipping(&m));
	modes_feed(&m, STR("\x1b\\"));
	CHECK(!modes_is_skipping(&m) && modes_is_at_rest(&m));
}

TEST(any_bytes_leave_it_sound)
{
	uint64_t seed = test_seed();
	struct terminal_modes m;

	modes_init(&m);
	for (int i = 0; i < 200000; i++) {
		static const char often[] = "\x1b\x1b[]?;hlmr0123456789P\\\x18\xc2\x9b\a";
		char c;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		c = (seed >> 60) < 12 ? often[(seed >> 33) % (sizeof(often) - 1)]
				      : (char)(seed >> 40);
		modes_feed(&m, (struct str){ &c, 1 });
		if (i % 997 == 0) {
			struct buf p = BUF_OVER(plain), b = BUF_OVER(back);

			modes_add_plain(&m, &p);
			modes_add_back(&m, &b);
			CHECK(p.failed == ERR_OK && b.failed == ERR_OK);
		}
	}
}
