/* SPDX-License-Identifier: MIT */
/* See streams.h. */
#include "os/streams.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "os/random.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/handle.h"

bool os_is_open(int fd)
{
	return handle_kind(fd) != HANDLE_NONE;
}

bool os_leads_to_program(int fd)
{
	HANDLE handle = handle_kind(fd) == HANDLE_SOCKET ? NULL : handle_get(fd);

	return handle_kind(fd) == HANDLE_SOCKET ||
	       (handle && GetFileType(handle) == FILE_TYPE_PIPE);
}

int os_open_null(void)
{
	HANDLE null = CreateFileW(L"\\\\.\\NUL", GENERIC_READ | GENERIC_WRITE,
				  FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
	int fd;

	if (null == INVALID_HANDLE_VALUE)
		return -error_last();
	fd = handle_add(HANDLE_FILE, null);
	return fd < 0 ? -errno : fd;
}

int os_open_output(int *read_end, int *write_end)
{
	return pipe_ends(true, read_end, write_end);
}

ssize_t os_read_output(int fd, void *data, size_t room)
{
	return (ssize_t)pipe_read(fd, data, room);
}

size_t os_count_output(int fd)
{
	return pipe_count(fd);
}

static int make_text(HANDLE file, const void *data, size_t bytes)
{
	DWORD n;

	if (bytes > UINT32_MAX || !WriteFile(file, data, (DWORD)bytes, &n, NULL) || n != bytes ||
	    SetFilePointer(file, 0, NULL, FILE_BEGIN) == INVALID_SET_FILE_POINTER)
		return -error_last();
	return 0;
}

/* Nobody else can open it while it is open, and it goes when it is closed. */
int os_open_text(const void *data, size_t bytes)
{
	unsigned long long random = 0;
	wchar_t directory[MAX_PATH + 1], name[MAX_PATH + 64];
	HANDLE file;
	int r = os_random(&random, sizeof(random)), fd;

	if (r < 0)
		return r;
	if (!GetTempPathW(COUNT_OF(directory), directory))
		return -error_last();
	(void)swprintf(name, COUNT_OF(name), L"%lscordon-%llx", directory, random);
	file = CreateFileW(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_NEW,
			   FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
	if (file == INVALID_HANDLE_VALUE)
		return -error_last();
	r = make_text(file, data, bytes);
	fd = handle_add(HANDLE_FILE, file);
	if (fd < 0 || r < 0) {
		handle_close(fd);
		return r < 0 ? r : -EMFILE;
	}
	return fd;
}

ssize_t os_write_some(int fd, const void *data, size_t bytes)
{
	HANDLE file;
	DWORD n = (DWORD)MIN_OF(bytes, (size_t)64 << 10);

	if (handle_kind(fd) == HANDLE_WRITER)
		return (ssize_t)pipe_write(fd, data, bytes);
	file = handle_get(fd);
	if (!file)
		return -errno;
	return WriteFile(file, data, n, &n, NULL) ? (ssize_t)n : -error_last();
}
