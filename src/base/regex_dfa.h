/* SPDX-License-Identifier: MIT */
/* The deterministic automaton of a program; see regex_dfa.c. */
#pragma once

#include "base/mem.h"
#include "base/regex_internal.h"

/* A transition is the number of a state; or, with the highest bit set, something special. */
#define REGEX_DFA_UNKNOWN 0xffffffffu
#define REGEX_DFA_DEAD	  0xfffffffeu
#define REGEX_DFA_MATCH	  0x80000000u /* to a state: there was a match before the character */
#define REGEX_DFA_NUMBER  0x7fffffffu

struct regex_dfa_state {
	uint32_t at, count; /* its steps, in the pool */
	uint32_t hash;
	uint32_t match; /* which REGEX_ACCEPT */
	uint8_t before; /* the sides that its steps ask for */
	bool is_match;
};

struct regex_dfa {
	const struct regex *re;
	const struct regex_program *program;
	size_t columns; /* classes, and the end of the text */
	size_t max_states, max_pool;
	struct regex_dfa_state *states;
	size_t state_count, state_room;
	uint32_t *next; /* `columns` for each state */
	size_t next_room;
	uint32_t *pool;
	size_t pool_count, pool_room;
	uint32_t *table; /* numbers of states + 1, by hash */
	size_t table_size;
	uint32_t starts[REGEX_SIDES]; /* numbers + 1, by what is before the start */
	/* For making states. */
	uint32_t *marks, *list, *resolved, *stack;
	uint32_t turn;
	uint64_t spent; /* a count of all that was done */
};

int regex_dfa_init(struct regex_dfa *d, const struct regex *re, const struct regex_program *program,
		   struct err *e) MUST_CHECK NONNULL;
void regex_dfa_done(struct regex_dfa *d) NONNULL;

/* The state in which it begins, behind a character (or the edge of the text) with these sides. */
int regex_dfa_start(struct regex_dfa *d, unsigned sides, uint32_t *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Where `state` leads by a character of the class: REGEX_DFA_DEAD, or a number, perhaps with
 * REGEX_DFA_MATCH. All numbers but the new one may have become void.
 */
int regex_dfa_step(struct regex_dfa *d, uint32_t state, uint32_t class, uint32_t *out,
		   struct err *e) MUST_CHECK NONNULL;
