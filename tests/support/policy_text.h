/* SPDX-License-Identifier: MIT */
/* For the tests of policy/: from configuration texts to a policy or an error, in one call. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "policy/policy.h"

enum { TEXT_LIMIT_BYTES = 256 << 20 };

/* All that a run reads; NULL is a file that is not there. */
struct texts {
	const char *system, *user, *requirements, *project;
	const char *env_profile, *env_mode;
	const char *overrides[4];
	const char *profile, *mode;
	struct fs_entry extra; /* part of it when it has a key */
	const char *network;   /* --network, or NULL */
};

/* What comes of it. `policy` is NULL when it was refused, and `e` says why. */
struct outcome {
	struct arena a;
	struct err e;
	const struct config *config;
	const struct profile_doc *doc;
	const struct policy *policy;
	struct project project;
	struct str overrides[4];
};

#define scoped_outcome SCOPED(outcome_done) struct outcome

static inline void outcome_done(struct outcome *o)
{
	arena_done(&o->a);
}

static inline struct source text_source(const char *file, const char *text)
{
	struct source source = { .file = file };

	if (text) {
		source.text = str_of(text);
		source.is_present = true;
	}
	return source;
}

static inline struct outcome compile_texts(const struct texts *t)
{
	struct outcome o = { .a = ARENA_INIT(TEXT_LIMIT_BYTES), .e = ERR_INIT };
	struct selection selection = { .profile = t->profile,
				       .mode = t->mode,
				       .fallback = ":read-only" };
	struct config_inputs in = {
		.system = text_source("system.toml", t->system),
		.user = text_source("config.toml", t->user),
		.requirements = text_source("requirements.toml", t->requirements),
		.env_profile = t->env_profile,
		.env_mode = t->env_mode,
	};
	struct additions more = { .entries = &t->extra,
				  .entry_count = t->extra.key.len > 0 ? 1 : 0,
				  .says_network = t->network != NULL,
				  .network_origin = { .file = "--network" } };

	while (in.override_count < COUNT_OF(t->overrides) && t->overrides[in.override_count]) {
		o.overrides[in.override_count] = str_of(t->overrides[in.override_count]);
		in.override_count++;
	}
	in.overrides = o.overrides;
	o.project = (struct project){ .dir = STR("/repo"),
				      .source = text_source("project.toml", t->project) };
	if (t->network)
		more.network = strcmp(t->network, "full") == 0	    ? NET_FULL
			       : strcmp(t->network, "managed") == 0 ? NET_MANAGED
								    : NET_OFF;
	o.config = config_load(&o.a, &in, &o.e);
	if (o.config)
		o.doc = config_select(&o.a, o.config, &selection, &o.e);
	if (o.doc)
		o.policy = policy_compile(&o.a, o.config, o.doc, &o.project, 1, &more, &o.e);
	return o;
}

/* The profile 'dev' of a user's configuration, or its only one. */
static inline struct outcome compile_dev(const char *user)
{
	const struct texts t = { .user = user, .profile = "dev" };

	return compile_texts(&t);
}

/* Whether it was refused with a text that holds `part`; prints the text when not. */
static inline bool is_refused_texts(const struct texts *t, const char *part)
{
	scoped_outcome o = compile_texts(t);

	if (!o.policy && strstr(o.e.text, part))
		return true;
	printf("#   got '%s', want '%s'\n", o.policy ? "(no error)" : o.e.text, part);
	return false;
}

/* The same by cause; `place` is "FILE:LINE:COLUMN: ", or the beginning of it. */
static inline bool fails_with(const struct texts *t, enum cause cause, const char *place)
{
	scoped_outcome o = compile_texts(t);

	if (!o.policy && o.e.cause == cause && strncmp(o.e.text, place, strlen(place)) == 0)
		return true;
	printf("#   got %s '%s', want %s at %s\n", cause_name(o.e.cause),
	       o.policy ? "(no error)" : o.e.text, cause_name(cause), place);
	return false;
}

static inline bool is_refused(const char *user, const char *part)
{
	const struct texts t = { .user = user };

	return is_refused_texts(&t, part);
}

/* Whether some warning holds `part`. */
static inline bool has_warning(const struct outcome *o, const char *part)
{
	for (size_t i = 0; o->policy && i < o->policy->warnings.count; i++)
		if (strstr(o->policy->warnings.items[i].text.p, part))
			return true;
	return false;
}

/* The access that an entry with that key gives; -1 when there is none. */
static inline int access_of(const fs_entries *fs, const char *key)
{
	for (size_t i = 0; i < fs->count; i++)
		if (str_is(fs->items[i].key, key))
			return (int)fs->items[i].access;
	return -1;
}

static inline const struct fs_entry *find_entry(const struct outcome *o, const char *key)
{
	for (size_t i = 0; o->policy && i < o->policy->profile->fs.count; i++)
		if (str_is(o->policy->profile->fs.items[i].key, key))
			return &o->policy->profile->fs.items[i];
	return NULL;
}
