/* SPDX-License-Identifier: MIT */
/* See os/arguments.h. No system shows words to others here that could be erased. */
#include "os/arguments.h"

#include <errno.h>

static bool is_noted;

int os_find_arguments(struct os_arguments *out)
{
	*out = (struct os_arguments){ .bytes = 0 };
	return -EINVAL;
}

void os_note_arguments(char **argv)
{
	(void)argv;
	is_noted = true;
}

/* By its file, which Windows keeps from being replaced while it runs. */
bool os_can_be_inner(void)
{
	return is_noted;
}
