/* SPDX-License-Identifier: MIT */
/* What the files of tools/posix need of a system beside os/posix/native.h. Nobody else includes this. */
#pragma once

#include <sys/types.h>

#include "tools/open.h"

/* ---- Files ---------------------------------------------------------------------------------------- */

/* As openat() with `flags`, but a link anywhere in `path` is -ELOOP. Where paths are walked alone (macos/way.c). */
int tools_open_plain(int directory, const char *path, int flags) MUST_CHECK NONNULL;
/* Whether the kernel makes up the files there; no, if nothing is there any more. */
bool tools_is_of_kernel(const char *path) NONNULL;

/*
 * Gives the new file `to` the extended attributes and the access list of `from`, and no other: a directory may give
 * new files a list of its own. What write() drops, and what is about the content, is left out. False: something is
 * lost.
 */
bool tools_copy_attributes(struct call *call, int from, int to) MUST_CHECK NONNULL;
/* What was written is on the disk when it returns; -errno. */
int tools_sync(int fd) MUST_CHECK;

/*
 * Calls `each` for every name in an open directory but "." and ".."; FILE_MISSING: the type is not known. Stops when it
 * returns non-zero, and returns that; 0, or -errno. `block` is room for reading.
 */
typedef int tools_name_fn(void *user, const char *name, enum file_type type);
int tools_list(int directory, void *block, size_t bytes, tools_name_fn *each, void *user)
	MUST_CHECK NONNULL;

/* Whether it is a placeholder of P11; `device` is that of the directory above. */
bool tools_is_placeholder_directory(int fd, uint64_t device);
bool tools_is_placeholder_socket(int directory, const char *name) NONNULL;

/* ---- The worker ------------------------------------------------------------------------------------- */

/* A forked process ends with the one that it was forked from, as far as the system knows such a thing. */
void tools_die_with_parent(void);
/* The ends of a worker's socket, close-on-exec. 0 or -errno. */
int tools_make_line(int ends[2]) MUST_CHECK NONNULL;
/*
 * As recv() without waiting. A descriptor that comes along is put into `*passed`, close-on-exec, in the place of one
 * that is there. -1 and EPROTO: more than one came.
 */
ssize_t tools_receive(int fd, void *block, size_t size, int *passed) MUST_CHECK NONNULL;
/* Whether a descriptor with these flags (F_GETFL) reads and writes nothing. */
bool tools_is_for_names(int flags);
/* The program that is started as the worker, and as what. */
extern const char *const tools_worker_argv[];
int tools_find_worker(struct arena *a, struct str *out, struct err *e) MUST_CHECK NONNULL;
