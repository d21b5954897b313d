/* SPDX-License-Identifier: MIT */
/*
 * A plan with one more grant, made from the plan without it. A grant changes answers at its path and below
 * it, and there only the rules on the way to it and below it count. So the passes are run for those alone,
 * and what they make is put in the place of what the plan has there.
 *
 * SECURITY: that holds for a grant that is apart from all that passes look for elsewhere: roots, git
 * directories, globs, links, protected names, what was missing. For every other grant the plan is made
 * from scratch. A doubt has to end there, too.
 */
#include <stdlib.h>

#include "base/path.h"
#include "plan/builder.h"
#include "plan/index.h"

typedef int pass(struct builder *b, struct err *e);

/* The part of a plan around a grant, while it is made. */
struct around {
	struct builder b;
	const struct plan *whole; /* without the grant */
	const struct plan_inputs *in;
	const struct fs_entry *grant;
	size_t kept; /* how many rules it has of that plan */
	bool skips_nested;
};

/* ---- Whether it can be derived ------------------------------------------------------------------ */

static bool is_same_grant(const struct fs_entry *a, const struct fs_entry *b)
{
	return a->anchor == b->anchor && a->access == b->access && a->only == b->only &&
	       str_eq(a->path, b->path);
}

/* What the policy of `in` has more than that of the plan, if it is one grant; else NULL. */
static const struct fs_entry *find_grant(const struct plan *p, const struct plan_inputs *in)
{
	const struct policy *was = p->policy, *is = in->policy;
	const struct fs_entry *grant;

	if (!p->sites || p->is_unsandboxed || in->host->folds || is->profile != was->profile ||
	    is->layers.items != was->layers.items || is->layers.count != was->layers.count ||
	    is->net_grants.count != was->net_grants.count ||
	    is->socket_grants.count != was->socket_grants.count ||
	    is->grants.count != was->grants.count + 1)
		return NULL;
	for (size_t i = 0; i < was->grants.count; i++)
		if (!is_same_grant(&was->grants.items[i], &is->grants.items[i]))
			return NULL;
	grant = &is->grants.items[was->grants.count];
	return grant->anchor == FS_ABSOLUTE && grant->access == ACCESS_WRITE &&
			       grant->only == FS_ANYTHING
		       ? grant
		       : NULL;
}

static bool is_near(struct str a, struct str b)
{
	return path_is_under(a, b) || path_is_under(b, a);
}

/*
 * A grant that leads through a link in another one is left out (entries.c), and a link that may be written
 * has to be protected.
 */
static bool is_led_through(const struct rule_site *site, struct str path)
{
	for (size_t i = 0; i < site->link_count; i++)
		if (path_is_under(site->links[i].path, path))
			return true;
	return false;
}

static bool is_apart_from_rule(const struct rule *rule, const struct rule_site *site,
			       struct str path)
{
	if (is_led_through(site, path))
		return false;
	if (!is_near(rule->path, path))
		return true;
	switch (rule->kind) {
	case RULE_ENTRY:
	case RULE_GRANT:
		return !site->link_count || !path_is_under(rule->path, path);
	case RULE_MISSING:
		return !path_is_under(rule->path, path);
	case RULE_GLOB:
	case RULE_PROTECTED:
	case RULE_GIT:
	case RULE_OWN:
	case RULE_UNCOVERED:
	case RULE_UNSANDBOXED:
		break;
	}
	return false;
}

static bool is_apart_from_git(const struct plan *p, struct str path)
{
	for (size_t i = 0; i < p->git_dirs.count; i++) {
		const struct git_dir *dir = &p->git_dirs.items[i];

		if (is_near(dir->path, path) || is_near(dir->common_dir, path) ||
		    (dir->worktree.len && path_is_under(dir->worktree, path)))
			return false;
	}
	return true;
}

