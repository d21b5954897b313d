/* SPDX-License-Identifier: MIT */
/* A place in a text that a person wrote, for every message that is about it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* `file` is a name fit to be shown, borrowed; NULL when there is no place. */
struct origin {
	const char *file;
	uint32_t line, column; /* from 1; columns count bytes */
};

/* The place of the byte at `at`, counted from the start of the text. */
struct origin origin_find(const char *file, struct str text, size_t at);
