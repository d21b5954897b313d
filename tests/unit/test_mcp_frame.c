/* SPDX-License-Identifier: MIT */
#include "mcp/frame.h"

#include "test.h"

static const char *text_of(struct str s)
{
	static char text[200];

	(void)snprintf(text, sizeof(text), "%.*s", STR_ARG(s));
	return text;
}

TEST(lines_come_out_whole_however_they_come_in)
{
	static const char input[] = "one\n\ntwo\r\n three";

	for (size_t piece = 1; piece <= sizeof(input); piece++) {
		struct frame f = FRAME_INIT;
		char seen[100];
		struct buf b = BUF_OVER(seen);
		struct str line;

		for (size_t at = 0; at < sizeof(input) - 1; at += piece) {
			struct str part = { input + at, MIN_OF(piece, sizeof(input) - 1 - at) };

			while (part.len)
				if (frame_take(&f, &part, &line) == FRAME_LINE)
					buf_printf(&b, "<%s>", text_of(line));
		}
		CHECK_STR(seen, "<one><><two>");
		CHECK_INT(frame_end(&f, &line), FRAME_LINE);
		CHECK_STR(text_of(line), " three");
		CHECK_INT(frame_end(&f, &line), FRAME_MORE);
		frame_done(&f);
	}
}

TEST(a_line_that_is_too_long_is_dropped_and_the_next_is_read)
{
	struct frame f = { .line = BUF_INIT(64) };
	struct str input = STR("{\"method\":\"m\",\"params\":\"0123456789012345678901234567890123"
			       "456789\",\"jsonrpc\":\"2.0\",\"id\":\"a7\"}\nshort\n");
	struct str line;

	for (size_t piece = 1; piece < input.len; piece += 5) {
		struct str bytes = input;
		int dropped = 0, lines = 0;

		while (bytes.len) {
			struct str part = str_first(bytes, piece);

			bytes = str_from(bytes, part.len);
			while (part.len) {
				enum frame_result r = frame_take(&f, &part, &line);

				if (r == FRAME_DROPPED) {
					dropped++;
					CHECK_INT(f.why, ERR_LIMIT);
					CHECK_STR(text_of(salvage_id(&f.salvage)), "\"a7\"");
				} else if (r == FRAME_LINE) {
					lines++;
					CHECK_STR(text_of(line), "short");
				}
			}
		}
		CHECK_INT(dropped, 1);
		CHECK_INT(lines, 1);
	}
	frame_done(&f);
}

TEST(a_line_as_long_as_the_limit_is_read)
{
	struct frame f = { .line = BUF_INIT(4) };
	struct str input = STR("1234\n12345\n"), line;

	CHECK_INT(frame_take(&f, &input, &line), FRAME_LINE);
	CHECK_STR(text_of(line), "1234");
	CHECK_INT(frame_take(&f, &input, &line), FRAME_DROPPED);
	frame_done(&f);
}

static const char *salvaged(const char *text)
{
	struct salvage s;

	salvage_init(&s);
	salvage_feed(&s, str_of(text));
	return text_of(salvage_id(&s));
}

TEST(the_id_of_a_broken_request_is_found)
{
	CHECK_STR(salvaged("{\"id\":5,\"method\":\"x\",\"a\":[[["), "5");
	CHECK_STR(salvaged("{\"method\":\"x\", \"params\":{\"id\":6}, \"id\" : -7 }"), "-7");
	CHECK_STR(salvaged("{\"method\":\"x\",\"s\":\"\\\"id\\\":8,{\",\"id\":\"nine\"}"),
		  "\"nine\"");
}

TEST(no_id_is_made_up)
{
	/* Of a response: nobody waits for an answer to that. */
	CHECK_STR(salvaged("{\"id\":5,\"result\":{"), "");
	CHECK_STR(salvaged("{\"id\":5,\"id\":6,\"method\":\"x\""), "");
	CHECK_STR(salvaged("[{\"id\":5,\"method\":\"x\"}"), "");
	CHECK_STR(salvaged("{\"method\":\"x\",\"id\":[1]}"), "");
	CHECK_STR(salvaged("{\"method\":\"x\",\"id\":1.5}"), "");
	CHECK_STR(salvaged("{\"method\":\"x\",\"id\":01}"), "");
	CHECK_STR(salvaged("{\"method\":\"x\",\"id\":12345678901234567890}"), "");
	CHECK_STR(salvaged("{\"method\":\"x\",\"id\":\"a\\u0041\"}"), "");
	CHECK_STR(salvaged("{\"method\":\"x\",\"id\":\"a"), "");
	CHECK_STR(salvaged("\"id\":5,\"method\":\"x\""), "");
}
