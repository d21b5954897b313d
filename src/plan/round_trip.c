/* SPDX-License-Identifier: MIT */
/*
 * Whether a mode can express a plan (P19). The mode is guessed from the plan's answers. Its own
 * profile and plan are built from scratch, and both plans are asked about every path where either
 * could change its answer: answers are constant between rules (plan.h), so plans that agree at the
 * rules agree everywhere. A wrong guess leads to "does not round-trip", never to a wrong "does".
 *
 * Settings that a mode does not have, and that every enforcement applies by itself (environment,
 * limits, isolation), are not compared. A private /tmp is: it changes no answer, but the command
 * would see another directory under the same name.
 */
#include "base/path.h"
#include "plan/net.h"
#include "plan/plan.h"

struct trip {
	struct arena *a;
	const struct plan_inputs *in;
	const struct plan *plan;
	struct mode mode;
	struct str why_not; /* "" as long as nothing was found */
	struct err *e;
};

static bool is_stopped(const struct trip *t)
{
	return t->why_not.len > 0;
}

/* ---- From the plan to a mode -------------------------------------------- */

static bool is_root(const struct plan *p, struct str path)
{
	for (size_t i = 0; i < p->roots.count; i++)
		if (str_eq(p->roots.items[i].path, path))
			return true;
	return false;
}

static bool is_writable(const struct plan *p, struct str path)
{
	return plan_resolve(p, path).access == ACCESS_WRITE;
}

/*
 * Whether the mode must exclude a temporary directory: it is not writable, or it is a root of P9,
 * which the mode's own entry for it would not make it.
 */
static int find_excluded(struct trip *t, struct str dir, struct str *canonical, bool *out)
{
	struct located at;

	*canonical = STR_EMPTY;
	*out = true;
	if (dir.len == 0)
		return 0;
	if (plan_locate(t->a, t->in, dir, &at, t->e) < 0)
		return err_result(t->e);
	*canonical = at.path;
	*out = !is_writable(t->plan, at.path) || is_root(t->plan, at.path);
	return 0;
}

static int add_root(struct trip *t, struct str path)
{
	struct str *root;

	for (size_t i = 0; i < t->mode.writable_roots.count; i++)
		if (str_eq(t->mode.writable_roots.items[i], path))
			return 0;
	root = VEC_PUSH(t->a, &t->mode.writable_roots, t->e);
	if (!root)
		return err_result(t->e);
	*root = path;
	return 0;
}

/* Finds the roots of P9, and whatever else is writable inside something that is not. */
static int find_roots(struct trip *t, struct str slash_tmp, struct str tmpdir)
{
	const struct plan *p = t->plan;

	for (size_t i = 0; i < p->roots.count; i++)
		if (!str_eq(p->roots.items[i].path, places_workspace(&p->places)) &&
		    is_writable(p, p->roots.items[i].path) &&
		    add_root(t, p->roots.items[i].path) < 0)
			return err_result(t->e);
	for (size_t i = 0; i < p->regions.count; i++) {
		const struct region *r = &p->regions.items[i];

		if (r->access != ACCESS_WRITE || is_writable(p, path_parent(r->path)) ||
		    str_eq(r->path, places_workspace(&p->places)) ||
		    (!t->mode.exclude_slash_tmp && str_eq(r->path, slash_tmp)) ||
		    (!t->mode.exclude_tmpdir_env_var && str_eq(r->path, tmpdir)))
			continue;
		if (add_root(t, r->path) < 0)
			return err_result(t->e);
	}
	return 0;
}

static const struct region *find_region(const struct plan *p, bool is_writable_one)
{
	for (size_t i = 0; i < p->regions.count; i++)
		if ((p->regions.items[i].access == ACCESS_WRITE) == is_writable_one)
			return &p->regions.items[i];
	return NULL;
}

static int find_files_mode(struct trip *t)
{
	const struct plan *p = t->plan;
	const struct region *written = find_region(p, true);
	struct str workspace = places_workspace(&p->places);
	struct str slash_tmp, tmpdir;

	if (!find_region(p, false)) {
		t->mode.kind = MODE_FULL_ACCESS;
		return arena_printf(
			t->a, &t->why_not, t->e,
			"everything is writable, but danger-full-access has no sandbox");
	}
	if (!is_writable(p, workspace)) {
		t->mode.kind = MODE_READ_ONLY;
		if (!written)
			return 0;
		return arena_printf(t->a, &t->why_not, t->e,
				    "%.*s is writable and the workspace %.*s is not",
				    STR_ARG(written->path), STR_ARG(workspace));
	}
	t->mode.kind = MODE_WORKSPACE_WRITE;
	if (find_excluded(t, places_tmp(&p->places, 0), &slash_tmp, &t->mode.exclude_slash_tmp) <
		    0 ||
	    find_excluded(t, p->places.tmpdir, &tmpdir, &t->mode.exclude_tmpdir_env_var) < 0)
		return err_result(t->e);
	return find_roots(t, slash_tmp, tmpdir);
}

/* A network that is managed only so that hosts can be asked about is off where it can't be managed. */
static enum net_access find_network(const struct plan *p)
{
	return net_is_for_asking(p->net) ? NET_OFF : net_mode(p->net);
}

/* Finds what no mode can express, whatever the paths are. */
static int find_obstacle(struct trip *t)
{
	const struct plan *p = t->plan;

	for (size_t i = 0; i < p->rules.count; i++)
		if (p->rules.items[i].kind == RULE_GLOB)
			return arena_printf(t->a, &t->why_not, t->e, "no mode has the glob %.*s",
					    STR_ARG(p->rules.items[i].key));
	if (find_network(p) == NET_MANAGED)
		return arena_printf(t->a, &t->why_not, t->e, "no mode has a managed network");
	if (p->policy->profile->tmp_is_private)
		return arena_printf(t->a, &t->why_not, t->e, "no mode has a private /tmp");
	return 0;
}

