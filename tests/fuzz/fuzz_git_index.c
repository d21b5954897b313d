/* SPDX-License-Identifier: MIT */
/* An index that a command left behind: read within its bounds, and every name a whole one. */
#include <stdint.h>
#include <stdlib.h>

#include "session/git_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_name(void *arg, enum git_index_entry kind, struct str name, struct err *e)
{
	size_t *count = arg;

	(void)e;
	(void)kind;
	if (name.len > 4096 || str_has_nul(name))
		abort();
	(*count)++;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of its own, so that a byte too far is one outside the block. */
	char *text = size ? malloc(size) : NULL;
	struct err e = ERR_INIT;
	struct str shared;
	size_t count = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	/* Either all of it makes sense, or nobody is told of any of it. */
	if (git_index_look((struct str){ text, size }, check_name, &count, &shared, &e) < 0 &&
	    count > 0)
		abort();
	if (shared.len && (shared.p < text || shared.p + shared.len > text + size))
		abort();
	/* No entry takes less than its fixed part. */
	if (count > size / 62)
		abort();
	free(text);
	return 0;
}
