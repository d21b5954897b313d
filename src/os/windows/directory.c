/* SPDX-License-Identifier: MIT */
/* The names in a directory; see os/os.h. */
#include <errno.h>

#include "os/os.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/files.h"
#include "os/windows/link.h"

static int list_drives(int (*each)(void *arg, struct str name, enum os_type type, struct err *e),
		       void *arg, struct err *e)
{
	DWORD drives = GetLogicalDrives();

	for (int i = 0; i < 26; i++) {
		const char name[] = { (char)('A' + i), ':' };
		int r;

		if (!(drives & 1u << i))
			continue;
		r = each(arg, (struct str){ name, sizeof(name) }, OS_DIR, e);
		if (r)
			return r;
	}
	return 0;
}

static int tell(const WIN32_FIND_DATAW *found,
		int (*each)(void *arg, struct str name, enum os_type type, struct err *e),
		void *arg, struct err *e)
{
	char name[4 * MAX_PATH];
	int n = narrow_text(found->cFileName, wcslen(found->cFileName), name, sizeof(name));

	if (n < 0)
		return FAIL_SYS(e, errno, "a name is too long");
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	return each(arg, (struct str){ name, (size_t)n },
		    look_type(found->dwFileAttributes, found->dwReserved0), e);
}

static HANDLE begin(struct str path, WIN32_FIND_DATAW *first, struct err *e)
{
	UNINITIALIZED wchar_t pattern[WIDE_PATH];
	struct shown_path shown;
	HANDLE search = INVALID_HANDLE_VALUE;
	int n = wide_path(path, pattern);

	if (n < 0 || (size_t)n + 3 > WIDE_PATH) {
		(void)FAIL_SYS(e, n < 0 ? errno : ENAMETOOLONG, "can't list '%s'",
			       files_show(&shown, path));
		return search;
	}
	if (pattern[n - 1] != L'\\')
		pattern[n++] = L'\\';
	pattern[n++] = L'*';
	pattern[n] = L'\0';
	search = FindFirstFileExW(pattern, FindExInfoBasic, first, FindExSearchNameMatch, NULL,
				  FIND_FIRST_EX_LARGE_FETCH);
	if (search == INVALID_HANDLE_VALUE)
		(void)FAIL_WINDOWS(e, GetLastError(), "can't list '%s'", files_show(&shown, path));
	return search;
}

int os_list(struct str path,
	    int (*each)(void *arg, struct str name, enum os_type type, struct err *e), void *arg,
	    struct err *e)
{
	struct shown_path shown;
	WIN32_FIND_DATAW found;
	HANDLE search;
	int r = 0;

	if (str_is(path, "/"))
		return list_drives(each, arg, e);
	search = begin(path, &found, e);
	if (search == INVALID_HANDLE_VALUE)
		/* The root of an empty drive has not even ".": no names. */
		return e->os_error == ENOENT && path_depth(path) == 1 ? (err_clear(e), 0)
								      : err_result(e);
	do
		r = tell(&found, each, arg, e);
	while (r == 0 && FindNextFileW(search, &found));
	if (r == 0 && GetLastError() != ERROR_NO_MORE_FILES)
		r = FAIL_WINDOWS(e, GetLastError(), "can't list '%s'", files_show(&shown, path));
	(void)FindClose(search);
	return r;
}

/* No stamp: whether the names have changed meanwhile is not known here. */
int os_list_stamped(struct str path,
		    int (*each)(void *arg, struct str name, enum os_type type, struct err *e),
		    void *arg, struct os_stamp_kind *kind, struct stamp *stamp, struct err *e)
{
	(void)kind;
	if (stamp)
		*stamp = (struct stamp){ .inode = 0 };
	return os_list(path, each, arg, e);
}
