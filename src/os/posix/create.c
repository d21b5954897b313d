/* SPDX-License-Identifier: MIT */
/*
 * Creates a file atomically: writes it under a temporary name in the same directory, and then moves
 * it into place with one system call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/posix/native.h"
#include "os/posix/path.h"
#include "os/write_signals.h"

enum { TEMPORARY_TRIES = 100 };

int os_make_parents(struct str path, struct err *e)
{
	size_t at = 0;
	struct str name;

	while (path_next(path, &at, &name) && at < path.len) {
		struct c_path dir;
		struct shown shown;

		if (c_path_init(&dir, str_first(path, at), e) < 0)
			return err_result(e);
		if (mkdir(dir.text, 0700) < 0 && errno != EEXIST && errno != EROFS &&
		    errno != EACCES)
			return FAIL_SYS(e, errno, "can't make the directory '%s'",
					show_path(&shown, str_first(path, at)));
		/*
		 * EROFS, EACCES: the directory may exist all the same; creating the file will show.
		 */
	}
	return 0;
}

int write_synced(int fd, struct str text)
{
	struct os_write_signals signals;
	size_t done = 0;
	ssize_t n = 0;

	os_write_signals_block(&signals);
	while (done < text.len && (n >= 0 || errno == EINTR)) {
		n = write(fd, text.p + done, text.len - done);
		if (n > 0)
			done += (size_t)n;
	}
	os_write_signals_restore(&signals);
	return done < text.len ? -1 : fsync(fd);
}

/* Makes a temporary file in the directory of `path`: "config.toml.new7". */
static int open_temporary(struct str path, struct c_path *name, struct err *e)
{
	struct shown shown;

	for (int i = 0; i < TEMPORARY_TRIES; i++) {
		int n = snprintf(name->text, sizeof(name->text), "%.*s.new%d", (int)path.len,
				 path.p, i);
		int fd;

		if (n < 0 || (size_t)n >= sizeof(name->text))
			return FAIL(e, ERR_LIMIT, "the path '%s' is too long",
				    show_path(&shown, path));
		fd = open(name->text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			break;
	}
	return FAIL_SYS(e, errno, "can't create '%s'", show_path(&shown, path));
}

static int put_in_place(const char *temporary, const char *place, bool replaces)
{
	int r = native_rename(AT_FDCWD, temporary, place, replaces ? RENAME_ANYWAY : RENAME_FRESH);

	if (r != -ENOSYS) {
		errno = -r;
		return r < 0 ? -1 : 0;
	}
	/* The file system can't do that. link() refuses an existing name too. */
	if (link(temporary, place) < 0)
		return -1;
	return unlink(temporary);
}

int os_create_file(struct str path, struct str text, bool replaces, struct err *e)
{
	struct c_path place;
	struct c_path temporary;
	struct shown shown;
	scoped_fd fd = -1;

	if (c_path_init(&place, path, e) < 0 || os_make_parents(path, e) < 0)
		return err_result(e);
	fd = open_temporary(path, &temporary, e);
	if (fd < 0)
		return err_result(e);
	if (write_synced(fd, text) < 0 || put_in_place(temporary.text, place.text, replaces) < 0) {
		int error = errno;

		(void)unlink(temporary.text);
		return FAIL_SYS(e, error, "can't create '%s'", show_path(&shown, path));
	}
	return 0;
}
