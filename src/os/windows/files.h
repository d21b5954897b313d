/* SPDX-License-Identifier: MIT */
/* Opening files by Cordon's paths, for the other files of this directory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/path.h"
#include "base/str.h"
#include "os/windows/text.h"

enum files_link { FILES_FOLLOW, FILES_NOT_FOLLOW };

/*
 * Opens what is there, file or directory, without keeping others from anything. `access`: FILE_READ_ATTRIBUTES,
 * GENERIC_READ and so on. The HANDLE; NULL and errno.
 */
void *files_open(struct str path, uint32_t access, enum files_link link) MUST_CHECK;

/* Makes a new file, for writing; `flags` are FILE_ATTRIBUTE_* and FILE_FLAG_*. NULL and errno. */
void *files_make(struct str path, uint32_t flags) MUST_CHECK;

/* Its path without links, in Cordon's form; errno. ENOTSUP: it lies on a network drive. */
bool files_real_path(void *handle, char out[PATH_MAX_BYTES]) MUST_CHECK NONNULL;

/* Writes all of it, and returns when it is on the disk; false and errno. */
bool files_write(void *handle, struct str text) MUST_CHECK NONNULL;

/* The bytes read, as many as there are up to `size`; -1 and errno. */
long long files_read(void *handle, char *out, size_t size) MUST_CHECK NONNULL;

/* Renames; replaces what is there if `replaces`, else EEXIST. On the disk when it returns. 0 or -errno. */
int files_rename(struct str from, struct str to, bool replaces) MUST_CHECK;

/* Removes a file, if it is there. */
void files_remove(struct str path);

/* Whether the file's owner is this user, the administrators or the system. */
bool files_is_ours(void *handle) MUST_CHECK NONNULL;

/* For messages. */
struct shown_path {
	char text[256];
};
const char *files_show(struct shown_path *room, struct str path) NONNULL;
