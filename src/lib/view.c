/* SPDX-License-Identifier: MIT */
/* See view.h. The tree of files, and the questions of plan/host.h on it. */
#include "lib/view.h"

#include <errno.h>

#include "base/firmlink.h"
#include "base/fold.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/windows_path.h"

/* ---- Paths ------------------------------------------------------------------------------ */

int view_path(struct arena *a, enum places_system system, struct str base, struct str text,
	      struct str *out, struct err *e)
{
	struct str path = text;

	if (str_has_nul(text))
		return FAIL(e, ERR_SYNTAX, "a path contains a NUL byte");
	if (system == PLACES_WINDOWS && windows_path(a, base, text, WINDOWS_EXACT, &path, e) < 0)
		return err_result(e);
	if (!base.len && !path_is_absolute(path))
		return FAIL(e, ERR_SYNTAX, "the path is not absolute");
	if (path_plain(a, base, path, out, e) < 0)
		return err_result(e);
	if (system == PLACES_WINDOWS && !windows_is_path(*out))
		return FAIL_CAUSE(e, CAUSE_BAD_PATH, "the path leads above the root of its drive");
	return 0;
}

static int fail_short(struct str name, struct err *e)
{
	char shown[128];

	return FAIL_CAUSE(
		e, CAUSE_BAD_PATH,
		"'%s' looks like a short name (8.3), and which file has it can't be told; "
		"write the long name",
		utf8_show(name, shown, sizeof(shown)));
}

int view_asked(struct arena *a, const struct view *view, struct str text, struct str *out,
	       struct err *e)
{
	struct str name;
	size_t at = 0;

	/* What ~ stands for is in Cordon's form already. */
	if (view->system != PLACES_WINDOWS || windows_is_path(text)) {
		if (view->system != PLACES_WINDOWS)
			return view_path(a, view->system, view->cwd, text, out, e);
		if (windows_show(a, text, &text, e) < 0)
			return err_result(e);
	}
	if (windows_path(a, view->cwd, text, WINDOWS_ASKED, out, e) < 0)
		return err_result(e);
	while (path_next(*out, &at, &name))
		if (windows_is_short(name) && !view_find(view, str_first(*out, at)))
			return fail_short(name, e);
	return 0;
}

const char *view_system_name(enum places_system system)
{
	static const char *const words[] = {
		[PLACES_LINUX] = "linux",
		[PLACES_MACOS] = "macos",
		[PLACES_WINDOWS] = "windows",
	};

	return words[system];
}

/* ---- The tree ---------------------------------------------------------------------------- */

static struct view_file *find_child(const struct view *view, const struct view_file *dir,
				    struct str name)
{
	UNINITIALIZED char room[FOLD_ROOM];

	if (view->folds && view->system == PLACES_WINDOWS)
		name = upcase_in(name, room);
	else if (view->folds)
		name = fold_in(name, room);
	return (struct view_file *)(void *)name_tree_find(dir->children, name);
}

static struct view_file *add_child(struct view *view, struct view_file *dir, struct str name,
				   struct err *e)
{
	struct view_file *file = ARENA_NEW(view->a, struct view_file, e);

	if (!file || arena_copy(view->a, name, &file->name, e) < 0)
		return NULL;
	file->node.name = file->name;
	if (view->folds && (view->system == PLACES_WINDOWS ? upcase_copy : fold_copy)(
				   view->a, name, &file->node.name, e) < 0)
		return NULL;
	file->parent = dir;
	file->inode = ++view->last_inode;
	name_tree_add(&dir->children, &file->node);
	if (dir->last)
		dir->last->next = file;
	else
		dir->first = file;
	dir->last = file;
	return file;
}

const struct view_file *view_find(const struct view *view, struct str path)
{
	const struct view_file *file = &view->root;
	struct str name;
	size_t at = 0;

	while (file && path_next(path, &at, &name))
		file = file->kind == VIEW_DIR ? find_child(view, file, name) : NULL;
	return file;
}

static struct view_file *fail_taken(struct str path, struct err *e)
{
	char shown[256];

	(void)FAIL_CAUSE(e, CAUSE_HOST_VIEW,
			 "'%s' is already listed, or lies below what is no directory",
			 utf8_show(path, shown, sizeof(shown)));
	return NULL;
}

struct view_file *view_add(struct view *view, struct str path, enum view_kind kind, struct err *e)
{
	struct view_file *file = &view->root;
	struct str name;
	size_t at = 0;

