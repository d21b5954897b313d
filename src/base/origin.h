/* SPDX-License-Identifier: MIT */
/* A place in a text that a person wrote, for every message that is about it. */
#pragma once

#include <stdint.h>

/* `file` is a name fit to be shown, borrowed; NULL when there is no place. */
struct origin {
	const char *file;
	uint32_t line, column; /* from 1; columns count bytes */
};
