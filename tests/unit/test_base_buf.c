/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "test.h"

TEST(an_unused_buffer_is_the_empty_string)
{
	scoped_buf b = BUF_INIT(10);
	struct err e = ERR_INIT;

	CHECK_STR(buf_str(&b).p, "");
	CHECK_INT(buf_check(&b, &e), 0);
}

TEST(pieces_are_joined_and_closed_with_a_nul)
{
	scoped_buf b = BUF_INIT(1000);

	buf_add(&b, STR("ab"));
	buf_add_char(&b, 'c');
	buf_add_text(&b, "de");
	buf_printf(&b, "%d%s", 12, "x");
	CHECK_STR(b.p, "abcde12x");
	CHECK_INT(b.len, 8);
}

TEST(exactly_the_maximum_fits_and_one_more_does_not)
{
	scoped_buf b = BUF_INIT(5);
	struct err e = ERR_INIT;

	buf_add_text(&b, "12345");
	CHECK_INT(buf_check(&b, &e), 0);
	CHECK_STR(b.p, "12345");
	buf_add_char(&b, '6');
	CHECK_INT(buf_check(&b, &e), -ERR_LIMIT);
	CHECK(strstr(e.text, "5 bytes") != NULL);
	CHECK_STR(b.p, "12345");
}

TEST(the_first_failure_sticks_though_less_would_fit)
{
	scoped_buf b = BUF_INIT(5);
	struct err e = ERR_INIT;

	buf_add_text(&b, "123");
	buf_printf(&b, "%s", "too long");
	buf_add_char(&b, '4');
	CHECK_INT(buf_check(&b, &e), -ERR_LIMIT);
	CHECK_STR(b.p, "123");
}

TEST(clearing_forgets_the_failure_and_keeps_the_room)
{
	scoped_buf b = BUF_INIT(100);
	struct err e = ERR_INIT;
	size_t room;

	buf_add_text(&b, "some text");
	room = b.room;
	buf_printf(&b, "%0200d", 1);
	buf_clear(&b);
	CHECK_INT(buf_check(&b, &e), 0);
	CHECK_INT(b.room, room);
	CHECK_STR(buf_str(&b).p, "");
	buf_add_text(&b, "y");
	CHECK_STR(b.p, "y");
}

TEST(nul_bytes_are_content)
{
	scoped_buf b = BUF_INIT(100);

	buf_add(&b, (struct str){ "a\0b", 3 });
	CHECK_INT(b.len, 3);
	CHECK(memcmp(b.p, "a\0b", 4) == 0);
}

TEST(room_never_exceeds_the_maximum_and_its_nul)
{
	scoped_buf b = BUF_INIT(1000);

	for (int i = 0; i < 1000; i++)
		buf_add_char(&b, 'x');
	CHECK_INT(b.len, 1000);
	CHECK(b.room <= 1001);
}

TEST(an_impossible_size_is_a_limit_and_no_overflow)
{
	scoped_buf b = BUF_INIT(100);
	struct err e = ERR_INIT;

	buf_add_char(&b, 'x');
	buf_add(&b, (struct str){ "x", SIZE_MAX });
	CHECK_INT(buf_check(&b, &e), -ERR_LIMIT);
	CHECK_STR(b.p, "x");
}
