/* SPDX-License-Identifier: MIT */
/*
 * Recognises the sandbox of another program, or the container, that this process runs in. For
 * messages alone: no decision depends on it, because what is allowed inside shows when Cordon tries
 * it.
 */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

struct os_outer_sandbox {
	const char *name;    /* "codex's sandbox" */
	const char *mark;    /* what revealed it: the name of a variable or of a file */
	const char *way_out; /* what the user can do; follows a "; " */
};

/* NULL if there is none, or none that is known. */
const struct os_outer_sandbox *os_outer_sandbox_find(void);

/* "Docker's" or "Podman's" for the container around this process; NULL if none is recognised. */
const char *os_outer_container(void);

/*
 * Pure. Anybody may have set a variable, so one counts only if `is_confined`: the kernel says that
 * system calls are filtered or no_new_privs is set.
 */
const struct os_outer_sandbox *os_outer_sandbox_recognise(const char *const *environment,
							  bool is_confined) PURE;
