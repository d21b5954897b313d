/* SPDX-License-Identifier: MIT */
/*
 * The rules of one .gitignore file, as git reads them. All patterns of a file are one automaton, so a
 * path costs about the same whether there are three or a thousand.
 *
 * Of several patterns that match the last one in the file counts. A caller asks the files from the
 * deepest directory up, and asks nothing below a directory that is ignored.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/regex.h"
#include "base/str.h"

enum { IGNORE_MAX_BYTES = 1 << 20 };

enum ignore_answer {
	IGNORE_SILENT, /* no pattern matches */
	IGNORE_YES,
	IGNORE_NO, /* a pattern with '!' */
};

struct ignore_rules {
	struct regex_matcher *names, *paths; /* of patterns without and with '/'; NULL: none */
	const bool *is_negated;		     /* by pattern */
};

#define IGNORE_NONE                                              \
	{                                                        \
		.names = NULL, .paths = NULL, .is_negated = NULL \
	}

/* `out` is to be freed, and uses memory of the arena. ERR_NOMEM, ERR_LIMIT. */
int ignore_rules_init(struct arena *a, struct str text, const struct regex_watch *watch,
		      struct ignore_rules *out, struct err *e) MUST_CHECK
	__attribute__((nonnull(1, 4, 5)));
void ignore_rules_done(struct ignore_rules *r) NONNULL;

static inline bool ignore_rules_are_empty(const struct ignore_rules *r)
{
	return !r->names && !r->paths;
}

/* `path` is relative to the directory of the file. ERR_NOMEM, or what the watch returned. */
int ignore_rules_ask(const struct ignore_rules *r, struct str path, bool is_directory,
		     enum ignore_answer *out, struct err *e) MUST_CHECK NONNULL;