static bool is_apart(const struct plan *p, const struct plan_inputs *in, struct str path)
{
	for (size_t i = 0; i < p->places.root_count; i++)
		if (path_is_under(p->places.roots[i], path))
			return false;
	for (size_t i = 0; i < p->roots.count; i++)
		if (is_near(p->roots.items[i].path, path))
			return false;
	for (size_t i = 0; i < in->own_count; i++)
		if (is_near(in->own[i].path, path))
			return false;
	for (size_t i = 0; i < p->left_out.count; i++)
		if (path_is_under(p->left_out.items[i], path))
			return false;
	for (size_t i = 0; i < p->rules.count; i++)
		if (!is_apart_from_rule(&p->rules.items[i], &p->sites[i], path))
			return false;
	return is_apart_from_git(p, path);
}

/* ---- The part around it --------------------------------------------------------------------------- */

/* Whether the rule leads where it did. */
static int is_unchanged(struct builder *b, const struct rule *rule, const struct rule_site *site,
			bool *out, struct err *e)
{
	met_links links = { .items = NULL };
	struct canon at;

	if (builder_canon(b, rule->path, true, &at, &links, e) < 0)
		return err_result(e);
	*out = !links.count && at.type == site->type && at.missing_from == site->missing_from &&
	       str_eq(at.path, rule->path);
	return 0;
}

/* Takes over the rules on the way to the path, and below it. False in `*out`: that is not enough. */
static int keep_rules(struct around *x, struct str path, bool *out, struct err *e)
{
	const struct plan *p = x->whole;

	*out = true;
	for (size_t i = 0; *out && i < p->rules.count; i++) {
		const struct rule *rule = &p->rules.items[i];

		if (!is_near(rule->path, path))
			continue;
		if (path_is_under(rule->path, path) &&
		    is_unchanged(&x->b, rule, &p->sites[i], out, e) < 0)
			return err_result(e);
		if (!builder_add(&x->b, rule, &p->sites[i], e))
			return err_result(e);
	}
	x->kept = x->b.plan->rules.count;
	return 0;
}

static int add_grant(struct around *x, bool *out, struct err *e)
{
	if (builder_add_grant(&x->b, x->grant, e) < 0)
		return err_result(e);
	*out = x->b.plan->rules.count == x->kept + 1;
	return 0;
}

static bool is_git_below(const struct plan *made, struct str path)
{
	for (size_t i = 0; i < made->git_dirs.count; i++) {
		const struct git_dir *dir = &made->git_dirs.items[i];

		if (!path_is_under(dir->path, path) || !path_is_under(dir->common_dir, path) ||
		    (dir->worktree.len && !path_is_under(dir->worktree, path)))
			return false;
	}
	return true;
}

/* Whether all that the passes have found is below the path: links and repositories may lead elsewhere. */
static bool is_contained(const struct around *x, struct str path)
{
	const struct plan *made = x->b.plan;

	for (size_t i = x->kept; i < made->rules.count; i++)
		if (!path_is_under(made->rules.items[i].path, path))
			return false;
	return is_git_below(made, path);
}

static int run(struct around *x, pass *const *passes, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++)
		if (passes[i](&x->b, e) < 0)
			return err_result(e);
	return 0;
}

/* As plan_build_answers() makes it, but for the workspace, which is elsewhere. */
static int build_answers(struct around *x, struct str path, bool *out, struct err *e)
{
	static pass *const passes[] = { pass_roots, pass_git, pass_protect, pass_missing,
					pass_index };
	struct plan *made = x->b.plan;

	made->places = x->whole->places;
	made->places.root_count = 0;
	if (keep_rules(x, path, out, e) < 0 || (*out && add_grant(x, out, e) < 0))
		return err_result(e);
	if (!*out)
		return 0;
	if (run(x, passes, COUNT_OF(passes), e) < 0)
		return err_result(e);
	made->places = x->whole->places;
	*out = is_contained(x, path);
	return 0;
}

