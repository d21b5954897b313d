/* SPDX-License-Identifier: MIT */
/* See toml_edit.h. As in json_edit.c, the result is parsed again and compared. */
#include "agents/toml_edit.h"

enum { EDIT_MAX_BYTES = 4 << 20 };

struct edit {
	struct arena *a;
	struct str text;
	const char *table, *key;
	struct str value;
	struct buf *out;
	struct err *e;
};

/* The offset of a place; lines and columns count from 1. */
static size_t offset_of(struct str text, const struct origin *origin)
{
	size_t at = 0;

	for (uint32_t line = 1; line < origin->line; line++)
		at += str_find(str_from(text, at), '\n') + 1;
	return at + origin->column - 1;
}

static size_t find_line_start(struct str text, size_t at)
{
	while (at > 0 && text.p[at - 1] != '\n')
		at--;
	return at;
}

static void copy_until(struct edit *d, size_t from, size_t to)
{
	buf_add(d->out, (struct str){ d->text.p + from, to - from });
}

static const char *newline_of(const struct edit *d)
{
	size_t at = str_find(d->text, '\n');

	return at > 0 && at < d->text.len && d->text.p[at - 1] == '\r' ? "\r\n" : "\n";
}

static void add_line(struct edit *d, const char *prefix)
{
	buf_printf(d->out, "%s%s%s = ", prefix, prefix[0] ? "." : "", d->key);
	buf_add(d->out, d->value);
	buf_add_text(d->out, newline_of(d));
}

/* A table of its own, at the end. */
static void add_table(struct edit *d)
{
	copy_until(d, 0, d->text.len);
	if (d->text.len && d->text.p[d->text.len - 1] != '\n')
		buf_add_text(d->out, newline_of(d));
	if (d->text.len)
		buf_add_text(d->out, newline_of(d));
	buf_printf(d->out, "[%s]%s", d->table, newline_of(d));
	add_line(d, "");
}

static const struct toml_member *find_member(const struct toml *table, const char *name)
{
	for (size_t i = 0; table && table->type == TOML_TABLE && i < table->table.count; i++)
		if (str_is(table->table.items[i].name, name))
			return &table->table.items[i];
	return NULL;
}

/* Where the key is not there yet. */
static void add_key(struct edit *d, const struct toml_member *table)
{
	size_t at;

	if (!table || table->value.form == TOML_FORM_IMPLICIT) {
		add_table(d);
		return;
	}
	at = offset_of(d->text, table->value.form == TOML_FORM_INLINE ? &table->value.origin
								      : &table->name_origin);
	if (table->value.form == TOML_FORM_INLINE) {
		copy_until(d, 0, at + 1);
		buf_printf(d->out, " %s = ", d->key);
		buf_add(d->out, d->value);
		buf_add_text(d->out, table->value.table.count ? "," : " ");
		copy_until(d, at + 1, d->text.len);
		return;
	}
	at = find_line_start(d->text, at);
	if (table->value.form == TOML_FORM_HEADER)
		at = MIN_OF(at + str_find(str_from(d->text, at), '\n') + 1, d->text.len);
	copy_until(d, 0, at);
	if (at > 0 && d->text.p[at - 1] != '\n')
		buf_add_text(d->out, newline_of(d));
	add_line(d, table->value.form == TOML_FORM_DOTTED ? d->table : "");
	copy_until(d, at, d->text.len);
}

/* A word can be replaced; where another value ends is not looked for. */
static int replace(struct edit *d, const struct toml *value)
{
	bool is_true = value->type == TOML_BOOLEAN && value->boolean;
	struct str word = is_true ? STR("true") : STR("false");
	size_t at = offset_of(d->text, &value->origin);

	if (value->type != TOML_BOOLEAN || !str_has_prefix(str_from(d->text, at), word))
		return FAIL_AT(d->e, ERR_POLICY, value->origin,
			       "'%s.%s' has another value already; remove it, or set it to %.*s",
			       d->table, d->key, STR_ARG(d->value));
	copy_until(d, 0, at);
	buf_add(d->out, d->value);
	copy_until(d, at + word.len, d->text.len);
	return 0;
}

