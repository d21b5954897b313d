/* SPDX-License-Identifier: MIT */
/*
 * Lexical paths: bytes, '/' separated, never looked up. A *plain* path is
 * absolute and has no empty, "." or ".." component and no trailing slash ("/"
 * alone excepted). All of policy/ and plan/ work on plain paths.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

enum {
	PATH_MAX_BYTES = 4096,	  /* of a whole path, the final NUL included */
	PATH_MAX_COMPONENT = 255, /* what Linux, macOS and Windows file systems take */
};

/* What the file tools write first, in the directory of the file that they change (tools/replace.h). */
#define EDIT_TEMPORARY ".cordon-edit.tmp"

/*
 * The plain form of `path`, taken from `base` (plain) when it is relative.
 * ".." removes the component before it, as text; "" is `base`. ERR_SYNTAX for a NUL,
 * ERR_LIMIT for a path or component that no kernel would take.
 */
int path_plain(struct arena *a, struct str base, struct str path, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* `dir` (plain) with `rest` (relative, plain components, may be empty) below it. */
int path_join(struct arena *a, struct str dir, struct str rest, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

bool path_is_absolute(struct str path) PURE;

/* Whether `path` is `dir` or lies below it; both plain. */
bool path_is_under(struct str path, struct str dir) PURE;

/* What remains of `path` below `dir`, without a leading slash; "" when equal. */
struct str path_below(struct str path, struct str dir) PURE;

/* "/" has none, "/a/b" two. */
size_t path_depth(struct str path) PURE;

/* "/a" of "/a/b", "/" of "/a" and of "/". */
struct str path_parent(struct str path) PURE;

/* "b" of "/a/b", "" of "/". */
struct str path_name(struct str path) PURE;

/* Whether it is /proc, /sys or /dev, whose names the kernel makes up when they are looked up. */
bool path_is_kernel_tree(struct str path) PURE;

/*
 * Steps through the components:
 *	size_t at = 0;
 *	struct str name;
 *	while (path_next(path, &at, &name)) ...
 * After a step `str_first(path, at)` is the prefix that ends with `name`.
 * Works on relative paths too.
 */
bool path_next(struct str path, size_t *at, struct str *name) NONNULL;

/* An order in which a path comes before everything below it; siblings are compared by bytes. */
int path_cmp(struct str a, struct str b) PURE;
