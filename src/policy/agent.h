/* SPDX-License-Identifier: MIT */
/*
 * The coding agents that may run inside as a whole (`cordon agent`): what each needs, as data. The built-in profiles
 * :agent-NAME are made from this table.
 *
 * SECURITY: what an agent obeys in its next session must not be for a command to write: settings, hooks, MCP servers,
 * plugins, skills, and programs that it has downloaded. Most of it lies beside the state that it saves, under names that
 * change with each version. So the state is read-only, and only what is in this table is not: what the agent can't
 * work without, and what it does not obey.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

enum agent_file_kind {
	AGENT_STATE, /* a directory of its state: read-only as a whole, made where it is missing */
	AGENT_SAVED, /* a directory in it that it saves in, made where it is missing */
	AGENT_SAVED_FILE, /* a file that it saves in, made empty where it is missing */
	AGENT_CREDENTIAL, /* its own, which it also renews; never made */
	AGENT_READ,	  /* its own, only read: a secret of others otherwise */
	AGENT_OBEYED, /* a directory in a saved one, which it obeys: read-only, and can't be made */
	AGENT_EACH,   /* the same with a '*' in it. No entry: `cordon agent` finds them */
};

struct agent_file {
	const char *path; /* "~/x"; NULL behind the last */
	enum agent_file_kind kind;
	const char *reason;
};

struct agent_host {
	const char *pattern; /* P13; NULL behind the last */
	const char *reason;
};

/* A variable that would have it keep its state elsewhere, and where that is without it. */
struct agent_move {
	const char *variable; /* NULL behind the last */
	const char *usual;    /* "~/x"; NULL: it is one of those that Cordon sets */
};

struct agent_profile {
	const char *name, *title;
	const char *program; /* as it is found in PATH */
	const struct agent_file *files;
	const struct agent_host *hosts;
	const char *const
		*keys; /* variables with its keys, which P21 would withhold; NULL behind the last */
	/*
	 * NAME=VALUE of its own, NULL behind the last: no updates, no sandbox, caches for this run alone. A VALUE may
	 * start with "~/".
	 */
	const char *const *variables;
	const char *const
		*words;	    /* its own options, before those of the caller; NULL behind the last */
	const char *unless; /* the words are left out where the caller has this one; NULL */
	bool has_sandbox;   /* one of its own, which the words or variables switch off */
	const struct agent_move *moves;
	/* A file that it does not start without, and what it would have made; NULL. */
	const char *first_file, *first_text;
};

extern const struct agent_profile agent_profiles[];
extern const size_t agent_profile_count;

/* NULL: there is none. */
const struct agent_profile *agent_profile_find(struct str name);
/* That of the profile ":agent-NAME"; NULL. */
const struct agent_profile *agent_profile_of(struct str profile);

/* What the key of an entry names ("~/.codex/config.toml") of any agent; NULL. */
const struct agent_file *agent_file_find(struct str key);

/*
 * The innermost of them that has `below`, a path below the home (".codex/rules/x"), in it or is it; NULL. `agent` NULL:
 * of any agent.
 */
const struct agent_file *agent_file_around(const struct agent_profile *agent, struct str below);

/* Whether commands may change it, too. */
bool agent_file_is_saved(const struct agent_file *file);

/* The profiles, as TOML in normal form; of those of the agents their names, description and parent alone. */
void agent_profiles_write(struct buf *out);
/* One of them as a whole. */
void agent_profile_write(struct buf *out, const struct agent_profile *p);
