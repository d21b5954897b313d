/* SPDX-License-Identifier: MIT */
/*
 * The coding agents that `cordon setup` knows, as data: how Cordon gets beneath the shell of each, and what
 * that does not cover. Pure.
 *
 * A way never lowers the agent's own sandbox or approvals, and never rewrites commands: the agent's own rules
 * see what the model has asked for.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum agent_scope { SCOPE_USER, SCOPE_SYSTEM, SCOPE_PROJECT, SCOPE_COUNT };

extern const char *const agent_scope_names[SCOPE_COUNT];

/* Where everything is; all absolute. */
struct agent_places {
	struct str home;
	struct str project;
	struct str cordon;  /* the program */
	struct str shell;   /* cordon-sh */
	struct str private; /* a directory for what the agent is to find and nobody else */
};

enum piece_kind {
	PIECE_NONE,
	PIECE_JSON,   /* one member of a JSONC file */
	PIECE_TOML,   /* one key of a TOML file */
	PIECE_SCRIPT, /* an executable file */
	PIECE_FILE,   /* the same, but not executable */
};

/* One thing to change. */
struct agent_piece {
	enum piece_kind kind;
	/* "~/x" in the home, "./x" in the project, "@/x" in places.private, or absolute. */
	const char *place;
	const char *names[3]; /* of PIECE_JSON; of PIECE_TOML the table and the key */
	void (*write)(struct buf *out, const struct agent_places *places);
};

enum { AGENT_MAX_PIECES = 4, AGENT_MAX_WAYS = 5, AGENT_MAX_RIVALS = 8, AGENT_MAX = 16 };

struct agent_way {
	unsigned scopes; /* bits 1 << SCOPE_*; 0: no more ways */
	/* Which commands run outside Cordon in spite of it; NULL: none. A way with gaps needs --partial. */
	const char *gap;
	const char *limit; /* what else a person has to know; NULL */
	const char *start; /* how the agent is started then; NULL: as before */
	int rank;	   /* what ranks higher in the agent can override it */
	/*
	 * A shell script that has the agent start the command line $2, as near to the way of its shell tool
	 * as is possible without a model. $1 is what starts the agent, $3 cordon-sh, $4 places.private, $5 an
	 * empty directory, $6 the program cordon. What the command prints has to be in what it prints.
	 */
	const char *probe;
	/*
	 * The same, for whether the agent calls `cordon hook`: prints "called", and nothing that the agent has
	 * printed. NULL: it registers no hooks, or nobody can see that without a model.
	 */
	const char *hooks_probe;
	struct agent_piece pieces[AGENT_MAX_PIECES];
};

/* What does no harm as the value of a rival. */
enum rival_kind {
	RIVAL_SHELL, /* what the way itself sets */
	RIVAL_ON,    /* true: it turns hooks off otherwise */
	RIVAL_OFF,   /* false, likewise */
	RIVAL_NONE,  /* an empty list: it names hooks to turn off */
};

/* A member of a settings file that could put another program in the place of Cordon's, or turn hooks off. */
struct agent_rival {
	int rank;
	const char *place;
	const char *names[3];
	enum rival_kind kind;
};

struct agent {
	const char *name, *title;
	const char *program;  /* as it is found in PATH */
	unsigned json_extras; /* JSONC_*: it ignores settings that have others, and says nothing */
	struct agent_way ways[AGENT_MAX_WAYS];
	struct agent_rival rivals[AGENT_MAX_RIVALS];
	/* A variable that the agent ignores unless its value has this word in it; NULL: none. */
	const char *variable, *word;
};

extern const struct agent agents[];
extern const size_t agent_count;

/* NULL: there is none. */
const struct agent *agent_find(const char *name) NONNULL;
/* The way for a scope, with a gap if `is_partial`, else without; NULL: there is none. */
const struct agent_way *agent_find_way(const struct agent *agent, enum agent_scope scope,
				       bool is_partial) NONNULL;
