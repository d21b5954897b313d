/* SPDX-License-Identifier: MIT */
/*
 * See index.h. SECURITY: this code decides (P20); every backend enforces what it answers.
 * tests/property/oracle_resolve.c compares it with a naive version of P7, for all small policies.
 */
#include "plan/index.h"

#include "base/fold.h"
#include "base/path.h"
#include "base/windows_path.h"
#include "plan/builder.h"
#include "plan/index_node.h"

/* The rule that counts most so far. */
struct best {
	const struct rule *rule; /* NULL: none so far */
	size_t depth;
};

struct tally {
	struct best layers[INDEX_MAX_LAYERS];
	struct best grants[ACCESS_WRITE + 1];  /* by access: the deepest */
	const struct rule *caps[ACCESS_WRITE]; /* by access: the hardest to lift */
	const struct node *lifting;	       /* the deepest that lifts secrets, or NULL */
	/* a git directory on the shelf was passed on the way up */
	bool has_left_shelf;
};

/* Of two entries at one path: deny > write > read. */
static bool is_stronger(enum access a, enum access b)
{
	return a != b && (a == ACCESS_DENY || (b != ACCESS_DENY && a == ACCESS_WRITE));
}

static void count_entry(struct best *best, const struct rule *rule, size_t depth)
{
	if (!best->rule || depth > best->depth ||
	    (depth == best->depth && is_stronger(rule->access, best->rule->access)))
		*best = (struct best){ rule, depth };
}

static void count_cap(struct tally *t, const struct rule *rule)
{
	const struct rule **cap;

	/*
	 * Rules are counted upwards, and at one path the strictest first, so a shelf that follows
	 * is above.
	 */
	if (rule->access == ACCESS_WRITE)
		t->has_left_shelf = true;
	if (rule->access == ACCESS_WRITE || (rule->is_shelf && t->has_left_shelf))
		return;
	cap = &t->caps[rule->access];
	if (!*cap || rule->lift_depth > (*cap)->lift_depth ||
	    (rule->lift_depth == (*cap)->lift_depth && rule->depth > (*cap)->depth))
		*cap = rule;
}

static void count_rule(struct tally *t, const struct rule *rule)
{
	switch (rule->kind) {
	case RULE_ENTRY:
		count_entry(&t->layers[rule->layer], rule, rule->depth);
		break;
	case RULE_GRANT:
		count_entry(&t->grants[rule->access], rule, rule->depth);
		break;
	case RULE_PROTECTED:
	case RULE_GIT:
	case RULE_MISSING:
	case RULE_OWN:
		count_cap(t, rule);
		break;
	case RULE_GLOB:
	case RULE_UNCOVERED:
	case RULE_UNSANDBOXED:
		break;
	}
}

/* Positions of rules; node->glob_count of them. */
static const uint32_t *globs_at(const struct index *x, const struct node *node)
{
	return x->sorted + x->place_starts[node->place + 1] - node->glob_count;
}

/* How many components of the whole path the deepest prefix has that the glob matches; -1: none. */
static int match_glob(const struct rule *glob, const struct node *node, struct str path)
{
	int deepest = glob_match_deepest(glob->matcher, str_from(path, node->path_len + 1u));

	return deepest < 0 ? -1 : (int)node->depth + deepest;
}

static void count_globs(struct tally *t, const struct index *x, const struct node *node,
			struct str path, uint32_t layers)
{
	const uint32_t *globs = globs_at(x, node);

	for (uint32_t i = 0; i < node->glob_count; i++) {
		const struct rule *glob = &x->rules[globs[i]];
		int depth = glob->layer < layers ? match_glob(glob, node, path) : -1;

		/*
		 * A shallower match loses to the entry that lifts it; a deeper one is not lifted.
		 */
		if (depth >= 0 && !(glob->secret && t->lifting && depth == (int)t->lifting->depth &&
				    glob->secret <= t->lifting->lifts))
			count_entry(&t->layers[glob->layer], glob, (size_t)depth);
	}
}

