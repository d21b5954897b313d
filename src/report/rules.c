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

void page_rule_reason(struct page *p, const struct rule *rule)
{
	struct str reason = rule_reason(rule);

	page_str(p, reason);
	if (reason.len && rule->origin.file)
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
	json_str(w, "note", rule_reason(rule));
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
