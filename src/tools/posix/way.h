/* SPDX-License-Identifier: MIT */
/*
 * From a path to what is there, as each system can do it: linux/way.c by descriptors, macos/way.c by paths.
 * open.h says what is made of it; nobody else includes this.
 */
#pragma once

#include "tools/open.h"

enum { WAY_MAX_LINKS = 40, WAY_SHOWN_BYTES = 512 };

/* Where a path leads. */
struct way {
	struct call *call;
	struct str path; /* canonical; the rest of it that is missing is as it was written */
	struct str rest; /* that is still to be walked */
	int fd; /* of `path`, for looking alone; -1: there is none, or the system has no such */
	bool is_there;
	struct file_facts facts; /* of what is there */
	unsigned links;
	int why; /* not there: its errno */
};

#define WAY_NONE                                                \
	{                                                       \
		.path = STR_EMPTY, .rest = STR_EMPTY, .fd = -1, \
	}

/*
 * Component by component; no link is followed by the kernel. Nothing is judged but links: one in a denied directory
 * leads nowhere. 0, or refused or failed as call.h says.
 */
int way_find(struct way *w, struct str path, struct err *e) MUST_CHECK NONNULL;
/* For way_find(): what is left, from `name` on, is missing or can't be looked at: it is taken as it is written. */
int way_give_up(struct way *w, struct str name, int why, struct err *e) MUST_CHECK NONNULL;
/* For way_find(): `target` takes the place of the link `name`. `*is_absolute`: the walk begins at "/" again. */
int way_follow(struct way *w, struct str name, struct str target, bool *is_absolute, struct err *e)
	MUST_CHECK NONNULL;
bool way_has_dots(struct str path) PURE;

/* Whether what it found is in a file system whose files the kernel makes up. */
bool way_is_of_kernel(const struct way *w) NONNULL;

enum way_open {
	WAY_FOR_NAMES, /* a directory, for openat() and the like; its names need not be readable where that is possible */
	WAY_TO_LIST, /* a directory */
	WAY_TO_READ, /* anything; a FIFO is not waited for */
};
/* SECURITY: -ELOOP if any component of `path` is a link, the last included; else a descriptor or -errno. */
int way_open(int directory, const char *path, enum way_open how) MUST_CHECK NONNULL;
/* Whether anything is at `path`, which no link is on the way to: 0 or -errno. */
int way_look(const char *path) MUST_CHECK NONNULL;

/*
 * Where what is open as `fd` lies by what the kernel says now, in call->a; `path` is where it was opened. A system whose
 * way_open() leaves no doubt gives that back.
 */
int way_ask_back(struct call *call, int fd, struct str path, struct str *out, struct err *e)
	MUST_CHECK NONNULL;
