/* SPDX-License-Identifier: MIT */
/*
 * See acl_apply.h: the lock of the machine, and the journals of this user, which lie in acl\ in the directory of Cordon's
 * state. A journal belongs to the run that has locked a byte far behind its end: locks of Windows forbid reading what they
 * cover, and end with their process.
 */
#include "os/windows/api.h"

#include <errno.h>

#include "backend/windows/acl_files.h"
#include "base/path.h"
#include "os/windows/error.h"
#include "os/windows/text.h"

enum { LOCK_WAIT_MS = 60000, NAME_DIGITS = 16, LOCK_AT_HIGH = 0x40000000 };

static const wchar_t mutex_name[] = L"Global\\Cordon.AccessLists";
/* Every account may take the lock: each may run Cordon. */
static const wchar_t mutex_list[] = L"D:P(A;;0x100001;;;AU)(A;;GA;;;SY)(A;;GA;;;BA)";

struct state {
	struct str directory; /* of the journals, in Cordon's form */
	HANDLE mutex;
};

/* ---- The lock of the machine -------------------------------------------------------------------------- */

static int open_mutex(struct state *s, struct err *e)
{
	SECURITY_ATTRIBUTES attributes = { .nLength = sizeof(attributes) };
	DWORD code;

	if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(
		    mutex_list, SDDL_REVISION_1, &attributes.lpSecurityDescriptor, NULL))
		return FAIL_WINDOWS(e, GetLastError(), "can't make the lock of access lists");
	s->mutex = CreateMutexExW(&attributes, mutex_name, 0, SYNCHRONIZE | MUTEX_MODIFY_STATE);
	code = GetLastError();
	LocalFree(attributes.lpSecurityDescriptor);
	return s->mutex ? 0 : FAIL_WINDOWS(e, code, "can't open the lock of access lists");
}

static int lock(void *user, struct err *e)
{
	struct state *s = user;
	DWORD r;

	if (!s->mutex && open_mutex(s, e) < 0)
		return err_result(e);
	r = WaitForSingleObject(s->mutex, LOCK_WAIT_MS);
	/* Abandoned: who had it was killed; the journals say how far it came. */
	if (r == WAIT_OBJECT_0 || r == WAIT_ABANDONED)
		return 0;
	if (r == WAIT_FAILED)
		return FAIL_WINDOWS(e, GetLastError(), "can't take the lock of access lists");
	(void)FAIL(e, ERR_SYS, "another program has held the lock of access lists for %d seconds",
		   LOCK_WAIT_MS / 1000);
	err_add_line(e,
		     "if no cordon is at work, a command in a sandbox may hold it: end that run");
	return err_result(e);
}

static void unlock(void *user)
{
	struct state *s = user;

	(void)ReleaseMutex(s->mutex);
}

/* ---- Journals ------------------------------------------------------------------------------------------ */

static int wide_journal(const struct state *s, struct str name, wchar_t out[WIDE_PATH],
			struct err *e)
{
	char room[PATH_MAX_BYTES];
	struct buf path = BUF_OVER(room);

	buf_add(&path, s->directory);
	buf_add_char(&path, '/');
	buf_add(&path, name);
	if (buf_check(&path, e) < 0)
		return err_result(e);
	return wide_path(buf_str(&path), out) < 0 ? FAIL_SYS(e, errno, "can't open a journal") : 0;
}

static HANDLE open_journal(const wchar_t *path, DWORD how)
{
	return CreateFileW(path, GENERIC_READ | GENERIC_WRITE | DELETE,
			   FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, how,
			   FILE_FLAG_OPEN_REPARSE_POINT, NULL);
}

static bool take(HANDLE handle)
{
	OVERLAPPED at = { .OffsetHigh = LOCK_AT_HIGH };

	return LockFileEx(handle, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
			  &at);
}

