/* SPDX-License-Identifier: MIT */
/* The standard streams of a command, and the pipes that its output is read from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/macros.h"

bool os_is_open(int fd);

/* Whether what is written there goes to a program: a pipe or a socket. */
bool os_leads_to_program(int fd);

/* /dev/null or what the system has in its place, for reading and writing; or -errno. */
int os_open_null(void);

/* A pipe. Reading from it never waits; writing to it does. 0 or -errno. */
int os_open_output(int *read_end, int *write_end) NONNULL;

/* The bytes read, 0 at the end; -errno, -EAGAIN when there is nothing now. */
ssize_t os_read_output(int fd, void *data, size_t room) NONNULL;

/*
 * A file of no name from which `bytes` can be read, and then its end; nobody can change it. For the
 * standard input of a program, which then needs nobody to write to it. Or -errno.
 */
int os_open_text(const void *data, size_t bytes) NONNULL;

/* How many bytes can be read now. */
size_t os_count_output(int fd);

/*
 * Writes some of it, without waiting: the bytes written, or -errno, -EAGAIN when there is no room
 * now. The descriptor need not be non-blocking, which is a property of the file that other processes
 * may have open too.
 */
ssize_t os_write_some(int fd, const void *data, size_t bytes) NONNULL;
