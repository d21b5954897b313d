/* SPDX-License-Identifier: MIT */
/*
 * TOML 1.0, exactly: everything that the specification allows and nothing
 * else. Every value remembers the file, line and column it came from, because
 * every answer of Cordon names the line that decided it.
 *
 * The tree lives in the caller's arena and keeps pointers into nothing else:
 * the text may go away after parsing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/origin.h"
#include "base/str.h"

enum { TOML_MAX_DEPTH = 128 };

enum toml_type {
	TOML_STRING,
	TOML_INTEGER,
	TOML_FLOAT,
	TOML_BOOLEAN,
	TOML_OFFSET_DATETIME,
	TOML_LOCAL_DATETIME,
	TOML_LOCAL_DATE,
	TOML_LOCAL_TIME,
	TOML_ARRAY,
	TOML_TABLE,
};

/* How a table is written, which decides how a line can be added to it. */
enum toml_form {
	TOML_FORM_IMPLICIT, /* [a.b] made `a`: one [a] may follow */
	TOML_FORM_HEADER,   /* [a] */
	TOML_FORM_DOTTED,   /* a.b = 1 made `a` */
	TOML_FORM_INLINE,   /* a = { } */
};

struct toml_datetime {
	int16_t year;
	uint8_t month, day, hour, minute, second;
	uint32_t nanosecond;
	int16_t offset_minutes; /* east of UTC */
};

struct toml_member;

struct toml {
	enum toml_type type;
	enum toml_form form;  /* of a TOML_TABLE */
	struct origin origin; /* in the file that toml_parse was told of */
	union {
		struct str string; /* may hold NUL only as \u0000; NUL-terminated besides */
		int64_t integer;
		double real;
		bool boolean;
		struct toml_datetime datetime;
		struct {
			struct toml *items;
			size_t count;
		} array;
		struct {
			struct toml_member *items; /* in the order of the text */
			size_t count;
		} table;
	};
};

struct toml_member {
	struct str name;
	struct origin name_origin; /* of the key itself */
	struct toml value;
};

/*
 * A whole document; the result is a TOML_TABLE. `file` is kept by pointer and
 * must live as long as the arena. Time is n log n even when one table has
 * 100,000 keys. ERR_SYNTAX with "FILE:LINE:COLUMN: what is wrong (and what was
 * expected)", ERR_LIMIT (depth, memory), ERR_NOMEM.
 */
struct toml *toml_parse(struct arena *a, const char *file, struct str text, struct err *e)
	MUST_CHECK NONNULL;

/*
 * `key = value` as `--config` gives it: `key` a dotted TOML key, `value` a TOML
 * value if all of it parses as one, else a literal string; blanks around it do
 * not count, and a comment is none. Gives the document that holds just that.
 * `file` as above, e.g. "--config".
 */
struct toml *toml_parse_override(struct arena *a, const char *file, struct str text, struct err *e)
	MUST_CHECK NONNULL;

/* The value of `name`, or NULL; also NULL when `table` is no table. */
const struct toml *toml_find(const struct toml *table, const char *name) NONNULL;

/* "string", "integer", … for messages. */
const char *toml_type_name(enum toml_type type) RETURNS_NONNULL;

/* Writes a document that parses to the same values; for parse(print(x)) == x. */
void toml_print(struct buf *b, const struct toml *table) NONNULL;

/* A key as TOML wants it: bare when it may be, else quoted. */
void toml_add_key(struct buf *b, struct str key) NONNULL;

/* A basic string, quoted and escaped. `s` must be UTF-8. */
void toml_add_string(struct buf *b, struct str s) NONNULL;
