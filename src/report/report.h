/* SPDX-License-Identifier: MIT */
/*
 * A report is one tree of values. Its maker fills `data`; when the report is first read,
 * `describe` turns the data into the tree. JSON is the tree, preceded by the name and version of
 * its schema (schemas/) and Cordon's version. Text comes from the tree if the report has
 * `render`, and from the data if it has `print_text`; a new report should have `render`.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/toml.h"
#include "cordon.h"
#include "policy/policy.h"

/* Text for people: aligned, coloured where it is wanted. */
struct page {
	struct buf *out;
	struct str home; /* shown as "~" where a file is named; "" when unknown */
	bool is_windows; /* paths are shown as they are written there */
	bool is_coloured;
	bool is_brief;
};

enum style { STYLE_PLAIN, STYLE_GOOD, STYLE_BAD, STYLE_CAREFUL, STYLE_TITLE, STYLE_FAINT };

typedef void print_text_fn(struct page *page, const void *data);
typedef void print_json_fn(struct json_writer *w, const void *data);
typedef void render_text_fn(struct page *page, const struct json *root);

struct cordon_report {
	struct arena arena;
	struct buf text;
	struct buf json;
	cordon_policy *policy; /* what it was made from, kept alive; may be NULL */
	uint64_t error_count;
	struct str home;    /* see struct page */
	const void *data;   /* in the arena, or in the policy */
	const char *schema; /* "run/1": schemas/run-1.json */
	print_json_fn *describe;
	render_text_fn *render;
	const char *brief;	   /* what -q prints; NULL: as rendered */
	print_text_fn *print_text; /* in place of `render`, from the data */
	struct arena values;	   /* the tree */
	const struct json *root;   /* NULL until it is read */
};

/* An empty report, whose maker sets the rest. NULL: ERR_NOMEM. */
cordon_report *report_new(struct err *e) MUST_CHECK NONNULL;

void page_style(struct page *p, enum style style, const char *fmt, ...) PRINTF_LIKE(3, 4);
void page_text(struct page *p, const char *text);
void page_printf(struct page *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
void page_line(struct page *p); /* ends one */

/* Escaped where it has to be. */
void page_str(struct page *p, struct str s);

/* As one word of a shell, so that the line can be pasted. */
void page_word(struct page *p, struct str word);

/* The same as page_str(), filled up with blanks to `width` characters. */
void page_column(struct page *p, struct str s, size_t width);

/* "deny" in red, "read" in yellow, "write" in green; five columns wide. */
void page_access(struct page *p, enum access access);

/* "~/file:12"; nothing when there is no file. A line 0 is not shown. */
void page_place(struct page *p, struct str file, int64_t line);
void page_origin(struct page *p, const struct origin *origin);

/* Members of an object of the tree: "", 0 and false for null. */
struct str value_str(const struct json *object, const char *name) NONNULL;
int64_t value_int(const struct json *object, const char *name) NONNULL;
bool value_bool(const struct json *object, const char *name) NONNULL;
/* How many items an array has, and each of them. */
size_t value_count(const struct json *object, const char *name) NONNULL;
const struct json *value_item(const struct json *object, const char *name, size_t i) NONNULL;

/* Members of the object being written. A NULL is null. */
void json_str(struct json_writer *w, const char *key, struct str value);
void json_str_or_null(struct json_writer *w, const char *key, struct str value); /* "" is null */
void json_strs(struct json_writer *w, const char *key, const struct str *items, size_t count);
void json_text(struct json_writer *w, const char *key, const char *value);
void json_bool(struct json_writer *w, const char *key, bool value);
void json_int(struct json_writer *w, const char *key, int64_t value);
void json_number(struct json_writer *w, const char *key, uint64_t value);
void json_int_or_null(struct json_writer *w, const char *key, int64_t value); /* 0 is null */

/* "file", "line", "column"; null without a file. */
void json_origin(struct json_writer *w, const struct origin *origin);
