/* SPDX-License-Identifier: MIT */
/* See link.h. */
#include "os/windows/link.h"

#include <errno.h>

#include "base/windows_path.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/files.h"

/* [MS-FSCC] 2.1.2: what the headers of mingw-w64 do not name. */
enum {
	TAG_APP_EXEC_LINK = 0x8000001B,
	TAG_WSL_LINK = 0xA000001D,
	TAG_UNIX_SOCKET = 0x80000023,
	TAG_WSL_FIFO = 0x80000024,
	TAG_WSL_CHARACTERS = 0x80000025,
	TAG_WSL_BLOCKS = 0x80000026,
};

bool link_is_special(uint32_t tag)
{
	return tag == (uint32_t)TAG_APP_EXEC_LINK || tag == (uint32_t)TAG_WSL_LINK ||
	       tag == (uint32_t)TAG_UNIX_SOCKET || tag == (uint32_t)TAG_WSL_FIFO ||
	       tag == (uint32_t)TAG_WSL_CHARACTERS || tag == (uint32_t)TAG_WSL_BLOCKS;
}

/* REPARSE_DATA_BUFFER of the driver kit. */
struct reparse_data {
	ULONG tag;
	USHORT length, reserved;
	USHORT target_at, target_bytes, shown_at, shown_bytes;
	union {
		struct {
			ULONG flags; /* of a symbolic link */
			WCHAR paths[1];
		} link;
		WCHAR paths[1]; /* of a junction */
	};
};
enum { IS_RELATIVE = 1 };

union reparse_room {
	struct reparse_data data;
	unsigned char bytes[MAXIMUM_REPARSE_DATA_BUFFER_SIZE];
};

static int fail(struct str path, const char *why, struct err *e)
{
	struct shown_path shown;

	return FAIL_SYS(e, ENOTSUP, "can't follow the link '%s', which leads %s",
			files_show(&shown, path), why);
}

static void add_slashed(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_add_char(out, *text == '\\' ? '/' : *text);
}

/* "\??\C:\a", or "\a" from the root of the link's own drive, or relative. */
static int add_target(struct str path, const wchar_t *text, size_t len, bool is_relative,
		      struct buf *out, struct err *e)
{
	char narrow[PATH_MAX_BYTES];
	bool is_native = len >= 4 && wmemcmp(text, L"\\??\\", 4) == 0;

	if (is_native) {
		text += 4;
		len -= 4;
	}
	if (!is_relative) {
		if (narrow_path(text, len, narrow) < 0)
			return fail(path, "to a network drive or to a volume without a letter", e);
		buf_add_text(out, narrow);
		return buf_check(out, e);
	}
	if (narrow_text(text, len, narrow, sizeof(narrow)) < 0)
		return fail(path, "to a name that is too long", e);
	if (narrow[0] == '\\')
		buf_add(out, str_first(path, 3)); /* "/C:" */
	add_slashed(out, narrow);
	return buf_check(out, e);
}

static int read_target(struct str path, const union reparse_room *room, DWORD bytes,
		       struct buf *out, struct err *e)
{
	const struct reparse_data *data = &room->data;
	bool is_link = data->tag == IO_REPARSE_TAG_SYMLINK;
	const WCHAR *paths = is_link ? data->link.paths : data->paths;
	size_t start = (size_t)((const unsigned char *)paths - room->bytes) + data->target_at;

	if (!is_link && data->tag != IO_REPARSE_TAG_MOUNT_POINT)
		return FAIL_SYS(e, EINVAL, "this is no link");
	if (start + data->target_bytes > bytes || data->target_at % sizeof(WCHAR))
		return FAIL(e, ERR_SYS, "a link is not as Windows writes links");
	return add_target(path, paths + data->target_at / sizeof(WCHAR),
			  data->target_bytes / sizeof(WCHAR),
			  is_link && data->link.flags & IS_RELATIVE, out, e);
}

int os_read_link(struct str path, struct buf *out, struct err *e)
{
	UNINITIALIZED union reparse_room room;
	struct shown_path shown;
	DWORD bytes = 0;
	HANDLE handle = files_open(path, FILE_READ_ATTRIBUTES, FILES_NOT_FOLLOW);
	int r;

	if (!handle)
		return FAIL_SYS(e, errno, "can't read the link '%s'", files_show(&shown, path));
	if (DeviceIoControl(handle, FSCTL_GET_REPARSE_POINT, NULL, 0, &room, sizeof(room), &bytes,
			    NULL))
		r = read_target(path, &room, bytes, out, e);
	else
		r = FAIL_WINDOWS(e, GetLastError(), "can't read the link '%s'",
				 files_show(&shown, path));
	(void)CloseHandle(handle);
	return r;
}
