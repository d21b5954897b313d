/* SPDX-License-Identifier: MIT */
/* Values of JSON files whose place is to be known, and names of tools. */
#include "base/glob.h"
#include "import/rules.h"

static const char *const type_names[] = {
	[JSON_NULL] = "null",	     [JSON_BOOL] = "true or false", [JSON_INT] = "a number",
	[JSON_REAL] = "a number",    [JSON_STRING] = "a string",    [JSON_ARRAY] = "a list",
	[JSON_OBJECT] = "an object",
};

struct origin value_origin(const char *file, const struct json *value)
{
	return (struct origin){ .file = file, .line = value->line, .column = value->column };
}

int member_get(const struct json *object, const char *file, const char *name, enum json_type type,
	       const struct json **out, struct err *e)
{
	const struct json *value = json_find(object, name);

	if (value && value->type != type)
		return FAIL_AT(e, ERR_POLICY, value_origin(file, value), "'%s' has to be %s", name,
			       type_names[type]);
	*out = value;
	return 0;
}

int member_strings(const struct json *object, const char *file, const char *name,
		   const struct json **out, struct err *e)
{
	const struct json *list;

	if (member_get(object, file, name, JSON_ARRAY, &list, e) < 0)
		return err_result(e);
	for (size_t i = 0; list && i < list->array.count; i++)
		if (list->array.items[i].type != JSON_STRING)
			return FAIL_AT(e, ERR_POLICY, value_origin(file, &list->array.items[i]),
				       "'%s' has to be a list of strings", name);
	*out = list;
	return 0;
}

int member_paths(struct rules *r, const struct json *object, const struct import_file *file,
		 const char *name, enum rule_kind kind, struct err *e)
{
	const struct json *list;

	if (member_strings(object, file->name, name, &list, e) < 0)
		return err_result(e);
	for (size_t i = 0; list && i < list->array.count; i++) {
		const struct json *item = &list->array.items[i];

		if (rules_add_text(r, kind, item->string, SYNTAX_GLOB,
				   value_origin(file->name, item), e) < 0)
			return err_result(e);
	}
	return 0;
}

bool is_one_of(struct str word, const char *const *words)
{
	for (; *words; words++)
		if (str_is(word, *words))
			return true;
	return false;
}

int names_one_of(struct rules *r, struct str pattern, const char *const *names, bool *out,
		 struct err *e)
{
	const struct glob *g;
	bool has_wildcard = false;

	*out = is_one_of(pattern, names);
	for (size_t i = 0; i < pattern.len; i++) {
		char c = pattern.p[i];

		/* In these tools the others mean themselves, which no name of a tool has. */
		if (c == '/' || c == '[' || c == '{' || c == '\\' || c == '\0')
			return 0;
		has_wildcard = has_wildcard || c == '*' || c == '?';
	}
	if (*out || !has_wildcard)
		return 0;
	g = glob_parse(r->a, pattern, e);
	if (!g)
		return err_result(e);
	for (; *names && !*out; names++)
		*out = glob_match(g, str_of(*names));
	return 0;
}

/* By its name it takes something away, which nobody here knows how to. */
static bool may_deny(const struct json_member *m)
{
	static const char *const words[] = { "deny", "denied", "block", "require" };

	if (m->value.type == JSON_NULL || (m->value.type == JSON_BOOL && !m->value.boolean))
		return false;
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (str_has_prefix(m->name, str_of(words[i])))
			return true;
	return false;
}

int members_note(struct rules *r, const struct json *object, const char *file, const char *where,
		 const char *const *known, bool ignores_unknown, struct err *e)
{
	for (size_t i = 0; object->type == JSON_OBJECT && i < object->object.count; i++) {
		const struct json_member *m = &object->object.items[i];

		if (is_one_of(m->name, known))
			continue;
		if (!ignores_unknown && may_deny(m))
			return FAIL_AT(e, ERR_POLICY, value_origin(file, &m->value),
				       "'%.*s' may deny something, and Cordon does not know what; "
				       "take it out, "
				       "and deny that by hand",
				       STR_ARG(m->name));
		if (rules_note(r, value_origin(file, &m->value), e, "%s%s%.*s: not carried over",
			       where, *where ? "." : "", STR_ARG(m->name)) < 0)
			return err_result(e);
	}
	return 0;
}

void unrelated_add(struct buf *list, struct str name, const char *const *known)
{
	if (is_one_of(name, known))
		return;
	buf_add_text(list, list->len ? ", " : "");
	buf_add(list, str_first(name, 60));
}

int unrelated_note(struct rules *r, struct origin origin, const struct buf *list, struct err *e)
{
	if (buf_check(list, e) < 0)
		return err_result(e);
	return !list->len ? 0
			  : rules_note(r, origin, e,
				       "ignored, says nothing about files or hosts: %.*s",
				       STR_ARG(buf_str(list)));
}

int members_note_unrelated(struct rules *r, const struct json *object, const char *file,
			   const char *const *known, struct err *e)
{
	scoped_buf list = BUF_INIT(1 << 20);

	for (size_t i = 0; object->type == JSON_OBJECT && i < object->object.count; i++)
		unrelated_add(&list, object->object.items[i].name, known);
	return unrelated_note(r, value_origin(file, object), &list, e);
}
