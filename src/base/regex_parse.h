/* SPDX-License-Identifier: MIT */
/* What the two parts of the parser of patterns share. */
#pragma once

#include "base/regex_internal.h"

/* In the order of the letters "imsUux". */
enum {
	REGEX_FLAG_CASELESS = 1,
	REGEX_FLAG_MULTILINE = 2,
	REGEX_FLAG_DOT_NEWLINE = 4,
	REGEX_FLAG_SWAPPED = 8,
	REGEX_FLAG_UNICODE = 16,
	REGEX_FLAG_SPACED = 32,
};

struct regex_parser {
	struct arena *a;
	struct regex_tree *tree;
	struct str text;
	size_t at;
	unsigned flags;	  /* REGEX_FLAG_* */
	unsigned options; /* REGEX_* of the caller */
	unsigned depth;
	VEC(struct str) names;
	const struct regex_set *any[2], *perl[12]; /* made before */
};

/* CAUSE_REGEX_SYNTAX at the place where the parser is. */
int regex_wrong(const struct regex_parser *p, struct err *e, const char *what) NONNULL;

bool regex_take(struct regex_parser *p, const char *text) NONNULL;
void regex_skip_blanks(struct regex_parser *p) NONNULL;

/* The node of a class, without what REGEX_LINES forbids. */
struct regex_node *regex_new_class(struct regex_parser *p, regex_ranges *r, struct err *e)
	MUST_CHECK NONNULL;

/* At '\': the one character that an escape stands for. */
int regex_parse_escaped(struct regex_parser *p, uint32_t *out, struct err *e) MUST_CHECK NONNULL;

/* At "\p" or "\P". */
int regex_parse_property(struct regex_parser *p, regex_ranges *r, struct err *e) MUST_CHECK NONNULL;

/* At '['. */
struct regex_node *regex_parse_class(struct regex_parser *p, struct err *e) MUST_CHECK NONNULL;
