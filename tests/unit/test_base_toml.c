/* SPDX-License-Identifier: MIT */
/*
 * TOML: what is accepted, what it means, what is refused and where. The official
 * suite and the comparison with another parser are in tests/compare.
 */
#include <math.h>

#include "../support/same_toml.h"
#include "base/real.h"
#include "base/toml.h"
#include "test.h"

static const struct toml *parse(struct arena *a, const char *text, struct err *e)
{
	return toml_parse(a, "t.toml", str_of(text), e);
}

/* The error text of a document that must be refused, without "t.toml:". */
static const char *refusal(struct str text, struct err *e)
{
	scoped_arena a = ARENA_INIT(1 << 20);

	err_clear(e);
	if (toml_parse(&a, "t.toml", text, e))
		return "accepted";
	return strncmp(e->text, "t.toml:", 7) == 0 ? e->text + 7 : e->text;
}

static bool is_refused_at(const char *text, const char *place)
{
	struct err e = ERR_INIT;
	const char *got = refusal(str_of(text), &e);
	bool ok = strncmp(got, place, strlen(place)) == 0 && got[strlen(place)] == ':' &&
		  e.code == ERR_SYNTAX;

	if (!ok)
		printf("#   %s\n#   want %s, got %s\n", text, place, got);
	return ok;
}

/* The value of v in a one-line document. */
static const struct toml *value(struct arena *a, const char *text)
{
	scoped_buf b = BUF_INIT(10000);
	struct err e = ERR_INIT;
	const struct toml *document;

	buf_printf(&b, "v = %s", text);
	document = parse(a, b.p, &e);
	if (!document)
		printf("#   %s\n", e.text);
	return document ? toml_find(document, "v") : NULL;
}

TEST(an_empty_document_is_an_empty_table)
{
	static const char *const texts[] = { "", "\n", "# only this", " \t\r\n#x\r\n",
					     "\xEF\xBB\xBF" };
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		const struct toml *t = parse(&a, texts[i], &e);

		REQUIRE(t != NULL);
		CHECK_INT(t->type, TOML_TABLE);
		CHECK_INT(t->table.count, 0);
	}
}

TEST(strings_mean_what_they_say)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "\"\"", "" },
		{ "''", "" },
		{ "\"a\\tb\\n\\\"\\\\\"", "a\tb\n\"\\" },
		{ "'C:\\n'", "C:\\n" },
		{ "\"\\u00e9\\U0001F600\"", "\xC3\xA9\xF0\x9F\x98\x80" },
		{ "\"\"\"\nfirst\nsecond\"\"\"", "first\nsecond" },
		{ "\"\"\"a\r\nb\"\"\"", "a\nb" },
		{ "\"\"\"a \\  \n\n \t b\"\"\"", "a b" },
		{ "\"\"\"two \"\" and \"\"\"\"\"", "two \"\" and \"\"" },
		{ "\"\"\"\"one\"\"\"", "\"one" },
		{ "'''\nraw \\ '' x'''''", "raw \\ '' x''" },
		{ "'''\r\nx'''", "x" },
		{ "\"\"\"\\\n  x\"\"\"", "x" },
		{ "\"\"\"\"\"\"", "" },
	};
	scoped_arena a = ARENA_INIT(1 << 20);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct toml *v = value(&a, cases[i].text);

		REQUIRE(v && v->type == TOML_STRING);
		CHECK_STR(v->string.p, cases[i].want);
		CHECK_INT(v->string.len, strlen(cases[i].want));
	}
}

TEST(an_escaped_nul_is_kept_and_ended_by_another)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	const struct toml *v = value(&a, "\"a\\u0000b\"");

	REQUIRE(v != NULL);
	CHECK_INT(v->string.len, 3);
	CHECK(memcmp(v->string.p, "a\0b", 4) == 0);
}

TEST(integers_keep_every_bit)
{
	static const struct {
		const char *text;
		int64_t want;
	} cases[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "+7", 7 },
		{ "1_2_3", 123 },
		{ "9223372036854775807", INT64_MAX },
		{ "-9223372036854775808", INT64_MIN },
		{ "0x7fffffffffffffff", INT64_MAX },
		{ "0xDEAD_beef", 0xDEADBEEF },
		{ "0o755", 0755 },
		{ "0b1010", 10 },
		{ "0x00", 0 },
	};
	scoped_arena a = ARENA_INIT(1 << 20);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct toml *v = value(&a, cases[i].text);

		REQUIRE(v && v->type == TOML_INTEGER);
		CHECK_INT(v->integer, cases[i].want);
	}
}

