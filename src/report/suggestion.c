/* SPDX-License-Identifier: MIT */
/* See suggestion.h. */
#include "report/suggestion.h"

const struct flip *lazy_flip_set(struct lazy_flip *lazy, int status, const struct err *e)
{
	struct err copying = ERR_INIT;

	if (status < 0) {
		lazy->flip = (struct flip){ .is_possible = false };
		if (e->code == ERR_NOMEM ||
		    arena_copy(lazy->a, str_of(e->text), &lazy->flip.why_not, &copying) < 0)
			return NULL;
	}
	lazy->is_known = true;
	return &lazy->flip;
}

/* Each line of `toml` on a line of its own, indented so that it stands out. */
static void page_toml(struct page *p, struct str toml)
{
	while (toml.len) {
		struct str line = str_first(toml, str_find(toml, '\n'));

		page_text(p, line.len ? "    " : "");
		page_str(p, line);
		page_line(p);
		toml = str_from(toml, line.len + 1);
	}
}

void page_flip(struct page *p, const struct flip *flip)
{
	if (!flip) {
		p->out->failed = ERR_NOMEM;
		return;
	}
	if (!flip->is_possible) {
		page_text(p, "  can't be changed: ");
		page_str(p, flip->why_not);
		page_line(p);
		return;
	}
	page_text(p, "  ");
	page_str(p, flip->text);
	page_line(p);
	if (flip->toml.len || flip->toml_top.len)
		page_line(p);
	if (flip->toml_top.len) {
		page_toml(p, flip->toml_top);
		page_line(p);
	}
	page_toml(p, flip->toml);
}

/* Where a new line goes: "inside" what, which begins on that line. */
static void json_spot(struct json_writer *w, const struct flip_edit *edit)
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

static void json_edits(struct json_writer *w, const struct flip *flip)
{
	json_key(w, "edits");
	json_begin_array(w);
	for (size_t i = 0; i < flip->edit_count; i++) {
		const struct flip_edit *edit = &flip->edits[i];

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

void json_wanted(struct json_writer *w, const struct flip *flip, const char *wanted)
{
	json_text(w, "wanted", wanted);
	if (flip)
		json_str_or_null(w, "why_not", flip->is_possible ? STR_EMPTY : flip->why_not);
	else
		json_fail(w, ERR_NOMEM);
}

void json_config_suggestion(struct json_writer *w, const struct flip *flip)
{
	if (!flip || !flip->is_possible)
		return;
	json_begin_suggestion(w, "config", NULL);
	json_edits(w, flip);
	json_str(w, "text", flip->text);
	json_str(w, "toml", flip->toml);
	json_str(w, "toml_top", flip->toml_top);
	json_str_or_null(w, "profile", flip->profile);
	json_str_or_null(w, "needs_path", flip->needs_path);
	json_end_object(w);
}
