/* SPDX-License-Identifier: MIT */
/*
 * The flattened form of the answers: where they change on the way down from "/". Also reports what
 * a project asked for and did not get (P2).
 *
 * A region is kept if its answer differs from that of the region around it, and also if it differs
 * only from the answer directly above it: then a glob matched in between, and what masks that match
 * has to be opened again here.
 */
#include "base/path.h"
#include "base/toml.h"
#include "plan/builder.h"
#include "plan/index.h"

/* What is at the i-th place; passes that add rules about missing paths may know less. */
static enum host_type type_at(const struct builder *b, size_t i)
{
	size_t count;
	const uint32_t *rules = index_rules_at(b->plan->index, i, &count);

	for (size_t k = 0; k < count; k++) {
		const struct rule_site *site = &b->sites.items[rules[k]];

		if (site->type != HOST_MISSING)
			return site->type;
	}
	return HOST_MISSING;
}

static int add_region(struct builder *b, struct str path, struct verdict v, enum host_type type,
		      struct err *e)
{
	struct region *region = VEC_PUSH(b->a, &b->plan->regions, e);

	if (!region)
		return err_result(e);
	*region = (struct region){ .path = path, .access = v.access, .rule = v.rule, .type = type };
	return 0;
}

/* The regions around the current place, outermost first: positions in plan->regions. */
typedef VEC(size_t) region_stack;

static int add_place(struct builder *b, struct str path, enum host_type type, region_stack *around,
		     struct err *e)
{
	const struct region *regions = b->plan->regions.items;
	struct verdict v = plan_resolve(b->plan, path);
	size_t *top;
	int r;

	while (around->count > 0 &&
	       !path_is_under(path, regions[around->items[around->count - 1]].path))
		around->count--;
	if (around->count > 0 && regions[around->items[around->count - 1]].access == v.access &&
	    plan_resolve(b->plan, path_parent(path)).access == v.access)
		return 0;
	r = add_region(b, path, v, type, e);
	if (r < 0)
		return r;
	top = VEC_PUSH(b->a, around, e);
	if (!top)
		return err_result(e);
	*top = b->plan->regions.count - 1;
	return 0;
}

static int find_regions(struct builder *b, struct err *e)
{
	region_stack around = { .items = NULL };
	size_t count;
	const uint32_t *places = index_places(b->plan->index, &count);
	int r = add_place(b, STR("/"), HOST_DIR, &around, e);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct str path = b->plan->rules.items[places[i]].path;

		if (!str_is(path, "/"))
			r = add_place(b, path, type_at(b, i), &around, e);
	}
	return r;
}

/* How to trust a project: a line that can be pasted. */
static void add_trust_hint(struct buf *b, const struct layer *layer)
{
	/* TOML can't express such a name. */
	if (utf8_check(layer->dir) != layer->dir.len)
		return;
	buf_add_text(b, " To trust this one as it is now, put this line below [trust] in your own "
			"configuration: ");
	toml_add_string(b, layer->dir);
	buf_add_text(b, " = ");
	toml_add_string(b, layer->digest);
}

/* Reports a widening that was cut (P2). */
static int report_cut(struct builder *b, const struct rule *rule, struct err *e)
{
	const struct layer *layer = &b->plan->policy->layers.items[rule->layer];
	scoped_buf hint = BUF_INIT((size_t)8 * PATH_MAX_BYTES);
	enum access below;

	if (layer->kind != LAYER_PROJECT || rule->kind != RULE_ENTRY)
		return 0;
	below = index_resolve_below(b->plan->index, rule->path, rule->layer).access;
	if (rule->access <= below)
		return 0;
	add_trust_hint(&hint, layer);
	if (buf_check(&hint, e) < 0)
		return err_result(e);
	return builder_note(b, true, rule->origin, e,
			    "the project asks for \"%s\" at %.*s (\"%.*s\") and gets \"%s\": a "
			    "project file may only narrow.%s",
			    access_name(rule->access), STR_ARG(rule->path), STR_ARG(rule->key),
			    access_name(plan_resolve(b->plan, rule->path).access),
			    buf_str(&hint).p);
}

int pass_regions(struct builder *b, struct err *e)
{
	int r = find_regions(b, e);

	for (size_t i = 0; r == 0 && i < b->plan->rules.count; i++)
		r = report_cut(b, &b->plan->rules.items[i], e);
	return r;
}
