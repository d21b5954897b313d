/* SPDX-License-Identifier: MIT */
/* What sandbox-exec is started with, and whether it can be trusted. Pure. */
#include "backend/seatbelt/seatbelt.h"

enum { WRITABLE_BY_OTHERS = 022, EXECUTABLE = 0100 };

const char *seatbelt_find_fault(bool is_regular, uint64_t owner, unsigned mode)
{
	if (!is_regular)
		return "is not a regular file";
	if (owner != 0)
		return "does not belong to root";
	if (mode & WRITABLE_BY_OTHERS)
		return "can be written by others";
	return mode & EXECUTABLE ? NULL : "can't be executed";
}

int seatbelt_make_argv(struct arena *a, const struct launch *in, const struct seatbelt *s,
		       const char *program, const char *const **out, struct err *e)
{
	size_t words = 0, at = 0, total = 0;
	const char **argv;

	while (in->argv[words])
		words++;
	argv = arena_array(a, s->params.count + words + 6, sizeof(*argv), e);
	if (!argv)
		return err_result(e);
	argv[at++] = SEATBELT_TOOL;
	argv[at++] = "-p";
	argv[at++] = s->profile.p;
	for (size_t i = 0; i < s->params.count; i++) {
		const struct seatbelt_param *p = s->params.items[i];
		struct str word;

		/* SECURITY: all of it (STR_ALL()): a rule about a shorter path is another one. */
		if (arena_printf(a, &word, e, "-D%.*s=%.*s", STR_ALL(p->name), STR_ALL(p->value)) <
		    0)
			return err_result(e);
		argv[at++] = word.p;
	}
	argv[at++] = "--";
	argv[at++] = program;
	for (size_t i = 1; i < words; i++)
		argv[at++] = in->argv[i];
	for (size_t i = 0; i < at; i++)
		total += strlen(argv[i]) + 1 + sizeof(*argv);
	for (size_t i = 0; in->environment[i]; i++)
		total += strlen(in->environment[i]) + 1 + sizeof(*argv);
	if (total > SEATBELT_MAX_BYTES)
		return FAIL_CAUSE(
			e, CAUSE_BACKEND_UNSUITED,
			"the seatbelt backend can't run this: the profile, the command and "
			"the environment have %zu bytes together, and %d fit",
			total, SEATBELT_MAX_BYTES);
	*out = argv;
	return 0;
}
