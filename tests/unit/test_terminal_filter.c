/* SPDX-License-Identifier: MIT */
/* What of a command's output is left out before it gets to the user's terminal. */
#include "session/terminal_filter.h"

#include "test.h"

static char passed[4096];

/* Text before and behind it, in two reads that meet at `cut`. */
static const char *pass_cut(struct str text, size_t cut)
{
	struct buf out = BUF_OVER(passed);
	struct terminal_filter f;

	filter_init(&f);
	filter_pass(&f, str_first(text, cut), &out);
	filter_pass(&f, str_from(text, cut), &out);
	CHECK(out.failed == ERR_OK);
	passed[out.len] = '\0';
	return passed;
}

/* However it is cut, also into single bytes. */
static void check(const char *sent, const char *expected)
{
	struct str text = str_of(sent);
	struct buf out = BUF_OVER(passed);
	struct terminal_filter f;

	for (size_t cut = 0; cut <= text.len; cut++)
		CHECK_STR(pass_cut(text, cut), expected);
	filter_init(&f);
	for (size_t i = 0; i < text.len; i++)
		filter_pass(&f, (struct str){ text.p + i, 1 }, &out);
	passed[out.len] = '\0';
	CHECK_STR(passed, expected);
}

static const char *const dropped[] = {
	"\x1b[5i",
	"\x1b[?5i",
	"\x1b[05i",
	"\x1b[5:1i",
	"\x1b[\r5i",
	"\x1b\r[5i",
	"\x1b[8;2;10t",
	"\x1b[2t",
	"\x1b[3;4000;4000t",
	"\x1b[t",
	"\x1b[20t",
	"\x1b[21t",
	"\x1b[65538t",
	"\x1b[24t",
	"\x1b[?2l",
	"\x1b[?38h",
	"\x1b[?25;38h",
	"\x1b[?3\x7f"
	"8h",
	"\x1b[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;38h",
	"\x1b[?65574h",
	"\x1b[2h",
	"\x1b[4;2h",
	"\x1b[3h",
	"\x1b[1$}",
	"\x1b[2$~",
	"\x1b[#P",
	"\x1b[1#Q",
	"\x1b[61\"p",
	"\x1b[80$|",
	"\x1b[2*|",
	"\x1b[1;0;0,|",
	"\x1b[8]",
	"\x1b[=5F",
	"\x1b#3",
	"\x1b%@",
	"\x1b%/G",
	"\x1b G",
	"\x1bV",
	"\x1b\x1b[5i",
	"\x1b[3\x1b[5i",
	"\x1b[38\x1b[5i",
	"\x1b(\x1b[5i",
	"\x1b]P7000000",
	"\x1b]21;foreground=black;background=black\a",
	"\x1b]21;foreground=black\x1b]50;x\a",
	"\x1b]021;foreground=black\a",
	"\x1b]1337;SetColors=fg=000,bg=000\a",
	"\x1b]50;nil2\a",
	"\x1b]50;nil2\xc2\x9c",
	"\x1b]701;C\a",
	"\x1b]l\a",
	"\x1b];x\a",
	"\x1b]2\x1b[5i",
	"\x1b]2\x1b\x1b[5i",
	"\x1b]2\x1b\r[5i",
	"\x1b]99999999999;x\a",
	"\x1bP1;1|17/72756e\a",
	"\x1bP=1s\a",
	"\x1bP1;1;1{ @x\a",
	"\x1bP1000p\a",
	"\x1bP+p54\a",
	"\x1bP@kitty-cmd{}\a",
	"\x1b_Ga=T,f=24;AAAA\a",
	"\x1b^x\a",
	"\x1bXx\a",
	"\xc2\x9b",
	"\xc2\x9d",
	"\xc2\x90",
	"\x9b",
	"\x9d",
};

TEST(what_could_hide_or_fake_a_question_is_left_out_wherever_a_read_ends)
{
	for (size_t i = 0; i < COUNT_OF(dropped); i++) {
		char sent[256];
		struct buf text = BUF_OVER(sent);

		buf_add_text(&text, "be");
		buf_add_text(&text, dropped[i]);
		buf_add_text(&text, "hind 5i");
		check(sent, "behind 5i");
	}
	check("a\x1b]21;x\x1b\\b", "a\x1b\\b");
	check("a\x1bPzx\x1b\\b", "a\x1b\\b");
}

