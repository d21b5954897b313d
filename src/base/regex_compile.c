/* SPDX-License-Identifier: MIT */
/*
 * Makes automata of a tree. They are built from their end to their beginning, so that each step knows
 * what comes after it; a loop is the only one that is told later.
 */
#include "base/regex_internal.h"
#include "base/sort.h"

struct compiler {
	struct arena *a;
	struct regex_program *program;
	VEC(struct regex_step) steps;
	const uint32_t *set_args; /* by the number of a set: the `arg` of its steps */
	uint32_t max_states;
	uint64_t work;
};

/* Repeating what is empty makes no states; this bounds that work too. */
enum { WORK_PER_STATE = 16 };

static int too_many(const struct compiler *c, struct err *e)
{
	return FAIL_CAUSE(e, CAUSE_REGEX_LIMIT, "the pattern needs more than %u states",
			  (unsigned)c->max_states);
}

static int add_step(struct compiler *c, enum regex_op op, uint32_t out, uint32_t arg,
		    uint32_t *number, struct err *e)
{
	struct regex_step *step;

	if (c->steps.count >= c->max_states)
		return too_many(c, e);
	step = VEC_PUSH(c->a, &c->steps, e);
	if (!step)
		return err_result(e);
	*step = (struct regex_step){ op, out, arg };
	*number = (uint32_t)c->steps.count - 1;
	return 0;
}

/* `first` or `second`; what comes first is preferred unless it is lazy. */
static int add_split(struct compiler *c, uint32_t first, uint32_t second, bool is_lazy,
		     uint32_t *number, struct err *e)
{
	return add_step(c, REGEX_OP_SPLIT, is_lazy ? second : first, is_lazy ? first : second,
			number, e);
}

static int emit(struct compiler *c, const struct regex_node *node, uint32_t *at, struct err *e);

/* One or more; with `may_skip` none or more. */
static int emit_loop(struct compiler *c, const struct regex_node *node, bool may_skip, uint32_t *at,
		     struct err *e)
{
	uint32_t after = *at, loop, body;

	if (add_step(c, REGEX_OP_SPLIT, 0, 0, &loop, e) < 0)
		return err_result(e);
	body = loop;
	if (emit(c, node->first, &body, e) < 0)
		return err_result(e);
	c->steps.items[loop].out = node->is_lazy ? after : body;
	c->steps.items[loop].arg = node->is_lazy ? body : after;
	*at = may_skip ? loop : body;
	return 0;
}

static int emit_repeat(struct compiler *c, const struct regex_node *node, uint32_t *at,
		       struct err *e)
{
	uint32_t after = *at;
	int32_t copies = node->min;

	if (node->max == REGEX_MANY) {
		/* If a round may be empty, "a*" is "(a+)?": the empty round counts, as in Rust. */
		bool may_skip = node->min == 0 && !node->first->may_be_empty;

		if (emit_loop(c, node, may_skip, at, e) < 0)
			return err_result(e);
		if (node->min == 0)
			return may_skip ? 0 : add_split(c, *at, after, node->is_lazy, at, e);
		copies--;
	} else {
		for (int32_t i = node->min; i < node->max; i++)
			if (emit(c, node->first, at, e) < 0 ||
			    add_split(c, *at, after, node->is_lazy, at, e) < 0)
				return err_result(e);
	}
	for (int32_t i = 0; i < copies; i++)
		if (emit(c, node->first, at, e) < 0)
			return err_result(e);
	return 0;
}

static int emit_alternatives(struct compiler *c, const struct regex_node *node, uint32_t *at,
			     struct err *e)
{
	uint32_t after = *at, so_far = after;

	for (const struct regex_node *child = node->last; child; child = child->previous) {
		uint32_t branch = after;

		if (emit(c, child, &branch, e) < 0)
			return err_result(e);
		if (!child->next)
			so_far = branch;
		else if (add_split(c, branch, so_far, false, &so_far, e) < 0)
			return err_result(e);
	}
	*at = so_far;
	return 0;
}

