/* SPDX-License-Identifier: MIT */
/* file:// addresses, as clients name their roots (RFC 8089). Pure. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

/*
 * The path that a file:// address of this machine names, absolute, any bytes but NUL. ERR_SYNTAX:
 * it is none.
 */
int uri_file_path(struct arena *a, struct str uri, struct str *out, struct err *e)
	MUST_CHECK NONNULL;
