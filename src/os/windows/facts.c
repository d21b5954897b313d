/* SPDX-License-Identifier: MIT */
/* This process and this host; see os/os.h. */
#include "os/windows/facts.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/windows_path.h"
#include "os/os.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/files.h"

#include <tlhelp32.h>

const char os_system_name[] = "windows";

/*
 * Those that Windows runs by itself, in its order; what a name already has stays. Batch files are found, so that
 * process_start() can refuse them by name.
 */
const char os_path_separator = ';';
const bool os_variables_fold = true;
const char *const os_program_suffixes[] = { "", ".com", ".exe", ".bat", ".cmd", NULL };

uint64_t os_user(void)
{
	return 0;
}

/* An administrator's rights hide nothing from what Cordon asks; who has them is asked where it counts. */
bool os_is_root(void)
{
	return false;
}

/* ---- The environment ---------------------------------------------------------------------------------- */

struct environment {
	wchar_t *block;	    /* that it was made from */
	size_t block_units; /* with the NUL that ends it */
	const char **list;
	struct environment *older;
};

static struct environment *newest;
static SRWLOCK lock = SRWLOCK_INIT;

static size_t measure(const wchar_t *block, size_t *count)
{
	const wchar_t *at = block;

	for (*count = 0; *at; (*count)++)
		at += wcslen(at) + 1;
	return (size_t)(at - block) + 1;
}

static struct environment *read_environment(const wchar_t *block, size_t units, size_t count,
					    struct err *e)
{
	enum { MOST = 3 };
	size_t list_bytes = (count + 1) * sizeof(char *), block_bytes = units * sizeof(*block);
	struct environment *made = mem_new(sizeof(*made), e);
	char *room = made ? mem_new(list_bytes + block_bytes + units * MOST, e) : NULL;
	char *text;
	size_t n = 0;

	if (!room) {
		mem_free(made);
		return NULL;
	}
	made->list = (const char **)(void *)room;
	made->block = (wchar_t *)(void *)(room + list_bytes);
	memcpy(made->block, block, block_bytes);
	made->block_units = units;
	text = room + list_bytes + block_bytes;
	for (; *block; block += wcslen(block) + 1) {
		int len = narrow_text(block, wcslen(block), text, wcslen(block) * MOST + 1);

		/* Those in which cmd.exe keeps the directories of drives are no variables. */
		if (len < 0 || block[0] == L'=')
			continue;
		made->list[n++] = text;
		text += len + 1;
	}
	return made;
}

/* What was handed out stays: callers borrow it for as long as they like. */
static struct environment *find_current(const wchar_t *block)
{
	size_t count, units = measure(block, &count);
	struct err e = ERR_INIT;
	struct environment *made;

	if (newest && newest->block_units == units && wmemcmp(newest->block, block, units) == 0)
		return newest;
	made = read_environment(block, units, count, &e);
	if (!made)
		return newest;
	made->older = newest;
	newest = made;
	return made;
}

const char *const *os_environment(void)
{
	static const char *const none[] = { NULL };
	const struct environment *current = NULL;
	wchar_t *block = GetEnvironmentStringsW();

	if (!block)
		return none;
	AcquireSRWLockExclusive(&lock);
	current = find_current(block);
	ReleaseSRWLockExclusive(&lock);
	(void)FreeEnvironmentStringsW(block);
	return current ? current->list : none;
}

/* Names of variables that differ in case alone are one here. */
const char *os_environment_find(const char *const *environment, const char *name)
{
	for (; *environment; environment++) {
		const char *at = *environment, *wanted = name;

		while (*wanted && ascii_lower(*at) == ascii_lower(*wanted)) {
			at++;
			wanted++;
		}
		if (!*wanted && *at == '=')
			return at + 1;
	}
	return NULL;
}

/* ---- Where ------------------------------------------------------------------------------------------------ */

bool facts_full_path(struct str path, char out[PATH_MAX_BYTES])
{
	UNINITIALIZED wchar_t given[WIDE_PATH];
	UNINITIALIZED wchar_t full[WIDE_PATH];
	DWORD n;

	if (str_is(path, "/"))
		return memcpy(out, "/", 2) != NULL;
	if (windows_is_path(path) ? wide_plain_path(path, given) < 0
				  : wide_text(path, given, COUNT_OF(given)) < 0)
		return false;
	n = GetFullPathNameW(given, COUNT_OF(full), full, NULL);
	if (n == 0 || n >= COUNT_OF(full)) {
		errno = n ? ENAMETOOLONG : error_last();
		return false;
	}
	if (narrow_path(full, n, out) >= 0)
		return true;
	if (errno == EINVAL)
		errno = ENOTSUP;
	return false;
}