/* Adds the steps of `node`, which lead to `*at`; `*at` is then where they begin. */
static int emit(struct compiler *c, const struct regex_node *node, uint32_t *at, struct err *e)
{
	bool is_reversed = c->program->is_reversed;
	const struct regex_node *child;

	if (++c->work > (uint64_t)WORK_PER_STATE * c->max_states)
		return too_many(c, e);
	switch ((enum regex_kind)node->kind) {
	case REGEX_SET:
		return add_step(c, REGEX_OP_SET, *at, c->set_args[node->set->number], at, e);
	case REGEX_LOOK:
		return add_step(c, REGEX_OP_LOOK, *at, node->look, at, e);
	case REGEX_ACCEPT:
		return add_step(c, REGEX_OP_MATCH, 0, (uint32_t)node->min, at, e);
	case REGEX_CAT:
		child = is_reversed ? node->first : node->last;
		for (; child; child = is_reversed ? child->next : child->previous)
			if (emit(c, child, at, e) < 0)
				return err_result(e);
		return 0;
	case REGEX_ALT:
		return emit_alternatives(c, node, at, e);
	case REGEX_REPEAT:
		return emit_repeat(c, node, at, e);
	case REGEX_EMPTY:
	default:
		return 0;
	}
}

/* ---- Classes of characters ---- */

struct splitter {
	struct arena *a;
	uint32_t *bounds; /* each piece begins here and ends before the next; `count` + 1 of them */
	uint32_t *class;  /* of each piece */
	uint32_t *members, *moved, *moved_for, *unused;
	size_t count, classes, unused_count;
	uint32_t turn;
};

static int number_order(const void *context, uint32_t a, uint32_t b)
{
	(void)context;
	return (a > b) - (a < b);
}

