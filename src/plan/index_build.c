/* SPDX-License-Identifier: MIT */
/*
 * Builds the index. It sorts the rules by path, builds the trie over the distinct paths breadth
 * first, so that siblings are adjacent and parents come before their children, and computes the
 * answer at every node.
 */
#include "base/fold.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/windows_path.h"
#include "plan/index_node.h"

/* The places that a node stands for. */
struct span {
	uint32_t low, high;
};

struct draft {
	struct arena scratch;
	struct arena *a;
	struct index *x;
	uint32_t place_count, node_count, effective_count;
	/* Of the index: */
	uint32_t *sorted;
	uint32_t *places;
	uint32_t *place_starts;
	uint32_t *effective;
	struct node *nodes;
	/* In scratch: */
	/* for each place, how many bytes of its path it shares with the place before */
	uint32_t *shared;
	struct span *spans; /* of the node at the same position */
};

/* The order of the rules of one path; of one kind and layer the strongest first. */
static int rank_kind(const struct rule *rule)
{
	switch (rule->kind) {
	case RULE_ENTRY:
		return 0;
	case RULE_GRANT:
		return 1;
	case RULE_PROTECTED:
	case RULE_GIT:
	case RULE_MISSING:
	case RULE_OWN:
		return 2;
	case RULE_GLOB:
	case RULE_UNCOVERED:
	case RULE_UNSANDBOXED:
		break;
	}
	return 3;
}

static int rank_access(const struct rule *rule)
{
	static const int entries[] = { [ACCESS_DENY] = 0, [ACCESS_WRITE] = 1, [ACCESS_READ] = 2 };

	if (rule->kind == RULE_ENTRY)
		return entries[rule->access];
	return rule->kind == RULE_GRANT ? -(int)rule->access : (int)rule->access;
}

static int compare_rules(const struct rule *a, const struct rule *b)
{
	int c = rank_kind(a) - rank_kind(b);

	if (c == 0)
		c = (a->layer > b->layer) - (a->layer < b->layer);
	if (c == 0)
		c = rank_access(a) - rank_access(b);
	if (c == 0)
		c = (int)a->is_shelf - (int)b->is_shelf;
	if (c == 0)
		c = (a->lift_depth < b->lift_depth) - (a->lift_depth > b->lift_depth);
	return c;
}

static int order_rules(const void *context, uint32_t a, uint32_t b)
{
	const struct index *x = context;
	int c = path_cmp(index_path(x, a), index_path(x, b));

	return c ? c : compare_rules(&x->rules[a], &x->rules[b]);
}

/*
 * Stable, so that of equal rules the one written first decides. Usually the input is sorted
 * already: people write sorted lists, and a later index starts with the rules of an earlier one.
 */
static uint32_t *sort_rules(struct draft *d, struct err *e)
{
	size_t count = d->x->rule_count;
	uint32_t *sorted = arena_array(d->a, count + 1, sizeof(*sorted), e);
	uint32_t *spare = arena_array(&d->scratch, count + 1, sizeof(*spare), e);

	if (!sorted || !spare)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = i;
	sort_numbers(sorted, spare, count, order_rules, d->x);
	return sorted;
}

static const struct rule *sorted_rule(const struct draft *d, uint32_t i)
{
	return &d->x->rules[d->sorted[i]];
}

static struct str place_path(const struct draft *d, uint32_t place)
{
	struct str path = index_path(d->x, d->places[place]);

	return path.len == 1 ? STR_EMPTY : path; /* "/" is the prefix "" here */
}

/* The longest path of whole components that both start with. */
static uint32_t common_length(struct str a, struct str b)
{
	size_t i = bytes_same(a.p, b.p, MIN_OF(a.len, b.len));

	if ((i == a.len || a.p[i] == '/') && (i == b.len || b.p[i] == '/'))
		return (uint32_t)i;
	while (i > 0 && a.p[i - 1] != '/')
		i--;
	return (uint32_t)(i - 1);
}

/* The distinct paths. */
static int find_places(struct draft *d, struct err *e)
{
	uint32_t count = (uint32_t)d->x->rule_count;

	d->places = arena_array(d->a, count + 1u, sizeof(*d->places), e);
	d->place_starts = arena_array(d->a, count + 1u, sizeof(*d->place_starts), e);
	d->shared = arena_array(&d->scratch, count + 1u, sizeof(*d->shared), e);
	if (!d->places || !d->place_starts || !d->shared)
		return err_result(e);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t place = d->place_count;

		if (i > 0 &&
		    str_eq(index_path(d->x, d->sorted[i]), index_path(d->x, d->sorted[i - 1])))
			continue;
		d->places[place] = d->sorted[i];
		d->place_starts[place] = i;
		d->place_count++;
		if (place > 0)
			d->shared[place] =
				common_length(place_path(d, place - 1), place_path(d, place));
	}
	d->place_starts[d->place_count] = count;
	return 0;
}

/*
 * Counts the nodes of the trie: the root, the places, and the forks, where two neighbours part at a
 * path that is not a place. `open` has the lengths of the nodes around the current place.
 */
