/* SPDX-License-Identifier: MIT */
/*
 * JSON compared with jansson: over thousands of damaged texts both must accept
 * and refuse the same ones, and mean the same by them.
 *
 * Two deliberate differences: our depth limit is lower, and a raw NUL is refused
 * everywhere, where jansson (2.14) skips one right behind a word or a number.
 */
/* Both libraries have these names. */
#define JSON_NULL   OUR_NULL
#define JSON_REAL   OUR_REAL
#define JSON_STRING OUR_STRING
#define JSON_ARRAY  OUR_ARRAY
#define JSON_OBJECT OUR_OBJECT
#include "base/json.h"
#undef JSON_NULL
#undef JSON_REAL
#undef JSON_STRING
#undef JSON_ARRAY
#undef JSON_OBJECT

#include "base/real.h"
#include "test.h"

#ifndef HAVE_JANSSON

TEST(json_agrees_with_jansson)
{
	SKIP("jansson was not found when this was built");
}

#else
#include <jansson.h>

static const char *const seeds[] = {
	"{\"a\": [1, 2.5, -3e-2, null, true, false], \"b\": {\"c\": \"d\"}}",
	"[\"\\u00e9\\ud83d\\ude00\\n\\t\\\\\\\"\\/\", \"\xC3\xA9\", \"\", \" \"]",
	"[0, -0, 0.0, -0.0, 10, 1e5, 1E+5, 1e-5, 9223372036854775807, -9223372036854775808]",
	"{\"\": {}, \" \": [], \"x\": {\"x\": {\"x\": 1}}}",
	"[123456789.123456789, 1.7976931348623157e308, 4.9e-324, 0.1, 1e23]",
	" \t\r\n{ \"k\" : [ ] , \"l\" : { } } \n",
	"\"text\"",
	"-17",
	"true",
};

static const char *const pieces[] = {
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	"\"",
	"\\",
	"\\u",
	"\\ud800",
	"\\udc00",
	"\\u0000",
	"\\u0041",
	"null",
	"true",
	"false",
	"0",
	"1",
	"9",
	"-",
	"+",
	".",
	"e",
	"E",
	"e9",
	"e400",
	"00",
	"\n",
	"\t",
	" ",
	"\x7f",
	"\x01",
	"\xff",
	"\xC3",
	"\xC3\xA9",
	"\xED\xA0\x80",
	"\xEF\xBB\xBF",
	"\"a\":",
	"\"a\"",
	"[[",
	"]]",
	"//",
	"'",
	"99999999999999999999",
	"-9223372036854775809",
	"{\"a\":1,\"a\":2}",
};

static bool is_same(const struct json *ours, const json_t *theirs);

static bool is_same_object(const struct json *ours, const json_t *theirs)
{
	if (!json_is_object(theirs) || json_object_size(theirs) != ours->object.count)
		return false;
	for (size_t i = 0; i < ours->object.count; i++) {
		/* No name holds a NUL: both refuse it. */
		const json_t *value = json_object_get(theirs, ours->object.items[i].name.p);

		if (!value || !is_same(&ours->object.items[i].value, value))
			return false;
	}
	return true;
}

static bool is_same_array(const struct json *ours, const json_t *theirs)
{
	if (!json_is_array(theirs) || json_array_size(theirs) != ours->array.count)
		return false;
	for (size_t i = 0; i < ours->array.count; i++)
		if (!is_same(&ours->array.items[i], json_array_get(theirs, i)))
			return false;
	return true;
}

static bool is_same(const struct json *ours, const json_t *theirs)
{
	switch (ours->type) {
	case OUR_NULL:
		return json_is_null(theirs);
	case JSON_BOOL:
		return json_is_boolean(theirs) && json_is_true(theirs) == ours->boolean;
	case JSON_INT:
		return json_is_integer(theirs) && json_integer_value(theirs) == ours->integer;
	case OUR_REAL:
		return json_is_real(theirs) && real_is_same(ours->real, json_real_value(theirs));
	case OUR_STRING:
		return json_is_string(theirs) &&
		       str_eq(ours->string, (struct str){ json_string_value(theirs),
							  json_string_length(theirs) });
	case OUR_ARRAY:
		return is_same_array(ours, theirs);
	case OUR_OBJECT:
		return is_same_object(ours, theirs);
	}
	return false;
}

