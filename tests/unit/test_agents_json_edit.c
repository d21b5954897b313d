/* SPDX-License-Identifier: MIT */
#include "../support/same_json.h"
#include "agents/json_edit.h"
#include "test.h"

enum { ROOM = 8 << 20 };

static const char *const env_x[] = { "env", "X" };

/* What the text is with env.X = "v"; or the error. */
static const char *set(struct arena *a, const char *text)
{
	static struct err e;
	struct str out;

	err_clear(&e);
	if (json_edit_set(a, str_of(text), env_x, 2, STR("\"v\""), &out, &e) < 0)
		return e.text;
	return out.p;
}

#define CHECK_EDIT(text, wanted)                   \
	do {                                       \
		scoped_arena a = ARENA_INIT(ROOM); \
		CHECK_STR(set(&a, text), wanted);  \
	} while (0)

TEST(a_missing_text_becomes_an_object)
{
	CHECK_EDIT("", "{\n  \"env\": {\n    \"X\": \"v\"\n  }\n}\n");
	CHECK_EDIT("// mine\n", "// mine\n{\n  \"env\": {\n    \"X\": \"v\"\n  }\n}\n");
	CHECK_EDIT("{}", "{\n  \"env\": {\n    \"X\": \"v\"\n  }\n}");
	CHECK_EDIT("{\n}\n", "{\n  \"env\": {\n    \"X\": \"v\"\n  }\n}\n");
}

TEST(comments_commas_and_layout_stay)
{
	CHECK_EDIT("{\n\t// why\n\t\"a\": 1, // one\n\t/* two */ \"b\": [1, 2,],\n}\n",
		   "{\n\t// why\n\t\"a\": 1, // one\n\t/* two */ \"b\": [1, 2,], "
		   "\"env\": {\"X\": \"v\"}\n}\n");
	CHECK_EDIT("{\n    \"a\": 1 // one\n    // end\n}\n",
		   "{\n    \"a\": 1, // one\n    \"env\": {\n        \"X\": \"v\"\n    }\n    // "
		   "end\n}\n");
	CHECK_EDIT("{\r\n  \"env\": {\r\n    \"Y\": \"w\"\r\n  }\r\n}\r\n",
		   "{\r\n  \"env\": {\r\n    \"Y\": \"w\",\r\n    \"X\": \"v\"\r\n  }\r\n}\r\n");
	CHECK_EDIT("{\"env\": {\"Y\": 1}, \"z\": 2}",
		   "{\"env\": {\"Y\": 1, \"X\": \"v\"}, \"z\": 2}");
	CHECK_EDIT("{\"env\": {\"X\": \"w\" /* was */}}", "{\"env\": {\"X\": \"v\" /* was */}}");
	CHECK_EDIT("{\n  \"env\": { // none\n  }\n}",
		   "{\n  \"env\": {\n    \"X\": \"v\" // none\n  }\n}");
	CHECK_EDIT("{\n  \"a\": \"// no comment, }\", /* a\n comment */\n}",
		   "{\n  \"a\": \"// no comment, }\", /* a\n comment */\n  \"env\": {\n    \"X\": "
		   "\"v\"\n  }\n}");
	CHECK_EDIT("\xef\xbb\xbf{\"\\u0065nv\": {\"X\": 1}}",
		   "\xef\xbb\xbf{\"\\u0065nv\": {\"X\": \"v\"}}");
}

TEST(what_is_there_already_is_not_touched)
{
	CHECK_EDIT("{ \"env\" : {\"X\"  :\"\\u0076\",}, }",
		   "{ \"env\" : {\"X\"  :\"\\u0076\",}, }");
}

