/* SPDX-License-Identifier: MIT */
/* What `cordon setup --check` says of each agent that is set up, for `cordon doctor`. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "cordon.h"

struct agent_checked {
	const char *name, *title, *scope;
	const char *gap; /* which commands run outside in spite of it; NULL: none */
	bool is_proven;	 /* a command that went the way of its shell was inside */
	VEC(struct str) problems;
};

typedef VEC(struct agent_checked) agent_checked_list;

/*
 * Nothing for an agent that is not set up, or of which this user can't see whether it is. What keeps one from being
 * checked is a problem of it. ERR_NOMEM, ERR_LIMIT.
 */
int agents_check(struct arena *a, const struct cordon_load_options *load, agent_checked_list *out,
		 struct err *e) MUST_CHECK NONNULL;
