/* SPDX-License-Identifier: MIT */
/* The names in a directory. Nothing on macOS makes placeholders. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/attr.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/firmlink.h"
#include "os/posix/native.h"
#include "os/posix/path.h"

int native_look(const char *path, struct stat *st, bool *is_placeholder)
{
	*is_placeholder = false;
	if (lstat(path, st) < 0)
		return -1;
	/* SECURITY: rules are about the name that the kernel compares. */
	if (firmlink_target(str_of(path)).len)
		st->st_mode = (mode_t)((st->st_mode & ~(unsigned)S_IFMT) | S_IFLNK);
	return 0;
}

ssize_t native_read_link(const char *path, char *room, size_t size)
{
	struct str target = firmlink_target(str_of(path));

	if (!target.len)
		return readlink(path, room, size);
	memcpy(room, target.p, MIN_OF(target.len, size));
	return (ssize_t)MIN_OF(target.len, size);
}

/* What does not tell is taken for one that folds: the profile then has every spelling. */
bool os_names_fold(const char *path)
{
	return pathconf(path, _PC_CASE_SENSITIVE) != 1;
}

struct str os_true_name(struct str path, char *room, size_t size)
{
	struct attrlist wanted = { .bitmapcount = ATTR_BIT_MAP_COUNT, .commonattr = ATTR_CMN_NAME };
	struct {
		uint32_t bytes;
		attrreference_t name;
		char text[3 * NAME_MAX + 1];
	} found;
	struct err ignored = ERR_INIT;
	struct c_path name;
	size_t len;

	if (c_path_init(&name, path, &ignored) < 0 ||
	    getattrlist(name.text, &wanted, &found, sizeof(found), FSOPT_NOFOLLOW) < 0)
		return STR_EMPTY;
	/* With its NUL, and as far from itself as it says. */
	len = found.name.attr_length;
	if (len <= 1 || len > size ||
	    (size_t)found.name.attr_dataoffset + len > sizeof(found) - sizeof(found.bytes))
		return STR_EMPTY;
	memcpy(room, (const char *)&found.name + found.name.attr_dataoffset, len);
	return (struct str){ room, len - 1 };
}

/* APFS counts every name in a directory as a link. */
bool os_links_count_dirs(struct str path)
{
	(void)path;
	return false;
}

static enum os_type type_of_entry(int directory, const struct dirent *entry)
{
	struct stat st;

	switch (entry->d_type) {
	case DT_REG:
		return OS_FILE;
	case DT_DIR:
		return OS_DIR;
	case DT_LNK:
		return OS_LINK;
	case DT_UNKNOWN:
		if (fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return errno == EACCES ? OS_HIDDEN : OS_MISSING;
		return type_of_mode(st.st_mode);
	default:
		return OS_OTHER;
	}
}

static int list(DIR *stream, struct str path,
		int (*each)(void *arg, struct str name, enum os_type type, struct err *e),
		void *arg, struct err *e)
{
	const struct dirent *entry;
	struct shown shown;

	while (errno = 0, (entry = readdir(stream)) != NULL) {
		int status;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		status = each(arg, str_of(entry->d_name), type_of_entry(dirfd(stream), entry), e);
		if (status)
			return status;
	}
	/* ENOENT: it was removed meanwhile. */
	if (errno && errno != ENOENT)
		return FAIL_SYS(e, errno, "can't list '%s'", show_path(&shown, path));
	return 0;
}

int os_list_stamped(struct str path,
		    int (*each)(void *arg, struct str name, enum os_type type, struct err *e),
		    void *arg, struct os_stamp_kind *kind, struct stamp *stamp, struct err *e)
{
	struct c_path name;
	struct shown shown;
	DIR *stream;
	int directory, status;

	if (c_path_init(&name, path, e) < 0)
		return err_result(e);
	directory = open(name.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	stream = directory < 0 ? NULL : fdopendir(directory);
	if (!stream) {
		fd_done(&directory);
		return FAIL_SYS(e, errno, "can't list '%s'", show_path(&shown, path));
	}
	if (stamp)
		os_take_stamp(directory, kind, stamp);
	status = list(stream, path, each, arg, e);
	(void)closedir(stream);
	return status;
}
