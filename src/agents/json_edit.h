/* SPDX-License-Identifier: MIT */
/*
 * Sets one member of a JSON text that a person wrote: every other byte stays, comments and trailing commas
 * (JSONC) too. A text that another reader might take for something else is refused: two members of one name,
 * a name on the way that is no object.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"

/* In `a`, with the comments and trailing commas of JSONC allowed; "" is an empty object. As json_parse(). */
const struct json *jsonc_parse(struct arena *a, struct str text, struct err *e) MUST_CHECK NONNULL;

/* What a text has that JSON has not. */
enum { JSONC_COMMENTS = 1, JSONC_COMMAS = 2 };
int jsonc_find_extras(struct arena *a, struct str text, unsigned *out, struct err *e)
	MUST_CHECK NONNULL;

/* The value at the end of the names; NULL: it is not there. */
const struct json *jsonc_find(const struct json *root, const char *const *names, size_t count)
	NONNULL;

/*
 * `*out` is `text` with the member at the end of the names, which is `value` (JSON) then; `text` itself if it
 * is that already. ERR_SYNTAX, ERR_POLICY (the member can't be set without a loss), ERR_LIMIT, ERR_NOMEM.
 */
int json_edit_set(struct arena *a, struct str text, const char *const *names, size_t count,
		  struct str value, struct str *out, struct err *e) MUST_CHECK NONNULL;

/*
 * Takes out what json_edit_set() has put to `was`, of a text that others have changed since: the member is missing
 * again, or has the value of `was`. `*out` is `text` if it is so already. ERR_POLICY: it has a third value.
 */
int json_edit_undo(struct arena *a, struct str text, struct str was, const char *const *names,
		   size_t count, struct str value, struct str *out, struct err *e)
	MUST_CHECK NONNULL;
