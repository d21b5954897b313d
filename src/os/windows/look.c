/* SPDX-License-Identifier: MIT */
/* Looking at files; see os/os.h. */
#include <errno.h>

#include "base/windows_path.h"
#include "os/os.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/files.h"
#include "os/windows/link.h"

static enum os_type type_of(uint32_t attributes, uint32_t tag)
{
	if (attributes & FILE_ATTRIBUTE_REPARSE_POINT) {
		if (tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT)
			return OS_LINK;
		/* Only what its data lie elsewhere of is a file or a directory besides (cloud files, deduplication). */
		if (link_is_special(tag))
			return OS_OTHER;
	}
	if (attributes & FILE_ATTRIBUTE_DEVICE)
		return OS_OTHER;
	return attributes & FILE_ATTRIBUTE_DIRECTORY ? OS_DIR : OS_FILE;
}

enum os_type look_type(uint32_t attributes, uint32_t tag)
{
	return type_of(attributes, tag);
}

static bool is_wild(struct str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (name.p[i] == '*' || name.p[i] == '?' || name.p[i] == '<' || name.p[i] == '>' ||
		    name.p[i] == '"')
			return true;
	return false;
}

/* What its directory says of it: also of what may not be opened. */
static bool find_in_directory(struct str path, WIN32_FIND_DATAW *out)
{
	UNINITIALIZED wchar_t name[WIDE_PATH];
	HANDLE search;

	if (is_wild(path_name(path)) || wide_path(path, name) < 0)
		return false;
	search = FindFirstFileExW(name, FindExInfoBasic, out, FindExSearchNameMatch, NULL, 0);
	if (search == INVALID_HANDLE_VALUE) {
		errno = error_last();
		return false;
	}
	(void)FindClose(search);
	return true;
}

static int look_at(HANDLE handle, struct str path, struct os_file *out, struct err *e)
{
	BY_HANDLE_FILE_INFORMATION info;
	FILE_ATTRIBUTE_TAG_INFO tag = { .ReparseTag = 0 };
	struct shown_path shown;

	if (!GetFileInformationByHandle(handle, &info))
		return FAIL_WINDOWS(e, GetLastError(), "can't look at '%s'",
				    files_show(&shown, path));
	if (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
		(void)GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof(tag));
	*out = (struct os_file){
		.type = type_of(info.dwFileAttributes, tag.ReparseTag),
		.device = (uint64_t)info.dwVolumeSerialNumber + 1,
		.inode = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow,
	};
	out->is_others = path_name(path).len == 4 && str_is(path_name(path), ".git") &&
			 !files_is_ours(handle);
	return 0;
}

static int look_from_outside(struct str path, int error, struct os_file *out, struct err *e)
{
	struct shown_path shown;
	WIN32_FIND_DATAW found;

	*out = (struct os_file){ .type = OS_MISSING };
	if (error == ENOENT || error == ENOTDIR)
		return 0;
	/* No file can have such a name. */
	if (error == EINVAL || error == EILSEQ || error == ENAMETOOLONG)
		return 0;
	if (error != EACCES && error != EBUSY)
		return FAIL_SYS(e, error, "can't look at '%s'", files_show(&shown, path));
	if (find_in_directory(path, &found))
		out->type = type_of(found.dwFileAttributes, found.dwReserved0);
	else
		out->type = errno == ENOENT ? OS_MISSING : OS_HIDDEN;
	return 0;
}

int os_look(struct str path, struct os_file *out, struct err *e)
{
	enum files_link link = FILES_NOT_FOLLOW;
	HANDLE handle;
	int r;

	/* Below it are the drives. */
	if (str_is(path, "/")) {
		*out = (struct os_file){ .type = OS_DIR, .device = 1, .inode = 1 };
		return 0;
	}
	/* "x/." is the directory that a link leads to. */
	if (str_is(path, ".") || str_has_suffix(path, STR("/.")))
		link = FILES_FOLLOW;
	handle = files_open(path, FILE_READ_ATTRIBUTES | READ_CONTROL, link);
	if (!handle && errno == EACCES)
		handle = files_open(path, FILE_READ_ATTRIBUTES, link);
	if (!handle)
		return look_from_outside(path, errno, out, e);
	r = look_at(handle, path, out, e);
	(void)CloseHandle(handle);
	return r;
}

bool os_links_count_dirs(struct str path)
{
	(void)path;
	return false;
}

bool os_names_fold(const char *path)
{
	(void)path;
	return true;
}

struct str os_true_name(struct str path, char *room, size_t size)
{
	WIN32_FIND_DATAW found;
	int n;

	/* A drive has no entry anywhere, and its letter is a capital here. */
	if (path_depth(path) < 2)
		return path_name(path);
	if (!find_in_directory(path, &found))
		return STR_EMPTY;
	n = narrow_text(found.cFileName, wcslen(found.cFileName), room, size);
	return n < 0 ? STR_EMPTY : (struct str){ room, (size_t)n };
}

bool os_real_path(const char *path, char out[PATH_MAX_BYTES])
{
	HANDLE handle = files_open(str_of(path), FILE_READ_ATTRIBUTES, FILES_FOLLOW);
	bool is_found = handle && files_real_path(handle, out);

	if (handle)
		(void)CloseHandle(handle);
	return is_found;
}

bool os_is_allowed(const char *path, bool writes)
{
	HANDLE handle =
		files_open(str_of(path), writes ? GENERIC_WRITE : GENERIC_READ, FILES_FOLLOW);

	if (!handle)
		return errno == EBUSY;
	(void)CloseHandle(handle);
	return true;
}

bool os_is_executable(const char *path)
{
	struct err e = ERR_INIT;
	struct os_file file;
	char real[PATH_MAX_BYTES];

	if (!os_real_path(path, real))
		return false;
	return os_look(str_of(real), &file, &e) == 0 && file.type == OS_FILE &&
	       os_is_allowed(path, false);
}
