/* SPDX-License-Identifier: MIT */
/* Calls a tool on the files of scratch.h, without a policy and without a worker. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/test.h"
#include "scratch.h"
#include "tools/call.h"

enum { ANSWER_MAX_BYTES = 256 << 20 };

struct answer {
	struct arena a;
	bool is_error;
	struct json *json;
	char *text;
};

static void answer_done(struct answer *a)
{
	arena_done(&a->a);
}

/* What a tool gives for these arguments, JSON, in the scratch directory. */
static void run(tool_fn *tool, const char *arguments, struct answer *out)
{
	struct tool_result result;
	struct err e = ERR_INIT;
	struct scope scope;
	struct call call;
	char root[4096];

	*out = (struct answer){ .a = ARENA_INIT(ANSWER_MAX_BYTES) };
	REQUIRE(realpath(scratch_top, root) != NULL);
	REQUIRE(scope_init_alone(&out->a, str_of(root), &scope, &e) == 0);
	call_init(&call, &out->a, &scope, json_parse(&out->a, str_of(arguments), &e));
	if (CHECK(call_finish(&call, tool(&call, &e), &result, &e) == 0)) {
		struct str text;

		out->is_error = result.is_error;
		out->json = json_parse(&out->a, result.structured, &e);
		CHECK(arena_copy(&out->a, result.text, &text, &e) == 0);
		out->text = (char *)(uintptr_t)text.p;
	}
	call_done(&call);
}

/* The items of the array `list`; NULL: there is none. */
__attribute__((unused)) static const struct json *items_of(const struct answer *a, const char *list)
{
	return a->json ? json_find(a->json, list) : NULL;
}
