/* SPDX-License-Identifier: MIT */
/* See windows_keys.h. */
#include "policy/windows_keys.h"

#include "base/path.h"
#include "base/utf8.h"
#include "base/windows_path.h"

static bool is_pattern(struct str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (strchr("*?[{", name.p[i]))
			return true;
	return false;
}

static int fail_name(struct str name, const char *why, struct origin origin, struct err *e)
{
	char shown[128];

	return FAIL_CAUSE_AT(e, CAUSE_BAD_PATH, origin, "'%s' %s",
			     utf8_show(name, shown, sizeof(shown)), why);
}

/* SECURITY: a deny of a name that no file has, or that is another name too, would be lost. */
static int check_names(struct str path, struct origin origin, struct err *e)
{
	struct str name;
	size_t at = 0;

	while (path_next(path, &at, &name)) {
		const char *why = NULL;

		if (!is_pattern(name))
			why = windows_bad_name(name);
		else if (str_find(name, ':') < name.len)
			why = "names a stream: an access list belongs to the file, so name that";
		else if (name.p[name.len - 1] == '.' || name.p[name.len - 1] == ' ')
			why = "ends in a dot or a blank, which most programs drop from a name";
		if (why)
			return fail_name(name, why, origin, e);
	}
	return 0;
}

static int turn_slashes(struct arena *a, struct str text, struct str *out, struct err *e)
{
	if (arena_copy(a, text, out, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < out->len; i++)
		if (out->p[i] == '\\')
			((char *)(uintptr_t)out->p)[i] = '/';
	return 0;
}

static bool is_absolute(struct str text)
{
	return text.len > 0 &&
	       (text.p[0] == '/' || text.p[0] == '\\' || (text.len > 1 && text.p[1] == ':'));
}

static int turn_absolute(struct arena *a, struct str text, struct origin origin, struct str *out,
			 struct err *e)
{
	struct str drive = str_has_prefix(text, STR("\\\\?\\")) ? str_from(text, 4) : text;
	struct str rest = str_from(drive, MIN_OF(drive.len, (size_t)2));
	struct str top = STR_EMPTY, turned = STR_EMPTY;

	if (str_has_prefix(rest, STR("\\")) || str_has_prefix(rest, STR("/")) || !rest.len) {
		/* The drive by itself; what is below may be a pattern. */
		if (windows_path(a, STR_EMPTY, str_first(drive, MIN_OF(drive.len, (size_t)2)),
				 WINDOWS_EXACT, &top, e) < 0 ||
		    turn_slashes(a, rest, &turned, e) < 0)
			return err_wrap_place(e, origin);
		if (check_names(turned, origin, e) < 0)
			return err_result(e);
		return arena_printf(a, out, e, "%.*s%.*s", STR_ALL(top), STR_ALL(turned));
	}
	/* It is none, and windows_path() says why. */
	if (windows_path(a, STR_EMPTY, text, WINDOWS_EXACT, out, e) < 0)
		return err_wrap_place(e, origin);
	return 0;
}

static int turn(struct arena *a, struct str *text, struct origin origin, struct err *e)
{
	struct str turned = STR_EMPTY;

	if (!text->len || text->p[0] == ':')
		return 0;
	if (is_absolute(*text)) {
		if (turn_absolute(a, *text, origin, &turned, e) < 0)
			return err_result(e);
	} else if (turn_slashes(a, *text, &turned, e) < 0 || check_names(turned, origin, e) < 0) {
		return err_result(e);
	}
	*text = turned;
	return 0;
}

/* The names of a table, and of the tables in it. */
static int turn_names(struct arena *a, struct toml *table, struct err *e)
{
	if (table->type != TOML_TABLE)
		return 0;
	for (size_t i = 0; i < table->table.count; i++) {
		struct toml_member *m = &table->table.items[i];

		if (turn(a, &m->name, m->name_origin, e) < 0 || turn_names(a, &m->value, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* The texts of the keys `names` in each table of an array. */
static int turn_texts(struct arena *a, struct toml *rules, const char *const *names, struct err *e)
{
	for (size_t i = 0; rules->type == TOML_ARRAY && i < rules->array.count; i++)
		for (size_t k = 0; names[k]; k++) {
			struct toml *value = (struct toml *)(uintptr_t)toml_find(
				&rules->array.items[i], names[k]);

			if (value && value->type == TOML_STRING &&
			    turn(a, &value->string, value->origin, e) < 0)
				return err_result(e);
		}
	return 0;
}

int windows_keys(struct arena *a, struct toml *top, struct err *e)
{
	static const char *const asked[] = { "write", "socket", NULL };
	static const char *const run[] = { "cwd", NULL };

	if (top->type != TOML_TABLE)
		return 0;
	for (size_t i = 0; i < top->table.count; i++) {
		struct toml_member *m = &top->table.items[i];
		int r = 0;

		if (str_is(m->name, "filesystem") || str_is(m->name, "workspace_roots") ||
		    str_is(m->name, "unix_sockets") || str_is(m->name, "trust"))
			r = turn_names(a, &m->value, e);
		else if (str_is(m->name, "approve"))
			r = turn_texts(a, &m->value, asked, e);
		else if (str_is(m->name, "exec"))
			r = turn_texts(a, &m->value, run, e);
		else if (str_is(m->name, "shell") && m->value.type == TOML_STRING)
			r = turn(a, &m->value.string, m->value.origin, e);
		else
			r = windows_keys(a, &m->value, e); /* profiles, `network` */
		if (r < 0)
			return err_result(e);
	}
	return 0;
}
