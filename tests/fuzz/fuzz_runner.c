/* SPDX-License-Identifier: MIT */
/* Any bytes as messages of the runner. What is accepted has to survive being written again. */
#include <stdint.h>
#include <stdlib.h>

#include "backend/win_elevated/runner_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(struct arena *a, const struct runner_message *m, struct str bytes)
{
	scoped_buf text = BUF_INIT((size_t)2 * RUNNER_MAX_BYTES);
	struct err e = ERR_INIT;
	struct runner_message again;
	size_t used;

	if (runner_print(m, &text, &e) < 0 || !str_eq(buf_str(&text), bytes))
		abort();
	if (runner_parse(a, bytes, &again, &used, &e) < 0 || used != bytes.len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };

	while (rest.len) {
		scoped_arena a = ARENA_INIT(16 << 20);
		struct err e = ERR_INIT;
		struct runner_message m;
		size_t used;

		if (runner_parse(&a, rest, &m, &used, &e) < 0) {
			if (e.code == ERR_OK || e.code == ERR_INTERNAL)
				abort();
			break;
		}
		if (!used)
			break;
		check_again(&a, &m, str_first(rest, used));
		rest = str_from(rest, used);
	}
	return 0;
}
