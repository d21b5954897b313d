/* SPDX-License-Identifier: MIT */
/* Placeholders among files, and the names in a directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/linux/mark.h"
#include "os/posix/native.h"
#include "os/posix/path.h"

enum { LOOK_TRIES = 1000 };

/* Whether the marked file or directory is empty. -1: it was removed or replaced; look again. */
static int is_unused(const char *path, const struct stat *st)
{
	scoped_fd fd = -1;
	struct stat opened;
	int is_empty;

	if (!S_ISDIR(st->st_mode))
		return 1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? 0 : -1;
	if (fstat(fd, &opened) < 0 || opened.st_dev != st->st_dev || opened.st_ino != st->st_ino)
		return -1;
	is_empty = mark_is_empty(fd);
	return is_empty >= 0 || errno == ENOENT ? is_empty : 0;
}

ssize_t native_read_link(const char *path, char *room, size_t size)
{
	return readlink(path, room, size);
}

bool os_names_fold(const char *path)
{
	(void)path;
	return false;
}

struct str os_true_name(struct str path, char *room, size_t size)
{
	(void)path;
	(void)room;
	(void)size;
	return STR_EMPTY;
}

/*
 * lstat(), and whether it is a placeholder. Other runs make and remove placeholders at any time, so
 * both answers must come from the same moment.
 */
int native_look(const char *path, struct stat *st, bool *is_placeholder)
{
	int unused = -1;

	for (int i = 0; unused < 0 && i < LOOK_TRIES; i++) {
		if (lstat(path, st) < 0)
			return -1;
		unused = mark_of(st) == MARK_NONE ? 0 : is_unused(path, st);
	}
	*is_placeholder = unused > 0;
	return 0;
}

bool os_links_count_dirs(struct str path)
{
	enum { MAGIC_XFS = 0x58465342 };
	UNINITIALIZED struct c_path name;
	struct err ignored = ERR_INIT;
	struct statfs fs;

	if (c_path_init(&name, path, &ignored) < 0 || statfs(name.text, &fs) < 0)
		return false;
	/* btrfs always has one link; other file systems may do as they like. */
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case MAGIC_XFS:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
		return true;
	default:
		return false;
	}
}

/* The listing often has the type; some file systems leave it out, so ask then. */
static enum os_type type_of_entry(int directory, const struct entry *entry)
{
	struct stat st;

	switch (entry->type) {
	case DT_REG:
		return OS_FILE;
	case DT_DIR:
		return OS_DIR;
	case DT_LNK:
		return OS_LINK;
	case DT_UNKNOWN:
		if (fstatat(directory, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return errno == EACCES ? OS_HIDDEN : OS_MISSING;
		return type_of_mode(st.st_mode);
	default:
		return OS_OTHER;
	}
}

/* Not opendir(), whose allocation costs more than a short directory. */
int os_list_stamped(struct str path,
		    int (*each)(void *arg, struct str name, enum os_type type, struct err *e),
		    void *arg, struct os_stamp_kind *kind, struct stamp *stamp, struct err *e)
{
	UNINITIALIZED _Alignas(struct entry) char space[2048];
	UNINITIALIZED struct c_path name;
	UNINITIALIZED struct shown shown;
	scoped_fd directory = -1;
	long n;

	if (c_path_init(&name, path, e) < 0)
		return err_result(e);
	directory = openat(AT_FDCWD, name.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return FAIL_SYS(e, errno, "can't list '%s'", show_path(&shown, path));
	if (stamp)
		os_take_stamp(directory, kind, stamp);
	while ((n = syscall(SYS_getdents64, directory, space, sizeof(space))) > 0)
		for (long at = 0; at < n;) {
			const struct entry *entry = (const void *)(space + at);
			int status;

			at += entry->len;
			if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0)
				continue;
			status = each(arg, str_of(entry->name), type_of_entry(directory, entry), e);
			if (status)
				return status;
		}
	/* ENOENT: it was removed meanwhile. */
	if (n < 0 && errno != ENOENT)
		return FAIL_SYS(e, errno, "can't list '%s'", show_path(&shown, path));
	return 0;
}
