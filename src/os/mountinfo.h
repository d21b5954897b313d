/* SPDX-License-Identifier: MIT */
/* The lines of /proc/PID/mountinfo. */
#pragma once

#include "base/str.h"

/* "36 35 98:0 ROOT POINT OPTIONS ... - TYPE SOURCE OPTIONS" */
static inline void mountinfo_split(struct str line, struct str *point, struct str *type)
{
	struct str word;

	for (int i = 0; i < 4; i++)
		(void)str_take_word(&line);
	*point = str_take_word(&line);
	do
		word = str_take_word(&line);
	while (word.len && !str_is(word, "-"));
	*type = str_take_word(&line);
}
