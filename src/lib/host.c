/* SPDX-License-Identifier: MIT */
/* The host's files as plan/ asks for them, answered by os/. */
#include "lib/lib.h"
#include "os/os.h"

static enum host_type host_type_of(enum os_type type)
{
	switch (type) {
	case OS_MISSING:
		return HOST_MISSING;
	case OS_HIDDEN:
		return HOST_HIDDEN;
	case OS_FILE:
		return HOST_FILE;
	case OS_DIR:
		return HOST_DIR;
	case OS_LINK:
		return HOST_LINK;
	case OS_OTHER:
		break;
	}
	return HOST_OTHER;
}

static int host_look(void *user, struct str path, struct host_file *out, struct err *e)
{
	struct os_file file;

	(void)user;
	if (os_look(path, &file, e) < 0)
		return -(int)e->code;
	*out = (struct host_file){ .type = host_type_of(file.type),
				   .device = file.device,
				   .inode = file.inode };
	return 0;
}

static int host_read_link(void *user, struct str path, struct buf *out, struct err *e)
{
	(void)user;
	return os_read_link(path, out, e);
}

static int host_read_file(void *user, struct str path, struct buf *out, struct err *e)
{
	scoped_arena a = ARENA_INIT(TEXTS_MAX_BYTES);
	struct str text = STR_EMPTY;
	bool is_there = false;

	(void)user;
	if (os_read_file(&a, path, MIN_OF(out->max - out->len, (size_t)TEXTS_MAX_BYTES / 2), &text,
			 &is_there, e) < 0)
		return -(int)e->code;
	if (!is_there)
		return FAIL(e, ERR_NOTFOUND, "'%.*s' is gone", STR_ARG(path));
	buf_add(out, text);
	return buf_check(out, e);
}

struct listing {
	int (*each)(void *arg, struct str name, enum host_type type, struct err *e);
	void *arg;
};

static int list_one(void *arg, struct str name, enum os_type type, struct err *e)
{
	const struct listing *listing = arg;

	return listing->each(listing->arg, name, host_type_of(type), e);
}

static int host_list(void *user, struct str path,
		     int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		     void *arg, struct err *e)
{
	struct listing listing = { .each = each, .arg = arg };

	(void)user;
	return os_list(path, list_one, &listing, e);
}

const struct host lib_host = {
	.look = host_look,
	.read_link = host_read_link,
	.read_file = host_read_file,
	.list = host_list,
};
