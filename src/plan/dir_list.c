/* SPDX-License-Identifier: MIT */
/* See dir_list.h. */
#include "plan/dir_list.h"

#include <stdlib.h>

#include "base/path.h"

struct noting {
	struct builder *b;
	struct listed_dir *listed; /* NULL: it is not remembered */
	size_t max_names;
	bool wants_dirs;
	bool is_cut;
	int (*each)(void *arg, struct str name, enum host_type type,
		    struct err *e); /* may be NULL */
	void *arg;
};

static int note_name(struct noting *n, struct str name, enum host_type type, struct err *e)
{
	struct listed_dir *w = n->listed;
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
	if (type != HOST_DIR || !n->wants_dirs)
		return 0;
	dir = VEC_PUSH(n->b->a, &w->dirs, e);
	return dir ? arena_copy(n->b->a, name, dir, e) : err_result(e);
}

static int visit(void *arg, struct str name, enum host_type type, struct err *e)
{
	struct noting *n = arg;

	if (n->listed && n->listed->names == n->max_names) {
		n->is_cut = true;
		n->listed = NULL;
		if (!n->each)
			return 1;
	}
	if (n->listed && note_name(n, name, type, e) < 0)
		return err_result(e);
	return n->each ? n->each(n->arg, name, type, e) : 0;
}

static int compare_names(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Remembers only directories that were listed to the end. */
static int list(struct noting *n, struct str path, const struct listed_dir **out, struct err *e)
{
	const struct host *host = n->b->host;
	struct listed_dir *known = (void *)name_tree_find(n->b->listed, path);
	struct listed_dir *w = known ? known : ARENA_NEW(n->b->a, struct listed_dir, e);
	int r;

	if (!w || (!known && arena_copy(n->b->a, path, &w->by_path.name, e) < 0))
		return err_result(e);
	w->names = 0;
	w->dirs.count = 0;
	n->listed = w;
	r = host->list(host->user, path, visit, n, e);
	if (r != 0 || n->is_cut)
		return n->is_cut && r > 0 && !n->each ? 0 : r;
	if (w->dirs.count > 1)
		qsort(w->dirs.items, w->dirs.count, sizeof(w->dirs.items[0]), compare_names);
	w->has_dirs = n->wants_dirs;
	if (!known)
		name_tree_add(&n->b->listed, &w->by_path);
	*out = w;
	return 0;
}

/* Only the workspace is searched for nested repositories. */
static bool is_wanted(const struct builder *b, struct str path)
{
	const struct places *places = &b->plan->places;

	for (size_t i = 0; b->listed_room > 0 && i < places->root_count; i++)
		if (path_is_under(path, places->roots[i]))
			return !name_tree_find(b->listed, path);
	return false;
}

void dir_list_begin(struct builder *b)
{
	const struct profile *profile = b->plan->policy->profile;

	b->listed_subdirs = 0;
	b->listed_room = profile->git == GIT_WRITE || profile->nested_is_open ? 0
									      : DIR_LIST_MAX_DIRS;
}

int dir_list_each(struct builder *b, struct str path,
		  int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		  void *arg, struct err *e)
{
	struct noting n = { .b = b, .max_names = DIR_LIST_MAX_NAMES, .each = each, .arg = arg };
	const struct listed_dir *listed = NULL;

	int r;

	if (!is_wanted(b, path))
		return b->host->list(b->host->user, path, each, arg, e);
	/* Subdirectories beyond those that are searched need not be remembered. */
	n.wants_dirs = b->listed_subdirs < DIR_LIST_MAX_DIRS;
	b->listed_room--;
	r = list(&n, path, &listed, e);
	if (r == 0 && listed)
		b->listed_subdirs += listed->dirs.count;
	return r;
}

int dir_list_find(struct builder *b, struct str path, size_t max_names, bool wants_dirs,
		  const struct listed_dir **out, struct err *e)
{
	struct noting n = { .b = b, .max_names = max_names, .wants_dirs = wants_dirs };
	const struct listed_dir *known = (const void *)name_tree_find(b->listed, path);

	*out = NULL;
	if (!known || (wants_dirs && !known->has_dirs))
		return list(&n, path, out, e);
	if (known->names <= max_names)
		*out = known;
	return 0;
}
