/* SPDX-License-Identifier: MIT */
/*
 * What an agent writes to its hooks, of which the model chose most: whatever it is, a call that is taken names
 * files that can be judged, and one that is refused says why. An answer is JSON again.
 */
#include <stdint.h>
#include <stdlib.h>

#include "agents/hook.h"
#include "base/json.h"
#include "base/path.h"

enum { LIMIT_BYTES = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

static void check_answers(const struct hook_call *call, struct str text)
{
	for (int i = 0; i < 3; i++) {
		scoped_buf out = BUF_INIT((size_t)8 << 20);
		scoped_arena a = ARENA_INIT(LIMIT_BYTES);
		struct err e = ERR_INIT;

		if (i == 2)
			hook_print_context(&out, call, text);
		else
			hook_print_refusal(&out, call, i == 0, text);
		demand(out.failed != ERR_OK || json_parse_paths(&a, buf_str(&out), &e));
	}
}

static void check(struct arena *a, const struct hook_dialect *dialect, struct str text)
{
	struct hook_call call;
	struct err e = ERR_INIT;

	if (hook_read(a, dialect, text, &call, &e) < 0) {
		demand(e.text[0] != '\0');
		return;
	}
	demand(path_is_absolute(call.directory) && !str_has_nul(call.directory));
	demand(!call.files.count || (!call.is_after && !call.is_shell));
	for (size_t i = 0; i < call.files.count; i++) {
		struct str path = call.files.items[i].path, readings[HOOK_READINGS];
		size_t count;

		demand(path.len && path.len < PATH_MAX_BYTES && !str_has_nul(path));
		if (hook_find_readings(a, path, STR("/home/me"), readings, &count, &e) < 0)
			continue;
		demand(count >= 1 && count <= HOOK_READINGS && str_eq(readings[0], path));
	}
	check_answers(&call, call.tool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const agents[] = { "claude", "gemini", "opencode" };

	for (size_t i = 0; i < COUNT_OF(agents); i++) {
		scoped_arena a = ARENA_INIT(LIMIT_BYTES);

		check(&a, hook_find(agents[i]), (struct str){ (const char *)data, size });
	}
	return 0;
}