static int journal_new(void *user, struct arena *a, struct acl_journal *out, struct err *e)
{
	const struct state *s = user;
	unsigned char random[NAME_DIGITS / 2];
	char name[NAME_DIGITS + 1];
	wchar_t path[WIDE_PATH];

	if (BCryptGenRandom(NULL, random, sizeof(random), BCRYPT_USE_SYSTEM_PREFERRED_RNG) < 0)
		return FAIL(e, ERR_SYS, "the system gives no random numbers");
	for (size_t i = 0; i < sizeof(random); i++) {
		name[2 * i] = "0123456789abcdef"[random[i] >> 4];
		name[2 * i + 1] = "0123456789abcdef"[random[i] & 15];
	}
	name[NAME_DIGITS] = '\0';
	if (arena_printf(a, &out->name, e, "%s.journal", name) < 0 ||
	    wide_journal(s, out->name, path, e) < 0)
		return err_result(e);
	out->handle = open_journal(path, CREATE_NEW);
	if (out->handle == INVALID_HANDLE_VALUE) {
		out->handle = NULL;
		return FAIL_WINDOWS(e, GetLastError(), "can't make a journal");
	}
	if (take(out->handle))
		return 0;
	CloseHandle(out->handle);
	out->handle = NULL;
	return FAIL_WINDOWS(e, GetLastError(), "can't lock a new journal");
}

static int journal_take(void *user, struct str name, struct acl_journal *out, struct err *e)
{
	wchar_t path[WIDE_PATH];
	HANDLE handle;
	DWORD code;

	if (wide_journal(user, name, path, e) < 0)
		return err_result(e);
	*out = (struct acl_journal){ .name = name };
	handle = open_journal(path, OPEN_EXISTING);
	if (handle == INVALID_HANDLE_VALUE)
		return FAIL_WINDOWS(e, GetLastError(), "can't open the journal %.*s",
				    STR_ARG(name));
	if (take(handle)) {
		out->handle = handle;
		return 0;
	}
	code = GetLastError();
	CloseHandle(handle);
	if (code == ERROR_LOCK_VIOLATION || code == ERROR_IO_PENDING)
		return 0;
	return FAIL_WINDOWS(e, code, "can't lock the journal %.*s", STR_ARG(name));
}

static int journal_add(void *user, const struct acl_journal *j, struct str text, struct err *e)
{
	LARGE_INTEGER none = { .QuadPart = 0 };
	DWORD written = 0;

	(void)user;
	if (!SetFilePointerEx(j->handle, none, NULL, FILE_END) ||
	    !WriteFile(j->handle, text.p, (DWORD)text.len, &written, NULL) ||
	    !FlushFileBuffers(j->handle))
		return FAIL_WINDOWS(e, GetLastError(), "can't write the journal");
	if (written != text.len)
		return FAIL_WINDOWS(e, ERROR_DISK_FULL, "can't write the journal");
	return 0;
}

static int read_all(HANDLE handle, struct buf *out, struct err *e)
{
	char room[16 << 10];
	DWORD got;

	for (;;) {
		if (!ReadFile(handle, room, sizeof(room), &got, NULL))
			return FAIL_WINDOWS(e, GetLastError(), "can't read a journal");
		if (!got)
			return buf_check(out, e);
		buf_add(out, (struct str){ room, got });
	}
}

