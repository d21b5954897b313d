/* SPDX-License-Identifier: MIT */
/* TOML values: which kind a text is, and those that hold others; see toml_parser.h. */
#include "base/toml_parser.h"

/* An array while it grows. */
struct items {
	struct toml *items;
	size_t count, room;
};

/* One element and the comma behind it, if there is one. */
static int read_item(struct toml_parser *p, uint32_t depth, struct items *items)
{
	struct toml *item = VEC_PUSH(p->work, items, p->e);
	int r;

	if (!item)
		return err_result(p->e);
	r = toml_read_value(p, depth, item);
	if (r < 0)
		return r;
	r = toml_skip_lines(p);
	if (r < 0)
		return r;
	if (toml_peek(p) == ',')
		p->at++;
	else if (toml_peek(p) != ']')
		return toml_fail_found(p, ", or ] in an array");
	return toml_skip_lines(p);
}

static int read_array(struct toml_parser *p, uint32_t depth, struct toml *out)
{
	struct items items = { .items = NULL };
	struct toml *kept;
	int r;

	if (depth > TOML_MAX_DEPTH)
		return toml_fail_depth(p, p->at);
	p->at++;
	r = toml_skip_lines(p);
	while (r == 0 && toml_peek(p) != ']')
		r = read_item(p, depth, &items);
	if (r < 0)
		return r;
	p->at++;
	kept = arena_array(p->out, items.count, sizeof(*kept), p->e);
	if (!kept)
		return err_result(p->e);
	if (items.count)
		memcpy(kept, items.items, items.count * sizeof(*kept));
	out->type = TOML_ARRAY;
	out->array.items = kept;
	out->array.count = items.count;
	return 0;
}

static int read_pairs(struct toml_parser *p, struct toml_node *table)
{

	for (;;) {
		int r = toml_read_pair(p, table);

		if (r < 0)
			return r;
		toml_skip_blanks(p);
		if (toml_peek(p) == '}')
			return 0;
		if (toml_peek(p) != ',')
			return toml_fail_found(p, ", or } in an inline table");
		p->at++;
		toml_skip_blanks(p);
		if (toml_peek(p) == '}')
			return toml_fail(p, p->at, ERR_SYNTAX,
					 "an inline table can't end in a comma; remove it");
		if (toml_peek(p) == '\n' || toml_peek(p) == '\r')
			return toml_fail(
				p, p->at, ERR_SYNTAX,
				"an inline table must stay on one line; use a [table] instead");
	}
}

static int read_inline(struct toml_parser *p, uint32_t depth, struct toml *out)
{
	/* Not on the stack: this function is on it up to TOML_MAX_DEPTH times. */
	struct toml_node *table = ARENA_NEW(p->work, struct toml_node, p->e);
	int r = 0;

	if (!table)
		return err_result(p->e);
	if (depth > TOML_MAX_DEPTH)
		return toml_fail_depth(p, p->at);
	table->kind = TABLE_DOTTED;
	table->depth = depth;
	table->value.type = TOML_TABLE;
	table->value.origin = toml_here(p);
	p->at++;
	toml_skip_blanks(p);
	if (toml_peek(p) != '}')
		r = read_pairs(p, table);
	if (r < 0)
		return r;
	p->at++;
	r = toml_finish(p, table, out);
	out->form = TOML_FORM_INLINE;
	return r;
}

/* Whether a date or a time begins here, rather than a number. */
static bool is_datetime(const struct toml_parser *p)
{
	struct str rest = str_from(p->text, p->at);
	size_t digits = 0;

	while (digits < rest.len && digits < 5 && ascii_is_digit(rest.p[digits]))
		digits++;
	if (digits == rest.len)
		return false;
	return (digits == 2 && rest.p[2] == ':') || (digits == 4 && rest.p[4] == '-');
}

static bool read_boolean(struct toml_parser *p, struct toml *out)
{
	bool is_true = toml_has_prefix(p, "true");

	if (!is_true && !toml_has_prefix(p, "false"))
		return false;
	p->at += is_true ? 4 : 5;
	out->type = TOML_BOOLEAN;
	out->boolean = is_true;
	return true;
}

int toml_read_value(struct toml_parser *p, uint32_t depth, struct toml *out)
{
	char c = toml_peek(p);

	out->origin = toml_here(p);
	if (c == '"' || c == '\'') {
		out->type = TOML_STRING;
		return toml_read_string(p, false, &out->string);
	}
	if (c == '[')
		return read_array(p, depth + 1, out);
	if (c == '{')
		return read_inline(p, depth + 1, out);
	if (read_boolean(p, out))
		return 0;
	if (is_datetime(p))
		return toml_read_datetime(p, out);
	if (ascii_is_digit(c) || ascii_is_alpha(c) || c == '+' || c == '-' || c == '_' || c == '.')
		return toml_read_number(p, out);
	return toml_fail_found(p, "a value");
}
