/* SPDX-License-Identifier: MIT */
/* Sets one key of a TOML text that a person wrote; every other byte stays. */
#pragma once

#include "base/toml.h"

/*
 * `*out` is `text` with `key` of `table` (both bare), which is `value` (TOML, on one line) then; `text` itself
 * if it is that already. `file` is for messages. ERR_SYNTAX, ERR_POLICY (the key has another value that
 * is not one word), ERR_LIMIT, ERR_NOMEM.
 */
int toml_edit_set(struct arena *a, const char *file, struct str text, const char *table,
		  const char *key, struct str value, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Takes out what toml_edit_set() has put to `was`, of a text that others have changed since; as
 * json_edit_undo(). ERR_POLICY also where the key shares its line with others.
 */
int toml_edit_undo(struct arena *a, struct str text, struct str was, const char *table,
		   const char *key, struct str value, struct str *out, struct err *e)
	MUST_CHECK NONNULL;
