/* SPDX-License-Identifier: MIT */
/*
 * Pins (P8): the directories between a writable area and a narrower path in it. Without a pin, the
 * command could rename such a directory away, together with the mount on the narrower path, and put
 * another in its place.
 */
#include "base/name_tree.h"
#include "base/path.h"
#include "plan/builder.h"

struct pinning {
	struct builder *b;
	struct name_node *pinned; /* by path */
	bool is_nested;		  /* pins that are added now are for nested repositories */
};

static int add_pin(struct pinning *p, struct str path, struct str because, struct err *e)
{
	struct name_node *node = ARENA_NEW(p->b->a, struct name_node, e);
	struct pin *pin = node ? VEC_PUSH(p->b->a, &p->b->plan->pins, e) : NULL;

	if (!pin)
		return err_result(e);
	*pin = (struct pin){ path, because, p->is_nested };
	node->name = path;
	name_tree_add(&p->pinned, node);
	return 0;
}

static bool is_writable(const struct pinning *p, struct str path)
{
	return plan_resolve(p->b->plan, path).access == ACCESS_WRITE;
}

/*
 * Pins every writable directory above `path` except the outermost, which can't be renamed because
 * its parent is not writable.
 */
static int pin_above(struct pinning *p, struct str path, struct err *e)
{
	struct str at = path_parent(path);
	bool is_inside = is_writable(p, at);

	while (is_inside && at.len > 1) {
		struct str above = path_parent(at);
		int r;

		is_inside = is_writable(p, above);
		if (!is_inside || name_tree_find(p->pinned, at))
			break; /* everything above a pin is already pinned */
		r = add_pin(p, at, path, e);
		if (r < 0)
			return r;
		at = above;
	}
	return 0;
}

/* The start directory is pinned too: a name below it is denied. */
static int pin_start(struct pinning *p, struct str start, struct err *e)
{
	const struct host *host = p->b->host;
	struct host_file file;
	struct str below;

	if (host->look(host->user, start, &file, e) < 0)
		return err_result(e);
	if (file.type != HOST_DIR)
		return 0;
	if (path_join(p->b->a, start, STR("*"), &below, e) < 0)
		return err_result(e);
	return pin_above(p, below, e);
}

/* Pins what exists for the rule, if it is of the kind that is being pinned now. */
static int pin_for(struct pinning *p, const struct rule *rule, struct str path, struct err *e)
{
	return rule->is_nested == p->is_nested ? pin_above(p, path, e) : 0;
}

static int pin_all(struct pinning *p, struct err *e)
{
	const struct plan *plan = p->b->plan;
	int r = 0;

	/* A missing path has a placeholder where its existing directories end, or needs nothing. */
	for (size_t i = 0; r == 0 && i < plan->regions.count; i++) {
		const struct region *region = &plan->regions.items[i];

		if (region->access < ACCESS_WRITE && region->type != HOST_MISSING &&
		    region->type != HOST_HIDDEN)
			r = pin_for(p, region->rule, region->path, e);
	}
	for (size_t i = 0; r == 0 && i < plan->placeholders.count; i++)
		r = pin_for(p, plan->placeholders.items[i].rule, plan->placeholders.items[i].path,
			    e);
	for (size_t i = 0; r == 0 && i < plan->links.count; i++)
		r = pin_for(p, plan->links.items[i].rule, plan->links.items[i].path, e);
	for (size_t i = 0; r == 0 && i < plan->masked.count; i++)
		r = pin_for(p, plan->masked.items[i].rule, plan->masked.items[i].path, e);
	/* The directory where a glob starts is watched for names that appear later. */
	for (size_t i = 0; r == 0 && !p->is_nested && i < plan->rules.count; i++)
		if (plan->rules.items[i].kind == RULE_GLOB)
			r = pin_start(p, plan->rules.items[i].path, e);
	return r;
}

static int compare_pins(const void *a, const void *b)
{
	return path_cmp(((const struct pin *)a)->path, ((const struct pin *)b)->path);
}

int pass_pins(struct builder *b, struct err *e)
{
	struct pinning p = { .b = b };
	int r = pin_all(&p, e);

	/* A pin that other rules need too does not belong to nested repositories. */
	p.is_nested = true;
	if (r == 0)
		r = pin_all(&p, e);
	if (r == 0 && b->plan->pins.count > 0)
		qsort(b->plan->pins.items, b->plan->pins.count, sizeof(b->plan->pins.items[0]),
		      compare_pins);
	return r;
}
