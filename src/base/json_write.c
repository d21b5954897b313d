/* SPDX-License-Identifier: MIT */
/* Writing JSON; see json.h. */
#include "base/json.h"
#include "base/real.h"
#include "base/utf8.h"

static void add_line(struct json_writer *w)
{
	if (w->is_line)
		return;
	buf_add_char(w->out, '\n');
	for (uint32_t i = 0; i < w->depth; i++)
		buf_add(w->out, STR("  "));
}

/* What stands before any value: nothing after a key, else comma and new line. */
static void begin_value(struct json_writer *w)
{
	if (w->after_key) {
		w->after_key = false;
		return;
	}
	if (w->has_item)
		buf_add_char(w->out, ',');
	if (w->depth > 0)
		add_line(w);
}

static void end_value(struct json_writer *w)
{
	w->has_item = w->depth > 0;
	if (w->depth == 0)
		buf_add_char(w->out, '\n');
}

static void begin(struct json_writer *w, char open)
{
	begin_value(w);
	buf_add_char(w->out, open);
	w->depth++;
	w->has_item = false;
}

static void end(struct json_writer *w, char close)
{
	w->depth--;
	if (w->has_item)
		add_line(w);
	buf_add_char(w->out, close);
	end_value(w);
}

void json_begin_object(struct json_writer *w)
{
	if (w->tree)
		json_tree_begin(w->tree, JSON_OBJECT);
	else
		begin(w, '{');
}

void json_end_object(struct json_writer *w)
{
	if (w->tree)
		json_tree_end(w->tree);
	else
		end(w, '}');
}

void json_begin_array(struct json_writer *w)
{
	if (w->tree)
		json_tree_begin(w->tree, JSON_ARRAY);
	else
		begin(w, '[');
}

void json_end_array(struct json_writer *w)
{
	if (w->tree)
		json_tree_end(w->tree);
	else
		end(w, ']');
}

/* A path need not be UTF-8, and a reader has to get back the same bytes. */
static void add_string(struct buf *b, struct str s)
{
	utf8_add_quoted(b, s, true);
}

static void add_name(struct json_writer *w, struct str name)
{
	if (w->tree) {
		json_tree_name(w->tree, name);
		return;
	}
	begin_value(w);
	add_string(w->out, name);
	buf_add(w->out, w->is_line ? STR(":") : STR(": "));
	w->after_key = true;
}

void json_key(struct json_writer *w, const char *name)
{
	add_name(w, str_of(name));
}

static void add_word(struct json_writer *w, const char *word)
{
	begin_value(w);
	buf_add_text(w->out, word);
	end_value(w);
}

/* Long lists of numbers are written: printf() would take most of the time. */
static void add_int(struct buf *b, int64_t n)
{
	char digits[24];
	size_t at = sizeof(digits);
	uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	do
		digits[--at] = (char)('0' + rest % 10);
	while (rest /= 10);
	if (n < 0)
		digits[--at] = '-';
	buf_add(b, (struct str){ digits + at, sizeof(digits) - at });
}

/* Neither an array nor an object. */
static void add_scalar(struct json_writer *w, struct json value)
{
	char text[REAL_TEXT_BYTES];

	if (w->tree) {
		json_tree_add(w->tree, value);
	} else if (value.type == JSON_STRING) {
		begin_value(w);
		add_string(w->out, value.string);
		end_value(w);
	} else if (value.type == JSON_INT) {
		begin_value(w);
		add_int(w->out, value.integer);
		end_value(w);
	} else if (value.type == JSON_REAL) {
		add_word(w, real_print(value.real, text));
	} else if (value.type == JSON_BOOL) {
		add_word(w, value.boolean ? "true" : "false");
	} else {
		add_word(w, "null");
	}
}

void json_add_str(struct json_writer *w, struct str s)
{
	add_scalar(w, (struct json){ .type = JSON_STRING, .string = s });
}

void json_add_text(struct json_writer *w, const char *text)
{
	json_add_str(w, str_of(text));
}

void json_add_int(struct json_writer *w, int64_t n)
{
	add_scalar(w, (struct json){ .type = JSON_INT, .integer = n });
}

void json_add_bool(struct json_writer *w, bool b)
{
	add_scalar(w, (struct json){ .type = JSON_BOOL, .boolean = b });
}

void json_add_null(struct json_writer *w)
{
	add_scalar(w, (struct json){ .type = JSON_NULL });
}

void json_add_raw(struct json_writer *w, struct str json)
{
	begin_value(w);
	buf_add(w->out, json);
	end_value(w);
}

void json_fail(struct json_writer *w, enum err_code code)
{
	if (!w->tree)
		w->out->failed = code;
	else if (w->tree->e.code == ERR_OK)
		(void)FAIL(&w->tree->e, code, "a value is missing");
}

static void add_array(struct json_writer *w, const struct json *value)
{
	json_begin_array(w);
	for (size_t i = 0; i < value->array.count; i++)
		json_add_value(w, &value->array.items[i]);
	json_end_array(w);
}

void json_add_members(struct json_writer *w, const struct json *object)
{
	for (size_t i = 0; i < object->object.count; i++) {
		add_name(w, object->object.items[i].name);
		json_add_value(w, &object->object.items[i].value);
	}
}

static void add_object(struct json_writer *w, const struct json *value)
{
	json_begin_object(w);
	json_add_members(w, value);
	json_end_object(w);
}

void json_add_value(struct json_writer *w, const struct json *value)
{
	if (value->type == JSON_ARRAY)
		add_array(w, value);
	else if (value->type == JSON_OBJECT)
		add_object(w, value);
	else
		add_scalar(w, *value);
}
