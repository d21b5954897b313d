/* SPDX-License-Identifier: MIT */
/* Shared by the files of os/posix and of the systems; nobody else includes this. */
#pragma once

#include "os/fd.h"
#include "os/os.h"

/* A NUL-terminated path for the kernel. */
struct c_path {
	char text[PATH_MAX_BYTES];
};

/* ERR_SYNTAX for a NUL, ERR_LIMIT for a path that is too long for any kernel. */
int c_path_init(struct c_path *out, struct str path, struct err *e) MUST_CHECK NONNULL;

/* A path for an error text: control characters escaped, cut when long. */
struct shown {
	char text[512];
};
const char *show_path(struct shown *out, struct str path) NONNULL;

/* Writes all of `text`, without signals, and waits until it is on the disk. -1 with errno. */
int write_synced(int fd, struct str text) MUST_CHECK;

/* The type in st_mode. */
enum os_type type_of_mode(uint32_t mode) PURE;
