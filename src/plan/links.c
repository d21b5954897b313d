/* SPDX-License-Identifier: MIT */
/*
 * Finds the links that must be protected as links (P8): those on the way to a narrower path that
 * lie in a writable directory. Otherwise the command could replace such a link, and the rule would
 * apply to something else. This is the first pass after the last rule was added, so it also turns
 * positions of rules into pointers.
 */
#include "base/name_tree.h"
#include "base/path.h"
#include "plan/builder.h"

static void fix_pointers(struct builder *b)
{
	struct plan *p = b->plan;
	const struct rule *rules = p->rules.items;

	for (size_t i = 0; i < p->masked.count; i++)
		p->masked.items[i].rule = &rules[b->masked_rules.items[i]];
	for (size_t i = 0; i < p->roots.count; i++)
		p->roots.items[i].rule = &rules[b->root_rules.items[i]];
	for (size_t i = 0; i < p->placeholders.count; i++)
		p->placeholders.items[i].rule = &rules[b->placeholder_rules.items[i]];
	for (size_t i = 0; i < p->links.count; i++)
		p->links.items[i].rule = &rules[b->link_rules.items[i]];
}

static int mark_seen(struct builder *b, struct name_node **seen, struct str path, struct err *e)
{
	struct name_node *node = ARENA_NEW(b->a, struct name_node, e);

	if (!node)
		return err_result(e);
	node->name = path;
	name_tree_add(seen, node);
	return 0;
}

static int add_link(struct builder *b, struct name_node **seen, const struct met_link *met,
		    const struct rule *rule, struct err *e)
{
	struct link *link;

	if (name_tree_find(*seen, met->path) ||
	    plan_resolve(b->plan, path_parent(met->path)).access != ACCESS_WRITE)
		return 0;
	link = VEC_PUSH(b->a, &b->plan->links, e);
	if (!link)
		return err_result(e);
	*link = (struct link){ .path = met->path, .target = met->target, .rule = rule };
	return mark_seen(b, seen, met->path, e);
}

/*
 * Globs count too: the names that they deny are found from the directory that their links lead to.
 */
static bool is_narrower(const struct plan *p, const struct rule *rule)
{
	if (rule->kind == RULE_GRANT)
		return false;
	return rule->kind == RULE_GLOB || plan_resolve(p, rule->path).access < ACCESS_WRITE;
}

/* A cap on a link itself. No link was followed to get there, but the path is one. */
static int add_capped_link(struct builder *b, struct name_node **seen, const struct rule *rule,
			   struct err *e)
{
	struct met_link met = { .path = rule->path };
	struct canon target;
	bool leads;
	int r = builder_canon_if(b, rule->path, true, &target, NULL, &leads, e);

	if (r < 0)
		return r;
	met.target = leads ? target.path : rule->path; /* a loop leads nowhere */
	return add_link(b, seen, &met, rule, e);
}

static int visit_rule(struct builder *b, struct name_node **seen, size_t number, struct err *e)
{
	const struct rule *rule = &b->plan->rules.items[number];
	const struct rule_site *site = &b->sites.items[number];
	int r = 0;

	if ((site->link_count == 0 && site->type != HOST_LINK) || !is_narrower(b->plan, rule))
		return 0;
	for (size_t i = 0; r == 0 && i < site->link_count; i++)
		r = add_link(b, seen, &site->links[i], rule, e);
	if (r == 0 && site->type == HOST_LINK)
		r = add_capped_link(b, seen, rule, e);
	return r;
}

static int compare_links(const void *a, const void *b)
{
	return path_cmp(((const struct link *)a)->path, ((const struct link *)b)->path);
}

int pass_links(struct builder *b, struct err *e)
{
	struct plan *p = b->plan;
	struct name_node *seen = NULL;
	int r = 0;

	fix_pointers(b);
	for (size_t i = 0; r == 0 && i < p->links.count; i++)
		r = mark_seen(b, &seen, p->links.items[i].path, e);
	for (size_t i = 0; r == 0 && i < p->rules.count; i++)
		r = visit_rule(b, &seen, i, e);
	if (r == 0 && p->links.count > 0)
		qsort(p->links.items, p->links.count, sizeof(p->links.items[0]), compare_links);
	return r;
}
