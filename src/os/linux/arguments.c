/* SPDX-License-Identifier: MIT */
/* See arguments.h. */
#include "os/arguments.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "os/os.h"

enum { STAT_ARG_START = 48, STAT_ENV_END = 51, MOST_BYTES = 64 << 20 };

static struct os_arguments noted;
static bool is_inner;

/* The end of the list, if its strings lie one after the other, beginning at `last`; else NULL. */
static const char *follow(const char *const *list, const char *last)
{
	for (; last && list && *list; list++)
		last = *list == last ? last + strlen(last) + 1 : NULL;
	return last;
}

void os_note_arguments(char **argv)
{
	const char *end = follow((const char *const *)argv, argv[0]);

	is_inner = true;
	end = follow(os_environment(), end);
	/*
	 * The kernel puts the program's name right after them, so this shows that nothing was
	 * removed.
	 */
	if (end && (uintptr_t)end == getauxval(AT_EXECFN))
		noted = (struct os_arguments){ argv[0], (size_t)(end - argv[0]) };
}

bool os_can_be_inner(void)
{
	/* AT_BASE is the dynamic linker's address; a static program has none. */
	return is_inner && getauxval(AT_BASE) == 0;
}

/* Parses the `n`-th field of /proc/self/stat. The second, the name, may contain any bytes. */
static bool stat_field(const char *text, unsigned n, uintptr_t *out)
{
	const char *at = strrchr(text, ')');

	for (unsigned field = 2; at && field < n; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	*out = 0;
	for (at++; *at >= '0' && *at <= '9'; at++)
		*out = *out * 10 + (uintptr_t)(*at - '0');
	return true;
}

int os_find_arguments(struct os_arguments *out)
{
	char text[1024];
	uintptr_t start, end;
	ssize_t n;

	*out = noted;
	if (noted.from)
		return 0;
	n = os_read_small("/proc/self/stat", text, sizeof(text));
	if (n < 0)
		return (int)n;
	if (!stat_field(text, STAT_ARG_START, &start) || !stat_field(text, STAT_ENV_END, &end) ||
	    start == 0 || end < start || end - start > MOST_BYTES)
		return -EINVAL;
	*out = (struct os_arguments){ (char *)start, end - start };
	return 0;
}
