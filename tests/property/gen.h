/* SPDX-License-Identifier: MIT */
/*
 * Random policies for the property tests: texts as a person could write them,
 * over one made-up host that has a bit of everything the rules speak of. All of
 * it follows from a seed.
 */
#pragma once

#include "world.h"

struct gen {
	uint64_t state; /* set to the seed */
	struct buf *b;	/* where texts go */
};

uint64_t gen_next(struct gen *g) NONNULL;
bool gen_chance(struct gen *g, unsigned one_in) NONNULL;
const char *gen_pick(struct gen *g, const char *const *list) NONNULL; /* NULL-terminated */

/* The host; its working directory is GEN_CWD. */
extern const char gen_host[];
#define GEN_CWD "/repo"

/* What to ask about, NULL-terminated: every path of the host, and missing ones. */
extern const char *const gen_paths[];
extern const char *const gen_hosts[];

/* P25's files, readable or not at all. */
extern const struct own_file gen_own[];
extern const size_t gen_own_count;

/* A world with all of that. */
void gen_world(struct world *w) NONNULL;

/* Each writes lines below a header that the caller has written. */
void gen_filesystem(struct gen *g, unsigned max_entries) NONNULL;
void gen_domains(struct gen *g, unsigned max_rules) NONNULL;

/* `[permissions.dev…]` with everything, and default_permissions. */
void gen_profile(struct gen *g) NONNULL;

/* A project file, or the requirements: the tables of P2. */
void gen_narrowing(struct gen *g) NONNULL;

enum { GEN_LINE_BYTES = 256 };

/* A deny that `text` does not have yet, as a line; "" when the one picked is there. */
const char *gen_deny_path(struct gen *g, const char *text, char out[GEN_LINE_BYTES]) NONNULL;
const char *gen_deny_host(struct gen *g, const char *text, char out[GEN_LINE_BYTES]) NONNULL;

/* Writes `text` with the line below the header, which is added when it is not there. */
void gen_insert(struct gen *g, struct str text, const char *header, const char *line) NONNULL;

/* Up to four paths and hosts; lives in `a`. */
void gen_grants(struct gen *g, struct arena *a, struct permissions *out) NONNULL;
