/* SPDX-License-Identifier: MIT */
/* See suggestion.h. */
#include "report/suggestion.h"

const struct change *lazy_change_set(struct lazy_change *lazy, int status, const struct err *e)
{
	struct err copying = ERR_INIT;

	if (status < 0) {
		lazy->change = (struct change){ .is_possible = false };
		if (e->code == ERR_NOMEM ||
		    arena_copy(lazy->a, str_of(e->text), &lazy->change.why_not, &copying) < 0)
			return NULL;
	}
	lazy->is_known = true;
	return &lazy->change;
}

/* Where a new line goes: "inside" what, which begins on that line. */
static void json_spot(struct json_writer *w, const struct suggest_edit *edit)
{
	static const char *const kinds[] = {
		[SPOT_NEW] = NULL,
		[SPOT_HEADER] = "header",
		[SPOT_INLINE] = "inline",
		[SPOT_DOTTED] = "dotted",
	};

	json_text(w, "inside", kinds[edit->spot.kind]);
	json_int_or_null(w, "table_line", edit->spot.line);
	json_str(w, "prefix", edit->spot.prefix);
}

static void json_edits(struct json_writer *w, const struct change *change)
{
	json_key(w, "edits");
	json_begin_array(w);
	for (size_t i = 0; i < change->edit_count; i++) {
		const struct suggest_edit *edit = &change->edits[i];

		json_begin_object(w);
		json_str_or_null(w, "file", edit->file);
		json_int_or_null(w, "line", edit->line);
		json_str(w, "table", edit->table);
		json_spot(w, edit);
		json_str(w, "key", edit->key);
		json_str_or_null(w, "value", edit->value);
		json_end_object(w);
	}
	json_end_array(w);
}

static void json_begin_suggestion(struct json_writer *w, const char *scope, const char *const *argv)
{
	json_begin_object(w);
	json_text(w, "scope", scope);
	json_key(w, "argv");
	json_begin_array(w);
	for (; argv && *argv; argv++)
		json_add_text(w, *argv);
	json_end_array(w);
}

void json_suggestion(struct json_writer *w, const struct suggestion *s)
{
	json_begin_suggestion(w, s->scope, s->argv);
	json_key(w, "edits");
	json_begin_array(w);
	json_end_array(w);
	json_str(w, "text", s->text);
	json_end_object(w);
}

void json_wanted(struct json_writer *w, const struct change *change, const char *wanted)
{
	json_text(w, "wanted", wanted);
	if (change)
		json_str_or_null(w, "why_not", change->is_possible ? STR_EMPTY : change->why_not);
	else
		json_fail(w, ERR_NOMEM);
}

void json_config_suggestion(struct json_writer *w, const struct change *change)
{
	if (!change || !change->is_possible)
		return;
	json_begin_suggestion(w, "config", NULL);
	json_edits(w, change);
	json_str(w, "text", change->text);
	json_str(w, "toml", change->toml);
	json_str(w, "toml_top", change->toml_top);
	json_str_or_null(w, "profile", change->profile);
	json_str_or_null(w, "needs_path", change->needs_path);
	json_end_object(w);
}
