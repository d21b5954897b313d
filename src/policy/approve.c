/* SPDX-License-Identifier: MIT */
/*
 * [[approve]]: requests (P18) that the user has answered beforehand. Only the user's own file may hold
 * them. SECURITY: a rule that denies is never dropped: what is not understood is an error.
 */
#include <stdio.h>

#include "policy/config.h"
#include "policy/decode.h"
#include "policy/fs_key.h"

enum { MAX_RULES = 4096 };

static const char *const members[] = {
	"write", "host", "socket", "answer", "scope", "profile", NULL
};
static const char *const answers[] = { "allow", "ask", "deny", NULL };
static const char *const scopes[] = { "run", "once", "session", NULL };

/* Which of the three is there, in the order of enum approve_subject, and no other. */
static int find_subject(const struct toml *table, struct approve_rule *rule,
			const struct toml **pattern, struct err *e)
{
	*pattern = NULL;
	for (size_t i = APPROVE_WRITE; i <= APPROVE_SOCKET; i++) {
		const struct toml *found = toml_find(table, members[i]);

		if (found && *pattern)
			return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, found->origin,
					     "'%s' and '%s' can't be in one rule of 'approve'; "
					     "write two",
					     members[rule->subject], members[i]);
		if (!found)
			continue;
		*pattern = found;
		rule->subject = (enum approve_subject)i;
	}
	if (*pattern)
		return 0;
	return FAIL_CAUSE_AT(
		e, CAUSE_BAD_VALUE, table->origin,
		"a rule of 'approve' has to say what for: 'write', 'host' or 'socket'");
}

static int decode_path(const struct decode *d, const struct toml *pattern,
		       struct approve_rule *rule, struct err *e)
{
	struct fs_target target;
	struct fs_key key;

	if (fs_key_parse(d->a, pattern->string, pattern->origin, &key, e) < 0)
		return err_result(e);
	if (key.is_unknown || (key.anchor != FS_ABSOLUTE && key.anchor != FS_HOME))
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, pattern->origin,
			"'%s' can't be used in 'approve'; write a path that starts with "
			"'/' or '~/'",
			SHOWN(pattern->string));
	/* With any access it means the same here, globs included. */
	if (fs_key_target(d->a, &key, ACCESS_DENY, pattern->origin, &target, e) < 0)
		return err_result(e);
	rule->below_home = key.anchor == FS_HOME;
	rule->path = target.path;
	if (!target.glob.len)
		return 0;
	rule->matcher = glob_parse(d->a, target.glob, e);
	return rule->matcher ? 0 : err_wrap_place(e, pattern->origin);
}

static int decode_pattern(const struct decode *d, const struct toml *table,
			  struct approve_rule *rule, struct err *e)
{
	const struct toml *pattern;

	if (find_subject(table, rule, &pattern, e) < 0 ||
	    arena_copy(d->a, pattern->string, &rule->text, e) < 0)
		return err_result(e);
	if (rule->subject != APPROVE_HOST)
		return decode_path(d, pattern, rule, e);
	if (domain_parse(d->a, pattern->string, &rule->domain, e) < 0)
		return err_wrap_place(e, pattern->origin);
	return 0;
}

static int decode_answer(const struct toml *table, struct approve_rule *rule, struct err *e)
{
	const struct toml *answer = toml_find(table, "answer");
	const struct toml *scope = toml_find(table, "scope");
	size_t number;

	if (!answer)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, table->origin,
				     "a rule of 'approve' has no 'answer'; it has to be \"allow\", "
				     "\"ask\" or \"deny\"");
	if (schema_choice(answer, "'answer' in 'approve'", answers, &number, e) < 0)
		return err_result(e);
	rule->answer = (enum approve_answer)number;
	if (!scope)
		return 0;
	if (rule->answer != APPROVE_ALLOW)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, scope->origin,
				     "'scope' in 'approve' belongs to an \"allow\"; a deny holds "
				     "for every run, and who is asked chooses the scope");
	if (schema_choice(scope, "'scope' in 'approve'", scopes, &number, e) < 0)
		return err_result(e);
	rule->scope = (enum approve_scope)number;
	return 0;
}

static int decode_profile_name(const struct decode *d, const struct toml *table,
			       struct approve_rule *rule, struct err *e)
{
	const struct toml *profile = toml_find(table, "profile");

	rule->profile.name = STR_EMPTY;
	if (!profile)
		return 0;
	if (!profile->string.len)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, profile->origin,
				     "'profile' in 'approve' is empty; leave it out for a rule "
				     "that holds in every profile");
	rule->profile.origin = profile->origin;
	return arena_copy(d->a, profile->string, &rule->profile.name, e);
}

static int check_members(const struct toml *table, struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		char what[64];
		size_t k = 0;

		while (members[k] && !str_is(m->name, members[k]))
			k++;
		if (!members[k])
			return FAIL_CAUSE_AT(
				e, CAUSE_UNKNOWN_KEY, m->name_origin,
				"unknown key '%s' in 'approve'%s", SHOWN(m->name),
				schema_hint_or_list(m->name, members, "; it may hold: ").text);
		(void)snprintf(what, sizeof(what), "'%s' in 'approve'", members[k]);
		if (schema_type(&m->value, TOML_STRING, what, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int decode_rule(const struct decode *d, const struct toml *table, struct settings *out,
		       struct err *e)
{
	struct approve_rule rule = { .origin = table->origin };
	struct approve_rule *added;

	if (schema_type(table, TOML_TABLE, "a rule of 'approve'", e) < 0 ||
	    check_members(table, e) < 0 || decode_pattern(d, table, &rule, e) < 0 ||
	    decode_answer(table, &rule, e) < 0 || decode_profile_name(d, table, &rule, e) < 0)
		return err_result(e);
	added = VEC_PUSH(d->a, &out->approve, e);
	if (!added)
		return err_result(e);
	*added = rule;
	return 0;
}

int key_decode_approve(const struct decode *d, const struct toml *list, void *base, struct err *e)
{
	if (list->array.count > MAX_RULES)
		return FAIL_AT(e, ERR_LIMIT, list->origin, "'approve' has more than %d rules",
			       MAX_RULES);
	for (size_t i = 0; i < list->array.count; i++) {
		if (decode_rule(d, &list->array.items[i], base, e) < 0)
			return err_result(e);
	}
	return 0;
}

int config_check_approve(struct arena *a, const struct config *c, struct err *e)
{
	for (size_t i = 0; i < c->settings.approve.count; i++) {
		const struct named *profile = &c->settings.approve.items[i].profile;

		if (profile->name.len && !config_find_profile(c, profile->name))
			return config_fail_unknown(a, c, profile->origin,
						   "'profile' in 'approve' names", profile->name,
						   e);
	}
	return 0;
}

const char *approve_subject_name(enum approve_subject subject)
{
	return members[subject];
}

const char *approve_answer_name(enum approve_answer answer)
{
	return answers[answer];
}

const char *approve_scope_name(enum approve_scope scope)
{
	return scopes[scope];
}
