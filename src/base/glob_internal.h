/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the glob module share: the tokens of a pattern, and the
 * automaton that can match any of them. See glob.h for what a pattern means.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum glob_token_type {
	GLOB_BYTE,  /* the byte `byte` */
	GLOB_ANY,   /* '?' */
	GLOB_CLASS, /* any byte of the class number `link` */
	GLOB_STAR,
	GLOB_SLASH,
	GLOB_OPEN,  /* `link`: the first comma of the group, or its close */
	GLOB_COMMA, /* `link`: the next comma of the group, or its close */
	GLOB_CLOSE,
	GLOB_END,
};

struct glob_token {
	uint8_t type; /* enum glob_token_type */
	uint8_t byte;
	uint16_t link;
};

/* A set of bytes; '/' is never in it. */
struct glob_class {
	uint64_t words[4];
};

struct glob_tokens {
	struct glob_token *list; /* `count` of them, the last one GLOB_END */
	size_t count;
	struct glob_class *classes;
	size_t class_count;
};

static inline bool glob_class_has(const struct glob_class *class, unsigned char c)
{
	return class->words[c >> 6] >> (c & 63) & 1;
}

int glob_tokenize(struct arena *a, struct str pattern, struct glob_tokens *out, struct err *e)
	MUST_CHECK NONNULL;

struct glob_nfa;

/* ERR_SYNTAX for an empty component, ERR_LIMIT for too many states. Keeps `t`. */
const struct glob_nfa *glob_nfa_new(struct arena *a, const struct glob_tokens *t, struct err *e)
	MUST_CHECK NONNULL;

/* How many states it has: no byte of a path takes more steps. */
size_t glob_nfa_count(const struct glob_nfa *n) NONNULL;

/* Whether the path without components matches. */
bool glob_nfa_has_empty(const struct glob_nfa *n) NONNULL;

/* As the functions of glob.h that have these names. */
bool glob_nfa_match(const struct glob_nfa *n, struct str path) NONNULL;
int glob_nfa_match_deepest(const struct glob_nfa *n, struct str path) NONNULL;
bool glob_nfa_may_match_below(const struct glob_nfa *n, struct str path) NONNULL;

/* The automaton of a glob, so that a test can compare it with the shorter ways in glob.c. */
struct glob;
const struct glob_nfa *glob_get_nfa(const struct glob *g) NONNULL;

/* Whether the shorter ways serve this glob. */
bool glob_is_simple(const struct glob *g) NONNULL;
