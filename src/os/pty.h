/* SPDX-License-Identifier: MIT */
/* A terminal of the command's own (a pty), and the terminal of the user that it stands for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/macros.h"
#include "os/terminal.h"

struct os_pty {
	int master; /* non-blocking; -1: there is none. SECURITY: never the command's */
	int slave;  /* what the command gets */
	char path[64];
};

#define OS_PTY_NONE                                   \
	{                                             \
		.master = -1, .slave = -1, .path = "" \
	}

/* Close-on-exec, both; 0 or -errno, -ENXIO if the slave can't be found by a path. */
int os_pty_open(struct os_pty *out) MUST_CHECK NONNULL;
void os_pty_close(struct os_pty *pty) NONNULL;

struct os_tty_size {
	unsigned short rows, columns, width, height; /* the last two in pixels */
};

/*
 * The controlling terminal, opened anew and non-blocking: the descriptors that others have of it
 * stay as they are. -errno.
 */
int os_tty_open(void) MUST_CHECK;

/* Whether `fd` is the terminal `terminal`, by whatever name it was opened. */
bool os_tty_is(int fd, int terminal);

/*
 * For a lock that all who ask at this terminal share: its device, opened anew, since "/dev/tty" is the same
 * file for every terminal. `path` is where it may be. -errno if it can't be opened.
 */
int os_tty_open_lock(int terminal, const char *path) MUST_CHECK NONNULL;
/* Without waiting; false: somebody else has it, alone or, if this is to have it alone, at all. */
bool os_tty_lock(int lock, bool alone) MUST_CHECK;
void os_tty_unlock(int lock);

bool os_tty_get_size(int terminal, struct os_tty_size *out) NONNULL;
/* Sends SIGWINCH to the foreground groups of a pty if it is another size. */
void os_tty_set_size(int terminal, const struct os_tty_size *size) NONNULL;

/* 0 or -errno. They can be set from the background too; nothing waits for the output. */
int os_tty_get(int terminal, struct terminal_attributes *out) MUST_CHECK NONNULL;
int os_tty_set(int terminal, const struct terminal_attributes *attributes) NONNULL;

/* Changes them so that each byte is passed on as it is, in both directions. */
void os_tty_make_raw(struct terminal_attributes *attributes) NONNULL;
bool os_tty_are_equal(const struct terminal_attributes *a, const struct terminal_attributes *b)
	NONNULL;

/* Whether the byte stops the terminal's foreground group (Ctrl-Z). */
bool os_tty_is_stop_key(const struct terminal_attributes *attributes, char byte) NONNULL;

/*
 * Without waiting: the bytes read, 0 when the terminal has hung up; -EAGAIN when there is nothing,
 * -EIO from the background or when there is no other end.
 */
ssize_t os_tty_read(int terminal, void *data, size_t room) NONNULL;
/* The bytes written; -EAGAIN when there is no room now. Also from the background. */
ssize_t os_tty_write(int terminal, const void *data, size_t bytes) NONNULL;

/* Discards what was typed and not read. True: there was something. */
bool os_tty_discard(int terminal);