TEST(floats_are_read)
{
	static const struct {
		const char *text;
		double want;
	} cases[] = {
		{ "1.5", 1.5 },	 { "-0.25", -0.25 }, { "1e3", 1000 },	  { "1_0.0_1", 10.01 },
		{ "5E-1", 0.5 }, { "+1.0e+2", 100 }, { "1e06", 1000000 }, { "0e0", 0 },
	};
	scoped_arena a = ARENA_INIT(1 << 20);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct toml *v = value(&a, cases[i].text);

		REQUIRE(v && v->type == TOML_FLOAT);
		CHECK(real_is_same(v->real, cases[i].want));
	}
	CHECK(isinf(value(&a, "inf")->real));
	CHECK(value(&a, "-inf")->real < 0);
	CHECK(isnan(value(&a, "+nan")->real));
	CHECK(signbit(value(&a, "-0.0")->real));
}

TEST(dates_and_times_are_read)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	const struct toml *v = value(&a, "2024-02-29 13:14:15.1234567899-07:30");

	REQUIRE(v && v->type == TOML_OFFSET_DATETIME);
	CHECK_INT(v->datetime.year, 2024);
	CHECK_INT(v->datetime.month, 2);
	CHECK_INT(v->datetime.day, 29);
	CHECK_INT(v->datetime.hour, 13);
	CHECK_INT(v->datetime.minute, 14);
	CHECK_INT(v->datetime.second, 15);
	CHECK_INT(v->datetime.nanosecond, 123456789);
	CHECK_INT(v->datetime.offset_minutes, -450);
	CHECK_INT(value(&a, "1999-01-01t00:00:00z")->type, TOML_OFFSET_DATETIME);
	CHECK_INT(value(&a, "1999-01-01T00:00:00")->type, TOML_LOCAL_DATETIME);
	CHECK_INT(value(&a, "1999-01-01")->type, TOML_LOCAL_DATE);
	CHECK_INT(value(&a, "1999-01-01 # a date, then a comment")->type, TOML_LOCAL_DATE);
	CHECK_INT(value(&a, "23:59:60")->type, TOML_LOCAL_TIME);
}

TEST(tables_of_all_kinds_end_up_in_one_tree)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	const struct toml *t = parse(&a,
				     "x = 1\n"
				     "p.\"q r\".s = 2\n"
				     "p.t = {u.v = 3, w = [{}, {y = 4}]}\n"
				     "[p.\"q r\".below]\n"
				     "[[list]]\n"
				     "[list.sub]\n"
				     "n = 5\n"
				     "[[list]]\n",
				     &e);
	const struct toml *list, *below;

	REQUIRE(t != NULL);
	CHECK_INT(t->table.count, 3);
	CHECK_INT(toml_find(t, "x")->integer, 1);
	CHECK_INT(toml_find(toml_find(toml_find(t, "p"), "q r"), "s")->integer, 2);
	below = toml_find(toml_find(toml_find(t, "p"), "q r"), "below");
	CHECK(below && below->type == TOML_TABLE && below->table.count == 0);
	list = toml_find(toml_find(toml_find(t, "p"), "t"), "w");
	CHECK_INT(list->array.count, 2);
	CHECK_INT(toml_find(&list->array.items[1], "y")->integer, 4);
	list = toml_find(t, "list");
	CHECK_INT(list->array.count, 2);
	CHECK_INT(toml_find(toml_find(&list->array.items[0], "sub"), "n")->integer, 5);
	CHECK(toml_find(t, "absent") == NULL);
	CHECK(toml_find(toml_find(t, "x"), "x") == NULL);
}

