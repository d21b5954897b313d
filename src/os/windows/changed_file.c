/* SPDX-License-Identifier: MIT */
/* See changed_file.h. */
#include "os/changed_file.h"

#include <errno.h>

#include "os/windows/api.h"
#include "os/windows/files.h"

static bool take_version(HANDLE file, struct os_version *out)
{
	BY_HANDLE_FILE_INFORMATION info;

	if (!GetFileInformationByHandle(file, &info) ||
	    info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
		return false;
	*out = (struct os_version){
		.inode = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow,
		.bytes = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow,
		.seconds = info.ftLastWriteTime.dwHighDateTime,
		.nanoseconds = info.ftLastWriteTime.dwLowDateTime,
	};
	return true;
}

static bool is_same(const struct os_version *a, const struct os_version *b)
{
	return a->inode == b->inode && a->bytes == b->bytes && a->seconds == b->seconds &&
	       a->nanoseconds == b->nanoseconds;
}

enum os_change os_read_changed(const char *path, struct os_version *seen, char *out, size_t room,
			       size_t *len)
{
	HANDLE file = files_open(str_of(path), GENERIC_READ, FILES_FOLLOW);
	struct os_version now;
	enum os_change change = OS_SAME;
	long long got;

	if (!file && errno != ENOENT)
		return OS_SAME;
	if (!file) {
		*seen = (struct os_version){ .inode = 0 };
		return OS_GONE;
	}
	if (take_version(file, &now) && !is_same(&now, seen) &&
	    (got = files_read(file, out, room)) >= 0) {
		*seen = now;
		*len = (size_t)got;
		change = OS_NEW;
	}
	(void)CloseHandle(file);
	return change;
}
