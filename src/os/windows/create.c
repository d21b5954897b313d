/* SPDX-License-Identifier: MIT */
/*
 * Making files; see os/os.h. Below a profile what is made is this user's by the access list that it inherits, as
 * with every other program.
 */
#include <errno.h>
#include <stdio.h>

#include "os/os.h"
#include "os/random.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/facts.h"
#include "os/windows/files.h"

static int make_directory(struct str path, struct err *e)
{
	UNINITIALIZED wchar_t name[WIDE_PATH];
	struct shown_path shown;

	if (wide_path(path, name) < 0)
		return FAIL_SYS(e, errno, "can't make the directory '%s'",
				files_show(&shown, path));
	if (CreateDirectoryW(name, NULL) || GetLastError() == ERROR_ALREADY_EXISTS)
		return 0;
	return FAIL_WINDOWS(e, GetLastError(), "can't make the directory '%s'",
			    files_show(&shown, path));
}

int os_make_parents(struct str path, struct err *e)
{
	char full[PATH_MAX_BYTES];
	struct shown_path shown;
	struct str whole, name;
	size_t at = 0;

	if (!facts_full_path(path, full))
		return FAIL_SYS(e, errno, "can't make the directories of '%s'",
				files_show(&shown, path));
	whole = path_parent(str_of(full));
	while (path_next(whole, &at, &name)) {
		struct str part = str_first(whole, at);
		struct os_file file;

		if (path_depth(part) < 2)
			continue;
		if (os_look(part, &file, e) < 0 ||
		    (file.type == OS_MISSING && make_directory(part, e) < 0))
			return err_result(e);
	}
	return 0;
}

int os_create_file(struct str path, struct str text, bool replaces, struct err *e)
{
	char full[PATH_MAX_BYTES], temporary[PATH_MAX_BYTES + 32];
	struct shown_path shown;
	unsigned long long random = 0;
	HANDLE handle;
	int r = os_random(&random, sizeof(random));

	if (r == 0 && !facts_full_path(path, full))
		r = -errno;
	if (r < 0)
		return FAIL_SYS(e, -r, "can't create '%s'", files_show(&shown, path));
	if (os_make_parents(str_of(full), e) < 0)
		return err_result(e);
	(void)snprintf(temporary, sizeof(temporary), "%s.%016llx", full, random);
	handle = files_make(str_of(temporary), FILE_ATTRIBUTE_NORMAL);
	if (!handle)
		return FAIL_SYS(e, errno, "can't create '%s'", files_show(&shown, path));
	r = files_write(handle, text) ? 0 : -errno;
	(void)CloseHandle(handle);
	if (r == 0)
		r = files_rename(str_of(temporary), str_of(full), replaces);
	if (r < 0) {
		files_remove(str_of(temporary));
		return FAIL_SYS(e, -r, "can't create '%s'", files_show(&shown, path));
	}
	return 0;
}
