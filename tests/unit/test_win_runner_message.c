/* SPDX-License-Identifier: MIT */
/* What Cordon and its runner on Windows say to each other. */
#include "backend/win_elevated/runner_message.h"
#include "test.h"

static const char *argv[] = { "make", "", "a b\\\"c", "\xed\xa0\x80", NULL };
static const char *environment[] = { "PATH=C:\\x", "=C:=C:\\", NULL };
static const char *programs[] = { "C:\\a\\make", "C:\\make.exe", NULL };
static const char *canaries[] = { "C:\\1", "C:\\2", "C:\\3", NULL };
static const char *sids[] = { "S-1-5-21-1-2-3-4", "logon", NULL };

static struct runner_message start_message(void)
{
	return (struct runner_message){
		.type = RUNNER_START,
		.start = { .programs = { programs, 2 },
			   .canaries = { canaries, 3 },
			   .directory = "C:\\r",
			   .argv = { argv, 4 },
			   .environment = { environment, 2 },
			   .sids = { sids, 2 },
			   .stdio = { 4, UINT64_C(0xffffffffffff), 0 },
			   .closed_v4 = 40000,
			   .closed_v6 = 65535 },
	};
}

static int print(const struct runner_message *m, struct buf *out)
{
	struct err e = ERR_INIT;

	return runner_print(m, out, &e);
}

/* The result; bytes that were used in `*used`. */
static int parse(struct arena *a, struct str bytes, struct runner_message *out, size_t *used)
{
	struct err e = ERR_INIT;

	return runner_parse(a, bytes, out, used, &e);
}

static void check_list(const struct runner_list *got, const struct runner_list *want)
{
	CHECK_INT(got->count, want->count);
	for (size_t i = 0; i < want->count && i < got->count; i++)
		CHECK_STR(got->items[i], want->items[i]);
	CHECK(got->items && got->items[got->count] == NULL);
}

TEST(a_start_comes_back_as_it_was)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	scoped_buf text = BUF_INIT(RUNNER_MAX_BYTES);
	const struct runner_message m = start_message();
	struct runner_message back;
	size_t used;

	REQUIRE(print(&m, &text) == 0);
	REQUIRE(parse(&a, buf_str(&text), &back, &used) == 0 && used == text.len);
	CHECK_INT(back.type, RUNNER_START);
	check_list(&back.start.programs, &m.start.programs);
	check_list(&back.start.canaries, &m.start.canaries);
	CHECK_STR(back.start.directory, m.start.directory);
	check_list(&back.start.argv, &m.start.argv);
	check_list(&back.start.environment, &m.start.environment);
	check_list(&back.start.sids, &m.start.sids);
	CHECK(memcmp(back.start.stdio, m.start.stdio, sizeof(m.start.stdio)) == 0);
	CHECK_INT(back.start.closed_v4, 40000);
	CHECK_INT(back.start.closed_v6, 65535);
}

TEST(the_other_messages_come_back_as_they_were)
{
	static const enum runner_type types[] = { RUNNER_HELLO, RUNNER_STARTED, RUNNER_FAILED };
	scoped_arena a = ARENA_INIT(1 << 20);
	scoped_buf text = BUF_INIT(RUNNER_MAX_BYTES);
	struct str rest;

	for (size_t i = 0; i < COUNT_OF(types); i++) {
		struct runner_message m = { .type = types[i],
					    .process = 77,
					    .handle = 8,
					    .thread = UINT64_C(0x100000000),
					    .index = 3,
					    .stage = RUNNER_STAGE_CHECK,
					    .os_error = 5,
					    .text = "no" };
		REQUIRE(print(&m, &text) == 0);
	}
	rest = buf_str(&text);
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		struct runner_message back = { .type = RUNNER_START };
		size_t used = 0;

		REQUIRE(parse(&a, rest, &back, &used) == 0 && used > 0);
		CHECK_INT(back.type, types[i]);
		CHECK(!runner_is_order(back.type));
		if (types[i] != RUNNER_FAILED)
			CHECK_INT(back.process, 77);
		if (types[i] == RUNNER_STARTED)
			CHECK(back.handle == 8 && back.thread == UINT64_C(0x100000000));
		if (types[i] == RUNNER_FAILED)
			CHECK(back.stage == RUNNER_STAGE_CHECK && back.os_error == 5 &&
			      back.index == 3 && strcmp(back.text, "no") == 0);
		rest = str_from(rest, used);
	}
	CHECK_INT(rest.len, 0);
}

