/* SPDX-License-Identifier: MIT */
/* See files.h. */
#include "os/windows/files.h"

#include <errno.h>

#include "base/utf8.h"
#include "base/windows_path.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/facts.h"

enum { SHARE_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

static HANDLE done(HANDLE handle)
{
	if (handle != INVALID_HANDLE_VALUE)
		return handle;
	errno = error_last();
	return NULL;
}

void *files_open(struct str path, uint32_t access, enum files_link link)
{
	UNINITIALIZED wchar_t name[WIDE_PATH];
	UNINITIALIZED char full[PATH_MAX_BYTES];
	DWORD flags = FILE_FLAG_BACKUP_SEMANTICS;

	if (!windows_is_path(path)) {
		if (!facts_full_path(path, full))
			return NULL;
		path = str_of(full);
	}
	if (wide_path(path, name) < 0)
		return NULL;
	if (link == FILES_NOT_FOLLOW)
		flags |= FILE_FLAG_OPEN_REPARSE_POINT;
	return done(CreateFileW(name, access, SHARE_ALL, NULL, OPEN_EXISTING, flags, NULL));
}

void *files_make(struct str path, uint32_t flags)
{
	UNINITIALIZED wchar_t name[WIDE_PATH];

	if (wide_path(path, name) < 0)
		return NULL;
	return done(CreateFileW(name, GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_READ, NULL,
				CREATE_NEW, flags, NULL));
}

bool files_real_path(void *handle, char out[PATH_MAX_BYTES])
{
	UNINITIALIZED wchar_t name[WIDE_PATH + 8];
	DWORD n = GetFinalPathNameByHandleW(handle, name, COUNT_OF(name), VOLUME_NAME_DOS);

	if (n == 0 || n >= COUNT_OF(name)) {
		errno = n ? ENAMETOOLONG : error_last();
		return false;
	}
	if (narrow_path(name, n, out) >= 0)
		return true;
	if (errno == EINVAL)
		errno = ENOTSUP;
	return false;
}

bool files_write(void *handle, struct str text)
{
	while (text.len > 0) {
		DWORD n = (DWORD)MIN_OF(text.len, (size_t)1 << 20);

		if (!WriteFile(handle, text.p, n, &n, NULL)) {
			errno = error_last();
			return false;
		}
		text = str_from(text, n);
	}
	if (FlushFileBuffers(handle))
		return true;
	errno = error_last();
	return false;
}

long long files_read(void *handle, char *out, size_t size)
{
	size_t got = 0;

	while (got < size) {
		DWORD n = (DWORD)MIN_OF(size - got, (size_t)1 << 20);

		if (!ReadFile(handle, out + got, n, &n, NULL)) {
			DWORD error = GetLastError();

			if (error == ERROR_BROKEN_PIPE || error == ERROR_HANDLE_EOF)
				break;
			return error_set(error);
		}
		if (n == 0)
			break;
		got += n;
	}
	return (long long)got;
}

int files_rename(struct str from, struct str to, bool replaces)
{
	UNINITIALIZED wchar_t old[WIDE_PATH];
	UNINITIALIZED wchar_t new[WIDE_PATH];
	DWORD flags = MOVEFILE_WRITE_THROUGH | (replaces ? MOVEFILE_REPLACE_EXISTING : 0);

	if (wide_path(from, old) < 0 || wide_path(to, new) < 0)
		return -errno;
	/* Somebody may look at it just now, a scanner for one, without letting it be replaced. */
	for (int i = 0; i < 50; i++) {
		if (MoveFileExW(old, new, flags))
			return 0;
		if (GetLastError() != ERROR_SHARING_VIOLATION &&
		    (GetLastError() != ERROR_ACCESS_DENIED || !replaces))
			break;
		Sleep(2);
	}
	return -error_last();
}

void files_remove(struct str path)
{
	UNINITIALIZED wchar_t name[WIDE_PATH];

	if (wide_path(path, name) >= 0)
		(void)DeleteFileW(name);
}

/* ---- Owners ------------------------------------------------------------------------------------------ */

static bool is_own_user(PSID owner)
{
	HANDLE token;
	union {
		TOKEN_USER user;
		unsigned char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	} own;
	DWORD bytes;
	bool is = false;

	if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
		return false;
	if (GetTokenInformation(token, TokenUser, &own, sizeof(own), &bytes))
		is = EqualSid(owner, own.user.User.Sid);
	(void)CloseHandle(token);
	return is;
}

bool files_is_ours(void *handle)
{
	union {
		SECURITY_DESCRIPTOR descriptor;
		unsigned char room[sizeof(SECURITY_DESCRIPTOR) + SECURITY_MAX_SID_SIZE];
	} security;
	BOOL is_default;
	PSID owner;
	DWORD bytes;

	if (!GetKernelObjectSecurity(handle, OWNER_SECURITY_INFORMATION, &security.descriptor,
				     sizeof(security), &bytes) ||
	    !GetSecurityDescriptorOwner(&security.descriptor, &owner, &is_default) || !owner)
		return false;
	return is_own_user(owner) || IsWellKnownSid(owner, WinBuiltinAdministratorsSid) ||
	       IsWellKnownSid(owner, WinLocalSystemSid);
}

const char *files_show(struct shown_path *room, struct str path)
{
	char narrow[PATH_MAX_BYTES];
	size_t len = MIN_OF(path.len, sizeof(narrow) - 1);

	/* As on Windows: without the slash before the drive, and with its separators. */
	if (!windows_is_path(path))
		return utf8_show(path, room->text, sizeof(room->text));
	for (size_t i = 1; i < len; i++)
		narrow[i - 1] = path.p[i] == '/' ? '\\' : path.p[i];
	return utf8_show((struct str){ narrow, len - 1 }, room->text, sizeof(room->text));
}
