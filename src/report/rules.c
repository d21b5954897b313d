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
		return "no entry covers it, so it is denied";
	case RULE_UNSANDBOXED:
		return "this profile has no sandbox";
	case RULE_PROTECTED:
		return "protected";
	case RULE_GIT:
		return "protected git state";
	case RULE_MISSING:
		return "missing; a run may not create it";
	case RULE_OWN:
		return "Cordon's own file";
	case RULE_GRANT:
		return "granted by an option";
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