TEST(members_keep_the_order_and_place_of_the_text)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	const struct toml *t =
		parse(&a, "\xEF\xBB\xBFzz = 1\r\n  a =  'x'\n[m]\n  k . l = [\n 7]\n", &e);
	const struct toml_member *item;

	REQUIRE(t != NULL);
	item = t->table.items;
	CHECK_STR(item[0].name.p, "zz");
	CHECK_INT(item[0].name_origin.line, 1);
	CHECK_INT(item[0].name_origin.column, 1);
	CHECK_STR(item[1].name.p, "a");
	CHECK_INT(item[1].name_origin.line, 2);
	CHECK_INT(item[1].name_origin.column, 3);
	CHECK_INT(item[1].value.origin.line, 2);
	CHECK_INT(item[1].value.origin.column, 8);
	CHECK_STR(item[1].value.origin.file, "t.toml");
	CHECK_STR(item[2].name.p, "m");
	item = toml_find(&item[2].value, "k")->table.items;
	CHECK_INT(item->name_origin.line, 4);
	CHECK_INT(item->name_origin.column, 7);
	CHECK_INT(item->value.array.items[0].origin.line, 5);
	CHECK_INT(item->value.array.items[0].origin.column, 2);
}

TEST(the_text_may_go_away_after_parsing)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	char text[] = "bare = \"value\"\n'quoted key' = ['raw']\n";
	const struct toml *t = parse(&a, text, &e);

	memset(text, '#', sizeof(text) - 1);
	REQUIRE(t != NULL);
	CHECK_STR(toml_find(t, "bare")->string.p, "value");
	CHECK_STR(toml_find(t, "quoted key")->array.items[0].string.p, "raw");
}

TEST(values_that_are_not_toml_are_refused_at_their_place)
{
	CHECK(is_refused_at("a = ", "1:5"));
	CHECK(is_refused_at("a = yes", "1:5"));
	CHECK(is_refused_at("a = True", "1:5"));
	CHECK(is_refused_at("a = truex", "1:9"));
	CHECK(is_refused_at("x=1\n\na = 01", "3:5"));
	CHECK(is_refused_at("a = 1__0", "1:7"));
	CHECK(is_refused_at("a = _1", "1:5"));
	CHECK(is_refused_at("a = 1_", "1:7"));
	CHECK(is_refused_at("a = +0x1", "1:7"));
	CHECK(is_refused_at("a = 0X1", "1:6"));
	CHECK(is_refused_at("a = 0b2", "1:7"));
	CHECK(is_refused_at("a = 0x", "1:6"));
	CHECK(is_refused_at("a = 1.", "1:7"));
	CHECK(is_refused_at("a = .5", "1:5"));
	CHECK(is_refused_at("a = 1e", "1:7"));
	CHECK(is_refused_at("a = 1.e1", "1:7"));
	CHECK(is_refused_at("a = Inf", "1:5"));
	CHECK(is_refused_at("a = 9223372036854775808", "1:5"));
	CHECK(is_refused_at("a = -9223372036854775809", "1:5"));
	CHECK(is_refused_at("a = 0xffffffffffffffff", "1:5"));
}

TEST(impossible_dates_are_refused)
{
	CHECK(is_refused_at("a = 2023-02-29", "1:5"));
	CHECK(is_refused_at("a = 1900-02-29", "1:5"));
	CHECK(is_refused_at("a = 2023-13-01", "1:5"));
	CHECK(is_refused_at("a = 2023-00-01", "1:5"));
	CHECK(is_refused_at("a = 2023-01-00", "1:5"));
	CHECK(is_refused_at("a = 2023-1-1", "1:5"));
	CHECK(is_refused_at("a = 24:00:00", "1:5"));
	CHECK(is_refused_at("a = 12:60:00", "1:5"));
	CHECK(is_refused_at("a = 12:00:61", "1:5"));
	CHECK(is_refused_at("a = 12:00", "1:5"));
	CHECK(is_refused_at("a = 12:00:00.", "1:14"));
	CHECK(is_refused_at("a = 2023-01-01T", "1:16"));
	CHECK(is_refused_at("a = 2023-01-01  12:00:00", "1:17"));
	CHECK(is_refused_at("a = 2023-01-01T12:00:00+24:00", "1:24"));
	CHECK(is_refused_at("a = 2023-01-01T12:00:00+1:00", "1:24"));
}

