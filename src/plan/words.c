/* SPDX-License-Identifier: MIT */
/* See words.h. */
#include "plan/words.h"

#include "base/path.h"
#include "base/utf8.h"
#include "policy/agent.h"

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

const char rule_agent_reason[] = "stays read-only, so that a command can't change what the agent "
				 "obeys (docs/agents.md)";

bool rule_keeps_agent(const struct rule *rule, struct str home)
{
	const struct agent_file *file;

	if (rule->kind != RULE_ENTRY || rule->access != ACCESS_READ || !rule->origin.file)
		return false;
	if (strcmp(rule->origin.file, "built-in") == 0) {
		file = agent_file_find(rule->key);
		return file && !agent_file_is_saved(file);
	}
	/* 'cordon agent' adds these by that option, as their names are not known before. */
	if (strcmp(rule->origin.file, "--add-read") != 0 || !home.len ||
	    !path_is_under(rule->key, home))
		return false;
	file = agent_file_around(NULL, path_below(rule->key, home));
	return file && file->kind == AGENT_EACH;
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
