/* SPDX-License-Identifier: MIT */
/*
 * See acl_apply.h: the files of this machine. Every object is opened by itself, never through a link at its end; a child
 * by its name in the handle of its directory, so nobody can exchange what is above it.
 */
#include "os/windows/api.h"

#include <errno.h>
#include <winternl.h>

#include "backend/windows/acl_files.h"
#include "base/path.h"
#include "base/windows_path.h"
#include "os/windows/error.h"
#include "os/windows/text.h"

enum {
	LIST_BYTES = 64 << 10,
	MAX_NAMES_BYTES = 256 << 20,
	LIST_RIGHTS = FILE_LIST_DIRECTORY | FILE_TRAVERSE,
	ACL_RIGHTS = READ_CONTROL | WRITE_DAC | FILE_READ_ATTRIBUTES | SYNCHRONIZE,
	SHARE_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
	AS_ITSELF = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS,
};

static bool is_missing(DWORD code)
{
	return code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND;
}

/* Of a call that needs a right to a list. */
static int fail_closed(struct err *e, DWORD code, const char *what)
{
	if (code != ERROR_ACCESS_DENIED)
		return FAIL_WINDOWS(e, code, "can't %s", what);
	return FAIL_SYS_CAUSE(e, CAUSE_ACL_CLOSED, error_number(code), "can't %s", what);
}

/* ---- Opening -------------------------------------------------------------------------------------- */

/* A link or junction. Other reparse points are files all the same: in a cloud, compressed, deduplicated. */
static bool is_name_surrogate(const FILE_ATTRIBUTE_TAG_INFO *tag)
{
	return (tag->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) &&
	       IsReparseTagNameSurrogate(tag->ReparseTag);
}

/* Takes the handle over. */
static int describe(HANDLE handle, struct acl_object *out, struct err *e)
{
	FILE_ATTRIBUTE_TAG_INFO tag;
	FILE_ID_INFO id;

	if (!GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof(tag)) ||
	    !GetFileInformationByHandleEx(handle, FileIdInfo, &id, sizeof(id))) {
		DWORD code = GetLastError();

		CloseHandle(handle);
		return FAIL_WINDOWS(e, code, "can't tell which file it is");
	}
	*out = (struct acl_object){
		.handle = handle,
		.is_dir = (tag.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0,
		.is_link = is_name_surrogate(&tag),
	};
	memcpy(out->id, &id.VolumeSerialNumber, sizeof(id.VolumeSerialNumber));
	memcpy(out->id + sizeof(id.VolumeSerialNumber), &id.FileId, sizeof(id.FileId));
	return 0;
}

/* Names are compared as the file system does it. */
static bool is_same_path(struct str a, struct str b)
{
	scoped_arena scratch = ARENA_INIT(1 << 16);
	struct err ignored = ERR_INIT;
	struct str x, y;

	return upcase_copy(&scratch, a, &x, &ignored) == 0 &&
	       upcase_copy(&scratch, b, &y, &ignored) == 0 && str_eq(x, y);
}

/* A short name, or a drive that stands for a directory, shows here. */
static int check_path(HANDLE handle, struct str path, struct err *e)
{
	wchar_t wide[WIDE_PATH];
	char final[PATH_MAX_BYTES];
	DWORD length = GetFinalPathNameByHandleW(handle, wide, WIDE_PATH, FILE_NAME_NORMALIZED);
	int narrow;

	if (length == 0 || length >= WIDE_PATH)
		return FAIL_WINDOWS(e, length ? ERROR_FILENAME_EXCED_RANGE : GetLastError(),
				    "can't tell where it lies");
	narrow = narrow_path(wide, length, final);
	if (narrow < 0 || !is_same_path(path, (struct str){ final, (size_t)narrow }))
		return FAIL_CAUSE(e, CAUSE_FILE_CHANGED, "its path is another by now");
	return 0;
}

static NTSTATUS open_below(HANDLE dir, UNICODE_STRING *name, ACCESS_MASK rights, HANDLE *out)
{
	OBJECT_ATTRIBUTES attributes;
	IO_STATUS_BLOCK status;

	InitializeObjectAttributes(&attributes, name, OBJ_CASE_INSENSITIVE, dir, NULL);
	return NtCreateFile(out, rights, &attributes, &status, NULL, 0, SHARE_ALL, FILE_OPEN,
			    FILE_OPEN_REPARSE_POINT | FILE_OPEN_FOR_BACKUP_INTENT |
				    FILE_SYNCHRONOUS_IO_NONALERT,
			    NULL, 0);
}