TEST(strings_that_are_not_closed_or_clean_are_refused)
{
	CHECK(is_refused_at("a = \"x", "1:5"));
	CHECK(is_refused_at("a = \"x\n\"", "1:5"));
	CHECK(is_refused_at("a = 'x\r\n'", "1:5"));
	CHECK(is_refused_at("a = \"\"\"x\ny", "2:2"));
	CHECK(is_refused_at("a = '''x''", "1:11"));
	CHECK(is_refused_at("a = \"\\x41\"", "1:6"));
	CHECK(is_refused_at("a = \"b\\e\"", "1:7"));
	CHECK(is_refused_at("a = \"\\u12\"", "1:6"));
	CHECK(is_refused_at("a = \"\\uD800\"", "1:6"));
	CHECK(is_refused_at("a = \"\\U00110000\"", "1:6"));
	CHECK(is_refused_at("a = \"\x01\"", "1:6"));
	CHECK(is_refused_at("a = 'x\x7f'", "1:7"));
	CHECK(is_refused_at("a = '''x\ny\rz'''", "2:2"));
	CHECK(is_refused_at("a = \"\"\"a \\ b\"\"\"", "1:10"));
	CHECK(is_refused_at("a = \"\"\"x\"\"\"\"\"\"", "1:14"));
	CHECK(is_refused_at("# \x01", "1:3"));
	CHECK(is_refused_at("# a\rb", "1:4"));
}

TEST(lines_and_brackets_must_be_complete)
{
	CHECK(is_refused_at("a", "1:2"));
	CHECK(is_refused_at("a b = 1", "1:3"));
	CHECK(is_refused_at("= 1", "1:1"));
	CHECK(is_refused_at("a = 1 b = 2", "1:7"));
	CHECK(is_refused_at("a..b = 1", "1:3"));
	CHECK(is_refused_at("a. = 1", "1:4"));
	CHECK(is_refused_at("\xC3\xA9 = 1", "1:1"));
	CHECK(is_refused_at("\"\"\"k\"\"\" = 1", "1:1"));
	CHECK(is_refused_at("a = [1, 2", "1:10"));
	CHECK(is_refused_at("a = [1 2]", "1:8"));
	CHECK(is_refused_at("a = [,]", "1:6"));
	CHECK(is_refused_at("a = [1,,]", "1:8"));
	CHECK(is_refused_at("a = {b = 1,}", "1:12"));
	CHECK(is_refused_at("a = {b = 1\n}", "1:11"));
	CHECK(is_refused_at("a = {\nb = 1}", "1:6"));
	CHECK(is_refused_at("a = {b = 1,\n c = 2}", "1:12"));
	CHECK(is_refused_at("a = {b}", "1:7"));
	CHECK(is_refused_at("[a", "1:3"));
	CHECK(is_refused_at("[]", "1:2"));
	CHECK(is_refused_at("[a]]", "1:4"));
	CHECK(is_refused_at("[[a]", "1:4"));
	CHECK(is_refused_at("[ [a]]", "1:3"));
	CHECK(is_refused_at("[a] b = 1", "1:5"));
	CHECK(is_refused_at("[a\n]", "1:3"));
	CHECK(is_refused_at("a = 1\rb = 2", "1:6"));
}

TEST(nothing_can_be_defined_twice)
{
	CHECK(is_refused_at("a = 1\na = 2", "2:1"));
	CHECK(is_refused_at("a = 1\n\"a\" = 2", "2:1"));
	CHECK(is_refused_at("a.b = 1\na.b = 2", "2:3"));
	CHECK(is_refused_at("a = 1\na.b = 2", "2:1"));
	CHECK(is_refused_at("a.b = 1\na = 2", "2:1"));
	CHECK(is_refused_at("[a]\n[a]", "2:2"));
	CHECK(is_refused_at("a = 1\n[a]", "2:2"));
	CHECK(is_refused_at("a = 1\n[a.b]", "2:2"));
	CHECK(is_refused_at("a = {}\n[a]", "2:2"));
	CHECK(is_refused_at("a = {}\n[a.b]", "2:2"));
	CHECK(is_refused_at("a = {b.c = 1}\na.b.d = 2", "2:1"));
	CHECK(is_refused_at("a = {b = {}, b.c = 1}", "1:14"));
	CHECK(is_refused_at("a = []\n[[a]]", "2:3"));
	CHECK(is_refused_at("[a]\n[[a]]", "2:3"));
	CHECK(is_refused_at("[[a]]\n[a]", "2:2"));
	CHECK(is_refused_at("[a.b]\n[[a]]", "2:3"));
	CHECK(is_refused_at("[a]\nb.c = 1\n[a.b]", "3:4"));
	CHECK(is_refused_at("[a.b]\n[a]\nb.c = 1", "3:1"));
	CHECK(is_refused_at("[a.b.c]\n[a]\nb.c.d = 1", "3:1"));
	CHECK(is_refused_at("[[a.b]]\n[a]\nb.y = 2", "3:1"));
	CHECK(is_refused_at("[[a]]\nb = 1\nb = 2", "3:1"));
}