TEST(what_is_cut_is_waited_for_and_never_read)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	scoped_buf text = BUF_INIT(RUNNER_MAX_BYTES);
	const struct runner_message m = start_message();
	struct runner_message back;
	size_t used;

	REQUIRE(print(&m, &text) == 0);
	for (size_t n = 0; n < text.len; n++) {
		CHECK_INT(parse(&a, str_first(buf_str(&text), n), &back, &used), 0);
		CHECK_INT(used, 0);
	}
	CHECK(parse(&a, buf_str(&text), &back, &used) == 0 && used == text.len);
}

TEST(a_body_that_is_shorter_or_longer_is_refused)
{
	scoped_arena a = ARENA_INIT(8 << 20);
	scoped_buf text = BUF_INIT(RUNNER_MAX_BYTES);
	const struct runner_message m = start_message();
	struct runner_message back;
	size_t used;

	REQUIRE(print(&m, &text) == 0);
	buf_add_char(&text, 'x');
	for (size_t length = 4; length < text.len - 3; length++) {
		text.p[0] = (char)(length & 0xff);
		text.p[1] = (char)(length >> 8);
		if (length == text.len - 5)
			CHECK(parse(&a, buf_str(&text), &back, &used) == 0 && used);
		else
			CHECK(parse(&a, buf_str(&text), &back, &used) < 0);
	}
}

TEST(another_version_type_or_size_is_refused_at_once)
{
	static const unsigned char wrong[][12] = {
		{ 8, 0, 0, 0, 2, 0, 16, 0, 7 },	   { 8, 0, 0, 0, 0, 0, 16, 0, 7 },
		{ 8, 0, 0, 0, 1, 0, 0, 0, 7 },	   { 8, 0, 0, 0, 1, 0, 20, 0, 7 },
		{ 8, 0, 0, 0, 1, 0, 16, 1, 7 },	   { 3, 0, 0, 0, 1, 0, 16, 0, 7 },
		{ 0, 0, 0, 0, 1, 0, 16, 0, 7 },	   { 0xff, 0xff, 0xff, 0xff, 1, 0, 16, 0, 7 },
		{ 0, 0, 0x10, 0, 1, 0, 16, 0, 7 },
	};
	static const unsigned char right[12] = { 8, 0, 0, 0, 1, 0, 16, 0, 7 };
	scoped_arena a = ARENA_INIT(1 << 20);
	struct runner_message back;
	size_t used;

	CHECK(parse(&a, (struct str){ (const char *)right, 12 }, &back, &used) == 0 && used == 12);
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		CHECK(parse(&a, (struct str){ (const char *)wrong[i], 12 }, &back, &used) < 0);
}

TEST(a_start_without_a_command_or_without_a_restriction_is_refused)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct runner_message back;
	size_t used;

	for (int what = 0; what < 6; what++) {
		scoped_buf text = BUF_INIT(RUNNER_MAX_BYTES);
		struct runner_message m = start_message();

		if (what == 0)
			m.start.programs.count = 0;
		if (what == 1)
			m.start.directory = "";
		if (what == 2)
			m.start.sids.count = 0;
		if (what == 3)
			m.start.closed_v4 = 65536;
		if (what == 4)
			m.start.canaries.count = 2;
		REQUIRE(print(&m, &text) == 0);
		CHECK((parse(&a, buf_str(&text), &back, &used) == 0) == (what == 5));
	}
}

TEST(what_is_too_much_is_not_said)
{
	scoped_buf text = BUF_INIT((size_t)4 * RUNNER_MAX_BYTES);
	struct runner_message m = start_message();
	char *large = calloc(1, RUNNER_MAX_BYTES + 1);

	REQUIRE(large != NULL);
	memset(large, 'x', RUNNER_MAX_BYTES);
	m.start.directory = large;
	CHECK(print(&m, &text) < 0);
	m = start_message();
	m.start.argv.count = 0;
	CHECK(print(&m, &text) < 0);
	m.start.argv.count = RUNNER_MAX_WORDS + 1;
	CHECK(print(&m, &text) < 0);
	free(large);
}
