/* SPDX-License-Identifier: MIT */
/* Sets of characters. See regex_internal.h. */
#include "base/regex_internal.h"
#include "base/sort.h"
#include "base/unicode.h"

int regex_ranges_add(struct arena *a, regex_ranges *r, uint32_t first, uint32_t last, struct err *e)
{
	struct regex_range *range = VEC_PUSH(a, r, e);

	if (!range)
		return err_result(e);
	*range = (struct regex_range){ first, last };
	return 0;
}

int regex_ranges_join(struct arena *a, regex_ranges *r, const regex_ranges *more, struct err *e)
{
	for (size_t i = 0; i < more->count; i++)
		if (regex_ranges_add(a, r, more->items[i].first, more->items[i].last, e) < 0)
			return err_result(e);
	return 0;
}

static int range_order(const void *context, uint32_t a, uint32_t b)
{
	const struct regex_range *ranges = context;

	return (ranges[a].first > ranges[b].first) - (ranges[a].first < ranges[b].first);
}

static bool is_sorted(const regex_ranges *r)
{
	for (size_t i = 1; i < r->count; i++)
		if (r->items[i].first <= r->items[i - 1].last + 1)
			return false;
	return true;
}

int regex_ranges_sort(struct arena *a, regex_ranges *r, struct err *e)
{
	struct regex_range *sorted;
	uint32_t *order;
	size_t count = 0;

	if (is_sorted(r))
		return 0;
	sorted = arena_array(a, r->count, sizeof(*sorted), e);
	order = arena_array(a, 2 * r->count, sizeof(*order), e);
	if (!sorted || !order)
		return err_result(e);
	for (uint32_t i = 0; i < r->count; i++)
		order[i] = i;
	sort_numbers(order, order + r->count, r->count, range_order, r->items);
	for (size_t i = 0; i < r->count; i++) {
		const struct regex_range *range = &r->items[order[i]];

		if (count && range->first <= sorted[count - 1].last + 1)
			sorted[count - 1].last = MAX_OF(sorted[count - 1].last, range->last);
		else
			sorted[count++] = *range;
	}
	r->items = sorted;
	r->room = r->count;
	r->count = count;
	return 0;
}

int regex_ranges_negate(struct arena *a, regex_ranges *r, uint32_t last, struct err *e)
{
	regex_ranges out = { 0 };
	uint32_t next = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (r->items[i].first > next &&
		    regex_ranges_add(a, &out, next, r->items[i].first - 1, e) < 0)
			return err_result(e);
		next = r->items[i].last + 1;
	}
	if (next <= last && regex_ranges_add(a, &out, next, last, e) < 0)
		return err_result(e);
	*r = out;
	return 0;
}

int regex_ranges_meet(struct arena *a, regex_ranges *r, const regex_ranges *with, struct err *e)
{
	regex_ranges out = { 0 };
	size_t i = 0, j = 0;

	while (i < r->count && j < with->count) {
		uint32_t first = MAX_OF(r->items[i].first, with->items[j].first);
		uint32_t last = MIN_OF(r->items[i].last, with->items[j].last);

		if (first <= last && regex_ranges_add(a, &out, first, last, e) < 0)
			return err_result(e);
		if (r->items[i].last < with->items[j].last)
			i++;
		else
			j++;
	}
	*r = out;
	return 0;
}

/* Adds the other cases of one range. */
static int fold_range(struct arena *a, regex_ranges *r, struct regex_range range, struct err *e)
{
	struct unicode_case_run run;
	size_t at = 0;

	while (unicode_next_case_run(range.first, range.last, &at, &run)) {
		/* Most go back and forth; the long ones do so as a whole. */
		if (run.step == 1 && run.last - run.first > 2) {
			uint32_t first = (uint32_t)((int64_t)run.first + run.delta);

			if (regex_ranges_add(a, r, first, first + (run.last - run.first), e) < 0)
				return err_result(e);
		}
		for (uint32_t c = run.first; c <= run.last; c += (uint32_t)run.step)
			for (uint32_t other = unicode_other_case(c); other != c;
			     other = unicode_other_case(other))
				if (regex_ranges_add(a, r, other, other, e) < 0)
					return err_result(e);
	}
	return 0;
}

static int fold_ascii(struct arena *a, regex_ranges *r, struct regex_range range, struct err *e)
{
	uint32_t first = MAX_OF(range.first, (uint32_t)'a'),
		 last = MIN_OF(range.last, (uint32_t)'z');

	if (first <= last && regex_ranges_add(a, r, first - 32, last - 32, e) < 0)
		return err_result(e);
	first = MAX_OF(range.first, (uint32_t)'A');
	last = MIN_OF(range.last, (uint32_t)'Z');
	if (first <= last && regex_ranges_add(a, r, first + 32, last + 32, e) < 0)
		return err_result(e);
	return 0;
}

int regex_ranges_fold(struct arena *a, regex_ranges *r, bool is_unicode, struct err *e)
{
	size_t count = r->count;

	for (size_t i = 0; i < count; i++)
		if ((is_unicode ? fold_range : fold_ascii)(a, r, r->items[i], e) < 0)
			return err_result(e);
	return 0;
}

bool regex_ranges_have(const regex_ranges *r, uint32_t c)
{
	for (size_t i = 0; i < r->count; i++)
		if (c >= r->items[i].first && c <= r->items[i].last)
			return true;
	return false;
}

/* FNV-1a, over the numbers. */
static size_t hash_ranges(const regex_ranges *r)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < r->count; i++) {
		hash = (hash ^ r->items[i].first) * 0x100000001b3u;
		hash = (hash ^ r->items[i].last) * 0x100000001b3u;
	}
	return (size_t)(hash ^ hash >> 32);
}

