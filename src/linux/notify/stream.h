/* SPDX-License-Identifier: MIT */
/*
 * Standard streams that are files of the caller's which the command can't otherwise change: a log in
 * a directory that is not its own, a terminal. Such a descriptor keeps the host's mount, which the
 * sandbox's read-only mounts do not cover.
 *
 * The command can't change the file's mode, owner, times, attributes or flags through it, by any
 * name (/dev/stdout, /proc/self/fd/1; metadata.h). A stream opened for appending stays so: the
 * command can't truncate the file, clear O_APPEND, or open it without O_APPEND. Opening it by name
 * gives the same stream again.
 *
 * A file is recognised by inode and mount, whatever the descriptor's number and however a process
 * got it. The supervisor carries out the call on that very descriptor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "linux/notify/engine.h"

enum stream_kind {
	STREAM_FREE,	 /* not protected: a pipe, or a file that the command may change anyway */
	STREAM_KEPT,	 /* its metadata can't be changed */
	STREAM_APPENDED, /* the same, and it can only be appended to */
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

/* The strictest kind that applies to the file. */
enum stream_kind streams_find(const struct streams *s, const struct stream_file *file) NONNULL;
/* The strictest kind of all three. */
enum stream_kind streams_most(const struct streams *s) NONNULL;

/* Adds the handlers for streams that are appended to. `streams` must outlive the engine. */
void streams_start(struct engine *engine, const struct streams *streams) NONNULL;
