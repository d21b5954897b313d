/* SPDX-License-Identifier: MIT */
/*
 * Writing TOML; see toml.h. In each table the plain values come first and the
 * sub-tables after them, under headers of their own; arrays that hold nothing but
 * tables become [[headers]], all others stay on one line.
 */

#include "base/real.h"
#include "base/toml.h"
#include "base/utf8.h"

/* The way from the document to a table, innermost first. */
struct toml_way {
	const struct toml_way *up;
	struct str name;
};

void toml_add_string(struct buf *b, struct str s)
{
	/* The caller must pass UTF-8, but other bytes do not make the output malformed either. */
	utf8_add_quoted(b, s, false);
}

void toml_add_key(struct buf *b, struct str key)
{
	bool is_bare = key.len > 0;

	for (size_t i = 0; i < key.len; i++)
		is_bare = is_bare && (ascii_is_alpha(key.p[i]) || ascii_is_digit(key.p[i]) ||
				      key.p[i] == '_' || key.p[i] == '-');
	if (is_bare)
		buf_add(b, key);
	else
		toml_add_string(b, key);
}

static void add_float(struct buf *b, double value)
{
	if (__builtin_isfinite(value)) {
		char text[REAL_TEXT_BYTES];

		buf_add_text(b, real_print(value, text));
		return;
	}
	if (__builtin_isnan(value))
		buf_add_text(b, __builtin_signbit(value) ? "-nan" : "nan");
	else
		buf_add_text(b, value < 0 ? "-inf" : "inf");
}

static void add_time(struct buf *b, const struct toml_datetime *t)
{
	buf_printf(b, "%02d:%02d:%02d", t->hour, t->minute, t->second);
	if (t->nanosecond)
		buf_printf(b, ".%09u", (unsigned)t->nanosecond);
}

static void add_datetime(struct buf *b, enum toml_type type, const struct toml_datetime *t)
{
	int offset = t->offset_minutes < 0 ? -t->offset_minutes : t->offset_minutes;

	if (type != TOML_LOCAL_TIME)
		buf_printf(b, "%04d-%02d-%02d", t->year, t->month, t->day);
	if (type == TOML_LOCAL_DATETIME || type == TOML_OFFSET_DATETIME)
		buf_add_char(b, 'T');
	if (type != TOML_LOCAL_DATE)
		add_time(b, t);
	if (type == TOML_OFFSET_DATETIME && offset == 0)
		buf_add_char(b, 'Z');
	else if (type == TOML_OFFSET_DATETIME)
		buf_printf(b, "%c%02d:%02d", t->offset_minutes < 0 ? '-' : '+', offset / 60,
			   offset % 60);
}

static void add_value(struct buf *b, const struct toml *value);

static void add_array(struct buf *b, const struct toml *value)
{
	buf_add_char(b, '[');
	for (size_t i = 0; i < value->array.count; i++) {
		if (i > 0)
			buf_add(b, STR(", "));
		add_value(b, &value->array.items[i]);
	}
	buf_add_char(b, ']');
}

static void add_inline_table(struct buf *b, const struct toml *value)
{
	buf_add_char(b, '{');
	for (size_t i = 0; i < value->table.count; i++) {
		buf_add_text(b, i > 0 ? ", " : " ");
		toml_add_key(b, value->table.items[i].name);
		buf_add(b, STR(" = "));
		add_value(b, &value->table.items[i].value);
	}
	buf_add_text(b, value->table.count > 0 ? " }" : "}");
}

static void add_value(struct buf *b, const struct toml *value)
{
	switch (value->type) {
	case TOML_STRING:
		toml_add_string(b, value->string);
		break;
	case TOML_INTEGER:
		buf_printf(b, "%lld", (long long)value->integer);
		break;
	case TOML_FLOAT:
		add_float(b, value->real);
		break;
	case TOML_BOOLEAN:
		buf_add_text(b, value->boolean ? "true" : "false");
		break;
	case TOML_OFFSET_DATETIME:
	case TOML_LOCAL_DATETIME:
	case TOML_LOCAL_DATE:
	case TOML_LOCAL_TIME:
		add_datetime(b, value->type, &value->datetime);
		break;
	case TOML_ARRAY:
		add_array(b, value);
		break;
	case TOML_TABLE:
		add_inline_table(b, value);
		break;
	}
}

static bool is_table_list(const struct toml *value)
{
	if (value->type != TOML_ARRAY || value->array.count == 0)
		return false;
	for (size_t i = 0; i < value->array.count; i++)
		if (value->array.items[i].type != TOML_TABLE)
			return false;
	return true;
}

static void add_way(struct buf *b, const struct toml_way *way)
{
	if (way->up) {
		add_way(b, way->up);
		buf_add_char(b, '.');
	}
	toml_add_key(b, way->name);
}

static void add_header(struct buf *b, const struct toml_way *way, bool is_list)
{
	if (b->len > 0)
		buf_add_char(b, '\n');
	buf_add_text(b, is_list ? "[[" : "[");
	add_way(b, way);
	buf_add_text(b, is_list ? "]]\n" : "]\n");
}

/* Whether anything has to stand right below the table's own header. */
static bool needs_header(const struct toml *table)
{
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml *value = &table->table.items[i].value;

		if (value->type != TOML_TABLE && !is_table_list(value))
			return true;
	}
	return table->table.count == 0;
}

static void add_table(struct buf *b, const struct toml *table, const struct toml_way *way);

static void add_below(struct buf *b, const struct toml *value, const struct toml_way *way)
{
	if (value->type == TOML_TABLE) {
		if (needs_header(value))
			add_header(b, way, false);
		add_table(b, value, way);
	} else if (is_table_list(value)) {
		for (size_t i = 0; i < value->array.count; i++) {
			add_header(b, way, true);
			add_table(b, &value->array.items[i], way);
		}
	}
}

static void add_table(struct buf *b, const struct toml *table, const struct toml_way *way)
{
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *member = &table->table.items[i];

		if (member->value.type == TOML_TABLE || is_table_list(&member->value))
			continue;
		toml_add_key(b, member->name);
		buf_add(b, STR(" = "));
		add_value(b, &member->value);
		buf_add_char(b, '\n');
	}
	for (size_t i = 0; i < table->table.count; i++) {
		struct toml_way below = { .up = way, .name = table->table.items[i].name };

		add_below(b, &table->table.items[i].value, &below);
	}
}

void toml_print(struct buf *b, const struct toml *table)
{
	if (table->type == TOML_TABLE)
		add_table(b, table, NULL);
}
