/* SPDX-License-Identifier: MIT */
/*
 * Files of the caller's that the command has as standard streams, and nothing else of: a log in a
 * directory that is not its own, a terminal. Such a descriptor has the host's mount, which no
 * read-only mount of the sandbox covers.
 *
 * Through it, and by every name of it (/dev/stdout, /proc/self/fd/1), nobody changes the file's
 * mode, owner, times, attributes or flags (metadata.h). One that was opened for appending stays
 * so: nobody cuts it, takes O_APPEND away or gets it anew without that. Who opens it by its name
 * gets the same stream again.
 *
 * A file is known by its inode and its mount, whatever number a descriptor of it has and however
 * a process came by it. What is asked for is done here, on the very descriptor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "linux/notify/engine.h"

enum stream_kind {
	STREAM_FREE,	 /* a pipe, what the command may write to anyway, what it has anew */
	STREAM_KEPT,	 /* no metadata */
	STREAM_APPENDED, /* and nothing but appending */
};

/* Which file by which mount. */
struct stream_file {
	uint64_t device, inode, mount;
};

struct streams {
	struct {
		enum stream_kind kind;
		struct stream_file file;
	} items[3];
};

/* 0 or -errno. */
int stream_look(int fd, struct stream_file *out) MUST_CHECK NONNULL;
bool stream_is_same(const struct stream_file *a, const struct stream_file *b) NONNULL;

/* The most that is said of it. */
enum stream_kind streams_find(const struct streams *s, const struct stream_file *file) NONNULL;
/* The most of all three. */
enum stream_kind streams_most(const struct streams *s) NONNULL;

/* What is asked for where a stream is only for appending. `streams` must outlive the engine. */
void streams_start(struct engine *engine, const struct streams *streams) NONNULL;