static int begin(struct around *x, struct arena *a, struct err *e)
{
	if (builder_init(&x->b, a, x->in, e) < 0)
		return err_result(e);
	x->b.skips_nested = x->skips_nested;
	return 0;
}

/* False in `*out`: the plan has to be made from scratch. */
static int derive(struct around *x, struct arena *a, bool *out, struct err *e)
{
	*out = false;
	x->grant = find_grant(x->whole, x->in);
	if (!x->grant || !is_apart(x->whole, x->in, x->grant->path))
		return 0;
	if (begin(x, a, e) == 0 && build_answers(x, x->grant->path, out, e) == 0)
		return 0;
	/* Nothing is refused here: what stands in the way may be none for the whole plan. */
	if (e->code != ERR_POLICY)
		return err_result(e);
	err_clear(e);
	*out = false;
	return 0;
}

struct plan *plan_grant_answers(struct arena *a, const struct plan *p, const struct plan_inputs *in,
				struct err *e)
{
	struct around x = { .whole = p, .in = in, .skips_nested = true };
	bool is_derived;

	if (derive(&x, a, &is_derived, e) < 0)
		return NULL;
	return is_derived ? x.b.plan : plan_build_answers(a, in, e);
}

/* ---- The whole plan --------------------------------------------------------------------------------- */

/*
 * The list of a plan, of which the items at and below a path are replaced by those of another plan.
 * Both are in path_cmp() order, and so is what is made.
 */
#define SPLICE(a, out, was, is, path, e)                                                        \
	splice((a), (void **)&(out)->items, &(out)->count, &(out)->room, sizeof(*(out)->items), \
	       &(const struct slice){ (was)->items, (was)->count, (is)->items, (is)->count },   \
	       (path), (e))

struct slice {
	const void *was;
	size_t was_count;
	const void *is;
	size_t is_count;
};

/* Each item starts with its path. */
static struct str path_of(const void *items, size_t size, size_t i)
{
	struct str path;

	memcpy(&path, (const char *)items + i * size, sizeof(path));
	return path;
}

static int splice(struct arena *a, void **items, size_t *count, size_t *room, size_t size,
		  const struct slice *s, struct str path, struct err *e)
{
	char *made = arena_array(a, s->was_count + s->is_count + 1, size, e);
	size_t n = 0, i = 0;

	if (!made)
		return err_result(e);
	for (; i < s->was_count && path_cmp(path_of(s->was, size, i), path) < 0; i++)
		memcpy(made + n++ * size, (const char *)s->was + i * size, size);
	for (size_t k = 0; k < s->is_count; k++)
		if (path_is_under(path_of(s->is, size, k), path))
			memcpy(made + n++ * size, (const char *)s->is + k * size, size);
	for (; i < s->was_count; i++)
		if (!path_is_under(path_of(s->was, size, i), path))
			memcpy(made + n++ * size, (const char *)s->was + i * size, size);
	*items = made;
	*count = *room = n;
	return 0;
}

/* All rules: those of the plan, and the new ones. */
static int join_rules(const struct around *x, struct plan *out, struct err *e)
{
	const struct plan *p = x->whole, *made = x->b.plan;
	size_t more = made->rules.count - x->kept, count = p->rules.count + more;
	struct rule *rules = arena_array(x->b.a, count + 1, sizeof(*rules), e);
	struct rule_site *sites = rules ? arena_array(x->b.a, count + 1, sizeof(*sites), e) : NULL;

	if (!sites)
		return err_result(e);
	memcpy(rules, p->rules.items, p->rules.count * sizeof(*rules));
	memcpy(rules + p->rules.count, made->rules.items + x->kept, more * sizeof(*rules));
	memcpy(sites, p->sites, p->rules.count * sizeof(*sites));
	memcpy(sites + p->rules.count, x->b.sites.items + x->kept, more * sizeof(*sites));
	out->rules.items = rules;
	out->rules.count = out->rules.room = count;
	out->sites = sites;
	out->index = index_build(x->b.a, x->in->policy, rules, count, e);
	return out->index ? 0 : err_result(e);
}

