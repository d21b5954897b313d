/* SPDX-License-Identifier: MIT */
/*
 * JSON (RFC 8259), strict: UTF-8 only, no duplicate names, no lone surrogates,
 * no \u0000 and no raw NUL, one value and nothing behind it. Integers that fit int64_t are
 * exact; one that does not is refused rather than rounded; numbers with a
 * fraction or exponent are doubles, finite or refused.
 *
 * The tree lives in the caller's arena. Writing goes straight into a buf.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { JSON_MAX_DEPTH = 128 };

enum json_type { JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_member;

struct json {
	enum json_type type;
	uint32_t line, column; /* of its first byte, from 1; columns count bytes */
	union {
		bool boolean;
		int64_t integer;
		double real;
		struct str string;
		struct {
			struct json *items;
			size_t count;
		} array;
		struct {
			struct json_member *items; /* in the order of the text */
			size_t count;
		} object;
	};
};

struct json_member {
	struct str name;
	struct json value;
};

/* ERR_SYNTAX with "LINE:COLUMN: what is wrong", ERR_LIMIT, ERR_NOMEM. */
struct json *json_parse(struct arena *a, struct str text, struct err *e) MUST_CHECK NONNULL;

/* The same; "\udc80" to "\udcff" stand for stray bytes, as the writer below writes paths. */
struct json *json_parse_paths(struct arena *a, struct str text, struct err *e) MUST_CHECK NONNULL;

/* The member called `name`, or NULL; also NULL when `object` is none. */
const struct json *json_find(const struct json *object, const char *name) NONNULL;

/*
 * The writer keeps commas, indentation and nesting:
 *	struct json_writer w = JSON_WRITER_INIT(&buf);
 *	json_begin_object(&w);
 *	json_key(&w, "access");
 *	json_add_str(&w, STR("read"));
 *	json_end_object(&w);
 * Two-space indented, a newline at the very end (when depth returns to 0).
 * A string that is not UTF-8 (a path) is written with U+DC80..U+DCFF escapes
 * for its stray bytes, as python's surrogateescape reads them back.
 * JSON_LINE_INIT: all in one line, for logs.
 * JSON_TREE_INIT: no text, but the values themselves, as json_parse() would give them.
 */
struct json_tree;

struct json_writer {
	struct json_tree *tree; /* NULL: text is written to `out` */
	struct buf *out;
	uint32_t depth;
	bool has_item; /* at this depth, so a comma is due */
	bool after_key;
	bool is_line;
};

#define JSON_WRITER_INIT(buffer)                                                   \
	{                                                                          \
		.out = (buffer), .depth = 0, .has_item = false, .after_key = false \
	}

#define JSON_LINE_INIT(buffer)                                                      \
	{                                                                           \
		.out = (buffer), .depth = 0, .has_item = false, .after_key = false, \
		.is_line = true                                                     \
	}

#define JSON_TREE_INIT(values)                \
	{                                     \
		.tree = (values), .out = NULL \
	}

/* `root` is complete, unless `e` says otherwise, when everything that was begun has ended. */
struct json_tree {
	struct arena *a;
	struct json root;
	struct err e;
	struct str name; /* of the next member */
	struct json_frame *top;
};

void json_begin_object(struct json_writer *w) NONNULL;
void json_end_object(struct json_writer *w) NONNULL;
void json_begin_array(struct json_writer *w) NONNULL;
void json_end_array(struct json_writer *w) NONNULL;
void json_key(struct json_writer *w, const char *name) NONNULL;
void json_add_str(struct json_writer *w, struct str s) NONNULL;
void json_add_text(struct json_writer *w, const char *text) NONNULL;
void json_add_int(struct json_writer *w, int64_t n) NONNULL;
void json_add_bool(struct json_writer *w, bool b) NONNULL;
void json_add_null(struct json_writer *w) NONNULL;

/* A value that is JSON already. Not for a writer of a tree. */
void json_add_raw(struct json_writer *w, struct str json) NONNULL;

/* json_tree.c: what the calls above do with a tree. */
void json_tree_begin(struct json_tree *t, enum json_type type) NONNULL;
void json_tree_end(struct json_tree *t) NONNULL;
void json_tree_name(struct json_tree *t, struct str name) NONNULL;
void json_tree_add(struct json_tree *t, struct json value) NONNULL;

/* Records that what should be written could not be found out. */
void json_fail(struct json_writer *w, enum err_code code) NONNULL;

/* Any parsed value; used to compare and to pass values through. */
void json_add_value(struct json_writer *w, const struct json *value) NONNULL;

/* The members of an object, inside one that was begun. */
void json_add_members(struct json_writer *w, const struct json *object) NONNULL;
