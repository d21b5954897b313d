/* SPDX-License-Identifier: MIT */
/* See settings_file.h. */
#include "os/settings_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/posix/native.h"
#include "os/posix/path.h"

enum {
	NAME_ROOM = PATH_MAX_COMPONENT + 32,
	MODE_KEPT = 01777,
};

/* ---- Reading ------------------------------------------------------------------------------------ */

static int refuse(struct str path, const char *why, const char *way_out, struct err *e)
{
	struct shown shown;

	(void)FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED, "'%s' is not changed: %s",
			 show_path(&shown, path), why);
	err_add_line(e, "%s", way_out);
	return err_result(e);
}

static int check_directory(struct str path, struct err *e)
{
	struct c_path name;
	struct stat st;

	if (c_path_init(&name, path, e) < 0)
		return err_result(e);
	if (stat(name.text, &st) < 0 && errno == ENOENT && path.len > 1)
		return check_directory(path_parent(path), e);
	if (stat(name.text, &st) < 0 || !S_ISDIR(st.st_mode))
		return refuse(path, "it is not a directory", "move it away", e);
	if (st.st_uid != geteuid())
		return refuse(path, "the directory belongs to another user",
			      "run this as the user whose settings they are", e);
	return 0;
}

static int check_file(struct str path, const struct stat *st, struct err *e)
{
	if (!S_ISREG(st->st_mode))
		return refuse(path, "it is not a regular file", "move it away", e);
	if (st->st_uid != geteuid())
		return refuse(path, "it belongs to another user",
			      "make the change where that file is made", e);
	if (!(st->st_mode & S_IWUSR))
		return refuse(path, "it is read-only",
			      "make the change where that file is made, or allow it with chmod u+w",
			      e);
	if (st->st_nlink > 1)
		return refuse(path,
			      "it has a second name (a hard link), which would keep the old text",
			      "replace it with a copy", e);
	return 0;
}

static int find_real(struct arena *a, struct str path, bool follows, struct str *out, struct err *e)
{
	char real[PATH_MAX_BYTES];
	struct c_path name;
	struct stat st;

	*out = path;
	if (c_path_init(&name, path, e) < 0)
		return err_result(e);
	if (lstat(name.text, &st) < 0)
		return 0;
	if (S_ISLNK(st.st_mode) && !follows)
		return refuse(path, "it is a symbolic link, which is not followed here",
			      "make the change in the file that it leads to", e);
	if (!realpath(name.text, real))
		return refuse(path, "it is a symbolic link that leads nowhere",
			      "put back what it leads to, or remove the link", e);
	return arena_copy(a, str_of(real), out, e);
}

int os_settings_read(struct arena *a, struct str path, bool follows, size_t max_bytes,
		     struct os_settings *out, struct err *e)
{
	struct os_settings found = { .text = STR_EMPTY };
	struct os_seen seen;
	struct c_path name;
	struct stat st;

	if (find_real(a, path, follows, &found.path, e) < 0 ||
	    os_read_file(a, found.path, max_bytes, &found.text, &seen, e) < 0 ||
	    check_directory(path_parent(found.path), e) < 0 ||
	    c_path_init(&name, found.path, e) < 0)
		return err_result(e);
	if (!seen.is_there) {
		*out = found;
		return 0;
	}
	if (lstat(name.text, &st) < 0)
		return FAIL_SYS(e, errno, "can't look at '%s'", name.text);
	if (check_file(found.path, &st, e) < 0)
		return err_result(e);
	found.is_there = true;
	found.mode = st.st_mode & MODE_KEPT;
	*out = found;
	return 0;
}

/* ---- The new file ---------------------------------------------------------------------------------- */

struct place {
	int directory;
	struct shown shown;
	char name[NAME_ROOM], temporary[NAME_ROOM];
};

#define scoped_place SCOPED(place_done) struct place

static void place_done(struct place *p)
{
	fd_close(&p->directory);
}

static int place_init(struct str path, struct place *out, struct err *e)
{
	struct str name = path_name(path);
	struct c_path directory;

	out->directory = -1;
	(void)show_path(&out->shown, path);
	if (c_path_init(&directory, path_parent(path), e) < 0)
		return err_result(e);
	if (name.len > PATH_MAX_COMPONENT - 16)
		return FAIL(e, ERR_LIMIT, "the name of '%s' is too long", out->shown.text);
	(void)snprintf(out->name, sizeof(out->name), "%.*s", (int)name.len, name.p);
	(void)snprintf(out->temporary, sizeof(out->temporary), ".%.*s.cordon-new", (int)name.len,
		       name.p);
	out->directory = open(directory.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->directory < 0)
		return FAIL_SYS(e, errno, "can't open the directory of '%s'", out->shown.text);
	/* What a killed process has left. */
	if (unlinkat(out->directory, out->temporary, 0) < 0 && errno != ENOENT)
		return FAIL_SYS(e, errno, "can't write in the directory of '%s'", out->shown.text);
	return 0;
}

static int take_over(const struct place *p, int to, struct err *e)
{
	scoped_fd from = openat(p->directory, p->name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0)
		return FAIL_SYS(e, errno, "can't look at '%s'", p->shown.text);
	if (fchown(to, st.st_uid, st.st_gid) < 0 || !native_copy_attributes(from, to) ||
	    fchmod(to, st.st_mode & MODE_KEPT) < 0)
		return FAIL(e, ERR_POLICY,
			    "'%s' is not changed: its group or attributes can't be kept",
			    p->shown.text);
	return 0;
}