/* All of a document but the key, and whether that has the value. */
static int print_rest(struct edit *d, const struct toml *root, struct str *rest, struct str *value)
{
	scoped_buf b = BUF_INIT(2 * EDIT_MAX_BYTES);
	struct toml copy = *root;
	const struct toml_member *table = find_member(root, d->table);
	struct toml_member *members =
		arena_array(d->a, root->table.count + 1, sizeof(*members), d->e);
	size_t count = 0;

	*value = STR_EMPTY;
	if (!members)
		return err_result(d->e);
	copy.table.items = members;
	for (size_t i = 0; i < root->table.count; i++)
		if (&root->table.items[i] != table)
			members[count++] = root->table.items[i];
	copy.table.count = count;
	toml_print(&b, &copy);
	for (size_t i = 0; table && i < table->value.table.count; i++) {
		struct toml_member *one = &table->value.table.items[i];
		const struct toml alone = { .type = TOML_TABLE,
					    .table = { .items = one, .count = 1 } };

		if (str_is(one->name, d->key)) {
			scoped_buf v = BUF_INIT(EDIT_MAX_BYTES);

			toml_print(&v, &alone);
			if (buf_check(&v, d->e) < 0 ||
			    arena_copy(d->a, buf_str(&v), value, d->e) < 0)
				return err_result(d->e);
			continue;
		}
		buf_add_text(&b, "-\n");
		toml_print(&b, &alone);
	}
	return buf_check(&b, d->e) < 0 ? err_result(d->e)
				       : arena_copy(d->a, buf_str(&b), rest, d->e);
}

static int print_wanted(struct edit *d, struct str *out)
{
	scoped_buf b = BUF_INIT(EDIT_MAX_BYTES);
	struct str text;
	const struct toml *wanted;

	if (arena_printf(d->a, &text, d->e, "%s = %s", d->key, d->value.p) < 0)
		return err_result(d->e);
	wanted = toml_parse(d->a, "the value", text, d->e);
	if (!wanted)
		return err_result(d->e);
	toml_print(&b, wanted);
	return buf_check(&b, d->e) < 0 ? err_result(d->e)
				       : arena_copy(d->a, buf_str(&b), out, d->e);
}

int toml_edit_set(struct arena *a, const char *file, struct str text, const char *table,
		  const char *key, struct str value, struct str *out, struct err *e)
{
	scoped_buf b = BUF_INIT(2 * EDIT_MAX_BYTES);
	struct edit d = {
		.a = a, .text = text, .table = table, .key = key, .value = value, .out = &b, .e = e
	};
	const struct toml *was = toml_parse(a, file, text, e), *is;
	const struct toml_member *parent, *member;
	struct str old_rest, new_rest, old, new, wanted;

	if (!was)
		return err_result(e);
	parent = find_member(was, table);
	if (parent && parent->value.type != TOML_TABLE)
		return FAIL_AT(e, ERR_POLICY, parent->name_origin, "'%s' is not a table", table);
	if (print_rest(&d, was, &old_rest, &old) < 0 || print_wanted(&d, &wanted) < 0)
		return err_result(e);
	if (str_eq(old, wanted)) {
		*out = text;
		return 0;
	}
	member = parent ? find_member(&parent->value, key) : NULL;
	if (!member)
		add_key(&d, parent);
	else if (replace(&d, &member->value) < 0)
		return err_result(e);
	if (buf_check(&b, e) < 0 || arena_copy(a, buf_str(&b), out, e) < 0)
		return err_result(e);
	is = toml_parse(a, file, *out, e);
	if (!is || print_rest(&d, is, &new_rest, &new) < 0)
		return err_wrap(e, "the edit would damage it");
	if (!str_eq(old_rest, new_rest) || !str_eq(new, wanted))
		return FAIL(e, ERR_INTERNAL, "the edit would damage it");
	return 0;
}

