/* SPDX-License-Identifier: MIT */
/* A plan that wants placeholders below the scratch directory, and nothing else. */
#pragma once

#include <stdio.h>

#include "linux/placeholder/placeholder.h"
#include "plan/plan.h"
#include "scratch.h"

enum { MAX_WANTED = 100 };

struct placeholder_plan {
	struct plan plan;
	struct placeholder items[MAX_WANTED];
	char paths[MAX_WANTED][200];
};

/* `name` is below the scratch directory; a `content` makes it a file. */
static void placeholder_plan_add(struct placeholder_plan *w, const char *name, const char *content)
{
	size_t i = w->plan.placeholders.count++;

	(void)snprintf(w->paths[i], sizeof(w->paths[i]), "%s/%s", scratch_top, name);
	w->items[i] = (struct placeholder){ .path = str_of(w->paths[i]),
					    .kind = content ? PLACEHOLDER_FILE : PLACEHOLDER_DIR,
					    .content = content ? str_of(content) : STR_EMPTY };
	w->plan.placeholders.items = w->items;
}

static inline void placeholder_plan_add_socket(struct placeholder_plan *w, const char *name)
{
	placeholder_plan_add(w, name, NULL);
	w->items[w->plan.placeholders.count - 1].kind = PLACEHOLDER_SOCKET;
}

static inline int placeholder_plan_take(struct arena *a, const struct placeholder_plan *w,
					struct placeholders *out, struct err *e)
{
	struct placeholders held;

	if (placeholders_prepare(a, placeholders_of(&w->plan), &held, e) < 0 ||
	    placeholders_take(&held, e) < 0)
		return err_result(e);
	*out = held;
	return 0;
}
