/* SPDX-License-Identifier: MIT */
/*
 * See kept_file.h. The lock is a file of its own, ".NAME.lock", that one process at a time can have open. Who else may
 * write the file is what the access list of the user's profile says; only its owner is looked at here.
 */
#include "os/kept_file.h"

#include <errno.h>
#include <stdio.h>

#include "os/os.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/files.h"
#include "os/windows/handle.h"

enum { LOCK_PATIENCE_MS = 10000, LOCK_PAUSE_MS = 5 };

static int refuse(struct str path, const char *why, struct err *e)
{
	struct shown_path shown;

	return FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED, "'%s' is not used: %s", files_show(&shown, path),
			  why);
}

static int check_file(struct str path, HANDLE file, BY_HANDLE_FILE_INFORMATION *info, struct err *e)
{
	if (!GetFileInformationByHandle(file, info))
		return refuse(path, "it can't be looked at", e);
	if (info->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
		return refuse(path, "it is a link, which is not followed", e);
	if (info->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
		return refuse(path, "it is not a regular file", e);
	if (info->nNumberOfLinks > 1)
		return refuse(path, "it has a second name (a hard link)", e);
	if (!files_is_ours(file))
		return refuse(path, "it belongs to another user", e);
	return 0;
}

static void take_stamp(const BY_HANDLE_FILE_INFORMATION *info, struct os_kept_stamp *out)
{
	*out = (struct os_kept_stamp){
		.device = (uint64_t)info->dwVolumeSerialNumber + 1,
		.inode = (uint64_t)info->nFileIndexHigh << 32 | info->nFileIndexLow,
		.bytes = (uint64_t)info->nFileSizeHigh << 32 | info->nFileSizeLow,
		.changed_s = info->ftLastWriteTime.dwHighDateTime,
		.changed_ns = info->ftLastWriteTime.dwLowDateTime,
	};
}

static int read_it(const struct os_kept *kept, HANDLE file, struct arena *a, size_t max_bytes,
		   struct str *out, struct os_kept_stamp *stamp, struct err *e)
{
	BY_HANDLE_FILE_INFORMATION info;
	struct shown_path shown;
	long long got;
	char *text;

	if (check_file(kept->path, file, &info, e) < 0)
		return err_result(e);
	take_stamp(&info, stamp);
	if (stamp->bytes > max_bytes)
		return FAIL(e, ERR_LIMIT, "'%s' has more than %zu bytes",
			    files_show(&shown, kept->path), max_bytes);
	text = arena_alloc(a, (size_t)stamp->bytes + 1, e);
	if (!text)
		return err_result(e);
	got = files_read(file, text, (size_t)stamp->bytes);
	if (got < 0 || (uint64_t)got != stamp->bytes)
		return FAIL_SYS_CAUSE(e, CAUSE_FILE_UNREADABLE, got < 0 ? errno : EIO,
				      "can't read '%s'", files_show(&shown, kept->path));
	*out = (struct str){ text, (size_t)got };
	return 0;
}

int os_kept_read(const struct os_kept *kept, struct arena *a, size_t max_bytes, struct str *out,
		 struct os_kept_stamp *stamp, struct err *e)
{
	HANDLE file = files_open(kept->path, GENERIC_READ, FILES_NOT_FOLLOW);
	struct shown_path shown;
	int r;

	if (!file && errno != ENOENT)
		return FAIL_SYS_CAUSE(e, CAUSE_FILE_UNREADABLE, errno, "can't open '%s'",
				      files_show(&shown, kept->path));
	if (!file) {
		*out = STR_EMPTY;
		*stamp = (struct os_kept_stamp){ 0 };
		return 0;
	}
	r = read_it(kept, file, a, max_bytes, out, stamp, e);
	(void)CloseHandle(file);
	return r;
}

bool os_kept_is_changed(const struct os_kept *kept, const struct os_kept_stamp *stamp)
{
	HANDLE file = files_open(kept->path, FILE_READ_ATTRIBUTES, FILES_NOT_FOLLOW);
	BY_HANDLE_FILE_INFORMATION info;
	struct os_kept_stamp now = { 0 };

	if (!file && errno != ENOENT)
		return true;
	if (file) {
		bool is_known = GetFileInformationByHandle(file, &info);

		(void)CloseHandle(file);
		if (!is_known)
			return true;
		take_stamp(&info, &now);
	}
	return now.device != stamp->device || now.inode != stamp->inode ||
	       now.bytes != stamp->bytes || now.changed_s != stamp->changed_s ||
	       now.changed_ns != stamp->changed_ns;
}

/* ---- Writing ------------------------------------------------------------------------ */

static int name_beside(const struct os_kept *kept, const char *after, char out[PATH_MAX_BYTES],
		       struct err *e)
{
	struct str name = path_name(kept->path);
	int n = snprintf(out, PATH_MAX_BYTES, "%.*s/.%.*s%s", (int)(kept->path.len - name.len - 1),
			 kept->path.p, (int)name.len, name.p, after);

	return n < PATH_MAX_BYTES ? 0 : FAIL(e, ERR_LIMIT, "the path is too long");
}

int os_kept_lock(const struct os_kept *kept, struct os_kept_lock *out, struct err *e)
{
	UNINITIALIZED char name[PATH_MAX_BYTES];
	UNINITIALIZED wchar_t wide[WIDE_PATH];
	struct shown_path shown;
	HANDLE lock = INVALID_HANDLE_VALUE;
	int fd;

	if (os_make_parents(kept->path, e) < 0 || name_beside(kept, ".lock", name, e) < 0)
		return err_result(e);
	if (wide_path(str_of(name), wide) < 0)
		return FAIL_SYS(e, errno, "can't lock '%s'", files_show(&shown, kept->path));
	for (int waited = 0; waited < LOCK_PATIENCE_MS; waited += LOCK_PAUSE_MS) {
		lock = CreateFileW(wide, GENERIC_WRITE, 0, NULL, OPEN_ALWAYS,
				   FILE_FLAG_OPEN_REPARSE_POINT, NULL);
		if (lock != INVALID_HANDLE_VALUE || GetLastError() != ERROR_SHARING_VIOLATION)
			break;
		Sleep(LOCK_PAUSE_MS);
	}
	if (lock == INVALID_HANDLE_VALUE)
		return GetLastError() == ERROR_SHARING_VIOLATION
			       ? FAIL_SYS(e, ETIMEDOUT, "another process writes to '%s'",
					  files_show(&shown, kept->path))
			       : FAIL_WINDOWS(e, GetLastError(), "can't lock '%s'",
					      files_show(&shown, kept->path));
	fd = handle_add(HANDLE_FILE, lock);
	if (fd < 0)
		return FAIL_SYS(e, errno, "can't lock '%s'", files_show(&shown, kept->path));
	*out = (struct os_kept_lock){ .directory = -1, .lock = fd };
	return 0;
}

void os_kept_unlock(struct os_kept_lock *lock)
{
	handle_close(lock->lock);
	lock->lock = -1;
}

int os_kept_write(const struct os_kept *kept, const struct os_kept_lock *lock, struct str text,
		  struct err *e)
{
	UNINITIALIZED char temporary[PATH_MAX_BYTES];
	struct shown_path shown;
	HANDLE file;
	int r;

	(void)lock;
	if (name_beside(kept, ".new", temporary, e) < 0)
		return err_result(e);
	/* What a killed writer left; nobody else writes while the lock is held. */
	files_remove(str_of(temporary));
	file = files_make(str_of(temporary), FILE_ATTRIBUTE_NORMAL);
	if (!file)
		return FAIL_SYS(e, errno, "can't write beside '%s'",
				files_show(&shown, kept->path));
	r = files_write(file, text) ? 0 : -errno;
	(void)CloseHandle(file);
	if (r == 0)
		r = files_rename(str_of(temporary), kept->path, true);
	if (r < 0) {
		files_remove(str_of(temporary));
		return FAIL_SYS(e, -r, "can't replace '%s'", files_show(&shown, kept->path));
	}
	return 0;
}

/* Users have no numbers here. Cordon keeps files for one user alone, who is called 0. */
uint64_t os_kept_user(void)
{
	return 0;
}
