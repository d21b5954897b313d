/* SPDX-License-Identifier: MIT */
/*
 * See way.h. A sandbox of Seatbelt lets every directory be looked at but not opened, so the walk is by paths (lstat(),
 * readlink()). SECURITY: nothing rests on what it finds. The file is opened by the path that was judged, with
 * O_NOFOLLOW_ANY, by which the kernel refuses a link anywhere in it; the open file is compared with what was found,
 * and where the kernel says that it lies (F_GETPATH) is judged again.
 */
#include "tools/posix/way.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/firmlink.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "os/kernel_file.h"
#include "os/os.h"
#include "os/posix/native.h"
#include "tools/posix/native.h"

#define SHOWN(s) utf8_show((s), (char[WAY_SHOWN_BYTES]){ 0 }, WAY_SHOWN_BYTES)

bool way_is_of_kernel(const struct way *w)
{
	return tools_is_of_kernel(w->path.p);
}

int way_open(int directory, const char *path, enum way_open how)
{
	const int flags = how == WAY_TO_READ ? O_NONBLOCK | O_NOCTTY : O_DIRECTORY;

	return tools_open_plain(directory, path, O_RDONLY | O_CLOEXEC | flags);
}

int way_look(const char *path)
{
	struct file_facts facts;

	return open_look_at(AT_FDCWD, path, &facts);
}

int way_ask_back(struct call *call, int fd, struct str path, struct str *out, struct err *e)
{
	char text[PATH_MAX_BYTES];
	ssize_t n = native_fd_path(fd, text, sizeof(text));
	struct str found = { text, n > 0 ? (size_t)n : 0 };

	/* SECURITY: between two looks at a path another file may be there. */
	if (os_is_of_kernel(fd))
		return call_refuse(call, REFUSAL_CONFLICT, "'%s' was replaced while it was opened",
				   SHOWN(path));
	if (n <= 0 || found.len >= sizeof(text))
		return call_refuse(call, REFUSAL_CONFLICT, "'%s' was removed while it was opened",
				   SHOWN(path));
	if (str_eq(found, path)) {
		*out = path;
		return 0;
	}
	return arena_copy(call->a, found, out, e);
}

/* ---- Where a path leads -------------------------------------------------------------------------- */

static int follow(struct way *w, struct str link, struct str name, struct err *e)
{
	char text[PATH_MAX_BYTES];
	bool is_absolute = false;
	ssize_t length = native_read_link(link.p, text, sizeof(text));
	int r;

	if (length <= 0 || (size_t)length >= sizeof(text))
		return way_give_up(w, name, length < 0 ? errno : ENAMETOOLONG, e);
	r = way_follow(w, name, (struct str){ text, (size_t)length }, &is_absolute, e);
	if (r == 0 && is_absolute)
		w->path = STR("/");
	return r;
}

/* What is there is called by the name that it has in its directory: rules are about that. */
static int name_truly(struct way *w, struct str path, struct str *out, struct err *e)
{
	char room[PATH_MAX_COMPONENT * 3 + 1];
	struct str name = os_true_name(path, room, sizeof(room));

	*out = path;
	if (!name.len || str_eq(name, path_name(path)))
		return 0;
	return path_join(w->call->a, w->path, name, out, e);
}

static int enter(struct way *w, struct str name, struct err *e)
{
	struct file_facts facts;
	struct str path;
	int r;

	if (name.len > PATH_MAX_COMPONENT)
		return call_refuse(w->call, REFUSAL_INVALID, "a name in the path is too long");
	if (path_join(w->call->a, w->path, name, &path, e) < 0)
		return err_result(e);
	r = open_look_at(AT_FDCWD, path.p, &facts);
	if (r == 0 && name_truly(w, path, &path, e) < 0)
		return err_result(e);
	if (r < 0)
		return way_give_up(w, name, -r, e);
	if (facts.type == FILE_LINK || firmlink_target(path).len)
		return follow(w, path, name, e);
	w->path = path;
	w->facts = facts;
	return 0;
}

static int go_up(struct way *w, struct str name, struct err *e)
{
	struct file_facts here;
	int r = open_look_at(AT_FDCWD, w->path.p, &here);

	/* A file has no "..". */
	if (r == 0 && here.type != FILE_DIRECTORY)
		r = -ENOTDIR;
	if (r < 0)
		return way_give_up(w, name, -r, e);
	return arena_copy(w->call->a, path_parent(w->path), &w->path, e);
}

int way_find(struct way *w, struct str path, struct err *e)
{
	w->rest = path;
	w->path = STR("/");
	while (w->rest.len && !w->why) {
		struct str name = str_first(w->rest, str_find(w->rest, '/'));
		int r;

		w->rest = str_from(w->rest, name.len + 1);
		if (!name.len || str_is(name, "."))
			continue;
		r = str_is(name, "..") ? go_up(w, name, e) : enter(w, name, e);
		if (r < 0)
			return r;
	}
	if (!w->why) {
		int r = open_look_at(AT_FDCWD, w->path.p, &w->facts);

		w->is_there = r == 0;
		w->why = -r;
	}
	return 0;
}
