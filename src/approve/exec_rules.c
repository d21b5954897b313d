/* SPDX-License-Identifier: MIT */
/* See exec_rules.h. */
#include "approve/exec_rules.h"

#include "base/path.h"
#include "plan/plan.h"

enum { FIND_MAX_BYTES = 1 << 20 };

struct compiled {
	const struct exec_rule *rule;
	struct str cwd; /* canonical; only if the rule names one */
};

struct exec_rules {
	struct compiled *items;
	size_t count;
	const struct str *roots;
	size_t root_count;
};

/* ---- Compiling ------------------------------------------------------------------------------- */

/*
 * SECURITY: a link on the way to the directory may be the command's own work. So the rule is for the
 * directory that its path names, and one behind a link is none that a command can stand in.
 */
static int find_cwd(struct arena *a, const struct plan_inputs *in, struct compiled *c,
		    struct err *e)
{
	const struct exec_rule *rule = c->rule;
	struct located home;

	c->cwd = rule->cwd;
	if (!rule->has_cwd || !rule->cwd_below_home)
		return 0;
	if (!in->places.home.len)
		return FAIL_AT(e, ERR_POLICY, rule->origin,
			       "the home is not known, so '~' has no meaning in 'exec'");
	if (plan_locate(a, in, in->places.home, &home, e) < 0)
		return err_result(e);
	return path_join(a, home.path, rule->cwd, &c->cwd, e);
}

int exec_rules_new(struct arena *a, const struct plan_inputs *in, const struct str *roots,
		   size_t root_count, const struct exec_rules **out, struct err *e)
{
	const struct settings *settings = &in->policy->settings;
	struct exec_rules *r = ARENA_NEW(a, struct exec_rules, e);

	if (!r)
		return err_result(e);
	r->roots = roots;
	r->root_count = root_count;
	r->items = arena_array(a, settings->exec.count + 1, sizeof(*r->items), e);
	if (!r->items)
		return err_result(e);
	for (size_t i = 0; i < settings->exec.count; i++) {
		struct compiled *c = &r->items[r->count];
		const struct exec_rule *rule = &settings->exec.items[i];

		if (rule->profile.name.len &&
		    !str_eq(rule->profile.name, in->policy->profile->name))
			continue;
		c->rule = rule;
		if (find_cwd(a, in, c, e) < 0)
			return err_result(e);
		r->count++;
	}
	*out = r;
	return 0;
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* All words but the first. */
static bool has_words(const struct exec_rule *rule, const struct str *argv, size_t count)
{
	if (rule->takes_more ? count < rule->argv.count : count != rule->argv.count)
		return false;
	for (size_t i = 1; i < rule->argv.count; i++)
		if (!str_eq(rule->argv.items[i], argv[i]))
			return false;
	return true;
}

static bool has_name(const struct exec_rule *rule, struct str name)
{
	return str_eq(path_name(rule->argv.items[0]), path_name(name));
}

bool exec_rules_may_name(const struct exec_rules *r, struct str name, const struct str *argv,
			 size_t count)
{
	for (size_t i = 0; i < r->count; i++)
		if (has_words(r->items[i].rule, argv, count) && has_name(r->items[i].rule, name))
			return true;
	return false;
}

/*
 * Whether the command's program is the rule's. Both its name and the file count: one file may be many
 * programs, and goes by its name (busybox).
 */
static int has_program(const struct exec_rule *rule, const struct exec_command *command,
		       const struct exec_finder *finder, bool *out, struct err *e)
{
	scoped_arena a = ARENA_INIT(FIND_MAX_BYTES);
	struct str found = STR_EMPTY;

	*out = false;
	if (!has_name(rule, command->argv[0]))
		return 0;
	if (finder->find(finder->user, &a, rule->argv.items[0], &found, e) < 0)
		return err_result(e);
	*out = found.len && str_eq(found, command->program);
	return 0;
}

static bool has_cwd(const struct exec_rules *r, const struct compiled *c,
		    const struct exec_command *command)
{
	if (c->rule->has_cwd)
		return str_eq(c->cwd, command->cwd);
	/* SECURITY: a deny needs no directory to be meant. */
	if (c->rule->decision == EXEC_DENY)
		return true;
	for (size_t i = 0; i < r->root_count; i++)
		if (str_eq(r->roots[i], command->cwd))
			return true;
	return false;
}

int exec_rules_judge(const struct exec_rules *r, const struct exec_command *command,
		     const struct exec_finder *finder, struct exec_ruling *out, struct err *e)
{
	*out = (struct exec_ruling){ .rule = NULL };
	for (size_t i = 0; i < r->count; i++) {
		const struct compiled *c = &r->items[i];
		bool is_meant;

		if ((out->rule && c->rule->decision <= out->rule->decision) ||
		    !has_words(c->rule, command->argv, command->argv_count))
			continue;
		if (has_program(c->rule, command, finder, &is_meant, e) < 0)
			return err_result(e);
		if (is_meant && has_cwd(r, c, command))
			out->rule = c->rule;
		else if (is_meant && !out->elsewhere)
			out->elsewhere = c->rule;
	}
	return 0;
}
