/* SPDX-License-Identifier: MIT */
/*
 * See settings_file.h. Reading is as everywhere. Nothing is changed: what a file of another program has of access
 * lists, streams and attributes would have to be kept, and this version can't show that it is.
 */
#include "os/settings_file.h"

#include "os/os.h"

static int refuse(struct err *e)
{
	return FAIL_CAUSE(
		e, CAUSE_OTHER_PLATFORM,
		"changing files of other programs is not built for Windows in this version");
}

int os_settings_read(struct arena *a, struct str path, bool follows, size_t max_bytes,
		     struct os_settings *out, struct err *e)
{
	struct os_settings found = { .path = path, .text = STR_EMPTY, .mode = 0600 };
	struct os_seen seen;

	(void)follows;
	if (os_read_file(a, path, max_bytes, &found.text, &seen, e) < 0)
		return err_result(e);
	found.is_there = seen.is_there;
	*out = found;
	return 0;
}

int os_settings_replace(const struct os_settings *was, struct str text, uint32_t mode,
			struct err *e)
{
	(void)was;
	(void)text;
	(void)mode;
	return refuse(e);
}

int os_settings_remove(const struct os_settings *was, struct err *e)
{
	(void)was;
	return refuse(e);
}

void os_settings_drop_leftover(struct str path)
{
	(void)path;
}

int os_settings_make_directory(struct str path, uint32_t mode, struct err *e)
{
	(void)path;
	(void)mode;
	return refuse(e);
}

void os_settings_drop_directory(struct str path)
{
	(void)path;
}