static int count_nodes(struct draft *d, struct err *e)
{
	uint32_t *open = arena_array(&d->scratch, 2u * d->place_count + 1u, sizeof(*open), e);
	size_t depth = 1;

	if (!open)
		return err_result(e);
	d->node_count = 1;
	for (uint32_t i = 0; i < d->place_count; i++) {
		uint32_t len = (uint32_t)place_path(d, i).len;

		while (open[depth - 1] > d->shared[i])
			depth--;
		if (open[depth - 1] < d->shared[i]) {
			open[depth++] = d->shared[i];
			d->node_count++;
		}
		if (len > open[depth - 1]) {
			open[depth++] = len;
			d->node_count++;
		}
	}
	return 0;
}

static void add_child(struct draft *d, uint32_t parent, struct span span, uint32_t to)
{
	size_t from = d->nodes[parent].path_len + 1u;
	struct str label = { place_path(d, span.low).p + from, to - from };

	d->nodes[d->node_count] = (struct node){
		.label = label.p,
		.label_len = (uint32_t)label.len,
		.path_len = to,
		.depth = d->nodes[parent].depth + (uint32_t)path_depth(label),
		.parent = parent,
		.place = INDEX_NONE,
	};
	d->spans[d->node_count++] = span;
}

/* Places of a node that share more than the node's path belong to one child. */
static void add_children(struct draft *d, uint32_t number)
{
	struct node *node = &d->nodes[number];
	struct span span = d->spans[number];

	node->first_child = d->node_count;
	if (span.low < span.high && place_path(d, span.low).len == node->path_len)
		node->place = span.low++;
	while (span.low < span.high) {
		uint32_t to = (uint32_t)place_path(d, span.low).len;
		uint32_t end = span.low + 1;

		for (; end < span.high && d->shared[end] > node->path_len; end++)
			to = MIN_OF(to, d->shared[end]);
		add_child(d, number, (struct span){ span.low, end }, to);
		span.low = end;
	}
	node->child_count = d->node_count - node->first_child;
}

static int draw_trie(struct draft *d, struct err *e)
{
	uint32_t count;

	if (count_nodes(d, e) < 0)
		return err_result(e);
	count = d->node_count;
	d->nodes = arena_array(d->a, count, sizeof(*d->nodes), e);
	d->spans = arena_array(&d->scratch, count, sizeof(*d->spans), e);
	if (!d->nodes || !d->spans)
		return err_result(e);
	d->nodes[0] = (struct node){ .label = "", .place = INDEX_NONE };
	d->spans[0] = (struct span){ 0, d->place_count };
	d->node_count = 1;
	for (uint32_t i = 0; i < count; i++)
		add_children(d, i);
	return 0;
}

static struct str first_component(const struct node *node)
{
	struct str label = { node->label, node->label_len };

	return str_first(label, str_find(label, '/'));
}

static int make_keys(struct draft *d, struct err *e)
{
	uint64_t *keys = arena_array(d->a, d->node_count, sizeof(*keys), e);

	if (!keys)
		return err_result(e);
	for (size_t i = 0; i < d->node_count; i++) {
		struct node *node = &d->nodes[i];
		const struct node *children = &d->nodes[node->first_child];
		struct str first, last;

		if (!node->child_count)
			continue;
		first = first_component(&children[0]);
		last = first_component(&children[node->child_count - 1]);
		node->skip = (uint32_t)bytes_same(first.p, last.p, MIN_OF(first.len, last.len));
		for (uint32_t c = 0; c < node->child_count; c++)
			keys[node->first_child + c] =
				index_key(children[c].label, children[c].label_len, node->skip);
	}
	d->x->keys = keys;
	return 0;
}

/*
 * Whether `rule` can decide anything that `before`, which has the same path and a higher rank, does
 * not.
 */
static bool is_effective(const struct rule *rule, const struct rule *before)
{
	if (rank_kind(rule) != rank_kind(before))
		return true;
	if (rank_kind(rule) == 2)
		return rule->access != before->access || rule->is_shelf != before->is_shelf;
	return rule->kind == RULE_ENTRY && rule->layer != before->layer;
}

/* However many keys name one path, at most one rule for each layer counts. */
static void find_effective(struct draft *d, struct node *node)
{
	uint32_t first = d->place_starts[node->place];
	uint32_t last = d->place_starts[node->place + 1];
	const struct rule *before = NULL;

	for (uint32_t i = first; i < last; i++)
		node->lifts = MAX_OF(node->lifts, sorted_rule(d, i)->lifts);
	for (uint32_t i = first; i < last; i++) {
		const struct rule *rule = sorted_rule(d, i);

		if (rule->kind == RULE_ENTRY && rule->secret && rule->secret <= node->lifts)
			continue;
		/*
		 * SECURITY: an entry whose path only happens to be the workspace or $TMPDIR must
		 * not lift a cap. Otherwise starting a run inside a git directory would open it.
		 */
		if (rule->kind == RULE_ENTRY && rule->layer == 0 && rule->access == ACCESS_WRITE &&
		    rule->is_explicit)
			node->write_depth = node->depth + 1;
		if (rule->kind == RULE_GLOB) {
			node->glob_count++;
			continue;
		}
		if (before && !is_effective(rule, before))
			continue;
		before = rule;
		d->effective[d->effective_count++] = d->sorted[i];
		node->effective_count++;
	}
}

