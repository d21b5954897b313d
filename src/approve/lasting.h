/* SPDX-License-Identifier: MIT */
/*
 * The grants that outlive a run, as one run has them: approvals.toml and the session's file, and which of
 * what is in them counts for this run.
 */
#pragma once

#include "approve/store.h"

struct lasting {
	struct store always, session;	       /* file.path is "": there is none */
	struct str profile, workspace, policy; /* of the run: what a new grant belongs to */
	bool allows_always;		       /* the ceiling does, and there is approvals.toml */
};

/* Whether a grant of one of the two files counts for this run. */
bool lasting_counts(const struct lasting *l, const struct store *store,
		    const struct stored_grant *grant) NONNULL;

/* Whether a grant is in the file of that scope and counts; of every other scope it is not. */
bool lasting_has(const struct lasting *l, enum grant_scope scope, const struct grant *grant)
	NONNULL;

/* SCOPE_SESSION or SCOPE_ALWAYS, if this run can give it; see store_add(). */
int lasting_add(struct arena *a, const struct lasting *l, enum grant_scope scope,
		const struct grant *grant, const char *by, struct str *id, struct err *e)
	MUST_CHECK NONNULL;

/* The scopes of these two that this run can give. */
scope_set lasting_scopes(const struct lasting *l) NONNULL;

/* Whether one of the files is another than when it was read. Two system calls. */
bool lasting_changed(const struct lasting *l) NONNULL;

/* The same with what the files have now; `l` may be `out`. What it had stays in its own arena. */
int lasting_read(struct arena *a, const struct lasting *l, struct lasting *out, struct err *e)
	MUST_CHECK NONNULL;
