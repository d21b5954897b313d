/* SPDX-License-Identifier: MIT */
/* What a command needs, made ready before the fork; see command_child.h. */
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/command_child.h"

/* ---- Words ------------------------------------------------------------------- */

static int copy_list(struct arena *a, const char *const *list, size_t before, char ***out,
		     struct err *e)
{
	size_t count = 0;
	char **copy;

	while (list[count])
		count++;
	copy = arena_array(a, before + count + 1, sizeof(*copy), e);
	if (!copy)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		size_t bytes = strlen(list[i]) + 1;

		copy[before + i] = arena_alloc(a, bytes, e);
		if (!copy[before + i])
			return err_result(e);
		memcpy(copy[before + i], list[i], bytes);
	}
	*out = copy;
	return 0;
}

int command_copy_words(struct arena *a, const struct launch *in, struct command_words *out,
		       struct err *e)
{
	static char shell[] = "sh";

	if (copy_list(a, in->argv, 0, &out->argv, e) < 0 ||
	    copy_list(a, in->argv, 1, &out->shell_argv, e) < 0 ||
	    copy_list(a, in->programs, 0, &out->programs, e) < 0 ||
	    copy_list(a, in->environment, 0, &out->environment, e) < 0)
		return err_result(e);
	out->shell_argv[0] = shell;
	return 0;
}

/* ---- Limits ------------------------------------------------------------------ */

/* The raw call: the C libraries differ in the type of a resource. */
static long limit_call(int resource, const struct rlimit *now, struct rlimit *before)
{
	return syscall(SYS_prlimit64, 0, resource, now, before);
}

static void add_limit(struct command_limits *out, int resource, uint64_t value, uint64_t slack)
{
	struct rlimit now;

	if (value == 0 || limit_call(resource, NULL, &now) < 0)
		return;
	out->items[out->count].resource = resource;
	out->items[out->count].limit.rlim_cur = MIN_OF((rlim_t)value, now.rlim_max);
	out->items[out->count].limit.rlim_max = MIN_OF((rlim_t)(value + slack), now.rlim_max);
	out->count++;
}

struct command_limits command_limits(const struct limits *limits, uint64_t processes)
{
	struct command_limits out = { .count = 0 };

	add_limit(&out, RLIMIT_FSIZE, limits->value[LIMIT_FILE_SIZE], 0);
	add_limit(&out, RLIMIT_NOFILE, limits->value[LIMIT_OPEN_FILES], 0);
	/* In whole seconds; the signal that can be named comes before the one that can't. */
	add_limit(&out, RLIMIT_NPROC, processes, 0);
	add_limit(&out, RLIMIT_CPU, (limits->value[LIMIT_CPU_TIME] + 999) / 1000, 1);
	return out;
}