static int fill_nodes(struct draft *d, struct err *e)
{
	d->effective = arena_array(d->a, d->x->rule_count + 1, sizeof(*d->effective), e);
	if (!d->effective)
		return err_result(e);
	for (uint32_t i = 0; i < d->node_count; i++) {
		struct node *node = &d->nodes[i];
		const struct node *parent = &d->nodes[node->parent];

		node->first_effective = d->effective_count;
		node->write_depth = parent->write_depth;
		if (node->place != INDEX_NONE)
			find_effective(d, node);
		node->glob_node = i > 0 ? parent->glob_node : INDEX_NONE;
		if (node->glob_count)
			node->glob_node = i;
	}
	return 0;
}

static int finish(struct draft *d, struct err *e)
{
	struct index *x = d->x;

	(void)e;
	x->nodes = d->nodes;
	x->sorted = d->sorted;
	x->place_count = d->place_count;
	x->places = d->places;
	x->place_starts = d->place_starts;
	x->effective = d->effective;
	for (uint32_t i = 0; i < d->node_count; i++) {
		struct node *node = &d->nodes[i];

		/* A node without rules has the answer of its parent. */
		if (i > 0 && !node->effective_count)
			node->verdict = d->nodes[node->parent].verdict;
		else
			node->verdict = index_tally(x, node, STR_EMPTY, false, x->layer_count);
	}
	return 0;
}

static int build(struct draft *d, struct err *e)
{
	static int (*const steps[])(struct draft * d, struct err * e) = {
		find_places, draw_trie, make_keys, fill_nodes, finish,
	};

	d->sorted = sort_rules(d, e);
	if (!d->sorted)
		return err_result(e);
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		int r = steps[i](d, e);

		if (r < 0)
			return r;
	}
	return 0;
}

static struct rule make_fallback(const struct policy *p)
{
	struct rule rule = { .kind = RULE_UNCOVERED,
			     .access = ACCESS_DENY,
			     .path = STR("/"),
			     .glob = STR_EMPTY,
			     .key = STR_EMPTY,
			     .note = STR("no entry covers it") };

	if (p->profile->is_unsandboxed) {
		rule.kind = RULE_UNSANDBOXED;
		rule.access = ACCESS_WRITE;
		rule.note = STR("there is no sandbox");
		rule.origin = p->profile->origin;
	}
	return rule;
}

static int fold_paths(struct draft *d, bool has_table, struct err *e)
{
	struct str *folded = arena_array(d->a, d->x->rule_count + 1, sizeof(*folded), e);

	if (!folded)
		return err_result(e);
	for (size_t i = 0; i < d->x->rule_count; i++)
		if ((has_table ? upcase_copy : fold_copy)(d->a, d->x->rules[i].path, &folded[i],
							  e) < 0)
			return err_result(e);
	d->x->folded = folded;
	d->x->has_table = has_table;
	return 0;
}

static struct index *build_index(struct arena *a, const struct policy *p, const struct rule *rules,
				 size_t count, bool folds, bool has_table, struct err *e)
{
	struct draft d = { .scratch = ARENA_INIT(a->limit_bytes), .a = a };
	int r;

	if (p->layers.count > INDEX_MAX_LAYERS)
		return FAIL_NULL(e, ERR_LIMIT, "the policy has %zu layers, the limit is %d",
				 p->layers.count, INDEX_MAX_LAYERS);
	if (count > UINT32_MAX / 4)
		return FAIL_NULL(e, ERR_LIMIT, "the policy has too many rules");
	d.x = ARENA_NEW(a, struct index, e);
	if (!d.x)
		return NULL;
	d.x->rules = rules;
	d.x->rule_count = count;
	d.x->layer_count = (uint32_t)MAX_OF(p->layers.count, (size_t)1);
	d.x->fallback = make_fallback(p);
	r = folds ? fold_paths(&d, has_table, e) : 0;
	if (r == 0)
		r = build(&d, e);
	arena_done(&d.scratch);
	return r < 0 ? NULL : d.x;
}

const struct index *index_build(struct arena *a, const struct policy *p, const struct rule *rules,
				size_t count, struct err *e)
{
	return build_index(a, p, rules, count, false, false, e);
}

const struct index *index_build_for(struct arena *a, const struct host *host,
				    const struct policy *p, const struct rule *rules, size_t count,
				    struct err *e)
{
	struct index *x = build_index(a, p, rules, count, host->folds, host->has_table, e);

	if (!x || !host->has_table)
		return x;
	x->also = build_index(a, p, rules, count, true, false, e);
	return x->also ? x : NULL;
}
