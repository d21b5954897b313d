/* SPDX-License-Identifier: MIT */
/*
 * Brings a table of a profile, a project or the requirements into the one form in
 * which layers are merged, so that equal things have equal keys. Internal to
 * policy/.
 */
#pragma once

#include "policy/decode.h"

/*
 * In place: a string X in `filesystem` becomes { "." = X }, paths and domains get
 * their one spelling, "none" becomes "deny". Two keys that become the same are
 * an error that names both. `table` has passed schema_check(). Warns of keys that mean
 * less than they seem to: afterwards it can't be seen how they were written.
 */
int normal_table(const struct decode *d, struct toml *table, struct err *e) MUST_CHECK NONNULL;
