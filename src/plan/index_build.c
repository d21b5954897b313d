/* SPDX-License-Identifier: MIT */
/*
 * Builds the index: sorts the rules by path, draws the trie over the distinct
 * paths breadth first, so that siblings stand side by side and parents before
 * their children, and works out the answer at every node.
 */
#include "base/path.h"
#include "plan/index_node.h"

struct span {
	uint32_t low, high;
}; /* places that a node stands for */

typedef VEC(uint32_t) numbers;

struct draft {
	struct arena scratch;
	struct arena *a;
	struct index *x;
	uint32_t *sorted; /* these are positions of rules */
	numbers places;
	numbers effective;
	numbers place_starts; /* and these positions in `sorted` */
	VEC(struct node) nodes;
	VEC(struct span) spans; /* of the node at the same position */
};

/* In which order the rules of one path stand; of one kind and layer the strongest first. */
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
	int c = path_cmp(a->path, b->path);

	if (c == 0)
		c = rank_kind(a) - rank_kind(b);
	if (c == 0)
		c = (a->layer > b->layer) - (a->layer < b->layer);
	if (c == 0)
		c = rank_access(a) - rank_access(b);
	if (c == 0)
		c = (a->lift_depth < b->lift_depth) - (a->lift_depth > b->lift_depth);
	return c;
}

/* Merges the sorted runs [low, middle) and [middle, high) of `from` into `to`. */
static void merge(const struct rule *rules, const uint32_t *from, uint32_t *to, size_t low,
		  size_t middle, size_t high)
{
	size_t left = low, right = middle;

	/* People write sorted lists, and a later index has the rules of an earlier one first. */
	if (middle >= high || compare_rules(&rules[from[middle - 1]], &rules[from[middle]]) <= 0) {
		memcpy(to + low, from + low, (high - low) * sizeof(*to));
		return;
	}
	for (size_t i = low; i < high; i++) {
		if (left < middle &&
		    (right >= high || compare_rules(&rules[from[left]], &rules[from[right]]) <= 0))
			to[i] = from[left++];
		else
			to[i] = from[right++];
	}
}

/* Stable, so that of equal rules the one written first decides. */
static uint32_t *sort_rules(struct draft *d, struct err *e)
{
	size_t count = d->x->rule_count;
	uint32_t *from = arena_array(d->a, count + 1, sizeof(*from), e);
	uint32_t *sorted = from;
	uint32_t *to;

	if (!from)
		return NULL;
	to = arena_array(&d->scratch, count + 1, sizeof(*to), e);
	if (!to)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		from[i] = i;
	for (size_t width = 1; width < count; width *= 2) {
		uint32_t *swap = from;

		for (size_t low = 0; low < count; low += 2 * width)
			merge(d->x->rules, from, to, low, MIN_OF(low + width, count),
			      MIN_OF(low + 2 * width, count));
		from = to;
		to = swap;
	}
	if (from != sorted)
		memcpy(sorted, from, count * sizeof(*from));
	return sorted;
}

static const struct rule *sorted_rule(const struct draft *d, uint32_t i)
{
	return &d->x->rules[d->sorted[i]];
}

static int push_number(struct draft *d, numbers *list, uint32_t number, struct err *e)
{
	uint32_t *item = VEC_PUSH(&d->scratch, list, e);

	if (!item)
		return err_result(e);
	*item = number;
	return 0;
}

/* The distinct paths. */
static int find_places(struct draft *d, struct err *e)
{
	uint32_t count = (uint32_t)d->x->rule_count;

	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && str_eq(sorted_rule(d, i)->path, sorted_rule(d, i - 1)->path))
			continue;
		if (push_number(d, &d->places, d->sorted[i], e) < 0 ||
		    push_number(d, &d->place_starts, i, e) < 0)
			return err_result(e);
	}
	return push_number(d, &d->place_starts, count, e);
}

static struct str place_path(const struct draft *d, uint32_t place)
{
	struct str path = d->x->rules[d->places.items[place]].path;

	return path.len == 1 ? STR_EMPTY : path; /* "/" is the prefix "" here */
}

/* The longest path of whole components that both start with. */
static size_t common_length(struct str a, struct str b)
{
	size_t n = MIN_OF(a.len, b.len);
	size_t i = 0;

	while (i < n && a.p[i] == b.p[i])
		i++;
	if ((i == a.len || a.p[i] == '/') && (i == b.len || b.p[i] == '/'))
		return i;
	while (i > 0 && a.p[i - 1] != '/')
		i--;
	return i - 1;
}