static int join_needs(const struct around *x, struct plan *out, struct err *e)
{
	const struct plan *made = x->b.plan;

	for (size_t i = 0; i < made->needs.count; i++) {
		const struct need *need = &made->needs.items[i];
		struct need *added;

		if (out->needs_set & GUARANTEE_BIT(need->guarantee))
			continue;
		added = VEC_PUSH(x->b.a, &out->needs, e);
		if (!added)
			return err_result(e);
		*added = *need;
		out->needs_set |= GUARANTEE_BIT(need->guarantee);
	}
	return 0;
}

static int join_git(const struct around *x, struct plan *out, struct err *e)
{
	const struct plan *made = x->b.plan;

	for (size_t i = 0; i < made->git_dirs.count; i++) {
		struct git_dir *added = VEC_PUSH(x->b.a, &out->git_dirs, e);

		if (!added)
			return err_result(e);
		*added = made->git_dirs.items[i];
	}
	return 0;
}

static int join_placeholders(const struct around *x, struct plan *out, struct err *e)
{
	const struct plan *p = x->whole, *made = x->b.plan;
	size_t room = p->placeholders.count + made->placeholders.count + 1;
	struct placeholder *items = arena_array(x->b.a, room, sizeof(*items), e);
	size_t count = 0;

	if (!items)
		return err_result(e);
	for (size_t i = 0; i < p->placeholders.count; i++)
		if (!path_is_under(p->placeholders.items[i].path, x->grant->path))
			items[count++] = p->placeholders.items[i];
	for (size_t i = 0; i < made->placeholders.count; i++)
		items[count++] = made->placeholders.items[i];
	out->placeholders.items = items;
	out->placeholders.count = out->placeholders.room = count;
	return 0;
}

/* What is not named here is as it was. */
static int join(const struct around *x, struct plan *out, struct err *e)
{
	const struct plan *p = x->whole, *made = x->b.plan;
	struct str path = x->grant->path;
	struct arena *a = x->b.a;

	*out = *p;
	out->policy = x->in->policy;
	out->host = x->in->host;
	/* So that what is added goes to copies. */
	out->needs.room = out->needs.count;
	out->git_dirs.room = out->git_dirs.count;
	if (join_rules(x, out, e) < 0 ||
	    SPLICE(a, &out->regions, &p->regions, &made->regions, path, e) < 0 ||
	    SPLICE(a, &out->pins, &p->pins, &made->pins, path, e) < 0 ||
	    SPLICE(a, &out->links, &p->links, &made->links, path, e) < 0 ||
	    SPLICE(a, &out->roots, &p->roots, &made->roots, path, e) < 0 ||
	    join_placeholders(x, out, e) < 0 || join_needs(x, out, e) < 0 ||
	    join_git(x, out, e) < 0)
		return err_result(e);
	return 0;
}

static struct plan *grow(struct around *x, struct err *e)
{
	static pass *const passes[] = { pass_links, pass_regions, pass_pins, pass_needs };
	struct plan *out = ARENA_NEW(x->b.a, struct plan, e);

	x->b.plan->net = x->whole->net;
	if (!out || run(x, passes, COUNT_OF(passes), e) < 0 || join(x, out, e) < 0)
		return NULL;
	return out;
}

struct plan *plan_grant(struct arena *a, const struct plan *p, const struct plan_inputs *in,
			struct err *e)
{
	struct around x = { .whole = p, .in = in };
	bool is_derived;

	if (derive(&x, a, &is_derived, e) < 0)
		return NULL;
	/* What a plan for its answers alone lacks can't be shared. */
	return is_derived && p->net ? grow(&x, e) : plan_build(a, in, e);
}