static size_t find_piece(const struct splitter *s, uint32_t c)
{
	size_t low = 0, high = s->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (s->bounds[middle] <= c)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Moves the pieces of a set to classes of their own. */
static void split_by(struct splitter *s, const struct regex_range *ranges, size_t count)
{
	s->turn++;
	for (size_t i = 0; i < count; i++)
		for (size_t at = find_piece(s, ranges[i].first);
		     at < s->count && s->bounds[at] <= ranges[i].last; at++) {
			uint32_t old = s->class[at];

			if (s->moved_for[old] != s->turn) {
				s->moved_for[old] = s->turn;
				/* Alone in its class, there is nobody to part from. */
				s->moved[old] = s->members[old] == 1 ? old
						: s->unused_count    ? s->unused[--s->unused_count]
								     : (uint32_t)s->classes++;
				if (s->moved[old] != old) {
					s->members[s->moved[old]] = 0;
					s->moved_for[s->moved[old]] = 0;
				}
			}
			s->class[at] = s->moved[old];
			if (s->moved[old] == old)
				continue;
			s->members[s->moved[old]]++;
			if (--s->members[old] == 0)
				s->unused[s->unused_count++] = old;
		}
}

static int cut(struct splitter *s, const struct regex_sets *sets, const regex_ranges *more,
	       size_t more_count, uint32_t last, struct err *e)
{
	size_t total = 4, n = 0, count = 0;
	uint32_t *spare;

	for (size_t i = 0; i < sets->all.count; i++)
		total += 2 * sets->all.items[i]->count;
	for (size_t i = 0; i < more_count; i++)
		total += 2 * more[i].count;
	s->bounds = arena_array(s->a, total + 1, sizeof(uint32_t), e);
	spare = arena_array(s->a, total, sizeof(uint32_t), e);
	if (!s->bounds || !spare)
		return err_result(e);
	s->bounds[n++] = 0;
	for (size_t i = 0; i < sets->all.count + more_count; i++) {
		bool is_more = i >= sets->all.count;
		const struct regex_range *items = is_more ? more[i - sets->all.count].items
							  : sets->all.items[i]->items;
		size_t items_count = is_more ? more[i - sets->all.count].count
					     : sets->all.items[i]->count;

		for (size_t k = 0; k < items_count; k++) {
			s->bounds[n++] = items[k].first;
			s->bounds[n++] = items[k].last + 1;
		}
	}
	sort_numbers(s->bounds, spare, n, number_order, NULL);
	for (size_t i = 0; i < n && s->bounds[i] <= last; i++)
		if (!count || s->bounds[i] != s->bounds[count - 1])
			s->bounds[count++] = s->bounds[i];
	s->bounds[count] = last + 1;
	s->count = count;
	return 0;
}

/* What is looked at beside the sets: newlines, words of both kinds, and no character at all. */
enum { MORE_NEWLINE, MORE_WORD, MORE_ASCII_WORD, MORE_INVALID, MORE_COUNT };

static int get_more(struct arena *a, const struct regex *re, regex_ranges more[MORE_COUNT],
		    struct err *e)
{
	if (regex_ranges_add(a, &more[MORE_NEWLINE], '\n', '\n', e) < 0)
		return err_result(e);
	if (re->looks & REGEX_SIDE_WORD &&
	    (regex_add_perl(a, &more[MORE_WORD], REGEX_WORD, true, e) < 0 ||
	     regex_ranges_sort(a, &more[MORE_WORD], e) < 0))
		return err_result(e);
	if (re->looks & REGEX_SIDE_ASCII_WORD &&
	    regex_add_perl(a, &more[MORE_ASCII_WORD], REGEX_WORD, false, e) < 0)
		return err_result(e);
	if (!re->classes.are_bytes &&
	    regex_ranges_add(a, &more[MORE_INVALID], REGEX_INVALID, REGEX_INVALID, e) < 0)
		return err_result(e);
	return 0;
}

static int number_classes(struct splitter *s, struct regex_classes *out, struct err *e)
{
	uint32_t *number = arena_array(s->a, s->count + 1, sizeof(*number), e);

	if (!number)
		return err_result(e);
	for (size_t i = 0; i < s->count; i++) {
		if (!number[s->class[i]])
			number[s->class[i]] = ++out->count;
		s->class[i] = number[s->class[i]] - 1;
	}
	if (out->count >= REGEX_NO_CLASS)
		return FAIL_CAUSE(e, CAUSE_REGEX_LIMIT, "the pattern has too many characters");
	out->sides = arena_alloc(s->a, out->count + 1, e);
	return out->sides ? 0 : err_result(e);
}

static void mark_sides(const struct splitter *s, const regex_ranges *r, uint8_t side,
		       struct regex_classes *out)
{
	for (size_t i = 0; i < r->count; i++)
		for (size_t at = find_piece(s, r->items[i].first);
		     at < s->count && s->bounds[at] <= r->items[i].last; at++)
			out->sides[s->class[at]] |= side;
}

static uint32_t class_of(const struct splitter *s, uint32_t c)
{
	return s->class[find_piece(s, c)];
}

enum { PAGE_BITS = 7, PAGE = 1 << PAGE_BITS, PAGES = (REGEX_LAST >> PAGE_BITS) + 1 };

static int make_pages(const struct splitter *s, struct regex_classes *out, struct err *e)
{
	uint32_t *pages;
	VEC(uint16_t) classes = { 0 };
	size_t at = 0;

	if (out->are_bytes)
		return 0;
	pages = arena_array(s->a, PAGES, sizeof(*pages), e);
	if (!pages)
		return err_result(e);
	for (uint32_t page = 0; page < PAGES; page++) {
		uint32_t first = page << PAGE_BITS;

		while (at + 1 < s->count && s->bounds[at + 1] <= first)
			at++;
		if (s->bounds[at + 1] >= first + PAGE) {
			pages[page] = s->class[at];
			continue;
		}
		pages[page] = REGEX_ARG_BITS | (uint32_t)classes.count;
		for (uint32_t c = first; c < first + PAGE; c++) {
			uint16_t *slot = VEC_PUSH(s->a, &classes, e);

			if (!slot)
				return err_result(e);
			while (at + 1 < s->count && s->bounds[at + 1] <= c)
				at++;
			*slot = (uint16_t)s->class[at];
		}
	}
	out->pages = pages;
	out->page_classes = classes.items;
	return 0;
}

/* What the steps of each set compare with: the number of its class, or bits of all classes. */
static int make_args(const struct splitter *s, const struct regex_sets *sets,
		     struct regex_classes *out, const uint32_t **args, struct err *e)
{
	uint32_t *list = arena_array(s->a, sets->all.count + 1, sizeof(*list), e);
	uint64_t *bits, *next;
	size_t wide = 0;

	out->words = out->count / 64 + 1;
	for (size_t i = 0; list && i < sets->all.count; i++) {
		const struct regex_set *set = sets->all.items[i];
		bool is_one = set->count > 0;
		uint32_t first = is_one ? class_of(s, set->items[0].first) : 0;

		for (size_t k = 0; is_one && k < set->count; k++)
			for (size_t at = find_piece(s, set->items[k].first);
			     at < s->count && s->bounds[at] <= set->items[k].last; at++)
				is_one &= s->class[at] == first;
		list[i] = is_one ? first : REGEX_ARG_BITS;
		wide += !is_one;
	}
	bits = arena_array(s->a, wide * out->words + 1, sizeof(*bits), e);
	if (!list || !bits)
		return err_result(e);
	next = bits;
	for (size_t i = 0; i < sets->all.count; i++) {
		const struct regex_set *set = sets->all.items[i];

		if (!(list[i] & REGEX_ARG_BITS))
			continue;
		list[i] |= (uint32_t)(next - bits);
		for (size_t k = 0; k < set->count; k++)
			for (size_t at = find_piece(s, set->items[k].first);
			     at < s->count && s->bounds[at] <= set->items[k].last; at++)
				next[s->class[at] / 64] |= 1ull << s->class[at] % 64;
		next += out->words;
	}
	out->bits = bits;
	*args = list;
	return 0;
}

static int make_classes(struct regex_tree *tree, struct regex *re, const uint32_t **args,
			struct err *e)
{
	struct regex_classes *out = &re->classes;
	struct splitter s = { .a = tree->a };
	regex_ranges more[MORE_COUNT] = { 0 };
	uint32_t last = out->are_bytes ? REGEX_BYTE_LAST : REGEX_INVALID;

	if (get_more(tree->a, re, more, e) < 0 ||
	    cut(&s, &tree->sets, more, MORE_COUNT, last, e) < 0)
		return err_result(e);
	s.class = arena_array(tree->a, s.count, sizeof(uint32_t), e);
	s.members = arena_array(tree->a, s.count + 1, sizeof(uint32_t), e);
	s.moved = arena_array(tree->a, s.count + 1, sizeof(uint32_t), e);
	s.moved_for = arena_array(tree->a, s.count + 1, sizeof(uint32_t), e);
	s.unused = arena_array(tree->a, s.count + 1, sizeof(uint32_t), e);
	if (!s.class || !s.members || !s.moved || !s.moved_for || !s.unused)
		return err_result(e);
	s.members[0] = (uint32_t)s.count;
	s.classes = 1;
	for (size_t i = 0; i < tree->sets.all.count; i++)
		split_by(&s, tree->sets.all.items[i]->items, tree->sets.all.items[i]->count);
	for (size_t i = 0; i < MORE_COUNT; i++)
		split_by(&s, more[i].items, more[i].count);
	if (number_classes(&s, out, e) < 0 || make_pages(&s, out, e) < 0 ||
	    make_args(&s, &tree->sets, out, args, e) < 0)
		return err_result(e);
	mark_sides(&s, &more[MORE_NEWLINE], REGEX_SIDE_NEWLINE, out);
	mark_sides(&s, &more[MORE_WORD], REGEX_SIDE_WORD, out);
	mark_sides(&s, &more[MORE_ASCII_WORD], REGEX_SIDE_ASCII_WORD, out);
	out->sides[out->count] = REGEX_SIDE_EDGE;
	out->invalid = out->are_bytes ? 0 : class_of(&s, REGEX_INVALID);
	for (uint32_t c = 0; c < COUNT_OF(out->of_byte); c++)
		out->of_byte[c] = out->are_bytes || c < 0x80 ? (uint16_t)class_of(&s, c)
							     : REGEX_NO_CLASS;
	return 0;
}

/* ---- Together ---- */

/* Which sides the places of a tree look at. */
static unsigned looks_of(const struct regex_node *node)
{
	unsigned looks = 0;

	if (node->kind == REGEX_LOOK) {
		if (node->look <= REGEX_TEXT_END)
			return REGEX_SIDE_EDGE;
		if (node->look <= REGEX_LINE_END)
			return REGEX_SIDE_EDGE | REGEX_SIDE_NEWLINE;
		return node->look < REGEX_ASCII_BORDER ? REGEX_SIDE_WORD : REGEX_SIDE_ASCII_WORD;
	}
	for (const struct regex_node *child = node->first; child; child = child->next)
		looks |= looks_of(child);
	return looks;
}

static int make_program(struct compiler *c, const struct regex_tree *tree, bool is_whole,
			uint32_t any, struct err *e)
{
	uint32_t start = 0, loop, skip;

	if (add_step(c, REGEX_OP_MATCH, 0, 0, &start, e) < 0 || emit(c, tree->root, &start, e) < 0)
		return err_result(e);
	if (!c->program->is_reversed && !is_whole) {
		/* A match may begin later: any character, and again. */
		if (add_step(c, REGEX_OP_SPLIT, start, 0, &loop, e) < 0 ||
		    add_step(c, REGEX_OP_SET, loop, any, &skip, e) < 0)
			return err_result(e);
		c->steps.items[loop].arg = skip;
		start = loop;
	}
	c->program->steps = c->steps.items;
	c->program->count = (uint32_t)c->steps.count;
	c->program->start = start;
	return 0;
}

struct regex *regex_compile(struct regex_tree *tree, unsigned flags, bool is_whole,
			    uint32_t max_states, struct err *e)
{
	struct regex *re = ARENA_NEW(tree->a, struct regex, e);
	const struct regex_set *all;
	regex_ranges r = { 0 };
	const uint32_t *args = NULL;

	if (!re)
		return NULL;
	re->flags = flags;
	re->is_whole = is_whole;
	re->classes.are_bytes = is_whole;
	re->looks = looks_of(tree->root);
	if (regex_ranges_add(tree->a, &r, 0, is_whole ? REGEX_BYTE_LAST : REGEX_INVALID, e) < 0)
		return NULL;
	all = regex_set_new(&tree->sets, &r, e);
	if (!all || make_classes(tree, re, &args, e) < 0)
		return NULL;
	for (int i = 0; i < (is_whole ? 1 : 2); i++) {
		struct compiler c = { .a = tree->a,
				      .program = i ? &re->backward : &re->forward,
				      .set_args = args,
				      .max_states = max_states };

		c.program->is_reversed = i > 0;
		if (make_program(&c, tree, is_whole, args[all->number], e) < 0)
			return NULL;
	}
	return re;
}

static struct regex *compile_text(struct arena *a, struct str pattern, unsigned flags,
				  struct err *e)
{
	struct regex_tree tree = { .a = a, .sets = { .a = a } };
	struct regex *re;

	if (regex_parse_tree(&tree, pattern, flags, e) < 0)
		return NULL;
	re = regex_compile(&tree, flags, false, REGEX_MAX_STATES, e);
	if (re)
		regex_find_needle(&tree, re);
	return re;
}

const struct regex *regex_parse(struct arena *a, struct str pattern, unsigned flags, struct err *e)
{
	struct regex *re = compile_text(a, pattern, flags, e);

	/* The arena's limit is one of the pattern's: it chose what was allocated. */
	if (!re && e->cause == cause_of_code(ERR_LIMIT))
		(void)FAIL_CAUSE(e, CAUSE_REGEX_LIMIT, "the pattern needs too much memory");
	return re;
}
