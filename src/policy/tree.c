/* SPDX-License-Identifier: MIT */
/* See tree.h. */
#include "policy/tree.h"

#include <inttypes.h>
#include <stdlib.h>

#include "policy/schema.h"

enum { SMALL_TABLE = 8 }; /* up to this many members, a linear search is faster than sorting */

const struct toml *tree_find(const struct toml *table, struct str name)
{
	if (table->type != TOML_TABLE)
		return NULL;
	for (size_t i = 0; i < table->table.count; i++)
		if (str_eq(table->table.items[i].name, name))
			return &table->table.items[i].value;
	return NULL;
}

/* Compares members of one table; equal names by their order in the text. */
static int compare_members(const void *left, const void *right)
{
	const struct toml_member *a = *(const struct toml_member *const *)left;
	const struct toml_member *b = *(const struct toml_member *const *)right;
	int c = str_cmp(a->name, b->name);

	return c ? c : (a > b) - (a < b);
}

const struct toml_member **tree_sorted(struct arena *a, const struct toml *table, struct err *e)
{
	size_t count = table->table.count;
	const struct toml_member **sorted = arena_array(a, count + 1, sizeof(const void *), e);

	if (!sorted)
		return NULL;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &table->table.items[i];
	qsort(sorted, count, sizeof(const void *), compare_members);
	return sorted;
}

const struct toml_member *tree_search(const struct toml_member *const *sorted, size_t count,
				      struct str name)
{
	size_t low = 0;
	size_t high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int c = str_cmp(sorted[middle]->name, name);

		if (c == 0)
			return sorted[middle];
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

int tree_check_unique(struct arena *a, const struct toml *table, const char *where, struct err *e)
{
	const struct toml_member **sorted = tree_sorted(a, table, e);

	if (!sorted)
		return err_result(e);
	for (size_t i = 1; i < table->table.count; i++) {
		const struct toml_member *first = sorted[i - 1];

		if (!str_eq(first->name, sorted[i]->name))
			continue;
		return FAIL_CAUSE_AT(e, CAUSE_DUPLICATE_KEY, sorted[i]->name_origin,
				     "'%s' in %s is already set on line %" PRIu32
				     ", column %" PRIu32
				     " (maybe in another spelling); keep one of them",
				     SHOWN(first->name), where, first->name_origin.line,
				     first->name_origin.column);
	}
	return 0;
}

/* Finds `name` among the first `count` members of the table that is being built. */
struct finder {
	struct toml *table;
	size_t count;
	const struct toml_member **sorted; /* NULL when the table is small */
};

static struct toml_member *find_below(const struct finder *f, struct str name)
{
	if (f->sorted) {
		const struct toml_member *m = tree_search(f->sorted, f->count, name);

		return m ? &f->table->table.items[m - f->table->table.items] : NULL;
	}
	for (size_t i = 0; i < f->count; i++)
		if (str_eq(f->table->table.items[i].name, name))
			return &f->table->table.items[i];
	return NULL;
}

/* Gives `into` a copy of its members, with room for those of `above`. */
static int start_merge(struct arena *a, struct toml *into, const struct toml *above,
		       struct finder *f, struct err *e)
{
	size_t count = into->table.count;
	size_t room = count + above->table.count;
	struct toml_member *items = arena_array(a, room + 1, sizeof(*items), e);

	if (!items)
		return err_result(e);
	if (count)
		memcpy(items, into->table.items, count * sizeof(*items));
	into->table.items = items;
	*f = (struct finder){ .table = into, .count = count };
	if (count > SMALL_TABLE && above->table.count > 1) {
		f->sorted = tree_sorted(a, into, e);
		if (!f->sorted)
			return err_result(e);
	}
	return 0;
}

int tree_merge(struct arena *a, struct toml *into, const struct toml *above, struct err *e)
{
	struct finder f = { .table = into };
	int r;

	if (into->type != TOML_TABLE || above->type != TOML_TABLE) {
		*into = *above;
		return 0;
	}
	r = start_merge(a, into, above, &f, e);
	if (r < 0)
		return r;
	into->origin = above->origin;
	for (size_t i = 0; i < above->table.count; i++) {
		const struct toml_member *m = &above->table.items[i];
		struct toml_member *below = find_below(&f, m->name);

		if (!below) {
			into->table.items[into->table.count++] = *m;
			continue;
		}
		below->name_origin = m->name_origin;
		r = tree_merge(a, &below->value, &m->value, e);
		if (r < 0)
			return r;
	}
	return 0;
}
