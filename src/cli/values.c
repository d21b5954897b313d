/* SPDX-License-Identifier: MIT */
/* Words of the command line and of the environment that stand for something else. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const struct {
	const char *text;
	uint64_t ms;
} time_units[] = {
	{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
};

const char *parse_duration(const char *text, uint64_t *ms)
{
	const char *unit = text;
	uint64_t number = 0;

	for (; *unit >= '0' && *unit <= '9'; unit++) {
		if (number > (uint64_t)INT64_MAX / 10 - 1)
			return "is too long; leave the option out for its default";
		number = number * 10 + (uint64_t)(*unit - '0');
	}
	for (size_t i = 0; i < COUNT_OF(time_units) && unit != text; i++) {
		if (strcmp(time_units[i].text, unit) != 0)
			continue;
		if (number == 0)
			return "has to be at least 1; leave the option out for its default";
		if (number > (uint64_t)INT64_MAX / time_units[i].ms)
			return "is too long; leave the option out for its default";
		*ms = number * time_units[i].ms;
		return NULL;
	}
	return "has to be a whole number of seconds, or one with a unit, like 250ms, 90s, 5m or 1h";
}

enum verbosity find_verbosity(const struct args *args)
{
	const char *log = getenv("CORDON_LOG");

	if (args_have(args, OPT_TRACE))
		return SAY_ALL;
	if (args_have(args, OPT_QUIET))
		return SAY_LITTLE;
	if (!log || strcmp(log, "") == 0 || strcmp(log, "warn") == 0)
		return SAY_WARNINGS;
	if (strcmp(log, "trace") == 0)
		return SAY_ALL;
	if (strcmp(log, "quiet") == 0)
		return SAY_LITTLE;
	print_warning(NULL, "ignoring CORDON_LOG: it must be trace, warn or quiet");
	return SAY_WARNINGS;
}
