/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the regex module share. A pattern becomes a tree (regex_parse.c), the tree two
 * automata, one for each direction (regex_compile.c), and those are run as automata
 * that are made deterministic as far as a text needs it (regex_dfa.c).
 *
 * All of them work on characters, not bytes. The characters that no part of the pattern
 * tells apart are one *class*, so a table has a column for each class, and a class of Unicode with
 * 700 ranges costs no more than a letter.
 */
#pragma once

#include "base/regex.h"
#include "base/scan.h"

enum {
	REGEX_LAST = 0x10ffff,
	REGEX_INVALID = REGEX_LAST + 1, /* stands for a byte that is no part of a character */
	REGEX_BYTE_LAST = 255,		/* where characters are bytes */
	REGEX_MANY = -1,		/* of `max`: no limit */
};

/* ---- Sets of characters ---- */

struct regex_range {
	uint32_t first, last;
};

/* Sorted and disjoint. Two sets of a regex with the same members are the same set. */
struct regex_set {
	const struct regex_range *items;
	size_t count;
	uint32_t number; /* in regex_sets */
};

/* All the sets of a regex. */
struct regex_sets {
	struct arena *a;
	VEC(struct regex_set *) all;
	uint32_t *table; /* numbers + 1, by hash; 0: none */
	size_t table_size;
	const struct regex_set *ascii[256]; /* the sets of one such character */
};

/* A set that grows; not sorted until regex_set_new() or regex_ranges_sort(). */
typedef VEC(struct regex_range) regex_ranges;

int regex_ranges_add(struct arena *a, regex_ranges *r, uint32_t first, uint32_t last, struct err *e)
	MUST_CHECK NONNULL;
int regex_ranges_join(struct arena *a, regex_ranges *r, const regex_ranges *more, struct err *e)
	MUST_CHECK NONNULL;
int regex_ranges_sort(struct arena *a, regex_ranges *r, struct err *e) MUST_CHECK NONNULL;
/* These take and leave sorted ones. */
int regex_ranges_negate(struct arena *a, regex_ranges *r, uint32_t last, struct err *e)
	MUST_CHECK NONNULL;
int regex_ranges_meet(struct arena *a, regex_ranges *r, const regex_ranges *with, struct err *e)
	MUST_CHECK NONNULL;
/* Adds all that is the same but for case; of ASCII alone unless `is_unicode`. Not sorted then. */
int regex_ranges_fold(struct arena *a, regex_ranges *r, bool is_unicode, struct err *e)
	MUST_CHECK NONNULL;
bool regex_ranges_have(const regex_ranges *r, uint32_t c) NONNULL;

/* The set of these ranges, which it sorts. */
const struct regex_set *regex_set_new(struct regex_sets *sets, regex_ranges *r, struct err *e)
	MUST_CHECK NONNULL;
const struct regex_set *regex_set_one(struct regex_sets *sets, uint32_t c, struct err *e)
	MUST_CHECK NONNULL;

/* The classes of \w \d \s, as Unicode or ASCII has them. */
enum regex_perl {
	REGEX_WORD,
	REGEX_DIGIT,
	REGEX_SPACE,
};
int regex_add_perl(struct arena *a, regex_ranges *r, enum regex_perl class, bool is_unicode,
		   struct err *e) MUST_CHECK NONNULL;

/* ---- The tree ---- */

enum regex_kind {
	REGEX_EMPTY,
	REGEX_SET,  /* one character of a set */
	REGEX_LOOK, /* a place */
	REGEX_CAT,
	REGEX_ALT,
	REGEX_REPEAT,
	REGEX_ACCEPT, /* the whole text matched, as number `min` */
};

enum regex_look {
	REGEX_TEXT_BEGIN,
	REGEX_TEXT_END,
	REGEX_LINE_BEGIN,
	REGEX_LINE_END,
	REGEX_BORDER,
	REGEX_NO_BORDER,
	REGEX_WORD_BEGIN,
	REGEX_WORD_END,
	/* These know ASCII words alone. */
	REGEX_ASCII_BORDER,
	REGEX_ASCII_NO_BORDER,
	REGEX_ASCII_WORD_BEGIN,
	REGEX_ASCII_WORD_END,
};