TEST(what_could_be_read_in_two_ways_is_refused)
{
	static const char *const texts[] = {
		"[1]",
		"1",
		"{\"env\": 1}",
		"{\"env\": [\"X\"]}",
		"{\"env\": {}, \"env\": {}}",
		"{\"env\": {\"X\": 1, \"X\": 2}}",
		"{",
		"{\"a\": 1} {}",
		"{\"a\": 1 \"b\": 2}",
		"{,}",
		"/* open",
		"{\"a\": 'x'}",
		"{\"a\": \"\x01\"}",
		"{\"a\": \"\xff\"}",
		"{\"a\": [,]}",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		scoped_arena a = ARENA_INIT(ROOM);
		struct err e = ERR_INIT;
		struct str out = STR_EMPTY;

		if (!CHECK(json_edit_set(&a, str_of(texts[i]), env_x, 2, STR("1"), &out, &e) < 0))
			printf("#   %s\n", texts[i]);
	}
}

/* What the text is without env.X = "v", which was set to `was`; or the error. */
static const char *undo(struct arena *a, const char *text, const char *was)
{
	static struct err e;
	struct str out;

	err_clear(&e);
	if (json_edit_undo(a, str_of(text), str_of(was), env_x, 2, STR("\"v\""), &out, &e) < 0)
		return e.text;
	return out.p;
}

#define CHECK_UNDO(text, was, wanted)                   \
	do {                                            \
		scoped_arena a = ARENA_INIT(ROOM);      \
		CHECK_STR(undo(&a, text, was), wanted); \
	} while (0)

TEST(a_member_is_taken_out_and_all_else_stays)
{
	CHECK_UNDO("{\"env\": {\"X\": \"v\"}}", "{}", "{}");
	CHECK_UNDO("{\"env\": {\"X\": \"v\"}}", "{\"env\": {}}", "{\"env\": {}}");
	CHECK_UNDO("{\"env\": {\"X\": \"v\", \"b\": 1}}", "{}", "{\"env\": {\"b\": 1}}");
	CHECK_UNDO("{\"env\": {\"a\": 1, \"X\": \"v\"}, \"c\": 2}", "{}",
		   "{\"env\": {\"a\": 1}, \"c\": 2}");
	CHECK_UNDO("{\n  \"a\": 1, // one\n  \"env\": {\n    \"X\": \"v\"\n  }\n}\n", "{\"a\": 1}",
		   "{\n  \"a\": 1 // one\n}\n");
	CHECK_UNDO("{\r\n\t\"env\": {\r\n\t\t\"X\": \"v\",\r\n\t\t\"b\": 1,\r\n\t},\r\n}\r\n", "{}",
		   "{\r\n\t\"env\": {\r\n\t\t\"b\": 1,\r\n\t},\r\n}\r\n");
	CHECK_UNDO("{\"env\": { /* mine */ \"X\": \"v\" /* too */ , \"b\": 1 }}", "{}",
		   "{\"env\": { /* mine */  /* too */  \"b\": 1 }}");
	CHECK_UNDO("{\"env\": {\n\"X\": \"v\" // mine\n}}", "{}", "{\"env\": {\n // mine\n}}");
	CHECK_UNDO("{\"env\": {\"\\u0058\": \"\\u0076\"}}", "{}", "{}");
	CHECK_UNDO("{\"env\": {\"X\": \"v\"}, \"b\": 1}", "{\"env\": {\"X\": [1, \"a\"]}}",
		   "{\"env\": {\"X\": [1,\"a\"]}, \"b\": 1}");
}

TEST(a_member_that_is_gone_stays_gone_and_another_value_is_refused)
{
	CHECK_UNDO("{\"a\": 1 }", "{}", "{\"a\": 1 }");
	CHECK_UNDO("{\"env\": 1}", "{}", "{\"env\": 1}");
	CHECK_UNDO("", "{}", "");
	CHECK_UNDO("{\"env\": {\"X\": 1}}", "{\"env\": {\"X\": 1}}", "{\"env\": {\"X\": 1}}");
	CHECK_UNDO("{\"env\": {\"X\": \"w\"}}", "{}", "it has another value");
	CHECK_UNDO("{\"env\": {\"X\": 1}}", "{\"env\": {\"X\": 2}}", "it has another value");
}

/* ---- Random texts ---------------------------------------------------------------------------------- */

