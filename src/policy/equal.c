/* SPDX-License-Identifier: MIT */
/* Whether two profiles say the same; see policy.h. */
#include <stdlib.h>

#include "policy/policy.h"

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

static bool equal_fs(struct arena *arena, const fs_entries *a, const fs_entries *b)
{
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

static bool equal_net(struct arena *arena, const struct net_rules *a, const struct net_rules *b)
{
	return a->access == b->access && a->is_limited == b->is_limited &&
	       a->allows_local_binding == b->allows_local_binding &&
	       a->allows_upstream_proxy == b->allows_upstream_proxy &&
	       a->rules.count == b->rules.count && a->sockets.count == b->sockets.count &&
	       equal_sets(arena, a->rules.items, b->rules.items, a->rules.count,
			  sizeof(struct net_rule), compare_rules) &&
	       equal_sets(arena, a->sockets.items, b->sockets.items, a->sockets.count,
			  sizeof(struct net_socket), compare_sockets);
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

static bool equal_env(const struct environment *a, const struct environment *b)
{
	if (a->inherit != b->inherit || a->set.count != b->set.count)
		return false;
	for (size_t i = 0; i < a->set.count; i++)
		if (!str_eq(a->set.items[i].name, b->set.items[i].name) ||
		    !str_eq(a->set.items[i].value, b->set.items[i].value))
			return false;
	return equal_patterns(&a->exclude, &b->exclude) && equal_patterns(&a->include, &b->include);
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

static bool equal_limits(const struct limits *a, const struct limits *b)
{
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if (a->value[i] != b->value[i])
			return false;
	return true;
}

bool profile_equal(const struct profile *a, const struct profile *b)
{
	scoped_arena arena = ARENA_INIT(SIZE_MAX);

	return str_eq(a->description, b->description) && a->git == b->git &&
	       a->workspace_is_repo == b->workspace_is_repo &&
	       a->nested_is_open == b->nested_is_open && a->tmp_is_private == b->tmp_is_private &&
	       a->globs_are_strict == b->globs_are_strict && a->isolates_ipc == b->isolates_ipc &&
	       a->isolates_proc == b->isolates_proc && a->allows_userns == b->allows_userns &&
	       a->is_unsandboxed == b->is_unsandboxed && a->roots.count == b->roots.count &&
	       equal_sets(&arena, a->roots.items, b->roots.items, a->roots.count,
			  sizeof(struct root), compare_roots) &&
	       equal_names(&a->protect, &b->protect) && equal_names(&a->unprotect, &b->unprotect) &&
	       equal_limits(&a->limits, &b->limits) && equal_env(&a->env, &b->env) &&
	       equal_net(&arena, &a->net, &b->net) && equal_fs(&arena, &a->fs, &b->fs);
}
