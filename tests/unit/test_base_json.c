/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "../support/same_json.h"
#include "base/json.h"
#include "base/utf8.h"
#include "test.h"

static const struct json *parse(struct arena *a, const char *text, struct err *e)
{
	return json_parse(a, str_of(text), e);
}

static const char *refusal(struct str text, struct err *e)
{
	scoped_arena a = ARENA_INIT(1 << 20);

	err_clear(e);
	return json_parse(&a, text, e) ? "accepted" : e->text;
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

TEST(every_type_is_read)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	const struct json *t =
		parse(&a,
		      " {\"n\": null, \"t\": true, \"f\": false, \"i\": -12,\n"
		      "\"r\": 1.5e1, \"s\": \"x\", \"a\": [1, []], \"o\": {}} \r\n\t",
		      &e);

	REQUIRE(t && t->type == JSON_OBJECT);
	CHECK_INT(t->object.count, 8);
	CHECK_INT(json_find(t, "n")->type, JSON_NULL);
	CHECK(json_find(t, "t")->type == JSON_BOOL && json_find(t, "t")->boolean);
	CHECK(json_find(t, "f")->type == JSON_BOOL && !json_find(t, "f")->boolean);
	CHECK_INT(json_find(t, "i")->integer, -12);
	CHECK(json_find(t, "r")->type == JSON_REAL && fabs(json_find(t, "r")->real - 15) < 1e-9);
	CHECK_STR(json_find(t, "s")->string.p, "x");
	CHECK_INT(json_find(t, "a")->array.count, 2);
	CHECK_INT(json_find(t, "a")->array.items[1].type, JSON_ARRAY);
	CHECK_INT(json_find(t, "o")->object.count, 0);
	CHECK(json_find(t, "absent") == NULL);
	CHECK(json_find(json_find(t, "i"), "x") == NULL);
}

TEST(values_know_their_place)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	const struct json *t = parse(&a, "\n {\"a\":\n\t[1,\n2]}", &e);
	const struct json *list;

	REQUIRE(t != NULL);
	CHECK_INT(t->line, 2);
	CHECK_INT(t->column, 2);
	list = json_find(t, "a");
	CHECK_INT(list->line, 3);
	CHECK_INT(list->column, 2);
	CHECK_INT(list->array.items[1].line, 4);
	CHECK_INT(list->array.items[1].column, 1);
}

TEST(strings_are_unescaped)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	const struct json *t =
		parse(&a, "\"\\b\\t\\n\\f\\r\\\"\\\\\\/\\u00e9\\uD83D\\uDE00\\u20AC\x7f\"", &e);

	REQUIRE(t != NULL);
	CHECK_STR(t->string.p, "\b\t\n\f\r\"\\/\xC3\xA9\xF0\x9F\x98\x80\xE2\x82\xAC\x7f");
}

TEST(integers_are_exact_or_refused)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;

	CHECK(parse(&a, "9223372036854775807", &e)->integer == INT64_MAX);
	CHECK(parse(&a, "-9223372036854775808", &e)->integer == INT64_MIN);
	CHECK_INT(parse(&a, "-0", &e)->type, JSON_INT);
	CHECK(is_refused_at("9223372036854775808", "1:1"));
	CHECK(is_refused_at(" -9223372036854775809", "1:2"));
	CHECK(is_refused_at("[1, 100000000000000000000]", "1:5"));
	CHECK(is_refused_at("1e309", "1:1"));
	CHECK(is_refused_at("-1e999999999", "1:1"));
	CHECK(parse(&a, "1e-999999999", &e) != NULL);
}

TEST(malformed_json_is_refused_with_line_and_column)
{
	CHECK(is_refused_at("", "1:1"));
	CHECK(is_refused_at(" \n ", "2:2"));
	CHECK(is_refused_at("{", "1:2"));
	CHECK(is_refused_at("[1,]", "1:4"));
	CHECK(is_refused_at("[1 2]", "1:4"));
	CHECK(is_refused_at("[,]", "1:2"));
	CHECK(is_refused_at("{\"a\":1,}", "1:8"));
	CHECK(is_refused_at("{\"a\" 1}", "1:6"));
	CHECK(is_refused_at("{a:1}", "1:2"));
	CHECK(is_refused_at("{1:1}", "1:2"));
	CHECK(is_refused_at("{\"a\":}", "1:6"));
	CHECK(is_refused_at("[1] 2", "1:5"));
	CHECK(is_refused_at("nul", "1:1"));
	CHECK(is_refused_at("nulll", "1:5"));
	CHECK(is_refused_at("True", "1:1"));
	CHECK(is_refused_at("NaN", "1:1"));
	CHECK(is_refused_at("Infinity", "1:1"));
	CHECK(is_refused_at("+1", "1:1"));
	CHECK(is_refused_at("01", "1:1"));
	CHECK(is_refused_at("-", "1:2"));
	CHECK(is_refused_at("-01", "1:1"));
	CHECK(is_refused_at(".5", "1:1"));
	CHECK(is_refused_at("1.", "1:3"));
	CHECK(is_refused_at("1.e1", "1:3"));
	CHECK(is_refused_at("1e", "1:3"));
	CHECK(is_refused_at("1e+", "1:4"));
	CHECK(is_refused_at("0x1", "1:2"));
	CHECK(is_refused_at("// x\n1", "1:1"));
	CHECK(is_refused_at("'a'", "1:1"));
	CHECK(is_refused_at("\xEF\xBB\xBF"
			    "1",
			    "1:1"));
	CHECK(is_refused_at("\x0c"
			    "1",
			    "1:1"));
}