TEST(tables_that_only_look_redefined_are_accepted)
{
	static const char *const texts[] = {
		"[a.b]\n[a]\nc = 1",	      "[a]\nb.c = 1\n[a.b.d]",
		"[[a]]\nb = 1\n[[a]]\nb = 1", "a.b = 1\na.c = 2",
		"[[a]]\n[a.b]\n[[a]]\n[a.b]", "[a]\n[c]\n[a.b]",
		"[x.y.z.w]\n[x]\ny2 = 1",     "[[a.b]]\n[a]\nc = 1",
		"1.2 = 3\n1.\"3\" = 4",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		scoped_arena a = ARENA_INIT(1 << 20);
		struct err e = ERR_INIT;

		if (!CHECK(parse(&a, texts[i], &e) != NULL))
			printf("#   %s: %s\n", texts[i], e.text);
	}
}

TEST(messages_say_what_to_do)
{
	struct err e = ERR_INIT;

	CHECK_STR(refusal(STR("x = 0\ny = 0\nx = 1"), &e),
		  "3:1: key 'x' is already defined at line 1");
	CHECK_STR(refusal(STR("a = \"x"), &e),
		  "1:5: a string must be closed with \" on the line it begins on");
	CHECK_STR(refusal(STR("[a"), &e),
		  "1:3: expected ] behind the header, found the end of the text");
	CHECK_STR(refusal(STR("a = [1 2]"), &e), "1:8: expected , or ] in an array, found '2'");
	CHECK_STR(refusal(STR("a = 1 \xC3\xA9"), &e),
		  "1:7: expected the end of the line, found '\xC3\xA9'");
	CHECK_STR(refusal(STR("a 1"), &e), "1:3: expected = after the key, found '1'");
	CHECK_STR(refusal(STR("a\xC2\xA0= 1"), &e),
		  "1:2: expected = after the key, found U+00A0; write a plain space");
	CHECK_STR(refusal(STR("a = \xE2\x80\x9Cx\xE2\x80\x9D"), &e),
		  "1:5: expected a value, found U+201C; write a plain \"");
	CHECK_STR(refusal(STR("a = \xE2\x80\x98x"), &e),
		  "1:5: expected a value, found U+2018; write a plain '");
	CHECK_STR(refusal(STR("\xFF\xFE"
			      "a\0"),
			  &e),
		  "1:1: the file is UTF-16; save it as UTF-8");
}

TEST(bytes_that_are_no_text_are_refused_with_their_place)
{
	struct err e = ERR_INIT;

	CHECK_STR(refusal(STR("a = 1\nb = '\xE9'"), &e), "2:6: byte 0xE9 is not UTF-8 text");
	CHECK_STR(refusal(STR("# \xED\xA0\x80"), &e), "1:3: byte 0xED is not UTF-8 text");
	CHECK_STR(refusal((struct str){ "a = '\0'", 7 }, &e), "1:6: a NUL byte is not allowed");
	CHECK_STR(refusal((struct str){ "\0", 1 }, &e), "1:1: a NUL byte is not allowed");
}

TEST(a_key_in_a_message_can_not_drive_the_terminal)
{
	struct err e = ERR_INIT;

	CHECK_STR(refusal(STR("\"\\u001b[2J\" = 1\n\"\\u001b[2J\" = 2"), &e),
		  "2:1: key '\\x1b[2J' is already defined at line 1");
	CHECK_STR(refusal(STR("a = \x1b[2J"), &e), "1:5: expected a value, found '\\x1b'");
}

TEST(a_long_file_name_leaves_room_for_the_reason)
{
	static char name[5000];
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;

	memset(name, 'd', sizeof(name) - 1);
	CHECK(toml_parse(&a, name, STR("a"), &e) == NULL);
	CHECK(str_has_prefix(str_of(e.text), STR("...ddd")));
	CHECK(str_has_suffix(str_of(e.text),
			     STR("ddd:1:2: expected = after the key, found the end of the text")));
}

/* `count` times `open`, then `middle`, then `count` times `close`. */
static void repeat(struct buf *b, size_t count, const char *open, const char *middle,
		   const char *close)
{
	buf_clear(b);
	for (size_t i = 0; i < count; i++)
		buf_add_text(b, open);
	buf_add_text(b, middle);
	for (size_t i = 0; i < count; i++)
		buf_add_text(b, close);
}

