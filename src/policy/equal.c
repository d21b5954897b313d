/* SPDX-License-Identifier: MIT */
/* Whether two profiles are equal, by the table of keys; see policy.h. */
#include <stdlib.h>

#include "policy/print.h"

/* Where entries tie, the one that wins by P7 comes first. */
static int rank(enum access access)
{
	switch (access) {
	case ACCESS_DENY:
		return 0;
	case ACCESS_WRITE:
		return 1;
	case ACCESS_READ:
		return 2;
	}
	return 3;
}

static int compare_target(const struct fs_entry *a, const struct fs_entry *b)
{
	int c = (int)a->anchor - (int)b->anchor;

	if (c == 0)
		c = str_cmp(a->path, b->path);
	return c ? c : str_cmp(a->glob, b->glob);
}

static int compare_entries(const void *left, const void *right)
{
	const struct fs_entry *a = *(const struct fs_entry *const *)left;
	const struct fs_entry *b = *(const struct fs_entry *const *)right;
	int c = compare_target(a, b);

	return c ? c : rank(a->access) - rank(b->access);
}

int fs_entries_sorted(struct arena *a, const fs_entries *entries, const struct fs_entry ***out,
		      size_t *count, struct err *e)
{
	const struct fs_entry **sorted =
		arena_array(a, entries->count + 1, sizeof(const void *), e);
	size_t kept = 0;

	if (!sorted)
		return err_result(e);
	for (size_t i = 0; i < entries->count; i++)
		sorted[i] = &entries->items[i];
	qsort(sorted, entries->count, sizeof(const void *), compare_entries);
	for (size_t i = 0; i < entries->count; i++)
		if (kept == 0 || compare_target(sorted[kept - 1], sorted[i]) != 0)
			sorted[kept++] = sorted[i];
	*out = sorted;
	*count = kept;
	return 0;
}

bool key_equal_filesystem(struct arena *arena, const struct profile *x, const struct profile *y)
{
	const fs_entries *a = &x->fs;
	const fs_entries *b = &y->fs;
	struct err e = ERR_INIT;
	const struct fs_entry **left = NULL;
	const struct fs_entry **right = NULL;
	size_t left_count = 0;
	size_t right_count = 0;

	if (fs_entries_sorted(arena, a, &left, &left_count, &e) < 0 ||
	    fs_entries_sorted(arena, b, &right, &right_count, &e) < 0 || left_count != right_count)
		return false;
	for (size_t i = 0; i < left_count; i++)
		if (compare_entries(&left[i], &right[i]) != 0)
			return false;
	return true;
}

static int compare_rules(const void *left, const void *right)
{
	const struct net_rule *a = left;
	const struct net_rule *b = right;
	int c = str_cmp(a->domain.text, b->domain.text);

	return c ? c : (int)a->is_allow - (int)b->is_allow;
}

static int compare_sockets(const void *left, const void *right)
{
	const struct net_socket *a = left;
	const struct net_socket *b = right;
	int c = str_cmp(a->path, b->path);

	if (c == 0)
		c = (int)a->below_home - (int)b->below_home;
	return c ? c : (int)a->is_allow - (int)b->is_allow;
}

static int compare_roots(const void *left, const void *right)
{
	const struct root *a = left;
	const struct root *b = right;
	int c = (int)a->anchor - (int)b->anchor;

	return c ? c : str_cmp(a->path, b->path);
}

/* Whether two arrays hold the same things, each as often, in any order. */
static bool equal_sets(struct arena *arena, const void *a, const void *b, size_t count, size_t size,
		       int (*compare)(const void *, const void *))
{
	struct err e = ERR_INIT;
	char *left = arena_array(arena, count + 1, size, &e);
	char *right = arena_array(arena, count + 1, size, &e);

	if (!left || !right)
		return false;
	if (count == 0)
		return true;
	memcpy(left, a, count * size);
	memcpy(right, b, count * size);
	qsort(left, count, size, compare);
	qsort(right, count, size, compare);
	for (size_t i = 0; i < count; i++)
		if (compare(left + i * size, right + i * size) != 0)
			return false;
	return true;
}

bool key_equal_workspace_roots(struct arena *a, const struct profile *x, const struct profile *y)
{
	return x->roots.count == y->roots.count &&
	       equal_sets(a, x->roots.items, y->roots.items, x->roots.count, sizeof(struct root),
			  compare_roots);
}

bool key_equal_domains(struct arena *a, const struct profile *x, const struct profile *y)
{
	return x->net.rules.count == y->net.rules.count &&
	       equal_sets(a, x->net.rules.items, y->net.rules.items, x->net.rules.count,
			  sizeof(struct net_rule), compare_rules);
}

bool key_equal_unix_sockets(struct arena *a, const struct profile *x, const struct profile *y)
{
	return x->net.sockets.count == y->net.sockets.count &&
	       equal_sets(a, x->net.sockets.items, y->net.sockets.items, x->net.sockets.count,
			  sizeof(struct net_socket), compare_sockets);
}

bool key_equal_set(struct arena *a, const struct profile *x, const struct profile *y)
{
	(void)a;
	if (x->env.set.count != y->env.set.count)
		return false;
	for (size_t i = 0; i < x->env.set.count; i++)
		if (!str_eq(x->env.set.items[i].name, y->env.set.items[i].name) ||
		    !str_eq(x->env.set.items[i].value, y->env.set.items[i].value))
			return false;
	return true;
}

/* The rules of the network are keys of their own. */
bool key_equal_network(struct arena *a, const struct profile *x, const struct profile *y)
{
	(void)a;
	return x->net.access == y->net.access;
}

static bool equal_patterns(const env_patterns *a, const env_patterns *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (!str_eq(a->items[i].text, b->items[i].text))
			return false;
	return true;
}

static bool equal_names(const names *a, const names *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (!str_eq(a->items[i].name, b->items[i].name))
			return false;
	return true;
}

static bool equal_key(struct arena *a, const struct key *k, const struct profile *x,
		      const struct profile *y)
{
	const void *left = key_field(k, x);
	const void *right = key_field(k, y);

	switch (k->kind) {
	case KIND_BOOL:
	case KIND_CHOICE:
		return key_value(k, x) == key_value(k, y);
	case KIND_STRING:
		return str_eq(*(const struct str *)left, *(const struct str *)right);
	case KIND_NAMES:
	case KIND_WORDS:
		return equal_names(left, right);
	case KIND_PATTERNS:
		return equal_patterns(left, right);
	case KIND_LIMIT:
		return *(const uint64_t *)left == *(const uint64_t *)right;
	case KIND_OWN:
		return k->equal(a, x, y);
	case KIND_SUBTABLE:
	case KIND_SETTING:
	case KIND_LOADED:
	case KIND_IGNORED:
	case KIND_REFUSED:
		break;
	}
	return true;
}

bool profile_equal(const struct profile *a, const struct profile *b)
{
	scoped_arena arena = ARENA_INIT(SIZE_MAX);

	for (size_t i = 0; i < KEY_COUNT; i++)
		if (!key_is_setting(&policy_keys[i]) && !equal_key(&arena, &policy_keys[i], a, b))
			return false;
	return a->is_unsandboxed == b->is_unsandboxed;
}
