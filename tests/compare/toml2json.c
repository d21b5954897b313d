/* SPDX-License-Identifier: MIT */
/*
 * Turns TOML documents into tagged JSON, {"type": "integer", "value": "1"} for 1,
 * so that other programs can compare values. Many documents a process: each
 * comes on stdin as four bytes of length (big-endian) and the text, and is
 * answered on stdout by one byte, four bytes of length and a text: '+' and the
 * JSON, or '-' and the error. '!' answers a document that changes when it is
 * printed and read again.
 */
#include <stdio.h>

#include "../support/same_toml.h"
#include "base/json.h"
#include "base/toml.h"

enum { LIMIT_BYTES = 64 << 20 };

static void add_value(struct json_writer *w, const struct toml *value);

static void add_table(struct json_writer *w, const struct toml *table)
{
	json_begin_object(w);
	for (size_t i = 0; i < table->table.count; i++) {
		/* json_key() takes a C string; a key of TOML may hold \u0000. */
		struct json_writer name = JSON_WRITER_INIT(w->out);

		if (w->has_item)
			buf_add_char(w->out, ',');
		json_add_str(&name, table->table.items[i].name);
		buf_add_char(w->out, ':');
		w->after_key = true;
		add_value(w, &table->table.items[i].value);
	}
	json_end_object(w);
}

/* The value as toml_print has it, for all that is written alike. */
static void add_printed(struct json_writer *w, const struct toml *value)
{
	struct toml_member member = { .name = STR("v"), .value = *value };
	struct toml table = { .type = TOML_TABLE, .table = { .items = &member, .count = 1 } };
	scoped_buf text = BUF_INIT(1024);
	struct str shown;

	toml_print(&text, &table);
	shown = str_from(buf_str(&text), strlen("v = "));
	json_add_str(w, str_first(shown, shown.len - 1));
}

static void add_scalar(struct json_writer *w, const struct toml *value)
{
	static const char *const types[] = {
		[TOML_STRING] = "string",
		[TOML_INTEGER] = "integer",
		[TOML_FLOAT] = "float",
		[TOML_BOOLEAN] = "bool",
		[TOML_OFFSET_DATETIME] = "datetime",
		[TOML_LOCAL_DATETIME] = "datetime-local",
		[TOML_LOCAL_DATE] = "date-local",
		[TOML_LOCAL_TIME] = "time-local",
	};

	json_begin_object(w);
	json_key(w, "type");
	json_add_text(w, types[value->type]);
	json_key(w, "value");
	if (value->type == TOML_STRING)
		json_add_str(w, value->string);
	else
		add_printed(w, value);
	json_end_object(w);
}

static void add_value(struct json_writer *w, const struct toml *value)
{
	if (value->type == TOML_TABLE) {
		add_table(w, value);
	} else if (value->type == TOML_ARRAY) {
		json_begin_array(w);
		for (size_t i = 0; i < value->array.count; i++)
			add_value(w, &value->array.items[i]);
		json_end_array(w);
	} else {
		add_scalar(w, value);
	}
}

static bool survives_printing(struct arena *a, const struct toml *document, struct err *e)
{
	scoped_buf text = BUF_INIT(LIMIT_BYTES);
	const struct toml *again;

	toml_print(&text, document);
	if (buf_check(&text, e) < 0)
		return false;
	again = toml_parse(a, "printed", buf_str(&text), e);
	return again && same_toml(document, again);
}

static int answer(char status, struct str text)
{
	unsigned char head[5] = { (unsigned char)status, (unsigned char)(text.len >> 24),
				  (unsigned char)(text.len >> 16), (unsigned char)(text.len >> 8),
				  (unsigned char)text.len };

	if (fwrite(head, 1, sizeof(head), stdout) != sizeof(head) ||
	    fwrite(text.p, 1, text.len, stdout) != text.len || fflush(stdout) != 0)
		return -1;
	return 0;
}

static int answer_document(struct str text)
{
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	scoped_buf out = BUF_INIT(LIMIT_BYTES);
	struct json_writer w = JSON_WRITER_INIT(&out);
	struct err e = ERR_INIT;
	const struct toml *document = toml_parse(&a, "input", text, &e);

	if (!document)
		return answer('-', str_of(e.text));
	if (!survives_printing(&a, document, &e))
		return answer('!', str_of(e.text));
	add_value(&w, document);
	return answer('+', buf_str(&out));
}

int main(void)
{
	static char text[LIMIT_BYTES];
	unsigned char head[4];

	while (fread(head, 1, sizeof(head), stdin) == sizeof(head)) {
		size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 |
			     head[3];

		if (len > sizeof(text) || fread(text, 1, len, stdin) != len)
			return 1;
		if (answer_document((struct str){ text, len }) < 0)
			return 1;
	}
	return 0;
}
