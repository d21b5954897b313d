/* SPDX-License-Identifier: MIT */
/* See host.h. */
#include "lib/host.h"

#include "base/utf8.h"
#include "base/windows_path.h"
#include "lib/lib.h"
#include "os/os.h"

enum {
	/* Of names remembered; a scan of a huge tree is not kept. */
	LISTED_MAX_BYTES = 1 << 20,
};

static enum host_type host_type_of(enum os_type type)
{
	switch (type) {
	case OS_MISSING:
		return HOST_MISSING;
	case OS_HIDDEN:
		return HOST_HIDDEN;
	case OS_FILE:
		return HOST_FILE;
	case OS_DIR:
		return HOST_DIR;
	case OS_LINK:
		return HOST_LINK;
	case OS_OTHER:
		break;
	}
	return HOST_OTHER;
}

/* ---- Asking the system -------------------------------------------------------------- */

/*
 * SECURITY: a short name (8.3) stands for the long one that rules are about. One that is not there may be given to
 * any file that is made later. A file that is really called so is like any other.
 */
static int refuse_short(struct str path, enum os_type type, struct err *e)
{
	char room[PATH_MAX_COMPONENT * 3 + 1], shown[128];
	struct str name = path_name(path), real;

	if (inputs_own_system() != PLACES_WINDOWS || !windows_is_short(name))
		return 0;
	real = type == OS_MISSING ? STR_EMPTY : os_true_name(path, room, sizeof(room));
	if (real.len == name.len && windows_is_short(real))
		return 0;
	return FAIL_CAUSE(e, CAUSE_BAD_PATH, "'%s' is a short name (8.3); write the long name",
			  utf8_show(name, shown, sizeof(shown)));
}

/* `has_no_dirs`: as far as the links of a directory tell. */
static int look_now(struct str path, struct host_file *out, struct err *e)
{
	struct os_file file;

	if (os_look(path, &file, e) < 0 || refuse_short(path, file.type, e) < 0)
		return err_result(e);
	/* P11: all runs, beside each other or after one that crashed, make the same plan. */
	if (file.is_placeholder)
		file = (struct os_file){ .type = OS_MISSING };
	*out = (struct host_file){ .type = host_type_of(file.type),
				   .device = file.device,
				   .inode = file.inode,
				   .is_locked = file.is_locked,
				   .is_sealed = file.is_sealed,
				   .has_no_dirs = file.has_two_links,
				   .is_others = file.is_others,
				   .is_open = file.is_open };
	return 0;
}

static int now_look(void *user, struct str path, struct host_file *out, struct err *e)
{
	(void)user;
	if (look_now(path, out, e) < 0)
		return err_result(e);
	out->has_no_dirs = false; /* whether its links tell nobody has asked */
	return 0;
}

static int now_read_link(void *user, struct str path, struct buf *out, struct err *e)
{
	(void)user;
	return os_read_link(path, out, e);
}

static int now_read_file(void *user, struct str path, struct buf *out, struct err *e)
{
	scoped_arena a = ARENA_INIT(TEXTS_MAX_BYTES);
	struct str text = STR_EMPTY;
	struct os_seen seen = { .is_there = false };
	size_t room = MIN_OF(out->max - out->len, (size_t)CONFIG_MAX_BYTES);

	(void)user;
	if (os_read_file(&a, path, room, &text, &seen, e) < 0)
		return err_result(e);
	if (!seen.is_there)
		return FAIL(e, ERR_NOTFOUND, "'%.*s' no longer exists", STR_ARG(path));
	buf_add(out, text);
	return buf_check(out, e);
}

struct listing {
	int (*each)(void *arg, struct str name, enum host_type type, struct err *e);
	void *arg;
};

static int list_one(void *arg, struct str name, enum os_type type, struct err *e)
{
	const struct listing *listing = arg;

	return listing->each(listing->arg, name, host_type_of(type), e);
}

static int now_list(void *user, struct str path,
		    int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		    void *arg, struct err *e)
{
	struct listing listing = { .each = each, .arg = arg };

	(void)user;
	return os_list(path, list_one, &listing, e);
}

const struct host *host_now(void)
{
	static const struct host posix = { .look = now_look,
					   .read_link = now_read_link,
					   .read_file = now_read_file,
					   .list = now_list };
	static const struct host windows = { .look = now_look,
					     .read_link = now_read_link,
					     .read_file = now_read_file,
					     .list = now_list,
					     .folds = true,
					     .has_table = true,
					     .has_drives = true };

	return inputs_own_system() == PLACES_WINDOWS ? &windows : &posix;
}

/* ---- Remembering --------------------------------------------------------------------- */

typedef VEC(struct host_name) listed_names;

struct seen {
	struct name_node by_path; /* first, so that one can be cast to the other */
	struct host_file file;
	listed_names names;
	struct stamp stamp; /* of the directory when these were its names */
	struct str text;    /* of a file or a link */
	bool has_file, has_names, has_text;
};

/* What is known about `path`; NULL when nothing is and nothing may be added, or on failure. */
static int find_seen(struct host_view *view, struct str path, struct seen **out, struct err *e)
{
	struct seen *seen = (struct seen *)(void *)name_tree_find(view->files, path);

	*out = seen;
	if (seen || view->is_frozen)
		return 0;
	seen = ARENA_NEW(view->a, struct seen, e);
	if (!seen || arena_copy(view->a, path, &seen->by_path.name, e) < 0)
		return err_result(e);
	name_tree_add(&view->files, &seen->by_path);
	*out = seen;
	return 0;
}