struct regex_node {
	uint8_t kind, look;
	bool is_lazy, may_be_empty;
	uint16_t depth;
	int32_t min, max; /* REGEX_MANY: no maximum */
	const struct regex_set *set;
	struct regex_node *first, *last; /* of what it consists of */
	struct regex_node *next, *previous;
};

struct regex_tree {
	struct arena *a;
	struct regex_sets sets;
	struct regex_node *root;
};

struct regex_node *regex_node_new(struct arena *a, enum regex_kind kind, struct err *e)
	MUST_CHECK NONNULL;
struct regex_node *regex_node_set(struct arena *a, const struct regex_set *set, struct err *e)
	MUST_CHECK NONNULL;
/* Puts `child` at the end of `parent`. CAUSE_REGEX_LIMIT: too deep. */
int regex_node_add(struct regex_node *parent, struct regex_node *child, struct err *e)
	MUST_CHECK NONNULL;
struct regex_node *regex_node_repeat(struct arena *a, struct regex_node *child, int32_t min,
				     int32_t max, struct err *e) MUST_CHECK NONNULL;

int regex_parse_tree(struct regex_tree *tree, struct str pattern, unsigned flags, struct err *e)
	MUST_CHECK NONNULL;

/* ---- The automata ---- */

enum regex_op {
	REGEX_OP_SET,	/* a class; `arg` its number, or with REGEX_ARG_BITS where its bits begin */
	REGEX_OP_LOOK,	/* `arg`: enum regex_look */
	REGEX_OP_SPLIT, /* `out` before `arg` */
	REGEX_OP_MATCH, /* `arg`: the number of REGEX_ACCEPT */
};

#define REGEX_ARG_BITS 0x80000000u

struct regex_step {
	uint32_t op, out, arg;
};

struct regex_program {
	struct regex_step *steps;
	uint32_t count, start;
	bool is_reversed;
};

/* What is known of a class, and of both sides of a place. */
enum {
	REGEX_SIDE_EDGE = 1, /* no character, the text ends */
	REGEX_SIDE_NEWLINE = 2,
	REGEX_SIDE_WORD = 4,
	REGEX_SIDE_ASCII_WORD = 8,
	REGEX_SIDES = 16,
};

struct regex_classes {
	uint32_t count;	       /* without the end of the text, which comes behind them */
	uint8_t *sides;	       /* by class, that of the end included */
	uint16_t of_byte[256]; /* by byte; REGEX_NO_CLASS: it is not ASCII */
	uint32_t invalid;      /* the class of REGEX_INVALID */
	const uint64_t *bits;  /* of REGEX_ARG_BITS: `words` words each */
	size_t words;
	/* By character >> 7: a class, or with REGEX_ARG_BITS where 128 classes begin. */
	const uint32_t *pages;
	const uint16_t *page_classes;
	bool are_bytes;
};
#define REGEX_NO_CLASS 0xffff

struct regex {
	struct regex_classes classes;
	struct regex_program forward, backward;
	unsigned flags;
	unsigned looks; /* which sides matter */
	bool is_whole;	/* it has REGEX_ACCEPT: it is run from the beginning to the end */
	struct scan_needle needle; /* what every match contains; of length 0: not known */
	bool is_needle;		   /* and nothing else */
};

/*
 * `is_whole`: what regex_which() takes, where characters are bytes.
 */
struct regex *regex_compile(struct regex_tree *tree, unsigned flags, bool is_whole,
			    uint32_t max_states, struct err *e) MUST_CHECK NONNULL;

/* Finds what every match contains. */
void regex_find_needle(const struct regex_tree *tree, struct regex *out) NONNULL;

static inline bool regex_bits_have(const struct regex_classes *c, uint32_t arg, uint32_t class)
{
	if (!(arg & REGEX_ARG_BITS))
		return arg == class;
	return c->bits[(arg & ~REGEX_ARG_BITS) + class / 64] >> (class % 64) & 1;
}

/*
 * For a regex that `is_whole`: which REGEX_ACCEPT all of `text`, and then the byte `more` unless it
 * is below 0, leads to; of several the first. -1: none.
 */
int regex_which(struct regex_matcher *m, struct str text, int more, int64_t *out, struct err *e)
	MUST_CHECK NONNULL;

/* ---- The deterministic automaton of a program ---- */

struct regex_dfa;
