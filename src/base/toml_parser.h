/* SPDX-License-Identifier: MIT */
/*
 * What the files of the TOML parser share; nobody else includes this.
 *
 *	toml.c		documents, tables, keys: what may be defined where
 *	toml_value.c	arrays, inline tables, and which value a text is
 *	toml_string.c	the four kinds of strings
 *	toml_number.c	integers and floats
 *	toml_datetime.c	dates and times
 *
 * All of them read forward from `at` and leave it on the first byte that is not
 * theirs. The tree under construction lives in `work`, which dies with the
 * parser; only the finished tree goes to the caller's arena.
 */
#pragma once

#include "base/name_tree.h"
#include "base/toml.h"

struct toml_parser {
	struct str text;
	size_t at;
	size_t line_start; /* offset of the first byte of this line */
	uint32_t line;
	const char *file;
	struct arena *out;
	struct arena *work;
	struct buf *scratch; /* the string being read */
	struct err *e;
};

/* How a table came to be, which decides what may still be added to it. */
enum table_kind {
	TABLE_IMPLICIT, /* [a.b] made `a`: one [a] may follow */
	TABLE_HEADER,	/* [a] */
	TABLE_DOTTED,	/* a.b = 1 made `a` */
	TABLE_LIST,	/* [[a]]: the children are its elements, of kind HEADER */
	TABLE_NONE,	/* a finished value, closed to additions */
};

/* A member of a table, or an element of a [[list]], under construction. */
struct toml_node {
	struct name_node by_name; /* first, so that one can be cast to the other */
	struct toml_node *first, *last, *next;
	struct name_node *names; /* of the children */
	size_t count;
	uint32_t depth; /* of tables and arrays, the document being 0 */
	enum table_kind kind;
	struct origin name_origin;
	struct toml value; /* type and origin always; the rest when kind is TABLE_NONE */
};

/* Fails with "FILE:LINE:COLUMN: " of the byte at `at`. */
int toml_fail(struct toml_parser *p, size_t at, enum err_code code, const char *fmt, ...)
	PRINTF_LIKE(4, 5) NONNULL;

int toml_fail_depth(struct toml_parser *p, size_t at) NONNULL;

/* "expected ..., found" and what is at the current place. */
int toml_fail_found(struct toml_parser *p, const char *expected) NONNULL;

/* The byte at the current place, or 0 at the end: no NUL gets this far. */
char toml_peek(const struct toml_parser *p) PURE NONNULL;
bool toml_has_prefix(const struct toml_parser *p, const char *text) PURE NONNULL;
struct origin toml_here(const struct toml_parser *p) PURE NONNULL;

void toml_skip_blanks(struct toml_parser *p) NONNULL; /* spaces and tabs */
bool toml_skip_newline(struct toml_parser *p) NONNULL;
int toml_skip_comment(struct toml_parser *p) MUST_CHECK NONNULL; /* if there is one */
int toml_skip_lines(struct toml_parser *p) MUST_CHECK NONNULL;	 /* blanks, comments, newlines */

/* One part of a dotted key, and the blanks behind it. */
int toml_read_part(struct toml_parser *p, struct str *out) MUST_CHECK NONNULL;
int toml_read_string(struct toml_parser *p, bool is_key, struct str *out) MUST_CHECK NONNULL;
int toml_read_number(struct toml_parser *p, struct toml *out) MUST_CHECK NONNULL;
int toml_read_datetime(struct toml_parser *p, struct toml *out) MUST_CHECK NONNULL;

/* `depth` is that of the table or array which the value is put in. */
int toml_read_value(struct toml_parser *p, uint32_t depth, struct toml *out) MUST_CHECK NONNULL;

/* Adds key = value, read from here, to `table`. */
int toml_read_pair(struct toml_parser *p, struct toml_node *table) MUST_CHECK NONNULL;

/* The finished form of a node and of all below it, in the caller's arena. */
int toml_finish(struct toml_parser *p, const struct toml_node *node, struct toml *out)
	MUST_CHECK NONNULL;
