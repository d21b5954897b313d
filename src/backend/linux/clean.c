/* SPDX-License-Identifier: MIT */
/* P11: what runs and file tools that died all at once have left behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/path.h"
#include "linux/placeholder/placeholder.h"
#include "os/linux/mark.h"

enum {
	CLEAN_MAX_NAMES = 5000000, /* looked at in one tree */
	CLEAN_MAX_DEPTH = 200,
};

struct walk {
	struct arena *a;
	VEC(struct held) found;
	struct cleaning *out;
	struct buf path; /* of the directory that is looked at */
	dev_t device;
	size_t names;
	size_t depth;
	bool reached_limit; /* the bounds are reached: the look ends */
	bool is_partial;    /* a directory could not be opened; the others are looked into */
};

static int add_found(struct walk *w, struct str path, struct err *e)
{
	struct held *held;
	struct str copy;

	if (arena_copy(w->a, path, &copy, e) < 0)
		return err_result(e);
	held = VEC_PUSH(w->a, &w->found, e);
	if (!held)
		return err_result(e);
	*held = (struct held){ .path = copy.p, .fd = -1 };
	return 0;
}

/*
 * Who edits in a directory holds its lock, and has the file that is replaced under this name for a moment.
 * So it is removed only by who has that lock.
 */
static bool remove_edit(int dir)
{
	int file = openat(dir, EDIT_TEMPORARY, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	bool is_free = flock(dir, LOCK_EX | LOCK_NB) == 0;
	bool is_gone = is_free && (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0) &&
		       unlinkat(dir, EDIT_TEMPORARY, 0) == 0;

	if (file >= 0)
		close(file);
	if (is_free)
		(void)flock(dir, LOCK_UN);
	return is_gone;
}

static int clean_edit(struct walk *w, int dir, struct err *e)
{
	struct str *added;
	str_list *list = remove_edit(dir) ? &w->out->removed : &w->out->kept;

	added = VEC_PUSH(w->a, list, e);
	return added ? arena_copy(w->a, buf_str(&w->path), added, e) : err_result(e);
}

static int look_into(struct walk *w, int parent, const char *name, struct err *e);

static int look_at(struct walk *w, int dir, const struct dirent *entry, struct err *e)
{
	size_t before = w->path.len;
	struct stat st;
	int status = 0;

	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
		return 0;
	/* All that can be one is a directory, a file or a socket. */
	if (entry->d_type != DT_DIR && entry->d_type != DT_REG && entry->d_type != DT_SOCK &&
	    entry->d_type != DT_UNKNOWN)
		return 0;
	if (w->names++ >= CLEAN_MAX_NAMES) {
		w->reached_limit = true;
		return 0;
	}
	if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		w->is_partial |= errno != ENOENT;
		return 0;
	}
	buf_add_char(&w->path, '/');
	buf_add_text(&w->path, entry->d_name);
	if (buf_check(&w->path, e) < 0)
		return err_result(e);
	if (S_ISREG(st.st_mode) && strcmp(entry->d_name, EDIT_TEMPORARY) == 0)
		status = clean_edit(w, dir, e);
	else if (mark_of(&st) != MARK_NONE)
		status = add_found(w, buf_str(&w->path), e);
	else if (S_ISDIR(st.st_mode) && st.st_dev == w->device)
		status = look_into(w, dir, entry->d_name, e);
	w->path.len = before;
	w->path.p[before] = '\0';
	return status;
}

static int look_into(struct walk *w, int parent, const char *name, struct err *e)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct dirent *entry;
	int status = 0;
	DIR *dir;

	if (fd < 0) {
		/* What is gone, or another thing by now, hides nothing. */
		w->is_partial |= errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
		return 0;
	}
	dir = w->depth < CLEAN_MAX_DEPTH ? fdopendir(fd) : NULL;
	if (!dir) {
		w->reached_limit = true;
		close(fd);
		return 0;
	}
	w->depth++;
	while (status == 0 && !w->reached_limit && (entry = readdir(dir)) != NULL)
		status = look_at(w, fd, entry, e);
	w->depth--;
	(void)closedir(dir);
	return status;
}

static int look_below(struct walk *w, struct str root, struct err *e)
{
	struct stat st;
	struct str copy;

	if (arena_copy(w->a, root, &copy, e) < 0)
		return err_result(e);
	if (lstat(copy.p, &st) < 0)
		return 0;
	w->device = st.st_dev;
	buf_clear(&w->path);
	buf_add(&w->path, str_is(root, "/") ? STR_EMPTY : root);
	return look_into(w, AT_FDCWD, copy.p, e);
}

/* What is still there is in use, or can't be removed. */
static int sort_out(struct walk *w, struct cleaning *out, struct err *e)
{
	for (size_t i = 0; i < w->found.count; i++) {
		const char *path = w->found.items[i].path;
		bool is_gone = access(path, F_OK) < 0 && errno == ENOENT;
		struct str *added = VEC_PUSH(w->a, is_gone ? &out->removed : &out->kept, e);

		if (!added)
			return err_result(e);
		*added = str_of(path);
	}
	return 0;
}

static bool was_found(const struct walk *w, struct str path)
{
	for (size_t i = 0; i < w->found.count; i++)
		if (str_is(path, w->found.items[i].path))
			return true;
	return false;
}

/* Where the plan wants one, which may lie outside of every root. */
static int look_at_wanted(struct walk *w, const struct plan *plan, struct err *e)
{
	for (size_t i = 0; i < plan->placeholders.count; i++) {
		struct str path = plan->placeholders.items[i].path;
		struct str copy;
		struct stat st;

		if (arena_copy(w->a, path, &copy, e) < 0)
			return err_result(e);
		if (was_found(w, path) || lstat(copy.p, &st) < 0 || mark_of(&st) == MARK_NONE)
			continue;
		if (add_found(w, path, e) < 0)
			return err_result(e);
	}
	return 0;
}

int backend_clean(struct arena *a, const struct plan *plan, const struct str *roots, size_t count,
		  struct cleaning *out, struct err *e)
{
	struct walk w = { .a = a, .path = BUF_INIT((size_t)64 * PATH_MAX_BYTES), .out = out };
	struct placeholders held;
	int status = 0;

	for (size_t i = 0; i < count && status == 0; i++)
		status = look_below(&w, roots[i], e);
	buf_done(&w.path);
	if (status < 0 || look_at_wanted(&w, plan, e) < 0)
		return err_result(e);
	held = (struct placeholders){ .items = w.found.items, .count = w.found.count };
	placeholders_reclaim(&held);
	out->is_incomplete = w.reached_limit || w.is_partial;
	return sort_out(&w, out, e);
}
