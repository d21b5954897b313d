/* SPDX-License-Identifier: MIT */
/* Reading files whole; see os/os.h. */
#include <errno.h>

#include "os/os.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/facts.h"
#include "os/windows/files.h"

/*
 * SECURITY: what is missing behind a link that leads nowhere, or below a file, is no answer: a link could make
 * a policy's denies disappear.
 */
static int check_missing(struct str path, struct err *e)
{
	struct shown_path shown;

	for (size_t at = 0; at < path.len;) {
		struct os_file file;
		struct str name, part;

		if (!path_next(path, &at, &name))
			break;
		part = str_first(path, at);
		if (os_look(part, &file, e) < 0)
			return err_result(e);
		if (file.type == OS_MISSING)
			break;
		if (file.type == OS_HIDDEN)
			return FAIL_SYS_CAUSE(e, CAUSE_FILE_UNREADABLE, EACCES,
					      "can't look at '%s'", files_show(&shown, part));
		if (file.type == OS_LINK) {
			HANDLE there = files_open(part, FILE_READ_ATTRIBUTES, FILES_FOLLOW);

			if (!there)
				return FAIL(e, ERR_POLICY, "'%s' is a link that leads nowhere",
					    files_show(&shown, part));
			(void)CloseHandle(there);
		} else if (file.type != OS_DIR && part.len < path.len) {
			return FAIL(e, ERR_POLICY, "'%s' is no directory",
				    files_show(&shown, part));
		}
	}
	return 0;
}

static int fail_open(struct str path, int error, struct err *e)
{
	static const char text[] = "can't open '%s'; make it readable, or remove it";
	struct shown_path shown;

	if (error == EACCES || error == EPERM)
		return FAIL_SYS_CAUSE(e, CAUSE_FILE_UNREADABLE, error, text,
				      files_show(&shown, path));
	return FAIL_SYS(e, error, text, files_show(&shown, path));
}

static int read_handle(struct arena *a, HANDLE handle, struct str path, size_t max_bytes,
		       struct str *out, struct os_seen *seen, struct err *e)
{
	BY_HANDLE_FILE_INFORMATION info;
	struct shown_path shown;
	uint64_t size;
	long long got;
	char *text;

	if (GetFileType(handle) != FILE_TYPE_DISK || !GetFileInformationByHandle(handle, &info))
		return FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED, "'%s' is a device or a pipe",
				  files_show(&shown, path));
	if (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
		return FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED,
				  "'%s' is a directory, not a regular file",
				  files_show(&shown, path));
	size = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
	if (size > max_bytes)
		return FAIL(e, ERR_LIMIT, "'%s' has %llu bytes, the limit is %zu",
			    files_show(&shown, path), (unsigned long long)size, max_bytes);
	text = arena_alloc(a, (size_t)size + 1, e);
	if (!text)
		return err_result(e);
	got = files_read(handle, text, (size_t)size + 1);
	if (got < 0)
		return FAIL_SYS_CAUSE(e, CAUSE_FILE_UNREADABLE, errno, "can't read '%s'",
				      files_show(&shown, path));
	if ((uint64_t)got != size)
		return FAIL(e, ERR_POLICY, "'%s' changed while it was read; try again",
			    files_show(&shown, path));
	text[size] = '\0';
	*seen = (struct os_seen){ .is_there = true, .has_other_names = info.nNumberOfLinks > 1 };
	*out = (struct str){ text, (size_t)size };
	return 0;
}

