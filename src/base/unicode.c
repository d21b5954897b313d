/* SPDX-License-Identifier: MIT */
/* See unicode.h. */
#include "base/unicode.h"

#include "base/unicode_table.h"

struct category_name {
	struct str name;
	uint32_t categories;
};

#define BIT(category) (1u << UNICODE_##category)

/* The groups; their short names are the first letters of the categories' names. */
static const struct category_name groups[] = {
	{ STR_INIT("other"), BIT(Cc) | BIT(Cf) | BIT(Cn) | BIT(Co) | BIT(Cs) },
	{ STR_INIT("letter"), BIT(Ll) | BIT(Lm) | BIT(Lo) | BIT(Lt) | BIT(Lu) },
	{ STR_INIT("mark"), BIT(Mc) | BIT(Me) | BIT(Mn) },
	{ STR_INIT("number"), BIT(Nd) | BIT(Nl) | BIT(No) },
	{ STR_INIT("punctuation"),
	  BIT(Pc) | BIT(Pd) | BIT(Pe) | BIT(Pf) | BIT(Pi) | BIT(Po) | BIT(Ps) },
	{ STR_INIT("symbol"), BIT(Sc) | BIT(Sk) | BIT(Sm) | BIT(So) },
	{ STR_INIT("separator"), BIT(Zl) | BIT(Zp) | BIT(Zs) },
	{ STR_INIT("casedletter"), BIT(Ll) | BIT(Lt) | BIT(Lu) },
	{ STR_INIT("lc"), BIT(Ll) | BIT(Lt) | BIT(Lu) },
	{ STR_INIT("any"), (1u << UNICODE_CATEGORY_COUNT) - 1 },
	{ STR_INIT("assigned"), ((1u << UNICODE_CATEGORY_COUNT) - 1) & ~BIT(Cn) },
	{ STR_INIT("c"), BIT(Cc) | BIT(Cf) | BIT(Cn) | BIT(Co) | BIT(Cs) },
	{ STR_INIT("l"), BIT(Ll) | BIT(Lm) | BIT(Lo) | BIT(Lt) | BIT(Lu) },
	{ STR_INIT("m"), BIT(Mc) | BIT(Me) | BIT(Mn) },
	{ STR_INIT("n"), BIT(Nd) | BIT(Nl) | BIT(No) },
	{ STR_INIT("p"), BIT(Pc) | BIT(Pd) | BIT(Pe) | BIT(Pf) | BIT(Pi) | BIT(Po) | BIT(Ps) },
	{ STR_INIT("s"), BIT(Sc) | BIT(Sk) | BIT(Sm) | BIT(So) },
	{ STR_INIT("z"), BIT(Zl) | BIT(Zp) | BIT(Zs) },
};

#define ROW(name, text) { STR_INIT(#name), BIT(name) }, { STR_INIT(text), BIT(name) },
static const struct category_name categories_by_name[] = { UNICODE_CATEGORIES(ROW) };
#undef ROW

/* Loose matching, as the Unicode standard has it for names of properties. */
static bool is_name(struct str given, struct str name)
{
	size_t n = 0;

	for (size_t i = 0; i < given.len; i++) {
		if (given.p[i] == ' ' || given.p[i] == '-' || given.p[i] == '_')
			continue;
		if (n == name.len || ascii_lower(given.p[i]) != ascii_lower(name.p[n]))
			return false;
		n++;
	}
	return n == name.len;
}

uint32_t unicode_find_categories(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(categories_by_name); i++)
		if (is_name(name, categories_by_name[i].name))
			return categories_by_name[i].categories;
	for (size_t i = 0; i < COUNT_OF(groups); i++)
		if (is_name(name, groups[i].name))
			return groups[i].categories;
	return 0;
}

bool unicode_next_run(uint32_t categories, size_t *at, uint32_t *first, uint32_t *last)
{
	size_t i = *at;

	while (i < unicode_categories_count && !(categories >> (unicode_categories[i] & 255) & 1))
		i++;
	if (i == unicode_categories_count)
		return false;
	*first = unicode_categories[i] >> 8;
	while (i < unicode_categories_count && categories >> (unicode_categories[i] & 255) & 1)
		i++;
	*last = i < unicode_categories_count ? (unicode_categories[i] >> 8) - 1 : UNICODE_LAST;
	*at = i;
	return true;
}

/* The number of the first row that does not end before `c`. */
static size_t find_fold(uint32_t c)
{
	size_t low = 0, high = unicode_folds_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unicode_folds[middle].last < c)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool unicode_next_case_run(uint32_t first, uint32_t last, size_t *at, struct unicode_case_run *out)
{
	for (size_t i = *at ? *at : find_fold(first);
	     i < unicode_folds_count && unicode_folds[i].first <= last; i++) {
		const struct unicode_fold *fold = &unicode_folds[i];
		uint32_t step = (uint32_t)fold->step;
		uint32_t from = MAX_OF(first, fold->first), to = MIN_OF(last, fold->last);

		from += (step - (from - fold->first) % step) % step;
		if (from > to)
			continue;
		*out = (struct unicode_case_run){ from, to - (to - from) % step, fold->step,
						  fold->delta };
		*at = i + 1;
		return true;
	}
	return false;
}

uint32_t unicode_other_case(uint32_t c)
{
	struct unicode_case_run run;
	size_t at = 0;

	return unicode_next_case_run(c, c, &at, &run) ? (uint32_t)((int64_t)c + run.delta) : c;
}