TEST(strings_that_are_not_clean_are_refused)
{
	CHECK(is_refused_at("[\n\"abc]", "2:1"));
	CHECK(is_refused_at("\"a\nb\"", "1:3"));
	CHECK(is_refused_at("\"\x01\"", "1:2"));
	CHECK(is_refused_at("\"\\x41\"", "1:2"));
	CHECK(is_refused_at("\"\\'\"", "1:2"));
	CHECK(is_refused_at("\"a\\u12g4\"", "1:3"));
	CHECK(is_refused_at("\"\\u0000\"", "1:2"));
	CHECK(is_refused_at("\"\\ud800\"", "1:2"));
	CHECK(is_refused_at("\"\\udc00\"", "1:2"));
	CHECK(is_refused_at("\"\\ud800\\u0041\"", "1:2"));
	CHECK(is_refused_at("\"\\ud800\\ud800\"", "1:2"));
	CHECK(is_refused_at("\"\\ud800\\\"", "1:2"));
	CHECK(is_refused_at("\"\\", "1:2"));
}

TEST(bytes_that_are_no_text_are_refused_with_their_place)
{
	struct err e = ERR_INIT;

	CHECK_STR(refusal(STR("[1,\n \"\xff\"]"), &e), "2:3: byte 0xFF is not UTF-8 text");
	CHECK_STR(refusal((struct str){ "[1]\0", 4 }, &e), "1:4: a NUL byte is not allowed");
	CHECK_STR(refusal((struct str){ "\"a\0b\"", 5 }, &e), "1:3: a NUL byte is not allowed");
}

TEST(a_name_can_be_used_once_however_it_is_written)
{
	struct err e = ERR_INIT;

	CHECK_STR(refusal(STR("{\"a\": 1, \"\\u0061\": 2}"), &e),
		  "1:10: the object has two members called 'a'");
	CHECK_STR(refusal(STR("{\"\\u001b\": 1, \"\\u001b\": 2}"), &e),
		  "1:15: the object has two members called '\\x1b'");
	CHECK_STR(refusal(STR("[{\"a\": {\"a\": 1}}, {\"a\": 1}]"), &e), "accepted");
}

TEST(messages_say_what_was_expected)
{
	struct err e = ERR_INIT;

	CHECK_STR(refusal(STR("[1 2]"), &e), "1:4: expected , or ] in an array, found '2'");
	CHECK_STR(refusal(STR("{\"a\""), &e),
		  "1:5: expected : after the name, found the end of the text");
	CHECK_STR(refusal(STR("[1] \x1b"), &e), "1:5: expected the end of the text, found '\\x1b'");
}

TEST(depth_is_limited)
{
	for (int kind = 0; kind < 2; kind++) {
		static const int depths[] = { JSON_MAX_DEPTH, JSON_MAX_DEPTH + 1, 10000, 1000000 };

		for (size_t i = 0; i < COUNT_OF(depths); i++) {
			scoped_buf text = BUF_INIT(10 << 20);
			scoped_arena a = ARENA_INIT(1 << 20);
			struct err e = ERR_INIT;

			for (int k = 0; k < depths[i]; k++)
				buf_add_text(&text, kind ? "{\"a\":" : "[");
			buf_add_text(&text, "1");
			for (int k = 0; k < depths[i]; k++)
				buf_add_char(&text, kind ? '}' : ']');
			CHECK(!json_parse(&a, buf_str(&text), &e) == (depths[i] > JSON_MAX_DEPTH));
			CHECK_INT(e.code, depths[i] <= JSON_MAX_DEPTH ? ERR_OK : ERR_LIMIT);
			if (e.code == ERR_LIMIT)
				CHECK(strstr(e.text, "nested more than 128 levels") != NULL);
		}
	}
}

