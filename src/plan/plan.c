/* SPDX-License-Identifier: MIT */
/* See plan.h for the theory, builder.h for the passes. */
#include "plan/plan.h"

#include "base/path.h"
#include "plan/builder.h"
#include "plan/index.h"
#include "plan/net.h"

typedef int pass(struct builder *b, struct err *e);

static pass *const rule_passes[] = {
	pass_entries, pass_homes,     pass_masked,  pass_roots, pass_git,
	pass_protect, pass_own_files, pass_missing, pass_index,
};

static pass *const region_passes[] = { pass_links, pass_regions, pass_pins, pass_needs };

/* Without a sandbox there is nothing to enforce, so there are no rules: only the answer. */
static pass *const unsandboxed_rule_passes[] = { pass_index };
static pass *const unsandboxed_region_passes[] = { pass_regions };

static int run_passes(struct builder *b, pass *const *list, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		int r = list[i](b, e);

		if (r < 0)
			return r;
	}
	return 0;
}

/* plan->places: the roots of the inputs, made canonical. */
static int find_places(struct builder *b, struct err *e)
{
	const struct places *given = &b->in->places;
	struct str *roots = arena_array(b->a, given->root_count + 1, sizeof(*roots), e);

	if (!roots)
		return err_result(e);
	for (size_t i = 0; i < given->root_count; i++) {
		struct canon canon;
		int r = builder_canon(b, given->roots[i], true, &canon, NULL, e);

		if (r < 0)
			return err_wrap(e, "workspace root");
		roots[i] = canon.path;
	}
	b->plan->places = *given;
	b->plan->places.roots = roots;
	return 0;
}

/* Builds the rules and the answers that they give. */
static int build_answers(struct builder *b, struct err *e)
{
	int r;

	r = find_places(b, e);
	if (r < 0)
		return r;
	if (b->plan->is_unsandboxed)
		return run_passes(b, unsandboxed_rule_passes, COUNT_OF(unsandboxed_rule_passes), e);
	r = run_passes(b, rule_passes, COUNT_OF(rule_passes), e);
	b->plan->sites = b->sites.items;
	return r;
}

/* Builds what a backend needs to enforce the answers. */
static int build_regions(struct builder *b, struct err *e)
{
	if (b->plan->is_unsandboxed)
		return run_passes(b, unsandboxed_region_passes, COUNT_OF(unsandboxed_region_passes),
				  e);
	return run_passes(b, region_passes, COUNT_OF(region_passes), e);
}

int builder_init(struct builder *b, struct arena *a, const struct plan_inputs *in, struct err *e)
{
	*b = (struct builder){ .a = a, .in = in, .host = in->host };
	b->plan = ARENA_NEW(a, struct plan, e);
	if (!b->plan)
		return err_result(e);
	b->plan->policy = in->policy;
	b->plan->host = in->host;
	b->plan->is_unsandboxed = in->policy->profile->is_unsandboxed;
	b->cache = canon_cache_new(a, e);
	return b->cache ? 0 : err_result(e);
}

struct plan *plan_build(struct arena *a, const struct plan_inputs *in, struct err *e)
{
	struct builder b;

	if (builder_init(&b, a, in, e) < 0)
		return NULL;
	b.plan->net = net_build(a, in->policy, in->has_decider, e);
	if (!b.plan->net || build_answers(&b, e) < 0 || build_regions(&b, e) < 0)
		return NULL;
	return b.plan;
}

struct plan *plan_build_answers(struct arena *a, const struct plan_inputs *in, struct err *e)
{
	struct builder b;

	if (builder_init(&b, a, in, e) < 0 || build_answers(&b, e) < 0)
		return NULL;
	return b.plan;
}

struct plan *plan_narrow(struct arena *a, const struct plan *p, struct str path, enum access access,
			 struct err *e)
{
	struct plan *narrowed = ARENA_NEW(a, struct plan, e);
	size_t count = p->rules.count;
	struct rule *rules = arena_array(a, count + 1, sizeof(*rules), e);

	if (!narrowed || !rules)
		return NULL;
	memcpy(rules, p->rules.items, count * sizeof(*rules));
	rules[count] = (struct rule){ .kind = RULE_ENTRY,
				      .access = access,
				      .depth = (uint32_t)path_depth(path),
				      .path = path,
				      .glob = STR_EMPTY,
				      .key = path,
				      .note = STR_EMPTY };
	*narrowed = (struct plan){ .policy = p->policy, .host = p->host, .places = p->places };
	narrowed->rules.items = rules;
	narrowed->rules.count = narrowed->rules.room = count + 1;
	narrowed->index = index_build_for(a, p->host, p->policy, rules, count + 1, e);
	return narrowed->index ? narrowed : NULL;
}

struct verdict plan_resolve(const struct plan *p, struct str path)
{
	return index_answer(p->index, path);
}

bool plan_may_replace(const struct plan *p, struct str path, bool (*may_write)(const char *path))
{
	char part[PATH_MAX_BYTES];

	for (; path.len < sizeof(part); path = path_parent(path)) {
		memcpy(part, path.p, path.len);
		part[path.len] = '\0';
		if (plan_resolve(p, path).access == ACCESS_WRITE && may_write(part))
			return true;
		if (path.len <= 1)
			return false;
	}
	return true;
}

int plan_trace(struct arena *a, const struct plan *p, struct str path, struct verdict *out,
	       rule_trace *trace, struct err *e)
{
	return index_resolve(p->index, path, out, a, trace, e);
}

int plan_locate(struct arena *a, const struct plan_inputs *in, struct str path, struct located *out,
		struct err *e)
{
	return canon_locate(a, in->host, in->places.cwd, path, out, e);
}

int plan_reach(struct arena *a, const struct plan *p, const struct plan_inputs *in, struct str path,
	       struct located *out, struct err *e)
{
	struct located at;
	int r = plan_locate(a, in, path, &at, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < at.link_count; i++) {
		struct str link = at.links[i].path;

		if (plan_resolve(p, path_parent(link)).access == ACCESS_DENY) {
			at.path = link;
			at.type = HOST_LINK;
			at.via_link = STR_EMPTY;
			at.crossed_links = i > 0;
			at.link_count = i;
		}
	}
	*out = at;
	return 0;
}
