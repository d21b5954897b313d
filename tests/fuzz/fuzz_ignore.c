/* SPDX-License-Identifier: MIT */
/*
 * An ignore file, a NUL, a path. Whatever the file holds: it is read, or over a limit, and a path gets
 * the same answer again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "tools/ignore.h"

enum { LIMIT_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str input = { (const char *)data, size };
	struct str text = str_first(input, str_find(input, '\0'));
	struct str path = str_from(input, text.len + 1);
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	struct ignore_rules rules = IGNORE_NONE;
	enum ignore_answer answers[4];
	struct err e = ERR_INIT;
	clock_t began = clock();

	if (ignore_rules_init(&a, text, NULL, &rules, &e) < 0) {
		demand(e.code == ERR_LIMIT);
		return 0;
	}
	for (int i = 0; i < 4; i++)
		demand(ignore_rules_ask(&rules, path, i & 1, &answers[i], &e) == 0);
	demand(answers[0] == answers[2] && answers[1] == answers[3]);
	ignore_rules_done(&rules);
	demand(clock() - began < 10 * CLOCKS_PER_SEC);
	return 0;
}