/* By a name in a directory. A null handle: there is nothing. */
static int open_name(HANDLE dir, struct str name, ACCESS_MASK rights, HANDLE *out, struct err *e)
{
	wchar_t wide[PATH_MAX_COMPONENT + 1];
	int length = wide_text(name, wide, COUNT_OF(wide));
	UNICODE_STRING text = { .Buffer = wide };
	NTSTATUS status;
	DWORD code;

	*out = NULL;
	if (length < 0)
		return FAIL_SYS(e, errno, "can't open it");
	text.Length = (USHORT)((size_t)length * sizeof(wchar_t));
	text.MaximumLength = text.Length;
	status = open_below(dir, &text, rights, out);
	code = RtlNtStatusToDosError(status);
	/* What may not be listed can have its list changed all the same. */
	if (status < 0 && code == ERROR_ACCESS_DENIED && (rights & WRITE_DAC)) {
		status = open_below(dir, &text, ACL_RIGHTS, out);
		code = RtlNtStatusToDosError(status);
	}
	if (status >= 0)
		return 0;
	*out = NULL;
	return is_missing(code) ? 0 : fail_closed(e, code, "open it");
}

static int open_in(void *user, const struct acl_object *dir, struct str name,
		   struct acl_object *out, struct err *e)
{
	HANDLE handle;

	(void)user;
	*out = (struct acl_object){ .handle = NULL };
	if (open_name(dir->handle, name, ACL_RIGHTS | LIST_RIGHTS, &handle, e) < 0)
		return err_result(e);
	return handle ? describe(handle, out, e) : 0;
}

static int open_drive(struct str path, HANDLE *out, struct err *e)
{
	char text[PATH_MAX_BYTES];
	struct buf drive = BUF_OVER(text);
	wchar_t wide[WIDE_PATH];

	buf_add(&drive, path);
	buf_add_char(&drive, '/');
	if (buf_check(&drive, e) < 0)
		return err_result(e);
	if (wide_path(buf_str(&drive), wide) < 0)
		return FAIL_SYS(e, errno, "can't open its drive");
	*out = CreateFileW(wide, ACL_RIGHTS | LIST_RIGHTS, SHARE_ALL, NULL, OPEN_EXISTING,
			   AS_ITSELF, NULL);
	/* Who is no administrator may not change the list of a drive, and need not. */
	if (*out == INVALID_HANDLE_VALUE && GetLastError() == ERROR_ACCESS_DENIED)
		*out = CreateFileW(wide, FILE_READ_ATTRIBUTES | SYNCHRONIZE, SHARE_ALL, NULL,
				   OPEN_EXISTING, AS_ITSELF, NULL);
	if (*out != INVALID_HANDLE_VALUE)
		return 0;
	*out = NULL;
	return is_missing(GetLastError()) ? 0 : fail_closed(e, GetLastError(), "open its drive");
}

static int check_no_link(HANDLE handle, struct err *e)
{
	FILE_ATTRIBUTE_TAG_INFO tag;

	if (!GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof(tag)))
		return FAIL_WINDOWS(e, GetLastError(), "can't tell what it is");
	if (is_name_surrogate(&tag))
		return FAIL_CAUSE(e, CAUSE_FILE_CHANGED, "something above it is a link by now");
	return 0;
}

/* SECURITY: component by component, so no link on the way is followed (P8). */
static int open_down(struct str path, HANDLE *out, struct err *e)
{
	struct str name;
	size_t at = 0;

	*out = NULL;
	while (path_next(path, &at, &name)) {
		const bool is_last = at >= path.len;
		const ACCESS_MASK rights = is_last ? ACL_RIGHTS | LIST_RIGHTS
						   : FILE_READ_ATTRIBUTES | SYNCHRONIZE;
		HANDLE dir = *out;
		int r = dir ? check_no_link(dir, e) : 0;

		*out = NULL;
		if (r == 0)
			r = dir ? open_name(dir, name, rights, out, e)
				: open_drive(str_first(path, at), out, e);
		if (dir)
			CloseHandle(dir);
		if (r < 0 || !*out)
			return r;
	}
	return 0;
}

static int open_path(void *user, struct str path, struct acl_object *out, struct err *e)
{
	HANDLE handle;

	(void)user;
	*out = (struct acl_object){ .handle = NULL };
	if (open_down(path, &handle, e) < 0)
		return err_result(e);
	if (!handle)
		return 0;
	if (check_path(handle, path, e) < 0) {
		CloseHandle(handle);
		return err_result(e);
	}
	return describe(handle, out, e);
}

static int open_id(void *user, struct str path, const unsigned char *id, struct acl_object *out,
		   struct err *e)
{
	FILE_ID_DESCRIPTOR wanted = { .dwSize = sizeof(wanted), .Type = ExtendedFileIdType };
	struct acl_object root = { .handle = NULL };
	struct str name;
	size_t at = 0;
	HANDLE handle;

