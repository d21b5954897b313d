/* SPDX-License-Identifier: MIT */
/* What the program needs of Linux and macOS, each in its own way; cli/linux and cli/macos implement it. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* A descriptor that is readable when one of these blocked signals has come; -1: errno is set. */
int signal_fd_open(const sigset_t *set);

/*
 * Takes the next from it; false: there is none. `is_typed`, which may be NULL: the terminal sent it, as far
 * as the system tells.
 */
bool signal_fd_take(int fd, int *number, bool *is_typed);

/* This process leaves no core. */
void forbid_core(void);

/* Clears a secret; the compiler can't optimise it away. */
void wipe(void *memory, size_t bytes);

/* For open(): a directory that names are looked up in, and nothing else. */
extern const int open_directory_flags;
