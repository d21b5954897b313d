/* SPDX-License-Identifier: MIT */
/*
 * Decodes a checked table into the structs of policy.h, by the table of keys. The same code
 * decodes profiles, project files and the requirements. Internal to policy/.
 */
#pragma once

#include "policy/policy.h"
#include "policy/schema.h"

struct decode {
	struct arena *a;
	warning_list *warnings; /* NULL: add none */
	const char *where;	/* "profile 'dev'", for messages */
	enum layer_kind kind;	/* of the layer that the table belongs to */
};

/* Whether the table belongs to a project or to the requirements, which can only narrow. */
static inline bool decode_narrows(const struct decode *d)
{
	return d->kind != LAYER_PROFILE;
}

/* Adds a warning, if the caller wants them. */
int decode_warn(const struct decode *d, struct origin origin, struct err *e, const char *fmt, ...)
	MUST_CHECK PRINTF_LIKE(4, 5) NONNULL;

/* schema_check() of a table within a profile or file; `d` names that in messages. */
int decode_check(const struct decode *d, const struct toml *table, enum key_table which,
		 struct err *e) MUST_CHECK NONNULL;

/*
 * Decode what `table` holds of the keys of `which` into `base`, the struct that their rows name.
 * `table` has passed schema_check(); the tables in it are checked here.
 */
int decode_keys(const struct decode *d, enum key_table which, const struct toml *table, void *base,
		struct err *e) MUST_CHECK NONNULL;

/* The same for one key. Leaves `base` as it is if `table` does not hold the key. */
int decode_key(const struct decode *d, const struct key *k, const struct toml *table, void *base,
	       struct err *e) MUST_CHECK NONNULL;

/* Of the keys that have functions of their own. */
key_decode_fn key_decode_workspace_roots;
key_decode_fn key_decode_filesystem;
key_decode_fn key_decode_network;
key_decode_fn key_decode_domains;
key_decode_fn key_decode_unix_sockets;
key_decode_fn key_decode_set;
key_decode_fn key_decode_features;
key_decode_fn key_decode_shell;
key_decode_fn key_decode_approve;
key_decode_fn key_decode_exec;

/* What a name in `protect` and in `unprotect` may be; the latter suggests the nearest one. */
name_check_fn protect_check;
name_check_fn unprotect_check;
/* What a glob in `files.writable` may be. */
name_check_fn writable_check;

extern const char *const backend_names[]; /* in the order in which they are tried; ends in NULL */

/* Words out of a NULL-terminated list, none of them twice. */
int decode_words(const struct decode *d, const struct toml *array, const char *what,
		 const char *const *words, names *out, struct err *e) MUST_CHECK NONNULL;
int decode_limit(const struct key *k, const struct toml *value, uint64_t *out, struct err *e)
	MUST_CHECK NONNULL;
int decode_patterns(const struct decode *d, const struct key *k, const struct toml *array,
		    env_patterns *out, struct err *e) MUST_CHECK NONNULL;

/* Warns if a profile's network has rules but no `enabled = true`, so that they have no effect. */
int decode_warn_off(const struct decode *d, const struct toml *table, struct err *e)
	MUST_CHECK NONNULL;
/* Adds a rule for one pattern of P13; warns if it also opens private addresses. */
int decode_domain(const struct decode *d, struct str pattern, bool is_allow, struct origin origin,
		  struct net_rules *out, struct err *e) MUST_CHECK NONNULL;

/* "read", "write", "deny", or "none", which is the same. */
int decode_access(const struct toml *value, enum access *out, struct err *e) MUST_CHECK NONNULL;

/* A whole profile, parents already merged. */
struct profile *decode_profile(const struct decode *d, struct str name, const struct toml *table,
			       struct err *e) MUST_CHECK NONNULL;

/* What a narrowing file holds. */
struct narrowing {
	struct layer layer;
	struct profile keys; /* those that a project or the requirements may set */
};
int decode_narrowing(const struct decode *d, const struct toml *table, struct narrowing *out,
		     struct err *e) MUST_CHECK NONNULL;

/* The defaults: nothing readable, no network. */
void profile_init(struct profile *p) NONNULL;
