/* SPDX-License-Identifier: MIT */
/*
 * [[exec]]: commands that a command in a sandbox may have run outside of it (P18, `cordon escalate`).
 * Only the user's own file may hold them. SECURITY: a rule that denies is never dropped: what is not
 * understood is an error.
 */
#include <stdio.h>

#include "policy/config.h"
#include "policy/decode.h"
#include "policy/fs_key.h"

enum { MAX_RULES = 1024, MAX_WORDS = 256 };

static const char *const members[] = { "argv", "decision", "run", "cwd", "profile", NULL };
static const char *const decisions[] = { "allow", "ask", "deny", NULL };

/* The last word of argv that stands for any arguments. */
static const char any_words[] = "...";

/* ---- argv --------------------------------------------------------------------------------------- */

static int check_program(struct str name, struct origin origin, struct err *e)
{
	if (!name.len || str_is(name, any_words))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, origin,
				     "the first word of 'argv' in 'exec' has to name a program");
	if (name.p[0] != '/' && str_find(name, '/') < name.len)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, origin,
			"'%s' in 'exec' is a relative path; write a name, which is looked "
			"up on PATH, or an absolute path",
			SHOWN(name));
	return 0;
}

static int decode_word(const struct decode *d, const struct toml *word, bool is_last,
		       struct exec_rule *rule, struct err *e)
{
	struct str *added;

	if (schema_type(word, TOML_STRING, "a word of 'argv' in 'exec'", e) < 0)
		return err_result(e);
	if (rule->argv.count == 0 && check_program(word->string, word->origin, e) < 0)
		return err_result(e);
	if (str_is(word->string, any_words)) {
		if (!is_last)
			return FAIL_CAUSE_AT(
				e, CAUSE_BAD_VALUE, word->origin,
				"'...' in 'argv' of 'exec' stands for any arguments, so it "
				"has to be the last word");
		rule->takes_more = true;
		return 0;
	}
	added = VEC_PUSH(d->a, &rule->argv, e);
	return added ? arena_copy(d->a, word->string, added, e) : err_result(e);
}

static int decode_argv(const struct decode *d, const struct toml *table, struct exec_rule *rule,
		       struct err *e)
{
	const struct toml *argv = toml_find(table, "argv");

	if (!argv)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, table->origin,
				     "a rule of 'exec' has no 'argv', the whole command that it is "
				     "about");
	if (argv->array.count == 0 || argv->array.count > MAX_WORDS)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, argv->origin,
				     "'argv' in 'exec' has to have 1 to %d words", MAX_WORDS);
	for (size_t i = 0; i < argv->array.count; i++)
		if (decode_word(d, &argv->array.items[i], i + 1 == argv->array.count, rule, e) < 0)
			return err_result(e);
	return 0;
}

/* ---- What becomes of it ------------------------------------------------------------------------ */

static int decode_decision(const struct toml *table, struct exec_rule *rule, struct err *e)
{
	const struct toml *decision = toml_find(table, "decision");
	size_t number;

	if (!decision)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, table->origin,
				     "a rule of 'exec' has no 'decision'; it has to be \"allow\", "
				     "\"ask\" or \"deny\"");
	if (schema_choice(decision, "'decision' in 'exec'", decisions, &number, e) < 0)
		return err_result(e);
	rule->decision = (enum exec_decision)number;
	return 0;
}

static int decode_name(const struct decode *d, const struct toml *table, const char *name,
		       struct named *out, struct err *e)
{
	const struct toml *value = toml_find(table, name);

	out->name = STR_EMPTY;
	if (!value)
		return 0;
	if (!value->string.len)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, value->origin,
				     "'%s' in 'exec' is empty; it has to name a profile", name);
	out->origin = value->origin;
	return arena_copy(d->a, value->string, &out->name, e);
}

/*
 * SECURITY: further arguments usually are any code (`git push --receive-pack=…`), so without a sandbox
 * somebody has to see them.
 */