static bool is_same(const struct regex_set *set, const regex_ranges *r)
{
	if (set->count != r->count)
		return false;
	for (size_t i = 0; i < r->count; i++)
		if (set->items[i].first != r->items[i].first ||
		    set->items[i].last != r->items[i].last)
			return false;
	return true;
}

/* Doubles the table of the sets when it is half full. */
static int make_room(struct regex_sets *sets, struct err *e)
{
	size_t size = sets->table_size ? 2 * sets->table_size : 64;
	uint32_t *table;

	if (sets->all.count * 2 < sets->table_size)
		return 0;
	table = arena_array(sets->a, size, sizeof(*table), e);
	if (!table)
		return err_result(e);
	for (size_t i = 0; i < sets->table_size; i++) {
		const struct regex_set *set;
		regex_ranges ranges = { 0 };
		size_t at;

		if (!sets->table[i])
			continue;
		set = sets->all.items[sets->table[i] - 1];
		ranges.items = (struct regex_range *)(uintptr_t)set->items;
		ranges.count = set->count;
		for (at = hash_ranges(&ranges) % size; table[at]; at = (at + 1) % size)
			;
		table[at] = sets->table[i];
	}
	sets->table = table;
	sets->table_size = size;
	return 0;
}

const struct regex_set *regex_set_new(struct regex_sets *sets, regex_ranges *r, struct err *e)
{
	struct regex_set **slot, *set;
	size_t at;

	if (regex_ranges_sort(sets->a, r, e) < 0 || make_room(sets, e) < 0)
		return NULL;
	for (at = hash_ranges(r) % sets->table_size; sets->table[at];
	     at = (at + 1) % sets->table_size)
		if (is_same(sets->all.items[sets->table[at] - 1], r))
			return sets->all.items[sets->table[at] - 1];
	set = ARENA_NEW(sets->a, struct regex_set, e);
	slot = set ? VEC_PUSH(sets->a, &sets->all, e) : NULL;
	if (!set || !slot)
		return NULL;
	*set = (struct regex_set){ r->items, r->count, (uint32_t)sets->all.count - 1 };
	*slot = set;
	sets->table[at] = (uint32_t)sets->all.count;
	return set;
}

const struct regex_set *regex_set_one(struct regex_sets *sets, uint32_t c, struct err *e)
{
	const struct regex_set *set = c < COUNT_OF(sets->ascii) ? sets->ascii[c] : NULL;
	regex_ranges r = { 0 };

	if (set)
		return set;
	if (regex_ranges_add(sets->a, &r, c, c, e) < 0)
		return NULL;
	set = regex_set_new(sets, &r, e);
	if (set && c < COUNT_OF(sets->ascii))
		sets->ascii[c] = set;
	return set;
}

/* Pairs of first and last. */
static const uint32_t ascii_word[] = { '0', '9', 'A', 'Z', '_', '_', 'a', 'z' };
static const uint32_t ascii_digit[] = { '0', '9' };
static const uint32_t ascii_space[] = { '\t', '\r', ' ', ' ' };
static const uint32_t all_space[] = { '\t',   '\r',   ' ',    ' ',    0x85,   0x85,   0xa0,
				      0xa0,   0x1680, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029,
				      0x202f, 0x202f, 0x205f, 0x205f, 0x3000, 0x3000 };
/* Letters in circles and squares, and the joiners: of \w without being of its categories. */
static const uint32_t more_word[] = { 0x200c,  0x200d,	0x24b6,	 0x24e9,  0x1f130,
				      0x1f149, 0x1f150, 0x1f169, 0x1f170, 0x1f189 };

static int add_pairs(struct arena *a, regex_ranges *r, const uint32_t *pairs, size_t count,
		     struct err *e)
{
	for (size_t i = 0; i < count; i += 2)
		if (regex_ranges_add(a, r, pairs[i], pairs[i + 1], e) < 0)
			return err_result(e);
	return 0;
}

static int add_categories(struct arena *a, regex_ranges *r, uint32_t categories, struct err *e)
{
	uint32_t first, last;
	size_t at = 0;

	while (unicode_next_run(categories, &at, &first, &last))
		if (regex_ranges_add(a, r, first, last, e) < 0)
			return err_result(e);
	return 0;
}

int regex_add_perl(struct arena *a, regex_ranges *r, enum regex_perl class, bool is_unicode,
		   struct err *e)
{
	static const uint32_t word = 1u << UNICODE_Ll | 1u << UNICODE_Lm | 1u << UNICODE_Lo |
				     1u << UNICODE_Lt | 1u << UNICODE_Lu | 1u << UNICODE_Mc |
				     1u << UNICODE_Me | 1u << UNICODE_Mn | 1u << UNICODE_Nd |
				     1u << UNICODE_Nl | 1u << UNICODE_Pc;

	switch (class) {
	case REGEX_WORD:
		if (!is_unicode)
			return add_pairs(a, r, ascii_word, COUNT_OF(ascii_word), e);
		if (add_pairs(a, r, more_word, COUNT_OF(more_word), e) < 0)
			return err_result(e);
		return add_categories(a, r, word, e);
	case REGEX_DIGIT:
		return is_unicode ? add_categories(a, r, 1u << UNICODE_Nd, e)
				  : add_pairs(a, r, ascii_digit, COUNT_OF(ascii_digit), e);
	case REGEX_SPACE:
	default:
		return is_unicode ? add_pairs(a, r, all_space, COUNT_OF(all_space), e)
				  : add_pairs(a, r, ascii_space, COUNT_OF(ascii_space), e);
	}
}
