/* SPDX-License-Identifier: MIT */
/*
 * The texts of git that a repository brings along: nothing in them may be read
 * out of bounds, and what they name is part of the text.
 */
#include <stdint.h>
#include <stdlib.h>

#include "plan/git_text.h"

enum { LIMIT_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool ok)
{
	if (!ok)
		abort();
}

static int check_setting(void *arg, const struct git_setting *s, struct err *e)
{
	size_t *left = arg;
	size_t used = s->name.len + s->value.len;

	(void)e;
	demand(s->name.len > 0 && used <= *left && s->section.len + s->subsection.len <= *left);
	*left -= used;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_arena a = ARENA_INIT(LIMIT_BYTES);
	/* A copy of its own, so that a byte too far is one outside the block. */
	char *text = size ? malloc(size) : NULL;
	struct str s = { text, size };
	struct err e = ERR_INIT;
	struct str path;
	size_t left = size;

	if (!text)
		return 0;
	memcpy(text, data, size);
	demand(git_config_each(&a, s, check_setting, &left, &e) == 0);
	if (git_pointer_parse(s, &path))
		demand(path.len > 0 && path.len <= size && !str_has_nul(path));
	if (git_path_parse(s, &path))
		demand(path.len > 0 && path.len <= size && !str_has_nul(path));
	free(text);
	return 0;
}
