/* SPDX-License-Identifier: MIT */
/* The parts of the agreement test: random trees of real files, and random profiles over them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agreement_probe.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* ---- agreement_tree.c --------------------------------------------------------- */

/* A path that is asked about. */
struct spot {
	char kind;	 /* KIND_* */
	bool is_foreign; /* none of ours: only looked at */
	struct str path;
	struct str target;	/* of a link, canonical; "" when it leads nowhere */
	VEC(struct str) others; /* links that are met on the way to the target, canonical */
};

struct tree {
	struct arena a;
	uint64_t state; /* of the random numbers */
	uid_t uid;	/* who owns it and runs commands in it */
	bool may_mount;
	bool is_in_tmp;	   /* below /tmp */
	bool is_narrowed;  /* by the project's own file */
	char outer[64];	   /* holds only `top` */
	struct str top;	   /* canonical */
	struct str config; /* the file that profiles are written to */
	VEC(struct spot) spots;
	size_t made; /* names that exist below `top` */
};

/*
 * Makes a tree below a directory of its own: bin (for the probe), conf, home, tmp,
 * and the ones that policies speak of, ws (the working directory) and other. All
 * that it is follows from the seed; everyone may do everything with it.
 */
bool tree_make(struct tree *t, uint64_t seed, const char *probe) MUST_CHECK NONNULL;
void tree_remove(struct tree *t) NONNULL;

/* Prints what is there and was not, or is gone; how many. */
size_t tree_changes(struct tree *t) NONNULL;

uint64_t tree_random(struct tree *t) NONNULL;
bool tree_chance(struct tree *t, unsigned one_in) NONNULL;
size_t tree_below(struct tree *t, size_t limit) NONNULL; /* a number below it */

/* `top`/NAME, in the arena. */
struct str tree_path(struct tree *t, const char *name) NONNULL;

/* ---- agreement_policy.c ------------------------------------------------------- */

/* A line of the profile; a case is made smaller by leaving some out. */
struct line {
	bool is_entry; /* below [….filesystem] */
	bool is_out;
	struct str text; /* 'KEY = VALUE' */
	struct str key;
};

struct draft {
	VEC(struct line) lines;
};

/* Random lines, of what is a mode (P19) only if it has to be; they live in the tree's arena. */
void draft_make(struct tree *t, struct draft *p, bool is_mode) NONNULL;

/* The configuration file with the profile "rand". */
void draft_print(const struct draft *p, struct buf *out) NONNULL;
