/* SPDX-License-Identifier: MIT */
/* Arguments against the schema of a tool. */
#pragma once

#include "tools/tool.h"

/* False: `why` says what is wrong, in words that need to be escaped. */
bool check_arguments(const struct tool *tool, const struct json *arguments, char *why, size_t room)
	NONNULL;
