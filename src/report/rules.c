/* SPDX-License-Identifier: MIT */
/* See rules.h. */
#include "report/rules.h"

const char *rule_kind_name(enum rule_kind kind)
{
	static const char *const texts[] = {
		[RULE_ENTRY] = "entry",
		[RULE_GLOB] = "glob",
		[RULE_GRANT] = "grant",
		[RULE_PROTECTED] = "protected",
		[RULE_GIT] = "git",
		[RULE_MISSING] = "missing",
		[RULE_OWN] = "own",
		[RULE_UNCOVERED] = "uncovered",
		[RULE_UNSANDBOXED] = "unsandboxed",
	};

	return texts[kind];
}

struct str rule_label(const struct rule *rule)
{
	if (rule->kind == RULE_UNCOVERED)
		return STR("(no entry)");
	if (rule->kind == RULE_UNSANDBOXED)
		return STR("(no sandbox)");
	if (rule->kind == RULE_OWN)
		return STR("(Cordon's own)"); /* the note says what it is */
	return rule->key.len ? rule->key : rule->path;
}

static const char *kind_reason(enum rule_kind kind)
{
	switch (kind) {
	case RULE_UNCOVERED:
		return "what no entry covers is denied (P7)";
	case RULE_UNSANDBOXED:
		return "this profile has no sandbox (P17)";
	case RULE_PROTECTED:
		return "protected (P9)";
	case RULE_GIT:
		return "protected git state (P10)";
	case RULE_MISSING:
		return "missing, and kept so (P11)";
	case RULE_OWN:
		return "Cordon's own (P25)";
	case RULE_GRANT:
		return "granted (P18)";
	case RULE_ENTRY:
	case RULE_GLOB:
		break;
	}
	return "";
}

void page_rule_reason(struct page *p, const struct rule *rule)
{
	const char *reason = kind_reason(rule->kind);
	bool has_text = rule->note.len || reason[0];

	if (rule->note.len)
		page_str(p, rule->note);
	else
		page_text(p, reason);
	if (has_text && rule->origin.file)
		page_text(p, "  ");
	page_origin(p, &rule->origin);
}

bool rule_is_alike(const struct rule *a, const struct rule *b)
{
	return a->kind == b->kind && a->access == b->access && str_eq(a->key, b->key) &&
	       a->origin.file == b->origin.file && a->origin.line == b->origin.line &&
	       a->origin.column == b->origin.column;
}

void page_rule(struct page *p, const struct rule *rule, size_t label_width)
{
	page_access(p, rule->access);
	page_text(p, "  ");
	page_column(p, rule_label(rule), label_width);
	page_text(p, "  ");
	page_rule_reason(p, rule);
	page_line(p);
}

void json_rule(struct json_writer *w, const struct plan *plan, const struct rule *rule)
{
	const struct policy *policy = plan->policy;

	json_begin_object(w);
	json_text(w, "kind", rule_kind_name(rule->kind));
	json_text(w, "access", access_name(rule->access));
	json_str(w, "path", rule->path);
	json_str_or_null(w, "glob", rule->glob);
	json_str(w, "key", rule_label(rule));
	json_str(w, "note", rule->note.len ? rule->note : str_of(kind_reason(rule->kind)));
	json_key(w, "layer");
	if (rule->origin.file && rule->layer < policy->layers.count)
		json_add_str(w, policy->layers.items[rule->layer].name);
	else
		json_add_null(w);
	json_origin(w, &rule->origin);
	json_end_object(w);
}

void json_notes(struct json_writer *w, const struct cordon_policy *policy, bool warnings)
{
	json_key(w, warnings ? "warnings" : "notes");
	json_begin_array(w);
	for (size_t i = 0; i < policy->notes.count; i++) {
		const struct note *note = &policy->notes.items[i];

		if (note->is_warning != warnings)
			continue;
		json_begin_object(w);
		json_str(w, "message", note->text);
		json_origin(w, &note->origin);
		json_end_object(w);
	}
	json_end_array(w);
}

const char *host_type_name(enum host_type type)
{
	static const char *const texts[] = {
		[HOST_MISSING] = "missing", [HOST_HIDDEN] = "hidden", [HOST_FILE] = "file",
		[HOST_DIR] = "directory",   [HOST_LINK] = "link",     [HOST_OTHER] = "other",
	};

	return texts[type];
}

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

void json_flip(struct json_writer *w, const struct flip *flip, const char *wanted)
{
	if (!flip) {
		json_fail(w, ERR_NOMEM);
		return;
	}
	json_key(w, "flip");
	json_begin_object(w);
	json_text(w, "to", wanted);
	json_bool(w, "possible", flip->is_possible);
	if (flip->is_possible) {
		json_str(w, "text", flip->text);
		json_str_or_null(w, "needs_path", flip->needs_path);
		json_str(w, "toml", flip->toml);
		json_str(w, "toml_top", flip->toml_top);
		json_str_or_null(w, "profile", flip->profile);
		json_edits(w, flip);
	} else {
		json_str(w, "why_not", flip->why_not);
	}
	json_end_object(w);
}
