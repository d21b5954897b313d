/* SPDX-License-Identifier: MIT */
/*
 * The mark that tells a placeholder (P11, linux/placeholder/placeholder.h) from a user's own file:
 * a modification time that nothing else has. Any change to a file or in a directory changes that
 * time.
 *
 * No call can create a file and set its time at once, and a placeholder must not be visible without
 * a mark. So it is created with a mode that nothing else has: sticky, and for a directory without
 * the right to write. Then its time is set, and then an ordinary mode. If the process dies in
 * between, the file is still recognised. (On a file system without modes there is a moment without
 * a mark.)
 *
 * An unbound socket can be created with such a mode, which is its whole mark: nobody can open it,
 * and no server uses a socket that nobody may write to.
 *
 * SECURITY: a command in a sandbox can mark any file that it may write. So only an empty directory,
 * or a file of at most MARK_FILE_BYTES, counts as a placeholder; a larger one with the mark could
 * hide its content from the policy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/macros.h"

/* What getdents64() returns; the name follows its length. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t len;
	unsigned char type;
	char name[];
};

enum {
	MARK_SECONDS = 0x434f5244,    /* "CORD", a time in 2005: every file system can store it */
	MARK_NANOSECONDS = 420000000, /* 0 on a file system that stores seconds only */
	MARK_FILE_BYTES = 2,	      /* "{}" is the longest */
	/* When created; the umask may remove rights of others. */
	MARK_DIR_MODE = S_ISVTX | 0555,
	MARK_FILE_MODE = S_ISVTX | 0644,
	MARK_SOCKET_MODE = S_ISVTX,
};

enum mark {
	MARK_NONE,
	MARK_BIRTH, /* created, but not finished */
	MARK_SET,
};

/* Only a directory, a socket, or a small file without other hard links. */
bool mark_could_be(const struct stat *st) PURE NONNULL;

/* For such a file; a directory may still have entries. */
enum mark mark_of(const struct stat *st) PURE NONNULL;

/* 0, or -1 with errno. */
int mark_set(int fd) MUST_CHECK;

/* Whether a directory that was just opened is empty; -1 with errno, ENOENT if it was removed. */
int mark_is_empty(int dir) MUST_CHECK;