static void check_depth(const char *start, const char *open, const char *middle, const char *close)
{
	static const struct {
		size_t count;
		enum err_code code;
	} cases[] = { { TOML_MAX_DEPTH - 1, ERR_OK }, { 10000, ERR_LIMIT }, { 300000, ERR_LIMIT } };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scoped_buf nested = BUF_INIT(10 << 20);
		scoped_buf text = BUF_INIT(10 << 20);
		scoped_arena a = ARENA_INIT(64 << 20);
		struct err e = ERR_INIT;

		repeat(&nested, cases[i].count, open, middle, close);
		buf_add_text(&text, start);
		buf_add(&text, buf_str(&nested));
		(void)parse(&a, text.p, &e);
		CHECK_INT(e.code, cases[i].code);
		if (e.code == ERR_LIMIT)
			CHECK(strstr(e.text, "nested more than 128 levels deep") != NULL);
	}
}

TEST(depth_is_limited_however_it_is_made)
{
	check_depth("a = ", "[", "", "]");
	check_depth("a = ", "{a=", "1", "}");
	check_depth("", "a.", "a = 1", "");
	check_depth("[", "a.", "a]", "");
	check_depth("x = {", "a.", "a = 1}", "");
}

TEST(depth_adds_up_over_headers_keys_and_values)
{
	scoped_buf text = BUF_INIT(1 << 20);
	scoped_buf part = BUF_INIT(1 << 20);
	struct err e = ERR_INIT;

	repeat(&part, 60, "a.", "a]\n", "");
	buf_printf(&text, "[%s", part.p);
	repeat(&part, 60, "b.", "b = ", "");
	buf_printf(&text, "%s", part.p);
	repeat(&part, 7, "[", "", "]");
	buf_add(&text, buf_str(&part));
	CHECK_STR(refusal(buf_str(&text), &e), "accepted");
	repeat(&part, 60, "a.", "a]\n", "");
	buf_clear(&text);
	buf_printf(&text, "[%s", part.p);
	repeat(&part, 60, "b.", "b = ", "");
	buf_printf(&text, "%s", part.p);
	repeat(&part, 8, "[", "", "]");
	buf_add(&text, buf_str(&part));
	CHECK(strstr(refusal(buf_str(&text), &e), "nested more than") != NULL);
	CHECK_INT(e.code, ERR_LIMIT);
}

TEST(lists_within_lists_are_limited_too)
{
	scoped_buf text = BUF_INIT(1 << 20);
	scoped_buf way = BUF_INIT(1 << 20);
	struct err e = ERR_INIT;

	for (int i = 0; i < 100; i++) {
		buf_add_text(&way, i ? ".a" : "a");
		buf_printf(&text, "[[%s]]\n", way.p);
	}
	CHECK(strstr(refusal(buf_str(&text), &e), "65:") == e.text + 7);
	CHECK_INT(e.code, ERR_LIMIT);
}

