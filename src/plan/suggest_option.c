/* SPDX-License-Identifier: MIT */
/*
 * Suggests the option of `run` that would have allowed an attempt. Each is tried on a copy of the
 * policy, as suggest_path.c tries edits: what a ceiling, a project or Cordon's own files forbid,
 * no option opens, so none is suggested.
 */
#include "base/path.h"
#include "base/utf8.h"
#include "plan/homes.h"
#include "plan/obeyed.h"
#include "plan/suggest_edit.h"
#include "plan/words.h"
#include "policy/metadata.h"

struct option_search {
	struct suggester f;
	const struct plan *plan;
	const struct attempt_needs *needs;
	struct option_change *out;
};

static bool is_met(const struct plan *plan, const struct attempt_needs *needs)
{
	return plan_resolve(plan, needs->opens).access >= needs->access &&
	       plan_resolve(plan, needs->subject).access >= needs->access;
}

/* Keeps the option if the policy with it is enough. */
static int try_option(struct option_search *s, const struct policy *policy, const char *option,
		      struct str value)
{
	struct plan_inputs in = *s->f.in;
	const struct plan *plan;

	in.policy = policy;
	plan = plan_build_answers(s->f.a, &in, s->f.e);
	if (!plan) {
		if (s->f.e->code != ERR_POLICY)
			return err_result(s->f.e);
		err_clear(s->f.e);
		return 0;
	}
	if (is_met(plan, s->needs))
		*s->out = (struct option_change){ option, value, plan };
	return 0;
}

static struct profile *own_profile(struct option_search *s, struct policy *p)
{
	struct profile *own = ARENA_NEW(s->f.a, struct profile, s->f.e);

	if (!own)
		return NULL;
	*own = *p->profile;
	p->profile = own;
	return own;
}

/* --add-read, --add-write */
static int try_entry(struct option_search *s, struct str path)
{
	const char *option = s->needs->access == ACCESS_WRITE ? "--add-write" : "--add-read";
	struct home_match home;
	struct obeyed git = { .path = STR_EMPTY };
	struct profile *profile;
	struct policy *p;
	fs_entries *fs;

	if (homes_match(s->f.a, s->f.in->host, &s->f.in->places, path, &home, s->f.e) < 0)
		return err_result(s->f.e);
	/* SECURITY: one attempt must not lead a person to open everything that they have. */
	if (path.len == 1 || home.home.len)
		return 0;
	/* SECURITY: nor the hooks of a repository above the workspace, where no rule protects them. */
	if (s->needs->access == ACCESS_WRITE &&
	    obeyed_git_dir(s->f.a, s->f.in->host, s->f.policy->profile, path, &git, s->f.e) < 0)
		return err_result(s->f.e);
	if (git.path.len)
		return 0;
	p = suggest_copy_fs(&s->f, s->f.policy, 0);
	profile = p ? own_profile(s, p) : NULL;
	if (!profile)
		return err_result(s->f.e);
	fs = &p->layers.items[0].fs;
	fs->items[fs->count++] = (struct fs_entry){ .anchor = FS_ABSOLUTE,
						    .path = path,
						    .glob = STR_EMPTY,
						    .access = s->needs->access,
						    .layer = FS_LAYER_OPTION,
						    .key = path,
						    .origin = { .file = option } };
	profile->fs = *fs;
	return try_option(s, p, option, path);
}

static int try_unprotect(struct option_search *s, struct str name)
{
	struct policy *p = suggest_copy(&s->f, s->f.policy);
	struct profile *profile = p ? own_profile(s, p) : NULL;
	struct named *items;
	names *list;

	if (!profile)
		return err_result(s->f.e);
	list = &profile->unprotect;
	items = arena_array(s->f.a, list->count + 1, sizeof(*items), s->f.e);
	if (!items)
		return err_result(s->f.e);
	if (list->count)
		memcpy(items, list->items, list->count * sizeof(*items));
	items[list->count] = (struct named){ .name = name, .origin = { .file = "--unprotect" } };
	list->items = items;
	list->room = ++list->count;
	return try_option(s, p, "--unprotect", name);
}

/* -c permissions.NAME.git="commit"; a built-in profile can't be changed so. */
static int try_git(struct option_search *s, enum git_access git, const char *name)
{
	const struct profile *now = s->f.policy->profile;
	struct profile *profile;
	struct policy *p;
	struct str key, value;

	if (now->git >= git || !now->name.len || now->name.p[0] == ':')
		return 0;
	p = suggest_copy(&s->f, s->f.policy);
	profile = p ? own_profile(s, p) : NULL;
	if (!profile || suggest_key(&s->f, now->name, &key) < 0 ||
	    arena_printf(s->f.a, &value, s->f.e, "permissions.%.*s.git=\"%s\"", STR_ALL(key),
			 name) < 0)
		return err_result(s->f.e);
	profile->git = git;
	return try_option(s, p, "--config", value);
}

