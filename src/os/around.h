/* SPDX-License-Identifier: MIT */
/*
 * Which sandbox of another program is around this process, for words alone: what may be done
 * in one shows when it is tried, and nothing is decided by this.
 */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

struct os_around {
	const char *name;    /* "codex's sandbox" */
	const char *mark;    /* what told it: the name of a variable or of a file */
	const char *way_out; /* completes "; " */
};

/* NULL when there is none, or none that is known. */
const struct os_around *os_around_find(void);

/* "Docker's", or whose container else this is; NULL: of nobody who leaves a sign. */
const char *os_around_container(void);

/*
 * Pure: a variable alone tells nothing, it may have been set by anybody; `is_confined` is what
 * the kernel says, that system calls are filtered or no_new_privs is set.
 */
const struct os_around *os_around_judge(const char *const *environment, bool is_confined) PURE;