/* Seconds that parsing takes; generous bounds, to tell n log n from n squared. */
static double seconds_to_parse(const struct buf *text)
{
	scoped_arena a = ARENA_INIT((size_t)1 << 30);
	struct err e = ERR_INIT;
	clock_t start = clock();
	const struct toml *t = toml_parse(&a, "t.toml", buf_str(text), &e);

	if (!CHECK(t != NULL))
		printf("#   %s\n", e.text);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

TEST(a_hundred_thousand_keys_are_fast_in_any_order)
{
	static const unsigned steps[] = { 1, 99999, 7919 };

	for (size_t s = 0; s < COUNT_OF(steps); s++) {
		scoped_buf text = BUF_INIT(10 << 20);

		for (unsigned i = 0; i < 100000; i++)
			buf_printf(&text, "key_%06u = %u\n",
				   (unsigned)((uint64_t)i * steps[s] % 100000), i);
		CHECK(seconds_to_parse(&text) < 5);
	}
}

TEST(a_hundred_thousand_tables_and_elements_are_fast)
{
	scoped_buf text = BUF_INIT(10 << 20);

	for (unsigned i = 0; i < 100000; i++)
		buf_printf(&text, "[[list]]\nn = %u\n[table.t%u]\n", i, i);
	CHECK(seconds_to_parse(&text) < 5);
}

TEST(ten_megabytes_are_fine)
{
	scoped_buf text = BUF_INIT(11 << 20);

	buf_add_text(&text, "a = [");
	while (text.len < 5 << 20)
		buf_add_text(&text, "1, 'two', ");
	buf_add_text(&text, "]\nb = \"\"\"");
	while (text.len < 10 << 20)
		buf_add_text(&text, "all work and no play\n");
	buf_add_text(&text, "\"\"\"\n");
	CHECK(seconds_to_parse(&text) < 10);
}

TEST(memory_is_bounded_and_the_error_says_where)
{
	scoped_buf text = BUF_INIT(1 << 20);
	scoped_arena a = ARENA_INIT(64 << 10);
	struct err e = ERR_INIT;

	for (unsigned i = 0; i < 5000; i++)
		buf_printf(&text, "k%u = 1\n", i);
	CHECK(toml_parse(&a, "t.toml", buf_str(&text), &e) == NULL);
	CHECK_INT(e.code, ERR_LIMIT);
	CHECK(str_has_prefix(str_of(e.text), STR("t.toml:")));
	CHECK(strstr(e.text, "the limit of 65536 bytes of memory") != NULL);
	CHECK(a.used_bytes <= 64 << 10);
}

static const struct toml * override(struct arena *a, struct str text, struct err *e)
{
	return toml_parse_override(a, "--config", text, e);
}

TEST(an_override_takes_toml_or_else_a_literal_string)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	const struct toml *t = override(&a, STR("permissions.dev.filesystem.\"/x y\"=deny"), &e);

	REQUIRE(t != NULL);
	t = toml_find(toml_find(toml_find(toml_find(t, "permissions"), "dev"), "filesystem"),
		      "/x y");
	REQUIRE(t && t->type == TOML_STRING);
	CHECK_STR(t->string.p, "deny");
	CHECK_STR(t->origin.file, "--config");
	t = override(&a, STR("a.b=true"), &e);
	REQUIRE(t != NULL);
	CHECK_INT(toml_find(toml_find(t, "a"), "b")->type, TOML_BOOLEAN);
	t = override(&a, STR("x=[1,2]"), &e);
	REQUIRE(t != NULL);
	CHECK_INT(toml_find(t, "x")->array.count, 2);
	t = override(&a, STR(" x = { y = 1 } "), &e);
	REQUIRE(t != NULL);
	CHECK_INT(toml_find(toml_find(t, "x"), "y")->integer, 1);
	t = override(&a, STR("x=\"quoted\""), &e);
	REQUIRE(t != NULL);
	CHECK_STR(toml_find(t, "x")->string.p, "quoted");
}

TEST(an_override_that_is_not_one_toml_value_is_a_literal)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "x=", "" },
		{ "x=  ", "" },
		{ "x=a b", "a b" },
		{ "x= a b ", "a b" },
		{ "x=1\n[other]", "1\n[other]" },
		{ "x=1\ny=2", "1\ny=2" },
		{ "x=1 2", "1 2" },
		{ "x=1 # no comment", "1 # no comment" },
		{ "x=[1", "[1" },
		{ "x=\"open", "\"open" },
		{ "x=a=b", "a=b" },
		{ "x=truely", "truely" },
		{ "x=/usr/bin:/bin", "/usr/bin:/bin" },
		{ "x=99999999999999999999", "99999999999999999999" },
		{ "x='a' 'b'", "'a' 'b'" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scoped_arena a = ARENA_INIT(1 << 20);
		struct err e = ERR_INIT;
		const struct toml *t = override(&a, str_of(cases[i].text), &e);

		REQUIRE(t != NULL);
		CHECK_INT(e.code, ERR_OK);
		CHECK_INT(t->table.count, 1);
		CHECK_INT(toml_find(t, "x")->type, TOML_STRING);
		CHECK_STR(toml_find(t, "x")->string.p, cases[i].want);
	}
}

