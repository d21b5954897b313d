/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"
#include "test.h"

static const char *shown(struct buf *b, struct str s)
{
	buf_clear(b);
	utf8_add_shown(b, s);
	return buf_str(b).p;
}

TEST(every_character_survives_writing_and_reading)
{
	uint32_t survived = 0;

	for (uint32_t c = 0; c <= 0x110010; c++) {
		bool is_character = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
		char bytes[4];
		size_t len = 0;
		size_t at = 0;
		uint32_t again = 0;

		if (utf8_put(c, bytes, &len) != is_character) {
			CHECK_INT(c, -1);
			continue;
		}
		if (!is_character)
			continue;
		if (utf8_next((struct str){ bytes, len }, &at, &again) && again == c && at == len)
			survived++;
		else
			CHECK_INT(c, -1);
	}
	CHECK_INT(survived, 0x110000 - 0x800);
}

TEST(malformed_bytes_are_found_where_they_are)
{
	static const struct {
		struct str text;
		size_t bad;
	} cases[] = {
		{ STR_INIT("abc"), 3 },
		{ STR_INIT("a\x80"), 1 },    /* a tail without a head */
		{ STR_INIT("\xC0\xAF"), 0 }, /* overlong '/' */
		{ STR_INIT("\xC1\xBF"), 0 },
		{ STR_INIT("\xE0\x80\xAF"), 0 }, /* overlong in three */
		{ STR_INIT("\xE0\x9F\xBF"), 0 },
		{ STR_INIT("\xF0\x80\x80\xAF"), 0 }, /* overlong in four */
		{ STR_INIT("\xED\xA0\x80"), 0 },     /* a surrogate */
		{ STR_INIT("\xED\x9F\xBF"), 3 },     /* the last before them */
		{ STR_INIT("\xF4\x8F\xBF\xBF"), 4 }, /* U+10FFFF */
		{ STR_INIT("\xF4\x90\x80\x80"), 0 }, /* one more */
		{ STR_INIT("\xF5\x80\x80\x80"), 0 },
		{ STR_INIT("xy\xE2\x82"), 2 }, /* cut short */
		{ STR_INIT("\xE2\x82x"), 0 },
		{ STR_INIT("\xFF"), 0 },
		{ STR_INIT("\xFE"), 0 },
		{ STR_INIT(""), 0 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK_INT(utf8_check(cases[i].text), cases[i].bad);
}

TEST(plain_text_is_shown_as_it_is)
{
	scoped_buf b = BUF_INIT(1000);

	CHECK_STR(shown(&b, STR("/home/j\xC3\xB6rg/\xE6\x96\x87")),
		  "/home/j\xC3\xB6rg/\xE6\x96\x87");
	CHECK_STR(shown(&b, STR("")), "");
}

TEST(terminal_escapes_are_shown_and_not_sent)
{
	scoped_buf b = BUF_INIT(1000);

	CHECK_STR(shown(&b, STR("\x1b[2J")), "\\x1b[2J");
	CHECK_STR(shown(&b, STR("a\nb\r\tc")), "a\\x0ab\\x0d\\x09c");
	CHECK_STR(shown(&b, STR("\x7f")), "\\x7f");
	CHECK_STR(shown(&b, STR("\xC2\x9B"
				"2J")),
		  "\\u{009b}2J");
	CHECK_STR(shown(&b, (struct str){ "\0", 1 }), "\\x00");
}

TEST(bidirectional_controls_and_line_separators_are_shown_as_numbers)
{
	scoped_buf b = BUF_INIT(1000);

	CHECK_STR(shown(&b, STR("a\xE2\x80\xAE"
				"b")),
		  "a\\u{202e}b");
	CHECK_STR(shown(&b, STR("\xE2\x81\xA6")), "\\u{2066}");
	CHECK_STR(shown(&b, STR("\xE2\x80\x8F")), "\\u{200f}");
	CHECK_STR(shown(&b, STR("\xD8\x9C")), "\\u{061c}");
	CHECK_STR(shown(&b, STR("\xE2\x80\xA8")), "\\u{2028}");
}

TEST(stray_bytes_are_shown_one_by_one)
{
	scoped_buf b = BUF_INIT(1000);

	CHECK_STR(shown(&b, STR("\xff\xE2\x82x\xC3")), "\\xff\\xe2\\x82x\\xc3");
}

TEST(nothing_shown_can_be_a_control_character)
{
	scoped_buf b = BUF_INIT(1000);

	for (int high = 0; high < 256; high++)
		for (int low = 0; low < 256; low++) {
			char bytes[2] = { (char)high, (char)low };
			const char *text = shown(&b, (struct str){ bytes, 2 });
			struct str s = str_of(text);
			size_t at = 0;
			uint32_t c;

			while (at < s.len) {
				REQUIRE(utf8_next(s, &at, &c));
				REQUIRE(!utf8_is_control(c));
			}
		}
}

TEST(fixed_space_is_never_overrun_and_a_cut_says_so)
{
	struct str text = STR("ab\x1b\xC3\xA9\xE2\x80\xAEzz");

	for (size_t size = 8; size < 40; size++) {
		char out[64];

		memset(out, '#', sizeof(out));
		(void)utf8_show(text, out, size);
		CHECK(memchr(out, '\0', size) != NULL);
		CHECK_INT(out[size], '#');
		CHECK_INT(utf8_check(str_of(out)), strlen(out));
		CHECK(strlen(out) == strlen("ab\\x1b\xC3\xA9\\u{202e}zz") ||
		      str_has_suffix(str_of(out), STR("...")));
	}
}