/* The profile layer with the grants (P18). */
static struct verdict sum_up_profile(const struct index *x, const struct tally *t)
{
	const struct best *base = &t->layers[0];
	const struct rule *rule = base->rule ? base->rule : &x->fallback;
	struct verdict v = { rule->access, rule };

	for (enum access access = ACCESS_WRITE; access > v.access; access--) {
		const struct best *grant = &t->grants[access];

		if (!grant->rule || (base->rule && grant->depth < base->depth))
			continue;
		/*
		 * SECURITY: a grant must not override a deny that the profile states at the same
		 * path.
		 */
		if (base->rule && base->rule->access == ACCESS_DENY && grant->depth == base->depth)
			continue;
		return (struct verdict){ access, grant->rule };
	}
	return v;
}

static struct verdict sum_up(const struct index *x, const struct tally *t, const struct node *node,
			     uint32_t layers)
{
	struct verdict v = sum_up_profile(x, t);

	for (uint32_t i = 1; i < layers; i++)
		if (t->layers[i].rule && t->layers[i].rule->access < v.access)
			v = (struct verdict){ t->layers[i].rule->access, t->layers[i].rule };
	for (int access = ACCESS_DENY; access < (int)v.access; access++) {
		const struct rule *cap = t->caps[access];

		/* CAP_FIXED is more than any depth. */
		if (cap && node->write_depth <= cap->lift_depth)
			v = (struct verdict){ cap->access, cap };
	}
	return v;
}

static void count_node(struct tally *t, const struct index *x, const struct node *n,
		       uint32_t layers)
{
	for (uint32_t i = 0; i < n->effective_count; i++) {
		const struct rule *rule = &x->rules[x->effective[n->first_effective + i]];

		if (rule->layer < layers)
			count_rule(t, rule);
	}
	if (n->lifts && !t->lifting)
		t->lifting = n;
}

struct verdict index_tally(const struct index *x, const struct node *node, struct str path,
			   bool with_globs, uint32_t layers)
{
	UNINITIALIZED struct tally t;

	memset(t.layers, 0, layers * sizeof(t.layers[0]));
	memset(t.grants, 0, sizeof(t.grants));
	memset(t.caps, 0, sizeof(t.caps));
	t.lifting = NULL;
	t.has_left_shelf = false;
	for (const struct node *n = node;; n = &x->nodes[n->parent]) {
		count_node(&t, x, n, layers);
		if (with_globs && n->glob_count)
			count_globs(&t, x, n, path, layers);
		if (n == x->nodes)
			return sum_up(x, &t, node, layers);
	}
}

/* The child of `node` whose label `rest` starts with, or NULL. */
static const struct node *find_child(const struct index *x, const struct node *node,
				     struct str rest)
{
	const uint64_t *keys = x->keys + node->first_child;
	uint64_t key = index_key(rest.p, rest.len, node->skip);
	uint32_t low = 0, high = node->child_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct node *child = &x->nodes[node->first_child + middle];
		struct str label = { child->label, child->label_len };
		int c;

		if (keys[middle] != key) {
			c = keys[middle] < key ? -1 : 1;
		} else {
			if (str_has_prefix(rest, label) &&
			    (rest.len == label.len || rest.p[label.len] == '/'))
				return child;
			/* The labels of siblings differ in their first component. */
			c = str_cmp(str_first(label, str_find(label, '/')),
				    str_first(rest, str_find(rest, '/')));
			if (c == 0)
				return NULL;
		}
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The deepest node that is a prefix of `path`. */
static const struct node *find_node(const struct index *x, struct str path)
{
	const struct node *node = x->nodes;
	struct str rest = str_from(path, 1);

	while (node->child_count && rest.len) {
		const struct node *child = find_child(x, node, rest);

		if (!child)
			break;
		rest = str_from(rest, child->label_len + 1u);
		node = child;
	}
	return node;
}

static bool any_glob_matches(const struct index *x, const struct node *node, struct str path)
{
	uint32_t number = node->glob_node;

	while (number != INDEX_NONE) {
		const struct node *n = &x->nodes[number];
		const uint32_t *globs = globs_at(x, n);

		for (uint32_t i = 0; i < n->glob_count; i++)
			if (match_glob(&x->rules[globs[i]], n, path) >= 0)
				return true;
		number = n == x->nodes ? INDEX_NONE : x->nodes[n->parent].glob_node;
	}
	return false;
}

struct applied {
	const struct rule *rule;
	size_t depth;
};
typedef VEC(struct applied) applied_list;

static int add_applied(struct arena *a, applied_list *list, const struct rule *rule, size_t depth,
		       struct err *e)
{
	struct applied *item = VEC_PUSH(a, list, e);

