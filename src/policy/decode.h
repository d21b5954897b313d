/* SPDX-License-Identifier: MIT */
/*
 * From a checked table to the structs of policy.h. Internal to policy/: one
 * function for each table of a profile, used for profiles, project files and
 * the ceiling alike.
 */
#pragma once

#include "policy/policy.h"
#include "policy/schema.h"

struct decode {
	struct arena *a;
	warning_list *warnings; /* NULL when it is only asked whether all is valid */
	const char *where;	/* "profile 'dev'", for messages */
	enum layer_kind kind;	/* of the layer that the table is of */
};

/* Whether it is a project's or the ceiling's table, which can only take away. */
static inline bool decode_narrows(const struct decode *d)
{
	return d->kind != LAYER_PROFILE;
}

/* Adds a warning, unless they are not asked for. */
int decode_warn(const struct decode *d, struct origin origin, struct err *e, const char *fmt, ...)
	MUST_CHECK PRINTF_LIKE(4, 5) NONNULL;

/* schema_check() of the table `name` of what is being decoded. */
int decode_check(const struct decode *d, const struct toml *table, enum schema_table which,
		 const char *name, struct err *e) MUST_CHECK NONNULL;

int decode_filesystem(const struct decode *d, const struct toml *table, fs_entries *out,
		      struct err *e) MUST_CHECK NONNULL;
int decode_network(const struct decode *d, const struct toml *table, struct net_rules *out,
		   struct err *e) MUST_CHECK NONNULL;
/* Of a profile's network that says much, and not that there is one. */
int decode_warn_off(const struct decode *d, const struct toml *table, struct err *e)
	MUST_CHECK NONNULL;
/* One pattern of P13 with what it is to do; warns of what it opens by the way. */
int decode_domain(const struct decode *d, struct str pattern, bool is_allow, struct origin origin,
		  struct net_rules *out, struct err *e) MUST_CHECK NONNULL;
int decode_environment(const struct decode *d, const struct toml *table, struct environment *out,
		       struct err *e) MUST_CHECK NONNULL;
int decode_limits(const struct decode *d, const struct toml *table, struct limits *out,
		  struct err *e) MUST_CHECK NONNULL;
/* Whether `name` is one that `unprotect` may hold. ERR_POLICY, with the nearest that is. */
int unprotect_check(struct str name, struct origin origin, struct err *e) MUST_CHECK NONNULL;

int decode_protect(const struct decode *d, const struct toml *array, names *out, struct err *e)
	MUST_CHECK NONNULL;

/* The values of `filesystem`, where the schema is of no help. */
int decode_access(const struct toml *value, enum access *out, struct err *e) MUST_CHECK NONNULL;

/* The configured roots of a profile's table: those that are true. */
int decode_roots(const struct decode *d, const struct toml *profile, struct profile *out,
		 struct err *e) MUST_CHECK NONNULL;

/* `workspace` of a profile's table. */
int decode_workspace(const struct toml *profile, bool *is_repo, struct err *e) MUST_CHECK NONNULL;

/* A whole profile, parents already merged. */
struct profile *decode_profile(const struct decode *d, struct str name, const struct toml *table,
			       struct err *e) MUST_CHECK NONNULL;

/* What a narrowing file holds: `filesystem`, `network`, `limits`, `protect`. */
struct narrowing {
	struct layer layer;
	struct limits limits;
	names protect;
};
int decode_narrowing(const struct decode *d, const struct toml *table, struct narrowing *out,
		     struct err *e) MUST_CHECK NONNULL;

/* A profile that says nothing: nothing readable, no network. */
void profile_init(struct profile *p) NONNULL;