static void add_space(struct buf *b, uint64_t *seed)
{
	static const char *const spaces[] = {
		"",	      "",
		" ",	      "\n",
		"\n  ",	      "\t",
		" // c, }\n", "/* \"x\": { */",
		"\r\n",	      "/* a\n b */",
	};

	buf_add_text(b, spaces[test_random(seed) % COUNT_OF(spaces)]);
}

static void add_value(struct buf *b, uint64_t *seed, int depth)
{
	static const char *const scalars[] = { "1",    "-2.5e3", "null",      "true",
					       "\"\"", "\"//\"", "\"\\\"}\"", "\"/*\"" };
	static const char *const names[] = { "\"env\"", "\"X\"", "\"a\"", "\"\\u0058\"", "\"//\"" };
	bool is_object = test_random(seed) % 3 > 0;
	size_t count = test_random(seed) % 4;
	size_t first = test_random(seed) % COUNT_OF(names);

	if (depth == 0 || test_random(seed) % 4 == 0) {
		buf_add_text(b, scalars[test_random(seed) % COUNT_OF(scalars)]);
		return;
	}
	buf_add_char(b, is_object ? '{' : '[');
	add_space(b, seed);
	for (size_t i = 0; i < count; i++) {
		if (is_object) {
			buf_add_text(b, names[(first + i) % COUNT_OF(names)]);
			add_space(b, seed);
			buf_add_char(b, ':');
			add_space(b, seed);
		}
		add_value(b, seed, depth - 1);
		add_space(b, seed);
		if (i + 1 < count || test_random(seed) % 3 == 0)
			buf_add_char(b, ',');
		add_space(b, seed);
	}
	buf_add_char(b, is_object ? '}' : ']');
}

/* Every byte of the old text but blanks, which an empty object loses, is in the new one, in its order. */
static bool keeps_all(struct str old, struct str new)
{
	size_t at = 0;

	for (size_t i = 0; i < old.len; i++) {
		if (strchr(" \t\r\n", old.p[i]))
			continue;
		while (at < new.len &&new.p[at] != old.p[i])
			at++;
		if (at == new.len)
			return false;
		at++;
	}
	return true;
}

TEST(any_text_is_edited_or_refused_and_keeps_what_it_has)
{
	uint64_t seed = test_seed();
	size_t edited = 0, cases = test_cases(20000);

	for (size_t i = 0; i < cases; i++) {
		scoped_arena a = ARENA_INIT(ROOM);
		scoped_buf text = BUF_INIT(1 << 20);
		struct err e = ERR_INIT;
		struct str out, again;
		const struct json *old, *new;

		add_space(&text, &seed);
		add_value(&text, &seed, 4);
		add_space(&text, &seed);
		old = jsonc_parse(&a, buf_str(&text), &e);
		if (!old ||
		    json_edit_set(&a, buf_str(&text), env_x, 2, STR("\"v\""), &out, &e) < 0) {
			/* The only reasons there are. */
			CHECK(e.code == ERR_POLICY || e.code == ERR_SYNTAX);
			continue;
		}
		edited++;
		new = jsonc_parse(&a, out, &e);
		REQUIRE(new &&jsonc_find(new, env_x, 2));
		CHECK(str_is(jsonc_find(new, env_x, 2)->string, "v"));
		CHECK(jsonc_find(old, env_x, 2) || keeps_all(buf_str(&text), out));
		REQUIRE(json_edit_set(&a, out, env_x, 2, STR("\"v\""), &again, &e) == 0);
		CHECK(str_eq(again, out));
		/* Taken out again, nothing else is missing. */
		REQUIRE(json_edit_undo(&a, out, buf_str(&text), env_x, 2, STR("\"v\""), &again,
				       &e) == 0);
		new = jsonc_parse(&a, again, &e);
		REQUIRE(new);
		if (!CHECK(same_json(old, new)))
			printf("#   %s -> %s -> %s\n", text.p, out.p, again.p);
	}
	printf("# %zu of %zu were edited\n", edited, cases);
	CHECK(edited > cases / 10);
}
