/* SPDX-License-Identifier: MIT */
/*
 * Pins (P8): the directories between a writable region and a narrower path in
 * it. Without a pin such a directory could be renamed away, narrower path and
 * all, and another put in its place.
 */
#include "base/name_tree.h"
#include "base/path.h"
#include "plan/builder.h"

struct pinning {
	struct builder *b;
	struct name_node *regions; /* struct region_node, by path */
	struct name_node *pinned;  /* by path */
};

struct region_node {
	struct name_node node;
	const struct region *region;
};

static int index_regions(struct pinning *p, struct err *e)
{
	const struct plan *plan = p->b->plan;

	for (size_t i = 0; i < plan->regions.count; i++) {
		const struct region *region = &plan->regions.items[i];
		struct region_node *node;

		if (name_tree_find(p->regions, region->path))
			continue;
		node = ARENA_NEW(p->b->a, struct region_node, e);
		if (!node)
			return err_result(e);
		node->node.name = region->path;
		node->region = region;
		name_tree_add(&p->regions, &node->node);
	}
	return 0;
}

/* The region around `path`, itself not counted; NULL for "/". */
static const struct region *find_around(const struct pinning *p, struct str path)
{
	while (path.len > 1) {
		struct name_node *node;

		path = path_parent(path);
		node = name_tree_find(p->regions, path);
		if (node)
			return ((struct region_node *)(void *)node)->region;
	}
	return NULL;
}

/* The outermost of the writable regions that lie around `path` without a gap; NULL for none. */
static const struct region *find_area(const struct pinning *p, struct str path)
{
	const struct region *area = NULL;
	const struct region *around = find_around(p, path);

	while (around && around->access == ACCESS_WRITE) {
		area = around;
		around = find_around(p, area->path);
	}
	return area;
}

static int add_pin(struct pinning *p, struct str path, struct str because, struct err *e)
{
	struct name_node *node = ARENA_NEW(p->b->a, struct name_node, e);
	struct pin *pin = node ? VEC_PUSH(p->b->a, &p->b->plan->pins, e) : NULL;

	if (!pin)
		return err_result(e);
	*pin = (struct pin){ path, because };
	node->name = path;
	name_tree_add(&p->pinned, node);
	return 0;
}

/* All between `path` and the area around it; what is not writable itself can't be renamed. */
static int pin_above(struct pinning *p, struct str path, struct err *e)
{
	const struct region *area = find_area(p, path);
	int r = 0;

	if (!area)
		return 0;
	for (struct str at = path_parent(path); r == 0 && at.len > area->path.len;
	     at = path_parent(at)) {
		if (name_tree_find(p->pinned, at))
			return 0; /* and so is all above it */
		if (plan_resolve(p->b->plan, at).access == ACCESS_WRITE)
			r = add_pin(p, at, path, e);
	}
	return r;
}

static int pin_all(struct pinning *p, struct err *e)
{
	const struct plan *plan = p->b->plan;
	int r = 0;

	/* What is missing has a placeholder where its directories end, or needs nothing. */
	for (size_t i = 0; r == 0 && i < plan->regions.count; i++) {
		const struct region *region = &plan->regions.items[i];

		if (region->access < ACCESS_WRITE && region->type != HOST_MISSING &&
		    region->type != HOST_HIDDEN)
			r = pin_above(p, region->path, e);
	}
	for (size_t i = 0; r == 0 && i < plan->placeholders.count; i++)
		r = pin_above(p, plan->placeholders.items[i].path, e);
	for (size_t i = 0; r == 0 && i < plan->links.count; i++)
		r = pin_above(p, plan->links.items[i].path, e);
	for (size_t i = 0; r == 0 && i < plan->masked.count; i++)
		r = pin_above(p, plan->masked.items[i].path, e);
	return r;
}

static int compare_pins(const void *a, const void *b)
{
	return path_cmp(((const struct pin *)a)->path, ((const struct pin *)b)->path);
}

int pass_pins(struct builder *b, struct err *e)
{
	struct pinning p = { .b = b };
	int r = index_regions(&p, e);

	if (r == 0)
		r = pin_all(&p, e);
	if (r == 0 && b->plan->pins.count > 0)
		qsort(b->plan->pins.items, b->plan->pins.count, sizeof(b->plan->pins.items[0]),
		      compare_pins);
	return r;
}
