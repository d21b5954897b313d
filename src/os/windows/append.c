/* SPDX-License-Identifier: MIT */
/* See append.h. */
#include "os/append.h"

#include <errno.h>

#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/files.h"
#include "os/windows/handle.h"

int os_append_open(struct str path, int *out, struct err *e)
{
	UNINITIALIZED wchar_t name[WIDE_PATH];
	FILE_ATTRIBUTE_TAG_INFO info;
	struct shown_path shown;
	HANDLE file;
	int fd;

	if (wide_path(path, name) < 0)
		return FAIL_SYS(e, errno, "can't open '%s'", files_show(&shown, path));
	file = CreateFileW(name, FILE_APPEND_DATA | FILE_READ_ATTRIBUTES | SYNCHRONIZE,
			   FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
			   OPEN_ALWAYS, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	if (file == INVALID_HANDLE_VALUE)
		return FAIL_WINDOWS(e, GetLastError(), "can't open '%s'", files_show(&shown, path));
	if (!GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info, sizeof(info)) ||
	    info.FileAttributes & (FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DIRECTORY)) {
		(void)CloseHandle(file);
		return FAIL(e, ERR_POLICY, "'%s' is a link or a directory",
			    files_show(&shown, path));
	}
	fd = handle_add(HANDLE_FILE, file);
	if (fd < 0)
		return FAIL_SYS(e, errno, "can't open '%s'", files_show(&shown, path));
	*out = fd;
	return 0;
}

int os_append_take(int fd, int *out, struct err *e)
{
	int copy = handle_copy(fd);

	if (copy < 0)
		return FAIL(e, ERR_ARGUMENT, "descriptor %d is not open for writing", fd);
	*out = copy;
	return 0;
}

struct str os_append_path(int fd, char *room, size_t size)
{
	UNINITIALIZED char real[PATH_MAX_BYTES];
	HANDLE file = handle_kind(fd) == HANDLE_FILE ? handle_get(fd) : NULL;

	if (!file || GetFileType(file) != FILE_TYPE_DISK || !files_real_path(file, real) ||
	    strlen(real) >= size)
		return STR_EMPTY;
	memcpy(room, real, strlen(real) + 1);
	return str_of(room);
}

int os_append(int fd, struct str bytes)
{
	HANDLE file = handle_get(fd);

	if (!file)
		return -errno;
	while (bytes.len > 0) {
		DWORD n = (DWORD)MIN_OF(bytes.len, (size_t)1 << 20);

		if (!WriteFile(file, bytes.p, n, &n, NULL))
			return -error_last();
		bytes = str_from(bytes, n);
	}
	return 0;
}
