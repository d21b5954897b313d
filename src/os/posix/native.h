/* SPDX-License-Identifier: MIT */
/*
 * What the files of os/posix need of a system and POSIX does not say; each system implements it in
 * its own directory. Those of tools/posix use it too; nobody else includes this.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/str.h"

/* ---- Descriptors, close-on-exec from birth: -1 and errno when it fails ------------------------- */

int native_pipe(int ends[2], bool waits) MUST_CHECK NONNULL;
int native_socket(int family, int type, bool waits) MUST_CHECK;
int native_accept(int listener, struct sockaddr *from, socklen_t *size) MUST_CHECK;

/* Beside MSG_NOSIGNAL where the system has no such flag: 0. */
extern const int native_no_signal;

/* A socket in the file system that was looked at, a link at its end not followed; 0 or -errno. */
struct sockaddr_un;
int native_find_socket(const char *path, struct sockaddr_un *out, int *held) MUST_CHECK NONNULL;
/* Who has made the other end of a unix socket. */
bool native_peer_user(int fd, uint64_t *uid) MUST_CHECK NONNULL;

/* ---- Files -------------------------------------------------------------------------------------- */

enum native_rename { RENAME_ANYWAY, RENAME_FRESH, RENAME_BOTH };
/* 0 or -errno; -ENOSYS: neither kernel nor file system can do that kind in one step. */
int native_rename(int directory, const char *from, const char *to, enum native_rename how)
	MUST_CHECK NONNULL;

/* The path of an open file, as readlink() would return it; -1. */
ssize_t native_fd_path(int fd, char *room, size_t size) NONNULL;

/* lstat(), and whether it is one of Cordon's placeholders. */
int native_look(const char *path, struct stat *st, bool *is_placeholder) MUST_CHECK NONNULL;

/* readlink(); what native_look() shows as a link is read. */
ssize_t native_read_link(const char *path, char *room, size_t size) MUST_CHECK NONNULL;

/* Whether one call shows that nothing is there, and that no link was on the way. */
bool native_is_missing(const char *path) NONNULL;

/*
 * Opens `below` without leaving `directory`: -1 and errno, EXDEV or ELOOP for a link that would.
 * ENOSYS: the system can't tell; then no link at all is followed.
 */
int native_open_beneath(int directory, const char *below, int flags) MUST_CHECK NONNULL;
extern const int native_open_directory; /* flags to open one for openat() alone */

/* Whether it is /dev/null. */
bool native_is_null(const struct stat *st) PURE NONNULL;

/* Attributes and access lists that a copy of a file has to have. False: one is lost. */
bool native_copy_attributes(int from, int to) MUST_CHECK;

/* ---- Processes ---------------------------------------------------------------------------------- */

enum { NATIVE_NAME_BYTES = 32 };
/* A process's name, its parent and when it began, in a unit of the system; false: there is no such process. */
bool native_read_start(pid_t pid, char name[NATIVE_NAME_BYTES], pid_t *parent,
		       unsigned long long *start) MUST_CHECK;

/* Whether the kernel restricts this process more than its user. */
bool native_is_confined(void);

/* Of these pending, blocked signals one, which then is not pending any more; 0: there is none. */
int native_take_signal(const sigset_t *which) NONNULL;