static int journal_read(void *user, struct str name, struct buf *out, struct err *e)
{
	wchar_t path[WIDE_PATH];
	HANDLE handle;
	int r;

	if (wide_journal(user, name, path, e) < 0)
		return err_result(e);
	handle = CreateFileW(path, GENERIC_READ,
			     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
			     OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	if (handle == INVALID_HANDLE_VALUE)
		return FAIL_WINDOWS(e, GetLastError(), "can't read the journal %.*s",
				    STR_ARG(name));
	r = read_all(handle, out, e);
	CloseHandle(handle);
	return r;
}

static int journal_remove(void *user, const struct acl_journal *j, struct err *e)
{
	FILE_DISPOSITION_INFO info = { .DeleteFile = TRUE };

	(void)user;
	return SetFileInformationByHandle(j->handle, FileDispositionInfo, &info, sizeof(info))
		       ? 0
		       : FAIL_WINDOWS(e, GetLastError(), "can't remove a journal");
}

static void journal_close(void *user, struct acl_journal *j)
{
	(void)user;
	CloseHandle(j->handle);
	j->handle = NULL;
}

/* Each journal in the directory; other files are nobody's. */
static int list_names(HANDLE search, WIN32_FIND_DATAW *found,
		      int (*each)(void *arg, struct str name, struct err *e), void *arg,
		      struct err *e)
{
	do {
		char name[4 * MAX_PATH];
		int length =
			narrow_text(found->cFileName, wcslen(found->cFileName), name, sizeof(name));
		struct str text = { name, length < 0 ? 0 : (size_t)length };

		if (str_has_suffix(text, STR(".journal")) && each(arg, text, e) < 0)
			return err_result(e);
	} while (FindNextFileW(search, found));
	return GetLastError() == ERROR_NO_MORE_FILES
		       ? 0
		       : FAIL_WINDOWS(e, GetLastError(), "can't list the journals");
}

static int journal_list(void *user, int (*each)(void *arg, struct str name, struct err *e),
			void *arg, struct err *e)
{
	wchar_t path[WIDE_PATH];
	WIN32_FIND_DATAW found;
	HANDLE search;
	int r;

	if (wide_journal(user, STR("*"), path, e) < 0)
		return err_result(e);
	search = FindFirstFileW(path, &found);
	if (search == INVALID_HANDLE_VALUE)
		return FAIL_WINDOWS(e, GetLastError(), "can't list the journals");
	r = list_names(search, &found, each, arg, e);
	FindClose(search);
	return r;
}

/* ---- All of it ------------------------------------------------------------------------------------------- */

static int make_directories(struct str path, struct err *e)
{
	struct str name;
	size_t at = 0;

	while (path_next(path, &at, &name)) {
		wchar_t wide[WIDE_PATH];

		if (path_depth(str_first(path, at)) == 1)
			continue; /* the drive */
		if (wide_path(str_first(path, at), wide) < 0)
			return FAIL_SYS(e, errno, "can't make the directory of the journals");
		if (!CreateDirectoryW(wide, NULL) && GetLastError() != ERROR_ALREADY_EXISTS)
			return FAIL_WINDOWS(e, GetLastError(), "can't make %.*s",
					    STR_ARG(str_first(path, at)));
	}
	return 0;
}

/* Where the shell looks it up, too; its own function is declared where PURE is something else. */
int acl_state_find(struct arena *a, struct str *out, struct err *e)
{
	static const wchar_t key[] =
		L"Software\\Microsoft\\Windows\\CurrentVersion\\Explorer\\Shell Folders";
	wchar_t wide[MAX_PATH];
	char text[PATH_MAX_BYTES];
	DWORD size = sizeof(wide);
	int length;
	LSTATUS r = RegGetValueW(HKEY_CURRENT_USER, key, L"Local AppData", RRF_RT_REG_SZ, NULL,
				 wide, &size);

	if (r != ERROR_SUCCESS)
		return FAIL_WINDOWS(e, (uint32_t)r,
				    "can't find the directory of this user's local settings");
	length = narrow_path(wide, wcslen(wide), text);
	if (length < 0)
		return FAIL_SYS(e, errno, "can't find the directory of this user's local settings");
	return path_join(a, (struct str){ text, (size_t)length }, STR("cordon"), out, e);
}

int acl_system_open(struct arena *a, struct str state, struct acl_system *out, struct err *e)
{
	struct state *s = ARENA_NEW(a, struct state, e);

	if (!s || path_join(a, state, STR("acl"), &s->directory, e) < 0 ||
	    make_directories(s->directory, e) < 0)
		return err_result(e);
	*out = (struct acl_system){ .user = s,
				    .lock = lock,
				    .unlock = unlock,
				    .journal_new = journal_new,
				    .journal_take = journal_take,
				    .journal_add = journal_add,
				    .journal_read = journal_read,
				    .journal_remove = journal_remove,
				    .journal_close = journal_close,
				    .journal_list = journal_list };
	acl_files_open(out);
	return 0;
}

void acl_system_close(struct acl_system *system)
{
	struct state *s = system->user;

	if (s->mutex)
		CloseHandle(s->mutex);
	s->mutex = NULL;
}