TEST(an_override_without_a_key_or_sign_is_refused)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;

	CHECK(override(&a, STR("network"), &e) == NULL);
	CHECK_STR(e.text,
		  "--config:1:8: expected KEY=VALUE, such as permissions.dev.network.enabled=true");
	CHECK(override(&a, STR(""), &e) == NULL);
	CHECK(override(&a, STR("=1"), &e) == NULL);
	CHECK(str_has_prefix(str_of(e.text), STR("--config:1:1: expected a key")));
	CHECK(override(&a, STR("a..b=1"), &e) == NULL);
	CHECK(override(&a, STR("/x=1"), &e) == NULL);
	CHECK(override(&a, STR("a\n=1"), &e) == NULL);
	CHECK(override(&a, (struct str){ "a=\0", 3 }, &e) == NULL);
	CHECK(override(&a, STR("a=\xff"), &e) == NULL);
	CHECK_INT(e.code, ERR_SYNTAX);
}

TEST(an_override_past_a_limit_fails_and_is_no_literal)
{
	scoped_buf text = BUF_INIT(1 << 20);
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;

	buf_add_text(&text, "x=");
	for (int i = 0; i < 200; i++)
		buf_add_char(&text, '[');
	CHECK(override(&a, buf_str(&text), &e) == NULL);
	CHECK_INT(e.code, ERR_LIMIT);
}

TEST(printing_gives_the_expected_text)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	scoped_buf b = BUF_INIT(1 << 20);
	struct err e = ERR_INIT;
	const struct toml *t = parse(&a,
				     "[t]\nx = 1.0\n\"a b\" = 'q\"'\n[t.u]\n[[l]]\nn = []\n"
				     "[[l]]\n[l.m]\nd = 2020-01-01T00:00:00.5-01:30\n"
				     "[e]\n[f.g]\nmix = [1, {a = 'x'}]\n",
				     &e);

	REQUIRE(t != NULL);
	toml_print(&b, t);
	CHECK_STR(b.p, "[t]\nx = 1.0\n\"a b\" = \"q\\\"\"\n\n[t.u]\n\n[[l]]\nn = []\n\n"
		       "[[l]]\n\n[l.m]\nd = 2020-01-01T00:00:00.500000000-01:30\n\n"
		       "[e]\n\n[f.g]\nmix = [1, { a = \"x\" }]\n");
}

TEST(printed_toml_reads_back_the_same)
{
	static const char *const texts[] = {
		"",
		"a = 1",
		"a.b.c = [[], [[]], {}, {x = {}}]",
		"\"\" = ''\n\"\\u0000\" = \"\\u0000\"",
		"f = [nan, -nan, inf, -inf, -0.0, 0.1, 1e300, 5e-324, 1e22, 123456789.0]",
		"i = [-9223372036854775808, 9223372036854775807]",
		"s = \"\\u001b\\u007f\\u0085\\u202e\\t\\r\\n\\b\\f\\\"\\\\\"",
		"d = [2020-01-01, 23:59:60.000000001, 9999-12-31T00:00:00+23:59]",
		"d = 0000-01-01T00:00:00",
		"[[a]]\n[[a.b]]\nx = 1\n[[a.b]]\n[a.c]\ny = 2\n[[a]]\n",
		"a = [{}, {}]\n[b]\nc = [{d = [{}]}]",
		"x = [{}, 1]\ny.z = {}",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		scoped_arena a = ARENA_INIT(1 << 20);
		scoped_buf b = BUF_INIT(1 << 20);
		struct err e = ERR_INIT;
		const struct toml *t = parse(&a, texts[i], &e);
		const struct toml *again;

		if (!CHECK(t != NULL)) {
			printf("#   %s\n", e.text);
			continue;
		}
		toml_print(&b, t);
		again = toml_parse(&a, "again", buf_str(&b), &e);
		if (!CHECK(again && same_toml(t, again)))
			printf("#   %s\n#   %s\n", texts[i], e.text);
	}
}

TEST(keys_are_quoted_only_when_they_must)
{
	scoped_buf b = BUF_INIT(1000);

	toml_add_key(&b, STR("plain-key_1"));
	buf_add_char(&b, ' ');
	toml_add_key(&b, STR(""));
	buf_add_char(&b, ' ');
	toml_add_key(&b, STR("/a b\n"));
	buf_add_char(&b, ' ');
	toml_add_string(&b, STR("\xC3\xA9\x1b"));
	CHECK_STR(b.p, "plain-key_1 \"\" \"/a b\\n\" \"\xC3\xA9\\u001b\"");
}

TEST(types_have_names_for_messages)
{
	CHECK_STR(toml_type_name(TOML_STRING), "string");
	CHECK_STR(toml_type_name(TOML_LOCAL_DATE), "local date");
	CHECK_STR(toml_type_name(TOML_TABLE), "table");
}