	if (!item)
		return err_result(e);
	*item = (struct applied){ rule, depth };
	return 0;
}

/* Adds all rules at `node` that apply to `path`. */
static int add_node(struct arena *a, const struct index *x, const struct node *node,
		    struct str path, applied_list *list, struct err *e)
{
	uint32_t first, last;

	if (node->place == INDEX_NONE)
		return 0;
	first = x->place_starts[node->place];
	last = x->place_starts[node->place + 1];
	for (uint32_t i = first; i < last; i++) {
		const struct rule *rule = &x->rules[x->sorted[i]];
		int depth = (int)rule->depth;
		int r;

		if (i >= last - node->glob_count)
			depth = match_glob(rule, node, path);
		if (depth < 0)
			continue;
		r = add_applied(a, list, rule, (size_t)depth, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Most specific first. A counting sort: there are few depths, and rules of the same depth keep
 * their order.
 */
static int order_trace(struct arena *a, const applied_list *list, const struct rule *deciding,
		       rule_trace *trace, struct err *e)
{
	size_t deepest = 0;
	size_t *starts;

	for (size_t i = 0; i < list->count; i++)
		deepest = MAX_OF(deepest, list->items[i].depth);
	starts = arena_array(a, deepest + 2, sizeof(*starts), e);
	/* An array of pointers is meant. NOLINTNEXTLINE(bugprone-sizeof-expression) */
	trace->items = arena_array(a, list->count + 1, sizeof(*trace->items), e);
	if (!starts || !trace->items)
		return err_result(e);
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].rule != deciding)
			starts[deepest - list->items[i].depth + 1]++;
	for (size_t i = 1; i < deepest + 2; i++)
		starts[i] += starts[i - 1];
	trace->room = list->count + 1;
	trace->count = 1 + starts[deepest + 1];
	trace->items[0] = deciding;
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].rule != deciding)
			trace->items[1 + starts[deepest - list->items[i].depth]++] =
				list->items[i].rule;
	return 0;
}

static int make_trace(struct arena *a, const struct index *x, const struct node *node,
		      struct str path, const struct rule *deciding, rule_trace *trace,
		      struct err *e)
{
	applied_list list = { .items = NULL };

	for (const struct node *n = node;; n = &x->nodes[n->parent]) {
		int r = add_node(a, x, n, path, &list, e);

		if (r < 0)
			return r;
		if (n == x->nodes)
			return order_trace(a, &list, deciding, trace, e);
	}
}

static struct verdict answer_at(const struct index *x, const struct node *node, struct str path)
{
	if (node->glob_node != INDEX_NONE && any_glob_matches(x, node, path))
		return index_tally(x, node, path, true, x->layer_count);
	return node->verdict;
}

/* A path as the index compares it. */
static struct str compared(const struct index *x, struct str path, char room[FOLD_ROOM])
{
	if (!x->folded)
		return path;
	return x->has_table ? upcase_in(path, room) : fold_in(path, room);
}

static struct verdict answer(const struct index *x, struct str path)
{
	UNINITIALIZED char room[FOLD_ROOM];

	path = compared(x, path, room);
	return answer_at(x, find_node(x, path), path);
}

struct verdict index_answer(const struct index *x, struct str path)
{
	struct verdict v = answer(x, path);

