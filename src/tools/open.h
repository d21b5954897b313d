/* SPDX-License-Identifier: MIT */
/*
 * From a path to a descriptor, in the worker. The path is walked component by component, links are read and
 * followed here, the path that comes out is judged by scope.h, and then exactly that one is opened, no component of
 * which may be a link. So a link that is swapped in between is an error and no way out, and nothing is checked first
 * and opened then by its name. Where a name may have other spellings (macOS), the kernel is asked where the open
 * file lies, and that is judged as well.
 *
 * What is missing, denied, or nothing for a tool ends in a refusal; a violation says nothing of whether
 * the path exists.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/call.h"

enum file_type { FILE_MISSING, FILE_REGULAR, FILE_DIRECTORY, FILE_LINK, FILE_OTHER };

struct file_facts {
	enum file_type type;
	uint64_t device, inode, size;
	int64_t modified_ns, changed_ns;
	uint32_t mode; /* permissions, with set-ID bits */
	uint32_t owner, group;
	uint64_t link_count;
};

enum open_purpose {
	OPEN_LOOK, /* `facts` alone, no `fd`; needs read access; a missing file is no refusal */
	OPEN_READ, /* a regular file, for reading */
	OPEN_LIST, /* a directory, for reading its names */
	/*
	 * A file that is to be changed, replaced, created or deleted: `fd` is for reading, -1 when it is
	 * missing, which is no refusal. Needs write access, and the guards are asked. A FIFO, device or
	 * directory is refused.
	 */
	OPEN_EDIT,
};

struct opened {
	struct str path; /* canonical; the rest of it that is missing is as it was written */
	struct str name; /* its last component */
	int fd;		 /* -1: missing */
	int directory; /* that `name` is in, for openat() alone; -1: that is missing too, or of "/" */
	struct file_facts facts;
	enum access access; /* of `path` */
};

#define OPENED_NONE                       \
	{                                 \
		.fd = -1, .directory = -1 \
	}
#define scoped_opened SCOPED(open_done) struct opened

/*
 * 0, or refused or failed as call.h says. A relative path begins at the first root; `path` may hold
 * anything that a caller sends.
 */
int open_path(struct call *call, struct str path, enum open_purpose purpose, struct opened *out,
	      struct err *e) MUST_CHECK NONNULL;
void open_done(const struct opened *o) NONNULL;

/* Where a path leads, existing or not; nothing is judged. */
int open_find(struct call *call, struct str path, struct str *out, struct err *e)
	MUST_CHECK NONNULL;
/*
 * What is above P7 for a canonical path that is to be changed: the guards of scope.h, and that of what git
 * ignores. 1: refused, `why` says it.
 */
int open_guards(struct call *call, struct str path, struct str *why, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Opens `name`, one component, in a directory that open_path() or this opened for OPEN_LIST; for who walks a tree. -errno. Nothing is judged: the caller asks scope_shows()
 * for the path. A FIFO is not waited for, a link is -ELOOP.
 */
int open_below(int directory, const char *name, bool is_directory) MUST_CHECK NONNULL;
int open_look(int fd, struct file_facts *out) MUST_CHECK NONNULL; /* -errno */
/* What `name` in `directory` is, a link not followed; -errno. */
int open_look_at(int directory, const char *name, struct file_facts *out) MUST_CHECK NONNULL;

/* The whole of an open regular file, in call->a; REFUSAL_TOO_LARGE over `max_bytes`. */
int open_read_all(struct call *call, const struct opened *o, size_t max_bytes, struct str *out,
		  struct err *e) MUST_CHECK NONNULL;

/* Makes the directories above o->path that are missing (judged by P7), and opens o->directory. */
int open_make_parents(struct call *call, struct opened *o, struct err *e) MUST_CHECK NONNULL;
