/* SPDX-License-Identifier: MIT */
/* What the program needs of the system beside libcordon; cli/posix and cli/windows implement it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Before anything else: the words of the command line as UTF-8, and streams that change no byte. False: the user was
 * told what is wrong.
 */
bool system_begin(int *argc, char ***argv);

/* SECURITY: nothing that is opened from here on may get the number of a stream that is closed. */
bool fill_streams(void);

bool is_terminal(int fd);

/* While a terminal is relayed (--ask tty) nothing adds the return to an end of line. */
const char *end_of_line(int fd);

bool is_regular_file(const char *path);

/* Whether a file of that name, a link too, is in the directory. */
bool is_in_directory(const char *directory, const char *name);

/* Memory that costs nothing until it is used; NULL: errno is set. */
char *new_pages(size_t bytes);

/* Whether a '\\' separates names in paths here. */
extern const bool has_backslash_paths;

/* How long a run is stepped at a time, while what it is waited for besides can't be noticed. */
extern const int step_ms;