TEST(memory_is_bounded_and_the_error_says_where)
{
	scoped_buf text = BUF_INIT(1 << 20);
	scoped_arena a = ARENA_INIT(64 << 10);
	struct err e = ERR_INIT;

	buf_add_char(&text, '[');
	for (int i = 0; i < 5000; i++)
		buf_add_text(&text, "\"x\",");
	buf_add_text(&text, "1]");
	CHECK(json_parse(&a, buf_str(&text), &e) == NULL);
	CHECK_INT(e.code, ERR_LIMIT);
	CHECK(str_has_prefix(str_of(e.text), STR("1:")));
	CHECK(strstr(e.text, "the limit of 65536 bytes of memory") != NULL);
}

TEST(a_hundred_thousand_names_are_fast_in_any_order)
{
	static const unsigned steps[] = { 1, 99999, 7919 };

	for (size_t s = 0; s < COUNT_OF(steps); s++) {
		scoped_buf text = BUF_INIT(10 << 20);
		scoped_arena a = ARENA_INIT((size_t)1 << 30);
		struct err e = ERR_INIT;
		clock_t start;

		for (unsigned i = 0; i < 100000; i++)
			buf_printf(&text, "%s\"key_%06u\": %u", i ? ", " : "{",
				   (unsigned)((uint64_t)i * steps[s] % 100000), i);
		buf_add_char(&text, '}');
		start = clock();
		CHECK(json_parse(&a, buf_str(&text), &e) != NULL);
		CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 5);
	}
}

TEST(the_writer_keeps_commas_and_indentation)
{
	scoped_buf b = BUF_INIT(10000);
	struct json_writer w = JSON_WRITER_INIT(&b);

	json_begin_object(&w);
	json_key(&w, "access");
	json_add_text(&w, "read");
	json_key(&w, "empty");
	json_begin_object(&w);
	json_end_object(&w);
	json_key(&w, "list");
	json_begin_array(&w);
	json_add_int(&w, -1);
	json_begin_array(&w);
	json_end_array(&w);
	json_add_bool(&w, true);
	json_add_null(&w);
	json_end_array(&w);
	json_end_object(&w);
	CHECK_STR(b.p, "{\n"
		       "  \"access\": \"read\",\n"
		       "  \"empty\": {},\n"
		       "  \"list\": [\n"
		       "    -1,\n"
		       "    [],\n"
		       "    true,\n"
		       "    null\n"
		       "  ]\n"
		       "}\n");
}

TEST(a_lone_value_is_a_line)
{
	scoped_buf b = BUF_INIT(10000);
	struct json_writer w = JSON_WRITER_INIT(&b);

	json_add_int(&w, INT64_MIN);
	json_add_text(&w, "next");
	CHECK_STR(b.p, "-9223372036854775808\n\"next\"\n");
}

TEST(strings_are_escaped_for_programs_and_terminals)
{
	static const struct {
		struct str text;
		const char *want;
	} cases[] = {
		{ STR_INIT("a\"\\/\b\t\n\f\r"), "\"a\\\"\\\\/\\b\\t\\n\\f\\r\"\n" },
		{ STR_INIT("\x01\x1b\x7f"), "\"\\u0001\\u001b\\u007f\"\n" },
		{ STR_INIT("\xC2\x9B\xE2\x80\xAE"), "\"\\u009b\\u202e\"\n" },
		{ STR_INIT("\xC3\xA9\xF0\x9F\x98\x80"), "\"\xC3\xA9\xF0\x9F\x98\x80\"\n" },
		{ STR_INIT("a\xff\xC3z"), "\"a\\udcff\\udcc3z\"\n" },
		{ STR_INIT("\xED\xA0\x80"), "\"\\udced\\udca0\\udc80\"\n" },
		{ STR_INIT("a\0b"), "\"a\\u0000b\"\n" },
		{ STR_INIT(""), "\"\"\n" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		scoped_buf b = BUF_INIT(10000);
		struct json_writer w = JSON_WRITER_INIT(&b);

		json_add_str(&w, cases[i].text);
		CHECK_STR(b.p, cases[i].want);
	}
}

TEST(written_json_reads_back_the_same)
{
	static const char *const texts[] = {
		"null",
		"[]",
		"{\"\": {\"a\": [[], {}, \"\"]}, \"b\": -0.0}",
		"[1, 1.0, 1e300, 5e-324, 0.1, -9223372036854775808, 9223372036854775807]",
		"\"\\u001b\\u007f\\u0085\\u202e\\t\\ud83d\\ude00\"",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		scoped_arena a = ARENA_INIT(1 << 20);
		scoped_buf b = BUF_INIT(10000);
		struct json_writer w = JSON_WRITER_INIT(&b);
		struct err e = ERR_INIT;
		const struct json *value = parse(&a, texts[i], &e);
		const struct json *again;

		REQUIRE(value != NULL);
		json_add_value(&w, value);
		again = json_parse(&a, buf_str(&b), &e);
		CHECK(again && same_json(value, again));
	}
}
