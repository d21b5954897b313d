/* SPDX-License-Identifier: MIT */
/* Examines files without opening them. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/posix/native.h"
#include "os/posix/path.h"

/*
 * If the mode does not forbid it, something keeps the owner out that chmod can't change: another
 * user's FUSE mount, or a security module.
 */
static bool is_locked(const struct stat *st)
{
	uint32_t wanted = S_ISDIR(st->st_mode) ? S_IRUSR | S_IXUSR : S_IRUSR;

	return (st->st_mode & wanted) != wanted && st->st_uid == geteuid();
}

/* Checks the mode first: most directories are writable, which saves a system call. */
static bool is_sealed(const char *path, const struct stat *st)
{
	return S_ISDIR(st->st_mode) && !(st->st_mode & S_IWUSR) && st->st_uid == geteuid() &&
	       faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 && errno == EACCES;
}

int os_look(struct str path, struct os_file *out, struct err *e)
{
	UNINITIALIZED struct c_path name;
	UNINITIALIZED struct shown shown;
	struct stat st;
	bool is_placeholder;

	if (c_path_init(&name, path, e) < 0)
		return err_result(e);
	if (native_look(name.text, &st, &is_placeholder) == 0) {
		*out = (struct os_file){ .type = type_of_mode(st.st_mode),
					 .device = (uint64_t)st.st_dev,
					 .inode = st.st_ino,
					 .is_locked = is_locked(&st),
					 .is_sealed = is_sealed(name.text, &st),
					 .is_others = st.st_uid != geteuid(),
					 .is_open = (st.st_mode & S_IWOTH) != 0,
					 .is_socket = S_ISSOCK(st.st_mode),
					 .has_two_links = S_ISDIR(st.st_mode) && st.st_nlink == 2,
					 .is_placeholder = is_placeholder };
		return 0;
	}
	switch (errno) {
	case ENOENT:
	case ENOTDIR:
	case ENAMETOOLONG: /* some file systems allow fewer than 255 bytes: it can't exist */
		*out = (struct os_file){ .type = OS_MISSING };
		return 0;
	case EACCES:
		*out = (struct os_file){ .type = OS_HIDDEN };
		return 0;
	default:
		return FAIL_SYS(e, errno, "can't look at '%s'", show_path(&shown, path));
	}
}

int os_read_link(struct str path, struct buf *out, struct err *e)
{
	UNINITIALIZED struct c_path name;
	UNINITIALIZED struct shown shown;
	UNINITIALIZED char target[PATH_MAX_BYTES];
	ssize_t n;

	if (c_path_init(&name, path, e) < 0)
		return err_result(e);
	n = native_read_link(name.text, target, sizeof(target));
	if (n < 0)
		return FAIL_SYS(e, errno, "can't read the link '%s'", show_path(&shown, path));
	if ((size_t)n == sizeof(target))
		return FAIL(e, ERR_LIMIT, "the link '%s' has a target of more than %zu bytes",
			    show_path(&shown, path), sizeof(target) - 1);
	buf_add(out, (struct str){ target, (size_t)n });
	return buf_check(out, e);
}

int os_list(struct str path,
	    int (*each)(void *arg, struct str name, enum os_type type, struct err *e), void *arg,
	    struct err *e)
{
	return os_list_stamped(path, each, arg, NULL, NULL, e);
}
