/* SPDX-License-Identifier: MIT */
/*
 * Every error of a configuration, where loading it stops at the first: for
 * `cordon check`. Whether it is valid, config_load() alone decides.
 */
#pragma once

#include "policy/policy.h"

/* Is given each error, some of them more than once; what it gives ends the search if not 0. */
struct error_sink {
	int (*add)(void *user, const struct err *found, struct err *e);
	void *user;
};

/*
 * Of each layer alone, and of the names that they use. Of TOML that is malformed only the
 * first, since nothing is known of what follows: nor which names are there.
 */
int config_find_errors(const struct config_inputs *in, const struct error_sink *sink, struct err *e)
	MUST_CHECK NONNULL;

/* The same for the file of a project. */
int project_find_errors(const struct source *source, const struct error_sink *sink, struct err *e)
	MUST_CHECK NONNULL;