/* ---- From the mode back to a plan --------------------------------------- */

static struct policy *build_policy(struct trip *t)
{
	struct policy *q = ARENA_NEW(t->a, struct policy, t->e);
	struct profile *profile = mode_profile(t->a, &t->mode, t->e);
	struct layer *layer;

	if (!q || !profile)
		return NULL;
	layer = VEC_PUSH(t->a, &q->layers, t->e);
	if (!layer)
		return NULL;
	*layer = (struct layer){
		.kind = LAYER_PROFILE,
		.name = profile->name,
		.fs = profile->fs,
		.net = profile->net,
		.has_net = true,
	};
	q->profile = profile;
	q->settings = t->in->policy->settings;
	return q;
}

static bool is_root_of_mode(const struct trip *t, struct str path)
{
	for (size_t i = 0; i < t->mode.writable_roots.count; i++)
		if (str_eq(t->mode.writable_roots.items[i], path))
			return true;
	return false;
}

/*
 * A mode has no workspace roots but the working directory and its own. The plan's roots that it
 * makes writable stay roots.
 */
static int build_roots(struct trip *t, const struct profile *profile, struct places *places)
{
	const struct places *given = &t->plan->places;
	size_t count = 1;
	struct str *roots = arena_array(t->a, profile->roots.count + given->root_count + 1,
					sizeof(*roots), t->e);

	if (!roots)
		return err_result(t->e);
	roots[0] = places_workspace(places);
	for (size_t i = 0; i < profile->roots.count; i++)
		if (places_root(t->a, places, &profile->roots.items[i], &roots[count++], t->e) < 0)
			return err_result(t->e);
	for (size_t i = 0; i < given->root_count; i++)
		if (is_root_of_mode(t, given->roots[i]))
			roots[count++] = given->roots[i];
	places->roots = roots;
	places->root_count = count;
	return 0;
}

static const struct plan *build_plan(struct trip *t)
{
	struct plan_inputs in = *t->in;
	struct policy *q = build_policy(t);

	if (!q || build_roots(t, q->profile, &in.places) < 0)
		return NULL;
	in.policy = q;
	in.allows_home = true; /* that was checked with the plan itself, which may name one */
	return plan_build(t->a, &in, t->e);
}

/* ---- Comparing ---------------------------------------------------------- */

static int compare_at(struct trip *t, const struct plan *other, struct str path)
{
	enum access is = plan_resolve(t->plan, path).access;
	enum access would_be = plan_resolve(other, path).access;

	if (is == would_be || is_stopped(t))
		return 0;
	return arena_printf(t->a, &t->why_not, t->e, "%.*s is %s, and would be %s in the mode %s",
			    STR_ARG(path), access_name(is), access_name(would_be),
			    mode_kind_name(t->mode.kind));
}

static int compare_at_rules(struct trip *t, const struct plan *other, const struct plan *of)
{
	for (size_t i = 0; i < of->rules.count && !is_stopped(t); i++)
		if (compare_at(t, other, of->rules.items[i].path) < 0)
			return err_result(t->e);
	for (size_t i = 0; i < of->regions.count && !is_stopped(t); i++)
		if (compare_at(t, other, of->regions.items[i].path) < 0)
			return err_result(t->e);
	return 0;
}

/* Equal inputs give equal plans. */
static bool is_mode_itself(const struct trip *t)
{
	const struct places *places = &t->in->places;
	struct mode mode = t->mode;

	/* If there is no TMPDIR, excluding it makes no difference. */
	mode.exclude_tmpdir_env_var &= places->tmpdir.len > 0;
	return places->root_count == 1 && str_eq(places->roots[0], places_workspace(places)) &&
	       mode_is_exact(&mode, t->in->policy);
}

static int compare(struct trip *t)
{
	const struct plan *other = is_mode_itself(t) ? t->plan : build_plan(t);

	if (!other) {
		/* If this host refuses the mode, it can't stand for a plan that is accepted. */
		if (t->e->code != ERR_POLICY ||
		    arena_copy(t->a, str_of(t->e->text), &t->why_not, t->e) < 0)
			return err_result(t->e);
		err_clear(t->e);
		return 0;
	}
	if (other == t->plan)
		return 0;
	if (compare_at(t, other, STR("/")) < 0 || compare_at_rules(t, other, t->plan) < 0 ||
	    compare_at_rules(t, other, other) < 0)
		return err_result(t->e);
	if (!is_stopped(t) && find_network(t->plan) != net_mode(other->net))
		return arena_printf(t->a, &t->why_not, t->e, "the network would not be the same");
	return 0;
}

int plan_round_trips(struct arena *a, const struct plan_inputs *in, const struct plan *p,
		     bool *round_trips, struct mode *mode, struct str *why_not, struct err *e)
{
	struct trip t = { .a = a, .in = in, .plan = p, .why_not = STR_EMPTY, .e = e };

	if (p->is_unsandboxed) {
		t.mode.kind = MODE_FULL_ACCESS;
		t.mode.network_access = true;
	} else {
		t.mode.network_access = net_mode(p->net) == NET_FULL;
		if (find_files_mode(&t) < 0 || (!is_stopped(&t) && find_obstacle(&t) < 0) ||
		    (!is_stopped(&t) && compare(&t) < 0))
			return err_result(e);
	}
	*round_trips = !is_stopped(&t);
	*mode = t.mode;
	*why_not = t.why_not;
	return 0;
}
