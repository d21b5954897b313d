/* SPDX-License-Identifier: MIT */
/*
 * Runs a program as a deterministic automaton. A state is the list of steps at which the program could be,
 * in the order of preference, and what is known of the character before. States are made when a
 * text first needs them and kept in a cache; when that is full, it is emptied. So a text costs
 * one look into a table for each character, or, in the worst case, the making of a state, which is
 * bounded by the number of steps.
 *
 * A match is noticed one character late, because '$' and '\b' ask for the character behind.
 */
#include "base/regex_dfa.h"

enum {
	MIN_STATES = 16,
	TABLE_BYTES = 4 << 20, /* of transitions */
	POOL_ITEMS = 256 << 10,
	MIN_POOL_STATES = 4,
};

int regex_dfa_init(struct regex_dfa *d, const struct regex *re, const struct regex_program *program,
		   struct err *e)
{
	size_t columns = re->classes.count + 1;
	size_t n = program->count;

	d->re = re;
	d->program = program;
	d->columns = columns;
	d->max_states = MAX_OF((size_t)MIN_STATES, TABLE_BYTES / (columns * sizeof(uint32_t)));
	d->max_pool = MAX_OF((size_t)POOL_ITEMS, MIN_POOL_STATES * n);
	d->marks = mem_new(n * sizeof(uint32_t), e);
	d->list = mem_new(n * sizeof(uint32_t), e);
	d->resolved = mem_new(n * sizeof(uint32_t), e);
	d->stack = mem_new((2 * n + 2) * sizeof(uint32_t), e);
	if (!d->marks || !d->list || !d->resolved || !d->stack)
		return err_result(e);
	return 0;
}

void regex_dfa_done(struct regex_dfa *d)
{
	mem_free(d->marks);
	mem_free(d->list);
	mem_free(d->resolved);
	mem_free(d->stack);
	mem_free(d->states);
	mem_free(d->next);
	mem_free(d->pool);
	mem_free(d->table);
}

static void empty_cache(struct regex_dfa *d)
{
	d->state_count = 0;
	d->pool_count = 0;
	memset(d->starts, 0, sizeof(d->starts));
	if (d->table)
		memset(d->table, 0, d->table_size * sizeof(*d->table));
}

/* ---- Places ---- */

static bool is_border(unsigned left, unsigned right, unsigned word)
{
	return !(left & word) != !(right & word);
}

/* Whether a place with these sides is what a step looks for. */
static bool is_place(const struct regex_program *p, uint32_t look, unsigned before, unsigned after)
{
	unsigned left = p->is_reversed ? after : before, right = p->is_reversed ? before : after;
	unsigned word = look < REGEX_ASCII_BORDER ? REGEX_SIDE_WORD : REGEX_SIDE_ASCII_WORD;

	switch ((enum regex_look)look) {
	case REGEX_TEXT_BEGIN:
		return left & REGEX_SIDE_EDGE;
	case REGEX_TEXT_END:
		return right & REGEX_SIDE_EDGE;
	case REGEX_LINE_BEGIN:
		return left & (REGEX_SIDE_EDGE | REGEX_SIDE_NEWLINE);
	case REGEX_LINE_END:
		return right & (REGEX_SIDE_EDGE | REGEX_SIDE_NEWLINE);
	case REGEX_BORDER:
	case REGEX_ASCII_BORDER:
		return is_border(left, right, word);
	case REGEX_NO_BORDER:
	case REGEX_ASCII_NO_BORDER:
		return !is_border(left, right, word);
	case REGEX_WORD_BEGIN:
	case REGEX_ASCII_WORD_BEGIN:
		return !(left & word) && right & word;
	case REGEX_WORD_END:
	case REGEX_ASCII_WORD_END:
	default:
		return left & word && !(right & word);
	}
}

/* ---- Lists of steps ---- */

struct list {
	uint32_t *items;
	size_t count;
	bool is_place_known;
	unsigned before, after; /* then: the sides of the place */
};

static void begin_list(struct regex_dfa *d, struct list *l, uint32_t *items)
{
	*l = (struct list){ .items = items };
	if (++d->turn == 0) {
		memset(d->marks, 0, d->program->count * sizeof(*d->marks));
		d->turn = 1;
	}
}

