/* SPDX-License-Identifier: MIT */
/* See walk.h. */
#include "plan/walk.h"

#include <stdlib.h>

#include "base/path.h"

struct noting {
	struct builder *b;
	struct walked *walked; /* NULL: it is not remembered */
	size_t max_names;
	bool is_cut;
	int (*each)(void *arg, struct str name, enum host_type type,
		    struct err *e); /* may be NULL */
	void *arg;
};

static int note_name(struct noting *n, struct str name, enum host_type type, struct err *e)
{
	struct walked *w = n->walked;
	struct str *dir;

	w->names++;
	if (str_is(name, ".git")) {
		w->has_git = true;
		return 0;
	}
	w->has_head |= str_is(name, "HEAD");
	w->has_commondir |= str_is(name, "commondir");
	w->has_objects |= str_is(name, "objects");
	w->has_refs |= str_is(name, "refs");
	if (type != HOST_DIR)
		return 0;
	dir = VEC_PUSH(n->b->a, &w->dirs, e);
	return dir ? arena_copy(n->b->a, name, dir, e) : err_result(e);
}

static int visit(void *arg, struct str name, enum host_type type, struct err *e)
{
	struct noting *n = arg;

	if (n->walked && n->walked->names == n->max_names) {
		n->is_cut = true;
		n->walked = NULL;
		if (!n->each)
			return 1;
	}
	if (n->walked && note_name(n, name, type, e) < 0)
		return err_result(e);
	return n->each ? n->each(n->arg, name, type, e) : 0;
}

static int compare_names(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Only what was seen to its end is remembered. */
static int list(struct noting *n, struct str path, const struct walked **out, struct err *e)
{
	const struct host *host = n->b->host;
	struct walked *w = ARENA_NEW(n->b->a, struct walked, e);
	int r;

	if (!w || arena_copy(n->b->a, path, &w->by_path.name, e) < 0)
		return err_result(e);
	n->walked = w;
	r = host->list(host->user, path, visit, n, e);
	if (r != 0 || n->is_cut)
		return n->is_cut && r > 0 && !n->each ? 0 : r;
	if (w->dirs.count > 1)
		qsort(w->dirs.items, w->dirs.count, sizeof(w->dirs.items[0]), compare_names);
	name_tree_add(&n->b->walked, &w->by_path);
	*out = w;
	return 0;
}

/* Nested repositories are looked for in the workspace alone. */
static bool is_wanted(const struct builder *b, struct str path)
{
	const struct places *places = &b->plan->places;

	for (size_t i = 0; b->walked_room > 0 && i < places->root_count; i++)
		if (path_is_under(path, places->roots[i]))
			return !name_tree_find(b->walked, path);
	return false;
}

void walk_begin(struct builder *b)
{
	const struct profile *profile = b->plan->policy->profile;

	b->walked_room = profile->git == GIT_WRITE || profile->nested_is_open ? 0 : WALK_MAX_DIRS;
}

int walk_list(struct builder *b, struct str path,
	      int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
	      void *arg, struct err *e)
{
	struct noting n = { .b = b, .max_names = WALK_MAX_NAMES, .each = each, .arg = arg };
	const struct walked *ignored;

	if (!is_wanted(b, path))
		return b->host->list(b->host->user, path, each, arg, e);
	b->walked_room--;
	return list(&n, path, &ignored, e);
}

int walk_find(struct builder *b, struct str path, size_t max_names, const struct walked **out,
	      struct err *e)
{
	struct noting n = { .b = b, .max_names = max_names };
	const struct walked *known = (const void *)name_tree_find(b->walked, path);

	*out = known && known->names <= max_names ? known : NULL;
	return known ? 0 : list(&n, path, out, e);
}