static bool is_git(const struct rule *rule)
{
	return rule->kind == RULE_GIT ||
	       (rule->kind == RULE_PROTECTED && str_is(rule->key, ".git"));
}

static int try_all(struct option_search *s, const struct rule *rule)
{
	bool is_open;

	if (rule->kind == RULE_OWN || rule->kind == RULE_UNSANDBOXED)
		return 0;
	/* SECURITY: nor what an agent obeys in its next session. */
	if (s->needs->access == ACCESS_WRITE &&
	    (rule_keeps_agent(rule, s->f.in->places.home) ||
	     rule_keeps_agent(plan_resolve(s->plan, s->needs->subject).rule, s->f.in->places.home)))
		return 0;
	/*
	 * SECURITY: not --add-write .git, which would also open the hooks and the configuration of
	 * the repository: git outside the sandbox runs what they say.
	 */
	if (is_git(rule)) {
		if (try_git(s, GIT_COMMIT, "commit") < 0 ||
		    (!s->out->option && try_git(s, GIT_WRITE, "write") < 0))
			return err_result(s->f.e);
		return 0;
	}
	if (rule->kind == RULE_PROTECTED && metadata_find(rule->key) &&
	    !str_is(rule->key, METADATA_OWN) && try_unprotect(s, rule->key) < 0)
		return err_result(s->f.e);
	is_open = plan_resolve(s->plan, s->needs->opens).access >= s->needs->access;
	if (!s->out->option && try_entry(s, is_open ? s->needs->subject : s->needs->opens) < 0)
		return err_result(s->f.e);
	return 0;
}

int plan_suggest_option(struct arena *a, const struct plan_inputs *in, const struct plan *p,
			const struct attempt_needs *needs, struct option_change *out, struct err *e)
{
	struct option_search s = { .f = { .a = a, .in = in, .policy = in->policy, .e = e },
				   .plan = p,
				   .needs = needs,
				   .out = out };
	struct verdict first = plan_resolve(p, needs->opens);

	*out = (struct option_change){ .option = NULL };
	if (first.access >= needs->access)
		first = plan_resolve(p, needs->subject);
	/* An option with a name that is not UTF-8 could not be pasted. */
	if (first.access >= needs->access || utf8_check(needs->subject) < needs->subject.len)
		return 0;
	return try_all(&s, first.rule);
}

static int move_workspace(struct arena *a, struct places *places, struct str to, struct err *e)
{
	struct str is = places_workspace(places);
	struct str *roots = arena_array(a, places->root_count + 1, sizeof(*roots), e);

	if (!roots)
		return err_result(e);
	for (size_t i = 0; i < places->root_count; i++)
		roots[i] = str_eq(places->roots[i], is) ? to : places->roots[i];
	places->roots = roots;
	places->workspace = to;
	return 0;
}

int plan_suggest_repo(struct arena *a, const struct plan_inputs *in,
		      const struct attempt_needs *needs, struct str git_dir, struct str *out,
		      struct err *e)
{
	struct option_search s = { .f = { .a = a, .in = in, .policy = in->policy, .e = e } };
	struct str top = path_parent(git_dir), is = places_workspace(&in->places);
	struct plan_inputs trial = *in;
	struct home_match home;
	struct profile *profile;
	const struct plan *plan;
	struct policy *p;

	*out = STR_EMPTY;
	if (!str_is(path_name(git_dir), ".git") || str_eq(top, is) || !path_is_under(is, top))
		return 0;
	p = suggest_copy(&s.f, in->policy);
	profile = p ? own_profile(&s, p) : NULL;
	if (!profile || homes_match(a, in->host, &in->places, top, &home, e) < 0)
		return err_result(e);
	if (top.len == 1 || home.home.len)
		return 0;
	profile->git = MAX_OF(profile->git, GIT_COMMIT);
	trial.policy = p;
	if (move_workspace(a, &trial.places, top, e) < 0)
		return err_result(e);
	plan = plan_build_answers(a, &trial, e);
	if (!plan && e->code != ERR_POLICY)
		return err_result(e);
	err_clear(e);
	if (plan && is_met(plan, needs))
		*out = top;
	return 0;
}
