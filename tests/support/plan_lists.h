/* SPDX-License-Identifier: MIT */
/* What a plan lists beside its regions, found by path; for tests of plan/. */
#pragma once

#include "world.h"

/* A profile that writes to the workspace and reads the rest, with `more` keys of its own. */
#define WORKSPACE(more)                 \
	"[permissions.dev]\n" more "\n" \
	"[permissions.dev.filesystem]\n':root' = 'read'\n':workspace_roots' = 'write'\n"

/* The rule of that kind at exactly `path`, or NULL. */
static inline const struct rule *find_rule(const struct world *w, enum rule_kind kind,
					   const char *path)
{
	for (size_t i = 0; i < w->plan->rules.count; i++)
		if (w->plan->rules.items[i].kind == kind &&
		    str_is(w->plan->rules.items[i].path, path))
			return &w->plan->rules.items[i];
	return NULL;
}

#define FIND_LISTED(name, list, type)                                                  \
	static inline const struct type *name(const struct world *w, const char *path) \
	{                                                                              \
		for (size_t i = 0; i < w->plan->list.count; i++)                       \
			if (str_is(w->plan->list.items[i].path, path))                 \
				return &w->plan->list.items[i];                        \
		return NULL;                                                           \
	}
FIND_LISTED(find_pin, pins, pin)
FIND_LISTED(find_link, links, link)
FIND_LISTED(find_placeholder, placeholders, placeholder)
FIND_LISTED(find_masked, masked, masked)
FIND_LISTED(find_root, roots, writable_root)
FIND_LISTED(find_git_dir, git_dirs, git_dir)
#undef FIND_LISTED

/* The first note that holds that text, or NULL. */
static inline const struct note *find_note(const struct world *w, const char *text)
{
	for (size_t i = 0; i < w->plan->notes.count; i++)
		if (strstr(w->plan->notes.items[i].text.p, text))
			return &w->plan->notes.items[i];
	return NULL;
}

static inline bool has_note(const struct world *w, const char *text)
{
	return find_note(w, text) != NULL;
}

/* Whether `rule` is one of the plan's, i.e. no pointer into an older array. */
static inline bool is_of_plan(const struct world *w, const struct rule *rule)
{
	return rule >= w->plan->rules.items && rule < w->plan->rules.items + w->plan->rules.count;
}
