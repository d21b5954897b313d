/* SPDX-License-Identifier: MIT */
/*
 * What a configuration file may say (P3, P4): the known keys of every table,
 * their types, and errors that name file:line:column, the key and the nearest
 * known one. Internal to policy/.
 */
#pragma once

#include "base/err.h"
#include "base/toml.h"
#include "base/utf8.h"

/* A text out of a file, fit to be shown to a person; lives as long as the block around it. */
enum { SHOWN_BYTES = 160 };
#define SHOWN(s) utf8_show((s), (char[SHOWN_BYTES]){ 0 }, SHOWN_BYTES)

/* Whose file a table stands in. Some keys belong to some layers only (P2, P16). */
enum schema_layer {
	SCHEMA_BUILTIN = 1 << 0,
	SCHEMA_SYSTEM = 1 << 1,
	SCHEMA_USER = 1 << 2, /* also the command line: it is the user's own */
};

enum schema_table {
	SCHEMA_TOP,
	SCHEMA_PROFILE,
	SCHEMA_PROJECT,
	SCHEMA_REQUIREMENTS,
	SCHEMA_NETWORK,
	SCHEMA_ENVIRONMENT,
	SCHEMA_LIMITS,
	SCHEMA_ISOLATION,
	SCHEMA_LINUX,
};

/*
 * Every key of `table` is known, of a right type, and allowed in that layer.
 * `where` says for messages which table it is: "profile 'dev'".
 */
int schema_check(const struct toml *table, enum schema_table which, enum schema_layer layer,
		 const char *where, struct err *e) MUST_CHECK NONNULL;

/* `value` has that type; `what` names it in the message. */
int schema_type(const struct toml *value, enum toml_type type, const char *what, struct err *e)
	MUST_CHECK NONNULL;

/* Which of `choices` (NULL-terminated) the string `value` is. */
int schema_choice(const struct toml *value, const char *what, const char *const *choices,
		  size_t *out, struct err *e) MUST_CHECK NONNULL;

/* "; did you mean 'x'?", or "" when nothing is near. `known` is NULL-terminated. */
struct hint {
	char text[320];
};
/* The same, but when nothing is near all of them, after `intro`: "; known are: a, b". */
struct hint schema_hint_or_list(struct str typed, const char *const *known, const char *intro)
	NONNULL;
struct hint schema_hint(struct str typed, const char *const *known) NONNULL;
