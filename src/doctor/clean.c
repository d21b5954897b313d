/* SPDX-License-Identifier: MIT */
/* What runs that died, and what is there no more, have left behind. */
#include <sys/stat.h>
#include <unistd.h>

#include "backend/bwrap/probe.h"
#include "doctor/doctor.h"
#include "os/os.h"

static bool has_path(const path_list *paths, struct str path)
{
	for (size_t i = 0; i < paths->count; i++)
		if (str_eq(paths->items[i], path))
			return true;
	return false;
}

static int add_path(struct arena *a, path_list *to, struct str path, struct err *e)
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
		if (add_path(a, to, from->items[i], e) < 0)
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

/* ---- What is known about a bwrap --------------------------------------------------------------- */

/* The third line is the program that it is about. */
static bool is_stale(struct str text)
{
	struct bwrap_identity identity;
	uint32_t features;
	char path[PATH_MAX_BYTES];
	struct stat st;
	struct str rest = text;

	for (int i = 0; i < 2; i++)
		rest = str_from(rest, str_find(rest, '\n') + 1);
	rest = str_first(rest, str_find(rest, '\n'));
	if (rest.len >= sizeof(path) || str_has_nul(rest))
		return true;
	memcpy(path, rest.p, rest.len);
	path[rest.len] = '\0';
	if (stat(path, &st) < 0)
		return true;
	identity = bwrap_identity(&st);
	return !bwrap_cache_parse(text, rest, &identity, &features);
}

static int clean_cache(struct arena *a, struct diagnosis *d, struct err *e)
{
	char room[PATH_MAX_BYTES + 512];
	struct str file, text;
	int directory;
	bool is_gone;

	if (bwrap_cache_open(a, &file, &directory, e) < 0)
		return err_result(e);
	if (directory < 0)
		return 0;
	is_gone = bwrap_cache_read(directory, room, sizeof(room), &text) && is_stale(text) &&
		  bwrap_cache_remove(directory);
	close(directory);
	return is_gone ? add_path(a, &d->removed, file, e) : 0;
}

int doctor_clean(struct arena *a, const struct cordon_load_options *load, struct diagnosis *d,
		 struct err *e)
{
	d->has_cleaned = true;
	if (clean_for(a, load, NULL, d, e) < 0 || clean_for(a, load, ":workspace", d, e) < 0 ||
	    clean_cache(a, d, e) < 0)
		return err_result(e);
	return room_clean(a, &d->removed, e);
}