int os_canonical_directory(struct arena *a, struct str path, struct str *out, struct err *e)
{
	UNINITIALIZED char full[PATH_MAX_BYTES];
	UNINITIALIZED char real[PATH_MAX_BYTES];
	struct shown_path shown;
	FILE_STANDARD_INFO info;
	HANDLE handle;
	bool is_found;

	if (str_has_nul(path))
		return FAIL(e, ERR_SYNTAX, "a path contains a NUL byte");
	if (!facts_full_path(path, full))
		return FAIL_SYS(e, errno, "can't use the directory '%s'", files_show(&shown, path));
	handle = files_open(str_of(full), FILE_READ_ATTRIBUTES, FILES_FOLLOW);
	if (!handle)
		return FAIL_SYS(e, errno, "can't use the directory '%s'", files_show(&shown, path));
	is_found = files_real_path(handle, real);
	if (is_found &&
	    (!GetFileInformationByHandleEx(handle, FileStandardInfo, &info, sizeof(info)) ||
	     !info.Directory)) {
		errno = ENOTDIR;
		is_found = false;
	}
	(void)CloseHandle(handle);
	if (!is_found)
		return FAIL_SYS(e, errno, "can't use the directory '%s'", files_show(&shown, path));
	return arena_copy(a, str_of(real), out, e);
}

int os_working_directory(struct arena *a, struct str *out, struct err *e)
{
	return os_canonical_directory(a, STR("."), out, e);
}

int os_program_path(struct arena *a, struct str *out, struct err *e)
{
	UNINITIALIZED wchar_t name[WIDE_PATH];
	UNINITIALIZED char path[PATH_MAX_BYTES];
	UNINITIALIZED char real[PATH_MAX_BYTES];
	DWORD n = GetModuleFileNameW(NULL, name, COUNT_OF(name));

	if (n == 0 || n >= COUNT_OF(name) || narrow_path(name, n, path) < 0)
		return FAIL_SYS(e, n ? ENAMETOOLONG : error_last(), "can't find this program");
	return arena_copy(a, os_real_path(path, real) ? str_of(real) : STR_EMPTY, out, e);
}

struct str os_kernel_release(char *room, size_t size)
{
	typedef LONG(WINAPI * get_version)(OSVERSIONINFOW *);
	OSVERSIONINFOW version = { .dwOSVersionInfoSize = sizeof(version) };
	HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
	get_version get = NULL;
	FARPROC found = ntdll ? GetProcAddress(ntdll, "RtlGetVersion") : NULL;

	/* A function of another type: C has no other way to say so. */
	memcpy(&get, &found, sizeof(get));
	if (!get || get(&version) != 0)
		return STR_EMPTY;
	(void)snprintf(room, size, "%lu.%lu.%lu", version.dwMajorVersion, version.dwMinorVersion,
		       version.dwBuildNumber);
	return str_of(room);
}

/* ---- Processes ------------------------------------------------------------------------------------------------ */

pid_t os_parent_of(pid_t pid)
{
	PROCESSENTRY32W entry = { .dwSize = sizeof(entry) };
	HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	pid_t parent = 0;

	if (all == INVALID_HANDLE_VALUE)
		return 0;
	for (BOOL more = Process32FirstW(all, &entry); more; more = Process32NextW(all, &entry))
		if ((pid_t)entry.th32ProcessID == pid)
			parent = (pid_t)entry.th32ParentProcessID;
	(void)CloseHandle(all);
	return parent;
}

bool os_find_starter(char out[OS_STARTER_BYTES])
{
	(void)out;
	return false;
}

bool os_starter_is_there(struct str starter)
{
	(void)starter;
	return false;
}

bool os_is_filtered(void)
{
	return false;
}

bool os_all_sleep(pid_t pid, int depth)
{
	(void)pid;
	(void)depth;
	return false;
}

/* There is no list that a program reads; this user's home is %USERPROFILE%. */
int os_list_users(struct str users_file,
		  int (*each)(void *arg, uint64_t uid, struct str home, struct err *e), void *arg,
		  struct err *e)
{
	(void)users_file;
	(void)each;
	(void)arg;
	(void)e;
	return 0;
}
