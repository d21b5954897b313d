/* SPDX-License-Identifier: MIT */
/*
 * macOS: a plan as a profile of sandbox-exec (SBPL). Pure, but for apply.c, which runs it on macOS.
 *
 * Apple documents neither the language nor how rules rank: "each operation has its own list, and an
 * operation falls back to the list of its wildcard" and "the last rule in the text that matches
 * counts" are both believed. A profile of Cordon's means the same under both, because after the
 * `deny default` it has no deny: each allow is a filter that leaves out what is narrower.
 *
 * Paths are parameters (-D), which need no quoting, but for what has no name yet: globs, and on a
 * volume whose names fold what is missing. Those are regexes, quoted byte by byte.
 *
 *	lower.c		the sections, and what can't be lowered
 *	lower_files.c	the areas of the plan as filters
 *	lower_regex.c	literals, folded names and globs as regexes
 *	lower_text.c	what every process needs to start, with the reasons
 *	apply.c		runs a command in it, with backend/macos/
 */
#pragma once

#include "backend/backend.h"
#include "base/glob.h"
#include "base/glob_internal.h"
#include "base/name_tree.h"
#include "base/utf8.h"
#include "plan/plan.h"

enum {
	SEATBELT_MAX_BYTES =
		900 * 1000,	   /* of the profile and all parameters; execve() takes 1 MiB */
	SEATBELT_MAX_REGEX = 4000, /* of one regex */
};

struct seatbelt_param {
	struct name_node node; /* by value */
	struct str name, value;
};

struct seatbelt {
	struct str profile;
	VEC(const struct seatbelt_param *) params;
	guarantee_set missing; /* needed, and not given */
	bool is_refused;
	enum guarantee refused; /* which can't be lowered, */
	struct str reason;	/* and why */
};

/* `proxy_port`: of the loopback, where the proxy of a managed network listens. */
int seatbelt_lower(struct arena *a, const struct plan *plan, uint16_t proxy_port,
		   struct seatbelt *out, struct err *e) MUST_CHECK NONNULL;

/* What it gives of P16 wherever it works; what holds it, or why it does not. */
guarantee_set seatbelt_gives(void);
const char *seatbelt_why(enum guarantee g) RETURNS_NONNULL;

/* ---- Between the files ----------------------------------------------------------------------- */

/* One way to choose the alternatives of a glob: components without braces. */
struct seatbelt_glob {
	const struct rule *rule;
	struct str start;		 /* where it starts, as a regex */
	const struct glob_token *tokens; /* ends with GLOB_END; components are parted by GLOB_SLASH */
	const struct glob_class *classes;
};

/* The spellings of one folded character, or of a few. */
struct spelling {
	struct str raw, folded;
};
typedef VEC(struct spelling) spelling_list;
struct spellings {
	spelling_list by_first[256]; /* by the first byte of what they fold to */
	spelling_list longer;	     /* those that fold to more than one character */
};
int spellings_init(struct arena *a, struct spellings *s, struct err *e) MUST_CHECK NONNULL;

void regex_add_literal(struct buf *out, struct str bytes) NONNULL;
/* Every spelling of a folded text. False: it has marks whose order can't be told. */
bool regex_add_folded(struct buf *out, const struct spellings *s, struct str folded) NONNULL;
/* The glob's components, alternatives chosen. ERR_LIMIT: too many. */
typedef VEC(struct seatbelt_glob) glob_list;
int regex_expand(struct arena *a, const struct rule *rule, bool folds, glob_list *out,
		 struct err *e) MUST_CHECK NONNULL;
/*
 * What the glob matches strictly below the directory `dir`, with all below it; appends one regex to
 * `out` for each way on from there. `s` is NULL where names do not fold.
 */
typedef VEC(struct str) regex_list;
int regex_add_glob(struct arena *a, const struct seatbelt_glob *g, const struct spellings *s,
		   struct str dir, regex_list *out, struct err *e) MUST_CHECK;
/* A string of SBPL. */
void sbpl_add_string(struct buf *out, struct str text, bool is_regex) NONNULL;

struct lowering {
	struct arena *a;
	const struct plan *plan;
	struct seatbelt *out;
	struct buf text;
	struct name_node *params;	   /* by value */
	const struct spellings *spellings; /* NULL: names do not fold */
	glob_list globs;
	struct area *areas;
	size_t area_count;
};

/* ERR_WEAKER, with the guarantee noted. */
int lowering_refuse(struct lowering *l, enum guarantee g, struct err *e, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* (param "P0") */
int lowering_add_param(struct lowering *l, struct str value, struct err *e) MUST_CHECK NONNULL;
void lowering_add_comment(struct lowering *l, const char *text) NONNULL;

int lower_files(struct lowering *l, struct err *e) MUST_CHECK NONNULL;

extern const char seatbelt_start_text[], seatbelt_network_text[], seatbelt_preferences_text[];

/* ---- command.c ------------------------------------------------------------------------------------- */

/* SECURITY: never looked for in PATH. */
#define SEATBELT_TOOL "/usr/bin/sandbox-exec"

/* Why a file of these facts can't be trusted to be the tool; NULL: it can. */
const char *seatbelt_find_fault(bool is_regular, uint64_t owner, unsigned mode);

/*
 * Its arguments: the profile, the parameters, then `program` with the words of the command behind the first.
 * CAUSE_BACKEND_UNSUITED if they and the environment are more than SEATBELT_MAX_BYTES.
 */
int seatbelt_make_argv(struct arena *a, const struct launch *in, const struct seatbelt *s,
		       const char *program, const char *const **out, struct err *e)
	MUST_CHECK NONNULL;