static const char *const kept[] = {
	"a line\r\n\tand \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc2\xa0\xc4\x9b\xe0\xbb\x9b\n",
	"\x1b[1;31mred\x1b[0m\x1b[38:2::1:2:3m\x1b[m",
	"\x1b[?1049h\x1b[22;0;0t\x1b[>4;2m\x1b[?1h\x1b=\x1b[?2004h\x1b[1;24r\x1b[?12;25h",
	"\x1b[27m\x1b[H\x1b[2J\x1b[?25l\x1b[2;1H\x1b[K\x1b[6n\x1b[c\x1b[>c\x1b[?u\x1b[14t\x1b[18t",
	"\x1b[4l\x1b[4h\x1b[20l\x1b[!p\x1b[?3;4l\x1b[4l\x1b>",
	"\x1b(0lqk\x1b(B\x0e\x0f\x1b)0\x1b%G\x1b F\x1b#8\x1b"
	"7\x1b"
	"8\x1b"
	"c\x1bM",
	"\x1b]0;a title\a\x1b]2;another\x1b\\",
	"\x1b]9;4;1;20\x1b\\\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\",
	"\x1b]10;?\x1b\\\x1b]11;?\a\x1b]104\a\x1b]104\x1b\\\x1b]52;c;?\a\x1b]R",
	"\x1bP$qm\x1b\\\x1bP+q544e\x1b\\\x1bPq#0;2;0;0;0~~\x1b\\",
	"\x1bPtmux;\x1b\x1b]52;c;eA==\a\x1b\\",
	"\x1b[2 q\x1b[?2026h\x1b[?2026l\x1b[?2026$p\x1b[>0q",
	"\x18\x1b[1\nm",
};

TEST(what_ordinary_programs_send_passes_as_it_is)
{
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		check(kept[i], kept[i]);
}

TEST(what_goes_through_tmux_is_looked_at_as_well)
{
	check("\x1bPtmux;\x1b\x1b[5i\x1b\\5i", "\x1bPtmux;\x1b\\5i");
	check("\x1bPtmux;\x1b\x1b]21;x\a\x1b\\;", "\x1bPtmux;\x1b\\;");
}

TEST(a_sequence_that_does_not_end_is_held_and_a_long_one_left_out)
{
	char text[600] = "\x1b[1";

	check("a\x1b[5", "a");
	check("a\x1b]2", "a");
	check("a\x1b[3\x18"
	      "b",
	      "a\x18"
	      "b");
	memset(text + 3, ';', sizeof(text) - 4);
	text[sizeof(text) - 3] = 'm';
	text[sizeof(text) - 2] = 'b';
	CHECK_STR(pass_cut(str_of(text), 7), "b");
}

TEST(any_bytes_grow_by_no_more_than_was_held_and_pass_a_second_time)
{
	uint64_t seed = test_seed();
	struct terminal_filter f, again;

	filter_init(&f);
	filter_init(&again);
	for (int i = 0; i < 4000; i++) {
		static const char often[] = "\x1b\x1b[]?;hlit0123456789P\\\x18\xc2\x9b\a$#%\r\x7f";
		char bytes[100], second[1024];
		struct buf out = BUF_OVER(passed), twice = BUF_OVER(second);

		for (size_t k = 0; k < sizeof(bytes); k++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			bytes[k] = (seed >> 60) < 13 ? often[(seed >> 33) % (sizeof(often) - 1)]
						     : (char)(seed >> 40);
		}
		filter_pass(&f, (struct str){ bytes, sizeof(bytes) }, &out);
		CHECK(out.len <= sizeof(bytes) + FILTER_HELD_BYTES);
		/* SECURITY: what is left of it is nothing that would be left out. */
		filter_pass(&again, buf_str(&out), &twice);
		CHECK(twice.len == out.len && memcmp(second, passed, out.len) == 0);
		CHECK(again.held_bytes == 0);
	}
}