static json_t *read_theirs(struct str text)
{
	json_error_t ignored;

	return json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &ignored);
}

/* 1 when both accept, 0 when both refuse, -1 when they differ. */
static int compare(struct str text)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	const struct json *ours = json_parse(&a, text, &e);
	json_t *theirs = read_theirs(text);
	int result = ours && theirs ? 1 : 0;

	if (!ours && theirs && str_has_nul(text)) {
		CHECK(strstr(e.text, "NUL") != NULL);
	} else if (!ours != !theirs || (ours && !is_same(ours, theirs))) {
		printf("# differs (ours: %s, theirs %s): ", ours ? "accepted" : e.text,
		       theirs ? "accepted" : "refused");
		for (size_t i = 0; i < text.len; i++)
			printf((unsigned char)text.p[i] >= 0x20 && text.p[i] < 0x7f ? "%c"
										    : "\\x%02x",
			       (unsigned char)text.p[i]);
		printf("\n");
		result = -1;
	}
	json_decref(theirs);
	return result;
}

static void replace(struct buf *b, size_t from, size_t count, struct str with)
{
	scoped_buf changed = BUF_INIT(1 << 16);

	buf_add(&changed, str_first(buf_str(b), from));
	buf_add(&changed, with);
	buf_add(&changed, str_from(buf_str(b), from + count));
	buf_clear(b);
	buf_add(b, buf_str(&changed));
}

/* One of: a piece put in, some bytes cut out, a byte changed, a part of another seed. */
static void damage(struct buf *b, uint64_t *state)
{
	size_t at = test_random(state) % (b->len + 1);
	size_t count = test_random(state) % 4;
	struct str other = str_of(seeds[test_random(state) % COUNT_OF(seeds)]);
	char byte = (char)test_random(state);
	size_t from;

	switch (test_random(state) % 4) {
	case 0:
		replace(b, at, count, str_of(pieces[test_random(state) % COUNT_OF(pieces)]));
		break;
	case 1:
		replace(b, at, count, STR_EMPTY);
		break;
	case 2:
		replace(b, at, 1, (struct str){ &byte, 1 });
		break;
	default:
		from = test_random(state) % other.len;
		replace(b, at, count, str_first(str_from(other, from), test_random(state) % 12));
		break;
	}
}

TEST(json_agrees_with_jansson)
{
	uint64_t state = test_seed();
	size_t cases = test_cases(50000);
	size_t accepted = 0;
	size_t differ = 0;

	for (size_t i = 0; i < cases && differ < 10; i++) {
		scoped_buf text = BUF_INIT(1 << 16);
		int r;

		buf_add_text(&text, seeds[test_random(&state) % COUNT_OF(seeds)]);
		for (size_t k = test_random(&state) % 4; k > 0; k--)
			damage(&text, &state);
		r = compare(buf_str(&text));
		accepted += r > 0;
		differ += r < 0;
	}
	printf("# %zu texts, both accepted %zu\n", cases, accepted);
	CHECK_INT(differ, 0);
	CHECK(accepted > cases / 20); /* or this compares only refusals */
	CHECK(accepted < cases);
}

TEST(jansson_alone_accepts_what_is_nested_deeper_than_our_limit)
{
	char text[2 * (JSON_MAX_DEPTH + 1)];
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	json_t *theirs;

	memset(text, '[', JSON_MAX_DEPTH + 1);
	memset(text + JSON_MAX_DEPTH + 1, ']', JSON_MAX_DEPTH + 1);
	CHECK(json_parse(&a, (struct str){ text, sizeof(text) }, &e) == NULL);
	CHECK_INT(e.code, ERR_LIMIT);
	theirs = read_theirs((struct str){ text, sizeof(text) });
	CHECK(theirs != NULL);
	json_decref(theirs);
	CHECK_INT(compare((struct str){ text + 1, sizeof(text) - 2 }), 1);
}
#endif