/* Adds where `step` leads without a character; what is there already comes earlier. */
static void add_steps(struct regex_dfa *d, struct list *l, uint32_t step)
{
	const struct regex_program *p = d->program;
	size_t depth = 0;

	d->stack[depth++] = step;
	while (depth) {
		uint32_t at = d->stack[--depth];
		const struct regex_step *s = &p->steps[at];

		if (d->marks[at] == d->turn)
			continue;
		d->marks[at] = d->turn;
		d->spent++;
		if (s->op == REGEX_OP_SPLIT) {
			d->stack[depth++] = s->arg;
			d->stack[depth++] = s->out;
		} else if (s->op == REGEX_OP_LOOK && l->is_place_known) {
			if (is_place(p, s->arg, l->before, l->after))
				d->stack[depth++] = s->out;
		} else {
			l->items[l->count++] = at;
		}
	}
}

/*
 * Which sides of the character before a list still asks for. Behind one place another may come, which
 * asks for others.
 */
static unsigned sides_needed(const struct regex_dfa *d, const struct list *l)
{
	for (size_t i = 0; d->re->looks && i < l->count; i++)
		if (d->program->steps[l->items[i]].op == REGEX_OP_LOOK)
			return d->re->looks;
	return 0;
}

/* ---- The cache ---- */

static int grow(void **block, size_t *room, size_t needed, size_t max, size_t size, struct err *e)
{
	size_t more = MAX_OF(2 * *room, needed);

	if (needed <= *room)
		return 0;
	more = MIN_OF(more, MAX_OF(max, needed));
	if (mem_resize(block, more * size, e) < 0)
		return err_result(e);
	*room = more;
	return 0;
}

static uint64_t hash_list(const struct list *l, unsigned key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15u + l->count;

	for (size_t i = 0; i < l->count; i++)
		hash = (hash ^ l->items[i]) * 0x9e3779b97f4a7c15u ^ hash >> 29;
	return hash ^ hash >> 32;
}

static bool is_state(const struct regex_dfa *d, const struct regex_dfa_state *s,
		     const struct list *l, uint64_t hash, const struct regex_dfa_state *like)
{
	return s->hash == (uint32_t)hash && s->count == l->count && s->before == like->before &&
	       s->is_match == like->is_match && s->match == like->match &&
	       (l->count == 0 ||
		memcmp(d->pool + s->at, l->items, l->count * sizeof(*l->items)) == 0);
}

static int grow_table(struct regex_dfa *d, struct err *e)
{
	size_t size = d->table_size ? 2 * d->table_size : 64;
	void *table;

	if (2 * (d->state_count + 1) < d->table_size)
		return 0;
	table = mem_new(size * sizeof(*d->table), e);
	if (!table)
		return err_result(e);
	mem_free(d->table);
	d->table = table;
	d->table_size = size;
	for (uint32_t i = 0; i < d->state_count; i++) {
		size_t at = d->states[i].hash & (size - 1);

		while (d->table[at])
			at = (at + 1) & (size - 1);
		d->table[at] = i + 1;
	}
	return 0;
}

static int make_room(struct regex_dfa *d, size_t items, bool *is_emptied, struct err *e)
{
	*is_emptied = d->state_count >= d->max_states || d->pool_count + items > d->max_pool;
	if (*is_emptied)
		empty_cache(d);
	if (grow_table(d, e) < 0 ||
	    grow((void **)&d->states, &d->state_room, d->state_count + 1, d->max_states,
		 sizeof(*d->states), e) < 0 ||
	    grow((void **)&d->next, &d->next_room, (d->state_count + 1) * d->columns,
		 d->max_states * d->columns, sizeof(*d->next), e) < 0 ||
	    grow((void **)&d->pool, &d->pool_room, d->pool_count + items + 1, d->max_pool + 1,
		 sizeof(*d->pool), e) < 0)
		return err_result(e);
	return 0;
}

