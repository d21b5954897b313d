/* SPDX-License-Identifier: MIT */
/*
 * Brings a table of a profile, a project or the ceiling into the one form in
 * which layers are merged, so that equal things have equal keys. Internal to
 * policy/.
 */
#pragma once

#include "base/toml.h"

/*
 * In place: a string X in `filesystem` becomes { "." = X }, paths and domains get
 * their one spelling, "none" becomes "deny". Two keys that become the same are
 * an error that names both. `table` has passed schema_check().
 */
int normal_table(struct arena *a, struct toml *table, struct err *e) MUST_CHECK NONNULL;