	while (path_next(path, &at, &name)) {
		struct view_file *child = find_child(view, file, name);

		if (file->kind != VIEW_DIR)
			return fail_taken(path, e);
		if (!child)
			child = add_child(view, file, name, e);
		if (!child)
			return NULL;
		file = child;
	}
	if (file->is_listed || (file->first && kind != VIEW_DIR))
		return fail_taken(path, e);
	file->kind = kind;
	file->is_listed = true;
	/* The spelling of the entry itself counts, not that of one for what lies below. */
	if (file->parent && arena_copy(view->a, path_name(path), &file->name, e) < 0)
		return NULL;
	return file;
}

/* ---- The questions of plan/host.h -------------------------------------------------------------- */

static enum host_type type_of(enum view_kind kind)
{
	static const enum host_type types[] = {
		[VIEW_DIR] = HOST_DIR,	  [VIEW_FILE] = HOST_FILE,    [VIEW_SOCKET] = HOST_OTHER,
		[VIEW_FIFO] = HOST_OTHER, [VIEW_DEVICE] = HOST_OTHER, [VIEW_LINK] = HOST_LINK,
	};

	return types[kind];
}

/* Every Mac has them, whether or not they are listed, and never as anything else. */
static bool look_at_firmlink(struct str path, struct host_file *out)
{
	bool is_link = firmlink_target(path).len > 0;

	if (!is_link && !firmlink_is_above(path))
		return false;
	/* Of nothing else: a listed file has a small number. */
	out->device = 2;
	out->inode = 1;
	for (size_t i = 0; i < path.len; i++)
		out->inode = out->inode * 31 + (unsigned char)ascii_lower(path.p[i]);
	out->type = is_link ? HOST_LINK : HOST_DIR;
	return true;
}

static int look(void *user, struct str path, struct host_file *out, struct err *e)
{
	const struct view *view = user;
	const struct view_file *file = view_find(view, path);

	*out = (struct host_file){ .type = HOST_MISSING, .name = STR_EMPTY };
	if (view->system == PLACES_MACOS && look_at_firmlink(path, out))
		return 0;
	if (file) {
		*out = (struct host_file){ .type = type_of(file->kind),
					   .device = 1,
					   .inode = file->inode,
					   .inherits_nothing = file->is_protected,
					   .has_own_list = file->acl.count > 0,
					   .name = file->name };
		return 0;
	}
	if (view->system != PLACES_WINDOWS || path.len == 1)
		return 0;
	return windows_is_short(path_name(path)) ? fail_short(path_name(path), e) : 0;
}

static int read_text(void *user, struct str path, enum view_kind kind, struct buf *out,
		     struct err *e)
{
	const struct view_file *file = view_find(user, path);

	if (!file || file->kind != kind)
		return FAIL_SYS(e, file ? EINVAL : ENOENT, "%.*s", STR_ARG(path));
	buf_add(out, file->text);
	return buf_check(out, e);
}

static int read_link(void *user, struct str path, struct buf *out, struct err *e)
{
	const struct view *view = user;
	struct str target = view->system == PLACES_MACOS ? firmlink_target(path) : STR_EMPTY;

	if (target.len) {
		buf_add(out, target);
		return buf_check(out, e);
	}
	return read_text(user, path, VIEW_LINK, out, e);
}

static int read_file(void *user, struct str path, struct buf *out, struct err *e)
{
	return read_text(user, path, VIEW_FILE, out, e);
}

static int list(void *user, struct str path,
		int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		void *arg, struct err *e)
{
	const struct view_file *dir = view_find(user, path);

	if (!dir || dir->kind != VIEW_DIR)
		return FAIL_SYS(e, dir ? ENOTDIR : ENOENT, "%.*s", STR_ARG(path));
	for (const struct view_file *file = dir->first; file; file = file->next) {
		int r = each(arg, file->name, type_of(file->kind), e);

		if (r)
			return r;
	}
	return 0;
}

void view_init(struct view *view, struct arena *a)
{
	*view = (struct view){ .a = a,
			       .home = STR_EMPTY,
			       .cwd = STR_EMPTY,
			       .tmpdir = STR_EMPTY,
			       .program = STR_EMPTY,
			       .root = { .kind = VIEW_DIR, .inode = 1, .name = STR_EMPTY },
			       .last_inode = 1 };
	view->host = (struct host){ .user = view,
				    .look = look,
				    .read_link = read_link,
				    .read_file = read_file,
				    .list = list };
}
