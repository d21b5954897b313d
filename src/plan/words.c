/* SPDX-License-Identifier: MIT */
/* See words.h. */
#include "plan/words.h"

#include "base/utf8.h"

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
		return "approved";
	case RULE_ENTRY:
	case RULE_GLOB:
		break;
	}
	return "";
}

struct str rule_reason(const struct rule *rule)
{
	return rule->note.len ? rule->note : str_of(kind_reason(rule->kind));
}

void rule_add_words(struct buf *out, const struct rule *rule)
{
	if (rule->kind == RULE_UNCOVERED || rule->kind == RULE_UNSANDBOXED) {
		buf_add_text(out, kind_reason(rule->kind));
		return;
	}
	if (rule->kind == RULE_OWN) {
		utf8_add_shown(out, rule->key);
		buf_add_text(out, " is always protected");
		return;
	}
	buf_add_char(out, '"');
	utf8_add_shown(out, rule_label(rule));
	if (rule->kind == RULE_PROTECTED)
		buf_add_text(out, "\" is protected");
	else if (rule->kind == RULE_GIT)
		buf_add_text(out, "\" is protected git state");
	else if (rule->kind == RULE_MISSING)
		buf_add_text(out, "\" is missing, and a run may not create it");
	else
		buf_printf(out, "\" = \"%s\"", access_name(rule->access));
}