/* Of the places [low, high), all below one node, the end of those that share the first's next component. */
static uint32_t find_group_end(const struct draft *d, uint32_t low, uint32_t high, size_t from)
{
	struct str first = place_path(d, low);
	struct str stem = str_first(first, from + 1 + str_find(str_from(first, from + 1), '/'));

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (path_is_under(place_path(d, middle), stem))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add_child(struct draft *d, uint32_t parent, struct span span, struct err *e)
{
	struct str first = place_path(d, span.low);
	size_t from = d->nodes.items[parent].path_len + 1u;
	size_t to = common_length(first, place_path(d, span.high - 1));
	struct str label = { first.p + from, to - from };
	struct node *node = VEC_PUSH(&d->scratch, &d->nodes, e);
	struct span *own = VEC_PUSH(&d->scratch, &d->spans, e);

	if (!node || !own)
		return err_result(e);
	*node = (struct node){ .label = label.p,
			       .label_len = (uint32_t)label.len,
			       .path_len = (uint32_t)to,
			       .depth = d->nodes.items[parent].depth + (uint32_t)path_depth(label),
			       .parent = parent,
			       .place = INDEX_NONE };
	*own = span;
	return 0;
}

static int add_children(struct draft *d, uint32_t number, struct err *e)
{
	struct span span = d->spans.items[number];
	struct node *node = &d->nodes.items[number];
	size_t path_len = node->path_len;

	node->first_child = (uint32_t)d->nodes.count;
	if (span.low < span.high && place_path(d, span.low).len == path_len)
		node->place = span.low++;
	while (span.low < span.high) {
		uint32_t end = find_group_end(d, span.low, span.high, path_len);

		if (add_child(d, number, (struct span){ span.low, end }, e) < 0)
			return err_result(e);
		span.low = end;
	}
	node = &d->nodes.items[number];
	node->child_count = (uint32_t)d->nodes.count - node->first_child;
	return 0;
}

static int draw_trie(struct draft *d, struct err *e)
{
	struct node *root = VEC_PUSH(&d->scratch, &d->nodes, e);
	struct span *span = VEC_PUSH(&d->scratch, &d->spans, e);

	if (!root || !span)
		return err_result(e);
	*root = (struct node){ .label = "", .place = INDEX_NONE };
	*span = (struct span){ 0, (uint32_t)d->places.count };
	for (uint32_t i = 0; i < d->nodes.count; i++)
		if (add_children(d, i, e) < 0)
			return err_result(e);
	return 0;
}

static struct str first_component(const struct node *node)
{
	struct str label = { node->label, node->label_len };

	return str_first(label, str_find(label, '/'));
}

static int make_keys(struct draft *d, struct err *e)
{
	uint64_t *keys = arena_array(d->a, d->nodes.count, sizeof(*keys), e);

	if (!keys)
		return err_result(e);
	for (size_t i = 0; i < d->nodes.count; i++) {
		struct node *node = &d->nodes.items[i];
		const struct node *children = &d->nodes.items[node->first_child];
		struct str first, last;

		if (!node->child_count)
			continue;
		first = first_component(&children[0]);
		last = first_component(&children[node->child_count - 1]);
		while (node->skip < MIN_OF(first.len, last.len) &&
		       first.p[node->skip] == last.p[node->skip])
			node->skip++;
		for (uint32_t c = 0; c < node->child_count; c++)
			keys[node->first_child + c] =
				index_key(children[c].label, children[c].label_len, node->skip);
	}
	d->x->keys = keys;
	return 0;
}

/* Whether `rule` can decide anything that `before`, at the same path and ranked higher, does not. */
static bool is_effective(const struct rule *rule, const struct rule *before)
{
	if (rank_kind(rule) != rank_kind(before))
		return true;
	if (rank_kind(rule) == 2)
		return rule->access != before->access;
	return rule->kind == RULE_ENTRY && rule->layer != before->layer;
}

/* However many keys name one path, what counts of them is at most a rule for each layer. */
static int find_effective(struct draft *d, struct node *node, struct err *e)
{
	uint32_t first = d->place_starts.items[node->place];
	uint32_t last = d->place_starts.items[node->place + 1];

	for (uint32_t i = first; i < last; i++) {
		const struct rule *rule = sorted_rule(d, i);

		if (rule->kind == RULE_ENTRY && rule->layer == 0 && rule->access == ACCESS_WRITE)
			node->write_depth = node->depth + 1;
		if (rule->kind == RULE_GLOB) {
			node->glob_count++;
			continue;
		}
		if (i > first && !is_effective(rule, sorted_rule(d, i - 1)))
			continue;
		if (push_number(d, &d->effective, d->sorted[i], e) < 0)
			return err_result(e);
		node->effective_count++;
	}
	return 0;
}

static int fill_nodes(struct draft *d, struct err *e)
{
	for (uint32_t i = 0; i < d->nodes.count; i++) {
		struct node *node = &d->nodes.items[i];
		const struct node *parent = &d->nodes.items[node->parent];

		node->first_effective = (uint32_t)d->effective.count;
		node->write_depth = parent->write_depth;
		if (node->place != INDEX_NONE && find_effective(d, node, e) < 0)
			return err_result(e);
		node->glob_node = i > 0 ? parent->glob_node : INDEX_NONE;
		if (node->glob_count)
			node->glob_node = i;
	}
	return 0;
}

/* A copy of a scratch array that lives as long as the index. */
static const uint32_t *keep(struct draft *d, const numbers *list, struct err *e)
{
	uint32_t *copy = arena_array(d->a, list->count + 1, sizeof(*copy), e);

	if (copy && list->count)
		memcpy(copy, list->items, list->count * sizeof(*copy));
	return copy;
}

static int finish(struct draft *d, struct err *e)
{
	struct index *x = d->x;
	struct node *nodes = arena_array(d->a, d->nodes.count, sizeof(*nodes), e);

	if (!nodes)
		return err_result(e);
	memcpy(nodes, d->nodes.items, d->nodes.count * sizeof(*nodes));
	x->nodes = nodes;
	x->sorted = d->sorted;
	x->place_count = (uint32_t)d->places.count;
	x->places = keep(d, &d->places, e);
	if (!x->places)
		return err_result(e);
	x->place_starts = keep(d, &d->place_starts, e);
	if (!x->place_starts)
		return err_result(e);
	x->effective = keep(d, &d->effective, e);
	if (!x->effective)
		return err_result(e);
	for (size_t i = 0; i < d->nodes.count; i++)
		nodes[i].verdict = index_tally(x, &nodes[i], STR_EMPTY, false, x->layer_count);
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

const struct index *index_build(struct arena *a, const struct policy *p, const struct rule *rules,
				size_t count, struct err *e)
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
	r = build(&d, e);
	arena_done(&d.scratch);
	return r < 0 ? NULL : d.x;
}
