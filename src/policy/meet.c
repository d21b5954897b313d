/* SPDX-License-Identifier: MIT */
/* How a file that can only narrow changes each key of a profile (P2, P16); see keys.h. */
#include <stdlib.h>

#include "policy/decode.h"
#include "policy/keys.h"

static int compare_named(const void *left, const void *right)
{
	const struct named *a = left;
	const struct named *b = right;

	return str_cmp(a->name, b->name);
}

int names_unite(struct arena *a, names *all, const names *more, struct err *e)
{
	size_t count = 0;

	for (size_t i = 0; i < more->count; i++) {
		struct named *added = VEC_PUSH(a, all, e);

		if (!added)
			return err_result(e);
		*added = more->items[i];
	}
	if (all->count > 1)
		qsort(all->items, all->count, sizeof(*all->items), compare_named);
	for (size_t i = 0; i < all->count; i++)
		if (i == 0 || !str_eq(all->items[i].name, all->items[count - 1].name))
			all->items[count++] = all->items[i];
	all->count = count;
	return 0;
}

static void take_origin(const struct key *k, struct profile *into, const struct profile *by)
{
	if (k->origin)
		*(struct origin *)(void *)((char *)into + k->origin) =
			*(const struct origin *)(const void *)((const char *)by + k->origin);
}

static void meet_limit(const struct key *k, struct profile *into, const struct profile *by)
{
	uint64_t *limit = (uint64_t *)(void *)((char *)into + k->offset);
	uint64_t lower = *(const uint64_t *)key_field(k, by);

	if (!lower || (*limit && *limit <= lower))
		return;
	*limit = lower;
	take_origin(k, into, by);
}

static void meet_value(const struct key *k, struct profile *into, const struct profile *by)
{
	unsigned old = key_value(k, into);
	unsigned other = key_value(k, by);
	unsigned met = k->meet == MEET_FALSE ? MIN_OF(old, other) : MAX_OF(old, other);

	if (met == old)
		return;
	key_set(k, into, met);
	take_origin(k, into, by);
}

int key_meet(struct arena *a, const struct key *k, struct profile *into, const struct profile *by,
	     struct err *e)
{
	switch (k->meet) {
	case MEET_FALSE:
	case MEET_LATER:
		meet_value(k, into, by);
		return 0;
	case MEET_LOWER:
		meet_limit(k, into, by);
		return 0;
	case MEET_UNION:
		return names_unite(a, (names *)(void *)((char *)into + k->offset), key_field(k, by),
				   e);
	case MEET_NEVER:
	case MEET_ROWS:
	case MEET_OWN:
	case MEET_NO_VALUE:
		break;
	}
	return 0;
}

int keys_meet(struct arena *a, enum key_table table, struct profile *into, const struct profile *by,
	      struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < KEY_COUNT && r == 0; i++)
		if (policy_keys[i].table == table)
			r = key_meet(a, &policy_keys[i], into, by, e);
	return r;
}

bool key_takes_away(const struct key *k, const struct profile *by)
{
	switch (k->meet) {
	case MEET_FALSE:
		return key_value(k, by) == 0;
	case MEET_LATER:
		return key_value(k, by) != 0;
	case MEET_LOWER:
		return *(const uint64_t *)key_field(k, by) != 0;
	case MEET_UNION:
		return ((const names *)key_field(k, by))->count > 0;
	case MEET_NEVER:
	case MEET_ROWS:
	case MEET_OWN:
	case MEET_NO_VALUE:
		break;
	}
	return false;
}
