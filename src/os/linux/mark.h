/* SPDX-License-Identifier: MIT */
/*
 * The mark that tells a placeholder (P11, linux/placeholder/placeholder.h) from what is
 * someone's own: a modification time that nothing else has. Whatever is done to
 * a file, or put into a directory, changes that time.
 *
 * A time can't be set by the call that creates something, and without a mark it
 * must not be seen for a moment. So it is born with a mode that nothing else
 * has: sticky, and for a directory without the right to write. Only then comes
 * the time, and after that an ordinary mode. Who dies between leaves a thing
 * that is still known for what it is. (Where the file system keeps no modes,
 * there is such a moment.)
 *
 * A socket that nobody is bound to can be made with such a mode, and that is all its
 * mark: nobody can open it, and no server has use for a socket that nobody may write to.
 *
 * SECURITY: a command in a sandbox can mark what it may write. So a mark alone
 * says little: only an empty directory, or a file of at most MARK_FILE_BYTES,
 * counts as a placeholder. Taking such a thing for missing hides nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/macros.h"

/* What getdents64() gives; its length is in front of its name. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t len;
	unsigned char type;
	char name[];
};

enum {
	MARK_SECONDS = 0x434f5244,    /* "CORD", in 2005: any file system can say it */
	MARK_NANOSECONDS = 420000000, /* 0 where only seconds are kept */
	MARK_FILE_BYTES = 1,
	/* At birth; the umask may take the rights of others away. */
	MARK_DIR_MODE = S_ISVTX | 0555,
	MARK_FILE_MODE = S_ISVTX | 0644,
	MARK_SOCKET_MODE = S_ISVTX,
};

enum mark {
	MARK_NONE,
	MARK_BIRTH, /* created, but not yet what it is to be */
	MARK_SET,
};

/* A directory, a socket, or a file that is small enough and has no other name; nothing else. */
bool mark_could_be(const struct stat *st) PURE NONNULL;

/* Of such a one; a directory may still have something in it. */
enum mark mark_of(const struct stat *st) PURE NONNULL;

/* 0, or -1 with errno. */
int mark_set(int fd) MUST_CHECK;

/* Whether a directory, just opened, holds no name; -1 with errno, ENOENT when it was removed. */
int mark_is_empty(int dir) MUST_CHECK;
