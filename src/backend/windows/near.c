/* SPDX-License-Identifier: MIT */
/* See near.h. */
#include "backend/windows/near.h"
#include "base/name_tree.h"
#include "base/path.h"

/* A directory on the way, and what is in it. */
struct near_dir {
	struct name_node node; /* by its path */
	VEC(struct str) children;
};

struct near {
	struct arena *a;
	struct host host;
	const struct host *real;
	struct name_node *dirs;
};

/* ---- What there is to see ------------------------------------------------------------------------ */

static struct near_dir *find_dir(const struct near *n, struct str path)
{
	/* The node is the first member. */
	return (struct near_dir *)(void *)name_tree_find(n->dirs, path);
}

static int add_child(struct near *n, struct str dir, struct str name, struct err *e)
{
	struct near_dir *found = find_dir(n, dir);
	struct str *place;

	if (!found) {
		found = ARENA_NEW(n->a, struct near_dir, e);
		if (!found)
			return err_result(e);
		found->node.name = dir;
		name_tree_add(&n->dirs, &found->node);
	}
	for (size_t i = 0; i < found->children.count; i++)
		if (str_eq(found->children.items[i], name))
			return 0;
	place = VEC_PUSH(n->a, &found->children, e);
	if (!place)
		return err_result(e);
	*place = name;
	return 0;
}

static int add_path(struct near *n, struct str path, struct err *e)
{
	struct str name, dir = STR("/");
	size_t at = 0;

	while (path_next(path, &at, &name)) {
		if (add_child(n, dir, name, e) < 0)
			return err_result(e);
		dir = str_first(path, at);
	}
	return 0;
}

static int add_all(struct near *n, const struct plan *plan, struct err *e)
{
	for (size_t i = 0; i < plan->regions.count; i++)
		if (add_path(n, plan->regions.items[i].path, e) < 0)
			return err_result(e);
	for (size_t i = 0; i < plan->roots.count; i++)
		if (add_path(n, plan->roots.items[i].path, e) < 0)
			return err_result(e);
	for (size_t i = 0; i < plan->links.count; i++)
		if (add_path(n, plan->links.items[i].path, e) < 0 ||
		    add_path(n, plan->links.items[i].target, e) < 0)
			return err_result(e);
	for (size_t i = 0; i < plan->pins.count; i++)
		if (add_path(n, plan->pins.items[i].path, e) < 0)
			return err_result(e);
	for (size_t i = 0; i < plan->masked.count; i++)
		if (add_path(n, plan->masked.items[i].path, e) < 0)
			return err_result(e);
	return 0;
}

/* ---- As a host ------------------------------------------------------------------------------------- */

static int look(void *user, struct str path, struct host_file *out, struct err *e)
{
	const struct near *n = user;

	return n->real->look(n->real->user, path, out, e);
}

static int read_link(void *user, struct str path, struct buf *out, struct err *e)
{
	const struct near *n = user;

	return n->real->read_link(n->real->user, path, out, e);
}

static int read_file(void *user, struct str path, struct buf *out, struct err *e)
{
	const struct near *n = user;

	return n->real->read_file(n->real->user, path, out, e);
}

static int list(void *user, struct str path,
		int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		void *arg, struct err *e)
{
	const struct near *n = user;
	const struct near_dir *dir = find_dir(n, path);

	for (size_t i = 0; dir && i < dir->children.count; i++) {
		struct str child = STR_EMPTY;
		struct host_file file;
		int r;

		if (path_join(n->a, path, dir->children.items[i], &child, e) < 0 ||
		    look(user, child, &file, e) < 0)
			return err_result(e);
		if (file.type == HOST_MISSING)
			continue;
		r = each(arg, dir->children.items[i], file.type, e);
		if (r)
			return r;
	}
	return 0;
}

int windows_near(struct arena *a, const struct plan *plan, struct plan *out, struct err *e)
{
	struct near *n = ARENA_NEW(a, struct near, e);

	if (!n)
		return err_result(e);
	n->a = a;
	n->real = plan->host;
	if (add_all(n, plan, e) < 0)
		return err_result(e);
	n->host = *plan->host;
	n->host.user = n;
	n->host.look = look;
	n->host.read_link = read_link;
	n->host.read_file = read_file;
	n->host.list = list;
	n->host.recall = NULL;
	*out = *plan;
	out->host = &n->host;
	return 0;
}

int windows_lower_near(struct arena *a, const struct plan *plan, windows_lower_fn *lower,
		       struct windows_lowering *out, struct err *e)
{
	/* What is lowered borrows from it. */
	struct plan *few = ARENA_NEW(a, struct plan, e);

	if (!few || windows_near(a, plan, few, e) < 0 ||
	    lower(a, few, LAUNCH_PROXY_PORT, out, e) < 0)
		return err_result(e);
	return 0;
}