/* The number of the state with this list, which it makes if there is none. */
static int find_state(struct regex_dfa *d, const struct list *l, const struct regex_dfa_state *like,
		      uint32_t *out, bool *is_emptied, struct err *e)
{
	unsigned key = (unsigned)like->before << 1 | (unsigned)like->is_match;
	uint64_t hash = hash_list(l, key) + like->match;
	struct regex_dfa_state *s;
	size_t at = 0;

	*is_emptied = false;
	for (int round = 0; round < 2; round++) {
		if (d->table_size) {
			for (at = hash & (d->table_size - 1); d->table[at];
			     at = (at + 1) & (d->table_size - 1))
				if (is_state(d, &d->states[d->table[at] - 1], l, hash, like)) {
					*out = d->table[at] - 1;
					return 0;
				}
		}
		/* The table may be another one then. */
		if (round == 0 && make_room(d, l->count, is_emptied, e) < 0)
			return err_result(e);
	}
	s = &d->states[d->state_count];
	*s = *like;
	s->hash = (uint32_t)hash;
	s->at = (uint32_t)d->pool_count;
	s->count = (uint32_t)l->count;
	if (l->count)
		memcpy(d->pool + s->at, l->items, l->count * sizeof(*l->items));
	d->pool_count += l->count;
	for (size_t i = 0; i < d->columns; i++)
		d->next[d->state_count * d->columns + i] = REGEX_DFA_UNKNOWN;
	*out = (uint32_t)d->state_count++;
	d->table[at] = *out + 1;
	return 0;
}

int regex_dfa_start(struct regex_dfa *d, unsigned sides, uint32_t *out, struct err *e)
{
	unsigned before = sides & d->re->looks;
	struct regex_dfa_state like = { 0 };
	struct list l;
	bool is_emptied;

	if (d->starts[before]) {
		*out = d->starts[before] - 1;
		return 0;
	}
	begin_list(d, &l, d->list);
	add_steps(d, &l, d->program->start);
	like.before = (uint8_t)(before & sides_needed(d, &l));
	if (find_state(d, &l, &like, out, &is_emptied, e) < 0)
		return err_result(e);
	d->starts[before] = *out + 1;
	return 0;
}

/* The steps of a state, where it is known now what comes next. */
static void resolve(struct regex_dfa *d, const struct regex_dfa_state *s, unsigned after,
		    struct list *l)
{
	const uint32_t *items = d->pool + s->at;

	begin_list(d, l, d->resolved);
	l->is_place_known = true;
	l->before = s->before;
	l->after = after;
	for (size_t i = 0; i < s->count; i++)
		add_steps(d, l, items[i]);
}

/* Where the steps of `from` lead by a character of the class; what matches before it is a match. */
static void step_list(struct regex_dfa *d, const struct list *from, uint32_t class, struct list *to,
		      struct regex_dfa_state *like)
{
	const struct regex_program *p = d->program;
	bool is_end = class == d->re->classes.count;

	for (size_t i = 0; i < from->count; i++) {
		const struct regex_step *s = &p->steps[from->items[i]];

		d->spent++;
		if (s->op == REGEX_OP_MATCH) {
			if (d->re->is_whole && !is_end)
				continue;
			if (!like->is_match)
				like->match = s->arg;
			like->is_match = true;
			/* What comes later is less wanted. Backwards the longest is. */
			if (!p->is_reversed)
				break;
		} else if (s->op == REGEX_OP_SET && !is_end &&
			   regex_bits_have(&d->re->classes, s->arg, class)) {
			add_steps(d, to, s->out);
		}
	}
}

int regex_dfa_step(struct regex_dfa *d, uint32_t state, uint32_t class, uint32_t *out,
		   struct err *e)
{
	const struct regex_dfa_state *s = &d->states[state];
	unsigned sides = d->re->classes.sides[class] & d->re->looks;
	struct regex_dfa_state like = { 0 };
	struct list from = { .items = NULL }, to;
	bool is_emptied;
	uint32_t target;

	if (d->re->looks) {
		resolve(d, s, sides, &from);
	} else {
		from.items = d->resolved;
		from.count = s->count;
		if (s->count)
			memcpy(from.items, d->pool + s->at, s->count * sizeof(*from.items));
	}
	begin_list(d, &to, d->list);
	step_list(d, &from, class, &to, &like);
	like.before = (uint8_t)(sides & sides_needed(d, &to));
	d->spent += to.count + d->columns / 8;
	if (find_state(d, &to, &like, &target, &is_emptied, e) < 0)
		return err_result(e);
	*out = target;
	if (to.count == 0 && !like.is_match)
		*out = REGEX_DFA_DEAD;
	else if (like.is_match)
		*out |= REGEX_DFA_MATCH;
	/* The state that it came from is forgotten if the cache was emptied. */
	if (!is_emptied)
		d->next[state * d->columns + class] = *out;
	return 0;
}
