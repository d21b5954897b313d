/* SPDX-License-Identifier: MIT */
/*
 * --report: to a stream, or to a file that is replaced as a whole. The directory is held open until the report is there, so
 * that nobody can move it or put another in its place.
 */
#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

#include "cli/cli.h"

static HANDLE held = INVALID_HANDLE_VALUE;
static wchar_t place[4096];

static bool complain_path(const struct args *args, const struct report_file *file, DWORD error)
{
	char text[1024], why[256];

	if (!FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, error,
			    0, why, sizeof(why), NULL))
		(void)snprintf(why, sizeof(why), "error %lu", error);
	why[strcspn(why, "\r\n")] = '\0';
	(void)snprintf(text, sizeof(text), "can't write the report to '%.700s': %s", file->path,
		       why);
	(void)finish_error(args, cordon_error_new(CORDON_E_SYS, text));
	return false;
}

static bool hold_directory(const wchar_t *path)
{
	wchar_t directory[4096];
	wchar_t *name = NULL;

	if (!GetFullPathNameW(path, COUNT_OF(place), place, &name) || !name)
		return false;
	wmemcpy(directory, place, (size_t)(name - place));
	directory[name - place] = L'\0';
	/* Without FILE_SHARE_DELETE it can't be renamed or removed. */
	held = CreateFileW(directory, FILE_LIST_DIRECTORY, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
			   OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
	return held != INVALID_HANDLE_VALUE;
}

bool report_file_open(const struct args *args, struct report_file *file)
{
	wchar_t path[4096];

	*file = (struct report_file){ .path = args_text(args, OPT_REPORT),
				      .directory = -1,
				      .fd = -1 };
	if (!file->path)
		return true;
	if (strcmp(file->path, "-") == 0) {
		file->fd = 1;
		return true;
	}
	if (!MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, file->path, -1, path,
				 (int)COUNT_OF(path)) ||
	    !hold_directory(path))
		return complain_path(args, file, GetLastError());
	return true;
}

static bool write_all(HANDLE to, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		DWORD n = left > 1 << 20 ? 1 << 20 : (DWORD)left;

		if (!WriteFile(to, text, n, &n, NULL))
			return false;
		text += n;
		left -= n;
	}
	return true;
}

static bool write_new(const char *text)
{
	wchar_t temporary[4200];
	HANDLE made;
	bool is_written;
	DWORD error;

	if (_snwprintf(temporary, COUNT_OF(temporary), L"%ls.cordon-%lu", place,
		       GetCurrentProcessId()) < 0)
		return false;
	made = CreateFileW(temporary, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL,
			   NULL);
	if (made == INVALID_HANDLE_VALUE)
		return false;
	is_written = write_all(made, text);
	is_written = CloseHandle(made) && is_written;
	is_written = is_written && MoveFileExW(temporary, place,
					       MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH);
	error = GetLastError();
	if (!is_written)
		(void)DeleteFileW(temporary);
	SetLastError(error);
	return is_written;
}

bool report_file_write(const struct args *args, struct report_file *file, const char *text)
{
	bool is_written = true;

	if (file->fd >= 0)
		is_written = write_all(GetStdHandle(STD_OUTPUT_HANDLE), text) ||
			     complain_path(args, file, GetLastError());
	else if (held != INVALID_HANDLE_VALUE)
		is_written = write_new(text) || complain_path(args, file, GetLastError());
	if (held != INVALID_HANDLE_VALUE)
		(void)CloseHandle(held);
	held = INVALID_HANDLE_VALUE;
	file->fd = -1;
	return is_written;
}
