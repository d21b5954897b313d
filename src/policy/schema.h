/* SPDX-License-Identifier: MIT */
/*
 * Checks a configuration file against the table of keys (P3, P4). An error names file:line:column,
 * the key and the nearest known one. Internal to policy/.
 */
#pragma once

#include "base/err.h"
#include "base/toml.h"
#include "base/utf8.h"
#include "policy/keys.h"

/* Text from a file, escaped so that it can be printed; it lives as long as the block around it. */
enum { SHOWN_BYTES = 160 };
#define SHOWN(s) utf8_show((s), (char[SHOWN_BYTES]){ 0 }, SHOWN_BYTES)

/*
 * Checks that every key of `table` is known, has a right type, and may stand in that file.
 * `where` names the table in messages: "profile 'dev'".
 */
int schema_check(const struct toml *table, enum key_table which, enum key_files file,
		 const char *where, struct err *e) MUST_CHECK NONNULL;

/* `value` has that type; `what` names it in the message. */
int schema_type(const struct toml *value, enum toml_type type, const char *what, struct err *e)
	MUST_CHECK NONNULL;

/* Which of `choices` (NULL-terminated) the string `value` is. */
int schema_choice(const struct toml *value, const char *what, const char *const *choices,
		  size_t *out, struct err *e) MUST_CHECK NONNULL;

struct hint {
	char text[320];
};
/* "; did you mean 'x'?", or "" when no name is similar. `known` is NULL-terminated. */
struct hint schema_hint(struct str typed, const char *const *known) NONNULL;
/* The same, but when no name is similar it lists all, after `intro`: "; known are: a, b". */
struct hint schema_hint_or_list(struct str typed, const char *const *known, const char *intro)
	NONNULL;