	*out = (struct acl_object){ .handle = NULL };
	if (!path_next(path, &at, &name))
		return 0;
	if (open_path(user, str_first(path, at), &root, e) < 0)
		return err_result(e);
	/* Another disk is there by now. */
	if (!root.handle || memcmp(root.id, id, sizeof(ULONGLONG)) != 0) {
		if (root.handle)
			CloseHandle(root.handle);
		return 0;
	}
	memcpy(&wanted.ExtendedFileId, id + sizeof(ULONGLONG), sizeof(wanted.ExtendedFileId));
	handle = OpenFileById(root.handle, &wanted, ACL_RIGHTS | LIST_RIGHTS, SHARE_ALL, NULL,
			      AS_ITSELF);
	CloseHandle(root.handle);
	if (handle == INVALID_HANDLE_VALUE) {
		DWORD code = GetLastError();

		/* NTFS says so of a number that no file has. */
		return is_missing(code) || code == ERROR_INVALID_PARAMETER
			       ? 0
			       : fail_closed(e, code, "open it by its number");
	}
	return describe(handle, out, e);
}

static void close_object(void *user, struct acl_object *object)
{
	(void)user;
	CloseHandle(object->handle);
	object->handle = NULL;
}

/* ---- What is missing ------------------------------------------------------------------------------- */

static int make(void *user, struct str path, bool is_dir, struct err *e)
{
	wchar_t wide[WIDE_PATH];
	HANDLE handle;

	(void)user;
	if (wide_path(path, wide) < 0)
		return FAIL_SYS(e, errno, "can't make it");
	if (is_dir)
		return CreateDirectoryW(wide, NULL)
			       ? 0
			       : FAIL_WINDOWS(e, GetLastError(), "can't make it");
	handle = CreateFileW(wide, GENERIC_WRITE, SHARE_ALL, NULL, CREATE_NEW, AS_ITSELF, NULL);
	if (handle == INVALID_HANDLE_VALUE)
		return FAIL_WINDOWS(e, GetLastError(), "can't make it");
	CloseHandle(handle);
	return 0;
}

static int notice(void *arg, struct str name, struct err *e)
{
	bool *has_any = arg;

	(void)name;
	(void)e;
	*has_any = true;
	return 0;
}

static int list(void *user, const struct acl_object *dir,
		int (*each)(void *arg, struct str name, struct err *e), void *arg, struct err *e);

static int look_empty(void *user, const struct acl_object *object, bool *is_empty, struct err *e)
{
	FILE_STANDARD_INFO info;
	bool has_any = false;

	if (object->is_dir) {
		if (list(user, object, notice, &has_any, e) < 0)
			return err_result(e);
		*is_empty = !has_any;
		return 0;
	}
	if (!GetFileInformationByHandleEx(object->handle, FileStandardInfo, &info, sizeof(info)))
		return FAIL_WINDOWS(e, GetLastError(), "can't tell its size");
	*is_empty = info.EndOfFile.QuadPart == 0;
	return 0;
}

static int discard(void *user, const struct acl_object *object, struct err *e)
{
	FILE_DISPOSITION_INFO info = { .DeleteFile = TRUE };
	HANDLE handle = ReOpenFile(object->handle, DELETE, SHARE_ALL, AS_ITSELF);
	BOOL ok;
	DWORD code;

	(void)user;
	if (handle == INVALID_HANDLE_VALUE)
		return FAIL_WINDOWS(e, GetLastError(), "can't remove it");
	ok = SetFileInformationByHandle(handle, FileDispositionInfo, &info, sizeof(info));
	code = GetLastError();
	CloseHandle(handle);
	/* Somebody has put something there since it was looked at. */
	if (!ok && code == ERROR_DIR_NOT_EMPTY)
		return 0;
	return ok ? 0 : FAIL_WINDOWS(e, code, "can't remove it");
}

/* ---- Directories ----------------------------------------------------------------------------------- */

/* The names of one answer, appended with a NUL behind each. */
static int take_names(const char *answer, struct buf *found, struct err *e)
{
	for (;;) {
		FILE_FULL_DIR_INFO info;
		const size_t head = offsetof(FILE_FULL_DIR_INFO, FileName);
		wchar_t wide[PATH_MAX_COMPONENT + 1];
		char name[4 * (PATH_MAX_COMPONENT + 1)];
		size_t length;
		int narrow;

		memcpy(&info, answer, head);
		length = info.FileNameLength / sizeof(wchar_t);
		if (length > PATH_MAX_COMPONENT)
			return FAIL(e, ERR_SYS, "a name in it is too long");
		memcpy(wide, answer + head, length * sizeof(wchar_t));
		narrow = narrow_text(wide, length, name, sizeof(name));
		if (narrow < 0)
			return FAIL_SYS(e, errno, "can't read a name in it");
		if (!str_is((struct str){ name, (size_t)narrow }, ".") &&
		    !str_is((struct str){ name, (size_t)narrow }, "..")) {
			buf_add(found, (struct str){ name, (size_t)narrow });
			buf_add_char(found, '\0');
		}
		if (!info.NextEntryOffset)
			return buf_check(found, e);
		answer += info.NextEntryOffset;
	}
}