/* 1: it is open; 0: it is missing. */
static int open_it(struct str path, HANDLE *out, struct err *e)
{
	HANDLE handle = files_open(path, GENERIC_READ, FILES_FOLLOW);

	if (handle) {
		*out = handle;
		return 1;
	}
	/* A directory can be opened for its attributes at least. */
	if (errno == EACCES && (handle = files_open(path, FILE_READ_ATTRIBUTES, FILES_FOLLOW))) {
		FILE_STANDARD_INFO info;
		bool is_dir = GetFileInformationByHandleEx(handle, FileStandardInfo, &info,
							   sizeof(info)) &&
			      info.Directory;

		if (is_dir) {
			*out = handle;
			return 1;
		}
		(void)CloseHandle(handle);
		errno = EACCES;
	}
	if (errno != ENOENT && errno != ENOTDIR)
		return fail_open(path, errno, e);
	return check_missing(path, e) < 0 ? err_result(e) : 0;
}

/* The path of an option may be relative, as the working directory has it. */
static int make_absolute(struct arena *a, struct str path, struct str *out, struct err *e)
{
	char full[PATH_MAX_BYTES];

	if (!facts_full_path(path, full))
		return fail_open(path, errno, e);
	return arena_copy(a, str_of(full), out, e);
}

int os_read_file(struct arena *a, struct str path, size_t max_bytes, struct str *out,
		 struct os_seen *seen, struct err *e)
{
	HANDLE handle;
	int r;

	if (make_absolute(a, path, &path, e) < 0)
		return err_result(e);
	r = open_it(path, &handle, e);
	if (r < 0)
		return err_result(e);
	*seen = (struct os_seen){ .is_there = false };
	if (r == 0)
		return 0;
	r = read_handle(a, handle, path, max_bytes, out, seen, e);
	(void)CloseHandle(handle);
	return r;
}

/* SECURITY: where the opened file really is, whatever was on the way to it. */
static bool is_beneath(HANDLE handle, struct str dir)
{
	UNINITIALIZED char real[PATH_MAX_BYTES];
	UNINITIALIZED char real_dir[PATH_MAX_BYTES];
	HANDLE at = files_open(dir, FILE_READ_ATTRIBUTES, FILES_FOLLOW);
	bool is = at && files_real_path(at, real_dir) && files_real_path(handle, real) &&
		  path_is_under(str_of(real), str_of(real_dir));

	if (at)
		(void)CloseHandle(at);
	return is;
}

int os_read_file_beneath(struct arena *a, struct str dir, struct str below, size_t max_bytes,
			 struct str *out, struct os_seen *seen, struct err *e)
{
	struct shown_path shown;
	struct str whole;
	HANDLE handle;
	int r;

	if (path_join(a, dir, below, &whole, e) < 0)
		return err_result(e);
	r = open_it(whole, &handle, e);
	if (r < 0)
		return err_result(e);
	*seen = (struct os_seen){ .is_there = false };
	if (r == 0)
		return 0;
	if (is_beneath(handle, dir))
		r = read_handle(a, handle, whole, max_bytes, out, seen, e);
	else
		r = FAIL(
			e, ERR_POLICY,
			"'%s' is reached by a link that leaves that directory; put the file itself "
			"there, or remove the link",
			files_show(&shown, whole));
	(void)CloseHandle(handle);
	return r;
}

int os_read_input(struct arena *a, size_t max_bytes, struct str *out, struct err *e)
{
	scoped_buf text = BUF_INIT(max_bytes);
	char block[16 << 10];

	for (;;) {
		long long got = files_read(GetStdHandle(STD_INPUT_HANDLE), block, sizeof(block));

		if (got < 0)
			return FAIL_SYS(e, errno, "can't read the standard input");
		buf_add(&text, (struct str){ block, (size_t)got });
		if (text.failed == ERR_LIMIT)
			return FAIL(e, ERR_LIMIT,
				    "the standard input has more bytes than the limit of %zu",
				    max_bytes);
		if (buf_check(&text, e) < 0)
			return err_result(e);
		if ((size_t)got < sizeof(block))
			return arena_copy(a, buf_str(&text), out, e);
	}
}

ssize_t os_read_small(const char *path, char *out, size_t room)
{
	(void)path;
	(void)out;
	(void)room;
	return -ENOSYS;
}