/* Where names fold, what the file is called: rules are about that name. */
static int find_name(struct host_view *view, struct str path, struct host_file *out, struct err *e)
{
	char room[PATH_MAX_COMPONENT * 3 + 1];

	if (!view->folds || view->is_frozen || out->type == HOST_MISSING)
		return 0;
	return arena_copy(view->a, os_true_name(path, room, sizeof(room)), &out->name, e);
}

static bool has_no_dirs(struct host_view *view, struct str path, uint64_t device)
{
	if (view->is_frozen)
		return false;
	if (view->links_device != device) {
		view->links_device = device;
		view->links_count_dirs = os_links_count_dirs(path);
	}
	return view->links_count_dirs;
}

static int view_look(void *user, struct str path, struct host_file *out, struct err *e)
{
	struct host_view *view = user;
	struct seen *seen;

	if (find_seen(view, path, &seen, e) < 0)
		return err_result(e);
	if (seen && seen->has_file) {
		*out = seen->file;
		return 0;
	}
	if (look_now(path, out, e) < 0 || find_name(view, path, out, e) < 0)
		return err_result(e);
	out->has_no_dirs = out->has_no_dirs && has_no_dirs(view, path, out->device);
	if (seen && !view->is_frozen) {
		seen->file = *out;
		seen->has_file = true;
	}
	return 0;
}

/* A path is a file or a link, so one text serves both. */
static int read_seen(struct host_view *view, struct str path, struct buf *out,
		     int (*read)(void *user, struct str path, struct buf *out, struct err *e),
		     struct err *e)
{
	size_t start = out->len;
	struct seen *seen;

	if (find_seen(view, path, &seen, e) < 0)
		return err_result(e);
	if (seen && seen->has_text) {
		buf_add(out, seen->text);
		return buf_check(out, e);
	}
	if (read(NULL, path, out, e) < 0)
		return err_result(e);
	if (!seen || view->is_frozen)
		return 0;
	if (arena_copy(view->a, str_from(buf_str(out), start), &seen->text, e) < 0)
		return err_result(e);
	seen->has_text = true;
	return 0;
}

static int view_read_link(void *user, struct str path, struct buf *out, struct err *e)
{
	return read_seen(user, path, out, now_read_link, e);
}

static int view_read_file(void *user, struct str path, struct buf *out, struct err *e)
{
	return read_seen(user, path, out, now_read_file, e);
}

/* Hands names on and keeps them, as long as there is room. */
struct keeping {
	struct host_view *view;
	listed_names names;
	bool is_whole;
	struct listing to;
};

static int keep_one(void *arg, struct str name, enum os_type type, struct err *e)
{
	struct keeping *k = arg;
	struct host_name listed = { .type = host_type_of(type) };

	if (k->is_whole) {
		struct host_name *kept = VEC_PUSH(k->view->a, &k->names, e);

		if (!kept || arena_copy(k->view->a, name, &listed.name, e) < 0)
			return err_result(e);
		*kept = listed;
		k->view->listed_bytes += sizeof(listed) + name.len;
		k->is_whole = k->view->listed_bytes < LISTED_MAX_BYTES;
	}
	return k->to.each(k->to.arg, name, listed.type, e);
}

static int view_list(void *user, struct str path,
		     int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		     void *arg, struct err *e)
{
	struct host_view *view = user;
	struct keeping k = { .view = view, .to = { .each = each, .arg = arg } };
	struct stamp stamp;
	struct seen *seen;
	int status;

	if (find_seen(view, path, &seen, e) < 0)
		return err_result(e);
	if (seen && seen->has_names) {
		for (size_t i = 0; i < seen->names.count; i++) {
			status = each(arg, seen->names.items[i].name, seen->names.items[i].type, e);
			if (status)
				return status;
		}
		return 0;
	}
	if (progress_tell(view->progress, path, e) < 0)
		return err_result(e);
	k.is_whole = seen && !view->is_frozen && view->listed_bytes < LISTED_MAX_BYTES;
	status = os_list_stamped(path, keep_one, &k, &view->stamp_kind, k.is_whole ? &stamp : NULL,
				 e);
	if (status == 0 && k.is_whole) {
		seen->names = k.names;
		seen->stamp = stamp;
		seen->has_names = true;
	}
	return status;
}

static bool view_recall(void *user, struct str path, struct host_listing *out)
{
	const struct host_view *view = user;
	const struct seen *seen = (const void *)name_tree_find(view->files, path);

	if (!seen || !seen->has_names || !stamp_is_known(&seen->stamp))
		return false;
	*out = (struct host_listing){ seen->stamp, seen->names.items, seen->names.count };
	return true;
}

struct host host_view_init(struct host_view *view, struct arena *a)
{
	const bool is_windows = inputs_own_system() == PLACES_WINDOWS;

	*view = (struct host_view){ .a = a, .folds = os_names_fold("/") };
	return (struct host){ .user = view,
			      .look = view_look,
			      .read_link = view_read_link,
			      .read_file = view_read_file,
			      .list = view_list,
			      .recall = view_recall,
			      .folds = view->folds,
			      .has_table = view->folds && is_windows,
			      .has_drives = is_windows };
}

void host_view_freeze(struct host_view *view)
{
	view->is_frozen = true;
}
