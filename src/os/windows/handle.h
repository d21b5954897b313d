/* SPDX-License-Identifier: MIT */
/*
 * Descriptors. Everything above os/ knows them as small numbers. On Windows such a number is a place in a table of this
 * process, which says what is there. 0, 1 and 2 are the standard streams of this process, looked up when they are used.
 * The numbers of the C library (open(), _fileno()) are others: the two are never mixed.
 *
 * SECURITY: no handle in the table can be inherited. process.h hands over what it is told to, and nothing else.
 *
 * Any thread may call these. A number belongs to whoever opened it, as everywhere: nobody else closes it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

enum handle_kind {
	HANDLE_NONE,	/* nothing is open there */
	HANDLE_FILE,	/* a file, a device, a pipe of somebody else's: calls on it wait */
	HANDLE_CONSOLE, /* of the console; so are standard streams that lead there */
	HANDLE_READER,	/* our end of an overlapped pipe that we read from; see pipe_ends() */
	HANDLE_WRITER,	/* and that we write to */
	HANDLE_PROCESS, /* ready when it has ended, as a pidfd is */
	HANDLE_EVENT,	/* ready when it is set */
	HANDLE_SOCKET,
	HANDLE_OBJECT, /* memory of this process behind a number; see handle_add_object() */
};

/*
 * Puts a HANDLE there and takes it over, also on failure, when it is closed. The number, or -1 and errno (EMFILE).
 * A null handle or INVALID_HANDLE_VALUE gives -1 and leaves errno.
 */
int handle_add(enum handle_kind kind, void *handle) MUST_CHECK;
int handle_add_socket(uintptr_t socket) MUST_CHECK;

/* A socket with memory of its own, which `drop` frees when the number is closed; handle_object() has it. */
int handle_add_channel(uintptr_t socket, void *object, void (*drop)(void *object))
	MUST_CHECK NONNULL;

/* The same with memory, which `drop` frees when the number is closed. */
int handle_add_object(void *object, void (*drop)(void *object)) MUST_CHECK NONNULL;

enum handle_kind handle_kind(int fd);

/* The HANDLE, borrowed; NULL and errno EBADF if there is none of any kind but a socket or an object. */
void *handle_get(int fd) MUST_CHECK;
/* The SOCKET, borrowed; (uintptr_t)-1 and errno EBADF or ENOTSOCK. */
uintptr_t handle_socket(int fd) MUST_CHECK;
/* The memory, borrowed; NULL if it is something else. */
void *handle_object(int fd) MUST_CHECK;

/* A second number for the same file, pipe end or socket. -1 and errno. */
int handle_copy(int fd) MUST_CHECK;

/* Closes it; never a standard stream. */
void handle_close(int fd);

/*
 * A pipe. Our end never waits (pipe_read(), pipe_write()) and can be watched by a loop; theirs is for a process that is
 * to be started, an ordinary file to it. 0 or -errno.
 */
int pipe_ends(bool we_read, int *ours, int *theirs) MUST_CHECK NONNULL;

/*
 * One whose name another process opens (a runner under another account). `sddl` is the access list of the pipe; it has one
 * instance, takes no client from the network, and `name` begins with "\\.\pipe\". The client is known by pipe_client().
 */
int pipe_listen(const wchar_t *name, const wchar_t *sddl, bool we_read, int *ours)
	MUST_CHECK NONNULL;
/* The process at the other end of a pipe of ours; 0: there is none yet. */
uint32_t pipe_client(int fd);

/* The bytes read, 0 at the end, or -errno (EAGAIN). */
long long pipe_read(int fd, void *out, size_t room) MUST_CHECK NONNULL;
/* The bytes taken, which are written later on if the pipe is full, or -errno (EAGAIN, EPIPE). */
long long pipe_write(int fd, const void *data, size_t bytes) MUST_CHECK NONNULL;
/* How many bytes pipe_read() has at once. */
size_t pipe_count(int fd);

/*
 * What to wait for (WaitForSingleObject()) until the descriptor may be ready, borrowed; NULL: it is always
 * ready, or a socket, or nothing. Begins the read that it announces.
 */
void *handle_wait(int fd, bool for_writing) MUST_CHECK;