	if (x->also) {
		struct verdict other = answer(x->also, path);

		if (other.access < v.access)
			return other;
	}
	return v;
}

int index_resolve(const struct index *x, struct str path, struct verdict *out, struct arena *a,
		  rule_trace *trace, struct err *e)
{
	UNINITIALIZED char room[FOLD_ROOM];
	const struct node *node;
	struct verdict v;
	int r;

	/* SECURITY: the one that answers is the one that is explained. */
	if (x->also && answer(x->also, path).access < answer(x, path).access)
		x = x->also;
	path = compared(x, path, room);
	node = find_node(x, path);
	v = answer_at(x, node, path);
	r = trace ? make_trace(a, x, node, path, v.rule, trace, e) : 0;

	if (r == 0)
		*out = v;
	return r;
}

struct verdict index_resolve_below(const struct index *x, struct str path, uint32_t layer)
{
	UNINITIALIZED char room[FOLD_ROOM];
	const struct str name = compared(x, path, room);
	struct verdict v =
		index_tally(x, find_node(x, name), name, true, MIN_OF(layer, x->layer_count));

	if (x->also) {
		struct verdict other = index_resolve_below(x->also, path, layer);

		if (other.access < v.access)
			return other;
	}
	return v;
}

/* A copy of the node of `rule` as it would be without that rule. */
static struct node make_without(const struct index *x, const struct node *node,
				const struct rule *rule)
{
	struct node own = *node;

	own.lifts = 0;
	own.write_depth = node == x->nodes ? 0 : x->nodes[node->parent].write_depth;
	for (uint32_t i = x->place_starts[node->place]; i < x->place_starts[node->place + 1]; i++) {
		const struct rule *other = &x->rules[x->sorted[i]];

		if (other == rule)
			continue;
		own.lifts = MAX_OF(own.lifts, other->lifts);
		if (other->kind == RULE_ENTRY && other->layer == 0 &&
		    other->access == ACCESS_WRITE && other->is_explicit)
			own.write_depth = node->depth + 1;
	}
	return own;
}

struct verdict index_resolve_without(const struct index *x, const struct rule *rule)
{
	const struct str path = index_path(x, (uint32_t)(rule - x->rules));
	const struct node *node = find_node(x, path);
	struct node own = make_without(x, node, rule);
	struct tally t = { .lifting = own.lifts ? &own : NULL };

	/* Consider all rules of the path again: another one may be effective now. */
	for (uint32_t i = x->place_starts[node->place]; i < x->place_starts[node->place + 1]; i++) {
		const struct rule *other = &x->rules[x->sorted[i]];
		bool is_lifted = other->kind == RULE_ENTRY && other->secret &&
				 other->secret <= own.lifts;

		if (other != rule && other->layer == 0 && !is_lifted)
			count_rule(&t, other);
	}
	if (own.glob_count)
		count_globs(&t, x, &own, path, 1);
	for (const struct node *n = node; n != x->nodes;) {
		n = &x->nodes[n->parent];
		count_node(&t, x, n, 1);
		if (n->glob_count)
			count_globs(&t, x, n, path, 1);
	}
	return sum_up(x, &t, &own, 1);
}

const uint32_t *index_places(const struct index *x, size_t *count)
{
	*count = x->place_count;
	return x->places;
}

const uint32_t *index_rules_at(const struct index *x, size_t i, size_t *count)
{
	*count = x->place_starts[i + 1] - x->place_starts[i];
	return x->sorted + x->place_starts[i];
}

bool index_is_of(const struct index *x, const struct rule *rules, size_t count)
{
	return x->rules == rules && x->rule_count == count;
}

int pass_index(struct builder *b, struct err *e)
{
	struct plan *plan = b->plan;
	const struct index *x;

	if (plan->index && index_is_of(plan->index, plan->rules.items, plan->rules.count))
		return 0;
	x = index_build_for(b->a, b->host, plan->policy, plan->rules.items, plan->rules.count, e);
	if (!x)
		return err_result(e);
	plan->index = x;
	return 0;
}