static int write_new(const struct place *p, const struct os_settings *was, struct str text,
		     uint32_t mode, struct err *e)
{
	scoped_fd fd = openat(p->directory, p->temporary,
			      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return FAIL_SYS(e, errno, "can't write in the directory of '%s'", p->shown.text);
	if (was->is_there && take_over(p, fd, e) < 0)
		return err_result(e);
	if ((!was->is_there && fchmod(fd, (mode_t)mode) < 0) || write_synced(fd, text) < 0)
		return FAIL_SYS(e, errno, "can't write '%s'", p->shown.text);
	return 0;
}

/* ---- Taking its place ------------------------------------------------------------------------------- */

static int rename_as(const struct place *p, const char *from, const char *to,
		     enum native_rename how)
{
	return native_rename(p->directory, from, to, how);
}

/* Whether that file has the text that was read. */
static bool has_text(const struct place *p, const char *name, const struct os_settings *was)
{
	scoped_fd fd = openat(p->directory, name,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char part[4096];
	struct stat st;
	size_t at = 0;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_mode & MODE_KEPT) != was->mode)
		return false;
	for (;;) {
		ssize_t n = read(fd, part, sizeof(part));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 && at == was->text.len;
		if ((size_t)n > was->text.len - at || memcmp(part, was->text.p + at, (size_t)n))
			return false;
		at += (size_t)n;
	}
}

static int fail_changed(const struct place *p, struct err *e)
{
	return FAIL_CAUSE(e, CAUSE_FILE_CHANGED,
			  "'%s' was changed by another program meanwhile, and is left as it is",
			  p->shown.text);
}

/*
 * Both change places in one step, so that what was there can be looked at when nobody can replace it any
 * more. Where the file system can't, there is a moment between look and step.
 */
static int exchange(const struct place *p, const struct os_settings *was, struct err *e)
{
	int r = rename_as(p, p->temporary, p->name, RENAME_BOTH);

	if (r == -ENOSYS) {
		if (!has_text(p, p->name, was))
			return fail_changed(p, e);
		r = rename_as(p, p->temporary, p->name, RENAME_ANYWAY);
	} else if (r == 0 && !has_text(p, p->temporary, was)) {
		r = rename_as(p, p->temporary, p->name, RENAME_BOTH);
		return r < 0 ? FAIL_SYS(e, -r, "can't put '%s' back", p->shown.text)
			     : fail_changed(p, e);
	}
	if (r == -ENOENT)
		return fail_changed(p, e);
	return r < 0 ? FAIL_SYS(e, -r, "can't replace '%s'", p->shown.text) : 0;
}

/* Where no file is. */
static int put(const struct place *p, struct err *e)
{
	int r = rename_as(p, p->temporary, p->name, RENAME_FRESH);

	if (r == -ENOSYS)
		r = linkat(p->directory, p->temporary, p->directory, p->name, RENAME_ANYWAY) < 0
			    ? -errno
			    : 0;
	if (r == -EEXIST)
		return fail_changed(p, e);
	return r < 0 ? FAIL_SYS(e, -r, "can't create '%s'", p->shown.text) : 0;
}

int os_settings_replace(const struct os_settings *was, struct str text, uint32_t mode,
			struct err *e)
{
	scoped_place p;
	int r;

	if (place_init(was->path, &p, e) < 0)
		return err_result(e);
	r = write_new(&p, was, text, mode, e);
	if (r == 0)
		r = was->is_there ? exchange(&p, was, e) : put(&p, e);
	(void)unlinkat(p.directory, p.temporary, 0);
	if (r == 0 && fsync(p.directory) < 0)
		return FAIL_SYS(e, errno, "can't write '%s'", p.shown.text);
	return r;
}

int os_settings_remove(const struct os_settings *was, struct err *e)
{
	scoped_place p;
	int r;

	if (place_init(was->path, &p, e) < 0)
		return err_result(e);
	r = rename_as(&p, p.name, p.temporary, RENAME_ANYWAY);
	if (r < 0)
		return FAIL_SYS(e, -r, "can't remove '%s'", p.shown.text);
	if (!has_text(&p, p.temporary, was)) {
		r = rename_as(&p, p.temporary, p.name, RENAME_ANYWAY);
		return r < 0 ? FAIL_SYS(e, -r, "can't put '%s' back", p.shown.text)
			     : fail_changed(&p, e);
	}
	(void)unlinkat(p.directory, p.temporary, 0);
	if (fsync(p.directory) < 0)
		return FAIL_SYS(e, errno, "can't remove '%s'", p.shown.text);
	return 0;
}

void os_settings_drop_leftover(struct str path)
{
	struct err ignored = ERR_INIT;
	scoped_place p;

	/* That is how each place begins. */
	(void)!place_init(path, &p, &ignored);
}

/* ---- Directories -------------------------------------------------------------------------------------- */

int os_settings_make_directory(struct str path, uint32_t mode, struct err *e)
{
	struct c_path name;
	struct shown shown;

	if (c_path_init(&name, path, e) < 0)
		return err_result(e);
	if (mkdir(name.text, 0700) < 0) {
		if (errno == EEXIST)
			return 0;
		return FAIL_SYS(e, errno, "can't make the directory '%s'", show_path(&shown, path));
	}
	/* What the umask has taken away. */
	if (chmod(name.text, (mode_t)mode) < 0)
		return FAIL_SYS(e, errno, "can't make the directory '%s'", show_path(&shown, path));
	return 0;
}

void os_settings_drop_directory(struct str path)
{
	struct err ignored = ERR_INIT;
	struct c_path name;

	if (c_path_init(&name, path, &ignored) == 0)
		(void)rmdir(name.text);
}