static int decode_run(const struct decode *d, const struct toml *table, struct exec_rule *rule,
		      struct err *e)
{
	if (decode_name(d, table, "run", &rule->run, e) < 0)
		return err_result(e);
	if (rule->decision == EXEC_DENY && rule->run.name.len)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, rule->run.origin,
			"'run' in 'exec' belongs to an \"allow\" or \"ask\"; what is denied "
			"runs nowhere");
	if (rule->decision != EXEC_DENY && !rule->run.name.len)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, table->origin,
			"a rule of 'exec' has no 'run', the profile that the command gets; "
			"\":danger-full-access\" is without a sandbox");
	if (rule->takes_more && rule->decision == EXEC_ALLOW && exec_rule_is_unsandboxed(rule))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, rule->run.origin,
				     "a rule of 'exec' with '...' can't allow a command without a "
				     "sandbox, because arguments can be any code; write decision = "
				     "\"ask\", or the whole 'argv'");
	return 0;
}

static int decode_cwd(const struct decode *d, const struct toml *table, struct exec_rule *rule,
		      struct err *e)
{
	const struct toml *cwd = toml_find(table, "cwd");
	struct fs_target target;
	struct fs_key key;

	if (!cwd)
		return 0;
	if (fs_key_parse(d->a, cwd->string, cwd->origin, &key, e) < 0)
		return err_result(e);
	if (key.is_unknown || (key.anchor != FS_ABSOLUTE && key.anchor != FS_HOME) ||
	    fs_key_target(d->a, &key, ACCESS_DENY, cwd->origin, &target, e) < 0 || target.glob.len)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, cwd->origin,
			"'cwd' in 'exec' has to be one directory, which starts with '/' "
			"or '~/'");
	rule->has_cwd = true;
	rule->cwd_below_home = key.anchor == FS_HOME;
	rule->cwd = target.path;
	return 0;
}

/* ---- Rules ------------------------------------------------------------------------------------- */

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
				"unknown key '%s' in 'exec'%s", SHOWN(m->name),
				schema_hint_or_list(m->name, members, "; it may hold: ").text);
		(void)snprintf(what, sizeof(what), "'%s' in 'exec'", members[k]);
		if (schema_type(&m->value, k == 0 ? TOML_ARRAY : TOML_STRING, what, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int decode_rule(const struct decode *d, const struct toml *table, struct settings *out,
		       struct err *e)
{
	struct exec_rule rule = { .origin = table->origin };
	struct exec_rule *added;

	if (schema_type(table, TOML_TABLE, "a rule of 'exec'", e) < 0 ||
	    check_members(table, e) < 0 || decode_argv(d, table, &rule, e) < 0 ||
	    decode_decision(table, &rule, e) < 0 || decode_run(d, table, &rule, e) < 0 ||
	    decode_cwd(d, table, &rule, e) < 0 ||
	    decode_name(d, table, "profile", &rule.profile, e) < 0)
		return err_result(e);
	added = VEC_PUSH(d->a, &out->exec, e);
	if (!added)
		return err_result(e);
	*added = rule;
	return 0;
}

int key_decode_exec(const struct decode *d, const struct toml *list, void *base, struct err *e)
{
	if (list->array.count > MAX_RULES)
		return FAIL_AT(e, ERR_LIMIT, list->origin, "'exec' has more than %d rules",
			       MAX_RULES);
	for (size_t i = 0; i < list->array.count; i++) {
		if (decode_rule(d, &list->array.items[i], base, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int check_profile(struct arena *a, const struct config *c, const struct named *profile,
			 const char *what, struct err *e)
{
	if (!profile->name.len || config_find_profile(c, profile->name))
		return 0;
	return config_fail_unknown(a, c, profile->origin, what, profile->name, e);
}

int config_check_exec(struct arena *a, const struct config *c, struct err *e)
{
	for (size_t i = 0; i < c->settings.exec.count; i++) {
		const struct exec_rule *rule = &c->settings.exec.items[i];

		if (check_profile(a, c, &rule->run, "'run' in 'exec' names", e) < 0 ||
		    check_profile(a, c, &rule->profile, "'profile' in 'exec' names", e) < 0)
			return err_result(e);
	}
	return 0;
}

bool exec_rule_is_unsandboxed(const struct exec_rule *rule)
{
	return str_is(rule->run.name, mode_kind_profile(MODE_FULL_ACCESS));
}

const char *exec_decision_name(enum exec_decision decision)
{
	return decisions[decision];
}
