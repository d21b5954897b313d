/* SPDX-License-Identifier: MIT */
/*
 * Reads whole files. Half of a policy is another policy, so this refuses a file whose size changes
 * while it is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/posix/native.h"
#include "os/posix/path.h"

enum {
	/* O_NONBLOCK: opening a fifo must not wait for a writer. */
	OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
};

/*
 * SECURITY: report "no such file" only if nothing is there. If a policy lies behind a dangling
 * link, or below something that is not a directory, somebody meant to have it, and skipping it
 * would lose its denies. 0 if a name on the way does not exist at all; else an error that names
 * what is there instead.
 */
static int check_missing(struct str path, struct err *e)
{
	struct c_path name;
	struct shown file, at;
	struct str component;
	size_t next = 0;

	while (path_next(path, &next, &component)) {
		struct str so_far = { path.p, (size_t)(component.p + component.len - path.p) };
		struct stat st;

		if (c_path_init(&name, so_far, e) < 0)
			return err_result(e);
		if (lstat(name.text, &st) < 0) {
			if (errno == ENOENT)
				return 0;
			return FAIL_SYS(e, errno, "can't tell whether there is a file '%s'",
					show_path(&file, path));
		}
		if (S_ISLNK(st.st_mode) && stat(name.text, &st) < 0)
			return FAIL(e, ERR_POLICY,
				    "can't read '%s': '%s' is a symbolic link that leads nowhere; "
				    "put back what it leads to, or remove the link",
				    show_path(&file, path), show_path(&at, so_far));
		if (so_far.len < path.len && !S_ISDIR(st.st_mode))
			return FAIL(e, ERR_POLICY,
				    "can't read '%s': '%s' is not a directory; make it one, or "
				    "remove it",
				    show_path(&file, path), show_path(&at, so_far));
	}
	return FAIL(e, ERR_POLICY, "'%s' appeared while it was looked for; try again",
		    show_path(&file, path));
}

static int fail_open(struct str path, int error, struct err *e)
{
	static const char text[] = "can't open '%s'; make it readable, or remove it";
	struct shown shown;

	/* The others are about this process or the host, not about the file. */
	if (error == EACCES || error == EPERM)
		return FAIL_SYS_CAUSE(e, CAUSE_FILE_UNREADABLE, error, text,
				      show_path(&shown, path));
	return FAIL_SYS(e, error, text, show_path(&shown, path));
}

static bool says_missing(int error)
{
	return error == ENOENT || error == ENOTDIR;
}

/* Reads as many bytes as there are, up to `size`. */
static ssize_t read_all(int fd, char *to, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = read(fd, to + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

static int read_fd(struct arena *a, int fd, struct str path, size_t max_bytes, struct str *out,
		   struct os_seen *seen, struct err *e)
{
	struct shown shown;
	struct stat st;
	ssize_t got;
	size_t size;
	char *text;

	if (fstat(fd, &st) < 0)
		return FAIL_SYS_CAUSE(e, CAUSE_FILE_UNREADABLE, errno, "can't read '%s'",
				      show_path(&shown, path));
	/* Users write /dev/null for "no configuration". It counts as an empty file. */
	if (native_is_null(&st)) {
		if (arena_copy(a, STR_EMPTY, out, e) < 0)
			return err_result(e);
		*seen = (struct os_seen){ .is_there = true };
		return 0;
	}
	if (!S_ISREG(st.st_mode))
		return FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED, "'%s' is %s, not a regular file",
				  show_path(&shown, path),
				  S_ISDIR(st.st_mode) ? "a directory" : "a device, socket or fifo");
	size = (size_t)st.st_size;
	if (size > max_bytes)
		return FAIL(e, ERR_LIMIT, "'%s' has %zu bytes, the limit is %zu",
			    show_path(&shown, path), size, max_bytes);
	/* Asks for one byte more than the file's size, to see whether it has grown. */
	text = arena_alloc(a, size + 1, e);
	if (!text)
		return err_result(e);
	got = read_all(fd, text, size + 1);
	if (got < 0)
		return FAIL_SYS_CAUSE(e, CAUSE_FILE_UNREADABLE, errno, "can't read '%s'",
				      show_path(&shown, path));
	if ((size_t)got != size)
		return FAIL(e, ERR_POLICY, "'%s' changed while it was read; try again",
			    show_path(&shown, path));
	text[size] = '\0';
	*seen = (struct os_seen){ .is_there = true, .has_other_names = st.st_nlink > 1 };
	*out = (struct str){ text, size };
	return 0;
}

int os_read_file(struct arena *a, struct str path, size_t max_bytes, struct str *out,
		 struct os_seen *seen, struct err *e)
{
	struct c_path name;
	scoped_fd fd = -1;

	if (c_path_init(&name, path, e) < 0)
		return err_result(e);
	if (native_is_missing(name.text)) {
		*seen = (struct os_seen){ .is_there = false };
		return 0;
	}
	fd = openat(AT_FDCWD, name.text, OPEN_FLAGS);
	if (fd < 0 && says_missing(errno)) {
		if (check_missing(path, e) < 0)
			return err_result(e);
		*seen = (struct os_seen){ .is_there = false };
		return 0;
	}
	if (fd < 0)
		return fail_open(path, errno, e);
	if (read_fd(a, fd, path, max_bytes, out, seen, e) < 0)
		return err_result(e);
	return 0;
}

static bool is_link(int dir, const char *name)
{
	int saved = errno;
	struct stat st;
	bool found = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);

	errno = saved;
	return found;
}

