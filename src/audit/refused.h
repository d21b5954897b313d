/* SPDX-License-Identifier: MIT */
/*
 * What was refused to commands that have ended, until the agent that started them is told: lines for a model,
 * in the state directory, by who started the command (os_find_starter). No command can write there (P25).
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { REFUSED_MAX_BYTES = 24 << 10 }; /* of one starter; what is older goes */

/*
 * Adds `lines`, each with its newline, and drops those whose starter is gone. ERR_SYS, ERR_LIMIT, ERR_NOMEM,
 * CAUSE_FILE_UNTRUSTED.
 */
int refused_keep(struct arena *a, struct str state_directory, struct str starter, struct str lines,
		 struct err *e) MUST_CHECK NONNULL;

/*
 * Those of `starter` that this has not given yet. They stay for refused_take(): whoever asks for them may be
 * whom they are about. The same errors.
 */
int refused_show(struct arena *a, struct str state_directory, struct str starter, struct str *out,
		 struct err *e) MUST_CHECK NONNULL;

/* Those of `starter`, which are gone then; "" for none. The same errors. */
int refused_take(struct arena *a, struct str state_directory, struct str starter, struct str *out,
		 struct err *e) MUST_CHECK NONNULL;
