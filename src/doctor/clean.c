/* SPDX-License-Identifier: MIT */
/* What runs that died, and what is there no more, have left behind. */
#include "doctor/native.h"

static bool has_path(const path_list *paths, struct str path)
{
	for (size_t i = 0; i < paths->count; i++)
		if (str_eq(paths->items[i], path))
			return true;
	return false;
}

int clean_add(struct arena *a, path_list *to, struct str path, struct err *e)
{
	struct str *added;

	if (has_path(to, path))
		return 0;
	added = VEC_PUSH(a, to, e);
	return added ? arena_copy(a, path, added, e) : err_result(e);
}

static int add_paths(struct arena *a, path_list *to, const str_list *from, struct err *e)
{
	for (size_t i = 0; i < from->count; i++)
		if (clean_add(a, to, from->items[i], e) < 0)
			return err_result(e);
	return 0;
}

/* ---- Placeholders ----------------------------------------------------------------------------- */

/* For one profile: another wants placeholders elsewhere. */
static int clean_for(struct arena *a, const struct cordon_load_options *options,
		     const char *profile, struct diagnosis *d, struct err *e)
{
	struct cordon_load_options load = *options;
	const struct run_needs needs = { .allows_home = true };
	struct cleaning cleaning = { .is_incomplete = false };
	cordon_policy *policy;
	int status;

	load.on_warning = NULL;
	if (profile) {
		load.profile = profile;
		load.mode = NULL;
	}
	policy = load_new(&load, &needs, e);
	if (!policy)
		return err_result(e);
	/* The roots are looked through once. */
	status = backend_clean(a, policy->plan, policy->plan_inputs.places.roots,
			       profile ? 0 : policy->plan_inputs.places.root_count, &cleaning, e);
	cordon_policy_free(policy);
	if (status < 0 || add_paths(a, &d->removed, &cleaning.removed, e) < 0 ||
	    add_paths(a, &d->kept, &cleaning.kept, e) < 0)
		return err_result(e);
	d->clean_is_incomplete |= cleaning.is_incomplete;
	return 0;
}

int doctor_clean(struct arena *a, const struct cordon_load_options *load, struct diagnosis *d,
		 struct err *e)
{
	d->has_cleaned = true;
	if (clean_for(a, load, NULL, d, e) < 0 || clean_for(a, load, ":workspace", d, e) < 0 ||
	    native_clean_cache(a, d, e) < 0)
		return err_result(e);
	return room_clean(a, &d->removed, e);
}
