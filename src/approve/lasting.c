/* SPDX-License-Identifier: MIT */
/* See lasting.h. */
#include "approve/lasting.h"

bool lasting_counts(const struct lasting *l, const struct store *store,
		    const struct stored_grant *grant)
{
	if (!str_eq(grant->profile, l->profile))
		return false;
	if (!store->session.len)
		return l->allows_always;
	return str_eq(grant->workspace, l->workspace) && str_eq(grant->policy, l->policy);
}

static const struct store *find_store(const struct lasting *l, enum grant_scope scope)
{
	const struct store *store = scope == SCOPE_SESSION  ? &l->session
				    : scope == SCOPE_ALWAYS ? &l->always
							    : NULL;

	return store && store->file.path.len ? store : NULL;
}

bool lasting_has(const struct lasting *l, enum grant_scope scope, const struct grant *grant)
{
	const struct store *store = find_store(l, scope);

	for (size_t i = 0; store && i < store->grants.count; i++) {
		const struct stored_grant *stored = &store->grants.items[i];

		if (lasting_counts(l, store, stored) && stored->grant.kind == grant->kind &&
		    stored->grant.is_dir == grant->is_dir &&
		    str_eq(stored->grant.subject, grant->subject))
			return true;
	}
	return false;
}

scope_set lasting_scopes(const struct lasting *l)
{
	scope_set scopes = 0;

	if (l->session.file.path.len)
		scopes |= SCOPE_BIT(SCOPE_SESSION);
	if (l->always.file.path.len && l->allows_always)
		scopes |= SCOPE_BIT(SCOPE_ALWAYS);
	return scopes;
}

int lasting_add(struct arena *a, const struct lasting *l, enum grant_scope scope,
		const struct grant *grant, const char *by, struct str *id, struct err *e)
{
	struct stored_grant stored = { .grant = *grant, .profile = l->profile, .by = str_of(by) };
	const struct store *store = find_store(l, scope);

	if (!store || !(lasting_scopes(l) & SCOPE_BIT(scope)))
		return FAIL(e, ERR_ARGUMENT, "this run can't grant anything for that long");
	if (store->session.len) {
		stored.workspace = l->workspace;
		stored.policy = l->policy;
	}
	return store_add(a, store, &stored, id, e);
}

bool lasting_changed(const struct lasting *l)
{
	return (l->always.file.path.len && store_changed(&l->always)) ||
	       (l->session.file.path.len && store_changed(&l->session));
}

int lasting_read(struct arena *a, const struct lasting *l, struct lasting *out, struct err *e)
{
	struct lasting read = *l;

	if ((read.always.file.path.len && store_read(a, &read.always, e) < 0) ||
	    (read.session.file.path.len && store_read(a, &read.session, e) < 0))
		return err_result(e);
	*out = read;
	return 0;
}