/* ---- Taking out --------------------------------------------------------------------------------------- */

/* Without the line of `at`; a comment in it stays. `eats` one line without anything before it, too. */
static int drop_line(struct edit *d, struct str text, size_t at, bool eats, struct str *out)
{
	scoped_buf b = BUF_INIT(2 * EDIT_MAX_BYTES);
	size_t start = find_line_start(text, at);
	size_t end = MIN_OF(start + str_find(str_from(text, start), '\n') + 1, text.len);
	size_t comment = start + str_find((struct str){ text.p + start, end - start }, '#');

	if (eats && start > 0 && comment == end) {
		size_t line = find_line_start(text, start - 1);

		if (str_is((struct str){ text.p + line, start - line }, "\n") ||
		    str_is((struct str){ text.p + line, start - line }, "\r\n"))
			start = line;
	}
	buf_add(&b, str_first(text, start));
	buf_add(&b, str_from(text, comment));
	return buf_check(&b, d->e) < 0 ? err_result(d->e)
				       : arena_copy(d->a, buf_str(&b), out, d->e);
}

/* The table goes as well if setting the key has made it, and nothing is in it. */
static int drop_table(struct edit *d, const struct toml *was, struct str *text)
{
	const struct toml *is = toml_parse(d->a, "it", *text, d->e);
	const struct toml_member *table = is ? find_member(is, d->table) : NULL;

	if (!is)
		return err_wrap(d->e, "the edit would damage it");
	if (!table || find_member(was, d->table) || table->value.form != TOML_FORM_HEADER ||
	    table->value.table.count)
		return 0;
	return drop_line(d, *text, offset_of(*text, &table->name_origin), true, text);
}

static int take_out(struct edit *d, const struct toml *was, const struct toml *is, struct str *out)
{
	const struct toml_member *table = find_member(is, d->table);
	const struct toml_member *member = table ? find_member(&table->value, d->key) : NULL;
	struct str old_rest, new_rest, ignored, value;
	const struct toml *then;

	if (!member)
		return FAIL(d->e, ERR_INTERNAL, "the key is not found");
	if (drop_line(d, d->text, offset_of(d->text, &member->value.origin), false, out) < 0 ||
	    drop_table(d, was, out) < 0)
		return err_result(d->e);
	then = toml_parse(d->a, "it", *out, d->e);
	if (!then || print_rest(d, is, &old_rest, &ignored) < 0 ||
	    print_rest(d, then, &new_rest, &value) < 0)
		return err_result(d->e);
	return str_eq(old_rest, new_rest) && !value.len
		       ? 0
		       : FAIL(d->e, ERR_POLICY, "it shares its line with others");
}

int toml_edit_undo(struct arena *a, struct str text, struct str was, const char *table,
		   const char *key, struct str value, struct str *out, struct err *e)
{
	struct edit d = { .a = a, .text = text, .table = table, .key = key, .value = value, .e = e };
	const struct toml *is = toml_parse(a, "it", text, e);
	const struct toml *old = is ? toml_parse(a, "it", was, e) : NULL;
	struct str ignored, now, before, wanted;
	const struct toml_member *parent, *member;

	if (!old || print_rest(&d, is, &ignored, &now) < 0 ||
	    print_rest(&d, old, &ignored, &before) < 0 || print_wanted(&d, &wanted) < 0)
		return err_result(e);
	if (!now.len || str_eq(now, before)) {
		*out = text;
		return 0;
	}
	if (!str_eq(now, wanted))
		return FAIL(e, ERR_POLICY, "it has another value");
	if (!before.len)
		return take_out(&d, old, is, out);
	parent = find_member(old, table);
	member = parent ? find_member(&parent->value, key) : NULL;
	if (!member || member->value.type != TOML_BOOLEAN)
		return FAIL(e, ERR_POLICY, "it had another value before");
	return toml_edit_set(a, "it", text, table, key,
			     member->value.boolean ? STR("true") : STR("false"), out, e);
}
