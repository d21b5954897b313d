/* SPDX-License-Identifier: MIT */
/* What stands behind the opaque structs of policy.h. Internal to policy/. */
#pragma once

#include "policy/decode.h"
#include "policy/policy.h"

struct config {
	struct toml *merged;		     /* built-in, system, user, command line */
	const struct toml_member **profiles; /* of `permissions`, by name */
	size_t profile_count;
	const struct toml *command_default; /* `default_permissions` of --config, or NULL */
	const struct toml *system, *user;   /* as they are written, or NULL */
	const struct toml *requirements;    /* requirements.toml, or NULL when there is none */
	const char *env_profile, *env_mode; /* NULL when not set */
	struct settings settings;
	warning_list warnings;
};

struct profile_doc {
	struct str name;
	struct toml table;     /* parents merged */
	const char *chosen_by; /* as struct policy has it */
	bool is_mode;	       /* a mode named it */
	bool is_unsandboxed;
};

extern const char project_where[];	 /* "the project file" */
extern const char builtin_full_access[]; /* ":danger-full-access" */

/*
 * The built-in layer, parsed and in normal form. The profiles of agents are empty but for what they extend: every run
 * parses this, and few need them. builtin_complete() fills in the one called `name`.
 */
struct toml *builtin_parse(struct arena *a, struct err *e) MUST_CHECK NONNULL;
int builtin_complete(struct arena *a, struct str name, struct toml *profile, struct err *e)
	MUST_CHECK NONNULL;

/* Reads a text as TOML, CONFIG_MAX_BYTES of it at most. */
struct toml *layer_parse(struct arena *a, const struct source *source, struct err *e)
	MUST_CHECK NONNULL;

/* Reads the i-th "key=value". */
struct toml *config_parse_override(struct arena *a, const struct config_inputs *in, size_t i,
				   struct err *e) MUST_CHECK NONNULL;

/* All layers checked and merged; whether the names that they use exist is not looked at. */
struct config *config_merge(struct arena *a, const struct config_inputs *in, struct err *e)
	MUST_CHECK NONNULL;

/*
 * The same of texts that need be right in nothing but their TOML: it has the names of profiles,
 * 'extends' and 'default_permissions', and serves to check these alone.
 */
struct config *config_merge_names(struct arena *a, const struct config_inputs *in, struct err *e)
	MUST_CHECK NONNULL;

/* Whether the profiles exist that the rules of `approve` name; of decoded settings. */
int config_check_approve(struct arena *a, const struct config *c, struct err *e) MUST_CHECK NONNULL;
/* The same of the rules of `exec`. */
int config_check_exec(struct arena *a, const struct config *c, struct err *e) MUST_CHECK NONNULL;

/* Whether the profile exists that `default_permissions` names. */
int config_check_default(struct arena *a, const struct config *c, struct err *e) MUST_CHECK NONNULL;

/* Checks one layer alone and brings it into normal form; `warnings` as normal_table() has it. */
int layer_check(struct arena *a, struct toml *top, enum key_files layer, warning_list *warnings,
		struct err *e) MUST_CHECK NONNULL;

/* The same for a file that narrows: IN_PROJECT or IN_REQUIREMENTS. */
int layer_check_narrowing(struct arena *a, struct toml *top, enum key_files file, const char *where,
			  warning_list *warnings, struct err *e) MUST_CHECK NONNULL;

/* The top-level keys that are no profiles; all is allowed. */
int settings_decode(const struct decode *d, const struct toml *merged, struct settings *out,
		    struct err *e) MUST_CHECK NONNULL;

/* What the requirements' `allow` names. */
int settings_decode_allow(const struct decode *d, const struct toml *requirements, uint32_t *out,
			  struct err *e) MUST_CHECK NONNULL;

/* The table of a profile as the layers give it, or NULL. */
const struct toml_member *config_find_profile(const struct config *c, struct str name) NONNULL;

/*
 * No profile has that name. `what` says who asked for it in a file, which is ERR_POLICY;
 * NULL is the caller, and ERR_NOTFOUND.
 */
int config_fail_unknown(struct arena *a, const struct config *c, struct origin origin,
			const char *what, struct str name, struct err *e);

/* The profile with its parents merged below it; cycles and unknown parents are errors. */
int config_resolve(struct arena *a, const struct config *c, struct str name, struct toml *out,
		   struct err *e) MUST_CHECK NONNULL;
/* The same errors, without the merging. */
int config_check_parents(struct arena *a, const struct config *c, struct str name, struct err *e)
	MUST_CHECK NONNULL;

/*
 * Puts a project file into normal form and says whether the user trusts exactly
 * this text in exactly that directory (P2).
 */
int project_load(const struct decode *d, const struct config *c, struct project *project,
		 struct toml **out, struct err *e) MUST_CHECK NONNULL;

/* Merges a trusted project's tables into a profile's, as if it were its child. */
int project_merge(struct arena *a, struct toml *profile, const struct toml *project, struct err *e)
	MUST_CHECK NONNULL;

/* Reports what an untrusted project asks for and does not get of network and limits. */
int project_report_ignored(const struct decode *d, const struct toml *project,
			   const struct narrowing *narrowing, const struct profile *profile,
			   struct err *e) MUST_CHECK NONNULL;