/* For systems that can't tell (Linux before 5.6, and filters that forbid openat2()). */
static int open_without_links(int dir, struct str below)
{
	scoped_fd at = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	size_t next = 0;
	struct str name;

	while (at >= 0 && path_next(below, &next, &name)) {
		bool is_last = next >= below.len;
		char text[PATH_MAX_COMPONENT + 1] = "";
		int fd;

		memcpy(text, name.p, MIN_OF(name.len, sizeof(text) - 1));
		fd = openat(at, text, (is_last ? OPEN_FLAGS : native_open_directory) | O_NOFOLLOW);
		/*
		 * SECURITY: a link to a directory fails with ENOTDIR, which must not count as
		 * missing. Else a link could make a policy's denies disappear.
		 */
		if (fd < 0 && errno == ENOTDIR && is_link(at, text))
			errno = ELOOP;
		if (fd < 0 || is_last)
			return fd;
		(void)close(at);
		at = fd;
	}
	return -1;
}

static int open_beneath(int dir, struct str below)
{
	UNINITIALIZED struct c_path name;
	size_t len = MIN_OF(below.len, sizeof(name.text) - 1);
	int fd;

	memcpy(name.text, below.p, len);
	name.text[len] = '\0';
	fd = native_open_beneath(dir, name.text, OPEN_FLAGS);
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_without_links(dir, below);
	return fd;
}

int os_read_file_beneath(struct arena *a, struct str dir, struct str below, size_t max_bytes,
			 struct str *out, struct os_seen *seen, struct err *e)
{
	struct c_path name;
	struct shown shown;
	struct str whole;
	scoped_fd at = -1;
	scoped_fd fd = -1;

	if (path_join(a, dir, below, &whole, e) < 0 || c_path_init(&name, whole, e) < 0)
		return err_result(e);
	if (native_is_missing(name.text)) {
		*seen = (struct os_seen){ .is_there = false };
		return 0;
	}
	if (c_path_init(&name, dir, e) < 0)
		return err_result(e);
	at = openat(AT_FDCWD, name.text, native_open_directory);
	if (at >= 0)
		fd = open_beneath(at, below);
	if (fd < 0 && says_missing(errno)) {
		if (check_missing(whole, e) < 0)
			return err_result(e);
		*seen = (struct os_seen){ .is_there = false };
		return 0;
	}
	if (fd < 0 && (errno == EXDEV || errno == ELOOP))
		return FAIL(e, ERR_POLICY,
			    "'%s' is reached by a symbolic link that loops or leaves that "
			    "directory; put the file itself there, or remove the link",
			    show_path(&shown, whole));
	if (fd < 0)
		return fail_open(whole, errno, e);
	if (read_fd(a, fd, whole, max_bytes, out, seen, e) < 0)
		return err_result(e);
	return 0;
}

int os_read_input(struct arena *a, size_t max_bytes, struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(max_bytes);
	char block[16 << 10];

	for (;;) {
		ssize_t got = read_all(STDIN_FILENO, block, sizeof(block));

		if (got < 0)
			return FAIL_SYS(e, errno, "can't read the standard input");
		buf_add(&text, (struct str){ block, (size_t)got });
		if (text.failed == ERR_LIMIT)
			return FAIL(e, ERR_LIMIT,
				    "the standard input has more bytes than the limit of %zu",
				    max_bytes);
		if (buf_check(&text, e) < 0)
			return err_result(e);
		if ((size_t)got < sizeof(block))
			return arena_copy(a, buf_str(&text), out, e);
	}
}