static int read_names(HANDLE dir, struct buf *found, struct err *e)
{
	scoped_arena a = ARENA_INIT(2 * LIST_BYTES);
	char *answer = arena_alloc(&a, LIST_BYTES, e);
	FILE_INFO_BY_HANDLE_CLASS what = FileFullDirectoryRestartInfo;

	if (!answer)
		return err_result(e);
	while (GetFileInformationByHandleEx(dir, what, answer, LIST_BYTES)) {
		if (take_names(answer, found, e) < 0)
			return err_result(e);
		what = FileFullDirectoryInfo;
	}
	if (GetLastError() != ERROR_NO_MORE_FILES)
		return fail_closed(e, GetLastError(), "list it");
	return 0;
}

/* All names first: each() opens and changes what is there. */
static int list(void *user, const struct acl_object *dir,
		int (*each)(void *arg, struct str name, struct err *e), void *arg, struct err *e)
{
	scoped_buf found = BUF_INIT(MAX_NAMES_BYTES);

	(void)user;
	if (read_names(dir->handle, &found, e) < 0)
		return err_result(e);
	for (size_t at = 0; at < found.len;) {
		struct str name = str_of(found.p + at);

		if (each(arg, name, e) < 0)
			return err_result(e);
		at += name.len + 1;
	}
	return 0;
}

/* ---- Access lists ---------------------------------------------------------------------------------- */

static int read_acl(void *user, const struct acl_object *object, struct arena *a,
		    struct acl_list *out, struct err *e)
{
	SECURITY_DESCRIPTOR_CONTROL control;
	PSECURITY_DESCRIPTOR descriptor;
	BOOL is_present, is_default;
	DWORD needed = 0, revision;
	PACL acl = NULL;

	(void)user;
	(void)GetKernelObjectSecurity(object->handle, DACL_SECURITY_INFORMATION, NULL, 0, &needed);
	if (GetLastError() != ERROR_INSUFFICIENT_BUFFER)
		return fail_closed(e, GetLastError(), "read its access list");
	descriptor = arena_alloc(a, needed, e);
	if (!descriptor)
		return err_result(e);
	if (!GetKernelObjectSecurity(object->handle, DACL_SECURITY_INFORMATION, descriptor, needed,
				     &needed) ||
	    !GetSecurityDescriptorControl(descriptor, &control, &revision) ||
	    !GetSecurityDescriptorDacl(descriptor, &is_present, &acl, &is_default))
		return fail_closed(e, GetLastError(), "read its access list");
	*out = (struct acl_list){
		.bytes = STR_EMPTY,
		.is_protected = (control & SE_DACL_PROTECTED) != 0,
		.control = control & (SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED),
	};
	if (is_present && acl)
		out->bytes = (struct str){ (const char *)acl, acl->AclSize };
	return 0;
}

static int write_acl(void *user, const struct acl_object *object, const struct acl_list *what,
		     struct err *e)
{
	const SECURITY_DESCRIPTOR_CONTROL mask = SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED |
						 SE_DACL_AUTO_INHERIT_REQ;
	SECURITY_DESCRIPTOR_CONTROL control = (SECURITY_DESCRIPTOR_CONTROL)what->control;
	SECURITY_DESCRIPTOR descriptor;
	PACL acl = (PACL)(uintptr_t)what->bytes.p;

	(void)user;
	/* Without the request the system takes away what says that the list inherits. */
	if (control & SE_DACL_AUTO_INHERITED)
		control |= SE_DACL_AUTO_INHERIT_REQ;
	if (!InitializeSecurityDescriptor(&descriptor, SECURITY_DESCRIPTOR_REVISION) ||
	    !SetSecurityDescriptorDacl(&descriptor, TRUE, acl, FALSE) ||
	    !SetSecurityDescriptorControl(&descriptor, mask, control) ||
	    !SetKernelObjectSecurity(object->handle, DACL_SECURITY_INFORMATION, &descriptor))
		return fail_closed(e, GetLastError(), "change its access list");
	return 0;
}

void acl_files_open(struct acl_system *out)
{
	out->open = open_path;
	out->open_in = open_in;
	out->open_id = open_id;
	out->close = close_object;
	out->make = make;
	out->look_empty = look_empty;
	out->discard = discard;
	out->list = list;
	out->read_acl = read_acl;
	out->write_acl = write_acl;
}
